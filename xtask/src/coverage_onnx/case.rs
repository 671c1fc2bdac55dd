//! One test: compiled, run, compared with what is expected.

use std::fs;
use std::path::Path;

use ane::device::{Device, Location};
use ane::model::network::Array;
use ane::model::network::operation::Operation;
use ane::model::{Compiled, ModelError, Options, Why, compile, execute, onnx};
use anyhow::{Context, Result};

use super::compared::{self, Wanted};

/// Largest difference of a result without tables, as part of the largest element: roundings to halves.
const EXACT: f64 = 4e-3;

/// The same with activation tables of 33 knots, each within 0.0152.
const TABLES: f64 = 3e-2;

/// A test and how it went.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    /// It ran and agrees.
    Agrees {
        /// Tasks of the program.
        tasks: usize,
        /// The largest difference, as part of the largest element or of 1.
        difference: f64,
    },
    /// It ran and does not agree.
    Differs {
        difference: f64,
        /// The largest that there may be.
        allowed: f64,
        /// Where the difference comes from.
        why: String,
    },
    /// Nothing was left to run: the compiler computed all of it, as it is expected.
    Known,
    /// The same, but it is not what is expected.
    KnownDiffers { difference: f64 },
    /// It was not mapped, or did not run.
    Refused(String),
}

pub(super) fn run(folder: &Path) -> Result<Case> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let outcome = outcome(folder).with_context(|| name.clone())?;
    Ok(Case { name, outcome })
}

fn outcome(folder: &Path) -> Result<Outcome> {
    let model = fs::read(folder.join("model.onnx"))?;
    let inputs = match tensors(folder, "input") {
        Ok(inputs) => inputs,
        Err(why) => return Ok(Outcome::Refused(why)),
    };
    let mut options = Options::default();
    // Whole numbers say shapes and axes, or cannot be computed at all.
    for (name, array, is_whole) in &inputs {
        if *is_whole {
            options.constants.insert(name.clone(), array.clone());
        }
    }
    let compiled = loop {
        match compile(&model, &options) {
            Ok(compiled) => break compiled,
            Err(ModelError::Problems(problems)) => {
                let wanted = problems.iter().find_map(|problem| match &problem.why {
                    Why::NotKnown { name, .. } => inputs.iter().find(|(input, ..)| input == name),
                    _ => None,
                });
                match wanted {
                    Some((name, array, _)) if !options.constants.contains_key(name) => {
                        options.constants.insert(name.clone(), array.clone());
                    }
                    _ => return Ok(Outcome::Refused(problems.first().map_or(String::new(), reason))),
                }
            }
            Err(error) => return Ok(Outcome::Refused(error.to_string())),
        }
    };
    let wanted: Vec<Wanted> = match tensors(folder, "output") {
        Ok(outputs) => outputs.into_iter().map(|(_, array, is_whole)| Wanted { array, is_whole }).collect(),
        Err(why) => return Ok(Outcome::Refused(why)),
    };
    if wanted.len() != compiled.outputs.len() {
        return Ok(Outcome::Refused("output: an expected result is no tensor".to_owned()));
    }
    if compiled.inputs.is_empty() {
        return Ok(known(&compiled, &wanted));
    }
    let arrays: Vec<Array> = compiled
        .inputs
        .iter()
        .filter_map(|port| {
            inputs.iter().find(|(name, ..)| *name == port.name).map(|(_, array, _)| array.clone())
        })
        .collect();
    let device = Device::open(&Location::Embedded, &ane_device::Options::default())?;
    match execute(&device, &compiled, &arrays) {
        Ok(results) => Ok(compared(&compiled, &arrays, &results, &wanted)),
        Err(error) => Ok(Outcome::Refused(format!("not run: {error}"))),
    }
}

fn reason(problem: &ane::model::Problem) -> String {
    format!("{}: {}", problem.operation, problem.why)
}

/// What the compiler computed.
fn known(compiled: &Compiled, wanted: &[Wanted]) -> Outcome {
    let network = &compiled.network;
    let results: Option<Vec<Array>> =
        network.outputs.iter().map(|&(_, value)| network.known(value).cloned()).collect();
    let difference = results.map_or(f64::INFINITY, |results| compared::difference(&results, wanted));
    if difference <= EXACT { Outcome::Known } else { Outcome::KnownDiffers { difference } }
}

fn compared(compiled: &Compiled, inputs: &[Array], results: &[Array], wanted: &[Wanted]) -> Outcome {
    let has_table = compiled.network.nodes.iter().any(|node| match &node.operation {
        Operation::Map(map) => map.is_table(),
        Operation::Reduce(reduce) => reduce.post != ane::model::network::operation::Post::None,
        Operation::Join(join) => {
            use ane::model::network::operation::JoinKind::{Divide, Power};
            matches!(join.kind, Divide | Power)
        }
        _ => false,
    });
    let allowed = if has_table { TABLES } else { EXACT };
    let difference = compared::difference(results, wanted);
    if difference <= allowed {
        return Outcome::Agrees { tasks: compiled.built.task_count(), difference };
    }
    let why = compared::reason(&compiled.network, inputs, results, wanted, allowed);
    Outcome::Differs { difference, allowed, why }
}

/// Tensors of a test by rising number: name, elements, and whether they are whole numbers.
fn tensors(folder: &Path, kind: &str) -> Result<Vec<(String, Array, bool)>, String> {
    let mut all = Vec::new();
    for index in 0.. {
        let path = folder.join(format!("{kind}_{index}.pb"));
        if !path.is_file() {
            break;
        }
        let bytes = fs::read(&path).map_err(|why| why.to_string())?;
        let (name, array, element) =
            onnx::read_tensor(&bytes).map_err(|why| format!("{kind} {index}: {why}"))?;
        all.push((name, array, element == ane::model::network::Kind::Integer));
    }
    Ok(all)
}
