//! The page that the release figures are shown on.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::line::Line;
use crate::performance::machine::Machine;

const ABOUT: &str = "\
# Reliability

The release figures: what was tried to break the device, the driver and the tools, how often, and what came of it.
`tools/release` (`cargo xtask release`) runs all of them, which takes hours, and writes this page; nothing on it was written
by hand. Each figure says in its source at the top what it does: `tests/tests/release/`, and `xtask/src/release/` for F1 and F10. Everything random is drawn from the seed: `cargo xtask release --figure F3 --size 2000 --seed 7 --again` repeats it.
Continuous integration runs each at a smaller size with each change.

*size* is how many were run, of how many before a release; a time is in seconds. A figure that *missed* does not hold: what is
said beside it was seen.
";

/// The number of a figure, in whose order the rows stand.
fn number(id: &str) -> Option<u32> {
    id.strip_prefix('F')?.parse().ok()
}

/// The page of lines, of which the last of each figure counts. Figures that were not run in this checkout keep their rows of the
/// page as it is.
pub(super) fn render(lines: &[Line], page: &str) -> Result<String> {
    let machine = Machine::here()?;
    let old = page.lines().filter_map(|row| Some((row.strip_prefix("| ")?.split_once(' ')?.0, row)));
    let mut rows: BTreeMap<u32, String> =
        old.filter_map(|(id, row)| Some((number(id)?, format!("{row}\n")))).collect();
    for line in lines {
        rows.insert(number(&line.id).context("a figure has a number")?, row(line));
    }
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
    let absent: Vec<String> = super::FIGURES
        .iter()
        .map(|(id, _)| id)
        .filter(|id| number(id).is_none_or(|number| !rows.contains_key(&number)))
        .map(ToString::to_string)
        .collect();
    page.extend(rows.into_values());
    if !absent.is_empty() {
        page.push_str(&format!("\nNot measured yet: {}.\n", absent.join(", ")));
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
