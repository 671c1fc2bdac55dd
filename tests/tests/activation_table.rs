//! The activation table of a program that Apple's compiler made, against what was measured on an M1.

use ane::container;
use ane_device::engine::table::Table;
use ane_tests::data;

/// Sigmoid of three as a real M1 gives it, 0.95263671875.
const SIGMOID_OF_THREE: u16 = 0x3b9f;

/// A half that is neither infinite nor NaN, by the definition of the format.
fn number(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = (fraction + 1024.0 * f64::from(exponent.min(1))) * 2f64.powi(exponent.max(1) - 25);
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

#[test]
fn compiled_sigmoid_gives_what_was_measured_and_its_worst_error() {
    let samples = data::programs().unwrap_or_default();
    for sample in samples.iter().filter(|sample| sample.name == "sigmoid") {
        let program = container::open(&sample.bytes).expect("a real program opens");
        let constants = program.constants.first().expect("it has constants");
        let bytes = constants.bytes.first_chunk().expect("a table comes first");
        let table = Table::parse(bytes).expect("a real table is understood");
        assert_eq!(table.evaluate(0x4200), SIGMOID_OF_THREE);
        let error = |bits: u16| (number(table.evaluate(bits)) - 1.0 / (1.0 + (-number(bits)).exp())).abs();
        let worst = (0..0x7c00).chain(0x8000..0xfc00).map(error).fold(0.0, f64::max);
        assert!((0.00330..0.00345).contains(&worst), "measured as 0.0034, is {worst}");
    }
}
