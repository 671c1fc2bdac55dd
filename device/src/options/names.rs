//! Values of an option by their names, and the answer to a word that is none of them.

use thiserror::Error;

/// A word that names none of the values of an option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option} {value:?} is not known; known: {}", known.join(", "))]
pub struct UnknownValue {
    pub option: &'static str,
    pub value: String,
    /// The values that there are.
    pub known: Vec<&'static str>,
}

pub(crate) fn by_name<T: Copy>(
    option: &'static str,
    value: &str,
    names: impl Iterator<Item = (&'static str, T)> + Clone,
) -> Result<T, UnknownValue> {
    names.clone().find(|(name, _)| name.eq_ignore_ascii_case(value)).map(|(_, found)| found).ok_or_else(
        || UnknownValue { option, value: value.to_owned(), known: names.map(|(name, _)| name).collect() },
    )
}
