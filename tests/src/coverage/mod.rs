//! The operations that are executed and those that are refused, for people who write compilers: the content of
//! `docs/coverage.md`.
//!
//! Two things are found out by running. `campaign` runs compiled programs and programs of the builder, and compares
//! what they give with what their operations mean. `fields` takes the tasks of all these programs, puts every value
//! (of wide fields, some) into one field after the other, and asks the device what it would make of it.

use std::collections::BTreeSet;

mod built;
mod campaign;
mod fields;
mod page;

pub use campaign::CampaignEntry;
pub use page::render;

/// Everything that the page is made of; `None` where the compiled programs are not to be had.
pub fn measure() -> Option<(Vec<CampaignEntry>, Vec<fields::FieldRow>)> {
    Some((campaign::run()?, fields::rows()?))
}

/// Operations of `ane build` that programs of the campaign have.
pub fn built_operations() -> BTreeSet<&'static str> {
    let lines = built::PROGRAMS.iter().flat_map(|(_, text, _)| text.lines());
    lines.filter_map(|line| line.split_whitespace().nth(2)).collect()
}
