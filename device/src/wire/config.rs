//! Config space, filled once.

use ane_uapi::hw::chip::Quantity;
use ane_uapi::hw::dart::{aperture, iso::ContextId};
use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::transfer::Contention;
use ane_uapi::hw::mover::xmov::Tensix;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::wire::config::{self as wire, Config};
use zerocopy::little_endian::{U16, U32, U64};

use super::request::{BATCH_MAX, ENTRIES_MAX};
use crate::Options;
use crate::chip::{Identity, NoSuchInstance};
use crate::mover::Settings;
use crate::options::FaultPolicy;
use crate::pe_mmu::Attributes;

/// The config space of a device with these options.
pub fn config(options: &Options) -> Result<Config, NoSuchInstance> {
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
            FaultPolicy::Stall => wire::FaultPolicy::Stall as u8,
            FaultPolicy::Absorb => wire::FaultPolicy::Absorb as u8,
        },
        companions: U16::new(companions(options)),
        aperture_base: U64::new(aperture::BASE),
        aperture_size: U64::new(aperture::SIZE),
        features: U32::new(features(options)),
        batch_max: U16::new(BATCH_MAX),
        entries_max: U16::new(if options.pe_mmu.is_some() { ENTRIES_MAX } else { 0 }),
    })
}

fn features(options: &Options) -> u32 {
    let pe_mmu = if options.pe_mmu.is_some() { wire::FEATURE_PE_MMU } else { 0 };
    let check = if options.check { wire::FEATURE_CHECK } else { 0 };
    pe_mmu | check | wire::FEATURE_MOVER | wire::FEATURE_TAKE_BACK | wire::FEATURE_GIVE_WAY
}

/// How the companion blocks were made. An attribute that a switch controls may have changed since.
fn companions(options: &Options) -> u16 {
    let Settings { profile, chip, contention, waits_for_credit, .. } = options.mover;
    let timed = |pe_mmu: Attributes| pe_mmu.overhead_ps != 0 || pe_mmu.fabric_ps != 0;
    let flags = [
        (options.pe_mmu.is_some_and(timed), wire::COMPANION_PE_MMU_TIMED),
        (profile == Profile::Isa, wire::COMPANION_MOVER_ISA),
        (chip == Tensix::Wormhole, wire::COMPANION_MOVER_WORMHOLE),
        (contention == Contention::Contended, wire::COMPANION_MOVER_CONTENDED),
        (waits_for_credit, wire::COMPANION_MOVER_WAITS_FOR_CREDIT),
    ];
    let page = options.pe_mmu.map_or(0, |pe_mmu| pe_mmu.page_size.bits());
    flags.into_iter().filter(|(is_set, _)| *is_set).fold(u16::from(page), |bits, (_, flag)| bits | flag)
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
        let [with, without] = [with, Options::default()].map(|options| config(&options).unwrap());
        assert_eq!((with.features.get() & wire::FEATURE_PE_MMU, with.entries_max.get()), (1, 1024));
        assert_eq!((without.features.get() & wire::FEATURE_PE_MMU, without.entries_max.get()), (0, 0));
    }

    #[test]
    fn attributes_of_the_companions_are_announced() {
        let made = |pe_mmu: Option<&str>, mover: &str| {
            let pe_mmu = pe_mmu.map(|text| text.parse().unwrap());
            let options = Options { pe_mmu, mover: mover.parse().unwrap(), ..Options::default() };
            config(&options).unwrap().companions.get()
        };
        assert_eq!((made(None, ""), made(Some(""), ""), made(Some("page=1"), "isa")), (0, 21, 0x100));
        let all = "isa,wormhole,contended,wait-for-credit";
        assert_eq!(made(Some("page=0x80000000,fabric-ns=1"), all), 0xf00 | 0x20 | 31);
    }

    #[test]
    fn config_of_every_engine_is_one_that_a_driver_accepts() {
        for chip in Soc::ALL {
            for options in every_instance(&Options { chip, ..Options::default() }) {
                let config = config(&options).unwrap();
                let read = Config::read(config.as_bytes()).unwrap();
                assert_eq!(usize::from(read.instance.get()), options.instance);
                assert_eq!(read.pte_format(), Ok(options.pte_format));
                assert_eq!(format!("t{:x}", read.chip.get()), chip.name());
            }
        }
    }
}
