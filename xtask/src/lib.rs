//! Generators of the files that the tree keeps committed; `cargo xtask` runs them.
#![forbid(unsafe_code)]

pub mod c_header;
pub mod conformance;
pub mod coverage_onnx;
pub mod dist;
pub mod example;
pub mod man;
pub mod output;
pub mod performance;
pub mod probes;
pub mod register_reference;
pub mod release;
pub mod timing;
pub mod uapi_reference;
