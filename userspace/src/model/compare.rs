//! The engine beside double precision, layer by layer, and where a difference comes from.
//!
//! Each layer is looked at twice: how far the engine is off after all layers before it, and how far off it is from what
//! double precision makes of the operands that the engine itself had. The latter is the layer's own doing.

use half::f16;
use serde::{Serialize, Serializer};

use super::compile::{Compiled, Port, build};
use super::error::ModelError;
use super::execute::execute;
use super::limits::MASK;
use super::network::array::elements;
use super::network::evaluate::evaluate;
use super::network::operation::{Convolution, JoinKind, Linear, Operation, Post};
use super::network::{Array, Fault, Network};
use crate::container::Axes;
use crate::device::Device;
use crate::session;
use crate::tensor::Tensor;

/// Layers whose results are looked at in one run: surfaces are few.
const LAYERS_EACH: usize = 16;

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
}

/// Compares every layer of a compiled model.
///
/// # Errors
///
/// [`CompareError`].
pub fn compare(device: &Device, compiled: &Compiled, inputs: &[Array]) -> Result<Vec<Layer>, CompareError> {
    let network = &compiled.network;
    let mut exact: Vec<Option<Array>> = network.values.iter().map(|value| value.constant.clone()).collect();
    let mut seen = exact.clone();
    for ((_, value), array) in network.inputs.iter().zip(inputs) {
        let halves = array.map(|value| f16::from_f64(value).to_f64());
        exact[*value] = Some(halves.clone());
        seen[*value] = Some(halves);
    }
    for nodes in (0..network.nodes.len()).collect::<Vec<_>>().chunks(LAYERS_EACH) {
        let mut part: Network = network.clone();
        part.outputs =
            nodes.iter().map(|&node| (format!("layer{node}"), network.nodes[node].output)).collect();
        let part = build(part)?;
        // Inputs that no layer of this part reads are surfaces all the same.
        let results = execute(device, &part, inputs)?;
        for (&node, result) in nodes.iter().zip(results) {
            seen[network.nodes[node].output] = Some(result);
        }
    }
    let mut layers = Vec::new();
    for node in &network.nodes {
        let of = |values: &[Option<Array>]| -> Result<Array, Fault> {
            let operands: Vec<&Array> =
                node.inputs.iter().filter_map(|&input| values[input].as_ref()).collect();
            evaluate(&node.operation, &operands)
        };
        let (whole, own) = (of(&exact)?, of(&seen)?);
        let result = seen[node.output].clone().unwrap_or_else(|| whole.clone());
        let difference = worst(&result, &own);
        let store = worst(&own.map(|value| f16::from_f64(value).to_f64()), &own);
        layers.push(Layer {
            name: node.name.clone(),
            operation: node.operation.name(),
            dims: network.dims(node.output).to_vec(),
            largest: whole.values().iter().fold(0.0, |largest, value| value.abs().max(largest)),
            so_far: worst(&result, &whole),
            own: difference,
            source: source(&node.operation, difference, store),
        });
        exact[node.output] = Some(whole);
    }
    Ok(layers)
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
    let is_mask = |value: f64| f16::from_f64(value).to_f64() <= MASK;
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
        Operation::Window(window) if !window.maximum => Source::Accumulator,
        _ => Source::Passes,
    }
}
