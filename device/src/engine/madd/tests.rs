//! Every tier and number of threads against the definition, on shapes of all kinds.
//!
//! * `case`: passes with data, and what the definition says of them;
//! * `sums`: products and their sums.

mod case;
mod sums;

use std::io::Write;

use proptest::prelude::*;

use self::case::{Case, case, difference, large, one, tiles};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_tier_gives_the_bytes_of_the_definition((pass, kinds, special, seed) in case()) {
        let case = Case::new(pass, kinds, special, seed);
        for (_, numerics) in Numerics::NAMES {
            let expected = case.expected(numerics);
            for tier in Tier::ALL {
                let mut array = Array::with_tier(numerics, one(), tier);
                prop_assert_eq!(difference(&case.convolved(&mut array), &expected), None, "{:?} {}", numerics, tier.name());
                // Once more, with what is left of the first time.
                prop_assert_eq!(difference(&case.convolved(&mut array), &expected), None, "{:?} {}, again", numerics, tier.name());
            }
        }
    }

    #[test]
    fn maximum_is_that_of_the_definition((pass, kinds, special, seed) in case()) {
        let case = Case::new(pass, kinds, special, seed);
        let shape = Shape::new(&case.pass).unwrap();
        let definition = Definition { shape: &shape, input: &case.input, coefficients: None, bias: None };
        let expected: Vec<_> = (0..case.outputs())
            .map(|at| {
                let (o, pixel) = (at / shape.pixels(), at % shape.pixels());
                let operands = (0..shape.taps()).map(|tap| definition.operand(o, pixel, tap));
                operands.max_by(|&a, &b| halves::value(a).total_cmp(&halves::value(b))).unwrap()
            })
            .map(|largest| output::pass_through(largest, case.post_scale))
            .collect();
        for tier in Tier::ALL {
            let mut output = vec![0xdead; case.outputs()];
            let mut array = Array::with_tier(Numerics::M1, one(), tier);
            array.maximum(&case.pass, &case.input, case.post_scale, &mut output).unwrap();
            prop_assert_eq!(difference(&output, &expected), None, "{}", tier.name());
        }
    }
}

/// A tier that is asked for where it is not there is the portable one, so the tests of every tier pass there, too. It is counted
/// among what did not run, in the file that `ANE_NOT_RUN` names; no machine can be given another processor, so none fails for it.
#[test]
fn tier_that_this_processor_lacks_is_told() {
    for tier in Tier::ALL.into_iter().filter(|tier| !tier.is_available()) {
        let line = format!("not run: kernels of {}: this processor has no such unit\n", tier.name());
        print!("{line}");
        if let Some(list) = std::env::var_os("ANE_NOT_RUN") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
            file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list can be written");
        }
    }
    assert!(Tier::best().is_available() && Tier::Portable.is_available());
}

