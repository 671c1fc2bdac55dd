//! The DART as its circuits and its driver see it: registers, translation, faults, isolation.
#![expect(clippy::result_large_err, reason = "the descriptor is what drivers get, and faults are rare")]

mod behind_pe_mmu;
mod faults;
mod hostile;
mod isolation;
mod registers;
mod rig;
mod rows;
mod translation;
