//! Programs built from a description against those that Apple's compiler made of the same.
//!
//! Registers are compared in the register file as each task leaves it. Those that have no effect on what is computed
//! may differ, and each that does is named.

use std::collections::{BTreeMap, BTreeSet};

use ane::build::{Axis, BuildError, Built, Convolution, Element, Graph, Shape, Weights, activation};
use ane::container::{self, Program};
use ane_tests::data;
use ane_uapi::hw::td;
use ane_uapi::hw::td::header::{KernelBases, OperandBases};
use half::f16;

/// One task: header words that have an effect, and the register file.
#[derive(Debug, PartialEq)]
struct Effect {
    operands: OperandBases,
    kernels: KernelBases,
    links: (u16, bool, bool, u16, u32),
    locations: (bool, bool, bool),
    registers: BTreeMap<String, u32>,
}

fn effects(program: &Program<'_>) -> Vec<Effect> {
    let mut file = BTreeMap::new();
    let tasks = program.tasks().expect("h13").map(|task| task.expect("sound chain"));
    tasks
        .map(|task| {
            task.for_each_write(|address, value| {
                file.insert(address, value);
            });
            let header = task.header;
            Effect {
                operands: header.operands,
                kernels: header.kernels,
                links: (
                    header.identity.tid(),
                    header.identity.lnid(),
                    header.identity.eon(),
                    header.length.next_size(),
                    header.next.offset(),
                ),
                locations: (header.flags.src_loc(), header.flags.dst_loc(), header.flags.tde()),
                registers: file.iter().map(|(&address, &value)| (name(address), value)).collect(),
            }
        })
        .collect()
}

fn name(address: u32) -> String {
    let place = td::find(address).expect("a known register");
    match place.register.count {
        1 => place.register.name.to_owned(),
        _ => format!("{}[{}]", place.register.name, place.index),
    }
}

/// Registers that differ, as `task name`, without repetitions.
fn differing(built: &Built, apple: &Program<'_>) -> Vec<String> {
    let (ours, theirs) = (effects(&built.program()), effects(apple));
    assert_eq!(ours.len(), theirs.len());
    let mut differ = Vec::new();
    for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours.operands, theirs.operands, "task {index}");
        assert_eq!(ours.kernels, theirs.kernels, "task {index}");
        assert_eq!(ours.links, theirs.links, "task {index}");
        assert_eq!(ours.locations, theirs.locations, "task {index}");
        // What one of them leaves out differs, too.
        let names: BTreeSet<_> = ours.registers.keys().chain(theirs.registers.keys()).collect();
        let names = names.into_iter().filter(|name| ours.registers.get(*name) != theirs.registers.get(*name));
        differ.extend(names.map(|name| format!("{index} {name}")));
    }
    differ
}

/// Builds the same program as the sample `name`, and names the registers that differ.
fn against(
    name: &str,
    build: impl Fn(&Program<'_>) -> Result<Built, BuildError>,
) -> Option<(Vec<String>, Built)> {
    let sample = data::programs()?.into_iter().find(|sample| sample.name == name)?;
    let apple = container::open(&sample.bytes).expect("a sound program");
    let built = build(&apple).expect("what a compiler built can be built");
    Some((differing(&built, &apple), built))
}

/// The constant section of the sample `name`.
fn constants_of(name: &str) -> Vec<u8> {
    let samples = data::programs().into_iter().flatten();
    let sample = samples.into_iter().find(|sample| sample.name == name).expect("a known sample");
    let program = container::open(&sample.bytes).expect("a sound program");
    program.constants.first().expect("constants").bytes.to_vec()
}

#[test]
fn sum_differs_from_the_compilers_in_skew_only() {
    let build = |_: &Program<'_>| {
        let mut graph = Graph::new();
        // The compiler's source 1 is its second input.
        let image2 = graph.input("image2", Shape::new(64, 1, 1))?;
        let image = graph.input("image", Shape::new(64, 1, 1))?;
        let sum = graph.binary(image, image2, Element::ADD)?;
        graph.output("probs@output", sum)?;
        graph.build()
    };
    let Some((differing, _)) = against("sum", build) else { return };
    // Windows of streamed operands, which the compiler spreads over banks.
    assert_eq!(differing, ["0 ResultBase", "0 Source2Base", "0 Source2RowStride", "0 SourceRowStride"]);
}

#[test]
fn relu_is_the_compilers() {
    let build = |_: &Program<'_>| {
        let mut graph = Graph::new();
        let image = graph.input("image", Shape::new(1, 1, 77))?;
        let relu = graph.relu(image)?;
        graph.output("probs@output", relu)?;
        graph.build()
    };
    let Some((differing, _)) = against("relu", build) else { return };
    assert_eq!(differing, Vec::<String>::new());
}

#[test]
fn sigmoid_is_the_compilers() {
    let build = |_: &Program<'_>| {
        let mut graph = Graph::new();
        let image = graph.input("image", Shape::new(1, 1, 77))?;
        let sigmoid = graph.activation(image, activation::sigmoid())?;
        graph.output("probs@output", sigmoid)?;
        graph.build()
    };
    let Some((differing, built)) = against("sigmoid", build) else { return };
    assert_eq!(differing, Vec::<String>::new());
    assert_eq!(built.constants(), constants_of("sigmoid"));
}

#[test]
fn convolution_is_the_compilers() {
    let build = |_: &Program<'_>| {
        let mut graph = Graph::new();
        let image = graph.input("image", Shape::new(3, 1, 1))?;
        let weights = [f16::from_f32(2.0); 9];
        let convolution = Convolution::new(3, (1, 1), Weights::Half(&weights));
        let product = graph.convolution(image, &convolution)?;
        graph.output("probs@output", product)?;
        graph.build()
    };
    let Some((differing, built)) = against("conv", build) else { return };
    assert_eq!(differing, Vec::<String>::new());
    assert_eq!(built.constants(), constants_of("conv"));
}

#[test]
fn gemm_differs_from_the_compilers_in_skew_only() {
    let build = |_: &Program<'_>| {
        let mut graph = Graph::new();
        let image = graph.input("image", Shape::new(512, 1, 1))?;
        let weights = vec![f16::ZERO; 512 * 512];
        let convolution = Convolution::new(512, (1, 1), Weights::Half(&weights));
        let product = graph.convolution(image, &convolution)?;
        graph.output("probs@output", product)?;
        graph.build()
    };
    let Some((differing, built)) = against("gemm", build) else { return };
    assert_eq!(differing, ["0 ResultBase", "0 ResultRowStride", "0 SourceRowStride"]);
    assert_eq!(built.constants().len(), 0x80000);
}

#[test]
fn concat_differs_from_the_compilers_in_hints_about_shared_places_only() {
    let build = |_: &Program<'_>| {
        let mut graph = Graph::new();
        let input_1 = graph.input("input_1", Shape::new(16, 1, 1))?;
        let input_0 = graph.input("input_0", Shape::new(16384, 1, 1))?;
        let both = graph.concat(&[input_0, input_1], Axis::Channels)?;
        graph.output("output@output", both)?;
        graph.build()
    };
    let Some((differing, _)) = against("concat", build) else { return };
    // The compiler's second task does not say that it shares its place with planar operands.
    assert_eq!(differing, ["1 ResultCfg", "1 SourceCfg"]);
}
