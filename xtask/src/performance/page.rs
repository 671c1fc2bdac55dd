//! The page that figures are shown on.

use ane_device::engine::madd::Tier;

use super::goals::{GOALS, Goal};
use super::machine::Machine;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// The goal; in parentheses if the figure is not held to it.
    id: String,
    what: String,
    /// The measured values, as text.
    seen: String,
    value: f64,
}

impl Figure {
    /// A figure that stands for itself.
    pub(super) fn new(id: &str, what: &str, seen: &str, value: f64) -> Self {
        Self { id: id.to_owned(), what: what.to_owned(), seen: seen.to_owned(), value }
    }

    /// The figure of a line, if it has one.
    pub(super) fn of(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split(" | ").map(str::trim).collect();
        let [id, what, seen, value, _, _] = fields.as_slice() else { return None };
        let value = value.parse().ok()?;
        Some(Self::new(id, what, seen, value))
    }

    fn row(&self) -> String {
        let Self { id, what, seen, value, .. } = self;
        let (hold, stretch, verdict) = match Goal::of(id) {
            Some(goal) => {
                let (hold, stretch) = goal.columns();
                (hold, stretch, goal.verdict(*value))
            }
            None => ("-".to_owned(), "-".to_owned(), "-"),
        };
        format!("| {id} | {what} | {seen} | {value:.3} | {hold} | {stretch} | {verdict} |\n")
    }
}

const ABOUT: &str = "\
# Performance

What the benches measure, beside the goals. `cargo xtask performance` runs all of them, one after the other, in release
builds, and writes the page of this processor's vector unit; nothing on it was written by hand. Machines with AVX-512 have
[performance.md](performance.md), machines with AVX2 [performance-avx2.md](performance-avx2.md). Each bench says at its top what it compares. Where a
figure is a ratio, both sides ran in turn in one run, warm, on as many threads, and the ratio is the median of the rounds'
ratios; results were compared with expected ones before anything was timed.

The machine is a virtual one and shares its processors with others. Figures there are noisy: a ratio wanders by some
hundredths from run to run, and by more where threads wait for each other (A5, S1 to S3, B1). One run proves little:
repeat it on your machine with that command.

C7, the same bytes from every vector unit, has no bench: tests hold it.
";

/// The page of machines with a vector unit.
pub(super) const fn path(unit: Tier) -> &'static str {
    match unit {
        Tier::Avx512 => "docs/performance.md",
        Tier::Avx2 => "docs/performance-avx2.md",
        Tier::Portable => "docs/performance-portable.md",
    }
}

pub(super) fn render(machine: &Machine, figures: &[Figure]) -> String {
    let Machine { processor, processors, tier, kernel, compiler, date, load } = machine;
    let mut page = ABOUT.to_owned();
    page.push_str("\n| where and when | |\n| --- | --- |\n");
    for (what, value) in [
        ("processor", processor),
        ("processors", &processors.to_string()),
        ("vector unit in use", &(*tier).to_owned()),
        ("kernel", &format!("Linux {kernel}")),
        ("compiler", compiler),
        ("date", date),
        ("load before the first bench", load),
    ] {
        page.push_str(&format!("| {what} | {value} |\n"));
    }
    page.push_str("\n## Goals\n\n| id | what | hold | stretch |\n| --- | --- | --- | --- |\n");
    for goal in GOALS {
        let (hold, stretch) = goal.columns();
        page.push_str(&format!("| {} | {} | {hold} | {stretch} |\n", goal.id, goal.what));
    }
    page.push_str(
        "\n## Figures\n\nOurs first, then the peer. An id in parentheses stands for a figure that is shown for \
         comparison and that no goal speaks of.\n\n\
         | id | what | measured | figure | hold | stretch | holds? |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    figures.iter().for_each(|figure| page.push_str(&figure.row()));
    let missing = GOALS.iter().map(|goal| goal.id).filter(|id| figures.iter().all(|figure| figure.id != *id));
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        page.push_str(&format!("\nNot measured there: {}.\n", missing.join(", ")));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_a_bench_is_a_figure_and_anything_else_is_not() {
        let line = "D3 hit   | kept translation   | 1.50 ns   |   1.500 | <= 2 (1) ns | held";
        let figure = Figure::of(line).expect("a figure");
        assert_eq!(
            figure.row(),
            "| D3 hit | kept translation | 1.50 ns | 1.500 | <= 2 ns | <= 1 ns | held |\n"
        );
        assert_eq!(Figure::of("41 rounds, one thread"), None);
        assert_eq!(Figure::of("a | b | c | not a number | e | f"), None);
    }

    #[test]
    fn line_of_the_python_bench_is_judged_here() {
        let line = "Y1        | import ane, beyond an empty script | 49.1 ms / 19.0 ms |  30.100 | - | -";
        let figure = Figure::of(line).expect("a figure");
        assert_eq!(
            figure.row(),
            "| Y1 | import ane, beyond an empty script | 49.1 ms / 19.0 ms | 30.100 | <= 100 ms | - | held |\n"
        );
    }

    #[test]
    fn goal_without_a_figure_is_told() {
        let figure = |goal: &Goal| Figure::new(goal.id, goal.what, "", 0.0);
        let (missing, others): (Vec<_>, Vec<_>) = GOALS.iter().partition(|goal| goal.id.starts_with('Y'));
        let figures: Vec<Figure> = others.into_iter().map(figure).collect();
        let machine = Machine {
            processor: String::new(),
            processors: 1,
            tier: "",
            kernel: String::new(),
            compiler: String::new(),
            date: String::new(),
            load: String::new(),
        };
        assert!(render(&machine, &figures).ends_with("\nNot measured there: Y1, Y2, Y3, Y3 memory.\n"));
        let all: Vec<Figure> = figures.into_iter().chain(missing.into_iter().map(figure)).collect();
        assert!(!render(&machine, &all).contains("Not measured"));
    }

    #[test]
    fn figure_without_a_goal_is_shown_and_not_judged() {
        let figure = Figure::of("(D2) | rows | 1 ns / 2 ns | 0.5 | no goal | -").expect("a figure");
        assert_eq!(figure.row(), "| (D2) | rows | 1 ns / 2 ns | 0.500 | - | - | - |\n");
    }
}
