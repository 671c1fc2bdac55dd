//! `ane diff`.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use ane::count::count;
use ane::decode::printable;
use ane::diff::arrays::{self, Element, Tolerance};
use ane::diff::timelines::{self, Timeline};
use ane::diff::{Comparison, programs};
use ane::tensor::nearest_half;
use ane::tensor::npy::View;
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::failure::{Advise, Exit, Failure};
use crate::files;

/// Compare two programs, two timelines, two arrays, or two folders of outputs
///
/// The content tells what kind of file each is. Programs are compared by surface, base address, header word and register
/// field. Timelines are compared by event, without their times. Arrays are compared by element; beside an array of halves, other
/// numbers are rounded to halves first. The exit code is 5 if they differ.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane diff before.hwx after.hwx
  ane diff out-m1 out-exact --ulps 2
  ane diff a.npy b.npy --tolerance 0.001 --json")]
pub(crate) struct Diff {
    /// One
    pub(crate) a: PathBuf,
    /// The other
    pub(crate) b: PathBuf,
    /// Largest difference of two finite elements that is accepted, in units of the last place
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) ulps: u32,
    /// Largest difference of two finite elements that is accepted
    #[arg(long, value_name = "VALUE", default_value_t = 0.0, value_parser = absolute)]
    pub(crate) tolerance: f64,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
}

/// A distance: a comparison with anything else would accept everything, or nothing.
fn absolute(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if value >= 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err(format!("{} is no distance; give 0 or more, such as 0.001", printable(text))),
    }
}

/// Elements of the largest array that is compared: those of the whole aperture.
const ELEMENTS_MAX: u64 = 1 << 31;

pub(crate) fn run(args: &Diff) -> Result<()> {
    let tolerance = Tolerance { ulps: args.ulps, absolute: args.tolerance };
    let found = if args.a.is_dir() || args.b.is_dir() {
        folders(&args.a, &args.b, tolerance)?
    } else {
        two_files(&args.a, &args.b, tolerance)?
    };
    if args.json {
        files::print_json(&found)?;
    } else {
        files::print(page(&found)?.as_bytes())?;
    }
    if found.is_same() {
        return Ok(());
    }
    let what = format!(
        "{} between {} and {}",
        count(found.count, "difference"),
        files::name(&args.a),
        files::name(&args.b)
    );
    Err(Failure::new(Exit::Differs, what, "of arrays, --ulps and --tolerance say what may differ").into())
}

pub(crate) fn page(found: &Comparison) -> Result<String, fmt::Error> {
    let mut page = String::new();
    for difference in &found.differences {
        let [place, a, b] = [&difference.place, &difference.a, &difference.b].map(|text| printable(text));
        writeln!(page, "{place}: {a} | {b}")?;
    }
    let listed = found.differences.len() as u64;
    if found.count > listed {
        writeln!(page, "... and {} more", found.count - listed)?;
    }
    for note in &found.notes {
        writeln!(page, "note: {}", printable(note))?;
    }
    if found.is_same() {
        writeln!(page, "no differences")?;
    }
    Ok(page)
}

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Array,
    Timeline,
    Program,
}

fn kind(bytes: &[u8]) -> FileKind {
    if bytes.starts_with(b"\x93NUMPY") {
        FileKind::Array
    } else if bytes.trim_ascii_start().starts_with(b"{") {
        FileKind::Timeline
    } else {
        FileKind::Program
    }
}

fn timeline<'a>(path: &Path, bytes: &'a [u8]) -> Result<Timeline<'a>> {
    Timeline::read(bytes)
        .with_context(|| files::name(path))
        .advise(Exit::Refused, "write one with `ane run --trace`")
}

fn two_files(a: &Path, b: &Path, tolerance: Tolerance) -> Result<Comparison> {
    let (first, second) = (files::read(a)?, files::read(b)?);
    match (kind(&first), kind(&second)) {
        (FileKind::Array, FileKind::Array) => {
            let (first, second) = (array(a, &first)?, array(b, &second)?);
            let one = (first.header().shape.as_slice(), elements(&first));
            let other = (second.header().shape.as_slice(), elements(&second));
            Ok(arrays::compare_each(one, other, tolerance))
        }
        (FileKind::Timeline, FileKind::Timeline) => {
            let (first, second) = (timeline(a, &first)?, timeline(b, &second)?);
            timelines::compare(first, second)
                .with_context(|| format!("{} and {}", files::name(a), files::name(b)))
                .advise(Exit::Refused, "compare timelines of runs of one program")
        }
        (FileKind::Program, FileKind::Program) => {
            let first = files::program(a, &first)?;
            let second = files::program(b, &second)?;
            Ok(programs::compare(&first, &second))
        }
        (one, other) => {
            let what =
                format!("{} is {one:?}, {} is {other:?}", files::name(a), files::name(b)).to_lowercase();
            Err(Failure::new(Exit::Refused, what, "compare two of a kind").into())
        }
    }
}

fn array<'a>(path: &Path, bytes: &'a [u8]) -> Result<View<'a>> {
    View::of(bytes, ELEMENTS_MAX)
        .with_context(|| files::name(path))
        .advise(Exit::Refused, "write it again with numpy.save")
}

fn elements<'a>(array: &'a View<'_>) -> impl Iterator<Item = Element> + 'a {
    let is_half = array.header().number.is_half();
    array
        .doubles()
        .map(move |value| if is_half { Element::Half(nearest_half(value)) } else { Element::Other(value) })
}

fn folders(a: &Path, b: &Path, tolerance: Tolerance) -> Result<Comparison> {
    let (first, second) = (listed(a)?, listed(b)?);
    let mut found = Comparison::default();
    for file in first.union(&second) {
        match (first.contains(file), second.contains(file)) {
            (true, true) => found.include(file, two_files(&a.join(file), &b.join(file), tolerance)?),
            (is_first, _) => {
                let [here, not_here] = if is_first { ["there", "-"] } else { ["-", "there"] };
                found.differs(file.as_str(), here, not_here);
            }
        }
    }
    Ok(found)
}

/// The arrays of a folder that `ane run -o` wrote.
fn listed(folder: &Path) -> Result<BTreeSet<String>> {
    let list = folder.join("outputs.json");
    let advice = "name two folders that `ane run -o` wrote";
    let bytes = files::read(&list).advise(Exit::Refused, advice)?;
    let entries: Vec<Value> =
        serde_json::from_slice(&bytes).with_context(|| files::name(&list)).advise(Exit::Refused, advice)?;
    let plain = |name: &&str| !name.contains('/') && !name.starts_with('.');
    let names = entries.iter().filter_map(|entry| entry.get("file")?.as_str().filter(plain));
    let file = |name: &str| {
        let path = folder.join(name);
        // A pipe would be waited for, and a link may lead anywhere.
        match fs::symlink_metadata(&path) {
            Ok(metadata) if !metadata.is_file() => {
                let what = format!("{} is no regular file", files::name(&path));
                Err(Failure::new(Exit::Refused, what, advice).into())
            }
            _ => Ok(name.to_owned()),
        }
    };
    names.map(file).collect()
}
