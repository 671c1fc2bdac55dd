//! The report of a campaign: tables over the lines of any number of files.
//!
//! Files of several parts are merged by the names of cases. A case that has several lines counts once; if they differ,
//! that is said, as a program that gives one result today and another tomorrow is worth a look.

mod html;
mod junit;

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};

use super::record::{Lines, Record, Verdict};
use crate::decode::printable;

/// Everything that is known of a campaign.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// A row for each family, in the order of the alphabet.
    pub families: BTreeMap<String, Counts>,
    /// All of them together.
    pub total: Counts,
    /// The reasons for which programs are refused, the most frequent first.
    pub refusals: Vec<Refusal>,
    /// Cases that have lines of different results.
    pub contradictions: Vec<String>,
    /// Lines that are none.
    pub damaged: u64,
    /// Lines of cases that were counted already.
    pub repeated: u64,
    /// Each case. Of these, JSON has the ones that have to be looked into.
    #[serde(rename = "failures", serialize_with = "failing")]
    records: Vec<Record>,
}

fn failing<S: Serializer>(records: &[Record], into: S) -> Result<S::Ok, S::Error> {
    into.collect_seq(records.iter().filter(|record| record.outcome.verdict.is_failure()))
}

/// Numbers of one family.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    pub cases: u64,
    /// The number of these that ended in each way; ways without a case are left out.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Cases that needed behaviour which no source establishes.
    pub inferred: u64,
    /// Largest distance from what is expected.
    pub max_error: Option<f64>,
    /// Milliseconds of all of them.
    pub milliseconds: f64,
}

impl Counts {
    /// How many ended so.
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }

    /// The number of cases whose end has to be looked into.
    pub fn failures(&self) -> u64 {
        self.verdicts.iter().filter(|(verdict, _)| verdict.is_failure()).map(|(_, count)| count).sum()
    }

    fn add(&mut self, record: &Record) {
        self.cases += 1;
        *self.verdicts.entry(record.outcome.verdict).or_default() += 1;
        self.inferred += u64::from(record.outcome.inferred.is_some());
        self.milliseconds += record.outcome.milliseconds;
        if let Some(error) = record.outcome.max_error {
            self.max_error = Some(self.max_error.map_or(error, |largest| f64::max(largest, error)));
        }
    }
}

/// One reason for refusals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The register to blame, where one is.
    pub register: String,
    /// Its bits that matter.
    pub bits: String,
    pub why: String,
    /// Cases that are refused for it.
    pub cases: u64,
    /// The values of the register in them, and how often each came; the most frequent ones.
    pub values: Vec<(String, u64)>,
    /// Families that have such cases.
    pub families: Vec<String>,
    /// One of the programs.
    pub example: String,
}

/// Values of a refusal that are listed.
const VALUES_MAX: usize = 8;

impl Totals {
    /// A report of the lines of several files.
    pub fn of(files: impl IntoIterator<Item = Lines>) -> Self {
        let mut report = Self::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        for lines in files {
            report.damaged += lines.damaged;
            for record in lines.records {
                match known.get(&record.id).and_then(|&index| report.records.get(index)) {
                    Some(before) => {
                        report.repeated += 1;
                        let same = before.outcome.verdict == record.outcome.verdict
                            && before.outcome.sha256 == record.outcome.sha256;
                        if !same {
                            let said = (before.outcome.verdict.name(), record.outcome.verdict.name());
                            report.contradictions.push(format!(
                                "{}: {} and {}",
                                label(&record),
                                said.0,
                                said.1
                            ));
                        }
                    }
                    None => {
                        known.insert(record.id.clone(), report.records.len());
                        report.records.push(record);
                    }
                }
            }
        }
        // Shards end in any order; what is said of them does not depend on it.
        let order = |record: &Record| {
            let Record { family, program, numerics, seed, id, .. } = record.clone();
            (family, program, numerics, seed, id)
        };
        report.records.sort_by_cached_key(order);
        for record in &report.records {
            report.families.entry(record.family.clone()).or_default().add(record);
            report.total.add(record);
        }
        report.refusals = refusals(&report.records);
        report
    }

