//! A model to a program: read, simplified, laid out, built.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::beside::Beside;
use super::error::Error;
use super::imported::Imported;
use super::limits::FILE_BYTES_MAX;
use super::lower::{self, Step};
use super::network::Network;
use super::options::Options;
use super::protobuf::Message;
use super::{Model, mil, onnx};
use crate::build::Built;

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
    pub built: Built,
    /// The layers that it has, after those that go together were joined.
    pub network: Network,
    /// Inputs, as the client binds them.
    pub inputs: Vec<Port>,
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
/// [`Error`]; what cannot be mapped is named all at once, but for what depends on it.
pub fn compile(bytes: &[u8], options: &Options) -> Result<Compiled, Error> {
    build(imported(bytes, options)?.whole_or_all_problems()?)
}

/// The layers of a model.
///
/// # Errors
///
/// [`Error`], as far as that shows before anything is laid out.
pub fn read(bytes: &[u8], options: &Options) -> Result<Network, Error> {
    imported(bytes, options)?.whole()
}

fn imported(bytes: &[u8], options: &Options) -> Result<Imported, Error> {
    match format(bytes).ok_or(Error::Format)? {
        Format::Onnx => onnx::layers(bytes, options),
        Format::CoreMl => mil::layers_of_message(bytes, options),
        Format::MilText => mil::layers_of_text(bytes, options),
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
