//! `ane explain`.

use std::fmt::Write as _;

use ane::device::{Device, Location};
use ane::inspect::Tables;
use ane::inspect::explain::explain;
use ane_device::{Options, options};
use ane_uapi::hw::chip::Soc;
use anyhow::Result;
use clap::Args;

use super::Seen;
use super::Subject;
use crate::failure::{Exit, Failure};
use crate::{device, files, run};

/// Say what an address is, in each of the four address spaces
///
/// A number does not show whether it is a physical address, a device address (A), an offset of the engine's registers (B),
/// or an address in the firmware's aperture (C). So the command prints what each space has there. With MODEL, or with a
/// daemon's device, it also prints the mapping there. Physical addresses are those of the device's chip, or of --chip
/// without a device and at a control socket, which does not tell its chip.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane explain 0x1c25000
  ane explain 0x26bc25138
  ane explain 0x8000 examples/add_relu.anec")]
pub(crate) struct Explain {
    /// The address, in hexadecimal with or without 0x
    #[arg(value_parser = address)]
    pub(crate) address: u64,
    /// Device to inspect
    #[command(flatten)]
    pub(crate) subject: Subject,
}

pub(crate) fn run(args: &Explain) -> Result<()> {
    let subject = &args.subject;
    let told = subject.device.options.chip;
    let has_device = subject.model.is_some()
        || subject.control.is_some()
        || device::location(&subject.device)? != Location::Embedded;
    let (chip, tables) = match has_device {
        true => {
            let seen = Seen::of(&without_chip_of_control(subject))?;
            let chip = seen.device.as_ref().map_or(Ok(told), chip_of)?;
            (chip, Some(Tables::of(&seen.source).map_err(super::no_report)?))
        }
        false => (told, None),
    };
    let meanings = explain(args.address, chip, tables.as_ref());
    if subject.json {
        return files::print_json(&meanings);
    }
    let mut page = String::new();
    writeln!(page, "{:#x}", args.address)?;
    for meaning in &meanings {
        let mark = if meaning.is_something { '*' } else { ' ' };
        let mut lines = meaning.what.iter();
        writeln!(page, "{mark} {:<36}  {}", meaning.space, lines.next().map_or("", String::as_str))?;
        for line in lines {
            writeln!(page, "  {:<36}  {line}", "")?;
        }
    }
    files::print(page.as_bytes())
}

/// The subject without the chip that --chip says, if a control socket alone is asked: it does not tell its chip, so --chip
/// is there no option of a device.
fn without_chip_of_control(subject: &Subject) -> Subject {
    let mut subject = subject.clone();
    if subject.control.is_some() && subject.model.is_none() {
        subject.device.options.chip = Options::default().chip;
    }
    subject
}

/// The chip of a device, as its driver has it.
fn chip_of(device: &Device) -> Result<Soc> {
    let name = run::chip(device)?;
    options::chip(&name).map_err(|_| {
        let what = format!("device {} is a {name}, whose map is not known here", device.location());
        let advice = "leave --device out, and name a chip that is like it with --chip";
        Failure::new(Exit::Refused, what, advice).into()
    })
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits: String = digits.chars().filter(|&digit| digit != '_').collect();
    u64::from_str_radix(&digits, 16)
        .map_err(|_| "an address is a hexadecimal number such as 0x1c25000".to_owned())
}
