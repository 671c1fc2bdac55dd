//! The contracts that all parts of the virtual Apple Neural Engine share, to the byte.
#![no_std]
#![forbid(unsafe_code)]
#![expect(clippy::result_unit_err, reason = "the checked setters that bitfield-struct makes")]

pub mod abi;
pub mod hw;
pub mod ioctl;
pub mod log_budget;
pub mod register;
pub mod wire;
