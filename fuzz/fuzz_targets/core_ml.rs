//! Any bytes as the `.mlmodel` of a package, its constants beside it: it compiles, or what is wrong is told.

#![no_main]

#[path = "../src/models.rs"]
mod models;

use ane::model::mil;

libfuzzer_sys::fuzz_target!(|model: &[u8]| {
    if let Ok(network) = mil::import_message(model, &models::options()) {
        models::build(network);
    }
});
