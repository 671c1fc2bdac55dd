//! Normalisations and softmax over any axes.

use super::super::concat::Axis;
use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use super::{Layer, Setting, places};
use crate::model::Why;
use crate::model::network::{Operation, ValueId};

/// The values of what scales a result and what is added, if they are given.
fn rest(values: &[ValueId], has_scale: bool) -> (Option<ValueId>, Option<ValueId>) {
    let (scale, offset) = values.split_at(usize::from(has_scale).min(values.len()));
    (scale.first().copied(), offset.first().copied())
}

impl Graph {
    /// Each element less the mean over these axes, over the deviation; times `scale`, plus `offset`, which stretch.
    ///
    /// # Errors
    ///
    /// Refuses factors or addends that do not stretch to the tensor.
    ///
    /// # Examples
    ///
    /// Over the channels of each pixel, as transformers on this engine have it:
    ///
    /// ```
    /// use ane::build::{Axis, Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(64, 1, 16))?;
    /// let y = graph.layer_norm_over(x, &[Axis::Channels], None, None, 1e-5)?;
    /// assert_eq!(graph.shape(y)?, Shape::new(64, 1, 16));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn layer_norm_over(
        &mut self,
        x: Tensor,
        axes: &[Axis],
        scale: Option<Tensor>,
        offset: Option<Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        self.normalised("layer norm", x, axes, (scale, offset), (epsilon, true))
    }

    /// Each element over the root of the mean of squares over these axes; times `scale`, which stretches.
    ///
    /// # Errors
    ///
    /// Refuses factors that do not stretch to the tensor.
    pub fn rms_norm(
        &mut self,
        x: Tensor,
        axes: &[Axis],
        scale: Option<Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        self.normalised("rms norm", x, axes, (scale, None), (epsilon, false))
    }

    fn normalised(
        &mut self,
        name: &'static str,
        x: Tensor,
        axes: &[Axis],
        (scale, offset): (Option<Tensor>, Option<Tensor>),
        (epsilon, centre): (f64, bool),
    ) -> Result<Tensor> {
        let operands: Vec<Tensor> = [Some(x), scale, offset].into_iter().flatten().collect();
        self.layer(name, &operands, |layer, values| {
            let (scale, offset) = rest(&values[1..], scale.is_some());
            let normal = layer.compose().normalised(values[0], places(axes), epsilon, centre)?;
            scaled(layer, values[0], normal, scale, offset)
        })
    }

    /// Group norm: mean and deviation of so many groups of channels; times `scale`, plus `offset`, which stretch.
    ///
    /// # Errors
    ///
    /// Refuses groups that do not divide the channels, and factors or addends that do not stretch.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(32, 8, 8))?;
    /// let y = graph.group_norm(x, 4, None, None, 1e-5)?;
    /// assert_eq!(graph.shape(y)?, Shape::new(32, 8, 8));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn group_norm(
        &mut self,
        x: Tensor,
        groups: u32,
        scale: Option<Tensor>,
        offset: Option<Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        let operands: Vec<Tensor> = [Some(x), scale, offset].into_iter().flatten().collect();
        self.layer("group norm", &operands, |layer, values| {
            let (scale, offset) = rest(&values[1..], scale.is_some());
            let dims = layer.network.dims(values[0]).to_vec();
            let normal = layer.compose().normalised_groups(values[0], groups as usize, epsilon)?;
            let normal = layer.add(Operation::Reshape(dims), &[normal])?;
            scaled(layer, values[0], normal, scale, offset)
        })
    }

    /// Softmax along an axis.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    pub fn softmax_over(&mut self, x: Tensor, axis: Axis) -> Result<Tensor> {
        self.layer("softmax", &[x], |layer, values| Ok(layer.compose().softmax(values[0], axis.place())?))
    }

    /// The natural logarithm of softmax along an axis.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    pub fn log_softmax(&mut self, x: Tensor, axis: Axis) -> Result<Tensor> {
        let settings = [("axis", Setting::Integer(axis.place() as i64))];
        self.layer("log softmax", &[x], |layer, values| layer.operator("LogSoftmax", values, &settings))
    }
}

/// The result times a factor, plus an addend; neither may make it larger than the operand.
fn scaled(
    layer: &mut Layer<'_>,
    x: ValueId,
    normal: ValueId,
    scale: Option<ValueId>,
    offset: Option<ValueId>,
) -> Result<ValueId, Why> {
    let result = layer.compose().scaled(normal, scale, offset)?;
    let dims = layer.network.dims(x).to_vec();
    // A reshape to the extents of the operand does nothing, and refuses a result of other extents.
    layer.add(Operation::Reshape(dims), &[result])
}
