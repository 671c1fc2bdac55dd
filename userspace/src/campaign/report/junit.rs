//! JUnit's XML, which every CI shows: a suite for each family, a test for each case.
//!
//! A refusal is a test that was skipped: the engine said that it does not do this, which is no failure of a program that
//! it does run.

use std::fmt::Write as _;

use super::{Counts, Totals, escaped, label};
use crate::campaign::record::{Record, Verdict};

impl Totals {
    /// The report as JUnit's XML.
    pub fn junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        // Writing to a string cannot fail.
        let _ = writeln!(xml, "<testsuites name=\"ane campaign\" {}>", numbers(&self.total));
        for (family, row) in &self.families {
            let _ = writeln!(xml, "  <testsuite name=\"{}\" {}>", escaped(family), numbers(row));
            for record in self.records.iter().filter(|record| record.family == *family) {
                test(&mut xml, record);
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

/// Cases whose process did not get to a result: JUnit tells errors from failures.
fn errors(row: &Counts) -> u64 {
    let is_error = |verdict: &Verdict| verdict.is_failure() && *verdict != Verdict::Wrong;
    Verdict::ALL.into_iter().filter(is_error).map(|verdict| row.count(verdict)).sum()
}

fn numbers(row: &Counts) -> String {
    let skipped = row.count(Verdict::Refused) + row.count(Verdict::Hang);
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{skipped}\" time=\"{:.3}\"",
        row.cases,
        row.count(Verdict::Wrong),
        errors(row),
        row.milliseconds / 1000.0
    )
}

fn test(xml: &mut String, record: &Record) {
    let (name, class) = (escaped(&label(record)), escaped(&record.family));
    let seconds = record.outcome.milliseconds / 1000.0;
    let element = match record.outcome.verdict {
        Verdict::Passed | Verdict::Ran => None,
        Verdict::Refused | Verdict::Hang => Some("skipped"),
        Verdict::Wrong => Some("failure"),
        _ => Some("error"),
    };
    let open = format!("    <testcase name=\"{name}\" classname=\"{class}\" time=\"{seconds:.6}\"");
    let _ = match element {
        None => writeln!(xml, "{open}/>"),
        Some(element) => {
            let why = escaped(record.outcome.reason.as_deref().unwrap_or(record.outcome.verdict.name()));
            writeln!(xml, "{open}><{element} message=\"{why}\"/></testcase>")
        }
    };
}
