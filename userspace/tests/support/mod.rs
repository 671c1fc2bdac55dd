//! The common part of the container tests and the fuzz crate: programs that no compiler wrote, and the
//! properties of every file.

pub(crate) mod check;
pub(crate) mod hwx;
