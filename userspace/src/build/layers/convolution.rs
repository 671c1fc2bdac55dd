//! Convolutions that the array has no registers for: kernels with holes, and transposed ones.

use half::f16;

use super::super::convolution::{Channels, Convolution, Weights, divides};
use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use super::super::pass::{Nonlinearity, Tail};
use super::{Layer, Setting, moving, pads};
use crate::model::Why;
use crate::model::network::operation::Map;
use crate::model::network::{Operation, ValueId};

impl Graph {
    /// A convolution whose taps lie `dilation` columns and rows apart, with any stride and padding.
    ///
    /// Zeros fill the kernel's holes, or its taps become channels, whichever is less work. Padding as wide as the kernel is copied around
    /// the tensor. For a stride above 3 the taps become channels, or what lies between the outputs is computed and left out.
    ///
    /// # Errors
    ///
    /// Refuses what [`convolution`](Self::convolution) refuses, but for strides and padding; and tails other than ReLU.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Convolution, Graph, Padding, Shape, Weights};
    /// use half::f16;
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(4, 16, 16))?;
    /// let weights = [f16::ONE; 8 * 4 * 9];
    /// let kernel = Convolution::new(8, (3, 3), Weights::Half(&weights));
    /// let y = graph.dilated_convolution(x, &Convolution { padding: Padding::all(2), ..kernel }, (2, 2))?;
    /// assert_eq!(graph.shape(y)?, Shape::new(8, 16, 16));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn dilated_convolution(
        &mut self,
        x: Tensor,
        convolution: &Convolution<'_>,
        dilation: (u32, u32),
    ) -> Result<Tensor> {
        self.layer("dilated convolution", &[x], |layer, values| {
            let [channels, ..] = layer.extents(values[0]);
            let groups = groups(convolution, channels);
            let (outputs, (columns, rows)) = (convolution.outputs as usize, convolution.kernel);
            check_groups("dilated convolution", groups, [channels, outputs])?;
            let dims = vec![outputs, channels / groups.max(1), rows as usize, columns as usize];
            let operands = operands(layer, values[0], convolution, dims)?;
            let y = layer.operator("Conv", &operands, &settings(convolution, groups, dilation))?;
            relu(layer, y, convolution.tail)
        })
    }

    /// A transposed convolution: each element of `x` adds the kernel, times it, to the result.
    ///
    /// Weights are `[inputs, outputs / groups, rows, columns]`; `padding` is cut off the result, and `more` columns and
    /// rows come behind it. Zeros lie between the elements of `x`, and a convolution goes over it.
    ///
    /// # Errors
    ///
    /// Refuses groups that do not divide channels, more padding than there is, and tails other than ReLU.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Convolution, Graph, Shape, Weights};
    /// use half::f16;
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(4, 8, 8))?;
    /// let weights = [f16::ONE; 4 * 8 * 4];
    /// let kernel = Convolution { stride: (2, 2), ..Convolution::new(8, (2, 2), Weights::Half(&weights)) };
    /// let y = graph.transposed_convolution(x, &kernel, (1, 1), (0, 0))?;
    /// assert_eq!(graph.shape(y)?, Shape::new(8, 16, 16));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn transposed_convolution(
        &mut self,
        x: Tensor,
        convolution: &Convolution<'_>,
        dilation: (u32, u32),
        more: (u32, u32),
    ) -> Result<Tensor> {
        self.layer("transposed convolution", &[x], |layer, values| {
            let [channels, ..] = layer.extents(values[0]);
            let groups = groups(convolution, channels);
            let (outputs, (columns, rows)) = (convolution.outputs as usize, convolution.kernel);
            check_groups("transposed convolution", groups, [channels, outputs])?;
            let dims = vec![channels, outputs / groups.max(1), rows as usize, columns as usize];
            let operands = operands(layer, values[0], convolution, dims)?;
            let mut settings = settings(convolution, groups, dilation);
            settings.push(("output_padding", moving(more)));
            let y = layer.operator("ConvTranspose", &operands, &settings)?;
            relu(layer, y, convolution.tail)
        })
    }
}

const fn groups(convolution: &Convolution<'_>, channels: usize) -> usize {
    match convolution.channels {
        Channels::Dense => 1,
        Channels::Grouped(groups) => groups as usize,
        // An output for so many channels of its own.
        Channels::Unicast(reads) => match reads {
            0 => 0,
            reads => channels / reads as usize,
        },
    }
}

/// Refuses groups that do not divide the inputs and the outputs: there would be fewer of them than asked for.
fn check_groups(operation: &'static str, groups: usize, channels: [usize; 2]) -> Result<()> {
    // All come from numbers of 32 bits.
    channels.iter().try_for_each(|&count| divides(operation, "groups", groups as u32, count as u32))
}

fn settings(
    convolution: &Convolution<'_>,
    groups: usize,
    dilation: (u32, u32),
) -> Vec<(&'static str, Setting)> {
    vec![
        ("strides", moving(convolution.stride)),
        ("dilations", moving(dilation)),
        ("pads", pads(convolution.padding)),
        ("group", Setting::Integer(groups as i64)),
    ]
}

/// The tensor, the weights, and the bias if there is one.
fn operands(
    layer: &mut Layer<'_>,
    x: ValueId,
    convolution: &Convolution<'_>,
    dims: Vec<usize>,
) -> Result<Vec<ValueId>, Why> {
    if convolution.engines.or(convolution.lanes).is_some() {
        return Err(Why::Mode("engines and lanes are those of one task, not of several".to_owned()));
    }
    let x = if convolution.input_relu { layer.add(Operation::Map(Map::Relu), &[x])? } else { x };
    let weights = match convolution.weights {
        Weights::Half(values) => layer.halves(dims, values)?,
        Weights::Bytes(values) => {
            let halves: Vec<f16> = values.iter().map(|&value| f16::from_f32(value.into())).collect();
            layer.halves(dims, &halves)?
        }
    };
    let bias = convolution.bias.map(|bias| layer.halves(vec![convolution.outputs as usize], bias));
    Ok([x, weights].into_iter().chain(bias.transpose()?).collect())
}

/// ReLU behind the convolution, where the tail says so.
fn relu(layer: &mut Layer<'_>, y: ValueId, tail: Tail) -> Result<ValueId, Why> {
    let plain = Tail { nonlinearity: Nonlinearity::None, ..tail };
    if plain != Tail::NONE || matches!(tail.nonlinearity, Nonlinearity::Table(_)) {
        return Err(Why::Mode("a tail other than ReLU comes behind one task, not behind several".to_owned()));
    }
    match tail.nonlinearity {
        Nonlinearity::Relu => layer.add(Operation::Map(Map::Relu), &[y]),
        _ => Ok(y),
    }
}
