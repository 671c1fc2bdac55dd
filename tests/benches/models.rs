//! Whole models: goals M2 and M3. `cargo bench -p ane-tests --bench models`.
//!
//! MobileNetV2 and an encoder with random weights are compiled, and run on the embedded device on two threads. With a `PYTHON`
//! that has the package `onnxruntime`, the same file is run there in singles on two threads. Both sides run in turn; the
//! figure is the median of the rounds' ratios. The goals are those of MobileNetV2; the encoder is shown for comparison.

#[path = "../../device/benches/report/mod.rs"]
mod report;

use std::io::{BufRead, BufReader, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ane::device::{Device, Location};
use ane::model::network::Array;
use ane::model::{Model, Options, compile};
use ane::session::Session;
use ane::tensor::{Tensor, nearest_half};
use ane_tests::model::{bert, mobilenet_whole};

/// Compilations; the median counts.
const COMPILATIONS: usize = 5;

/// Rounds in which both sides run in turn; the median of their ratios counts.
const ROUNDS: usize = 9;

/// Runs of a round on either side; the shortest counts.
const RUNS: usize = 4;

/// Threads of either side.
const THREADS: NonZero<usize> = NonZero::new(2).unwrap();

/// Runs a model some times for each line that it reads, and writes how long the shortest run took.
const OTHER: &str = "
import sys, time, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])
port = session.get_inputs()[0]
feed = {port.name: numpy.random.default_rng(1).uniform(-1, 1, port.shape).astype(numpy.float32)}
def once():
    start = time.perf_counter()
    session.run(None, feed)
    return time.perf_counter() - start
once()
for line in sys.stdin:
    print(min(once() for _ in range(int(line))), flush=True)
";

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, [compile_goal, run_goal], model) in [
        ("MobileNetV2", ["M2", "M3"], mobilenet_whole()),
        ("encoder of two layers", ["(M2)", "(M3)"], bert(128, 128, 2, 2)),
    ] {
        let path = folder.path().join(name).with_extension("onnx");
        std::fs::write(&path, &model).expect("a file");
        let compiled =
            || compile(&model, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let once = |_| {
            let start = Instant::now();
            compiled();
            start.elapsed().as_secs_f64()
        };
        let taken = report::median((0..COMPILATIONS).map(once).collect());
        let compiled = compiled();
        let what = format!("{name}: compilation, {} tasks", compiled.built.task_count());
        report::line(compile_goal, &what, &format!("{taken:.3} s"), taken);
        let mut ours = EmbeddedProgram::load(&compiled.model(), &compiled.inputs[0].dims);
        let first = ours.fastest();
        let mut theirs = match Theirs::start(&path) {
            Ok(theirs) => theirs,
            Err(why) => {
                println!("{name}: runs in {first:.2?}; nothing to compare with: {why}");
                continue;
            }
        };
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let (ours, theirs) = (ours.fastest(), theirs.fastest());
            rounds.push((ours.as_secs_f64() / theirs.as_secs_f64(), ours, theirs));
        }
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, ours, theirs) = rounds[ROUNDS / 2];
        let what = format!("{name}: a run / onnxruntime in fp32, two threads");
        report::line(run_goal, &what, &format!("{ours:.2?} / {theirs:.2?}"), ratio);
    }
}

/// A program on the embedded device.
struct EmbeddedProgram(Session);

impl EmbeddedProgram {
    fn load(model: &Model, dims: &[usize]) -> Self {
        let options = ane_device::Options { threads: THREADS, ..ane_device::Options::default() };
        let device = Device::open(&Location::Embedded, &options).expect("an embedded device");
        let mut session = Session::load(&device, model).expect("the program fits");
        let (name, shape) = {
            let surface = session.inputs().next().expect("an input");
            (surface.name.to_string(), surface.shape)
        };
        let values = Array::from_fn(dims.to_vec(), |at| ((at * 37 + 11) % 64) as f64 / 32.0 - 1.0)
            .expect("its extents");
        let values = values.values().iter().map(|&value| nearest_half(value)).collect();
        session.set(&name, &Tensor::new(shape, values).expect("as many elements")).expect("it fits");
        Self(session)
    }

    fn fastest(&mut self) -> Duration {
        let once = |_| {
            let start = Instant::now();
            self.0.run().expect("it runs");
            start.elapsed()
        };
        (0..RUNS).map(once).min().unwrap_or_default()
    }
}

/// The same model in a Python with onnxruntime.
struct Theirs {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Theirs {
    fn start(model: &Path) -> std::io::Result<Self> {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut command = Command::new(python);
        command.args(["-c", OTHER]).arg(model).arg(THREADS.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut theirs = Self { child, lines };
        theirs.ask()?;
        Ok(theirs)
    }

    fn fastest(&mut self) -> Duration {
        self.ask().expect("a Python that ran the model runs it again")
    }

    fn ask(&mut self) -> std::io::Result<Duration> {
        let lacks = |_| std::io::Error::other("PYTHON has to name one with onnxruntime");
        writeln!(self.child.stdin.as_mut().expect("it is piped"), "{RUNS}").map_err(lacks)?;
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        line.trim().parse().map(Duration::from_secs_f64).map_err(|_| lacks(std::io::Error::other("")))
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
