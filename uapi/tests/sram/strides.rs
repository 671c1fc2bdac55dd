//! The search for a stride.

use ane_uapi::hw::sram::stride::Costs;

use crate::{brute, m1};

/// Requirement: MEM-18
#[test]
fn search_finds_what_the_listing_finds_for_every_row_count_and_phase() {
    let m1 = m1();
    for rows in [1, 2, 3, 4, 16, 31, 32, 63, 64, 65, 512] {
        let costs = Costs::of_rows(&m1, rows);
        for least in (1..3000).step_by(7) {
            let found = m1.choose_stride(least, &costs).map(|stride| (stride.bytes, stride.cost));
            assert_eq!(found, brute::stride(least, &costs.0, 2 << 20), "{rows} rows of {least} bytes");
        }
    }
}

#[test]
fn search_takes_the_ceiling_and_nothing_above() {
    let m1 = m1();
    let costs = Costs::of_rows(&m1, 64);
    assert_eq!(m1.choose_stride(2 << 20, &costs).map(|stride| stride.bytes), Some(2 << 20));
    assert_eq!(m1.choose_stride((2 << 20) - 15, &costs).map(|stride| stride.bytes), Some(2 << 20));
    assert_eq!(m1.choose_stride((2 << 20) + 1, &costs), None);
    assert_eq!(m1.choose_stride(u32::MAX, &costs), None);
}

#[test]
fn costs_of_rows_are_turns_counted_by_hand() {
    let m1 = m1();
    for rows in 1..=130 {
        for (granules, cost) in (0_u64..).zip(Costs::of_rows(&m1, rows).0) {
            let turns = brute::turns((0..u64::from(rows)).map(|row| row * granules * 16));
            assert_eq!(cost, turns as f32, "{rows} rows, {granules} granules");
        }
    }
}

#[test]
fn equal_cost_never_wins_over_a_smaller_stride() {
    let m1 = m1();
    assert_eq!(m1.choose_stride(100, &Costs([1.0; 64])).map(|stride| stride.bytes), Some(112));
}

#[test]
fn search_agrees_with_the_listing_on_any_costs() {
    let mut draw = brute::draws();
    for _ in 0..300 {
        let mut below = |bound: u64| draw.next().expect("without end") % bound;
        // Few different costs, so that many are equal.
        let costs = [0; 64].map(|_| below(8) as f32);
        let least = below((2 << 20) + 4096) as u32;
        let found = m1().choose_stride(least, &Costs(costs)).map(|stride| (stride.bytes, stride.cost));
        assert_eq!(found, brute::stride(least, &costs, 2 << 20), "{least} {costs:?}");
    }
}

#[test]
fn costs_of_a_tensor_are_turns_of_its_granules_counted_by_hand() {
    let m1 = m1();
    for (channels, rows, width) in
        [(1_u32, 64_u32, 8_u32), (64, 64, 8), (3, 5, 20), (512, 7, 128), (9, 2, 300)]
    {
        let channel = (2 * u64::from(width)).next_multiple_of(16);
        // Narrowest tile of 128 pixels that holds a row.
        let columns = [8, 16, 32, 64, 128].into_iter().find(|&columns| columns >= width).unwrap_or(128);
        let (n, m, k) = (channels.min(4), rows.min(128 / columns), width.min(columns).div_ceil(8));
        let costs = Costs::of_tensor(&m1, channels, rows, width, channel);
        for (granules, cost) in (0_u64..).zip(costs.0) {
            let all = (0..u64::from(n)).flat_map(|c| {
                (0..u64::from(m)).flat_map(move |y| {
                    (0..u64::from(k)).map(move |x| c * channel + y * granules * 16 + x * 16)
                })
            });
            assert_eq!(cost, brute::turns(all) as f32, "{channels}x{rows}x{width}, {granules} granules");
        }
    }
}
