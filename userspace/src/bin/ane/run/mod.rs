//! `ane run`.

pub(crate) mod engine;
pub(crate) mod inputs;
pub(crate) mod report;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use ane::container::{Element, Surface};
use ane::device::Device;
use ane::model::{Model, file_names};
use ane::session::{self, Session};
use ane::tensor::{Tensor, npy};
use ane_device::options::Numerics;
use ane_uapi::ioctl::param::Param;
use anyhow::{Context, Result};
use clap::Args;
use engine::Watch;
use report::{InputReport, OutputReport, RunReport};
use serde::Serialize;

use crate::device;
use crate::device::DeviceArgs;
use crate::failure::{Advise, Exit};
use crate::files::{self, Existing, Folder};

/// Run a program on the engine
///
/// Reads a .hwx or .anec program, fills its inputs, runs it, and prints the outputs and what the engine did. Inputs come
/// from .npy files, by name or by number in the order of base addresses. Inputs without a file are random between -1 and
/// 1, or constant. Arrays have the shape N, C, H, W or the same without axes of length 1. In a program that `ane compile`
/// made, they have the shapes of the model. Floats and integers are converted to fp16, and a line says so.
///
/// With -o, each output goes to DIR/NAME.npy, little-endian fp16, and DIR/outputs.json lists them in the order of base
/// addresses. The folder appears with all files or not at all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane run examples/add_relu.anec
  ane run examples/add_relu.anec -i 0=a.npy -i 1=b.npy -o out
  ane run network.hwx --numerics exact --trace run.json
  ane run network.hwx --json | jq .engine")]
pub(crate) struct Run {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) model: PathBuf,
    /// Fill an input from a .npy file; may be given for each
    #[arg(short, long = "input", value_name = "NAME|INDEX=FILE")]
    pub(crate) inputs: Vec<Assignment>,
    /// Write the outputs to a new folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace outputs that are in the folder
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Seed of the random inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Fill inputs without a file with this value instead of random numbers
    #[arg(long, value_name = "VALUE", conflicts_with = "seed", allow_negative_numbers = true)]
    pub(crate) constant: Option<f32>,
    /// Run even if an input has elements that are not numbers (NaN)
    #[arg(long)]
    pub(crate) allow_nan: bool,
    /// Run this many times, and print the shortest and the average time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Give up a run that takes longer than this: exit code 4
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Write what the engine did, and when, as a Chrome trace that Perfetto opens; an embedded device only;
    /// a file that exists is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// A span that somebody waits.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("wanted is a number of seconds from 0.001 to 86400".to_owned()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) input: String,
    pub(crate) file: PathBuf,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((input, file)) if !input.is_empty() && !file.is_empty() => {
                Ok(Self { input: input.to_owned(), file: file.into() })
            }
            _ => Err("wanted is NAME=FILE or INDEX=FILE, such as 0=x.npy".to_owned()),
        }
    }
}