    /// Each case, by family and program.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// For a terminal.
    ///
    /// # Errors
    ///
    /// None: it is written into a string.
    pub fn page(&self) -> Result<String, fmt::Error> {
        let shown: Vec<Verdict> =
            Verdict::ALL.into_iter().filter(|&verdict| self.total.count(verdict) > 0).collect();
        let families = self.families.iter().map(|(name, row)| (printable(name), row));
        let rows: Vec<(String, &Counts)> = families.chain([("total".to_owned(), &self.total)]).collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(6);
        let mut page = String::new();
        write!(page, "{:width$}  {:>7}", "family", "cases")?;
        for verdict in &shown {
            write!(page, "  {:>10}", verdict.name())?;
        }
        writeln!(page, "  {:>10}  {:>10}", "max error", "seconds")?;
        for (name, row) in rows {
            write!(page, "{name:width$}  {:>7}", row.cases)?;
            for &verdict in &shown {
                write!(page, "  {:>10}", row.count(verdict))?;
            }
            let error = row.max_error.map_or_else(|| "-".to_owned(), |error| format!("{error:.3e}"));
            writeln!(page, "  {error:>10}  {:>10.2}", row.milliseconds / 1000.0)?;
        }
        if !self.refusals.is_empty() {
            writeln!(page, "\nrefused, the most frequent first")?;
        }
        for refusal in &self.refusals {
            let Refusal { register, bits, why, cases, .. } = refusal;
            let values: Vec<String> =
                refusal.values.iter().map(|(value, count)| format!("{value} x {count}")).collect();
            writeln!(page, "{cases:>7}  {}", printable(&format!("{register} {bits}: {why}")))?;
            if !values.is_empty() {
                writeln!(page, "         values {}", printable(&values.join(", ")))?;
            }
            let such = format!("{}; such as {}", refusal.families.join(", "), refusal.example);
            writeln!(page, "         in {}", printable(&such))?;
        }
        for record in self.records.iter().filter(|record| record.outcome.verdict.is_failure()) {
            let told = format!("{}: {}", label(record), record.outcome.reason.as_deref().unwrap_or_default());
            writeln!(page, "{}: {}", record.outcome.verdict.name(), printable(&told))?;
        }
        for contradiction in &self.contradictions {
            writeln!(page, "contradiction: {}", printable(contradiction))?;
        }
        if self.damaged > 0 {
            writeln!(
                page,
                "{} lines are cut short; run their part again, if that was not done",
                self.damaged
            )?;
        }
        Ok(page)
    }
}

/// The name of a case for people.
fn label(record: &Record) -> String {
    format!("{} ({}, seed {}, {})", record.program, record.numerics, record.seed, record.expect)
}

/// Digits are no reason of their own: of texts without a register they are left out.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).take(120).collect()
}

fn refusals(records: &[Record]) -> Vec<Refusal> {
    let is_refused = |record: &&Record| {
        matches!(record.outcome.verdict, Verdict::Refused | Verdict::Hang | Verdict::Unreadable)
    };
    let mut grouped: BTreeMap<(String, String, String), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(is_refused) {
        let key = match &record.outcome.blame {
            Some(blame) => {
                (blame.register.clone(), blame.bits.clone(), format!("{} ({})", blame.why, blame.category))
            }
            None => {
                let reason = without_numbers(record.outcome.reason.as_deref().unwrap_or("no reason"));
                (record.outcome.verdict.name().to_owned(), String::new(), reason)
            }
        };
        grouped.entry(key).or_default().push(record);
    }
    let mut refusals: Vec<Refusal> = grouped
        .into_iter()
        .map(|((register, bits, why), records)| {
            let mut values: BTreeMap<String, u64> = BTreeMap::new();
            let mut families: BTreeMap<String, u64> = BTreeMap::new();
            for record in &records {
                *families.entry(record.family.clone()).or_default() += 1;
                if let Some(blame) = &record.outcome.blame {
                    *values.entry(blame.value.clone()).or_default() += 1;
                }
            }
            let mut values: Vec<(String, u64)> = values.into_iter().collect();
            values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            values.truncate(VALUES_MAX);
            let example = records.first().map_or_else(String::new, |record| record.program.clone());
            let families = families.into_keys().collect();
            Refusal { register, bits, why, cases: records.len() as u64, values, families, example }
        })
        .collect();
    refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.cases));
    refusals
}

