//! The users and files of unit tests.

use crate::front::{FileId, User};
use crate::iso::Seeker;

/// A user who may do as he likes.
pub(crate) const OWNER: User = User { id: 0, is_privileged: true };

/// One who may not.
pub(crate) const STRANGER: User = User { id: 1001, is_privileged: false };

/// A file of the owner's that asks for a context.
pub(crate) const fn seeker(file: u64) -> Seeker {
    Seeker { file: FileId(file), user: OWNER }
}
