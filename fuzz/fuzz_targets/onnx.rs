//! Any bytes as a model in ONNX: it compiles, or what is wrong is told; nothing panics, and memory is bounded.

#![no_main]

#[path = "../src/models.rs"]
mod models;

use ane::model::{Options, onnx};

libfuzzer_sys::fuzz_target!(|model: &[u8]| {
    if let Ok(network) = onnx::import(model, &Options::default()) {
        models::build(network);
    }
});
