//! Convolution with constant coefficients, which includes matrix products.

use std::ops::Range;

use ane_uapi::hw::td::neural::{KernelFormat, OpMode};
use half::f16;

use super::coefficients::{Division, pack_groups, with_table};
use super::error::{BuildError, Limit, Result};
use super::graph::{Graph, Tensor, View, length};
use super::pass::{Coefficients, Kernel, Neural, Nonlinearity, Pass, Tail};
use super::shape::Shape;
use super::tiling::{Part, Sizes};

#[derive(Clone, Copy, Debug)]
pub struct Convolution<'a> {
    pub outputs: u32,
    /// Columns and rows of the kernel, 1 to 31 each.
    pub kernel: (u32, u32),
    /// Columns and rows that the kernel moves, 1 to 3 each. Deviation: inferred above 1.
    pub stride: (u32, u32),
    /// Zeros around the input. Deviation: inferred unless 0.
    pub padding: Padding,
    pub channels: Channels,
    /// The coefficients, for each output channel those of its input channels, each row by row.
    pub weights: Weights<'a>,
    /// A bias for each output channel. Deviation: inferred, its place in the pipeline is.
    pub bias: Option<&'a [f16]>,
    /// The steps behind the accumulator; no table, because no source shows where that would lie.
    pub tail: Tail,
    pub input_relu: bool,
    /// Engines at work, a power of two to 16; chosen if not given.
    pub engines: Option<u32>,
    /// Output channels in one plane of coefficients, a power of two to 32; chosen if not given.
    pub lanes: Option<u32>,
}

