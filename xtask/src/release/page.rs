//! The page that the release figures are shown on.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::line::Line;

const ABOUT: &str = "\
# Reliability

The release figures: what was tried to break the device, the driver and the tools, how often, and what came of it.
`tools/release` (`cargo xtask release`) runs all of them, which takes hours, and writes this page; nothing on it was written
by hand. Each figure says in its source at the top what it does: `tests/tests/release/`, and `xtask/src/release/` for F1 and F10.
Everything random is drawn from the seed, but for the fuzz targets of F1, which draw their own:
`cargo xtask release --figure F3 --size 2000 --seed 7 --again` repeats a figure. Continuous integration runs each at a smaller size
with each change, but for F10.

*size* is how many were run, of how many before a release; a time is in seconds. A figure that *missed* does not hold: what is
said beside it was seen. If parts of a figure are marked *not run*, the verdict is that of the other parts. A row names the machine
that it was run on: processors, kernel, compiler.
";

/// The machine of a row that was made before rows named theirs.
const NO_MACHINE: &str = "machine not recorded";

/// The number of a figure, in whose order the rows stand.
fn number(id: &str) -> Option<u32> {
    id.strip_prefix('F')?.parse().ok()
}

/// The page of lines, of which the last of each figure counts. Figures that were not run in this checkout keep their rows of the
/// page as it is.
pub(super) fn render(lines: &[Line], page: &str) -> Result<String> {
    let old = page.lines().filter_map(|row| Some((row.strip_prefix("| ")?.split_once(' ')?.0, row)));
    let mut rows: BTreeMap<u32, String> =
        old.filter_map(|(id, row)| Some((number(id)?, with_machine(row)))).collect();
    for line in lines {
        rows.insert(number(&line.id).context("a figure has a number")?, row(line));
    }
    let mut page = format!("{ABOUT}\n");
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

/// A row of the page as it is. Its last cell ends with the time that it took, if it names no machine.
fn with_machine(row: &str) -> String {
    match row.strip_suffix(" s |") {
        Some(row) => format!("{row} s; {NO_MACHINE} |\n"),
        None => format!("{row}\n"),
    }
}

fn row(line: &Line) -> String {
    let Line { id, what, wanted, got, size, release, seed, seconds, date, commit, build, .. } = line;
    let machine = if line.machine.is_empty() { NO_MACHINE } else { &line.machine };
    let got = got.replace('|', "/");
    // Fuzz targets draw their own.
    let seed = if id == "F1" { "-".to_owned() } else { seed.to_string() };
    format!(
        "| {id} | {what} | {wanted} | {size} of {release} | {got} | {} | {seed} | {date}, `{commit}`, {build} build, {seconds} s; {machine} |\n",
        verdict(line)
    )
}

fn verdict(line: &Line) -> String {
    let not_run = || format!("not run: {}", line.not_run.join(", "));
    match (&line.known, line.held, line.not_run.is_empty()) {
        (_, true, true) => "held".to_owned(),
        (_, true, false) => format!("{}; the rest held", not_run()),
        (Some(why), false, _) => format!("missed, known: {why}"),
        (None, false, true) => "missed".to_owned(),
        (None, false, false) => format!("missed; {}", not_run()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(machine: &str, not_run: &[&str]) -> Line {
        Line {
            id: "F8".to_owned(),
            held: true,
            machine: machine.to_owned(),
            not_run: not_run.iter().map(ToString::to_string).collect(),
            ..Line::default()
        }
    }

    fn cells(page: &str, id: &str) -> Vec<String> {
        let row = page.lines().find(|row| row.starts_with(&format!("| {id} |"))).unwrap();
        row.split('|').map(|cell| cell.trim().to_owned()).collect()
    }

    #[test]
    fn figure_whose_parts_were_not_all_run_is_not_said_to_hold() {
        let page = render(&[line("one", &["AVX2 (emulated)"])], "").unwrap();
        assert_eq!(cells(&page, "F8")[6], "not run: AVX2 (emulated); the rest held");
        assert!(!line("one", &["AVX2 (emulated)"]).is_whole());
        assert_eq!(cells(&render(&[line("one", &[])], "").unwrap(), "F8")[6], "held");
    }

    #[test]
    fn row_names_its_machine_and_not_that_of_the_last_run() {
        let first = render(&[line("the first machine", &[])], "").unwrap();
        let other = Line { id: "F9".to_owned(), ..line("the other machine", &[]) };
        let page = render(&[other], &first).unwrap();
        assert!(cells(&page, "F8")[8].ends_with("s; the first machine"), "{page}");
        assert!(cells(&page, "F9")[8].ends_with("s; the other machine"), "{page}");
    }

    #[test]
    fn row_of_an_older_page_says_that_its_machine_is_not_known() {
        let old =
            "Machine: M.\n\n| F8 | w | w | 1 of 2 | g | held | 3 | 2026-11-22, `abc`, dev build, 176 s |\n";
        let page = render(&[], old).unwrap();
        assert!(cells(&page, "F8")[8].ends_with("176 s; machine not recorded"), "{page}");
        assert!(!page.contains("Machine: M."), "{page}");
        assert_eq!(render(&[], &page).unwrap(), page);
    }
}
