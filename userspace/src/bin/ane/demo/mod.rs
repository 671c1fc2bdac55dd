//! `ane demo`.

mod network;
mod reference;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ane::count::count;
use ane::model::Model;
use ane::session::{self, Session};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use crate::device::DeviceArgs;
use crate::failure::{Exit, Failure};
use crate::files::{self, Existing};
use crate::run::engine::{Watch, tell_untraced};
use crate::run::report::EngineReport;
use crate::{device, run};

/// Build a small network, run it on the engine, and check what comes out
///
/// The network is a convolution, an activation, a matrix product and a softmax, built here without a compiler. The
/// engine's results are compared with the same network in double precision on this processor, computed by code that
/// knows nothing of the engine. Whole numbers have to agree exactly, the rest within a tolerance that is printed.
///
/// It needs no privileges, no daemon and no Apple hardware.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane demo
  ane demo --numerics exact --save demo.anec
  ane demo --json | jq .checks")]
pub(crate) struct Demo {
    /// Keep the program that was built; a file that exists is not overwritten
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Overwrite a file that exists with the program
    #[arg(long, requires = "save")]
    pub(crate) force: bool,
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

/// How far a probability may be from the exact one. Each goes through two tables of 33 knots and a dozen roundings to
/// halves; probabilities of sixteen channels are around a sixteenth.
const TOLERANCE: f64 = 0.001;

#[derive(Debug, Serialize)]
struct Demonstration {
    device: String,
    chip: String,
    numerics: Option<&'static str>,
    tasks: u32,
    nanoseconds: u64,
    checks: Vec<Check>,
    engine: Option<EngineReport>,
}

#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    elements: usize,
    /// The largest difference that there is.
    difference: f64,
    /// The largest that there may be.
    allowed: f64,
}

impl Check {
    fn of(what: &'static str, seen: &[half::f16], expected: &[f64], allowed: f64) -> Self {
        let apart = |(seen, expected): (&half::f16, &f64)| (seen.to_f64() - expected).abs();
        let differences = seen.iter().zip(expected).map(apart);
        // A value that is not a number, or missing, counts as infinitely far away.
        let worst = |worst: f64, one: f64| if one.is_nan() { f64::INFINITY } else { worst.max(one) };
        let difference =
            if seen.len() == expected.len() { differences.fold(0.0, worst) } else { f64::INFINITY };
        Self { what, elements: expected.len(), difference, allowed }
    }

    fn holds(&self) -> bool {
        self.difference <= self.allowed
    }
}

pub(crate) fn run(args: &Demo) -> Result<()> {
    let built = network::build().context("building the network")?;
    if let Some(path) = &args.save {
        files::save(path, &built.to_anec()?, Existing::forced(args.force))?;
    }
    let model = Model::from(&built);
    let (image, projection) = (network::image(), network::projection());
    let device = device::open(&args.device)?;
    let watch = Watch::start(&device, args.trace.as_deref())?;
    let start = Instant::now();
    let outcome = compute(&device, &model, &image, &projection);
    let elapsed = start.elapsed();
    let (engine, traced) = watch.finish(args.trace.as_deref());
    let outcome = outcome.map_err(|why| device::session_failure(&why, &device));
    let (features, probabilities) = outcome.inspect_err(|_| tell_untraced(&traced))?;
    let expected = reference::compute(&image, &network::weights(), &projection);
    let checks = vec![
        Check::of("convolution and ReLU, whole numbers", features.values(), &expected.features, 0.0),
        Check::of(
            "sigmoid, matrix product and softmax",
            probabilities.values(),
            &expected.probabilities,
            TOLERANCE,
        ),
    ];
    let report = Demonstration {
        device: device.location().to_string(),
        chip: run::chip(&device)?,
        numerics: engine.is_some().then(|| run::numerics(args.device.options.numerics)),
        tasks: model.task_count(),
        nanoseconds: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        checks,
        engine,
    };
    if args.json {
        files::print_json(&report)?
    } else {
        files::print(report.page()?.as_bytes())?
    }
    match report.checks.iter().find(|check| !check.holds()) {
        None => traced,
        Some(check) => {
            tell_untraced(&traced);
            let what = format!("{}: off by {}, allowed is {}", check.what, check.difference, check.allowed);
            Err(Failure::new(
                Exit::Differs,
                what,
                "run it with --check, and tell us with the output of `ane doctor`",
            )
            .into())
        }
    }
}

fn compute(
    device: &ane::device::Device,
    model: &Model,
    image: &ane::tensor::Tensor,
    projection: &ane::tensor::Tensor,
) -> Result<(ane::tensor::Tensor, ane::tensor::Tensor), session::Error> {
    let mut session = Session::load(device, model)?;
    session.set("image", image)?;
    session.set("projection", projection)?;
    session.run()?;
    Ok((session.get("features")?, session.get("probabilities")?))
}

impl Demonstration {
    fn page(&self) -> Result<String, std::fmt::Error> {
        let mut page = String::new();
        let Self { device, chip, tasks, .. } = self;
        writeln!(
            page,
            "A network of {}, built here, on a virtual {chip} ({device}), in {:.1?}:",
            count(*tasks, "task"),
            Duration::from_nanos(self.nanoseconds)
        )?;
        writeln!(page, "  image 4x6x18 -> convolution 3x3, ReLU -> sigmoid -> matrix product -> softmax\n")?;
        writeln!(page, "Compared with the same network in double precision on this processor:")?;
        for check in &self.checks {
            let verdict = if check.holds() { "ok" } else { "WRONG" };
            let Check { what, elements, difference, allowed, .. } = check;
            let bound = if *allowed == 0.0 { "exact".to_owned() } else { format!("at most {allowed} off") };
            writeln!(page, "  {verdict:<5}  {what}: {elements} elements, {bound}, {difference:.6} seen")?;
        }
        if let Some(engine) = &self.engine {
            writeln!(page, "\nWhat the engine did:")?;
            engine.write(&mut page)?;
        }
        page.push_str(
            "
Try next:
  ane demo --save demo.anec          keep the program
  ane decode demo.anec | less        every word of it, named
  ane run demo.anec -o out           run it on random inputs, outputs as .npy
  ane run demo.anec --trace t.json   what happened when, for https://ui.perfetto.dev
  ane exec -- CMD                    run a client of /dev/accel/accel0 unmodified
  ane doctor                         what else works on this machine
",
        );
        Ok(page)
    }
}
