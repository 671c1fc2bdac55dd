//! The values that real M1s printed, beside those that this engine prints: the content of `docs/fidelity.md`.
//!
//! Three kinds of result are public. *Fingerprints* are relative errors that a machine printed with sixteen digits for inputs
//! made from a seed; one wrong bit in thousands of outputs changes them. *Single results* are values of small sums.
//! *Compiled programs* are objects of Apple's compiler with an input and the output that an M1 gave for it.

mod fingerprint;
mod single;

use std::fmt::Write as _;

use ane::container;
use half::f16;

use crate::known::{self, ByRegisters, Known};

/// A row of the page.
#[derive(Debug)]
pub struct Row {
    pub what: String,
    /// The text that an M1 printed.
    pub published: String,
    /// The text of this engine, in the same form.
    pub ours: String,
    /// The publisher, by the letter in the page's list.
    pub source: &'static str,
}

impl Row {
    /// True if what was published is reproduced, up to the order in which a norm is summed: 1.5e-14 of it.
    pub fn agrees(&self) -> bool {
        let value = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        self.published == self.ours || (value(&self.published) / value(&self.ours) - 1.0).abs() <= 1.5e-14
    }

    /// Significant digits from the first on that both have.
    fn digits(&self) -> usize {
        let significant = |text: &str| -> Vec<char> {
            let start = text.find(|c: char| c.is_ascii_digit() && c != '0').unwrap_or(0);
            text.chars().skip(start).filter(char::is_ascii_digit).collect()
        };
        if self.published == self.ours {
            return digits(&self.published);
        }
        // Numbers of another magnitude agree in nothing.
        let value = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        if (value(&self.published) / value(&self.ours) - 1.0).abs() > 1e-3 {
            return 0;
        }
        let (published, ours) = (significant(&self.published), significant(&self.ours));
        published.iter().zip(&ours).take_while(|(a, b)| a == b).count()
    }
}

/// Significant digits of a number as it is written.
fn digits(text: &str) -> usize {
    let start = text.find(|c: char| c.is_ascii_digit() && c != '0');
    start.map_or(1, |start| text.chars().skip(start).filter(char::is_ascii_digit).count())
}

/// A number with the fewest digits that stand for it, as numpy and Python print it.
fn shortest(number: f64) -> String {
    if number.is_infinite() {
        if number > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        format!("{number}")
    }
}

/// The first outputs of a known program, on a device in this process and over the socket.
fn program_row(what: &str, known: Option<Known>, runner: impl Fn(&Known) -> Vec<f16>) -> Option<Row> {
    let known = known?;
    let ours = runner(&known);
    let all = |values: &[f16]| {
        let first = values.first().copied().unwrap_or_default();
        let same = values.iter().take_while(|&&value| value == first).count();
        if same == values.len() {
            format!("{} ({same} times)", shortest(first.to_f64()))
        } else {
            let some: Vec<String> = values.iter().take(4).map(|value| shortest(value.to_f64())).collect();
            format!("{}, .. ({} values)", some.join(", "), values.len())
        }
    };
    let equal = ours == known.output;
    let (published, ours) = (all(&known.output), if equal { all(&known.output) } else { all(&ours) });
    Some(Row { what: what.to_owned(), published, ours, source: "g" })
}

/// The rows about compiled programs, if the folder with the programs is there.
fn programs() -> Option<Vec<Row>> {
    let run = |known: &Known| {
        let program = container::open(&known.bytes).expect("the sample is a program");
        known::run::<ByRegisters>(&program, &known.inputs)
    };
    [
        ("`sum`: 3 + 2", known::sum()),
        ("`relu`: -3, 5, -0.25 ..", known::relu()),
        ("`sigmoid`: 3", known::sigmoid()),
        ("`conv`: 1, 2, 3 with weights 2", known::convolution()),
        ("`gemm`: weights 0", known::inner_product()),
        ("`concat`: the second input, then the first", known::concatenation()),
    ]
    .into_iter()
    .map(|(what, known)| program_row(what, known, run))
    .collect()
}

/// All rows that have to agree; `None` without the folder of compiled programs.
pub fn rows() -> Option<[(&'static str, Vec<Row>); 3]> {
    let programs = programs()?;
    Some([
        ("Fingerprints", fingerprint::rows()),
        ("Single results", single::rows()),
        ("Compiled programs", programs),
    ])
}

/// The rows that are known not to agree, for whoever looks for the rule.
pub fn open_rows() -> (&'static str, Vec<Row>) {
    ("Not reproduced", fingerprint::open_rows())
}

pub fn render<'a>(groups: impl IntoIterator<Item = &'a (&'static str, Vec<Row>)>) -> String {
    let mut page = String::from(HEAD);
    for (title, rows) in groups {
        let _ = writeln!(page, "\n## {title}\n\n| what | M1 | this engine | digits that agree | source |");
        page.push_str("| --- | --- | --- | --- | --- |\n");
        for row in rows {
            let Row { what, published, ours, source } = row;
            let (agree, of) = (row.digits(), digits(published));
            let _ = writeln!(page, "| {what} | {published} | {ours} | {agree} of {of} | {source} |");
        }
    }
    page.push_str(SOURCES);
    page
}

const HEAD: &str = "# Fidelity

What real M1s printed, and what this engine prints for the same inputs. The page is generated by
`ANE_WRITE=1 cargo nextest run -p ane-tests --test fidelity`, and the same test fails when a digit changes.

A fingerprint is the relative error, in the Euclidean norm, of all outputs against a product in double precision. The inputs are
normally distributed numbers of numpy's default generator, so anybody can make them again from the seed. The last digits of
an error depend on the order in which the norm is summed, which no source gives. No source prints the seed of the inputs of
256 x 4096 either: it was found by trying which one gives the published digits.

The last group, *not reproduced*, shows where the silicon rounds in a way that nobody knows: inside of the interpolation of
tables, and inside of long planar sums. The engine computes both in double precision with one rounding at the end.
";

const SOURCES: &str = "
## Sources

* a: `sbryngelson/ANEForge`, `bench/results/device_compare_wattcomplete_results_M1.json`; inputs from
  `bench/device_compare_wattcomplete.py`.
* b: `sbryngelson/ANEForge`, `bench/results/rooflines/` of an M1 and an M1 Max; inputs from `bench/numeric_cliffs.py`.
* e: `sbryngelson/ane-guide`, `part-1-machine/03-numerics.md`.
* g: compiled programs of tinygrad's history, `extra/accel/ane/ops/`, with the outputs that their authors describe.

Further questions that these results leave open are in [numerics.md](numerics.md), under *Open*.
";
