//! Where a virtio function says that its structures are.
//!
//! A modern virtio function describes itself in its PCI capabilities: each names a BAR, an offset and a length for
//! one of the structures. Where they lie differs from one machine monitor to the next, and between versions of the
//! same one, so nothing is assumed of it. The list is the device's word: it may be a loop, or lead outside.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

use thiserror::Error;

/// Bytes of the part of config space in which capabilities are.
pub(super) const CONFIG_BYTES: usize = 256;

/// Where the list starts, and where its first element can be.
const POINTER: usize = 0x34;
const FIRST: u8 = 0x40;

/// A capability of a vendor's own: virtio's structures.
const VENDOR: u8 = 0x09;

/// There is a list, in the status register.
const STATUS: usize = 0x06;
const HAS_LIST: u8 = 0x10;

/// Types of virtio's structures.
const COMMON: u8 = 1;
const NOTIFY: u8 = 2;
const DEVICE: u8 = 4;

/// BARs that a function can have.
const BARS: u8 = 6;

/// Bytes that the common structure has at least.
pub(super) const COMMON_BYTES: u32 = 0x38;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Structure {
    pub(super) bar: u8,
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// Where the structures of a function are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// The registers that every virtio device has: features, status, queues.
    pub(super) common: Structure,
    /// Where to write that a queue has something.
    pub(super) notify: Structure,
    /// Bytes from one queue's place in there to the next's.
    pub(super) notify_multiplier: u32,
    /// The device's own config space.
    pub(super) device: Structure,
}

