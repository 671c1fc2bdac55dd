//! A program as one page for a browser: its tasks as a graph, the time they take, the memory they use, every register.
//!
//! The page needs no network and no server. Its data are inside of it, as JSON; the script beside it draws, and only ever
//! makes text of what comes out of the file, so that a name that is markup stays a name. Everything is read off the
//! program: each task is decoded and planned as the device would. Only a fault takes a run, which its caller decides on.
//!
//! The page has to stay small for every program: registers that keep their values from task to task are left out, and the
//! page's script fills them in; what tasks have in common stands in tables. Numbers of tasks, texts and lists have bounds.
//!
//! * this file: the page, and what goes into it.
//! * `walk`: the way along the tasks, and which of them are shown.
//! * `task`: a task that is shown.
//! * `tables`: the registers with their meaning, and the texts, once.
//! * `short`: texts and lists of a program, cut to a bound.
//! * `failed_run`: the task that ended a run.
//! * `page.html`, `page.css`, `page.js`: how it looks.

mod failed_run;
mod short;
mod tables;
mod task;
mod walk;

use ane_device::timing::phases::Part;
use ane_uapi::hw::chip::Soc;
use serde::Serialize;

use crate::container::Program;
use crate::decode::ProgramReport;
use crate::diff::{Comparison, programs};
pub use failed_run::{Ended, ended};
use short::Whole;
use tables::Tables;
use walk::Walk;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Tasks that a page shows from the first on. A browser draws so many without delay.
pub const TASKS_MAX: usize = 256;

/// Bytes that these tasks take. (Chosen: with all else that a page holds, it stays below 500 kB, and 900 kB for two programs.)
const FIRST_BYTES_MAX: usize = 200_000;

/// Tasks behind them that a page shows because they are refused or ended a run.
pub const LATER_MAX: usize = 64;

/// Bytes that these take.
const LATER_BYTES_MAX: usize = 80_000;

/// A program of the page.
#[derive(Debug, Serialize)]
struct Side {
    name: String,
    program: Whole,
    /// Tasks that there are; the page may show fewer.
    task_count: u32,
    walk: Walk,
    /// The task that ended a run.
    ended: Option<Ended>,
}

/// Everything that a page shows.
#[derive(Debug, Serialize)]
struct Data {
    chip: &'static str,
    /// The names of parts of the chip, and of places on it.
    parts: Vec<&'static str>,
    places: [&'static str; 4],
    sides: Vec<Side>,
    #[serde(flatten)]
    tables: Tables,
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
    let mut tables = Tables::default();
    let mut sides = Vec::new();
    for (index, (name, program)) in named.iter().enumerate() {
        let whole = Whole::of(ProgramReport::of(program));
        let ended = ended.get(index).cloned().flatten();
        let ended = ended.map(|ended| Ended { why: short::cut(&ended.why), ..ended });
        let ended_at = ended.as_ref().map(|ended| ended.task);
        let walk = Walk::of(program, &whole.program().bars, ended_at, soc, &mut tables);
        let (name, task_count) = (short::cut(name), program.task_count);
        sides.push(Side { name, task_count, program: whole, walk, ended });
    }
    let differences = match named {
        [(_, a), (_, b)] => Some(short::differences(programs::compare(a, b))),
        _ => None,
    };
    let title: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let title = escaped(&title.join(" and "));
    let parts = Part::ALL.into_iter().map(Part::name).collect();
    let data = Data { chip: soc.name(), parts, places: task::PLACES, sides, tables, differences };
    let data = serde_json::to_string(&data)?;
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
