//! MIL, the language of Core ML's programs: operations with named operands over named tensors.
//!
//! A program comes as a protocol buffer (`.mlmodel` with an `mlProgram`, mostly inside of a folder `.mlpackage`) or as text
//! (`model.mil` of a folder `.mlmodelc`). Large constants of both lie in a file of their own.
//!
//! * `program`: what both forms say.
//! * `message`: the protocol buffer, by its published field numbers.
//! * `flexible`: the shapes that an input may have.
//! * `text`: the text.
//! * `blob`: the file of constants.
//! * `package`: where the files are in their folders.
//! * `import`: operations to layers, one after the other; what cannot be mapped is kept, all of it.
//! * `operators`: what each operation is; many are operators of ONNX with other names.

mod blob;
mod flexible;
mod import;
mod message;
mod operators;
pub(super) mod package;
mod program;
mod text;

use super::error::ModelError;
use super::imported::Imported;
use super::network::Network;
use super::options::Options;

/// The layers of a model with an `mlProgram`.
///
/// # Errors
///
/// [`ModelError`]: damage, or all that cannot be mapped.
pub fn import_message(bytes: &[u8], options: &Options) -> Result<Network, ModelError> {
    layers_of_message(bytes, options)?.whole()
}

/// The layers of a program as text.
///
/// # Errors
///
/// [`ModelError`]: a place in the text, or all that cannot be mapped.
pub fn import_text(bytes: &[u8], options: &Options) -> Result<Network, ModelError> {
    layers_of_text(bytes, options)?.whole()
}

/// The layers of a model, as far as there are any.
pub(super) fn layers_of_message(bytes: &[u8], options: &Options) -> Result<Imported, ModelError> {
    Ok(import::import(message::read(bytes)?, options))
}

/// The layers of a text, as far as there are any.
pub(super) fn layers_of_text(bytes: &[u8], options: &Options) -> Result<Imported, ModelError> {
    Ok(import::import(text::read(bytes)?, options))
}

/// Whether bytes begin as the text of a program does.
pub fn is_text(bytes: &[u8]) -> bool {
    text::begins(bytes)
}
