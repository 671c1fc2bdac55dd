//! `ane compare`.

use std::fmt::Write as _;

use ane::container::Axes;
use ane::decode::printable;
use ane::model::compare::{Error, compare};
use ane::model::network::Array;
use ane::tensor::Tensor;
use anyhow::{Context, Result, anyhow};

use crate::failure::{Advise, Exit};
use crate::{args, compile, device, files};

pub(crate) fn run(args: &args::Compare) -> Result<()> {
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
