//! Models of published sizes with random weights, each from the file to its results, against onnxruntime.

use ane::model::compare::worst;
use ane::model::network::Array;
use ane::model::{Options, compile, execute};
use ane_tests::model::{Fed, bert_tiny, gpt2_block, mobilenet_whole, results};

use super::{device, random};

/// Each result lies within `most` of the largest element of it.
///
/// `bound` says how many inputs, the first ones, the compiler gets as constants.
fn agrees(model: Vec<u8>, inputs: Vec<(&str, Array)>, bound: usize, most: f64) {
    let (constants, fed) = inputs.split_at(bound);
    let owned = |(name, array): &(&str, Array)| ((*name).to_owned(), array.clone());
    let options = Options { constants: constants.iter().map(owned).collect(), ..Options::default() };
    let compiled = compile(&model, &options).unwrap_or_else(|error| panic!("{error}"));
    let ports: Vec<&str> = compiled.inputs.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(ports, fed.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let arrays: Vec<Array> = fed.iter().map(|(_, array)| array.clone()).collect();
    let seen = execute(&device(), &compiled, &arrays).unwrap_or_else(|error| panic!("{error}"));
    let fed = Fed { model, inputs: inputs.iter().map(owned).collect() };
    let Some(wanted) = results(std::slice::from_ref(&fed)) else { return };
    assert_eq!(seen.len(), wanted[0].len());
    for ((port, seen), wanted) in compiled.outputs.iter().zip(&seen).zip(&wanted[0]) {
        assert_eq!(seen.dims(), wanted.dims(), "{}", port.name);
        let largest = wanted.values().iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let apart = worst(seen, wanted);
        println!("{}: {apart:.4} of {largest:.3}", port.name);
        assert!(largest > 0.1 && apart <= most * largest, "{}: {apart} of {largest}", port.name);
    }
}

#[test]
fn mobilenet_v2_agrees_with_onnxruntime() {
    agrees(mobilenet_whole(), vec![("image", random(&[1, 3, 224, 224], 1))], 0, 0.01);
}

/// Ids below `most`, all tokens but the last five, and two kinds of tokens.
fn tokens(count: usize, most: usize) -> Vec<(&'static str, Array)> {
    let list = |value: &dyn Fn(usize) -> usize| {
        Array::from_fn(vec![1, count], |at| value(at) as f64).expect("a test's extents are small")
    };
    vec![
        ("input_ids", list(&|at| (at * 7919 + 101) % most)),
        ("attention_mask", list(&|at| usize::from(at + 5 < count))),
        ("token_type_ids", list(&|at| usize::from(at > count / 2))),
    ]
}

#[test]
fn bert_tiny_with_bound_token_ids_agrees_with_onnxruntime() {
    agrees(bert_tiny(128, 30_522), tokens(128, 30_522), 1, 0.02);
}

#[test]
fn bert_tiny_with_token_ids_at_run_time_agrees_with_onnxruntime() {
    agrees(bert_tiny(128, 2048), tokens(128, 2048), 0, 0.02);
}

#[test]
fn gpt2_block_over_64_tokens_agrees_with_onnxruntime() {
    agrees(gpt2_block(64, 768, 12), vec![("embedded", random(&[1, 64, 768], 1))], 0, 0.01);
}

#[test]
fn gpt2_block_over_256_tokens_agrees_with_onnxruntime() {
    agrees(gpt2_block(256, 768, 12), vec![("embedded", random(&[1, 256, 768], 1))], 0, 0.01);
}
