//! HWX: the object file of Apple's compiler.
//!
//! The layout is that of a 64-bit Mach-O with a magic number of its own. Everything that the program touches is a
//! section with a link address: task stream, constants, scratch, and one empty section for each operand. A
//! *program descriptor* gives for each BAR the link address of what it carries, and *tensor descriptors* give
//! the shape of each operand; a symbol command ties the operand's name to a link address.
//!
//! | file | reads |
//! |---|---|
//! | `macho` | header, load commands, segments and sections |
//! | `descriptor` | the program descriptor |
//! | `tensor` | tensor descriptors and symbols |
//! | `resolve` | puts them together through the link addresses |
//!
//! An object for a later engine generation is summarised as far as it can be; its descriptors are laid out in
//! another way, so whatever does not fit there is a warning instead of an error. Facts: td 2.1, facts F.4.

mod descriptor;
mod error;
mod macho;
mod resolve;
mod tensor;

use std::borrow::Cow;

pub use error::{AddressOf, ReadError};
pub use macho::SectionName;

use super::bytes::{Reader, until_nul};
use super::program::{Container, Generation, Program, Warning};
use macho::{LoadCommand, Object};

/// The first word of the file (derived, td 2.1).
pub const MAGIC: u32 = 0xbeef_face;

pub fn is_hwx(file: &[u8]) -> bool {
    file.starts_with(&MAGIC.to_le_bytes())
}

pub fn read(file: &[u8]) -> Result<Program<'_>, ReadError> {
    let object = Object::read(Reader::file(file))?;
    let mut warnings = unknown_commands(&object)?;
    let found = match resolve::resolve(&object, &mut warnings) {
        Ok(found) => found,
        Err(error) if object.generation != Generation::H13 => {
            let reason = error.to_string();
            warnings.push(Warning::NotUnderstood { generation: object.generation, reason });
            resolve::Resolved::default()
        }
        Err(error) => return Err(error),
    };
    Ok(Program {
        container: Container::Hwx,
        generation: object.generation,
        stream: found.stream,
        first_task_bytes: found.first_task_bytes,
        task_count: found.task_count,
        constants: found.constants,
        bars: found.bars,
        surfaces: found.surfaces,
        layers: Vec::new(),
        notes: Vec::new(),
        banner: banner(&object)?,
        warnings,
    })
}

/// A warning for each load command that is not read.
fn unknown_commands(object: &Object<'_>) -> Result<Vec<Warning>, ReadError> {
    let mut warnings = Vec::new();
    for command in &object.commands {
        let macho::Located { index, at } = command.located();
        match command.command {
            macho::LC_SEGMENT_64
            | macho::LC_SYMTAB
            | macho::LC_SURFACE_32
            | macho::LC_SURFACE_64
            | macho::LC_BANNER => {}
            macho::LC_THREAD => match command.flavor()? {
                descriptor::FLAVOR | tensor::FLAVOR => {}
                flavor => warnings.push(Warning::UnknownFlavor { index, at, flavor }),
            },
            unknown => {
                let len = command.body.len();
                warnings.push(Warning::UnknownLoadCommand { index, at, command: unknown, len });
            }
        }
    }
    Ok(warnings)
}

/// The compiler's text about itself: version and options.
fn banner<'a>(object: &Object<'a>) -> Result<Option<Cow<'a, str>>, ReadError> {
    let Some(command) = object.commands_of(macho::LC_BANNER).next() else { return Ok(None) };
    let text = command.body.rest(LoadCommand::HEADER, "compiler banner")?;
    Ok(Some(String::from_utf8_lossy(until_nul(text))))
}
