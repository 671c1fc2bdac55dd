//! Registers that no source explains are refused by register and bits.

use ane_device::engine::plan::inferred::Inferred;
use ane_device::engine::plan::plan;
use ane_device::refusal::Category;
use ane_uapi::hw::td::header::{Flags, Header};

use crate::registers::*;

/// Category, register and bits of a refusal.
fn refusal(layers: &[Words<'_>]) -> (Category, u32, u32) {
    let verdict = planned(layers).unwrap_err();
    (verdict.category, verdict.address, verdict.bits)
}

#[test]
fn value_that_no_program_has_is_undefined() {
    let rows = [
        (0x1c, 0x9000_a021, 0xc000_0000),
        (0x1c, 0x6000_a021, 0x3000_0000),
        (0x0c, 0, 0x1_ffff),
        (0x24, 0x0001_c001, 0x8000),
        (0x24, 0x0000_4001, 0xffff_0000),
        (0x4800, 4, 0xc),
        (0x4804, 0x0050_01b2, 0xc0),
        (0x4804, 0x0050_1172, 0xf000),
        (0x4804, 0x0050_0272, 0xf00),
        (0x1_3838, 0x0100_2030, 0x3),
        (0x1_3838, 0x0100_2131, 0x100),
        (0x1_3838, 0x1100_2031, 0xf000_0000),
        (0x1_3850, 2, u32::MAX),
        (0x1_7800, 0x0400_00c0, 1),
        (0x1_7818, 0x0170_2031, 0x40_0000),
        (0xc804, 0x0011_004c, 0x40),
        (0xc804, 0x0011_400c, 0x4000),
        (0xc804, 0x0011_010c, 0x1f00),
        (0xc804, 0x0011_0004, 0x7),
        (0xc804, 0x0011_001c, 0x10),
        (0xc810, 0x1_3c00, 0x1f_0000),
    ];
    for (address, value, bits) in rows {
        let found = refusal(&[RELU, &[(address, value)]]);
        assert_eq!(found, (Category::Undefined, address, bits), "{value:#x} in {address:#x}");
    }
    assert_eq!(refusal(&[RELU, &[(0x04, 2)]]), (Category::Undefined, 0x18, u32::MAX), "only one is deeper");
}

/// Measured on an M1 (delta 14), or seen in programs with and without.
#[test]
fn word_that_a_neural_task_does_not_look_at_refuses_nothing() {
    let rows = [
        (0x4804, 0x0150_0172),
        (0x4804, 0x0050_0132),
        (0x1_3850, 1),
        (0x1_3838, 0x0130_2031),
        (0x4800, 0x3_3880),
        (0xc800, 0x7f),
        (0x1_f8c8, u32::MAX),
        (0x8800, u32::MAX),
        (0x1_383c, u32::MAX),
        (0x1_7800, 0x044c_00c1),
    ];
    for (address, value) in rows {
        assert!(planned(&[RELU, &[(address, value)]]).is_ok(), "{value:#x} in {address:#x}");
    }
}

#[test]
fn form_of_coefficients_that_is_not_executed_is_refused() {
    let rows = [
        (0xc800, 0x86, Category::Unsupported, 0x4),
        (0xc800, 0x482, Category::Unsupported, 0x400),
        (0xc800, 0x12, Category::Undefined, 0xf0),
        (0x1_f800, 0, Category::Undefined, 0x40),
        (0x1_f800, 0x60, Category::Undefined, 0x20),
        (0x1_f800, 0x50, Category::Unsupported, 0x10),
        (0x1_f80c, 0x80, Category::Undefined, 0x1),
        (0x1_f88c, 5, Category::Undefined, u32::MAX),
    ];
    for (address, value, category, bits) in rows {
        let found = refusal(&[RELU, CONVOLUTION, &[(address, value)]]);
        assert_eq!(found, (category, address, bits), "{value:#x} in {address:#x}");
    }
}

/// Four outputs of four engines with two lanes: a lane each where every channel brings just that.
#[test]
fn outputs_that_fill_no_plane_are_dealt_evenly_if_the_channels_say_so() {
    let two: Words<'_> = &[(0x1c, 0x5000_a421)];
    let four: Words<'_> = &[(0x10, 4), (0x1_f814, 0x81), (0x1_f894, 0x40)];
    assert!(planned(&[RELU, CONVOLUTION, two, four]).is_ok());
    // More bytes than a lane each needs: two engines with two lanes each, if the others do not run.
    let more: Words<'_> = &[(0x1_f888, 0x80)];
    assert_eq!(refusal(&[RELU, CONVOLUTION, two, four, more]), (Category::Undefined, 0x1c, 0x1c00));
    let idle: Words<'_> = &[(0x1_f810, 0x80), (0x1_f814, 0x80)];
    assert!(planned(&[RELU, CONVOLUTION, two, four, more, idle]).unwrap().inferred.is_none());
    // Three outputs: one for each of three engines, or two and one; a channel says which by what it brings.
    assert!(planned(&[RELU, CONVOLUTION, two]).unwrap().inferred.is_none());
    let ragged: Words<'_> = &[(0x1_f810, 0x80)];
    assert_eq!(planned(&[RELU, CONVOLUTION, two, ragged]).unwrap().inferred, Inferred::RAGGED);
    assert_eq!(refusal(&[RELU, CONVOLUTION, two, more]), (Category::Undefined, 0x1c, 0x1c00));
}

#[test]
fn table_that_the_channel_does_not_bring_beside_coefficients_and_table_without_bit_20_are_refused() {
    let fused: Words<'_> = &[(0xc804, 0x0012_1c00)];
    assert_eq!(refusal(&[RELU, CONVOLUTION, fused]), (Category::Undefined, 0x1_f888, u32::MAX));
    let brought: Words<'_> = &[(0x1_f888, 0xc0), (0x1_f88c, 0xc0), (0x1_f890, 0xc0)];
    assert!(planned(&[RELU, CONVOLUTION, fused, brought]).is_ok());
    let table = [(0x1_f800, 0x40), (0x1_f808, 0x81), (0x1_f888, 0x80)];
    assert!(planned(&[RELU, &table, &[(0xc804, 0x0012_000c)]]).is_ok());
    let found = refusal(&[RELU, &table, &[(0xc804, 0x0002_000c)]]);
    assert_eq!(found, (Category::Undefined, 0xc804, 0x10_0000));
}

#[test]
fn planar_value_that_no_program_has_is_undefined() {
    let rows = [
        (0x8800, 0, 0xc_0000),
        (0x8800, 0x0008_1000, 0x3000),
        (0x8800, 0x0008_0002, 0x3),
        (0x8808, 0x3c00_0001, 0xffff),
        (0x4804, 0x0050_0172, 0x100_0000),
        (0x10, 0x41, 0x1_ffff),
        (0x14, 0x0002_0001, u32::MAX),
        (0x24, 0x0001_0000, 0x1fff),
        (0x24, 0x0001_4001, 0x4000),
    ];
    for (address, value, bits) in rows {
        let found = refusal(&[RELU, SUM, &[(address, value)]]);
        assert_eq!(found, (Category::Undefined, address, bits), "{value:#x} in {address:#x}");
    }
}

#[test]
fn what_is_predicted_of_planar_tasks_is_noted() {
    let inferred = |words: Words<'_>| planned(&[RELU, SUM, words]).unwrap().inferred;
    assert_eq!(inferred(&[(0x4800, 1)]), Inferred::SOURCE_RELU);
    assert_eq!(inferred(&[(0x4800, 0x10)]), Inferred::SECOND_RELU);
    let reduce = [(0x08, 0x22), (0x34, 0x51), (0x4804, 0x0050_0172), (0x8800, 0), (0x4834, 0x860)];
    let reduced = |words: Words<'_>| planned(&[RELU, SUM, &reduce, words]).unwrap().inferred;
    assert!(reduced(&[]).is_none());
    for words in [[(0x8804, 0x3c00_3c00)], [(0x8804, 0x4000_0000)], [(0x8800, 0x20)]] {
        assert_eq!(reduced(&words), Inferred::REDUCTION_BIAS, "{words:x?}");
    }
    assert_eq!(inferred(&[(0x8800, 0x0008_0040)]), Inferred::MAGNITUDE);
    assert_eq!(Inferred::MAGNITUDE.to_string(), "magnitude");
    assert_eq!(inferred(&[(0x30, 1 << 2)]), Inferred::DEPTH_BROADCAST);
    assert_eq!(inferred(&[(0x30, 1 << 6)]), Inferred::DEPTH_BROADCAST);
    let bytes: Words<'_> = &[(0x08, 0x22), (0x1_383c, 0x0100_0000)];
    assert_eq!(inferred(bytes), Inferred::SOURCE2_BYTES);
    let deep = refusal(&[RELU, SUM, &[(0x30, 1 << 6), (0x04, 2), (0x18, 2)]]);
    assert_eq!(deep, (Category::Undefined, 0x30, 1 << 6));
}

#[test]
fn source_2_that_is_not_there_has_no_relu_and_bytes_are_not_passed_on() {
    let relu = [(0x4800, 0x10)];
    assert_eq!(refusal(&[RELU, &relu]), (Category::Undefined, 0x4800, 0x10));
    let copy = [(0x34, 0x23), (0x08, 0x22), (0x4804, 0x0050_0172), (0x8800, 0)];
    assert!(planned(&[RELU, SUM, &copy]).is_ok());
    assert_eq!(refusal(&[RELU, SUM, &copy, &relu]), (Category::Undefined, 0x4800, 0x10));
    let passed = [(0x4804, 0x0050_0173)];
    assert!(planned(&[RELU, &passed]).is_ok());
    assert_eq!(refusal(&[RELU, &passed, &[(0x08, 0x20)]]), (Category::Undefined, 0x08, 0x3));
}

#[test]
fn source_2_from_memory_needs_the_enable_of_the_first_port() {
    // Source 1 lies on chip.
    let layers = [RELU, SUM, &[(0x4804, 0x0150_0170)]];
    assert_eq!(planned(&layers).err(), None);
    let disabled: Words<'_> = &[(0x1_3800, 0x0003_3880)];
    assert_eq!(refusal(&[&layers[..], &[disabled]].concat()), (Category::Undefined, 0x1_3800, 1));
}

#[test]
fn result_that_is_passed_on_needs_a_task_that_takes_it() {
    let handover = |layers: &[Words<'_>], is_passed, is_last| {
        let registers = registers(layers);
        let verdict = planned(layers).unwrap().pass.check_handover(&registers, is_passed, is_last);
        verdict.map_err(|verdict| (verdict.category, verdict.address, verdict.bits))
    };
    let (passes, takes): (Words<'_>, Words<'_>) =
        (&[(0x4830, 0x0050_017b), (0x1_7800, 0x0400_00c0)], &[(0x4804, 0x0050_0173)]);
    assert_eq!(handover(&[RELU, passes], false, false), Ok(()));
    assert_eq!(handover(&[RELU, passes], false, true), Err((Category::Undefined, 0x4830, 3)));
    assert_eq!(handover(&[RELU, takes], true, true), Ok(()));
    assert_eq!(handover(&[RELU], true, true), Err((Category::Undefined, 0x4804, 3)));
}

#[test]
fn operand_that_leaves_the_chip_is_refused() {
    // On chip, 77 columns from the last 16 bytes.
    let found = refusal(&[RELU, &[(0x4804, 0), (0x4808, 0x1f_fff0)]]);
    assert_eq!(found, (Category::Undefined, 0x4808, u32::MAX));
    assert!(planned(&[RELU, &[(0x4804, 0), (0x4808, 0x1f_ff60)]]).is_ok());
}

#[test]
fn result_whose_elements_would_overlap_is_refused() {
    let two_rows = [(0x00, 0x0002_004d), (0x14, 0x0002_004d)];
    let found = refusal(&[RELU, &two_rows, &[(0x1_7808, 0x80)]]);
    assert_eq!(found, (Category::Unpredictable, 0x1_7808, u32::MAX));
    assert!(planned(&[RELU, &two_rows, &[(0x1_7808, 0xc0)]]).is_ok());
}

#[test]
fn element_counts_and_work_have_bounds() {
    let large = [(0x00, 0x7fff_7fff), (0x14, 0x7fff_7fff)];
    assert_eq!(refusal(&[RELU, &large]), (Category::Unsupported, 0x00, u32::MAX));
    let work = [(0x0c, 0x1_0000), (0x10, 0x1_0000), (0x00, 0x0020_0020), (0x14, 0x0020_0020), (0x480c, 0x40)];
    assert_eq!(refusal(&[RELU, CONVOLUTION, &work]), (Category::Unsupported, 0x14, u32::MAX));
}

#[test]
fn groups_and_depths_have_a_bound_together() {
    let blamed = |channels: u32, groups: u32, depths: u32| {
        let extents = [(0x00, 0x0001_0001), (0x14, 0x0001_0001), (0x0c, channels), (0x10, channels)];
        let repeats = [(0x24, 0x0001_4000 | groups), (0x04, depths), (0x18, depths)];
        planned(&[RELU, &extents, &repeats]).err().map(|verdict| (verdict.category, verdict.address))
    };
    // 2^27 - 2 elements, and 2^27 + 8189.
    assert_ne!(blamed(16386, 8191, 1), Some((Category::Unsupported, 0x24)));
    assert_eq!(blamed(16387, 8191, 1), Some((Category::Unsupported, 0x24)));
    // 2^27 elements, and 2^14 more.
    assert_ne!(blamed(1 << 14, 1, 1 << 13), Some((Category::Unsupported, 0x04)));
    assert_eq!(blamed(1 << 14, 1, (1 << 13) + 1), Some((Category::Unsupported, 0x04)));
}

#[test]
fn coefficients_have_bounds_although_channels_may_all_bring_the_same() {
    let many = [(0x0c, 0x1_0000), (0x10, 0x800)];
    assert_eq!(refusal(&[RELU, CONVOLUTION, &many]), (Category::Unsupported, 0x10, 0x1_ffff));
    // 16 by 16 coefficients on each of 65536 channels, for one output.
    let deep = [(0x0c, 0x1_0000), (0x10, 1), (0x00, 0x0010_0010), (0x1c, 0x5000_a210), (0x480c, 0x20)];
    assert_eq!(refusal(&[RELU, CONVOLUTION, &deep]), (Category::Unsupported, 0x0c, 0x1_ffff));
}

#[test]
fn more_engines_than_there_are_are_refused_without_coefficients_too() {
    assert_eq!(refusal(&[RELU, &[(0x34, 0x0429_0101)]]), (Category::Undefined, 0x34, 0x38_0000));
}

#[test]
fn neural_transposition_of_a_planar_task_is_refused() {
    assert_eq!(refusal(&[RELU, SUM, &[(0x34, 0x1000_0033)]]), (Category::Undefined, 0x34, 0x1000_0000));
}

#[test]
fn streamed_source_that_its_window_holds_all_of_lies_on_the_chip() {
    let found = refusal(&[RELU, &[(0x4808, 0x1f_fff0)]]);
    assert_eq!(found, (Category::Undefined, 0x4808, u32::MAX));
    // Of a tensor that is larger than its window, only a part is there at a time.
    let tall = [(0x00, 0x0002_004d), (0x14, 0x0002_004d), (0x4808, 0x1f_ff60)];
    assert!(planned(&[RELU, &tall]).is_ok());
}

#[test]
fn header_flag_that_no_program_sets_is_refused() {
    for flags in [Flags::new().with_td_skip(true), Flags::new().with_tq_dis(true)] {
        let verdict = plan(&Header { flags, ..Header::default() }, &registers(&[RELU])).unwrap_err();
        assert_eq!((verdict.category, verdict.bits), (Category::Undefined, flags.into_bits()));
        assert_eq!((verdict.address, verdict.register()), (0x2_0018, "Flags"));
    }
}

#[test]
fn refusal_names_register_bits_value_and_category() {
    let verdict = planned(&[RELU, &[(0x1_3838, 0x0100_2131)]]).unwrap_err();
    assert_eq!(
        verdict.to_string(),
        "bits 0x00000100 of 0x01002131 in SrcFmt1 at 0x13838: no program shifts (undefined)"
    );
}

#[test]
fn padding_below_zero_stride_3_and_scaled_bias_rows_are_noted_as_inferred() {
    let plain = [(0x00, 0x0008_0008), (0x14, 0x0008_0008), (0x1_7808, 0x40), (0x1_780c, 0x200)];
    let inferred = |words: Words<'_>| planned(&[RELU, CONVOLUTION, &plain, words]).unwrap().inferred;
    assert!(inferred(&[]).is_none());
    let larger = [(0x1_f888, 0x400), (0x1_f88c, 0x400), (0x1_f890, 0x400)];
    let padded = [&larger[..], &[(0x1c, 0x5042_a063)]].concat();
    // Compilers ask for padding, stride 2 and a bias row, so these are established (delta 3.2, 5).
    assert!(inferred(&padded).is_none());
    assert!(inferred(&[(0x1c, 0x5001_4021), (0x14, 0x0004_0004)]).is_none());
    assert!(inferred(&[(0xc804, 0x0010_1c10)]).is_none());
    assert_eq!(inferred(&[(0x14, 0x0008_0007)]), Inferred::PADDING);
    assert_eq!(inferred(&[(0x1c, 0x5001_e021), (0x14, 0x0003_0003)]), Inferred::STRIDE);
    assert_eq!(inferred(&[(0xc804, 0x0010_1c10), (0xc810, 0x4000)]), Inferred::BIAS);
    assert_eq!(Inferred::PADDING.with(Inferred::STRIDE).to_string(), "padding below zero, stride 3");
    // AccBias: half a unit of 2^-16, and three of them, beside a scale of 1.
    for (bias, is_exact) in [(0x0080, false), (0x0100, true), (0x0180, false), (0x3c00, true)] {
        let wanted = if is_exact { Inferred::NONE } else { Inferred::ACC_BIAS };
        assert_eq!(inferred(&[(0xc80c, bias)]), wanted, "{bias:x}");
    }
    assert_eq!(inferred(&[(0xc804, 0x0010_0000)]), Inferred::BINARY_POINT);
}

#[test]
fn pass_through_of_other_extents_is_noted_unless_it_is_one_row_of_one_channel() {
    let inferred = |words: Words<'_>| planned(&[RELU, words]).unwrap().inferred;
    for wide in [0x4c, 0x4d, 0x4e] {
        assert!(inferred(&[(0x14, 0x0001_0000 | wide)]).is_none());
    }
    let rows = [(0x00, 0x0002_004d), (0x14, 0x0002_004d), (0x14, 0x0001_004d)];
    assert_eq!(inferred(&rows), Inferred::OVERLAP);
    assert!(inferred(&rows[..2]).is_none());
}

#[test]
fn interleave_on_chip_is_that_of_source_1_where_both_sources_are_loaded() {
    let second: Words<'_> = &[(0x1_383c, 0x0200_2030)];
    let first: Words<'_> = &[(0x1_3838, 0x0400_2031), (0x4804, 0x0150_0472)];
    planned(&[RELU, SUM, second, first]).unwrap();
    let of_second: Words<'_> = &[(0x4804, 0x0150_0272)];
    assert_eq!(refusal(&[RELU, SUM, second, first, of_second]).1, 0x4804);
    // Where source 1 is on chip there is nothing else that it could be.
    let on_chip: Words<'_> = &[(0x4804, 0x0150_0270)];
    planned(&[RELU, SUM, second, on_chip]).unwrap();
}
