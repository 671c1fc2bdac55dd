//! Containers: the files in which compiled programs come.
//!
//! There are two. [`hwx`] is what Apple's compiler writes: a Mach-O in all but its magic number, in which every
//! buffer of the program is a section with a link address. [`anec`] is what the Linux stack made of it: a fixed
//! header, the task stream, the constants. [`open`] reads either into the same [`Program`]; [`convert`] turns the
//! first into the second.
//!
//! A file is untrusted. Nothing here allocates more than the file is long plus named bounds, follows a number that
//! it did not check, or copies a task stream or constants.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod anec;
mod bases;
mod bytes;
pub mod convert;
mod error;
mod excerpt;
pub mod hwx;
pub mod limits;
mod operand;
mod program;

pub use bases::UnknownBar;
pub(crate) use bases::uses;
pub use bytes::{Outside, Place, lies_inside};
pub use error::{Error, Unrecognised};
pub(crate) use excerpt::excerpt;
pub use operand::{Misgiven, assign, find_operand};
pub use program::{
    Axes, Bar, Constants, Container, Direction, Element, Generation, LaterGeneration, Layer, Program, Role,
    Surface, Warning,
};

/// Reads the program in `file`, whichever container it is.
///
/// # Errors
///
/// Says what was seen and what is accepted if the file is neither container, else what is wrong with it and at
/// which offset. The name of the file is the caller's to add.
pub fn open(file: &[u8]) -> Result<Program<'_>, Error> {
    if hwx::is_hwx(file) {
        return Ok(hwx::read(file)?);
    }
    if anec::is_anec(file) {
        return Ok(anec::read(file)?);
    }
    Err(Error::Unrecognised(Unrecognised::of(file)))
}
