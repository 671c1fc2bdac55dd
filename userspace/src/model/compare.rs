//! The engine beside double precision, layer by layer, and where a difference comes from.
//!
//! Each layer is looked at twice: how far the engine is off after all layers before it, and how far off it is from what
//! double precision makes of the operands that the engine itself had. The latter is the layer's own doing.
//!
//! A program has few surfaces. So the layers run in parts, some of them at a time, with the results of the parts before as inputs: each
//! layer runs once. A result is forgotten behind the last layer that reads it.

use serde::{Serialize, Serializer};

use super::compile::{Compiled, Port, build};
use super::error::ModelError;
use super::execute::execute;
use super::limits::MASK;
use super::network::array::elements;
use super::network::evaluate::evaluate;
use super::network::operation::{Convolution, JoinKind, Linear, Operation, Post};
use super::network::part::Part;
use super::network::{Array, Fault, Network, Node};
use crate::container::Axes;
use crate::container::anec::SURFACES_MAX;
use crate::device::Device;
use crate::session;
use crate::tensor::{Tensor, nearest_half};

/// Elements of all results of a part, at most: 128 MB of doubles.
const ELEMENTS: usize = 1 << 24;

/// Where most of a layer's own difference comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// There is none.
    Exact,
    /// The result's rounding to a half.
    Store,
    /// The array's accumulator, which counts in units of 2^-16.
    Accumulator,
    /// A table of 33 knots.
    Table,
    /// Halves that are rounded between the passes of one layer.
    Passes,
}

