//! Banks and turns.

use ane_uapi::hw::sram::bank::Axis;

use crate::{brute, m1};

/// Requirement: MEM-15
#[test]
fn bank_of_every_byte_of_the_pool_is_that_of_the_listing() {
    let m1 = m1();
    for address in 0..2 << 20 {
        assert_eq!(m1.bank(address) as usize, brute::bank(address), "{address:#x}");
    }
}

/// Requirement: MEM-17
#[test]
fn banks_repeat_every_kilobyte_and_not_before() {
    let m1 = m1();
    for address in (0..1 << 20).step_by(16) {
        assert_eq!(m1.bank(address), m1.bank(address + 1024));
    }
    for period in (16..1024).step_by(16) {
        assert!(
            (0..1024).step_by(16).any(|address| m1.bank(address) != m1.bank(address + period)),
            "{period}"
        );
    }
}

/// Requirement: MEM-19
#[test]
fn turns_of_rows_follow_the_law_for_every_stride_and_count() {
    let m1 = m1();
    for granules in 0..=128 {
        let stride = 16 * granules;
        for rows in 1..=200 {
            let expected = brute::turns((0..u64::from(rows)).map(|row| row * stride));
            assert_eq!(m1.turns_of_rows(rows, stride), expected, "{rows} rows, stride {stride}");
            assert_eq!(m1.turns([Axis::new(stride, rows), Axis::new(0, 1), Axis::new(16, 1)]), expected);
        }
    }
}

/// Requirement: MEM-20
#[test]
fn turns_are_worst_at_a_power_of_two_and_best_at_an_odd_number_of_granules() {
    let m1 = m1();
    assert_eq!(m1.turns_of_rows(64, 1024), 64);
    assert_eq!(m1.turns_of_rows(64, 1040), 1);
    for granules in 1..=128_u64 {
        let turns = m1.turns_of_rows(64, 16 * granules);
        assert_eq!(turns, 1 << granules.trailing_zeros().min(6), "{granules} granules");
    }
}

#[test]
fn turns_of_three_axes_are_those_of_counting_granule_by_granule() {
    let m1 = m1();
    let mut draw = brute::draws();
    for _ in 0..3000 {
        let mut below = |bound: u64| draw.next().expect("without end") % bound;
        let base = below(256) * 16;
        let (strides, counts) = ([0; 3].map(|_| below(5000)), [0; 3].map(|_| 1 + below(39)));
        let ([a, b, c], [n, m, k]) = (strides.map(|stride| stride / 16 * 16), counts);
        let granules = || {
            (0..n).flat_map(move |i| {
                (0..m).flat_map(move |j| (0..k).map(move |l| base + i * a + j * b + l * c))
            })
        };
        let axes = [0, 1, 2].map(|axis| Axis::new(strides[axis], counts[axis] as u32));
        assert_eq!(m1.turns(axes), brute::turns(granules()), "{strides:?} {counts:?}");
        assert_eq!(
            m1.loads(base, axes).map(|load| load as u32),
            brute::loads(granules()),
            "{strides:?} {counts:?}"
        );
    }
}

#[test]
fn turns_of_any_axes_end_and_stay_within_all_granules() {
    let mut draw = brute::draws();
    for _ in 0..2000 {
        let mut any = || draw.next().expect("without end");
        let axes = [0; 3].map(|_| Axis::new(any(), any() as u32));
        let all = axes.iter().fold(1_u128, |all, axis| all * u128::from(axis.count));
        assert!(u128::from(m1().turns(axes)) <= all);
    }
}