/// Text for XML and HTML: five letters have names, and control letters, which neither allows, become blanks.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::blame::Blame;
    use super::super::case::{Case, example};
    use super::super::record::Outcome;
    use super::*;

    fn record(program: &str, family: &str, outcome: Outcome) -> Record {
        let case = Case { family: family.to_owned(), ..example(program) };
        Record::of(&case, outcome)
    }

    fn refused(value: &str) -> Outcome {
        let text = format!(
            "task 1: bits 0x00000100 of {value} in PlanarMap at 0x30: no source explains <this> (undefined)"
        );
        Outcome { blame: Blame::of(&text), ..Outcome::because(Verdict::Refused, text) }
    }

    fn lines() -> Lines {
        let wrong = Outcome {
            max_error: Some(0.5),
            ..Outcome::because(Verdict::Wrong, "element 1 is \"2\" & not <3>")
        };
        Lines {
            records: vec![
                record("a.hwx", "conv", Outcome { max_error: Some(0.25), ..Outcome::of(Verdict::Passed) }),
                record("b.hwx", "conv", refused("0x00000100")),
                record("c.hwx", "norm", refused("0x00000101")),
                record("d.hwx", "norm", refused("0x00000101")),
                record("e.hwx", "norm", wrong),
            ],
            damaged: 0,
        }
    }

    #[test]
    fn lines_of_several_files_are_counted_once() {
        let [once, twice] = [vec![lines()], vec![lines(), lines()]].map(Totals::of);
        assert_eq!((once.total.cases, twice.total.cases, twice.repeated), (5, 5, 5));
        assert_eq!(once.total, twice.total);
        assert!(twice.contradictions.is_empty());
        assert_eq!(
            (once.families["norm"].count(Verdict::Refused), once.families["norm"].max_error),
            (2, Some(0.5))
        );
        assert_eq!(once.total.failures(), 1);
    }

    #[test]
    fn run_that_the_engine_did_not_finish_is_a_failure() {
        let unfinished = Outcome::because(Verdict::Unfinished, "transfer faulted at 0x4000");
        let report = Totals::of([Lines { records: vec![record("a.hwx", "conv", unfinished)], damaged: 0 }]);
        assert_eq!((report.total.failures(), report.refusals.len()), (1, 0));
        let xml = report.junit();
        assert!(xml.contains("errors=\"1\" skipped=\"0\"") && xml.contains("<error message="), "{xml}");
    }

    #[test]
    fn order_of_files_does_not_matter() {
        let (all, mut front, mut back) = (lines(), lines(), lines());
        front.records.truncate(2);
        back.records.drain(..2);
        let [one, other] = [vec![all], vec![back, front]].map(|files| Totals::of(files).page().unwrap());
        assert_eq!(one, other);
    }

    #[test]
    fn refusals_are_ranked_by_register_and_bits() {
        let report = Totals::of([lines()]);
        let [refusal] = &report.refusals[..] else { panic!("{:?}", report.refusals) };
        assert_eq!(
            (refusal.register.as_str(), refusal.bits.as_str(), refusal.cases),
            ("PlanarMap", "0x00000100", 3)
        );
        assert_eq!(refusal.values, [("0x00000101".to_owned(), 2), ("0x00000100".to_owned(), 1)]);
        assert_eq!(refusal.families, ["conv", "norm"]);
    }

    #[test]
    fn results_that_differ_are_told() {
        let mut other = lines();
        other.records[0].outcome.verdict = Verdict::Wrong;
        let report = Totals::of([lines(), other]);
        assert_eq!(report.contradictions, ["a.hwx (m1, seed 0, nothing): passed and wrong"]);
    }

    #[test]
    fn every_failure_is_on_the_page_and_in_the_json() {
        let wrong = |place: usize| {
            let wrong = Outcome::because(Verdict::Wrong, format!("element {place}"));
            record(&format!("{place}.hwx"), "conv", wrong)
        };
        let mut lines = lines();
        lines.records.extend((0..60).map(wrong));
        let report = Totals::of([lines]);
        let page = report.page().unwrap();
        assert_eq!(page.lines().filter(|line| line.starts_with("wrong: ")).count(), 61, "{page}");
        let json = serde_json::to_value(&report).unwrap();
        let failures = json["failures"].as_array().unwrap();
        assert_eq!((failures.len(), &failures[0]["verdict"]), (61, &"wrong".into()));
    }

    #[test]
    fn letters_that_upset_a_terminal_are_not_printed() {
        let letters = "\u{1b}[2J\n\u{202e}";
        let mut lines = lines();
        for record in &mut lines.records {
            record.program.push_str(letters);
            record.family.push_str(letters);
            if let Some(reason) = &mut record.outcome.reason {
                reason.push_str(letters);
            }
            if let Some(blame) = &mut record.outcome.blame {
                blame.register.push_str(letters);
                blame.value.push_str(letters);
            }
        }
        let mut other = Lines { records: lines.records.clone(), damaged: 0 };
        other.records[0].outcome.verdict = Verdict::Wrong;
        let page = Totals::of([lines, other]).page().unwrap();
        assert!(page.lines().all(|line| printable(line) == line), "{page}");
        assert!(page.contains("contradiction: ") && page.contains("\\u{1b}[2J"), "{page}");
        assert_eq!(page.lines().count(), 11, "each on a line of its own: {page}");
    }

    /// Adds to every text of a record but its verdict, which is one of a few words.
    fn add_to_texts(value: &mut serde_json::Value, more: &str) {
        match value {
            serde_json::Value::String(text) => text.push_str(more),
            serde_json::Value::Object(fields) => {
                let texts = fields.iter_mut().filter(|(name, _)| *name != "verdict");
                texts.for_each(|(_, value)| add_to_texts(value, more));
            }
            _ => {}
        }
    }

    #[test]
    fn markup_in_any_field_of_a_line_is_text_on_the_pages() {
        let marked = lines().records.into_iter().map(|record| {
            let mut value = serde_json::to_value(&record).unwrap();
            add_to_texts(&mut value, "<i title=\"x\">");
            serde_json::from_value(value).unwrap()
        });
        let marked = Lines { records: marked.collect(), damaged: 0 };
        let mut other = Lines { records: marked.records.clone(), damaged: 0 };
        other.records[0].outcome.verdict = Verdict::Wrong;
        let report = Totals::of([marked, other]);
        for text in [report.html(), report.junit()] {
            assert!(text.contains("&lt;i title=&quot;x&quot;&gt;") && !text.contains("<i "), "{text}");
        }
        let blamed = "0x00000101&lt;i title=&quot;x&quot;&gt; &times; 2";
        assert!(report.html().contains(blamed), "{}", report.html());
    }

    #[test]
    fn pages_name_what_went_wrong_and_escape_what_comes_from_files() {
        let report = Totals::of([lines()]);
        let page = report.page().unwrap();
        assert!(page.contains("wrong: e.hwx (m1, seed 0, nothing): element 1"), "{page}");
        let xml = report.junit();
        assert!(xml.contains("tests=\"5\" failures=\"1\"") && xml.contains("skipped=\"3\""), "{xml}");
        for text in [xml, report.html()] {
            assert!(text.contains("&quot;2&quot; &amp; not &lt;3&gt;"), "{text}");
            assert!(!text.contains("not <3>"), "{text}");
        }
        assert_eq!(escaped("a\u{1b}[31m\0"), "a [31m ");
    }
}
