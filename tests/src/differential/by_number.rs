//! Random programs in one row: each number is one program, so that two machines can name the same.

use super::{Case, built, random_case};

/// The program of a number. Those of even numbers are registers put together, the others come from the builder.
pub fn case(number: u64) -> Case {
    if number.is_multiple_of(2) {
        random_case::program(number, false).case
    } else {
        built::program(number).case
    }
}
