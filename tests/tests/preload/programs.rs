//! Every compiled program by every kind of client.

use std::path::{Path, PathBuf};
use std::process::Command;

use ane::container::{self, Direction, Program};
use ane_device::Options;
use ane_tests::command;
use ane_tests::data::{self, Sample};
use ane_tests::preload::{Preload, anec, compiled, folder, include, numpy, python};
use ane_tests::runner::{EmbeddedRunner, Outcome, surfaces};
use half::f16;

/// Memory for the largest of them.
const MEMORY: usize = 16 << 20;

/// A compiled program as clients take it, with inputs, and the bytes of each output.
struct ModelFiles {
    name: String,
    model: PathBuf,
    inputs: Vec<PathBuf>,
    outputs: Vec<Vec<u8>>,
}

fn bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Values that are all different to a point, of both signs, and small.
fn values(count: usize, seed: usize) -> Vec<f16> {
    (0..count).map(|at| f16::from_f32(((at * 7 + seed * 13) % 61) as f32 / 8.0 - 3.5)).collect()
}

/// A surface's elements.
fn elements(surface: &container::Surface<'_>) -> usize {
    let shape = surface.shape;
    [shape.n, shape.c, shape.h, shape.w].into_iter().map(|count| count as usize).product()
}

/// The engine's results, without driver and daemon.
fn expected(program: &Program<'_>, inputs: &[Vec<f16>]) -> Vec<Vec<u8>> {
    let mut runner = EmbeddedRunner::open(&Options::default(), MEMORY);
    runner.load(program);
    for (surface, values) in surfaces(program, Direction::Input).into_iter().zip(inputs) {
        runner.fill(surface, values);
    }
    assert_eq!(runner.run(), Outcome::Done);
    surfaces(program, Direction::Output).into_iter().map(|output| bytes(&runner.take(output))).collect()
}

fn case(sample: &Sample, scratch: &Path) -> ModelFiles {
    let model = anec(sample, scratch);
    let file = std::fs::read(&model).unwrap();
    let program = container::open(&file).unwrap();
    let mut inputs = Vec::new();
    let mut paths = Vec::new();
    for (index, surface) in surfaces(&program, Direction::Input).into_iter().enumerate() {
        let values = values(elements(surface), index);
        let path = scratch.join(format!("{}.in{index}", sample.name));
        std::fs::write(&path, bytes(&values)).unwrap();
        inputs.push(values);
        paths.push(path);
    }
    ModelFiles { name: sample.name.clone(), model, inputs: paths, outputs: expected(&program, &inputs) }
}

/// Runs every program by the client that `command` makes a call of, given the preload's folder.
fn run_all(command: impl Fn(&Path) -> Option<Command>) {
    let Some(samples) = data::programs() else { return };
    let preload = Preload::start(&Options::default());
    let Some(client) = command(preload.scratch()).map(|client| client.get_program().to_owned()) else {
        return;
    };
    for sample in &samples {
        let case = case(sample, preload.scratch());
        let outputs = preload.scratch().join(format!("{}.out", case.name));
        let mut run = command(preload.scratch()).expect("as before");
        preload.done(run.arg(&case.model).arg(&outputs).args(&case.inputs));
        for (index, expected) in case.outputs.iter().enumerate() {
            let output = std::fs::read(outputs.with_extension(format!("out.{index}"))).unwrap();
            assert_eq!(&output, expected, "output {index} of {} by {client:?}", case.name);
        }
    }
}

#[test]
fn client_in_c_by_raw_ioctls_gets_the_engines_bits() {
    run_all(|scratch| compiled("raw.c", scratch, &[]).map(Command::new));
}

#[test]
fn client_in_c_that_is_linked_with_libane_gets_the_engines_bits() {
    run_all(|scratch| linked("linked.c", scratch));
}

#[test]
fn client_of_any_libane_gets_the_engines_bits() {
    run_all(|scratch| linked("tiles.c", scratch));
}

#[test]
fn client_in_cpp_that_is_linked_with_libane_gets_the_engines_bits() {
    run_all(|scratch| linked("linked.cpp", scratch));
}

#[test]
fn client_that_is_fortified_and_linked_with_the_archive_gets_the_engines_bits() {
    run_all(|scratch| {
        let archive = command::library("libane.a");
        let include = format!("-I{}", include().display());
        let arguments = ["-D_FORTIFY_SOURCE=2", &include, &archive.display().to_string(), "-ldl", "-lm"];
        compiled("linked.c", scratch, &arguments).map(Command::new)
    });
}

#[test]
fn client_in_python_by_ioctl_and_mmap_gets_the_engines_bits() {
    run_all(|_| {
        let mut command = Command::new(python()?);
        command.arg(folder().join("raw.py"));
        Some(command)
    });
}

#[test]
fn python_binding_with_numpy_gets_the_engines_bits() {
    run_all(|_| {
        let mut command = Command::new(numpy()?);
        command.arg(folder().join("binding.py")).arg(command::library("libane_python.so"));
        Some(command)
    });
}

/// A client in C or C++ that is linked with the C library; `None`, and said so, where there is no compiler.
pub(crate) fn linked(source: &str, scratch: &Path) -> Option<Command> {
    let library = command::library("libane.so");
    let folder = library.parent().expect("it lies in a folder").display().to_string();
    let (include, folder, run) =
        (format!("-I{}", include().display()), format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
    compiled(source, scratch, &[&include, &folder, &run, "-lane"]).map(Command::new)
}
