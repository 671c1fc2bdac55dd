//! The page that the release figures are shown on.

use std::collections::BTreeMap;

use anyhow::Result;

use super::line::Line;
use crate::performance::machine::Machine;

const ABOUT: &str = "\
# Reliability

The release figures: what was tried to break the device, the driver and the tools, how often, and what came of it.
`tools/release` (`cargo xtask release`) runs all of them, which takes hours, and writes this page; nothing on it was written
by hand. Each figure says in its source at the top what it does: `tests/tests/release/`, and `xtask/src/release/` for F1. Everything random is drawn from the seed: `cargo xtask release --figure F3 --size 2000 --seed 7 --again` repeats it.
Continuous integration runs each at a smaller size with each change.

*size* is how many were run, of how many before a release; a time is in seconds. A figure that *missed* does not hold: what is
said beside it was seen. Not measured yet: the line coverage of the parsers under F1, and F10, mutants that the tests catch.
";

/// The page of lines, of which the last of each figure counts.
///
/// # Errors
///
/// If nothing can be found out about the machine.
pub(super) fn render(lines: &[Line]) -> Result<String> {
    let machine = Machine::here()?;
    let last: BTreeMap<(usize, &str), &Line> =
        lines.iter().map(|line| ((line.id.len(), line.id.as_str()), line)).collect();
    let mut page = format!(
        "{ABOUT}\nMachine: {} of {}; Linux {}; {}.\n\n",
        match machine.processors {
            1 => "one processor".to_owned(),
            count => format!("{count} processors"),
        },
        machine.processor,
        machine.kernel,
        machine.compiler
    );
    page.push_str("| | what | wanted | size | seen | verdict | seed | run |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for line in last.values() {
        page.push_str(&row(line));
    }
    Ok(page)
}

fn row(line: &Line) -> String {
    let Line { id, what, wanted, got, size, release, seed, seconds, date, commit, build, .. } = line;
    let verdict = match (&line.known, line.held) {
        (_, true) => "held".to_owned(),
        (Some(why), false) => format!("missed, known: {why}"),
        (None, false) => "missed".to_owned(),
    };
    let got = got.replace('|', "/");
    format!(
        "| {id} | {what} | {wanted} | {size} of {release} | {got} | {verdict} | {seed} | {date}, `{commit}`, {build} build, {seconds} s |\n"
    )
}
