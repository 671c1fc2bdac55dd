//! Tables of every mode against the functions that they stand for, and against the published facts.

use super::*;
use ane_uapi::hw::td::activation::{ActivationTable, BYTES};
use zerocopy::IntoBytes;

fn half(value: f64) -> u16 {
    encode(value)
}

/// A table with the knots of `curve` and the whole range for a domain.
fn raw(mode: u16, spacing: i16, curve: impl Fn(f64) -> f64) -> ActivationTable {
    ActivationTable {
        domain_low: 0xfc00.into(),
        domain_high: 0x7c00.into(),
        below: 0.into(),
        above: 0x7c00.into(),
        knots: std::array::from_fn(|i| half(curve(i as f64 / 2f64.powi(spacing.into()))).into()),
        slope_low: 0.into(),
        intercept_low: 0.into(),
        slope_high: 0.into(),
        intercept_high: 0.into(),
        spacing: spacing.cast_unsigned().into(),
        mode: mode.into(),
        rest: [0.into(); 21],
    }
}

fn bytes(raw: ActivationTable) -> [u8; BYTES] {
    raw.as_bytes().try_into().expect("as many")
}

fn table(raw: ActivationTable) -> Table {
    Table::parse(&bytes(raw)).expect("a good table")
}

fn sigmoid() -> ActivationTable {
    ActivationTable {
        domain_low: 0xc8f8.into(),
        domain_high: 0x4829.into(),
        above: 0x3c00.into(),
        intercept_low: half(0.0001).into(),
        intercept_high: half(0.9995).into(),
        ..raw(0x01, 1, |t| 1.0 / (1.0 + (8.0 - t).exp()))
    }
}

fn exp2() -> ActivationTable {
    ActivationTable { domain_low: 0xce40.into(), domain_high: 0x4c00.into(), ..raw(0x0a, 5, f64::exp2) }
}

fn logarithm() -> ActivationTable {
    ActivationTable { domain_low: 0.into(), below: 0xf98c.into(), ..raw(0xc9, 6, |t| (0.5 + t).log2()) }
}

fn root() -> ActivationTable {
    ActivationTable { domain_low: 0.into(), ..raw(0xc5, 4, f64::sqrt) }
}

fn reciprocal_root() -> ActivationTable {
    ActivationTable {
        domain_low: 0.into(),
        below: 0x7c00.into(),
        above: 0.into(),
        ..raw(0xc6, 4, |t| 1.0 / t.max(0.0625).sqrt())
    }
}

fn reciprocal() -> ActivationTable {
    ActivationTable {
        domain_low: 0x0001.into(),
        below: 0x7c00.into(),
        above: 0.into(),
        ..raw(0x67, 6, |t| 1.0 / (0.5 + t))
    }
}

fn tanh() -> ActivationTable {
    ActivationTable {
        domain_low: 0.into(),
        domain_high: 0x4400.into(),
        above: 0x3c00.into(),
        ..raw(0x60, 3, f64::tanh)
    }
}

/// The largest relative distance to `curve` over positive halves from `low` to `high`.
fn distance(table: &Table, low: u16, high: u16, curve: impl Fn(f64) -> f64) -> f64 {
    (low..high)
        .map(|bits| (decode(table.evaluate(bits)) - curve(decode(bits))).abs() / curve(decode(bits)).abs())
        .fold(0.0, f64::max)
}

#[test]
fn sigmoid_of_three_is_knot_22() {
    assert_eq!(table(sigmoid()).evaluate(half(3.0)), sigmoid().knots[22].get());
    assert_eq!(decode(sigmoid().knots[22].get()), 0.95263671875);
}

#[test]
fn value_outside_the_domain_gets_the_bound() {
    let table = table(sigmoid());
    assert_eq!(table.evaluate(0xc8f8), 0, "the bounds are inclusive");
    assert_ne!(table.evaluate(0xc8f7), 0);
    assert_eq!(table.evaluate(0x4829), 0x3c00);
    assert_eq!(table.evaluate(0xfc00), 0);
    assert_eq!(table.evaluate(0x7e00), 0x3c00, "NaN counts as infinity");
    assert_eq!(table.evaluate(0xfe00), 0x3c00);
}

