//! `ane run`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::device::DeviceArgs;

/// Run a program on the engine
///
/// Reads a .hwx or .anec program, fills its inputs, runs it, and prints what came out and what the engine did. Inputs
/// come from .npy files, by name or by number in the order of base addresses; those that none is given for are random
/// between -1 and 1, or constant. Arrays have the shape N, C, H, W or the same without axes of length 1; floats and
/// integers are converted to fp16, and that is said.
///
/// With -o, each output goes to DIR/NAME.npy, four axes of little-endian fp16, and DIR/outputs.json lists them in the
/// order of base addresses. The folder appears with all of it or not at all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane run examples/add_relu.anec
  ane run examples/add_relu.anec -i 0=a.npy -i 1=b.npy -o out
  ane run network.hwx --numerics fast --trace run.json
  ane run network.hwx --json | jq .engine")]
pub(crate) struct Run {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) model: PathBuf,
    /// Fill an input from a .npy file; may be given for each
    #[arg(short, long = "input", value_name = "NAME|INDEX=FILE")]
    pub(crate) inputs: Vec<Assignment>,
    /// Write the outputs to a folder, which is made
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace outputs that are in the folder
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// What the random inputs are made from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Fill the inputs that none is given for with this value instead
    #[arg(long, value_name = "VALUE", conflicts_with = "seed", allow_negative_numbers = true)]
    pub(crate) constant: Option<f32>,
    /// Run also if an input has elements that are no numbers
    #[arg(long)]
    pub(crate) allow_nan: bool,
    /// Run it so often, and tell the fastest and the average time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Give a run up that has not ended after this long: exit code 4
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Write what the engine did, and when, as a Chrome trace that Perfetto opens; an embedded device only
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// A span that somebody waits.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("wanted is a number of seconds from 0.001 to 86400".to_owned()),
    }
}

/// An input and the file that fills it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Name or number of the input.
    pub(crate) input: String,
    /// The file.
    pub(crate) file: PathBuf,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((input, file)) if !input.is_empty() && !file.is_empty() => {
                Ok(Self { input: input.to_owned(), file: file.into() })
            }
            _ => Err("wanted is NAME=FILE or INDEX=FILE, such as 0=x.npy".to_owned()),
        }
    }
}
