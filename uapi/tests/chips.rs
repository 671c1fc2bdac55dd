//! The chip table and the HAL table against the documents, by tables written out a second time.

use ane_uapi::hw::chip::{self, BIA, BOARDS, CHIPS, CIRCUITS, Quantity, Soc, Unknown, operations_per_cycle};
use ane_uapi::hw::hal::{self, FIELDS, FieldBytes, FieldKind, FieldOffset, Generation, UnknownGeneration};
use ane_uapi::hw::space::{EngineOffset, PhysAddr};
use ane_uapi::hw::usage::ReadOnly;
use ane_uapi::register::Grade;

#[test]
fn thirteen_boards_have_the_listed_soc_nodes_and_type() {
    let listed = [
        ("Mac mini (M1, 2020)", "J274AP", "t8103", "ane", 64),
        ("MacBook Pro (13-inch, M1, 2020)", "J293AP", "t8103", "ane", 64),
        ("MacBook Air (M1, 2020)", "J313AP", "t8103", "ane", 64),
        ("iMac (24-inch (4-port), M1, 2021)", "J456AP", "t8103", "ane", 64),
        ("iMac (24-inch (2-port), M1, 2021)", "J457AP", "t8103", "ane", 64),
        ("MacBook Pro (16-inch, M1 Pro, 2021)", "J316sAP", "t6000", "ane0", 96),
        ("MacBook Pro (16-inch, M1 Max, 2021)", "J316cAP", "t6001", "ane0,ane1", 96),
        ("MacBook Pro (14-inch, M1 Pro, 2021)", "J314sAP", "t6000", "ane0", 96),
        ("MacBook Pro (14-inch, M1 Max, 2021)", "J314cAP", "t6001", "ane0,ane1", 96),
        ("Mac Studio (M1 Max, 2022)", "J375cAP", "t6001", "ane0,ane1", 96),
        ("Mac Studio (M1 Ultra, 2022)", "J375dAP", "t6002", "ane0,ane1,ane2,ane3", 96),
        ("MacBook Pro (13-inch, M2, 2022)", "J493AP", "t8112", "ane", 128),
        ("MacBook Air (M2, 2022)", "J413AP", "t8112", "ane", 128),
    ];
    assert_eq!(BOARDS.len(), listed.len());
    for (marketing, product, soc, nodes, ane_type) in listed {
        let board = BOARDS.iter().find(|board| board.product == product).expect("the board is listed");
        assert_eq!(board.marketing, marketing);
        assert_eq!(board.soc.name(), soc);
        let chip = board.soc.chip();
        let names: Vec<_> = chip.instances.iter().map(|instance| instance.node).collect();
        assert_eq!((names.join(","), chip.ane_type), (nodes.to_string(), ane_type), "{product}");
    }
}

