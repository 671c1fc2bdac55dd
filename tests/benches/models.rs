//! Whole models: `cargo bench -p ane-tests --bench models`.
//!
//! Prints how long MobileNetV2 with random weights takes to compile and to run on the embedded device. With a
//! `PYTHON` that has the package `onnxruntime`, the same file is run there in singles on two threads,
//! and the ratio printed.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use ane::device::{Device, Location};
use ane::model::network::Array;
use ane::model::{Model, Options, compile};
use ane::session::Session;
use ane::tensor::Tensor;
use ane_tests::model::{bert, mobilenet_whole};

/// Runs that are measured; the shortest counts.
const RUNS: usize = 5;

const OTHER: &str = "
import sys, time, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])
port = session.get_inputs()[0]
feed = {port.name: numpy.random.default_rng(1).uniform(-1, 1, port.shape).astype(numpy.float32)}
def once():
    start = time.perf_counter()
    session.run(None, feed)
    return time.perf_counter() - start
once()
print(min(once() for _ in range(20)))
";

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, model) in [("mobilenet", mobilenet_whole()), ("encoder", bert(128, 128, 2, 2))] {
        let path = folder.path().join(name).with_extension("onnx");
        std::fs::write(&path, &model).expect("a file");
        let start = Instant::now();
        let compiled = compile(&model, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let taken = start.elapsed();
        println!("{name}: compiled in {taken:.2?}, {} tasks", compiled.built.task_count());
        let ours = run(&compiled.model(), &compiled.inputs[0].dims);
        println!("{name}: runs in {ours:.2?}");
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let theirs = Command::new(python).args(["-c", OTHER]).arg(&path).output().expect("a Python");
        let said = String::from_utf8_lossy(&theirs.stderr).into_owned();
        match String::from_utf8_lossy(&theirs.stdout).trim().parse::<f64>().ok() {
            Some(seconds) => {
                let ratio = ours.as_secs_f64() / seconds;
                println!(
                    "{name}: onnxruntime runs in {:.2?}: ratio {ratio:.2}",
                    Duration::from_secs_f64(seconds)
                );
            }
            None => println!(
                "{name}: nothing to compare with (PYTHON has to name one with onnxruntime): {}",
                said.lines().last().unwrap_or_default()
            ),
        }
    }
}

/// The shortest run of a program.
fn run(model: &Model, dims: &[usize]) -> Duration {
    let device =
        Device::open(&Location::Embedded, &ane_device::Options::default()).expect("an embedded device");
    let mut session = Session::load(&device, model).expect("the program fits");
    let (name, shape) = {
        let surface = session.inputs().next().expect("an input");
        (surface.name.to_string(), surface.shape)
    };
    let values =
        Array::from_fn(dims.to_vec(), |at| ((at * 37 + 11) % 64) as f64 / 32.0 - 1.0).expect("its extents");
    let values = values.values().iter().map(|&value| half::f16::from_f64(value)).collect();
    session.set(&name, &Tensor::new(shape, values).expect("as many elements")).expect("it fits");
    let once = |_| {
        let start = Instant::now();
        black_box(session.run()).expect("it runs");
        start.elapsed()
    };
    (0..RUNS).map(once).min().unwrap_or_default()
}
