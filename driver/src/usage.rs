//! Usage codes as the driver reads them: from a client's number to the protection that a page gets.
//!
//! A buffer is mapped under a role. The role says which way data flows, the way gives a protection class, and
//! the class is handed down with each page. On the M1 a configuration bit of the controller turns the read-only
//! class into read-write. The tables are in [`ane_uapi::hw::usage`]; this is where the driver joins them with its
//! chip, and where a client's number is let in.

use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::usage::{BadUsage, MappingClass, Protection, ReadOnly, Usage};

/// The meaning of usage codes on the present chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    read_only: ReadOnly,
}

impl Rules {
    /// The rules of the chip that config space names, such as `0x8103`. An unknown chip is taken for an M1 (Chosen).
    pub fn of_chip(number: u32) -> Self {
        let read_only = Soc::by_name(&format!("t{number:x}"))
            .map_or(ReadOnly::Collapsed, |soc| soc.chip().dart.read_only);
        Self { read_only }
    }

    /// The rules of a controller whose configuration bit is known.
    pub const fn new(read_only: ReadOnly) -> Self {
        Self { read_only }
    }

    pub const fn class(self, usage: Usage) -> MappingClass {
        usage.class(self.read_only)
    }

    /// The protection word of each page of such a mapping.
    pub const fn protection(self, usage: Usage) -> Protection {
        self.class(usage).protection()
    }
}

/// Where a usage code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client for its own buffer: the codes of the firmware are not for it.
    Client,
    /// A program for a buffer that it is loaded with.
    Program,
}

pub fn named(code: u32, origin: Origin) -> Result<Usage, BadUsage> {
    match origin {
        Origin::Client => Usage::for_client(code),
        Origin::Program => Usage::try_from(code).map_err(BadUsage::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::usage::ProtectionClass;

    use super::*;

    #[test]
    fn input_is_read_write_on_an_m1_and_read_only_without_its_configuration_bit() {
        let class = |rules: Rules| rules.class(Usage::Input);
        assert_eq!(class(Rules::of_chip(0x8103)), MappingClass::Client(ProtectionClass::ReadWrite));
        assert_eq!(class(Rules::new(ReadOnly::Kept)), MappingClass::Client(ProtectionClass::ReadOnly));
        assert_eq!(Rules::of_chip(0xdead), Rules::of_chip(0x8103), "an unknown chip");
    }

    /// Requirement: MAP-15
    #[test]
    fn client_cannot_use_the_firmware_s_codes_and_a_program_can() {
        for usage in [Usage::SharedSurface, Usage::ResidentHeap] {
            assert_eq!(named(usage as u32, Origin::Client), Err(BadUsage::FirmwareOnly(usage)));
            assert_eq!(named(usage as u32, Origin::Program), Ok(usage));
        }
        assert!(named(0x1001, Origin::Program).is_err() && named(3, Origin::Client).is_err());
    }
}
