//! The parts that the targets of the model readers share.
#![allow(dead_code, reason = "each target uses a part")]

use std::collections::BTreeMap;

use ane::model::network::Network;
use ane::model::{Beside, Options, compile};

/// Most elements of all tensors of a model that is laid out here: larger ones take the builder seconds, which are no failure.
const ELEMENTS_MAX: usize = 1 << 20;

/// Constants beside the model, as the package of a seed has them.
const WEIGHTS: &[u8] =
    include_bytes!("../../tests/models/residual.mlpackage/Data/com.apple.CoreML/weights/weight.bin");

pub fn options() -> Options {
    let files = BTreeMap::from([("weights/weight.bin".to_owned(), WEIGHTS.to_vec())]);
    Options { beside: Beside::Held(files), ..Options::default() }
}

pub fn build(network: Network) {
    let elements: usize = network.values.iter().map(|value| value.dims.iter().product::<usize>()).sum();
    if elements <= ELEMENTS_MAX {
        let _ = compile::build(network);
    }
}
