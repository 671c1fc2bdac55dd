//! Residency: operands that stay, operands that stream, and operands that get a buffer.

use ane_uapi::hw::hal::{self, Generation};
use ane_uapi::hw::sram::residency::{GateReading, KernelStore, Operands, OutputBuffer, Residency};
use ane_uapi::hw::sram::stride::Costs;
use ane_uapi::hw::sram::{self, Crossing, Hierarchy, tensor_bytes};

use crate::{MB, m1};

fn stays(hierarchy: &Hierarchy, bytes: u64) -> bool {
    hierarchy.residency(bytes) == Residency::Resident
}

/// Requirement: MEM-02
#[test]
fn operand_below_the_bound_stays_and_one_at_it_streams() {
    assert!(stays(&m1(), 2 * MB - 1));
    assert_eq!(m1().residency(2 * MB), Residency::Streamed { tiles: 2 });
    assert!(stays(&m1(), 0));
}

/// Requirement: MEM-03
#[test]
fn three_operands_that_together_exceed_the_bound_stay() {
    let each = 3 * MB / 2;
    assert_eq!(m1().layer(Operands { input: each, weight: each, output: each }), Residency::Resident);
}

/// Requirement: MEM-04
#[test]
fn largest_of_input_weight_and_output_decides_whichever_it_is() {
    let streams = Residency::Streamed { tiles: 3 };
    let (large, small) = (3 * MB, 16);
    for operands in [
        Operands { input: large, weight: small, output: small },
        Operands { input: small, weight: large, output: small },
        Operands { input: small, weight: small, output: large },
    ] {
        assert_eq!(m1().layer(operands), streams, "{operands:?}");
    }
}

/// Requirement: MEM-05
#[test]
fn element_takes_two_bytes() {
    assert_eq!((tensor_bytes(1), tensor_bytes(4096 * 4096)), (2, 32 * MB));
    assert_eq!(tensor_bytes(u64::MAX), u64::MAX);
}

/// Requirement: MEM-06
#[test]
fn published_sizes_fall_where_the_seed_says() {
    let sizes = [512 * 32 * 32, 512 * 64 * 64, 4096 * 4096].map(tensor_bytes);
    assert_eq!(sizes, [MB, 4 * MB, 32 * MB]);
    assert_eq!(sizes.map(|bytes| stays(&m1(), bytes)), [true, false, false]);
}

/// Requirement: MEM-07
#[test]
fn bound_has_two_names_and_an_override() {
    assert_eq!(
        (sram::OPERAND_BOUND_NAMES, sram::OPERAND_BOUND_OPTION),
        (["MemCacheSize", "L2Size"], "fl2-size")
    );
    let field = hal::at(hal::MAX_OPERAND_BYTES).next().expect("there is one");
    assert!(sram::OPERAND_BOUND_NAMES.iter().all(|name| field.doc.contains(name)));
    assert!(stays(&m1().with_operand_bytes(4 << 20), 3 * MB));
    assert!(!stays(&m1().with_operand_bytes(1 << 20), MB));
}

/// Requirement: MEM-23
#[test]
fn decision_is_a_function_of_sizes_and_knows_no_order() {
    let sizes = [MB, 5 * MB, 3 * MB / 2, 2 * MB, 2 * MB - 1];
    let forwards = sizes.map(|bytes| m1().residency(bytes));
    let mut backwards = sizes;
    backwards.reverse();
    let mut decided = backwards.map(|bytes| m1().residency(bytes));
    decided.reverse();
    assert_eq!(decided, forwards);
    assert_eq!(sizes.map(|bytes| m1().residency(bytes)), forwards, "a second use changes nothing");
}

/// Requirement: MEM-24
#[test]
fn gate_and_threshold_decide_as_the_listing_has_it() {
    let with =
        |residency_gate, residency_threshold| Hierarchy { residency_gate, residency_threshold, ..m1() };
    let listing = |hierarchy: Hierarchy, slots| hierarchy.output_buffer(slots, GateReading::Listing);
    // A threshold of two slots: the footprint is below, at and above it.
    let shut: Vec<_> = [1, 2, 3].map(|slots| listing(with(false, 32), slots)).into();
    let open: Vec<_> = [1, 2, 3].map(|slots| listing(with(true, 32), slots)).into();
    assert_eq!(shut, [OutputBuffer::Dedicated; 3]);
    assert_eq!(open, [OutputBuffer::Dedicated, OutputBuffer::Dedicated, OutputBuffer::Default]);
    assert_eq!(m1().output_footprint(3), 48);
}