#[test]
fn circuits_have_the_listed_firmware_and_ranges() {
    type Row = (&'static str, &'static str, u64, &'static [(u64, u64)]);
    let listed: [Row; 6] = [
        ("styx", "h13_ane_fw_styx_j5x", 0x26a000000, &[(0x23b700000, 0x8c000)]),
        ("eos0", "t600x_ane0_fw_eos_jc3x", 0x284000000, &[(0x28e080000, 0xc02c)]),
        ("eos1", "t600x_ane1_fw_eos_jc3x", 0x508000000, &[(0x28e680100, 0x3f2c)]),
        ("eos2", "t600x_ane2_fw_eos_jc3x", 0x2284000000, &[(0x228e080000, 0xc02c)]),
        ("eos3", "t600x_ane3_fw_eos_jc3x", 0x2508000000, &[(0x228e680100, 0x3f2c)]),
        ("bia", "h14_ane_fw_bia_j4xx", 0x26a000000, &[(0x23b700000, 0x18000), (0x23b724000, 0x4000)]),
    ];
    assert_eq!(CIRCUITS.len(), listed.len());
    for (codename, firmware, base, pmu) in listed {
        let circuit =
            CIRCUITS.iter().find(|circuit| circuit.codename == codename).expect("the circuit is listed");
        let ranges: Vec<_> = circuit.pmu.iter().map(|range| (range.base.0, range.len)).collect();
        assert_eq!((circuit.firmware, circuit.mmio_base.0, &ranges[..]), (firmware, base, pmu), "{codename}");
    }
}

#[test]
fn instances_of_a_chip_are_its_circuits_in_order() {
    let listed = [
        (Soc::T8103, &["styx"][..], Generation::H13, "h13"),
        (Soc::T6000, &["eos0"], Generation::H13g, "h13g"),
        (Soc::T6001, &["eos0", "eos1"], Generation::H13g, "h13g"),
        (Soc::T6002, &["eos0", "eos1", "eos2", "eos3"], Generation::H13g, "h13g"),
        (Soc::T8112, &["bia"], Generation::H14, "h14"),
    ];
    for (soc, circuits, generation, architecture) in listed {
        let chip = soc.chip();
        let names: Vec<_> = chip.instances.iter().map(|instance| instance.circuit.codename).collect();
        assert_eq!((chip.soc, &names[..]), (soc, circuits));
        assert_eq!((chip.generation, chip.architecture), (generation, architecture));
    }
}

/// Requirement: DART-02, MEM-32
#[test]
fn dart_profile_has_the_live_values() {
    for chip in &CHIPS {
        let dart = chip.dart;
        assert_eq!((dart.node, dart.driver_class), ("dart-ane0", "dart,t6000"));
        assert_eq!((dart.page_size, dart.aperture_base, dart.aperture_size), (0x4000, 0, 0xe000_0000));
        assert_eq!((dart.streams_enabled, dart.streams_bypassed, dart.stream_slots), (0xa001, 0xa000, 16));
        assert_eq!((dart.options, dart.live_config), (0x25, 0x8000_0025));
        assert_eq!(dart.read_only, ReadOnly::Collapsed);
    }
}

#[test]
fn dart_values_are_measured_only_where_the_controller_was_read() {
    let measured: Vec<_> =
        CHIPS.iter().filter(|chip| chip.dart_grade == Grade::Measured).map(|chip| chip.soc.name()).collect();
    assert_eq!(measured, ["t6000", "t6001"]);
}

#[test]
fn quantities_called_engines_stay_apart() {
    let count = |soc: Soc, quantity| soc.chip().count(quantity).map(|count| count.number);
    assert_eq!(count(Soc::T8103, Quantity::NeuralEngines), Some(8));
    assert_eq!(count(Soc::T8103, Quantity::CompilerCores), Some(4));
    assert_eq!(count(Soc::T8103, Quantity::MacTiles), Some(32));
    assert_eq!(count(Soc::T8103, Quantity::KernelChannels), Some(16));
    assert_eq!(count(Soc::T6001, Quantity::CostedEngines), Some(8));
    assert_eq!(count(Soc::T6001, Quantity::ReportedCores), Some(16));
    assert_eq!(count(Soc::T6001, Quantity::ReportedEngines), Some(1));
    for soc in [Soc::T6000, Soc::T6001, Soc::T6002, Soc::T8112] {
        assert_eq!(count(soc, Quantity::NeuralEngines), None, "{soc}: no source says");
    }
}

#[test]
fn compiler_cores_of_a_chip_are_those_of_its_hal_column() {
    for chip in &CHIPS {
        let cores = hal::value(chip.generation, hal::CORES).expect("stated").number;
        let count = chip.count(Quantity::CompilerCores).expect("stated").number;
        assert_eq!(u32::from(count), cores, "{}", chip.soc);
    }
}

#[test]
fn operations_per_cycle_match_the_two_examples() {
    assert_eq!(operations_per_cycle(1, 8), 2048);
    assert_eq!(operations_per_cycle(2, 16), 8192);
    assert_eq!(operations_per_cycle(u16::MAX, u16::MAX), u32::MAX);
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let said = |unknown: Unknown<'_>| unknown.to_string();
    assert_eq!(Soc::by_name("T6001"), Ok(Soc::T6001));
    assert_eq!(
        said(Soc::by_name("t9000").unwrap_err()),
        "chip \"t9000\" is not known; known: t8103, t6000, t6001, t6002, t8112"
    );
    assert_eq!(
        said(Soc::T6001.chip().node("ane2").unwrap_err()),
        "node \"ane2\" does not exist on t6001, which has: ane0, ane1"
    );
    assert_eq!(
        said(Soc::T6002.chip().instance(4).unwrap_err()),
        "instance 4 does not exist on t6002, which has 0 to 3"
    );
    let UnknownGeneration { name } = Generation::by_name("h99").unwrap_err();
    assert_eq!(name, "h99");
    assert!(Generation::by_name("h99").unwrap_err().to_string().ends_with("m11, u1, u2, u3"));
}

#[test]
fn bus_address_has_an_offset_inside_the_container_only() {
    for circuit in &CIRCUITS {
        for offset in [0, 4, 0x1c2_4000, 0x1ff_fffc] {
            let address = PhysAddr(circuit.mmio_base.0 + u64::from(offset));
            assert_eq!(circuit.offset(address), Some(EngineOffset(offset)));
        }
        assert_eq!(circuit.offset(PhysAddr(circuit.mmio_base.0 + 0x200_0000)), None);
        assert_eq!(circuit.offset(PhysAddr(circuit.mmio_base.0 - 1)), None);
    }
    assert_eq!(BIA.offset(PhysAddr(0x26b800000)), Some(EngineOffset(0x180_0000)));
}

#[test]
fn boards_of_a_soc_are_counted() {
    let counts = Soc::ALL.map(|soc| BOARDS.iter().filter(|board| board.soc == soc).count());
    assert_eq!(counts, [5, 2, 3, 1, 2]);
    assert_eq!(chip::MADDS_PER_ENGINE, 256);
}

const MB: u32 = 0x10_0000;

/// The columns of the numeric table, M1 to M5.
const COLUMNS: [&str; 5] = ["h13", "h14", "h15", "h16", "h17s"];

fn value(generation: &str, offset: u16) -> Option<u32> {
    let generation = Generation::by_name(generation).expect("a target");
    hal::value(generation, FieldOffset(offset)).map(|value| value.number)
}

/// Requirement: CHIP-13, MEM-01, MEM-16
#[test]
fn numeric_fields_have_the_stated_values() {
    let listed: [(u16, [u32; 5]); 18] = [
        (0x00, [13, 14, 15, 16, 17]),
        (0x0c, [8; 5]),
        (0x70, [16; 5]),
        (0x138, [16384, 16384, 16384, 65536, 65536]),
        (0x158, [16384, 16384, 16384, 65536, 65536]),
        (0x1b8, [2 * MB; 5]),
        (0x1c0, [16; 5]),
        (0x1c8, [64; 5]),
        (0x1f0, [0, 0, 32768, 262_144, 262_144]),
        (0x218, [256, 16, 16, 16, 16]),
        (0x228, [64; 5]),
        (0x238, [4, 4, 4, 4, 16]),
        (0x3a8, [8; 5]),
        (0x3b0, [4; 5]),
        (0x3b8, [2; 5]),
        (0x3c0, [1; 5]),
        (0x3f0, [192, 192, 384, 384, 384]),
        (0x668, [3, 13, 16, 14, 14]),
    ];
    for (offset, row) in listed {
        for (generation, expected) in COLUMNS.into_iter().zip(row) {
            assert_eq!(value(generation, offset), Some(expected), "{generation} at {offset:#x}");
        }
    }
}

/// Requirement: CHIP-12
#[test]
fn fields_stated_for_one_target_are_silent_about_the_others() {
    let m1_only = [
        (0x1f8, 2 * MB),
        (0x200, 0x1_0000),
        (0x210, 16 * MB),
        (0x230, 64),
        (0x338, 4),
        (0x388, 32),
        (0x390, 16),
        (0x398, 8),
        (0x410, 9),
        (0x680, 1),
        (0x491, 1),
        (0x529, 1),
    ];
    for (offset, expected) in m1_only {
        assert_eq!(value("h13", offset), Some(expected), "{offset:#x}");
        for other in ["h14", "h15", "h16", "h17s", "h13g"] {
            assert_eq!(value(other, offset), None, "{other} at {offset:#x}");
        }
    }
    assert_eq!((value("h13", 0x400), value("h17s", 0x400)), (Some(4), Some(4)));
    for (generation, offset, expected) in [
        ("m9", 0x1b8, MB),
        ("h13", 0x1b8, 2 * MB),
        ("h11", 0x228, 32),
        ("m9", 0x228, 16),
        ("h12", 0x158, 1),
        ("h13g", 0x238, 8),
        ("h17d", 0x238, 64),
        ("m9", 0x238, 1),
    ] {
        assert_eq!(value(generation, offset), Some(expected), "{generation} at {offset:#x}");
    }
    for offset in [0x328, 0x3f8, 0x468, 0x470, 0x708, 0x8b4, 0x8bc, 0x8e0] {
        assert!(hal::at(FieldOffset(offset)).next().is_some(), "{offset:#x} is described");
        assert_eq!(value("h13", offset), None, "{offset:#x} has no stated value");
    }
}

#[test]
fn capability_bytes_have_the_stated_values() {
    let columns = ["h13", "h14", "h15", "h16", "h18"];
    let listed: [(u16, [u32; 5]); 12] = [
        (0x48b, [0; 5]),
        (0x48f, [1; 5]),
        (0x494, [0, 1, 1, 1, 1]),
        (0x4a9, [0, 0, 1, 1, 1]),
        (0x4f2, [1; 5]),
        (0x52d, [0, 0, 0, 0, 1]),
        (0x563, [0, 0, 0, 0, 1]),
        (0x814, [1; 5]),
        (0x815, [1; 5]),
        (0x816, [1; 5]),
        (0x81a, [1; 5]),
        (0x81d, [0, 1, 1, 1, 1]),
    ];
    for (offset, row) in listed {
        for (generation, expected) in columns.into_iter().zip(row) {
            assert_eq!(value(generation, offset), Some(expected), "{generation} at {offset:#x}");
        }
    }
    let dies: [(u16, [Option<u32>; 5]); 3] = [
        (0x55c, [Some(0), Some(1), Some(1), None, Some(1)]),
        (0x564, [Some(0), Some(1), Some(1), None, Some(0)]),
        (0x687, [Some(0), Some(0), Some(1), None, Some(0)]),
    ];
    for (offset, row) in dies {
        for (generation, expected) in columns.into_iter().zip(row) {
            assert_eq!(value(generation, offset), expected, "{generation} at {offset:#x}");
        }
    }
}

#[test]
fn palette_cluster_of_the_m1_is_clear_but_for_one_byte() {
    let set: Vec<_> = (0x520..=0x539).filter(|&offset| value("h13", offset) != Some(0)).collect();
    assert_eq!(set, [0x529]);
    assert_eq!((value("h13", 0x51f), value("h13", 0x53a)), (None, None));
}

#[test]
fn fields_the_same_everywhere_are_zero_on_all_28_targets() {
    assert_eq!(Generation::ALL.len(), 28);
    for generation in Generation::ALL {
        assert_eq!(value(generation.name(), 0x288), Some(0), "{generation}");
        assert_eq!(value(generation.name(), 0x48b), Some(0), "{generation}");
    }
}

#[test]
fn cores_of_every_target_follow_its_suffix() {
    for generation in Generation::ALL.iter().copied() {
        let expected = match generation.name() {
            // All that is said of these is 1 to 4.
            "h11" | "h12" | "t0" => None,
            "m9" | "m11" => Some(1),
            name if name.ends_with('g') => Some(8),
            name if name.ends_with('s') => Some(16),
            name if name.ends_with('c') => Some(32),
            name if name.ends_with('d') => Some(64),
            _ => Some(4),
        };
        assert_eq!(value(generation.name(), 0x238), expected, "{generation}");
    }
}

#[test]
fn kernel_widths_are_in_a_span_and_answer_no_offset() {
    let widths: Vec<_> = FIELDS
        .iter()
        .filter(|field| field.place == FieldBytes::Within(FieldOffset(0x30), FieldOffset(0x50)))
        .map(|field| [Generation::H13, Generation::H14].map(|g| field.value(g).expect("stated").number))
        .collect();
    assert_eq!(widths, [[29, 32], [13, 16]]);
    for offset in 0x30..=0x50 {
        assert_eq!(value("h13", offset), None, "{offset:#x}");
    }
}

#[test]
fn dead_fields_have_no_values() {
    let dead: Vec<_> = FIELDS.iter().filter(|field| field.kind == FieldKind::Dead).collect();
    let offsets: Vec<_> = dead.iter().map(|field| field.place.first().0).collect();
    assert_eq!(offsets, [0x18, 0x80, 0x260, 0x29c, 0x320]);
    for field in dead {
        assert!(Generation::ALL.iter().all(|&generation| field.value(generation).is_none()));
    }
}

#[test]
fn capabilities_are_bits() {
    for field in FIELDS.iter().filter(|field| field.kind == FieldKind::Capability) {
        for value in Generation::ALL.iter().filter_map(|&generation| field.value(generation)) {
            assert!(value.number <= 1, "{}", field.name);
        }
    }
}

#[test]
fn value_expected_of_a_sibling_is_its_class_value_and_a_prediction() {
    let m1_max = hal::expected(Generation::H13g, hal::MAX_OPERAND_BYTES).expect("of its class");
    assert_eq!((m1_max.number, m1_max.grade), (2 * MB, Grade::Predicted));
    let own = hal::expected(Generation::H13g, hal::CORES).expect("its own");
    assert_eq!((own.number, own.grade), (8, Grade::Derived));
    let m1 = hal::expected(Generation::H13, hal::MAX_OPERAND_BYTES).expect("its own");
    assert_eq!((m1.number, m1.grade), (2 * MB, Grade::Derived));
    assert_eq!(hal::expected(Generation::H12, hal::BANK_COUNT), None);
}

/// Requirement: CHIP-11
#[test]
fn hierarchy_fields_of_the_m1_have_the_listed_values() {
    let listed = [
        (0x1b8, 2 * MB),
        (0x1c0, 16),
        (0x1c8, 64),
        (0x1f0, 0),
        (0x1f8, 2 * MB),
        (0x200, 0x1_0000),
        (0x210, 16 * MB),
        (0x288, 0),
        (0x491, 1),
    ];
    for (offset, expected) in listed {
        assert_eq!(value("h13", offset), Some(expected), "{offset:#x}");
    }
}

#[test]
fn named_offsets_are_the_documented_ones() {
    let named = [
        (hal::MAX_OPERAND_BYTES, 0x1b8),
        (hal::INTERLEAVE_GRANULE, 0x1c0),
        (hal::BANK_COUNT, 0x1c8),
        (hal::RESIDENCY_THRESHOLD, 0x1f0),
        (hal::MAX_DESTINATION_STRIDE, 0x1f8),
        (hal::DENSE_KERNEL_BYTES, 0x200),
        (hal::STREAMED_KERNEL_BYTES, 0x210),
        (hal::SEGMENT_ALIGNMENT, 0x218),
        (hal::CORES, 0x238),
        (hal::KERNEL_MEMORY_MODE, 0x288),
        (hal::RESIDENCY_GATE, 0x491),
    ];
    for (name, offset) in named {
        assert_eq!(name, FieldOffset(offset));
        assert!(hal::value(Generation::H13, name).is_some(), "{name} has a value on the M1");
    }
}
