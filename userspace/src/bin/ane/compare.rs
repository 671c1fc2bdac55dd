//! `ane compare`.

use std::fmt::Write as _;
use std::path::Path;

use ane::decode::printable;
use ane::model::compare::{CompareError, compare, random_for};
use ane::model::compile::Port;
use ane::model::network::Array;
use ane::tensor::{fits, npy};
use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::device::DeviceArgs;
use crate::failure::{Advise, Exit};
use crate::model::ModelArgs;
use crate::run::Assignment;
use crate::run::inputs::assigned;
use crate::{compile, device, files};

/// Compare a model on the engine with double precision, layer by layer
///
/// Prints for each layer: the error of the engine after all layers so far, the error of this layer alone (with the
/// operands that the engine had), and where most of the error comes from: the rounding of results to halves, the
/// accumulator's units of 2^-16, or a table of 33 knots.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane compare network.onnx
  ane compare model.mil
  ane compare network.onnx -i image=image.npy --dim batch=1")]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Fill an input from a file; inputs without a file get random numbers between -1 and 1
    #[arg(short, long, value_name = "NAME|INDEX=FILE")]
    pub(crate) input: Vec<Assignment>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

pub(crate) fn run(args: &Compare) -> Result<()> {
    let compiled = compile::compiled(&args.model)?;
    let names: Vec<&str> = compiled.inputs.iter().map(|port| port.name.as_str()).collect();
    let given = assigned("model", &names, &args.input)?;
    let mut inputs = Vec::new();
    for (index, (port, given)) in compiled.inputs.iter().zip(given).enumerate() {
        inputs.push(match given {
            Some(given) => array(&given.file, port)
                .with_context(|| files::name(&given.file))
                .advise(Exit::Refused, "mend the array, or leave the input out for random numbers")?,
            None => random_for(&compiled, port, args.seed.wrapping_add(index as u64))?,
        });
    }
    let device = device::open(&args.device)?;
    let layers = compare(&device, &compiled, &inputs).or_else(|why| match why {
        CompareError::Run(why) => Err(device::session_failure(&why, &device)),
        CompareError::Compile(why) => Err(compile::refused(&args.model.model, &why)),
        why => Err(anyhow!(why)).advise(Exit::Refused, "every layer by itself has to fit, too"),
    })?;
    if args.json {
        return files::print_json(&layers);
    }
    let mut page = String::new();
    writeln!(
        page,
        "{:<20} {:<24} {:>10} {:>10} {:>10}  most of it",
        "operation", "name", "largest", "so far", "own"
    )?;
    for layer in layers {
        writeln!(
            page,
            "{:<20} {:<24} {:>10.3e} {:>10.2e} {:>10.2e}  {}",
            layer.operation,
            printable(&layer.name),
            layer.largest,
            layer.so_far,
            layer.own,
            layer.source.name()
        )?;
    }
    files::print(page.as_bytes())
}

/// The array of an input, out of a file.
fn array(file: &Path, port: &Port) -> Result<Array> {
    let array = compile::array(file)?;
    if !fits(array.dims(), &port.dims) {
        let given = array.dims().iter().map(|&extent| extent as u64).collect();
        return Err(npy::Error::Shape { given, wanted: port.dims.clone() }.into());
    }
    Ok(array.reshaped(port.dims.clone())?)
}