/// Requirement: MEM-25
#[test]
fn m1_takes_the_default_buffer_for_any_count_in_either_reading() {
    for slots in [1, 2, 64, 1 << 20, u32::MAX] {
        for reading in [GateReading::Listing, GateReading::Prose] {
            assert_eq!(m1().output_buffer(slots, reading), OutputBuffer::Default, "{slots}");
        }
    }
}

/// Requirement: MEM-26
#[test]
fn dedicated_buffer_is_a_part_of_the_pool_with_a_stride_of_the_same_search() {
    let a15 = Hierarchy::of(Generation::H15);
    let slots = 1000;
    assert_eq!(a15.output_buffer(slots, GateReading::Listing), OutputBuffer::Dedicated);
    let rows = 64;
    let stride = a15.choose_stride(16 * slots, &Costs::of_rows(&a15, rows)).expect("below the ceiling");
    assert_eq!((stride.bytes % a15.granule, stride.cost), (0, 1.0));
    assert!(
        u64::from(stride.bytes) * u64::from(rows) < u64::from(a15.operand_bytes),
        "it fits in the one pool"
    );
}

/// Requirement: MEM-27
#[test]
fn threshold_of_each_generation_divides_its_footprints() {
    let prose =
        |generation, bytes: u32| Hierarchy::of(generation).output_buffer(bytes / 16, GateReading::Prose);
    let (default, dedicated) = (OutputBuffer::Default, OutputBuffer::Dedicated);
    let sides = |generation, bytes| [prose(generation, bytes), prose(generation, bytes + 16)];
    assert_eq!(sides(Generation::H15, 32 << 10), [default, dedicated]);
    assert_eq!(sides(Generation::H16, 256 << 10), [default, dedicated]);
    assert_eq!(sides(Generation::H17s, 256 << 10), [default, dedicated]);
}

/// Requirement: MEM-28
#[test]
fn kernel_store_is_a_budget_apart_from_the_pool() {
    let small_pool = m1().with_operand_bytes(1024);
    assert_eq!(small_pool.kernel_store(64 << 10), KernelStore::Dense);
    assert!(!stays(&small_pool, 64 << 10));
    assert_eq!(m1().kernel_store((64 << 10) + 1), KernelStore::Streamed);
    assert!(stays(&m1(), (64 << 10) + 1));
}

/// Requirement: MEM-29
#[test]
fn caps_of_the_kernel_store_and_its_mode_come_from_their_fields() {
    let m1 = m1();
    assert_eq!(
        (m1.dense_kernel_bytes, m1.streamed_kernel_bytes, m1.extended_kernel),
        (64 << 10, 16 << 20, false)
    );
    assert_eq!(m1.kernel_store(16 * MB), KernelStore::Streamed);
    assert_eq!(m1.kernel_store(16 * MB + 1), KernelStore::TooLarge);
    let extended = Hierarchy { extended_kernel: true, ..m1 };
    assert_eq!(extended.kernel_store(16 * MB), KernelStore::Dense);
    assert_eq!(extended.kernel_store(16 * MB + 1), KernelStore::TooLarge);
}

#[test]
fn hierarchy_of_every_generation_is_whole() {
    for &generation in Generation::ALL {
        let hierarchy = Hierarchy::of(generation);
        assert_eq!(
            (hierarchy.banks, hierarchy.granule, hierarchy.max_stride),
            (64, 16, 2 << 20),
            "{generation}"
        );
        assert_eq!(hierarchy.operand_bytes, if generation == Generation::M9 { 1 << 20 } else { 2 << 20 });
        assert!(hierarchy.levels().iter().all(|level| !level.name.is_empty()));
    }
    assert_eq!(Hierarchy::of(Generation::H17d).crossing, Crossing::Smooth);
    assert_eq!(m1().crossing, Crossing::Step);
}

/// Requirement: MEM-11
#[test]
fn tiler_splits_inside_the_measured_step() {
    let split = f64::from(m1().split_bytes()) / MB as f64;
    assert!((2.28..=2.34).contains(&split), "{split} MB");
}