impl<'a> Convolution<'a> {
    /// A dense convolution with stride 1 and nothing else.
    pub const fn new(outputs: u32, kernel: (u32, u32), weights: Weights<'a>) -> Self {
        Self {
            outputs,
            kernel,
            stride: (1, 1),
            padding: Padding::NONE,
            channels: Channels::Dense,
            weights,
            bias: None,
            tail: Tail::NONE,
            input_relu: false,
            engines: None,
            lanes: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Padding {
    pub left: u32,
    pub right: u32,
    pub top: u32,
    pub bottom: u32,
}

impl Padding {
    pub const NONE: Self = Self { left: 0, right: 0, top: 0, bottom: 0 };

    /// As many on every side.
    pub const fn all(zeros: u32) -> Self {
        Self { left: zeros, right: zeros, top: zeros, bottom: zeros }
    }
}

/// Which input channels an output channel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    Dense,
    /// Those of its group, of which there are so many.
    Grouped(u32),
    /// So many, from its own number times that many on; one in a depthwise convolution.
    Unicast(u32),
}

impl Channels {
    /// Those of so many groups.
    ///
    /// Where each output has channels of its own, one task does all groups, of which there may be more than a register counts.
    ///
    /// ```
    /// use ane::build::Channels;
    ///
    /// assert_eq!(Channels::of_groups(1, 32, 64), Channels::Dense);
    /// assert_eq!(Channels::of_groups(4, 32, 64), Channels::Grouped(4));
    /// assert_eq!(Channels::of_groups(32, 32, 32), Channels::Unicast(1));
    /// ```
    pub const fn of_groups(groups: u32, inputs: u32, outputs: u32) -> Self {
        match groups {
            1 => Self::Dense,
            0 => Self::Grouped(0),
            groups => {
                let reads = inputs / groups;
                let is_own = outputs == groups && inputs.is_multiple_of(groups) && reads > 0;
                if is_own && reads as u64 <= Limit::UnicastChannels.max() {
                    Self::Unicast(reads)
                } else {
                    Self::Grouped(groups)
                }
            }
        }
    }

    /// How often a task is done for them.
    pub(super) const fn groups(self) -> u32 {
        match self {
            Self::Grouped(groups) => groups,
            Self::Dense | Self::Unicast(_) => 1,
        }
    }

    fn reads(self, inputs: u32, outputs: u32) -> Result<u32> {
        let operation = "convolution";
        match self {
            Self::Dense => Ok(inputs),
            Self::Grouped(groups) => {
                Limit::Groups.check(operation, groups)?;
                for value in [inputs, outputs] {
                    divides(operation, "groups", groups, value)?;
                }
                Ok(inputs / groups)
            }
            Self::Unicast(reads) => {
                Limit::UnicastChannels.check(operation, reads)?;
                let end = u64::from(reads) * u64::from(outputs);
                if end <= u64::from(inputs) {
                    return Ok(reads);
                }
                let end = u32::try_from(end).unwrap_or(u32::MAX);
                Err(BuildError::Slice { operation, axis: "channels", start: 0, end, extent: inputs })
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    Half(&'a [f16]),
    /// Unsigned bytes, each the number that it says.
    Bytes(&'a [u8]),
}

impl Weights<'_> {
    const fn len(self) -> usize {
        match self {
            Self::Half(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }
}

impl Graph {
    /// Convolves a tensor; in several tasks where an operand is larger than the pool holds.
    pub fn convolution(&mut self, input: Tensor, convolution: &Convolution<'_>) -> Result<Tensor> {
        let operation = "convolution";
        let first = self.view(input)?;
        let tail = convolution.tail;
        check(convolution)?;
        let output = output_shape(first.shape, convolution)?.check(operation)?;
        let result = self.intermediate(operation, output.transposed_if(tail.transpose))?;
        self.convolution_into(result, input, convolution)?;
        Ok(result)
    }

    /// The same into a tensor that is there already, or a part of it.
    pub(crate) fn convolution_into(
        &mut self,
        result: Tensor,
        input: Tensor,
        convolution: &Convolution<'_>,
    ) -> Result<()> {
        let operation = "convolution";
        let first = self.view(input)?;
        let &Convolution { outputs, tail, .. } = convolution;
        check(convolution)?;
        // Turned, the results of groups lie side by side in a row, where strides are multiples of 64 bytes.
        let groups = convolution.channels.groups();
        if tail.transpose && groups > 1 && !(outputs / groups).is_multiple_of(32) {
            let plain = Convolution { tail: Tail { transpose: false, ..tail }, ..*convolution };
            let straight = self.convolution(input, &plain)?;
            return self.pass_through_into(result, straight, Tail::NONE.transposed());
        }
        let output = output_shape(first.shape, convolution)?.check(operation)?;
        let reads = convolution.channels.reads(first.shape.c, outputs)?;
        let (width, height) = convolution.kernel;
        let taps = u64::from(reads) * u64::from(width) * u64::from(height);
        length(operation, "weights", convolution.weights.len(), taps * u64::from(outputs))?;
        if let Some(bias) = convolution.bias {
            length(operation, "biases", bias.len(), outputs.into())?;
        }

        let layer =
            Sizes { input: first.shape, output, coefficient_bytes: convolution.weights.size() * taps };
        let all_outputs = layer.outputs(&self.hierarchy, convolution);
        let all_rows: Vec<_> = layer.rows(&self.hierarchy, convolution).collect();
        let part =
            |outputs: &Range<u32>, rows: &Range<u32>| Part::of(convolution, first.shape, outputs, rows);
        let mut kept = None;
        for (index, outputs) in all_outputs.iter().enumerate() {
            let tile = Convolution {
                outputs: outputs.end - outputs.start,
                weights: convolution.weights.of(outputs, taps),
                bias: convolution.bias.map(|bias| &bias[outputs.start as usize..outputs.end as usize]),
                ..*convolution
            };
            let tile = Convolution { channels: part(outputs, &(0..1)).groups, ..tile };
            let each = tile.outputs / tile.channels.groups();
            // Planes are those of one group, and so are lanes.
            let given = tile.lanes.map(|lanes| match convolution.channels {
                Channels::Grouped(_) => lanes.min(1 << each.trailing_zeros()),
                Channels::Dense | Channels::Unicast(_) => lanes,
            });
            let mut division = Division::choose(each, given, tile.engines);
            divides(operation, "lanes", division.lanes, each)?;
            if tile.channels.groups() > 1 && tile.engines.is_none() {
                let rows = reads * width * height + u32::from(tile.bias.is_some());
                division =
                    division.showing_padding(each, convolution.weights.size() as u32 * rows * division.lanes);
            }
            let coefficients = self.store_coefficients(&tile, division)?;
            for rows in &all_rows {
                let next = all_outputs.get(index + 1).map(|next| part(next, rows).channels);
                let part = part(outputs, rows);
                let is_shared = all_rows.len() == 1 && next.as_ref() == Some(&part.channels);
                let (source, keep) = self.source_of(input, &part, is_shared, &mut kept)?;
                let kernel = Kernel {
                    width,
                    height,
                    stride: convolution.stride,
                    padding: (part.padding.left, part.padding.top),
                    lanes: division.lanes,
                };
                let neural = Neural {
                    op_mode: OpMode::MultiplyAccumulate,
                    kernel,
                    channels: part.groups,
                    engines: division.engines,
                    coefficients: coefficients.clone(),
                    tail,
                    input_relu: convolution.input_relu,
                };
                let shape = Shape::new(tile.outputs, rows.end - rows.start, output.w);
                let pass = Pass { keep, ..Pass::neural(operation, self.view(source)?, shape, neural) };
                let channels = if tail.transpose { 0..output.w } else { outputs.clone() };
                let place = self.slice(result, channels, rows.clone())?;
                self.pass_into(place, pass)?;
            }
        }
        Ok(())
    }

    /// What a task of a convolution reads: a part of the input, or what a task before it left on chip; and the place where the
    /// task leaves it for the next one, with which it is shared.
    fn source_of(
        &mut self,
        input: Tensor,
        part: &Part,
        is_shared: bool,
        kept: &mut Option<Kept>,
    ) -> Result<(Tensor, Option<View>)> {
        // Tasks of another group read other channels, which nobody has loaded.
        if let Some(kept) = kept.as_ref().filter(|kept| kept.channels == part.channels) {
            return Ok((kept.tensor, None));
        }
        let source = self.slice(input, part.channels.clone(), part.input_rows.clone())?;
        let place = if is_shared { self.kept("convolution", source)? } else { None };
        *kept = place.map(|tensor| Kept { channels: part.channels.clone(), tensor });
        Ok((source, place.map(|place| self.view(place)).transpose()?))
    }

    fn store_coefficients(
        &mut self,
        convolution: &Convolution<'_>,
        division: Division,
    ) -> Result<Coefficients> {
        let operation = "convolution";
        let halves = |values: &[f16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let bias = convolution.bias.map(halves);
        let of = (convolution.outputs, convolution.channels.groups());
        let (format, (packed, mut chunks)) = match convolution.weights {
            Weights::Half(values) => {
                (KernelFormat::Fp16, pack_groups(&halves(values), 2, of, bias.as_deref(), division))
            }
            Weights::Bytes(values) => (KernelFormat::Uint8, pack_groups(values, 1, of, None, division)),
        };
        let packed = match convolution.tail.nonlinearity {
            Nonlinearity::Table(table) => with_table(&packed, &mut chunks, &table),
            Nonlinearity::None | Nonlinearity::Relu => packed,
        };
        Limit::CoefficientBytes.check(operation, packed.len() as u64)?;
        let base = self.store(operation, &packed)?;
        chunks.iter_mut().for_each(|chunk| chunk.base += base);
        Ok(Coefficients::Packed { format, bias: bias.is_some(), chunks })
    }
}

/// What the first of several tasks left on chip for the others: some channels of the input, in all the rows that they read.
#[derive(Clone, Debug)]
struct Kept {
    channels: Range<u32>,
    tensor: Tensor,
}

/// Refuses what does not depend on the input.
fn check(convolution: &Convolution<'_>) -> Result<()> {
    let operation = "convolution";
    Limit::Channels.check(operation, convolution.outputs)?;
    let ((kw, kh), (sx, sy)) = (convolution.kernel, convolution.stride);
    for extent in [kw, kh] {
        Limit::Kernel.check(operation, extent)?;
    }
    for stride in [sx, sy] {
        Limit::Stride.check(operation, stride)?;
    }
    let Padding { left, right, top, bottom } = convolution.padding;
    for (padding, kernel) in [(left, kw), (right, kw), (top, kh), (bottom, kh)] {
        if padding >= kernel {
            return Err(BuildError::Padding { operation, padding, kernel });
        }
    }
    if let Some(engines) = convolution.engines {
        Limit::Engines.check_power(operation, engines)?;
    }
    if let Some(lanes) = convolution.lanes {
        Limit::Lanes.check_power(operation, lanes)?;
    }
    let refused = |first, second| Err(BuildError::Combination { operation, first, second });
    match (convolution.weights, convolution.bias, convolution.tail.nonlinearity) {
        (Weights::Bytes(_), Some(_), _) => refused("8-bit coefficients", "a bias row"),
        (Weights::Bytes(_), _, Nonlinearity::Table(_)) => {
            refused("8-bit coefficients", "an activation table")
        }
        _ => Ok(()),
    }
}

fn output_shape(input: Shape, convolution: &Convolution<'_>) -> Result<Shape> {
    let axis = |extent: u32, before: u32, after: u32, kernel: u32, stride: u32| {
        let padded = extent + before + after;
        match padded.checked_sub(kernel) {
            Some(room) => Ok(room / stride + 1),
            None => Err(BuildError::KernelBeyondInput { operation: "convolution", kernel, input: padded }),
        }
    };
    let Padding { left, right, top, bottom } = convolution.padding;
    let ((kw, kh), (sx, sy)) = (convolution.kernel, convolution.stride);
    let (w, h) = (axis(input.w, left, right, kw, sx)?, axis(input.h, top, bottom, kh, sy)?);
    Ok(Shape::new(convolution.outputs, h, w))
}

pub(super) fn divides(operation: &'static str, what: &'static str, divisor: u32, value: u32) -> Result<()> {
    if value.is_multiple_of(divisor) {
        Ok(())
    } else {
        Err(BuildError::Divides { operation, what, divisor, value })
    }
}
