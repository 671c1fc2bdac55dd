//! `ane compare`.

use std::fmt::Write as _;

use ane::container::Axes;
use ane::decode::printable;
use ane::model::compare::{Error, compare};
use ane::model::network::Array;
use ane::tensor::Tensor;
use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::device::DeviceArgs;
use crate::failure::{Advise, Exit};
use crate::model::ModelArgs;
use crate::run::Assignment;
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
    #[arg(short, long, value_name = "NAME=FILE")]
    pub(crate) input: Vec<Assignment>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

pub(crate) fn run(args: &Compare) -> Result<()> {
    let compiled = compile::compiled(&args.model)?;
    let mut inputs = Vec::new();
    for (index, port) in compiled.inputs.iter().enumerate() {
        let number = index.to_string();
        let given = args.input.iter().find(|given| given.input == port.name || given.input == number);
        inputs.push(match given {
            Some(given) => compile::array(&given.file)
                .and_then(|array| Ok(array.reshaped(port.dims.clone())?))
                .with_context(|| files::name(&given.file))?,
            None => random(&port.dims, args.seed.wrapping_add(index as u64))?,
        });
    }
    let device = device::open(&args.device)?;
    let layers = compare(&device, &compiled, &inputs).or_else(|why| match why {
        Error::Run(why) => Err(device::session_failure(&why, &device)),
        why => Err(anyhow!(why)).advise(Exit::Refused, "every layer by itself has to fit, too"),
    })?;
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

fn random(dims: &[usize], seed: u64) -> Result<Array> {
    let count: usize = dims.iter().product();
    let shape = Axes { n: 1, c: 1, h: 1, w: u32::try_from(count)? };
    let values = Tensor::random(shape, seed).into_values();
    Ok(Array::new(dims.to_vec(), values.iter().map(|value| value.to_f64()).collect())?)
}
