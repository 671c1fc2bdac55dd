//! Layers: operations that the engine has no pass for, as the model compiler makes them of several.
//!
//! A layer is described as a small network whose inputs are tensors of the graph, and lowered onto the graph by the
//! code that lowers whole models ([`crate::model`]); so an operation is the same tasks wherever it is asked for.
//! Tensors are one image: channels, rows and columns are axes 1, 2 and 3, and axis 0 is the batch of one.
//!
//! * `functions`: of each element; comparisons and choices.
//! * `arrange`: parts, tiles, axes in another order.
//! * `window`: pooling.
//! * `convolution`: dilated and transposed.
//! * `reduce`: over any axes.
//! * `norm`: normalisations and softmax over any axes.
//! * `product`: batches of matrix products, and attention.

mod arrange;
mod convolution;
mod functions;
mod norm;
mod product;
mod reduce;
mod window;

use half::f16;

pub use arrange::{Edge, Sides};
pub use functions::Comparison;
pub use reduce::Statistic;
pub use window::Pool;

use super::concat::Axis;
use super::error::{BuildError, Result};
use super::graph::{Graph, Tensor};
use super::shape::Shape;
use crate::model::network::compose::Compose;
use crate::model::network::{Array, Kind, Network, Operation, ValueId};
use crate::model::onnx::operators::{Setting, apply};
use crate::model::{self, Why};

/// The network of one layer.
struct Layer<'a> {
    network: &'a mut Network,
    name: &'static str,
    graph: &'a Graph,
}

impl Layer<'_> {
    fn compose(&mut self) -> Compose<'_> {
        Compose { network: self.network, name: self.name }
    }

    fn add(&mut self, operation: Operation, inputs: &[ValueId]) -> Result<ValueId, Why> {
        Ok(self.compose().add(operation, inputs)?)
    }

    /// The result of an operator of ONNX.
    fn operator(
        &mut self,
        operator: &str,
        inputs: &[ValueId],
        settings: &[(&str, Setting)],
    ) -> Result<ValueId, Why> {
        let inputs = inputs.iter().copied().map(Some).collect();
        let made = apply(self.network, self.name, operator, inputs, settings, 1)?;
        made.first().copied().ok_or(Why::Operation)
    }

    /// A constant of halves.
    fn halves(&mut self, dims: Vec<usize>, values: &[f16]) -> Result<ValueId, Why> {
        // Each is a double while the layer is made.
        self.graph.check_room((size_of_val(values) as u64).saturating_mul(4))?;
        let array = Array::new(dims, values.iter().map(|value| value.to_f64()).collect())?;
        Ok(self.network.constant(self.name, array, Kind::Real))
    }

    fn scalar(&mut self, value: f64) -> ValueId {
        self.network.constant(self.name, Array::scalar(value), Kind::Real)
    }

    /// A list of whole numbers.
    fn list(&mut self, values: impl IntoIterator<Item = i64>) -> ValueId {
        let array = Array::list(values.into_iter().map(|value| value as f64));
        self.network.constant(self.name, array, Kind::Integer)
    }

    /// Channels, rows and columns.
    fn extents(&self, value: ValueId) -> [usize; 3] {
        match *self.network.dims(value) {
            [_, c, h, w] => [c, h, w],
            _ => [0; 3],
        }
    }
}

impl Graph {
    /// Adds the layer that `describe` makes of the values of `operands`.
    fn layer(
        &mut self,
        name: &'static str,
        operands: &[Tensor],
        describe: impl FnOnce(&mut Layer<'_>, &[ValueId]) -> Result<ValueId, Why>,
    ) -> Result<Tensor> {
        let mut network = Network::default();
        let mut values = Vec::new();
        for (index, &operand) in operands.iter().enumerate() {
            let dims = dims(self.shape(operand)?);
            let input = network.input(&index.to_string(), dims, Kind::Real);
            values.push(input.map_err(|why| refused(name, why.into()))?);
        }
        let mark = self.mark();
        let described = describe(&mut Layer { network: &mut network, name, graph: self }, &values);
        let made = described.and_then(|result| model::onto(self, &network, operands, result));
        made.map_err(|why| {
            self.rewind(mark);
            refused(name, why)
        })
    }
}

fn refused(operation: &'static str, why: Why) -> BuildError {
    match why {
        Why::Build(why) => why,
        why => BuildError::Layer { operation, why: why.to_string() },
    }
}

fn dims(Shape { c, h, w }: Shape) -> Vec<usize> {
    vec![1, c as usize, h as usize, w as usize]
}

impl Axis {
    /// Its place among batch, channels, rows and columns.
    const fn place(self) -> usize {
        match self {
            Self::Channels => 1,
            Self::Rows => 2,
            Self::Columns => 3,
        }
    }
}

/// The places of axes, rising, each once.
fn places(axes: &[Axis]) -> Vec<usize> {
    let mut places: Vec<usize> = axes.iter().map(|axis| axis.place()).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Two numbers that are given as columns and rows, in the order of the axes.
fn moving((columns, rows): (u32, u32)) -> Setting {
    Setting::Integers(vec![rows.into(), columns.into()])
}

/// Zeros before all axes, then behind them.
fn pads(padding: super::Padding) -> Setting {
    let super::Padding { left, right, top, bottom } = padding;
    Setting::Integers([top, left, bottom, right].map(i64::from).to_vec())
}
