//! A model to a program: read, simplified, laid out, built.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

use super::Model;
use super::beside::Beside;
use super::lower::{self, Step};
use super::network::{Array, Fault, Network};
use super::problem::Problem;
use super::protobuf::{Damage, Message};
use super::{mil, onnx};
use crate::build::Built;

/// Most layers of a model: as many as a program has tasks.
pub const NODES_MAX: usize = 1 << 16;

/// Most problems that are told at once.
pub const PROBLEMS_MAX: usize = 1000;

/// Most bytes of a model's file. (Chosen) Constants of the engine's whole aperture as singles are 8 GB; more than half
/// of that nobody has brought yet.
pub const FILE_BYTES_MAX: u64 = 4 << 30;

/// What is decided before the run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Inputs that are bound to constants.
    pub constants: BTreeMap<String, Array>,
    /// Extents that the model gives names only.
    pub extents: BTreeMap<String, usize>,
    /// Where files are that the model names.
    pub beside: Beside,
}

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A protocol buffer of ONNX.
    Onnx,
    /// A protocol buffer of Core ML, as an `.mlpackage` has it.
    CoreMl,
    /// The text of a Core ML program.
    MilText,
}

/// An operand that the client binds, as the model has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name, in the model and as a surface.
    pub name: String,
    /// Its extents in the model. The surface has the same elements in the same order.
    pub dims: Vec<usize>,
}

/// A program, and how it came about.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program.
    pub built: Built,
    /// The layers that it has, after those that go together were joined.
    pub network: Network,
    /// Inputs, as the client binds them.
    pub inputs: Vec<Port>,
    /// Outputs.
    pub outputs: Vec<Port>,
    /// For each layer, its tasks.
    pub steps: Vec<Step>,
    /// What a reader should know, such as that constants were rounded.
    pub notes: Vec<String>,
}

impl Compiled {
    /// The program, to be run.
    pub fn model(&self) -> Model {
        Model::from(&self.built)
    }
}

/// Why there is no program.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The file is longer than any model.
    #[error("file has {bytes} bytes, of which a model has at most {FILE_BYTES_MAX}")]
    Long {
        /// Its length.
        bytes: u64,
    },
    /// The file is none of the formats.
    #[error("file is no model that is read here: ONNX, .mlpackage and MIL text are")]
    Format,
    /// The file is damaged.
    #[error("model is damaged: {0}")]
    Damage(#[from] Damage),
    /// A model without a graph.
    #[error("model has no graph")]
    NoGraph,
    /// A model of Core ML that is none of its programs.
    #[error("model is of an older form of Core ML; those with an mlProgram are read")]
    NoProgram,
    /// The text is not what the language wants.
    #[error("{what} at {line}:{column}")]
    Text {
        /// What is wrong.
        what: String,
        /// Line, from 1 on.
        line: usize,
        /// Byte of the line, from 1 on.
        column: usize,
    },
    /// A version that is not read.
    #[error("model has {what} of version {version}; {least} and later are read")]
    Version {
        /// Of what.
        what: &'static str,
        /// The version.
        version: i64,
        /// The oldest.
        least: i64,
    },
    /// More layers than a program has tasks.
    #[error("model has {count} layers, of which there may be {NODES_MAX}")]
    Nodes {
        /// How many.
        count: usize,
    },
    /// A tensor of the model that makes no sense.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// What cannot be mapped, all of it.
    #[error("{}", problems(.0))]
    Problems(Vec<Problem>),
}

fn problems(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    let count = crate::count::count(problems.len(), "part");
    format!("{count} of the model cannot be mapped:\n{}", lines.join("\n"))
}

/// Compiles the model in a file, or in a folder `.mlpackage` or `.mlmodelc`.
///
/// Files that it names are looked for beside it.
///
/// # Errors
///
/// [`Error`].
pub fn compile_file(path: &Path, options: &Options) -> Result<Compiled, Error> {
    let file = located(path)?;
    let mut bytes = Vec::new();
    File::open(&file)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Error::Long { bytes: bytes.len() as u64 });
    }
    let options = Options { beside: Beside::of_file(&file), ..options.clone() };
    compile(&bytes, &options)
}

/// The file with a model's layers: the path itself, or of a folder `.mlpackage` or `.mlmodelc` the file that is meant.
///
/// # Errors
///
/// What is wrong with the folder.
pub fn located(path: &Path) -> io::Result<PathBuf> {
    if path.is_dir() { mil::package::model_file(path) } else { Ok(path.to_owned()) }
}

/// Compiles a model.
///
/// # Errors
///
/// [`Error`]; what cannot be mapped is named all at once.
pub fn compile(bytes: &[u8], options: &Options) -> Result<Compiled, Error> {
    build(read(bytes, options)?)
}

/// The layers of a model.
///
/// # Errors
///
/// [`Error`], as far as that shows before anything is laid out.
pub fn read(bytes: &[u8], options: &Options) -> Result<Network, Error> {
    match format(bytes).ok_or(Error::Format)? {
        Format::Onnx => onnx::import(bytes, options),
        Format::CoreMl => mil::import_message(bytes, options),
        Format::MilText => mil::import_text(bytes, options),
    }
}

/// The format of a file.
pub fn format(bytes: &[u8]) -> Option<Format> {
    if mil::is_text(bytes) {
        return Some(Format::MilText);
    }
    // Both begin with a version. What a model of Core ML is has a number above 200; those of ONNX are small.
    if ![0x08, 0x12, 0x3a, 0x42].contains(bytes.first()?) {
        return None;
    }
    let mut message = Message::new("model", bytes);
    let mut seen = None;
    while let Ok(Some((number, _))) = message.next_field() {
        seen = seen.max(Some(number));
    }
    Some(if seen > Some(200) { Format::CoreMl } else { Format::Onnx })
}

/// Lays layers out and builds the program.
///
/// # Errors
///
/// [`Error::Problems`].
pub fn build(mut network: Network) -> Result<Compiled, Error> {
    network.simplify();
    let lowered = lower::lower(&network).map_err(Error::Problems)?;
    let ports = |list: &[(String, usize)]| {
        list.iter()
            .map(|(name, value)| Port { name: name.clone(), dims: network.dims(*value).to_vec() })
            .collect()
    };
    let (inputs, outputs) = (ports(&network.inputs), ports(&network.outputs));
    Ok(Compiled {
        built: lowered.built,
        inputs,
        outputs,
        steps: lowered.steps,
        notes: lowered.notes,
        network,
    })
}
