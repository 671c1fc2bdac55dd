//! The output of benches: one line for each figure, in one format, judged by the table of goals.
//!
//! `cargo xtask performance` collects these lines. Fields are separated by ` | `: the goal, what was measured, what was
//! seen of either side, the figure, what has to hold, the verdict. A goal in parentheses is one that the figure is
//! not held to.

#[path = "../../../xtask/src/performance/goals.rs"]
mod goals;

use goals::Goal;

pub(crate) fn line(id: &str, what: &str, seen: &str, figure: f64) {
    let (hold, verdict) = match Goal::of(id) {
        Some(goal) => (goal.columns().0, goal.verdict(figure)),
        None => ("no goal".to_owned(), "-"),
    };
    println!("{id:<8} | {what:<66} | {seen:<32} | {figure:>7.3} | {hold:<9} | {verdict}");
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
