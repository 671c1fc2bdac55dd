//! How far a campaign is, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use ane::campaign::record::{Record, Verdict};

/// How often the line is written anew: as fast as eyes follow.
const EVERY: Duration = Duration::from_millis(100);

/// Letters of the bar.
const WIDTH: usize = 24;

/// A line on standard error that is written over again and again, if that is a terminal.
pub(crate) struct Progress {
    whole: usize,
    done: usize,
    refused: usize,
    failed: usize,
    is_shown: bool,
    start: Instant,
    last: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(whole: usize, is_quiet: bool) -> Self {
        let is_shown = !is_quiet && io::stderr().is_terminal();
        Self { whole, done: 0, refused: 0, failed: 0, is_shown, start: Instant::now(), last: None }
    }

    pub(crate) fn step(&mut self, record: &Record) {
        self.done += 1;
        let verdict = record.outcome.verdict;
        self.refused += usize::from(matches!(verdict, Verdict::Refused | Verdict::Hang));
        self.failed += usize::from(verdict.is_failure());
        if self.is_shown && self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            self.show();
            self.last = Some(Instant::now());
        }
    }

    fn show(&self) {
        let filled = (WIDTH * self.done).checked_div(self.whole).unwrap_or(WIDTH).min(WIDTH);
        let rate = self.done as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        // That nobody watches is no failure.
        let _ = write!(
            io::stderr(),
            "\r[{}{}] {}/{}  {} refused, {} failed, {rate:.0}/s\x1b[K",
            "#".repeat(filled),
            ".".repeat(WIDTH - filled),
            self.done,
            self.whole,
            self.refused,
            self.failed
        );
    }

    /// Leaves the line as it is, and the next one free.
    pub(crate) fn end(&self) {
        if self.is_shown && self.done > 0 {
            self.show();
            let _ = writeln!(io::stderr());
        }
    }
}
