//! `ane compare`.

use clap::Args;

use super::device::DeviceArgs;
use super::model::Model;
use super::run::Assignment;

/// Compare a model on the engine with double precision, layer by layer
///
/// For each layer: how far the engine is off after all layers so far, how far off the layer itself is, given the
/// operands that the engine had, and where most of that comes from: the rounding of results to halves, the
/// accumulator's units of 2^-16, or a table of 33 knots.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane compare network.onnx
  ane compare model.mil
  ane compare network.onnx -i image=image.npy --dim batch=1")]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) model: Model,
    /// Fill an input; the others get random numbers between -1 and 1
    #[arg(short, long, value_name = "NAME=FILE")]
    pub(crate) input: Vec<Assignment>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
