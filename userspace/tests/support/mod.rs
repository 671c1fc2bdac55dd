//! What the container tests and the fuzz crate share: programs that no compiler wrote, and what has to hold for
//! every file.

pub(crate) mod check;
pub(crate) mod hwx;