impl Source {
    /// The words for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "none",
            Self::Store => "fp16 store",
            Self::Accumulator => "accumulator grid",
            Self::Table => "table",
            Self::Passes => "fp16 between passes",
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A layer beside double precision. In JSON, `null` is a difference without bounds.
#[derive(Clone, Debug, Serialize)]
pub struct Layer {
    pub name: String,
    pub operation: &'static str,
    /// Extents of its result.
    #[serde(rename = "shape")]
    pub dims: Vec<usize>,
    /// The largest element in double precision.
    pub largest: f64,
    /// The largest difference after all layers so far.
    pub so_far: f64,
    /// The largest difference of this layer alone.
    pub own: f64,
    /// Where most of that comes from.
    pub source: Source,
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// It could not be compiled.
    #[error(transparent)]
    Compile(#[from] ModelError),
    /// It could not be run.
    #[error(transparent)]
    Run(#[from] session::Error),
    /// It makes no sense.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The caller wants it no more.
    #[error("comparison was stopped")]
    Stopped,
}

/// Compares every layer of a compiled model.
///
/// # Errors
///
/// [`CompareError`].
pub fn compare(device: &Device, compiled: &Compiled, inputs: &[Array]) -> Result<Vec<Layer>, CompareError> {
    compare_until(device, compiled, inputs, || false)
}

/// The same, until `is_stopped` says so: it is asked before each run and each layer.
///
/// # Errors
///
/// [`CompareError`].
pub fn compare_until(
    device: &Device,
    compiled: &Compiled,
    inputs: &[Array],
    is_stopped: impl Fn() -> bool,
) -> Result<Vec<Layer>, CompareError> {
    let go_on = || if is_stopped() { Err(CompareError::Stopped) } else { Ok(()) };
    let network = &compiled.network;
    let mut exact: Vec<Option<Array>> = network.values.iter().map(|value| value.constant.clone()).collect();
    let mut seen = exact.clone();
    for ((_, value), array) in network.inputs.iter().zip(inputs) {
        let halves = array.map(|value| nearest_half(value).to_f64());
        exact[*value] = Some(halves.clone());
        seen[*value] = Some(halves);
    }
    let mut last_read = vec![0; network.values.len()];
    for (index, node) in network.nodes.iter().enumerate() {
        node.inputs.iter().for_each(|&input| last_read[input] = index);
    }
    let mut layers = Vec::new();
    while let Some(first) = network.nodes.get(layers.len()) {
        go_on()?;
        let results = match first.operation {
            Operation::Concat(axis) if first.inputs.len() >= SURFACES_MAX => {
                vec![concatenated(device, network, first, axis, &seen)?]
            }
            _ => run(device, Part::of(network, layers.len(), SURFACES_MAX, ELEMENTS), &seen)?,
        };
        for result in results {
            go_on()?;
            let Some(node) = network.nodes.get(layers.len()) else { break };
            let (layer, whole) = beside(network, node, &result, &exact, &seen)?;
            exact[node.output] = Some(whole);
            seen[node.output] = Some(result);
            for &input in node.inputs.iter().filter(|&&input| last_read[input] == layers.len()) {
                (exact[input], seen[input]) = (None, None);
            }
            layers.push(layer);
        }
    }
    Ok(layers)
}

/// A layer whose result on the engine is `result`, and its result in double precision after all layers so far.
fn beside(
    network: &Network,
    node: &Node,
    result: &Array,
    exact: &[Option<Array>],
    seen: &[Option<Array>],
) -> Result<(Layer, Array), Fault> {
    let of = |values: &[Option<Array>]| -> Result<Array, Fault> {
        let operands: Vec<&Array> = node.inputs.iter().filter_map(|&input| values[input].as_ref()).collect();
        evaluate(&node.operation, &operands)
    };
    let (whole, own) = (of(exact)?, of(seen)?);
    let difference = worst(result, &own);
    let store = worst(&own.map(|value| nearest_half(value).to_f64()), &own);
    let layer = Layer {
        name: node.name.clone(),
        operation: node.operation.name(),
        dims: network.dims(node.output).to_vec(),
        largest: whole.values().iter().fold(0.0, |largest, value| value.abs().max(largest)),
        so_far: worst(result, &whole),
        own: difference,
        source: source(&node.operation, difference, store),
    };
    Ok((layer, whole))
}

/// The results of a part, whose inputs are filled with what the engine made before.
fn run(device: &Device, part: Part, seen: &[Option<Array>]) -> Result<Vec<Array>, CompareError> {
    let inputs: Vec<Array> = part.filled_by.iter().filter_map(|&value| seen[value].clone()).collect();
    Ok(execute(device, &build(part.network)?, &inputs)?)
}

/// The result of a concatenation that has more operands than a program has surfaces: some of them at a time.
fn concatenated(
    device: &Device,
    network: &Network,
    node: &Node,
    axis: usize,
    seen: &[Option<Array>],
) -> Result<Array, CompareError> {
    let (kind, mut pieces) = (network.values[node.output].kind, Vec::new());
    for operands in node.inputs.chunks(SURFACES_MAX - 1) {
        let mut part = Part::default();
        let operands: Vec<_> = operands.iter().map(|&operand| part.value(network, operand)).collect();
        let piece = part.network.add(&node.name, Operation::Concat(axis), &operands, kind)?;
        match part.network.known(piece) {
            Some(known) => pieces.push(known.clone()),
            None => {
                part.output(piece);
                pieces.append(&mut run(device, part, seen)?);
            }
        }
    }
    Ok(evaluate(&node.operation, &pieces.iter().collect::<Vec<_>>())?)
}

/// Numbers between -1 and 1 for an input without an array: each seed has its own.
///
/// # Errors
///
/// [`Fault`], for more elements than arrays have.
pub fn random(dims: &[usize], seed: u64) -> Result<Array, Fault> {
    let count = elements(dims)?;
    let wide = u32::try_from(count).map_err(|_| Fault::Elements { dims: dims.to_vec() })?;
    let values = Tensor::random(Axes { n: 1, c: 1, h: 1, w: wide }, seed).into_values();
    Array::new(dims.to_vec(), values.iter().map(|value| value.to_f64()).collect())
}

/// Random values for an input: of whole numbers 0 and 1, which every table and every mask has, else as [`random`].
///
/// # Errors
///
/// As of [`random`].
pub fn random_for(compiled: &Compiled, port: &Port, seed: u64) -> Result<Array, Fault> {
    let values = random(&port.dims, seed)?;
    let is_whole = compiled.network.whole_inputs().any(|name| name == port.name);
    Ok(if is_whole { values.map(|value| f64::from(u8::from(value > 0.0))) } else { values })
}

/// The largest difference of two arrays. Masks are not compared.
pub fn worst(a: &Array, b: &Array) -> f64 {
    // A sum of a mask and a score is stored as the mask.
    let is_mask = |value: f64| nearest_half(value).to_f64() <= MASK;
    let is_same = |a: f64, b: f64| a == b || is_mask(a) && is_mask(b);
    let apart =
        a.values().iter().zip(b.values()).map(|(&a, &b)| if is_same(a, b) { 0.0 } else { (a - b).abs() });
    apart.fold(0.0, |worst, apart| if apart.is_nan() { f64::INFINITY } else { apart.max(worst) })
}

fn source(operation: &Operation, difference: f64, store: f64) -> Source {
    if difference == 0.0 {
        return Source::Exact;
    }
    // Rounding half away from zero is as far off as rounding half to even.
    if difference <= store * 1.001 {
        return Source::Store;
    }
    match operation {
        Operation::Map(map)
        | Operation::Convolution(Convolution { activation: Some(map), .. })
        | Operation::Linear(Linear { activation: Some(map), .. })
            if map.is_table() =>
        {
            Source::Table
        }
        Operation::Join(join) if matches!(join.kind, JoinKind::Divide | JoinKind::Power) => Source::Table,
        Operation::Reduce(reduce) if reduce.post != Post::None => Source::Table,
        Operation::Convolution(_) | Operation::Product | Operation::Linear(_) => Source::Accumulator,
        Operation::Window(window) if !(window.maximum || window.of_squares) => Source::Accumulator,
        _ => Source::Passes,
    }
}
