//! Words on which an M1 was seen to hang, and words that were seen to do nothing (td 10).

use ane_device::refusal::Category;

use crate::registers::*;

/// The register that is said to hang the engine.
fn hang(layers: &[Words<'_>]) -> u32 {
    let verdict = planned(layers).unwrap_err();
    assert_eq!(verdict.category, Category::WouldHang, "{verdict}");
    verdict.address
}

#[test]
fn word_of_zero_hangs_where_silicon_was_seen_to_hang() {
    for address in [0x04, 0x18, 0x1c, 0x24, 0x28] {
        assert_eq!(hang(&[RELU, &[(address, 0)]]), address);
    }
}

#[test]
fn source_without_dma_or_format_hangs() {
    assert_eq!(hang(&[RELU, &[(0x1_3800, 0x0003_3880)]]), 0x1_3800);
    assert_eq!(hang(&[RELU, &[(0x1_3838, 0)]]), 0x1_3838);
    assert_eq!(hang(&[RELU, &[(0x1_7818, 0)]]), 0x1_7818);
    assert_eq!(hang(&[RELU, SUM, &[(0x1_383c, 0)]]), 0x1_383c);
}

#[test]
fn result_that_stays_on_chip_with_its_dma_enabled_hangs() {
    assert_eq!(hang(&[RELU, &[(0x4830, 0)]]), 0x4830);
}

#[test]
fn channel_stride_shorter_than_a_row_tile_hangs_and_its_low_bits_do_not_count() {
    for stride in [0, 0x10, 0x90, 0x9f] {
        assert_eq!(hang(&[RELU, &[(0x480c, stride)]]), 0x480c);
    }
    for stride in [0xa0, 0xa1, 0x1000] {
        assert!(planned(&[RELU, &[(0x480c, stride)]]).is_ok());
    }
}

#[test]
fn row_tile_is_as_wide_as_the_work_tile_or_the_patch_says() {
    // 77 columns. ShMin k on a neural task: 128 >> k columns of two bytes.
    let [wide, narrow] = [0u32, 1].map(|sh_min| (0x34, sh_min << 12 | 0x0400_0001));
    assert_eq!(hang(&[RELU, &[wide, (0x480c, 0x80)]]), 0x480c);
    assert!(planned(&[RELU, &[narrow, (0x480c, 0x80)]]).is_ok());
    assert_eq!(hang(&[RELU, &[narrow, (0x480c, 0x70)]]), 0x480c);
    // The patch's width on a planar one.
    let planar = [(0x00, 77 | 1 << 16), (0x14, 77 | 1 << 16), (0x1_7808, 0xc0), (0x1_780c, 0xc0)];
    for (patch, stride) in [(5, 0x40), (6, 0x80), (9, 0xa0)] {
        assert_eq!(planned(&[RELU, SUM, &planar, &[(0x2c, patch), (0x480c, stride)]]).err(), None, "{patch}");
        assert_eq!(hang(&[RELU, SUM, &planar, &[(0x2c, patch), (0x480c, stride - 0x10)]]), 0x480c, "{patch}");
    }
}

#[test]
fn patch_on_a_neural_task_hangs() {
    assert_eq!(hang(&[RELU, &[(0x2c, 4)]]), 0x2c);
}

#[test]
fn more_unicast_outputs_than_channels_hang() {
    assert_eq!(hang(&[RELU, &[(0x10, 64)]]), 0x10);
}

#[test]
fn coefficients_from_an_idle_first_channel_hang() {
    assert_eq!(hang(&[RELU, &[(0xc804, 0x0010_0000)]]), 0x1_f808);
    assert_eq!(hang(&[RELU, &[(0xc804, 0x0012_000c)]]), 0x1_f808);
    // Also where the other channels do not say how the planes are stored: here those of two lanes.
    let idle: Words<'_> = &[(0x1_f808, 0x80)];
    assert_eq!(hang(&[RELU, CONVOLUTION, idle]), 0x1_f808);
    assert_eq!(hang(&[RELU, CONVOLUTION, &[(0x1c, 0x5000_a421)], idle]), 0x1_f808);
}

#[test]
fn planar_class_on_the_registers_of_a_neural_task_hangs() {
    assert_eq!(hang(&[RELU, &[(0x34, 0x33)]]), 0x1_383c);
}

#[test]
fn word_that_silicon_was_seen_to_ignore_changes_no_plan() {
    let plan = planned(&[RELU]).unwrap();
    let ignored = [
        (0x20, 0),
        (0x30, 0x7),
        (0x38, 0),
        (0x3c, 0xf),
        (0x1_3840, 0),
        (0x4800, 0x100),
        (0x8800, u32::MAX),
        (0xc800, 0),
        (0xc800, 0x82),
        (0xc808, 7),
        (0xc80c, 0x1_0007),
        (0x1_3800, 0x1),
    ];
    for word in ignored {
        assert_eq!(planned(&[RELU, &[word]]).unwrap(), plan, "{:#x}", word.0);
    }
}
