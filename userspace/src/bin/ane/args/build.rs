//! `ane build`.

use std::path::PathBuf;

use clap::Args;

/// Build a program from a description
///
/// The description has a line for each tensor: `NAME = OPERATION OPERANDS KEY=VALUE...`, and `output NAME` for those
/// that the client reads; --operations lists what there is. Values are a number, which stands for all, random:SEED, or
/// a .npy file, looked for beside the description.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  printf 'x = input 64x1x1\\ny = softmax x\\noutput y\\n' | ane build - -o softmax.anec
  ane build network.txt -o network.anec && ane run network.anec
  ane build --operations")]
pub(crate) struct Build {
    /// The description; - is standard input
    #[arg(required_unless_present = "operations")]
    pub(crate) description: Option<PathBuf>,
    /// The .anec file to write; one that exists is not overwritten
    #[arg(short, long, value_name = "FILE", required_unless_present = "operations")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Most values that all lines may ask for together, those of arrays included; memory is a few times two bytes for each
    #[arg(long, value_name = "N", default_value_t = ane::build::script::VALUES_MAX, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) values_max: u64,
    /// List the operations
    #[arg(long, exclusive = true)]
    pub(crate) operations: bool,
}
