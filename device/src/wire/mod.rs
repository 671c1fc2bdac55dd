//! The device in the words of the wire: config space, events, and how a refusal is answered.
//!
//! Every front says the same things, whether a virtqueue carries them or a function call: what the device is, what
//! happened in it, and what became of a register access.

mod config;
mod event;
mod regions;

use ane_uapi::wire::ctrl::Status;

pub use self::config::config;
pub use self::event::event;
pub use self::regions::{NotDone, install};
use crate::refusal::{Refusal, Why};

/// What a register reads as that has no answer, while the device is not strict: all ones, as on a bus with
/// nothing there (Chosen). The device's log says more.
pub const NO_ANSWER: u32 = u32::MAX;

/// How a front answers an access that was refused: with what it reads as, if its batch goes on.
///
/// # Errors
///
/// Status and detail with which the batch ends there.
pub fn answer(refusal: Refusal, is_strict: bool) -> Result<u32, (Status, u32)> {
    match refusal.why {
        Why::Misaligned => Err((Status::Misaligned, refusal.at.0)),
        Why::OutsideContainer => Err((Status::OutsideContainer, refusal.at.0)),
        Why::Dead => Err((Status::Dead, 0)),
        _ if is_strict => Err((Status::Unmodelled, refusal.at.0)),
        // The refusal stands in the log; the batch goes on, as a bus would.
        _ => Ok(NO_ANSWER),
    }
}
