//! `docs/performance.md` and the pages beside it: what every bench measures, beside its goal, on machines with each vector unit.
//!
//! Benches print one line for each figure, in the format of `device/benches/report`. This runs them all, one after the
//! other, and makes a page of the lines. It is no check: figures differ from machine to machine and from run to run.
//!
//! * `build`: what no bench can measure, the first build;
//! * `python`: the Python module, and the Python that others run models in;
//! * `goals`: the numbers;
//! * `page`: the page;
//! * `machine`: where it was measured.

mod build;
pub(crate) mod goals;
pub(crate) mod machine;
mod page;
mod python;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use ane_device::engine::madd::Tier;
use anyhow::{Context, Result, bail};

use self::machine::Machine;
use self::page::Figure;
use crate::output::cargo;

/// Every bench: package and name.
const BENCHES: &[(&str, &str)] = &[
    ("ane", "decode"),
    ("ane-tiling", "tile"),
    ("ane-device", "dart"),
    ("ane-device", "companions"),
    ("ane-device", "planar"),
    ("ane-device", "engine"),
    ("ane-tests", "engine"),
    ("ane-tests", "wire"),
    ("ane-tests", "preload"),
    ("ane-tests", "aned"),
    ("ane-tests", "memory"),
    ("ane-tests", "models"),
];

/// Runs every bench; gives the page, and where it belongs.
pub fn render() -> Result<(&'static str, String)> {
    for &(package, name) in BENCHES {
        // Nothing is measured while a compiler runs.
        let built = bench(package, name).arg("--no-run").status().context("running cargo")?;
        if !built.success() {
            bail!("bench {name} of {package} cannot be built");
        }
    }
    // What cannot be had is told here, and the page lists the goals without a figure.
    let wheel =
        python::Wheel::build().inspect_err(|why| eprintln!("Y1 to Y3 are not measured: {why:#}")).ok();
    let other = python::onnxruntime().inspect_err(|why| eprintln!("M3 is not measured: {why:#}")).ok();
    let machine = Machine::here()?;
    let mut figures = Vec::new();
    for &(package, name) in BENCHES {
        let mut command = bench(package, name);
        if let Some(python) = &other {
            command.env("PYTHON", python);
        }
        let found = run(command, &format!("bench {name} of {package}"))?;
        if found.is_empty() {
            bail!("bench {name} of {package} prints no figure");
        }
        figures.extend(found);
    }
    if let Some(wheel) = &wheel {
        figures.extend(run(wheel.bench(), "the bench of the Python module")?);
    }
    figures.push(build::first()?);
    Ok((page::path(Tier::best()), page::render(&machine, &figures)))
}

fn bench(package: &str, bench: &str) -> Command {
    cargo(&["bench", "--quiet", "--package", package, "--bench", bench])
}

/// Runs a bench, shows what it prints, and gives the figures among that.
fn run(mut command: Command, name: &str) -> Result<Vec<Figure>> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| name.to_owned())?;
    let mut figures = Vec::new();
    for line in BufReader::new(child.stdout.take().context("its output is piped")?).lines() {
        let line = line?;
        println!("{line}");
        figures.extend(Figure::of(&line));
    }
    if !child.wait()?.success() {
        bail!("{name} failed");
    }
    Ok(figures)
}