#[test]
fn value_beyond_the_knots_lies_on_a_tail() {
    // A leaky ReLU as published: knots half a spacing of 2^-64 apart, tails through the origin.
    let leaky = ActivationTable {
        slope_low: half(0.125).into(),
        slope_high: half(1.0).into(),
        ..raw(0x01, 64, |_| 0.0)
    };
    let table = table(leaky);
    for (x, y) in [(-8.0, -1.0), (-0.5, -0.0625), (0.0, 0.0), (3.0, 3.0)] {
        assert_eq!(decode(table.evaluate(half(x))), y, "{x}");
    }
}

#[test]
fn plain_mode_starts_at_the_first_knot() {
    let table = table(ActivationTable { intercept_low: half(-1.0).into(), ..raw(0x00, 2, |t| t * t) });
    assert_eq!(decode(table.evaluate(half(1.5))), 2.25);
    assert_eq!(decode(table.evaluate(half(1.625))), (2.25 + 3.0625) / 2.0);
    assert_eq!(decode(table.evaluate(half(8.0))), 64.0, "the last knot");
    assert_eq!(decode(table.evaluate(half(-0.5))), -1.0);
}

#[test]
fn spacing_below_zero_puts_knots_far_apart() {
    let table = table(raw(0x00, -3, |t| t));
    assert_eq!(decode(table.evaluate(half(12.0))), 12.0);
}

#[test]
fn exponential_follows_the_curve_and_overflows_at_sixteen() {
    let table = table(exp2());
    assert!(distance(&table, half(0.0), half(15.9), f64::exp2) < 1e-3);
    assert_eq!(table.evaluate(half(15.9)) & 0x7c00, 0x7800);
    assert_eq!(table.evaluate(half(16.0)), 0x7c00);
    assert_eq!(table.evaluate(half(-1.5)), half(decode(exp2().knots[16].get()) / 4.0));
    assert_eq!(table.evaluate(half(-24.0)), 1);
    assert_eq!(table.evaluate(half(-25.5)), 0);
}

#[test]
fn exponential_of_what_no_double_has_an_exponent_for_is_zero_or_infinity() {
    let table = table(raw(0x0a, 5, f64::exp2));
    assert_eq!(table.evaluate(0xfbff), 0);
    assert_eq!(table.evaluate(0x7bff), 0x7c00);
}

#[test]
fn infinity_between_the_knots_survives_any_exponent() {
    let infinite = table(raw(0x0a, 5, |_| f64::INFINITY));
    assert_eq!(infinite.evaluate(half(-15608.0)), 0x7c00);
}

#[test]
fn roots_and_logarithm_follow_the_curve_over_the_whole_range() {
    assert!(distance(&table(root()), 0x0400, 0x7c00, f64::sqrt) < 1e-3);
    assert!(distance(&table(reciprocal_root()), 0x0400, 0x7c00, |x| 1.0 / x.sqrt()) < 2.5e-3);
    assert!(distance(&table(logarithm()), half(2.0), 0x7c00, f64::log2) < 7e-4);
}

#[test]
fn odd_symmetry_restores_the_sign() {
    let (tanh, reciprocal) = (table(tanh()), table(reciprocal()));
    for bits in 1..=0x7c00 {
        assert_eq!(tanh.evaluate(bits | 0x8000), tanh.evaluate(bits) | 0x8000, "{bits:#06x}");
        assert_eq!(reciprocal.evaluate(bits | 0x8000), reciprocal.evaluate(bits) | 0x8000, "{bits:#06x}");
    }
    assert!(distance(&reciprocal, 0x0400, 0x7000, |x| 1.0 / x) < 1e-3);
}

#[test]
fn odd_symmetry_counts_the_lower_bound_as_below() {
    let table = table(ActivationTable { domain_low: half(0.5).into(), below: half(7.0).into(), ..tanh() });
    assert_eq!(decode(table.evaluate(half(0.5))), 7.0);
    assert_eq!(table.evaluate(half(0.625)), tanh().knots[5].get());
    assert_eq!(decode(table.evaluate(half(0.25))), 7.0);
    assert_eq!(decode(table.evaluate(half(-0.25))), -7.0);
}

