//! The operands of a plan: extents, places, and the bytes that streaming leaves on chip.

use ane_device::engine::plan::Pass;
use ane_device::engine::plan::neural::NeuralPass;
use ane_device::engine::plan::operand::{Origin, Shape, Window};
use ane_device::engine::plan::planar::PlanarPass;

use crate::registers::*;

fn neural(layers: &[Words<'_>]) -> NeuralPass {
    let Pass::Neural(pass) = planned(layers).unwrap().pass else { panic!("neural") };
    pass
}

fn planar(layers: &[Words<'_>]) -> PlanarPass {
    let Pass::Planar(pass) = planned(layers).unwrap().pass else { panic!("planar") };
    pass
}

fn leaves(pass: &NeuralPass) -> Window {
    let Origin::Memory { leaves, .. } = pass.source.origin else { panic!("from memory") };
    leaves
}

#[test]
fn streamed_source_stays_readable_if_its_window_holds_all_of_it() {
    assert_eq!(leaves(&neural(&[RELU])), Window::Whole);
    // Two rows through a window of one.
    let tall = [(0x00, 0x0002_004d), (0x14, 0x0002_004d)];
    assert_eq!(leaves(&neural(&[RELU, &tall])), Window::Unknown(0xa0));
    // 129 columns through tiles of 128.
    let wide = [(0x00, 0x0001_0081), (0x14, 0x0001_0081), (0x480c, 0x100), (0x4810, 0x100)];
    assert_eq!(leaves(&neural(&[RELU, &wide])), Window::Unknown(0x100));
}

#[test]
fn source_that_is_kept_stays_readable_whatever_its_window() {
    let tall = [(0x00, 0x0002_004d), (0x14, 0x0002_004d), (0x4804, 0x0050_0171)];
    assert_eq!(leaves(&neural(&[RELU, &tall])), Window::Whole);
}

#[test]
fn window_that_several_groups_stream_through_holds_what_nobody_knows() {
    // Two groups of one channel each, one behind the other in memory and as their strides on chip say.
    let groups = [(0x24, 0x0001_4002), (0x1_3818, 0xc0), (0x1_7814, 0xc0), (0x4818, 0xa0)];
    assert_eq!(leaves(&neural(&[RELU, &groups])), Window::Unknown(0xa0));
    let kept = [(0x4804, 0x0050_0171)];
    assert_eq!(leaves(&neural(&[RELU, &groups, &kept])), Window::Whole);
}

#[test]
fn elements_that_take_each_others_place_on_chip_leave_what_nobody_knows() {
    let kept = [(0x4804, 0x0050_0171)];
    // Two rows, 16 bytes apart; each has 154.
    let rows = [(0x00, 0x0002_004d), (0x14, 0x0002_004d), (0x4810, 0x10)];
    assert_eq!(leaves(&neural(&[RELU, &rows, &kept])), Window::Overlapping);
    // The same as a stream whose window has two rows.
    let window = [(0x28, 2)];
    assert_eq!(leaves(&neural(&[RELU, &rows, &window])), Window::Unknown(0x20));
    // Two channels of 256 columns, as far apart as one tile is wide.
    let wide = [(0x00, 0x0001_0100), (0x14, 0x0001_0100), (0x0c, 2), (0x10, 2)];
    let places = [(0x480c, 0x100), (0x4810, 0x200), (0x1_7808, 0x200), (0x1_780c, 0x200)];
    assert_eq!(leaves(&neural(&[RELU, &wide, &places, &kept])), Window::Overlapping);
}

#[test]
fn broadcast_operand_has_one_column_row_or_channel() {
    let shape =
        [(0x00, 0x0004_0008), (0x14, 0x0004_0008), (0x480c, 0x20), (0x1_7808, 0x80), (0x1_780c, 0x200)];
    let pass = |map| planar(&[RELU, SUM, &shape, &[(0x30, map)]]);
    let extents = |shape: Shape| (shape.channels, shape.height, shape.width);
    assert_eq!(extents(pass(0).source1.shape), (64, 4, 8));
    assert_eq!(extents(pass(0x1).source1.shape), (64, 4, 1));
    assert_eq!(extents(pass(0x2).source1.shape), (64, 1, 8));
    assert_eq!(extents(pass(0x8).source1.shape), (1, 4, 8));
    assert_eq!(extents(pass(0xb0).source2.unwrap().shape), (1, 1, 1));
    assert_eq!(extents(pass(0x400).sink.shape), (8, 4, 64));
    assert_eq!(extents(pass(0x400).output()), (64, 4, 8));
}

#[test]
fn reduction_gives_one_value_for_each_channel() {
    let reduce = [(0x08, 0x22), (0x34, 0x51), (0x4804, 0x0050_0172), (0x8800, 0)];
    let pass = planar(&[RELU, SUM, &reduce]);
    assert_eq!(pass.output(), Shape { channels: 64, height: 1, width: 1 });
    assert_eq!(pass.source2, None);
}

#[test]
fn scale_of_a_normalising_source_lies_in_the_row_behind() {
    let pass = planar(&[RELU, SUM, &[(0x34, 0x43), (0x30, 0x30), (0x8800, 0x000c_0000)]]);
    assert_eq!(pass.source2.unwrap().shape, Shape { channels: 64, height: 2, width: 1 });
}

#[test]
fn plan_of_the_same_words_is_made_once() {
    use ane_device::engine::plan::cache::PlanCache;
    use ane_uapi::hw::td::header::Header;
    let mut cache = PlanCache::default();
    let mut file = registers(&[RELU]);
    let first = cache.get(&Header::default(), &file).unwrap();
    assert_eq!(cache.get(&Header::default(), &file).unwrap(), first);
    assert_eq!(cache.made(), 1);
    file.write(0x38, 0).unwrap();
    cache.get(&Header::default(), &file).unwrap();
    assert_eq!(cache.made(), 2, "a changed byte is another plan, even of a word without effect");
}

#[test]
fn plans_of_a_long_chain_are_kept_from_run_to_run() {
    use ane_device::engine::plan::cache::PlanCache;
    use ane_uapi::hw::td::header::Header;
    use ane_uapi::hw::td::tile_source;

    const TASKS: u64 = 1000;
    let mut cache = PlanCache::default();
    let mut file = registers(&[RELU]);
    for run in 1..=3 {
        for task in 0..TASKS as u32 {
            file.write(tile_source::BASE_ADDR1.offset(), 64 * task).unwrap();
            cache.get(&Header::default(), &file).unwrap();
        }
        // A handful may share a set that is too small for them; the hash is another in each process.
        assert!(cache.made() < TASKS + 50 * run, "{} plans were made in {run} runs", cache.made());
    }
}
