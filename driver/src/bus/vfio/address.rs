//! Where a function is on the PCI buses of the machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// A function's address: domain, bus, device, function, as `lspci -D` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bdf {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no PCI address; one looks like 0000:01:00.0")]
pub struct BadBdf(String);

impl Bdf {
    /// The folder in which the kernel shows the function.
    pub fn folder(&self) -> PathBuf {
        Path::new("/sys/bus/pci/devices").join(self.to_string())
    }
}

impl fmt::Display for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for Bdf {
    type Err = BadBdf;

    /// The domain may be left out, and is 0 then.
    fn from_str(text: &str) -> Result<Self, BadBdf> {
        parse(text).ok_or_else(|| BadBdf(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Bdf> {
    let (front, function) = text.rsplit_once('.')?;
    let mut parts = front.rsplit(':');
    let (device, bus) = (parts.next()?, parts.next()?);
    let domain = parts.next().unwrap_or("0000");
    if parts.next().is_some() {
        return None;
    }
    let number = |text: &str, digits: usize| {
        let is_hex = !text.is_empty() && text.len() <= digits && text.bytes().all(|c| c.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|_| is_hex)
    };
    // Some machines have domains of more than four digits.
    let domain = number(domain, 8)?;
    let bus = u8::try_from(number(bus, 2)?).ok()?;
    let device = u8::try_from(number(device, 2)?).ok().filter(|&device| device < 32)?;
    let function = u8::try_from(number(function, 1)?).ok().filter(|&function| function < 8)?;
    Some(Bdf { domain, bus, device, function })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_printed_as_the_kernel_names_it() {
        for (text, full) in
            [("0000:01:00.0", "0000:01:00.0"), ("1:1f.7", "0000:01:1f.7"), ("10000:e0:06.0", "10000:e0:06.0")]
        {
            assert_eq!(text.parse::<Bdf>().unwrap().to_string(), full);
        }
    }

    #[test]
    fn text_that_is_no_address_is_refused() {
        for text in ["", ".", "01:00", "01:20.0", "01:00.8", "0:0:0:0.0", "+1:00.0", "../..:00.0", "100:00.0"]
        {
            assert!(text.parse::<Bdf>().is_err(), "{text}");
        }
    }
}