#[test]
fn specials_of_published_tables_are_as_measured() {
    assert_eq!(decode(table(logarithm()).evaluate(0)), -45440.0);
    assert_eq!(table(reciprocal()).evaluate(0x8000), 0x7c00, "one over -0");
    assert_eq!(table(reciprocal_root()).evaluate(0x8000), 0x7c00, "one over the root of -0");
    assert_eq!(table(root()).evaluate(0x8000), 0, "the root of -0");
    for negative in [root(), reciprocal_root(), logarithm()] {
        assert_eq!(table(negative).evaluate(0xbc00), 0, "what a negative number has none of");
    }
    assert_eq!(table(sigmoid()).evaluate(0x7e00), 0x3c00);
    assert_eq!(table(tanh()).evaluate(0x7e00), 0x3c00);
    assert_eq!(table(exp2()).evaluate(0x7e00), 0x7c00);
}

#[test]
fn zero_that_the_domain_lets_through_is_the_first_knot() {
    let open = |raw| ActivationTable { domain_low: 0xbc00.into(), ..raw };
    for table_of in [root(), reciprocal_root(), logarithm()] {
        assert_eq!(table(open(table_of)).evaluate(0), table_of.knots[0].get());
    }
}

#[test]
fn zero_of_either_sign_is_the_first_knot_whose_sign_the_rise_decides() {
    for (rise, wanted) in [(-1.0, 0x8000), (1.0, 0)] {
        let plain = table(raw(0x00, 0, |t| if t == 0.0 { -0.0 } else { rise * t }));
        assert_eq!([0, 0x8000].map(|zero| plain.evaluate(zero)), [wanted; 2], "rise {rise}");
    }
}

#[test]
fn knots_without_end_never_make_a_value_that_is_none() {
    let mut infinite = raw(0x00, 0, |_| f64::INFINITY);
    infinite.knots[0] = half(1.0).into();
    infinite.knots[2] = 0xfc00.into();
    let table = table(infinite);
    assert_eq!(table.evaluate(half(0.0)), half(1.0), "zero times infinity adds nothing");
    assert_eq!(table.evaluate(half(0.5)), 0x7c00);
    assert_eq!(table.evaluate(half(1.0)), 0x7c00);
    assert_eq!(table.evaluate(half(1.5)), 0, "infinity minus infinity");
    assert_eq!(table.evaluate(half(4.5)), 0x7c00);
}

#[test]
fn table_that_no_source_explains_is_refused_by_halfword() {
    let with = |mode: u16, spacing: i16| ActivationTable {
        domain_low: 0.into(),
        spacing: spacing.cast_unsigned().into(),
        ..raw(mode, 0, |t| t)
    };
    let refused = [
        (with(0x08, 1), 42, BrokenRule::Mode),
        (with(0x0f, 1), 42, BrokenRule::Mode),
        (with(0x20, 1), 42, BrokenRule::Flags),
        (with(0x40, 1), 42, BrokenRule::Flags),
        (with(0x80, 1), 42, BrokenRule::Flags),
        (with(0xe0, 1), 42, BrokenRule::Flags),
        (with(0x10, 1), 42, BrokenRule::Flags),
        (with(0x101, 1), 42, BrokenRule::Flags),
        (with(0x00, 65), 41, BrokenRule::Spacing),
        (with(0x01, -65), 41, BrokenRule::Spacing),
        (with(0x0a, 6), 41, BrokenRule::SpacingInMode(Mode::Exp2)),
        (with(0x05, 5), 41, BrokenRule::SpacingInMode(Mode::SquareRoot)),
        (with(0xc6, 5), 41, BrokenRule::SpacingInMode(Mode::ReciprocalSquareRoot)),
        (with(0x67, 7), 41, BrokenRule::SpacingInMode(Mode::Reciprocal)),
        (with(0xc9, 7), 41, BrokenRule::SpacingInMode(Mode::Log2)),
        (raw(0x05, 4, |t| t), 0, BrokenRule::NegativeInMode(Mode::SquareRoot)),
    ];
    for (raw, halfword, why) in refused {
        let bad = Table::parse(&bytes(raw)).expect_err("not understood");
        assert_eq!((bad.halfword, bad.why), (halfword, why));
        let at = usize::from(halfword) * 2;
        assert_eq!(bad.value.to_le_bytes(), bytes(raw)[at..at + 2]);
    }
}

