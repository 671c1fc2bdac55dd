//! A program as one page for a browser: its tasks as a graph, the time they take, the memory they use, every register.
//!
//! The page needs no network and no server. Its data are inside of it, as JSON; the script beside it draws, and only ever
//! makes text of what comes out of the file, so that a name that is markup stays a name. Everything is read off the
//! program: each task is decoded and planned as the device would. Only a fault takes a run, which its caller decides on.
//!
//! * this file: the page, and what goes into it.
//! * `walk`: the tasks, one by one.
//! * `failed_run`: the task that ended a run.
//! * `page.html`, `page.css`, `page.js`: how it looks.

mod failed_run;
mod walk;

use std::collections::BTreeMap;

use ane_uapi::hw::chip::Soc;
use serde::Serialize;

use crate::container::Program;
use crate::decode::ProgramReport;
use crate::diff::{Comparison, programs};
pub use failed_run::{Ended, ended};
use walk::ShownTasks;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Tasks of a program that a page shows. A browser draws so many without delay, and the page stays some hundred kilobytes.
pub const TASKS_MAX: usize = 256;

/// The page's explanation of a register, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Meaning {
    block: &'static str,
    meaning: &'static str,
    grade: &'static str,
    source: &'static str,
    /// By name: bits, meaning, and the grade where it is another.
    fields: BTreeMap<&'static str, (String, &'static str, Option<&'static str>)>,
}

type Legend = BTreeMap<String, Meaning>;

/// A program of the page.
#[derive(Debug, Serialize)]
struct Side {
    name: String,
    program: ProgramReport,
    /// Tasks that there are; the page may show fewer.
    task_count: u32,
    walk: ShownTasks,
    /// The task that ended a run.
    ended: Option<Ended>,
}

/// Everything that a page shows.
#[derive(Debug, Serialize)]
struct Data {
    chip: &'static str,
    sides: Vec<Side>,
    legend: Legend,
    differences: Option<Comparison>,
}

/// The page about a program, or about two side by side. Names are what the page calls them.
///
/// # Examples
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/add_relu.anec");
/// let file = std::fs::read(path)?;
/// let program = ane::container::open(&file)?;
/// let page = ane::report::page(&[("add_relu.anec", &program)], ane_uapi::hw::chip::Soc::T8103)?;
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// None that a program can bring about: those of serialising what is plain data.
pub fn page(named: &[(&str, &Program<'_>)], soc: Soc) -> serde_json::Result<String> {
    page_of_runs(named, &[], soc)
}

/// The same, with the task that ended a run of each program, where one did.
///
/// # Errors
///
/// As of [`page`].
pub fn page_of_runs(
    named: &[(&str, &Program<'_>)],
    ended: &[Option<Ended>],
    soc: Soc,
) -> serde_json::Result<String> {
    let mut legend = Legend::new();
    let mut sides = Vec::new();
    for (index, (name, program)) in named.iter().enumerate() {
        let whole = ProgramReport::of(program);
        let walk = ShownTasks::of(program, &whole.bars, soc, &mut legend);
        let (name, ended) = ((*name).to_owned(), ended.get(index).cloned().flatten());
        sides.push(Side { name, task_count: program.task_count, program: whole, walk, ended });
    }
    let differences = match named {
        [(_, a), (_, b)] => Some(programs::compare(a, b)),
        _ => None,
    };
    let data = serde_json::to_string(&Data { chip: soc.name(), sides, legend, differences })?;
    let title: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    let title = escaped(&title.join(" and "));
    Ok(HTML
        .replace("{{title}}", &title)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
        // Last, so that nothing in the data is taken for a place.
        .replace("{{data}}", &in_script(&data)))
}

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('{', "&#123;")
}

/// JSON inside of a script element: nothing in it ends the element or begins a comment.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests;
