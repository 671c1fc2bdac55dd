//! The report as text for people.

mod program;
mod task;

use std::fmt::{self, Write};

use super::{ProgramReport, Report, TaskReport};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Fields that are zero, too.
    pub all: bool,
    /// Adds the effect of each register and field, and the source of that fact.
    pub explain: bool,
    /// Behind the first task, only the registers that changed.
    pub changes_only: bool,
}

/// A space at which no line is broken; printed as an ordinary one.
const GLUE: &str = "\u{a0}";

/// Columns of explanatory text.
const WIDTH: usize = 110;

pub fn write(out: &mut impl Write, report: &Report, style: Style) -> fmt::Result {
    program(out, &report.program)?;
    report.tasks.iter().try_for_each(|one| task(out, one, style))
}

pub fn program(out: &mut impl Write, report: &ProgramReport) -> fmt::Result {
    program::write(out, report)
}

/// Writes a task, behind an empty line.
pub fn task(out: &mut impl Write, report: &TaskReport, style: Style) -> fmt::Result {
    writeln!(out)?;
    task::write(out, report, style)
}

/// Writes `text` as a paragraph, indented, broken between words.
fn wrapped(out: &mut impl Write, indent: usize, text: &str) -> fmt::Result {
    hanging(out, &" ".repeat(indent.saturating_sub(2)), text)
}

/// Writes `head`, and `text` two columns behind it, broken between words and indented alike.
fn hanging(out: &mut impl Write, head: &str, text: &str) -> fmt::Result {
    let indent = head.chars().count() + 2;
    let mut line = format!("{head}  ");
    let mut fresh = true;
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{}", line.trim_end())?;
            line = " ".repeat(indent);
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(&word.replace(GLUE, " "));
        fresh = false;
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_hangs_below_its_own_start() {
        let mut out = String::new();
        hanging(&mut out, "head", &"word ".repeat(30)).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("head  word") && lines[0].len() <= WIDTH);
        assert!(lines[1].starts_with("      word"));
    }

    #[test]
    fn word_longer_than_the_page_stands_alone() {
        let mut out = String::new();
        wrapped(&mut out, 4, &"x".repeat(200)).unwrap();
        assert_eq!(out, format!("    {}\n", "x".repeat(200)));
    }
}
