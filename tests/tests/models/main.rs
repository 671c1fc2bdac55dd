//! Models: compiled, run on the embedded device, and compared with double precision.
//!
//! * [`activations`]: functions of each element behind a convolution.
//! * [`agree`]: those that agree.
//! * [`beyond`]: sums whose parts leave the range of the array or of halves.
//! * [`contradicted`]: operators that the standard does not have so.
//! * [`empty`]: tensors without elements.
//! * [`hostile`]: those that ask for numbers or work without bounds.
//! * [`indexed`]: rows of tables by indices that the run is given.
//! * [`kernels`]: kernels for which the array has no room.
//! * [`opsets`]: operators of earlier versions.
//! * [`placed`]: parts that known indices pick or put.
//! * [`products`]: what follows a matrix product.
//! * [`quantized`]: those of few bits.
//! * [`ranges`]: those whose numbers lie below zero or beyond halves.
//! * [`refused`]: those that are refused.
//! * [`resized`]: images whose elements are repeated or left out.
//! * [`simplified`]: those that have fewer layers than they were written with.
//! * [`sizes`]: those whose tensors are larger than the chip.
//! * [`stretched`]: operands that are repeated along one axis together.
//! * [`waves`]: sine and cosine.
//! * [`whole_models`]: those of published sizes, held against onnxruntime.
//! * [`wholes`]: whole numbers that the run computes, and computed weights.

mod activations;
mod agree;
mod beyond;
mod contradicted;
mod empty;
mod hostile;
mod indexed;
mod kernels;
mod opsets;
mod placed;
mod products;
mod quantized;
mod ranges;
mod refused;
mod resized;
mod simplified;
mod sizes;
mod stretched;
mod waves;
mod whole_models;
mod wholes;

use ane::device::{Device, Location};
use ane::model::compare::worst;
use ane::model::network::evaluate::evaluate;
use ane::model::network::{Array, Network};
use ane::model::{Compiled, ModelError, Options, compile, execute};
use ane_tests::model::Attribute::{self, Integer};
use ane_tests::model::Onnx;
use ane_tests::random::Random;

fn device() -> Device {
    Device::open(&Location::Embedded, &ane_device::Options::default()).expect("an embedded device")
}

fn compiled(model: &[u8]) -> Compiled {
    compile(model, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Values between -1 and 1, the same for each seed.
fn random(dims: &[usize], seed: u64) -> Array {
    let mut random = Random::new(seed);
    let array = Array::from_fn(dims.to_vec(), |_| half::f16::from_f32(random.unit()).to_f64());
    array.expect("a test's extents are small")
}

/// The network's results in double precision.
fn exact(network: &Network, inputs: &[Array]) -> Vec<Array> {
    let mut values: Vec<Option<Array>> = network.values.iter().map(|value| value.constant.clone()).collect();
    for ((_, value), array) in network.inputs.iter().zip(inputs) {
        values[*value] = Some(array.clone());
    }
    for node in &network.nodes {
        let operands: Vec<&Array> = node.inputs.iter().filter_map(|&input| values[input].as_ref()).collect();
        let result =
            evaluate(&node.operation, &operands).unwrap_or_else(|fault| panic!("{}: {fault}", node.name));
        values[node.output] = Some(result);
    }
    network.outputs.iter().map(|(_, value)| values[*value].clone().expect("a result")).collect()
}

/// The largest difference of a model's results, and the largest element.
fn difference(model: &[u8]) -> (f64, f64) {
    let compiled = compiled(model);
    let inputs: Vec<Array> =
        (1..).zip(&compiled.inputs).map(|(seed, port)| random(&port.dims, seed)).collect();
    let seen = execute(&device(), &compiled, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let wanted = exact(&compiled.network, &inputs);
    let worst = seen.iter().zip(&wanted).map(|(seen, wanted)| worst(seen, wanted)).fold(0.0, f64::max);
    let largest = wanted
        .iter()
        .flat_map(|array| array.values())
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    (worst, largest)
}

fn problems(model: &[u8]) -> Vec<ane::model::Problem> {
    match compile(model, &Options::default()) {
        Err(ModelError::Problems(problems)) => problems,
        other => panic!("not refused so: {other:?}"),
    }
}

/// Extents and numbers.
type Constant<'a> = (&'a [i64], &'a [i64]);

const SQUARE: Constant<'_> = (&[2, 2], &[1, 2, 3, 4]);

/// A model that adds to its operand what an operator makes of constants.
fn of_constants(
    operator: &str,
    constants: &[Constant<'_>],
    attributes: &[(&str, Attribute)],
    dims: &[i64],
) -> Vec<u8> {
    let mut net = Onnx::new(1);
    let x = net.input("x", dims);
    let mut operands = Vec::new();
    for (i, (extents, numbers)) in constants.iter().enumerate() {
        let (list, shape) = (net.integers(numbers), net.integers(extents));
        operands.push(format!("constant{i}"));
        net.node_to("Reshape", &[&list, &shape], &operands[i], &[]);
    }
    let names: Vec<&str> = operands.iter().map(String::as_str).collect();
    net.node_to(operator, &names, "made", attributes);
    net.node_to("Cast", &["made"], "cast", &[("to", Integer(1))]);
    net.node_to("Add", &[&x, "cast"], "y", &[]);
    net.output("y", dims);
    net.finish()
}
