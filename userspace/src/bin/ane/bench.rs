//! `ane bench`.

mod times;

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ane::build::{Element, Graph, Shape};
use ane::container::Axes;
use ane::device::{self, Device};
use ane::model::Model;
use ane::session::{self, Session};
use ane::tensor::Tensor;
use ane::tensor::tile::{Layout, tile, untile};
use ane_uapi::ioctl::param::Param;
use anyhow::Result;
use clap::Args;
use half::f16;
use serde::Serialize;

use self::times::Times;
use crate::device as chosen;
use crate::device::DeviceArgs;
use crate::{files, run};

/// Measure the cost of using the engine on this machine
///
/// With MODEL: measures how long a run takes, from submission to completion, and how many runs a second can hold. Without
/// MODEL: measures opening a device, one call, a run of the smallest program, and tiling against a plain copy of the same
/// bytes. The figures are those of this machine; `cargo xtask performance` compares figures with goals.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane bench
  ane bench network.hwx --numerics exact --seconds 5
  ane bench --device aned --json")]
pub(crate) struct Bench {
    /// The program: .hwx or .anec, told apart by content
    pub(crate) model: Option<PathBuf>,
    /// How long to measure each figure
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Give up a run that takes longer than this: exit code 4
    #[arg(long, value_name = "SECONDS", value_parser = crate::run::seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("wanted is a number of seconds from 0.001 to 3600".to_owned()),
    }
}

/// One figure: nanoseconds of each time that something was done.
#[derive(Debug, Serialize)]
struct Figure {
    what: String,
    times: u64,
    fastest_nanoseconds: u64,
    median_nanoseconds: u64,
    slowest_nanoseconds: u64,
    /// How many a second holds, one after the other.
    per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<f64>,
}

pub(crate) fn run(args: &Bench) -> Result<()> {
    let limit = Duration::from_secs_f64(args.seconds);
    let mut figures = Vec::new();
    match &args.model {
        Some(model) => {
            let loaded = run::load(model)?;
            let device = chosen::open(&args.device)?;
            let timeout = chosen::prepare_timeout(&device, args.timeout)?;
            figures.push(runs(&files::name(model), &device, &loaded, limit, timeout)?);
        }
        None => {
            figures.push(measure("opening a device", limit, || chosen::open(&args.device).map(drop))?);
            let device = chosen::open(&args.device)?;
            let call = || {
                let asked = device.parameter(Param::State);
                asked.map(drop).map_err(|why: device::Error| chosen::failure(&why, device.location()))
            };
            figures.push(measure("a call", limit, call)?);
            let timeout = chosen::prepare_timeout(&device, args.timeout)?;
            figures.push(runs("the smallest program", &device, &smallest()?, limit, timeout)?);
            figures.extend(tiling(limit)?);
        }
    }
    if args.json {
        return files::print_json(&figures);
    }
    let mut page = String::new();
    writeln!(
        page,
        "{:<28} {:>8}  {:>10}  {:>10}  {:>10}  {:>10}",
        "", "times", "fastest", "median", "slowest", "per second"
    )?;
    for figure in &figures {
        let shown = |nanoseconds| format!("{:.1?}", Duration::from_nanos(nanoseconds));
        write!(
            page,
            "{:<28} {:>8}  {:>10}  {:>10}  {:>10}  {:>10.1}",
            figure.what,
            figure.times,
            shown(figure.fastest_nanoseconds),
            shown(figure.median_nanoseconds),
            shown(figure.slowest_nanoseconds),
            figure.per_second
        )?;
        match figure.bytes_per_second {
            Some(speed) => writeln!(page, "  {:.2} GB/s", speed / 1e9)?,
            None => writeln!(page)?,
        }
    }
    files::print(page.as_bytes())
}

/// Does something for as long as `limit`, and once at least.
fn measure(what: &str, limit: Duration, mut action: impl FnMut() -> Result<()>) -> Result<Figure> {
    let mut times = Times::new();
    let start = Instant::now();
    loop {
        let one = Instant::now();
        action()?;
        times.add(u64::try_from(one.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if start.elapsed() >= limit {
            break;
        }
    }
    Ok(Figure {
        what: what.to_owned(),
        times: times.count(),
        fastest_nanoseconds: times.fastest(),
        median_nanoseconds: times.median(),
        slowest_nanoseconds: times.slowest(),
        per_second: times.per_second(),
        bytes_per_second: None,
    })
}

fn runs(
    what: &str,
    device: &Device,
    model: &Model,
    limit: Duration,
    timeout: Option<Duration>,
) -> Result<Figure> {
    let failed = |why: session::Error| chosen::session_failure(&why, device);
    let mut session = Session::load(device, model).map_err(failed)?;
    run::inputs::set_random(&mut session, device)?;
    let mut one = || session.run_within(timeout).map_err(failed);
    one()?;
    measure(what, limit, one)
}

fn smallest() -> Result<Model> {
    let mut graph = Graph::new();
    let (a, b) = (graph.input("a", Shape::new(1, 1, 1))?, graph.input("b", Shape::new(1, 1, 1))?);
    let sum = graph.binary(a, b, Element::ADD)?;
    graph.output("sum", sum)?;
    Ok(Model::from(&graph.build()?))
}

fn tiling(limit: Duration) -> Result<Vec<Figure>> {
    // Rows of an image of 224 columns: they do not fill their last 64 bytes.
    let shape = Axes { n: 1, c: 64, h: 56, w: 56 };
    let layout = Layout::new(shape, Axes { n: 64 * 56 * 128, c: 56 * 128, h: 128, w: 2 })?;
    let dense = Tensor::random(shape, 0).into_values();
    let mut memory = vec![0; layout.bytes()];
    let mut back = vec![f16::ZERO; dense.len()];
    let bytes = (dense.len() * 2) as f64;
    let mut figures = vec![
        measure("tiling 64x56x56", limit, || Ok(tile(&layout, black_box(&dense), black_box(&mut memory))?))?,
        measure("untiling 64x56x56", limit, || {
            Ok(untile(&layout, black_box(&memory), black_box(&mut back))?)
        })?,
        measure("copying as many elements", limit, || {
            black_box(&mut back).copy_from_slice(black_box(&dense));
            Ok(())
        })?,
    ];
    for figure in &mut figures {
        figure.bytes_per_second = Some(bytes / (figure.median_nanoseconds.max(1) as f64 / 1e9));
    }
    Ok(figures)
}