#[test]
fn threads_give_the_same_bytes_however_many_there_are() {
    for pass in [large(Reads::Dense, 96, 1), large(Reads::Unicast { channels: 1 }, 96, 9)] {
        for kinds in [[1, 1], [3, 1], [5, 5]] {
            let numerics = Numerics::M1;
            let case = Case::new(pass, kinds, 5000, 11);
            let alone = case.convolved(&mut Array::new(numerics, one()));
            for threads in 2..5 {
                let mut array = Array::new(numerics, NonZero::new(threads).unwrap());
                assert!(case.convolved(&mut array) == alone, "{kinds:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn long_reductions_are_those_of_the_definition() {
    // Several panels' worth of taps, with a short last block and granule.
    let pass = Convolution {
        channels: 67,
        height: 3,
        width: 3,
        outputs: 9,
        out_height: 2,
        out_width: 3,
        ..large(Reads::Dense, 9, 3)
    };
    for numerics in [Numerics::M1, Numerics::Exact] {
        for kinds in [[1, 1], [1, 2], [3, 1], [4, 4], [0, 0], [5, 1], [5, 5]] {
            let case = Case::new(pass, kinds, 0, 13);
            let expected = case.expected(numerics);
            for tier in Tier::ALL {
                assert_eq!(case.convolved(&mut Array::with_tier(numerics, one(), tier)), expected);
            }
        }
    }
}

#[test]
fn pass_through_of_every_half_is_one_rounding() {
    let every: Vec<_> = (0..=u16::MAX).collect();
    for post_scale in [halves::ONE, 0x3555, 0xc123, 0x0001, 0x7c00, 0x7e00, 0x8000] {
        let expected: Vec<_> = every.iter().map(|&bits| output::pass_through(bits, post_scale)).collect();
        for tier in Tier::ALL {
            let mut output = vec![0; every.len()];
            Array::with_tier(Numerics::M1, one(), tier).scale(&every, post_scale, &mut output);
            assert!(output == expected, "{} times {post_scale:#x}", tier.name());
        }
    }
}

/// Outputs of one pixel have a way of their own.
#[test]
fn matrix_times_a_vector_is_that_of_the_definition() {
    // Planes as wide as a vector or wider, and narrower ones, which are put side by side.
    let whole =
        [(100, 32, 16), (513, 96, 32), (2048, 48, 16), (100, 48, 1), (513, 32, 2), (70, 16, 4), (99, 80, 8)];
    // And fewer outputs at the end.
    let ragged =
        [(100, 40, 1), (70, 200, 1), (99, 44, 4), (64, 50, 16), (513, 13, 1), (40, 90, 2), (31, 33, 32)];
    for (channels, outputs, lanes) in whole.into_iter().chain(ragged) {
        for (seed, kinds) in [[1, 1], [5, 5], [0, 0], [3, 1], [1, 2], [4, 4]].into_iter().enumerate() {
            let pass = Convolution { channels, lanes, outputs, ..tiles(channels, 1) };
            let case = Case::new(pass, kinds, 0, 8 * seed as u64 + 7);
            let expected = case.expected(Numerics::M1);
            for tier in Tier::ALL {
                let found = case.convolved(&mut Array::with_tier(Numerics::M1, one(), tier));
                assert_eq!(difference(&found, &expected), None, "{channels} {kinds:?} {}", tier.name());
            }
        }
    }
}

/// Channels that are computed by themselves have a way of their own: whole vectors of them and fewer, rows in one share and in
/// several, with zeros around them and with none, at steps of one and more.
#[test]
fn channels_abreast_are_those_of_the_definition() {
    for (channels, [height, width], [rows, columns], stride, [pad_y, pad_x], lanes) in [
        (16, [7, 7], [3, 3], 1, [1, 1], 4),
        (35, [14, 13], [3, 3], 2, [1, 1], 1),
        (48, [5, 5], [5, 5], 1, [2, 2], 8),
        (7, [6, 21], [1, 3], 1, [0, 1], 16),
        (20, [90, 60], [3, 3], 1, [1, 1], 2),
        (33, [80, 61], [2, 4], 3, [0, 2], 64),
        (16, [4, 4], [2, 2], 1, [6, 6], 4),
        (18, [9, 9], [9, 9], 1, [0, 0], 4),
        (16, [12, 40], [3, 1], 1, [0, 0], 32),
    ] {
        let size = |input: u32, kernel: u32, pad: u32| (input + 2 * pad - kernel) / stride + 1;
        let pass = Convolution {
            channels,
            height,
            width,
            outputs: channels,
            out_height: size(height, rows, pad_y),
            out_width: size(width, columns, pad_x),
            kernel_height: rows,
            kernel_width: columns,
            stride_y: stride,
            stride_x: stride,
            pad_y,
            pad_x,
            reads: Reads::Unicast { channels: 1 },
            lanes,
        };
        for (kinds, special, seed) in [
            ([1, 1], 0, 1),
            ([5, 1], 0, 2),
            ([1, 5], 0, 8),
            ([5, 5], 0, 3),
            ([4, 4], 30, 5),
            ([3, 1], 0, 7),
            ([0, 0], 20, 11),
            ([2, 1], 0, 13),
        ] {
            let case = Case { post_scale: halves::ONE, ..Case::new(pass, kinds, special, seed) };
            let expected = case.expected(Numerics::M1);
            for tier in Tier::ALL {
                for threads in 1..3 {
                    let mut array = Array::with_tier(Numerics::M1, NonZero::new(threads).unwrap(), tier);
                    let found = case.convolved(&mut array);
                    assert_eq!(difference(&found, &expected), None, "{pass:?} {kinds:?} {}", tier.name());
                }
            }
        }
    }
}

#[test]
fn padding_that_would_blow_up_the_input_is_still_computed() {
    let pass = Convolution {
        channels: 1,
        height: 1,
        width: 1,
        outputs: 1,
        out_height: 2,
        out_width: 2,
        stride_y: 1 << 30,
        stride_x: 1 << 30,
        pad_y: u32::MAX,
        pad_x: u32::MAX,
        ..large(Reads::Dense, 1, 1)
    };
    let case = Case::new(pass, [1, 1], 0, 9);
    assert_eq!(case.convolved(&mut Array::new(Numerics::M1, one())), case.expected(Numerics::M1));
}
