//! A model to a program: read, simplified, laid out, built.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::error::ModelError;
use super::format::Format;
use super::imported::Imported;
use super::limits::{FILE_BYTES_MAX, PIPE_BYTES_MAX, PROBLEMS_MAX};
use super::lower::{self, Step};
use super::neighbour_files::{Beside, within};
use super::network::Network;
use super::options::Options;
use super::protobuf::{Damage, Message};
use super::{Model, mil, onnx};
use crate::build::Built;
use crate::container::anec::{Form, Image, WriteError};
use crate::container::{Direction, Layer, Program};

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
    /// Remarks for the reader, such as that constants were rounded.
    pub notes: Vec<String>,
}

impl Compiled {
    /// The program, to be run.
    pub fn model(&self) -> Model {
        Model::of(&self.program())
    }

    /// The program, with what it keeps of the model: extents of its operands, the layer of each task, and the notes.
    pub fn program(&self) -> Program<'_> {
        let mut program = self.built.program();
        for surface in &mut program.surfaces {
            let ports = match surface.direction {
                Direction::Input => &self.inputs,
                Direction::Output => &self.outputs,
            };
            let port = ports.iter().find(|port| port.name == surface.name);
            surface.dims = port.map(|port| port.dims.clone());
        }
        program.layers = self.steps.iter().map(|step| self.layer(step)).collect();
        program.notes.clone_from(&self.notes);
        program
    }

    /// The bytes of an `.anec` file.
    ///
    /// # Errors
    ///
    /// Refuses buffers that together are longer than the aperture allows.
    pub fn to_anec(&self) -> Result<Vec<u8>, WriteError> {
        Image::of_anec(&self.program()).write(Form::Long)
    }

    fn layer(&self, step: &Step) -> Layer {
        let node = &self.network.nodes[step.node];
        Layer {
            operation: node.operation.name().to_owned(),
            name: node.name.clone(),
            dims: self.network.dims(node.output).to_vec(),
            // A program has fewer than 2^16 tasks.
            tasks: step.tasks.start as u32..step.tasks.end as u32,
        }
    }
}

/// Compiles the model in a file, or in a folder `.mlpackage` or `.mlmodelc`.
///
/// Files that it names are looked for beside it.
///
/// # Errors
///
/// [`ModelError`].
pub fn compile_file(path: &Path, options: &Options) -> Result<Compiled, ModelError> {
    let (bytes, options) = contents(path, options.clone())?;
    compile(&bytes, &options)
}

/// The bytes of a model, or of any program, and the options with what its place says of it.
///
/// # Errors
///
/// [`ModelError::File`], [`ModelError::Long`].
pub fn contents(path: &Path, options: Options) -> Result<(Vec<u8>, Options), ModelError> {
    let (path, format) = located(path)?;
    let file = File::open(&path)?;
    let most = if file.metadata()?.is_file() { FILE_BYTES_MAX } else { PIPE_BYTES_MAX };
    let bytes = within(file, most)?.ok_or(ModelError::Long { most })?;
    Ok((bytes, Options { beside: Beside::of_file(&path), format, ..options }))
}

/// The file with a model's layers: the path itself, or of a folder `.mlpackage` or `.mlmodelc` the file that is meant, and its format.
///
/// # Errors
///
/// The fault of the folder.
pub fn located(path: &Path) -> io::Result<(PathBuf, Option<Format>)> {
    if !path.is_dir() {
        return Ok((path.to_owned(), None));
    }
    let (file, format) = mil::package::model_file(path)?;
    Ok((file, Some(format)))
}

/// Compiles a model.
///
/// # Errors
///
/// [`ModelError`]; what cannot be mapped is named all at once, but for what depends on it.
pub fn compile(bytes: &[u8], options: &Options) -> Result<Compiled, ModelError> {
    build(imported(bytes, options)?.whole_or_all_problems()?)
}

/// The layers of a model.
///
/// # Errors
///
/// [`ModelError`], as far as that shows before anything is laid out.
pub fn read(bytes: &[u8], options: &Options) -> Result<Network, ModelError> {
    imported(bytes, options)?.whole()
}

fn imported(bytes: &[u8], options: &Options) -> Result<Imported, ModelError> {
    let imported = match options.format.or_else(|| format(bytes)).ok_or(ModelError::Format)? {
        Format::Onnx => onnx::layers(bytes, options),
        Format::CoreMl => mil::layers_of_message(bytes, options),
        Format::MilText => mil::layers_of_text(bytes, options),
    };
    imported?.check(options)
}

/// Whether a file is a model, and not only begins as one.
pub fn is_model(bytes: &[u8]) -> bool {
    match format(bytes) {
        None => false,
        Some(Format::MilText) => true,
        Some(Format::Onnx | Format::CoreMl) => {
            let mut fields = 0_usize;
            let whole = Message::new("model", bytes).for_each(|_, _| -> Result<(), Damage> {
                fields += 1;
                Ok(())
            });
            whole.is_ok() && fields > 0
        }
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
/// [`ModelError::Problems`].
pub fn build(mut network: Network) -> Result<Compiled, ModelError> {
    network.simplify();
    let mut lowered = lower::lower(&network).map_err(|mut problems| {
        problems.truncate(PROBLEMS_MAX);
        ModelError::Problems(problems)
    })?;
    let whole = |name| format!("input {name:?} takes whole numbers as halves, which are exact up to 2048");
    lowered.notes.extend(network.whole_inputs().map(whole));
    lowered.notes.append(&mut network.notes);
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
