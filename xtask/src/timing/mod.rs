//! `docs/timing.md` and `docs/timing.svg`: the timing model beside what was measured on silicon.
//!
//! Each experiment is a program of the builder, planned as the device plans it; nothing here has a formula of its own. The
//! tests hold the same experiments to the tolerances that the page states.
//!
//! * [`experiment`]: the programs, and what was measured.
//! * `page` and `plot`: the two files.

pub mod experiment;
mod page;
mod plot;

use anyhow::Result;

pub fn render() -> Result<(String, String)> {
    let (sweep, convolutions) = (experiment::sweep()?, experiment::convolutions()?);
    Ok((page::render(&sweep, &convolutions)?, plot::render(&sweep, &convolutions)?))
}
