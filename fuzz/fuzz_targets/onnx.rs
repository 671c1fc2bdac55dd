//! Any bytes as a model in ONNX, a file of constants beside it: it compiles, or what is wrong is told; nothing panics, and memory is bounded.

#![no_main]

#[path = "../src/models.rs"]
mod models;

use ane::model::onnx;

libfuzzer_sys::fuzz_target!(|model: &[u8]| {
    if let Ok(network) = onnx::import(model, &models::options()) {
        models::build(network);
    }
});
