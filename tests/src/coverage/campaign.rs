//! A campaign over compiled programs and programs of the builder, and what each gave.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ane::campaign::case::{Case, Expect, Limits, Tolerance};
use ane::campaign::record::Record;
use ane::campaign::runner::Runner;
use ane::tensor::{Tensor, nearest_half, npy};
use half::f16;

use super::built;
use crate::data;
use crate::oracles::{self, Oracle, OracleSurface, constants, meaning};
use crate::random::Random;

/// One case that ran.
#[derive(Debug)]
pub struct CampaignEntry {
    /// The program's operation, in words.
    pub operation: String,
    /// True of what Apple's compiler made.
    pub is_compiled: bool,
    /// The line of the campaign.
    pub record: Record,
}

/// Runs all of it; `None` where the compiled programs are not to be had.
pub(super) fn run() -> Option<Vec<CampaignEntry>> {
    let (samples, oracles) = (data::programs()?, oracles::all()?);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let mut runner = Runner::default();
    let mut entries = Vec::new();
    let mut add = |operation: String, is_compiled, case: Case| {
        let record = Record::of(&case, runner.run(&case));
        entries.push(CampaignEntry { operation, is_compiled, record });
    };
    for oracle in &oracles {
        add(operation(oracle), true, transcribed(folder, oracle));
    }
    for sample in &samples {
        let exact = Expect::Numerics("exact".to_owned());
        add(
            of_sample(&sample.name).to_owned(),
            true,
            case(&sample.name, sample.path.clone(), exact, Tolerance::TABLES),
        );
    }
    for (name, operation, meaning) in [("sigmoid", "sigmoid", "sigmoid"), ("ceil", "ceiling", "ceil")] {
        let bytes = oracles::chained(name)?;
        let path = write(folder, &format!("chained-{name}.anec"), &bytes);
        add(
            operation.to_owned(),
            true,
            case(name, path, Expect::Meaning(meaning.to_owned()), Tolerance::TABLES),
        );
    }
    for (index, (operation, text, meaning)) in built::PROGRAMS.iter().enumerate() {
        let text = format!("{text}\noutput y\n");
        let path = write(folder, &format!("built-{index}.txt"), text.as_bytes());
        let expect = meaning
            .map_or_else(|| Expect::Numerics("exact".to_owned()), |text| Expect::Meaning(text.to_owned()));
        let loose = built::LOOSE.iter().find(|(name, _)| name == operation);
        let tolerance =
            loose.map_or(Tolerance::TABLES, |&(_, absolute)| Tolerance { absolute, ..Tolerance::TABLES });
        add((*operation).to_owned(), false, case(operation, path, expect, tolerance));
    }
    Some(entries)
}

fn case(family: &str, program: PathBuf, expect: Expect, tolerance: Tolerance) -> Case {
    Case {
        program: program.display().to_string(),
        family: family.to_owned(),
        numerics: "m1".to_owned(),
        seed: 1,
        inputs: BTreeMap::new().into(),
        expect: expect.into(),
        tolerance,
        limits: Limits::default(),
        base: PathBuf::new(),
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file can be written");
    path
}

/// A transcribed program with its inputs and what it means, as files.
fn transcribed(folder: &Path, oracle: &Oracle) -> Case {
    let random = &mut Random::new(1);
    let made = constants::make(oracle, random);
    let inputs = oracles::inputs(oracle, random);
    let wanted = meaning::of(oracle, &inputs, &made);
    let stream = oracle.stream();
    let program = oracle.program(&stream, &made);
    let path = write(folder, &format!("{}.anec", oracle.name), &oracle.anec(&program));
    let array = |name: String, operand: &OracleSurface, values: &[f16]| {
        let tensor = Tensor::new(operand.axes(), values.to_vec()).expect("as many values");
        let path = folder.join(name);
        npy::write(File::create(&path).expect("a file"), &tensor).expect("a file can be written");
        path
    };
    let files = oracle.inputs().zip(&inputs).enumerate().map(|(index, (operand, values))| {
        (index.to_string(), array(format!("{}-{index}.npy", oracle.name), operand, values))
    });
    let files = Arc::new(files.collect());
    let values: Vec<f16> = wanted.values.iter().map(|&value| nearest_half(value)).collect();
    let output = array(format!("{}-result.npy", oracle.name), oracle.output(), &values);
    // The expected value is rounded once to be stored, so it is half a place off where it is not exact.
    let rounding = if wanted.part == 0.0 { 0.0 } else { 0.000_5 };
    let tolerance = Tolerance { absolute: wanted.near, relative: wanted.part + rounding };
    let expect = Expect::Arrays(BTreeMap::from([(String::new(), output)]));
    Case { inputs: files, ..case(&oracle.name, path, expect, tolerance) }
}

/// The operation of a transcribed program, in words.
fn operation(oracle: &Oracle) -> String {
    let op = oracle.mil("op");
    let named = match op {
        "conv" => return convolution(oracle),
        "mul" => "multiply",
        "mul_const" | "mul_scalar" => "multiply by a constant",
        "sub_scalar" => "subtract a constant",
        "maximum_scalar" => "maximum with a constant",
        "real_div_scalar" => "divide by a constant",
        "logical_not" => "logical not, of bytes",
        "add_relu_self" => "add and ReLU",
        "matmul_const" => "matrix product with a constant",
        "ffn" => "two matrix products with a function between",
        "reduce_max" => "largest",
        "reduce_sum" => "sum",
        "silu" => "SiLU",
        "gelu" => "GELU",
        "exp" => "exponential",
        "abs" => "magnitude",
        "tile_const" | "tile_relu" => "tile",
        other => other,
    };
    named.to_owned()
}

fn convolution(oracle: &Oracle) -> String {
    let groups: u32 = oracle.mil("groups").parse().expect("a number");
    let channels = oracle.output().shape[1] as u32;
    let mut said = "convolution".to_owned();
    if groups == channels {
        said += " of each channel";
    } else if groups > 1 {
        said += " in groups";
    }
    if oracle.mil("stride") != "1" {
        said += ", stride 2";
    }
    if oracle.mil("pad") == "same" && oracle.mil("k") != "1,1" {
        said += ", padded";
    }
    if oracle.mil("bias") == "1" {
        said += ", with a bias";
    }
    said
}

/// The operation of a compiled program, by its file's name.
fn of_sample(name: &str) -> &str {
    match name {
        "conv" => "convolution",
        "concat" => "concatenation",
        "gemm" => "matrix product with a constant",
        "relu" => "ReLU",
        "sum" => "add",
        other => other,
    }
}