/// A list that is not that of a virtio function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum BadCapabilities {
    #[error("function has no capabilities: it is no modern virtio device")]
    None,
    #[error("list of capabilities leads to {at:#x}, where none can be")]
    Astray { at: u8 },
    #[error("list of capabilities is a loop")]
    Loop,
    #[error("function has no {what} structure: it is no modern virtio device")]
    Missing { what: &'static str },
    #[error("{what} structure has {length} bytes at offset {offset:#x} of BAR {bar}, which cannot be")]
    Place { what: &'static str, bar: u8, offset: u32, length: u32 },
}

impl Capabilities {
    /// Reads them from config space. Of each type the first counts, as virtio 1.3, 4.1.4 has it.
    pub(super) fn read(config: &[u8; CONFIG_BYTES]) -> Result<Self, BadCapabilities> {
        let byte = |at: usize| config.get(at).copied();
        let word = |at: usize| {
            let bytes = config.get(at..at.checked_add(4)?)?;
            bytes.try_into().ok().map(u32::from_le_bytes)
        };
        if byte(STATUS).is_none_or(|status| status & HAS_LIST == 0) {
            return Err(BadCapabilities::None);
        }
        let (mut common, mut notify, mut device) = (None, None, None);
        // The lowest two bits of a pointer are reserved.
        let mut at = byte(POINTER).unwrap_or(0) & !3;
        let mut left = CONFIG_BYTES / 4;
        while at != 0 {
            left = left.checked_sub(1).ok_or(BadCapabilities::Loop)?;
            if at < FIRST {
                return Err(BadCapabilities::Astray { at });
            }
            let start = usize::from(at);
            let field = |offset: usize| start.checked_add(offset);
            let astray = BadCapabilities::Astray { at };
            let id = byte(start).ok_or(astray)?;
            if id == VENDOR {
                let kind = field(3).and_then(byte).ok_or(astray)?;
                let structure = Structure {
                    bar: field(4).and_then(byte).ok_or(astray)?,
                    offset: field(8).and_then(word).ok_or(astray)?,
                    length: field(12).and_then(word).ok_or(astray)?,
                };
                match kind {
                    COMMON if common.is_none() => common = Some(structure),
                    NOTIFY if notify.is_none() => {
                        notify = Some((structure, field(16).and_then(word).ok_or(astray)?));
                    }
                    DEVICE if device.is_none() => device = Some(structure),
                    _ => {}
                }
            }
            at = field(1).and_then(byte).ok_or(astray)? & !3;
        }
        let common = common.ok_or(BadCapabilities::Missing { what: "common" })?;
        let (notify, notify_multiplier) = notify.ok_or(BadCapabilities::Missing { what: "notify" })?;
        let device = device.ok_or(BadCapabilities::Missing { what: "device" })?;
        check("common", common, COMMON_BYTES)?;
        check("notify", notify, 2)?;
        check("device", device, 1)?;
        Ok(Self { common, notify, notify_multiplier, device })
    }
}

/// A structure that can be where it says, and has `needed` bytes.
fn check(what: &'static str, structure: Structure, needed: u32) -> Result<(), BadCapabilities> {
    let Structure { bar, offset, length } = structure;
    let fits = bar < BARS && offset.is_multiple_of(4) && length >= needed;
    if fits && offset.checked_add(length).is_some() {
        Ok(())
    } else {
        Err(BadCapabilities::Place { what, bar, offset, length })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As QEMU 11.1 lays them out, in BAR 2 (10.0: in BAR 4), with the MSI-X capability in front.
    fn config() -> [u8; CONFIG_BYTES] {
        let mut config = [0; CONFIG_BYTES];
        config[STATUS] = HAS_LIST;
        config[POINTER] = 0x98;
        config[0x98..0x9b].copy_from_slice(&[0x11, 0x84, 0]);
        let mut add = |at: usize, next: u8, kind: u8, offset: u32, length: u32| {
            config[at..at + 5].copy_from_slice(&[VENDOR, next, 16, kind, 2]);
            config[at + 8..at + 12].copy_from_slice(&offset.to_le_bytes());
            config[at + 12..at + 16].copy_from_slice(&length.to_le_bytes());
        };
        add(0x84, 0x70, 5, 0, 0);
        add(0x70, 0x60, NOTIFY, 0x3000, 0x1000);
        add(0x60, 0x50, DEVICE, 0x2000, 0x1000);
        add(0x50, 0x40, 3, 0x1000, 0x1000);
        add(0x40, 0, COMMON, 0, 0x1000);
        config[0x80..0x84].copy_from_slice(&4u32.to_le_bytes());
        config
    }

    #[test]
    fn structures_are_found_where_the_function_says() {
        let structure = |offset| Structure { bar: 2, offset, length: 0x1000 };
        let expected = Capabilities {
            common: structure(0),
            notify: structure(0x3000),
            notify_multiplier: 4,
            device: structure(0x2000),
        };
        assert_eq!(Capabilities::read(&config()), Ok(expected));
    }

    #[test]
    fn list_that_goes_round_or_leads_into_the_header_is_refused() {
        let mut round = config();
        round[0x41] = 0x98;
        assert_eq!(Capabilities::read(&round), Err(BadCapabilities::Loop));
        let mut astray = config();
        astray[0x41] = 0x3c;
        assert_eq!(Capabilities::read(&astray), Err(BadCapabilities::Astray { at: 0x3c }));
        let mut last = config();
        last[0x41] = 0xfc;
        last[0xfc] = VENDOR;
        assert_eq!(Capabilities::read(&last), Err(BadCapabilities::Astray { at: 0xfc }));
    }

    #[test]
    fn structure_that_is_missing_short_or_nowhere_is_named() {
        let mut missing = config();
        missing[0x63] = 9;
        assert_eq!(Capabilities::read(&missing), Err(BadCapabilities::Missing { what: "device" }));
        let mut nowhere = config();
        nowhere[0x44] = 6;
        assert!(matches!(Capabilities::read(&nowhere), Err(BadCapabilities::Place { bar: 6, .. })));
        let mut wraps = config();
        wraps[0x78..0x7c].copy_from_slice(&0xffff_fffcu32.to_le_bytes());
        assert!(matches!(Capabilities::read(&wraps), Err(BadCapabilities::Place { what: "notify", .. })));
        assert_eq!(Capabilities::read(&[0; CONFIG_BYTES]), Err(BadCapabilities::None));
    }

    proptest! {
        #[test]
        fn any_config_space_has_an_answer(config in prop::collection::vec(any::<u8>(), CONFIG_BYTES)) {
            let mut config: [u8; CONFIG_BYTES] = config.try_into().unwrap();
            config[STATUS] |= HAS_LIST;
            let _ = Capabilities::read(&config);
        }
    }
}
