//! Config space, filled once.

use ane_uapi::hw::chip::Quantity;
use ane_uapi::hw::dart::{aperture, iso::ContextId};
use ane_uapi::hw::tq::QueueId;
use ane_uapi::wire::config::{self as wire, Config};
use ane_uapi::wire::sideband::ENTRIES_MAX;
use zerocopy::little_endian::{U16, U32, U64};

use crate::Options;
use crate::chip::{Identity, NoSuchInstance};
use crate::options::FaultPolicy;

/// Entries of one message to PE_MMU: the contract's own limit.
const ENTRIES: u16 = 1024;
const _: () = assert!(ENTRIES as u32 == ENTRIES_MAX);

/// What the device with these options says of itself, behind a front that takes batches of `batch_max` operations.
///
/// # Errors
///
/// [`NoSuchInstance`] if the chip has fewer circuits.
pub fn config(options: &Options, batch_max: u16) -> Result<Config, NoSuchInstance> {
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
        features: U32::new(features(options)),
        batch_max: U16::new(batch_max),
        entries_max: U16::new(if options.pe_mmu.is_some() { ENTRIES } else { 0 }),
    })
}

/// What there is.
fn features(options: &Options) -> u32 {
    let pe_mmu = if options.pe_mmu.is_some() { wire::FEATURE_PE_MMU } else { 0 };
    let check = if options.check { wire::FEATURE_CHECK } else { 0 };
    pe_mmu | check | wire::FEATURE_MOVER
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::chip::Soc;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::chip::every_instance;

    #[test]
    fn pe_mmu_is_announced_with_the_entries_that_it_takes() {
        let with = Options { pe_mmu: Some("".parse().unwrap()), ..Options::default() };
        let [with, without] = [with, Options::default()].map(|options| config(&options, 1024).unwrap());
        assert_eq!((with.features.get() & wire::FEATURE_PE_MMU, with.entries_max.get()), (1, 1024));
        assert_eq!((without.features.get() & wire::FEATURE_PE_MMU, without.entries_max.get()), (0, 0));
    }

    #[test]
    fn config_of_every_engine_is_one_that_a_driver_accepts() {
        for chip in Soc::ALL {
            for options in every_instance(&Options { chip, ..Options::default() }) {
                let config = config(&options, 1024).unwrap();
                let read = Config::read(config.as_bytes()).unwrap();
                assert_eq!(usize::from(read.instance.get()), options.instance);
                assert_eq!(read.pte_format(), Ok(options.pte_format));
                assert_eq!(format!("t{:x}", read.chip.get()), chip.name());
            }
        }
    }
}