pub(crate) fn run(args: &Run) -> Result<()> {
    // Everything that can be refused is refused before anything runs.
    let folder = match &args.output {
        Some(path) => Some(Folder::new(path, Existing::forced(args.force))?),
        None => None,
    };
    if let Some(trace) = &args.trace {
        let read = args.inputs.iter().map(|assignment| &assignment.file).chain([&args.model]);
        files::check_is_other(trace, read).context("--trace")?;
    }
    let name = files::name(&args.model);
    let model = load(&args.model)?;
    let device = device::open(&args.device)?;
    let timeout = device::prepare_timeout(&device, args.timeout)?;
    let mut watch = Watch::start(&device, args.trace.as_deref())?;
    let failed = |why: session::Error| device::session_failure(&why, &device);
    let mut session = Session::load(&device, &model)
        .map_err(|why| device::session_failure(&why, &device))
        .with_context(|| name.clone())?;
    let inputs = inputs::gather(args, &session)?;
    for input in &inputs {
        session.set_at(input.index, &input.tensor).map_err(failed)?;
    }
    let times = (0..args.repeat).map(|_| {
        let start = Instant::now();
        let ran = session.run_within(timeout).map(|()| start.elapsed());
        watch.note();
        ran
    });
    let times: Result<Vec<Duration>, _> = times.collect();
    // The timeline of a run that failed is what one wants to look at.
    let (engine, traced) = watch.finish(args.trace.as_deref());
    let surfaces: Vec<&Surface<'_>> = session.outputs().collect();
    let saved = || -> Result<_> {
        let times = times.map_err(failed).with_context(|| name.clone())?;
        let outputs = outputs(&session).map_err(failed)?;
        let files = folder.map(|folder| save(folder, &surfaces, &outputs)).transpose()?;
        Ok((times, outputs, files))
    };
    let (times, outputs, files) = saved().inspect_err(|_| engine::tell_untraced(&traced))?;
    let inputs = session.inputs().zip(inputs);
    let reports = surfaces.iter().zip(&outputs).enumerate().map(|(index, (surface, tensor))| {
        OutputReport::of(surface, tensor, files.as_ref().and_then(|files| files.get(index).cloned()))
    });
    let report = RunReport {
        model: name,
        device: device.location().to_string(),
        chip: chip(&device)?,
        numerics: engine.is_some().then(|| numerics(args.device.options.numerics)),
        tasks: model.task_count(),
        outputs: reports.collect(),
        inputs: inputs.map(|(surface, input)| InputReport::of(surface, input.source)).collect(),
        runs: args.repeat,
        fastest_nanoseconds: nanoseconds(times.iter().min()),
        average_nanoseconds: nanoseconds(times.iter().sum::<Duration>().checked_div(args.repeat).as_ref()),
        engine,
        driver: report::counted(&device),
    };
    if args.json {
        files::print_json(&report)?
    } else {
        files::print(report.page()?.as_bytes())?
    }
    traced
}

pub(crate) fn load(path: &std::path::Path) -> Result<Model> {
    loaded(path, &files::read(path)?)
}

/// The program in the bytes that were read at a path.
pub(crate) fn loaded(path: &std::path::Path, bytes: &[u8]) -> Result<Model> {
    let name = files::name(path);
    let program = files::program(path, bytes)?;
    Model::check(&program)
        .with_context(|| name.clone())
        .advise(Exit::Refused, "compile it for h13; `ane info` shows what it says of itself")?;
    for warning in &program.warnings {
        files::tell(format_args!("{name}: warning: {warning}"));
    }
    Ok(Model::of(&program))
}

pub(crate) fn outputs(session: &Session) -> Result<Vec<Tensor>, session::Error> {
    (0..session.outputs().len()).map(|index| session.get_at(index)).collect()
}

/// The chip as the driver has it, `t` and four digits.
pub(crate) fn chip(device: &Device) -> Result<String> {
    let number = device.parameter(Param::Chip);
    Ok(format!("t{:x}", number.map_err(|why| device::failure(&why, device.location()))?))
}

pub(crate) fn numerics(numerics: Numerics) -> &'static str {
    Numerics::NAMES.into_iter().find(|(_, known)| *known == numerics).map_or("unknown", |(name, _)| name)
}

fn nanoseconds(duration: Option<&Duration>) -> u64 {
    duration.map_or(0, |duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// One line of `outputs.json`.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    file: &'a str,
    bar: u8,
    shape: Vec<usize>,
}

/// Writes each output and their list; says what the files are called.
fn save(mut folder: Folder, surfaces: &[&Surface<'_>], outputs: &[Tensor]) -> Result<Vec<String>> {
    // Only names that the file has: an ANEC's are made up, and its outputs are numbered.
    let names = file_names(surfaces.iter().map(|surface| surface.name.as_ref()), "output");
    let names: Vec<String> = names.into_iter().map(|name| format!("{name}.npy")).collect();
    let listed: Vec<_> = surfaces
        .iter()
        .zip(&names)
        .map(|(surface, file)| Listed {
            name: &surface.name,
            file,
            bar: surface.bar,
            shape: surface.extents(),
        })
        .collect();
    for ((tensor, surface), name) in outputs.iter().zip(surfaces).zip(&names) {
        let mut bytes = Vec::new();
        match surface.element {
            Element::Byte => npy::write_bytes(&mut bytes, tensor)?,
            Element::Half | Element::Other(_) => npy::write_as(&mut bytes, &surface.extents(), tensor)?,
        }
        folder.add(name, bytes);
    }
    let mut list = serde_json::to_vec_pretty(&listed)?;
    list.push(b'\n');
    folder.add("outputs.json", list);
    let path = folder.publish()?;
    Ok(names.into_iter().map(|name| files::name(&path.join(name))).collect())
}
