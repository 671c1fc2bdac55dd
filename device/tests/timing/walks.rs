//! Walks over the pool, granule by granule: nothing here knows how the model counts them.

use std::collections::BTreeMap;

use ane_device::engine::plan::operand::{ChipPlace, Shape};
use ane_device::timing::Machine;
use ane_device::timing::access::{Banks, walk};
use ane_uapi::hw::hal::Generation;
use proptest::prelude::*;

/// Every fetch of a walk: four channels at a time, tiles of 128 pixels as narrow as a row lets them be. Each granule is put
/// into the bank of its address, and the fullest bank takes as many turns as it has granules.
fn by_hand(place: ChipPlace, shape: Shape) -> Banks {
    let columns = [8, 16, 32, 64].into_iter().find(|&columns| shape.width <= columns).unwrap_or(128);
    let rows = 128 / columns;
    let mut found = Banks::default();
    for c in (0..shape.channels).step_by(4) {
        for y in (0..shape.height).step_by(rows as usize) {
            for x in (0..shape.width).step_by(columns as usize) {
                let mut banks: BTreeMap<u64, u64> = BTreeMap::new();
                let mut cycles = 0;
                let mut granules = 0;
                for channel in c..(c + 4).min(shape.channels) {
                    let width = (x + columns).min(shape.width) - x;
                    let height = (y + rows).min(shape.height) - y;
                    for row in y..y + height {
                        for granule in 0..width.div_ceil(8) {
                            let at = u64::from(place.base)
                                + u64::from(place.channel_stride) * u64::from(channel)
                                + u64::from(place.row_stride) * u64::from(row)
                                + u64::from(2 * x + 16 * granule);
                            *banks.entry(at / 16 % 64).or_default() += 1;
                            granules += 1;
                        }
                    }
                    // A line is four granules: of one row, or of two or four rows of two granules or one.
                    let of_row = match width.div_ceil(8) {
                        1 => 4,
                        2 => 2,
                        _ => 1,
                    };
                    cycles += u64::from(if of_row > 1 {
                        height.div_ceil(of_row)
                    } else {
                        height * width.div_ceil(32)
                    });
                }
                let turns = banks.values().copied().max().expect("a group has a granule");
                found.groups += 1;
                found.conflicts += turns - u64::div_ceil(granules, 64);
                found.stalls += turns.saturating_sub(cycles);
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn walk_meets_in_the_banks_what_counting_finds(
        base in 0_u32..64,
        channel_stride in 1_u32..100,
        row_stride in 0_u32..200,
        channels in 1_u32..14,
        height in 1_u32..40,
        width in 1_u32..300,
    ) {
        let place = ChipPlace {
            base: 16 * base,
            channel_stride: 16 * channel_stride,
            row_stride: 16 * row_stride,
            group_stride: 0,
            ..ChipPlace::default()
        };
        let shape = Shape { channels, height, width };
        prop_assert_eq!(walk(&Machine::of(Generation::H13), place, shape), by_hand(place, shape));
    }

    #[test]
    fn walk_over_any_place_and_shape_ends(place: [u32; 4], shape: [u32; 3]) {
        let [base, channel_stride, row_stride, group_stride] = place;
        let [channels, height, width] = shape;
        let place = ChipPlace { base, channel_stride, row_stride, group_stride, ..ChipPlace::default() };
        let found = walk(&Machine::of(Generation::H13), place, Shape { channels, height, width });
        prop_assert!(found.groups > 0 || shape.contains(&0));
    }
}
