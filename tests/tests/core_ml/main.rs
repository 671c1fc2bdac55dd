//! Core ML's programs, compiled and run on the embedded device.
//!
//! * [`by_hand`]: texts of compiled models.
//! * [`packages`]: those that `coremltools` wrote.
//! * [`refused`]: those that are refused.

mod by_hand;
mod packages;
mod refused;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ane::device::{Device, Location};
use ane::model::network::Array;
use ane::model::{Beside, Compiled, ModelError, Options, Problem, compile, execute};
use ane::tensor::nearest_half;

fn device() -> Device {
    Device::open(&Location::Embedded, &ane_device::Options::default()).expect("an embedded device")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models")
}

fn largest(array: &Array) -> f64 {
    array.values().iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// A function of one input as a compiled model has it.
fn function(input: &str, body: &str, output: &str) -> String {
    format!(
        "program(1.0)\n[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{{{\"coremlc-version\", \"1436.100.10\"}}}})]\n\
         {{\n    func main<ios16>({input}) {{\n{body}\n        }} -> ({output});\n}}"
    )
}

fn options(weights: &[u8]) -> Options {
    let files = BTreeMap::from([("weights/weight.bin".to_owned(), weights.to_vec())]);
    Options { beside: Beside::Held(files), ..Options::default() }
}

fn text(program: &str, options: &Options) -> Compiled {
    compile(program.as_bytes(), options).unwrap_or_else(|error| panic!("{error}"))
}

fn ran(compiled: &Compiled, x: &Array) -> Array {
    let seen =
        execute(&device(), compiled, std::slice::from_ref(x)).unwrap_or_else(|error| panic!("{error}"));
    seen[0].clone()
}

fn problems(program: &str, options: &Options) -> Vec<Problem> {
    match compile(program.as_bytes(), options) {
        Err(ModelError::Problems(problems)) => problems,
        other => panic!("not refused so: {other:?}"),
    }
}

/// A program that looks up in a constant table, and what follows.
fn looked_up(kind: &str, table: &str, behind: &str) -> String {
    let body = format!(
        r#"
            tensor<{kind}, [4]> t = const()[name = string("t"), val = tensor<{kind}, [4]>({table})];
            tensor<{kind}, [3]> rows = gather(axis = int32(0), indices = ids, x = t)[name = string("rows")];
            {behind}"#
    );
    function("tensor<int32, [3]> ids", &body, "y")
}

/// A file of constants with one of halves, whose header is at 64.
fn blob(halves: &[f64]) -> Vec<u8> {
    let mut file = vec![0; 64];
    for word in [0xdead_beef, 1, 2 * halves.len() as u32, 0, 128, 0] {
        file.extend(word.to_le_bytes());
    }
    file.resize(128, 0);
    file.extend(halves.iter().flat_map(|&value| nearest_half(value).to_le_bytes()));
    file
}