#[test]
fn table_applied_to_every_half_is_the_table_evaluated() {
    for raw in [sigmoid(), tanh(), exp2(), logarithm(), root(), reciprocal_root(), reciprocal()] {
        let mut table = table(raw);
        let mut all: Vec<u16> = (0..=u16::MAX).collect();
        table.prepare(all.len());
        table.replace(&mut all);
        let evaluated: Vec<u16> = (0..=u16::MAX).map(|value| table.evaluate(value)).collect();
        assert!(all == evaluated, "mode {:#x}", raw.mode);
    }
}

#[test]
fn table_applied_to_few_values_at_a_time_gives_the_same_before_and_after_it_pays() {
    let mut table = table(sigmoid());
    for start in (0..=u16::MAX).step_by(300).chain((0..=u16::MAX).step_by(900)) {
        let values: Vec<u16> = (0..300).map(|i| start.wrapping_add(i)).collect();
        let mut results = values.clone();
        table.prepare(results.len());
        table.replace(&mut results);
        assert!(values.iter().zip(results).all(|(&value, result)| table.evaluate(value) == result));
    }
}

#[test]
fn tables_are_found_again_until_others_displace_them() {
    let numbered = |i: u16| bytes(ActivationTable { above: i.into(), ..sigmoid() });
    let mut tables = Tables::default();
    for i in 0..20 {
        assert_eq!(tables.get(&numbered(i)).expect("good").evaluate(0x7c00), i);
        assert_eq!(tables.get(&numbered(0)).expect("good").evaluate(0x7c00), 0);
    }
    assert_eq!(tables.kept(), Tables::KEPT);
    tables.get(&bytes(raw(0x08, 1, |t| t))).expect_err("no such mode");
    assert_eq!(tables.get(&numbered(19)).expect("good").evaluate(0x7c00), 19);
    tables.clear();
    assert_eq!(tables.kept(), 0);
}

#[test]
fn mode_2_puts_the_last_knot_at_zero() {
    let table = table(ActivationTable {
        slope_low: half(0.5).into(),
        slope_high: half(2.0).into(),
        // Knots a quarter apart: the first one is at -8.
        ..raw(0x02, 2, |t| t - 8.0)
    });
    for (x, y) in [(0.0, 0.0), (-0.25, -0.25), (-8.0, -8.0), (-10.0, -5.0), (3.0, 6.0)] {
        assert_eq!(table.evaluate(half(x)), half(y), "{x}");
    }
}

#[test]
fn modes_3_and_4_split_a_number_into_fraction_and_integer_part() {
    let of = |mode: u16| ActivationTable { above: 0x7c00.into(), ..raw(0x60 | mode, 0, |_| 0.0) };
    let (fraction, integer) = (table(of(3)), table(of(4)));
    for bits in (0..=u16::MAX).filter(|bits| bits & 0x7c00 != 0x7c00 && *bits != 0x8000) {
        let x = half::f16::from_bits(bits).to_f64();
        assert_eq!(fraction.evaluate(bits) & 0x7fff, half(x.fract()) & 0x7fff, "{x}");
        assert_eq!(integer.evaluate(bits) & 0x7fff, half(x.trunc()) & 0x7fff, "{x}");
        assert_eq!(half::f16::from_bits(integer.evaluate(bits)).to_f64(), x.trunc());
    }
}

#[test]
fn knots_of_a_mode_that_was_seen_without_are_refused() {
    let refused = Table::parse(&bytes(raw(0x63, 0, |_| 1.0))).expect_err("what they do is not known");
    assert_eq!((refused.halfword, refused.why), (4, BrokenRule::KnotInMode(Mode::Fraction)));
    let negative =
        Table::parse(&bytes(raw(0x04, 0, |_| 0.0))).expect_err("floor or integer part is not known");
    assert_eq!(negative.why, BrokenRule::NegativeInMode(Mode::Integer));
}

#[test]
fn magnitude_at_the_low_end_of_an_odd_table_is_below() {
    let table = table(ActivationTable { domain_low: 0.into(), ..reciprocal() });
    assert_eq!([0x0000, 0x8000].map(|zero| table.evaluate(zero)), [0x7c00; 2], "one over zero");
    assert_eq!(table.evaluate(half(-2.0)), half(-0.5));
}
