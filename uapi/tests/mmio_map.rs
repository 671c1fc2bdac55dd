//! The container map against seed 004's list, and against the blocks of registers that lie in it.

use ane_uapi::hw::mmio_map::{self, RANGES, Region};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::{self, dart, td};
use ane_uapi::register::Grade;

/// The bus address that seed 004's list counts from: the M1's.
const M1: u64 = 0x2_6a00_0000;

#[test]
fn ranges_are_those_of_the_founding_document() {
    // As printed there, but for ends given as the last word, and the one that runs backwards.
    let listed: [(u64, u64, Region); 21] = [
        (0x26a000000, 0x26a001000, Region::Tunables),
        (0x26b000000, 0x26b010020, Region::AscData),
        (0x26b050000, 0x26b200000, Region::Asc),
        (0x26b400000, 0x26b457100, Region::Mailbox),
        (0x26b800000, 0x26b804000, Region::Dart0),
        (0x26b804000, 0x26b808000, Region::Dart3),
        (0x26b810000, 0x26b814000, Region::Dart1),
        (0x26b820000, 0x26b824000, Region::Dart2),
        (0x26b840000, 0x26b854000, Region::Doorbell),
        (0x26b860000, 0x26b870000, Region::AckGpio),
        (0x26b874000, 0x26b875000, Region::Nothing),
        (0x26b8ec000, 0x26b8f0000, Region::PowerData),
        (0x26b8f0000, 0x26b8f4000, Region::SystemTunables),
        (0x26b8f4000, 0x26b8f8000, Region::SocTunables),
        (0x26b900000, 0x26b90c200, Region::Performance),
        (0x26bc04000, 0x26bc20000, Region::MaddConfiguration),
        (0x26bc20000, 0x26bc24000, Region::DmaConfiguration),
        (0x26bc24000, 0x26bc25000, Region::TaskManager),
        (0x26bc25000, 0x26bc28000, Region::TaskQueues),
        (0x26bc34000, 0x26bc44000, Region::KernelMemory),
        (0x26bd00000, 0x26bf00000, Region::TileL2),
    ];
    let silicon: Vec<_> = RANGES
        .iter()
        .filter(|range| range.grade != Grade::Chosen)
        .map(|range| (M1 + u64::from(range.start.0), M1 + u64::from(range.end.0), range.region))
        .collect();
    assert_eq!(silicon, listed);
}

#[test]
fn extension_range_holds_the_blocks_no_chip_has() {
    let listed = [
        (0x1f1_0000, Region::Mover),
        (0x1f1_8000, Region::MoverModel),
        (0x1f2_0000, Region::MoverConfiguration),
        (0x1f3_0000, Region::XmovPort),
        (0x1f4_0000, Region::PeMmu),
        (0x1f5_0000, Region::Firmware),
    ];
    let extension: Vec<_> = RANGES
        .iter()
        .filter(|range| range.grade == Grade::Chosen)
        .map(|range| (range.start.0, range.region))
        .collect();
    assert_eq!(extension, listed);
    assert_eq!((mmio_map::EXTENSION_START.0, mmio_map::EXTENSION_END.0), (0x1f0_0000, 0x200_0000));
}

#[test]
fn every_word_of_the_container_is_found_in_the_range_that_contains_it() {
    for word in (0..EngineOffset::CONTAINER).step_by(4) {
        let offset = EngineOffset(word);
        let slow = RANGES.iter().find(|range| range.start <= offset && offset < range.end);
        assert_eq!(mmio_map::find(offset), slow, "{offset}");
    }
    assert_eq!(mmio_map::find(EngineOffset(0x200_0000)), None);
    assert_eq!(mmio_map::find(EngineOffset(u32::MAX)), None);
}

#[test]
fn region_leads_to_its_own_range() {
    for range in RANGES {
        assert_eq!(range.region.range(), range);
    }
    assert_eq!(Region::DART.map(|window| window.range().name), ["dart0", "dart1", "dart2", "dart3"]);
}

#[test]
fn memories_have_the_size_of_their_hal_fields() {
    assert_eq!(Region::KernelMemory.range().len(), 0x1_0000);
    assert_eq!(Region::TileL2.range().len(), 0x20_0000);
}

#[test]
fn every_block_in_the_container_lies_in_the_range_that_lists_it() {
    for range in RANGES {
        for block in range.region.blocks() {
            // One block stands for all four windows, and the common block's own address 0 is not in the
            // container: its echoes are.
            let start = match block.name {
                name if name == dart::regs::WINDOW.name => range.start.0,
                name if name == td::common::COMMON.name => range.start.0,
                _ => block.container(0).0,
            };
            for register in block.registers {
                let offset = EngineOffset(start + register.offset);
                assert_eq!(mmio_map::find(offset), Some(range), "{} {}", block.name, register.name);
            }
        }
    }
}

#[test]
fn every_known_block_but_the_descriptor_header_is_listed_by_some_range() {
    let listed: Vec<_> =
        RANGES.iter().flat_map(|range| range.region.blocks()).map(|block| block.name).collect();
    for block in hw::blocks() {
        let in_memory = block.name == td::header::HEADER.name;
        assert_eq!(listed.contains(&block.name), !in_memory, "{}", block.name);
    }
}

#[test]
fn common_block_appears_below_every_other_descriptor_block_inside_the_map() {
    for block in td::BLOCKS.iter().filter(|block| block.start != 0) {
        let echo = block.container(block.start - td::COMMON_ECHO_BELOW);
        let region = mmio_map::find(echo).map(|range| range.region);
        assert_eq!(region, Some(Region::MaddConfiguration), "{}", block.name);
    }
    assert_eq!(td::l2::L2.container(td::l2::L2.start - td::COMMON_ECHO_BELOW), EngineOffset(0x1c0_4000));
}

#[test]
fn clocks_lie_in_the_range_of_the_coprocessor() {
    for clock in mmio_map::CLOCKS {
        assert_eq!(mmio_map::find(clock).map(|range| range.region), Some(Region::Asc));
    }
}
