//! Config space, filled once.

use ane_uapi::hw::chip::Quantity;
use ane_uapi::hw::dart::{aperture, iso::ContextId};
use ane_uapi::hw::tq::QueueId;
use ane_uapi::wire::config::{self as wire, Config};
use zerocopy::little_endian::{U16, U32, U64};

use crate::Options;
use crate::chip::{Identity, NoSuchInstance};
use crate::options::FaultPolicy;

/// What the device with these options says of itself, behind a front that takes batches of `batch_max` operations
/// and side-band messages of `entries_max` entries.
///
/// # Errors
///
/// [`NoSuchInstance`] if the chip has fewer circuits.
pub fn config(options: &Options, batch_max: u16, entries_max: u16) -> Result<Config, NoSuchInstance> {
    let identity = Identity::of(options)?;
    let chip = identity.chip;
    let number = u16::try_from(identity.number).unwrap_or(u16::MAX);
    // Not known of every chip; zero says so.
    let engines = chip.count(Quantity::NeuralEngines).map_or(0, |count| count.number);
    Ok(Config {
        magic: U32::new(wire::MAGIC),
        version: U32::new(wire::VERSION),
        chip: U32::new(identity.version()),
        instance: U16::new(number),
        ane_type: U16::new(chip.ane_type),
        engine_count: U16::new(engines),
        queue_count: U16::new(QueueId::COUNT.into()),
        context_count: U16::new(ContextId::COUNT.into()),
        stream_count: U16::new(chip.dart.stream_slots.into()),
        page_size: U32::new(aperture::PAGE_SIZE),
        pte_format: identity.pte_format as u8,
        fault_policy: match options.fault_policy {
            FaultPolicy::Contain => wire::FaultPolicy::Contain as u8,
            FaultPolicy::Panic => wire::FaultPolicy::Panic as u8,
        },
        reserved: U16::ZERO,
        aperture_base: U64::new(aperture::BASE),
        aperture_size: U64::new(aperture::SIZE),
        features: U32::new(if options.check { wire::FEATURE_CHECK } else { 0 }),
        batch_max: U16::new(batch_max),
        entries_max: U16::new(entries_max),
    })
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::chip::Soc;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::chip::every_instance;

    #[test]
    fn config_of_every_engine_is_one_that_a_driver_accepts() {
        for chip in Soc::ALL {
            for options in every_instance(&Options { chip, ..Options::default() }) {
                let config = config(&options, 1024, 0).unwrap();
                let read = Config::read(config.as_bytes()).unwrap();
                assert_eq!(usize::from(read.instance.get()), options.instance);
                assert_eq!(read.pte_format(), Ok(options.pte_format));
                assert_eq!(format!("t{:x}", read.chip.get()), chip.name());
            }
        }
    }
}
