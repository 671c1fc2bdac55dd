//! The shape of a pass: which operands and coefficients each output is made of.
//!
//! A [`Convolution`] holds what a task's registers say. `Shape` is the same after every size has been compared with
//! the data that came with it, so that no index made from it can leave them.

use std::fmt;

/// Rows or columns that a kernel may have; ConvCfg has five bits for either (td 4.4).
const KERNEL_MAX: u32 = 31;

/// The input channels of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Dense,
    /// An output reads the inputs of its own group. Inputs and outputs are divided evenly.
    Grouped {
        groups: u32,
    },
    /// So many of its own, one output's behind the other's.
    Unicast {
        /// Channels of each output.
        channels: u32,
    },
}

/// A pass of the array, in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    pub channels: u32,
    /// Input rows.
    pub height: u32,
    /// Input columns.
    pub width: u32,
    /// Output channels.
    pub outputs: u32,
    /// Output rows.
    pub out_height: u32,
    /// Output columns.
    pub out_width: u32,
    /// Kernel rows.
    pub kernel_height: u32,
    /// Kernel columns.
    pub kernel_width: u32,
    /// Input rows from one output row to the next.
    pub stride_y: u32,
    /// Input columns from one output column to the next.
    pub stride_x: u32,
    /// Rows of zeros above the input. Whatever is read beyond the input is zero too.
    pub pad_y: u32,
    /// Columns of zeros left of the input.
    pub pad_x: u32,
    /// The input channels of an output.
    pub reads: Reads,
    /// Outputs whose coefficients lie side by side.
    pub lanes: u32,
}

/// Why a pass cannot be run as it is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// A size is zero, or too large to count.
    Size,
    /// The kernel is larger than the hardware can say.
    Kernel,
    /// Channels cannot be shared out as asked.
    Reads,
    /// A buffer does not have the length that the shape asks for.
    Length {
        what: &'static str,
        /// Halfwords that it should have.
        expected: usize,
        /// Halfwords that it has.
        found: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => f.write_str("a size of the pass is zero or too large"),
            Self::Kernel => write!(f, "kernel has more than {KERNEL_MAX} rows or columns"),
            Self::Reads => f.write_str("channels cannot be shared out evenly among the outputs"),
            Self::Length { what, expected, found } => {
                write!(f, "{what} should have {expected} halfwords and has {found}")
            }
        }
    }
}

impl std::error::Error for ShapeError {}

/// A pass whose sizes have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) out_height: usize,
    pub(super) out_width: usize,
    pub(super) kernel_height: usize,
    pub(super) kernel_width: usize,
    pub(super) stride_y: usize,
    pub(super) stride_x: usize,
    pub(super) pad_y: usize,
    pub(super) pad_x: usize,
    /// Groups of outputs that read the same channels.
    pub(super) groups: usize,
    /// Channels that each of them reads.
    pub(super) group_channels: usize,
    pub(super) group_outputs: usize,
    pub(super) lanes: usize,
    /// Halfwords of the input.
    input: usize,
    /// Halfwords of the output.
    output: usize,
    /// Halfwords of the coefficients.
    coefficients: usize,
}

impl Shape {
    /// The shape of `pass`, if it can be counted.
    pub(super) fn new(pass: &Convolution) -> Result<Self, ShapeError> {
        let size = |number: u32| usize::try_from(number).map_err(|_| ShapeError::Size);
        let sizes = [pass.channels, pass.height, pass.width, pass.outputs, pass.out_height, pass.out_width];
        let steps = [pass.kernel_height, pass.kernel_width, pass.stride_y, pass.stride_x, pass.lanes];
        if sizes.contains(&0) || steps.contains(&0) {
            return Err(ShapeError::Size);
        }
        if pass.kernel_height > KERNEL_MAX || pass.kernel_width > KERNEL_MAX {
            return Err(ShapeError::Kernel);
        }
        let evenly = |number: u32, parts: u32| {
            number.checked_rem(parts).filter(|&rest| rest == 0).and_then(|_| number.checked_div(parts))
        };
        let (groups, group_channels, group_outputs) = match pass.reads {
            Reads::Dense => (1, Some(pass.channels), Some(pass.outputs)),
            Reads::Grouped { groups } => {
                (groups, evenly(pass.channels, groups), evenly(pass.outputs, groups))
            }
            Reads::Unicast { channels } => {
                let read = pass.outputs.checked_mul(channels);
                let inside = read.is_some_and(|read| read > 0 && read <= pass.channels);
                (pass.outputs, inside.then_some(channels), Some(1))
            }
        };
        let group_channels = group_channels.filter(|&n| n > 0).ok_or(ShapeError::Reads)?;
        let group_outputs = group_outputs.filter(|&n| n > 0).ok_or(ShapeError::Reads)?;
        let product = |factors: &[u32]| {
            // Nothing that is indexed has more elements than this, so sums of a few of them cannot overflow.
            const MAX: usize = 1 << 40;
            factors
                .iter()
                .try_fold(1usize, |product, &factor| product.checked_mul(usize::try_from(factor).ok()?))
                .filter(|&product| product <= MAX)
                .ok_or(ShapeError::Size)
        };
        // No position may be beyond what can be counted, wherever the kernel is placed.
        product(&[pass.out_height, pass.stride_y])?;
        product(&[pass.out_width, pass.stride_x])?;
        let planes = pass.outputs.div_ceil(pass.lanes);
        let taps = [group_channels, pass.kernel_height, pass.kernel_width];
        product(&taps)?;
        let [channels, kernel_height, kernel_width] = taps;
        Ok(Self {
            height: size(pass.height)?,
            width: size(pass.width)?,
            out_height: size(pass.out_height)?,
            out_width: size(pass.out_width)?,
            kernel_height: size(kernel_height)?,
            kernel_width: size(kernel_width)?,
            stride_y: size(pass.stride_y)?,
            stride_x: size(pass.stride_x)?,
            pad_y: size(pass.pad_y)?,
            pad_x: size(pass.pad_x)?,
            groups: size(groups)?,
            group_channels: size(group_channels)?,
            group_outputs: size(group_outputs)?,
            lanes: size(pass.lanes)?,
            input: product(&[pass.channels, pass.height, pass.width])?,
            output: product(&[pass.outputs, pass.out_height, pass.out_width])?,
            coefficients: product(&[planes, pass.lanes, channels, kernel_height, kernel_width])?,
        })
    }

    /// Fails unless the buffers have the lengths that the shape asks for.
    pub(super) fn check(
        &self,
        input: &[u16],
        coefficients: Option<&[u16]>,
        bias: Option<&[u16]>,
        output: &[u16],
    ) -> Result<(), ShapeError> {
        let check = |what, found: usize, expected| {
            if found == expected { Ok(()) } else { Err(ShapeError::Length { what, expected, found }) }
        };
        check("input", input.len(), self.input)?;
        check("output", output.len(), self.output)?;
        coefficients.map_or(Ok(()), |all| check("coefficients", all.len(), self.coefficients))?;
        bias.map_or(Ok(()), |all| check("bias", all.len(), self.outputs()))
    }
}

#[expect(clippy::arithmetic_side_effects, reason = "`Shape::new` has seen that the numbers can be counted")]
impl Shape {
    pub(super) fn outputs(&self) -> usize {
        self.groups * self.group_outputs
    }

    /// The same with planes of so many lanes, which are several of this one's.
    pub(super) const fn with_lanes(self, lanes: usize) -> Self {
        Self { lanes, ..self }
    }

    /// Elements of an output channel.
    pub(super) fn pixels(&self) -> usize {
        self.out_height * self.out_width
    }

    /// Taps of each output.
    pub(super) fn taps(&self) -> usize {
        self.group_channels * self.kernel_height * self.kernel_width
    }

    /// Whether each output pixel reads the pixel at its own place and no other.
    pub(super) fn is_pointwise(&self) -> bool {
        [self.kernel_height, self.kernel_width, self.stride_y, self.stride_x] == [1; 4]
            && [self.pad_y, self.pad_x] == [0; 2]
            && [self.out_height, self.out_width] == [self.height, self.width]
    }

    /// Whether each channel has one number, which is the operand of the one output that reads it.
    pub(super) fn has_single_operands(&self) -> bool {
        [self.height, self.width, self.kernel_height, self.kernel_width, self.pixels()] == [1; 5]
            && [self.pad_y, self.pad_x] == [0, 0]
    }

    /// Where the coefficient of a tap of an output lies: `[plane][tap][lane]` (td 7.1).
    pub(super) fn coefficient(&self, output: usize, tap: usize) -> usize {
        ((output / self.lanes) * self.taps() + tap) * self.lanes + output % self.lanes
    }

    /// Where the operand of a tap lies in the input, unless it is padding.
    pub(super) fn operand(&self, group: usize, pixel: usize, tap: usize) -> Option<usize> {
        let (rest, kx) = (tap / self.kernel_width, tap % self.kernel_width);
        let (channel, ky) = (rest / self.kernel_height, rest % self.kernel_height);
        let y = (pixel / self.out_width * self.stride_y + ky).checked_sub(self.pad_y)?;
        let x = (pixel % self.out_width * self.stride_x + kx).checked_sub(self.pad_x)?;
        let inside = y < self.height && x < self.width;
        let channel = group * self.group_channels + channel;
        inside.then(|| (channel * self.height + y) * self.width + x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const PLAIN: Convolution = Convolution {
        channels: 8,
        height: 4,
        width: 5,
        outputs: 4,
        out_height: 4,
        out_width: 5,
        kernel_height: 3,
        kernel_width: 3,
        stride_y: 1,
        stride_x: 1,
        pad_y: 1,
        pad_x: 1,
        reads: Reads::Dense,
        lanes: 2,
    };

    #[test]
    fn taps_ascend_by_channel_row_and_column() {
        let shape = Shape::new(&PLAIN).unwrap();
        assert_eq!(shape.operand(0, 0, 0), None);
        assert_eq!(shape.operand(0, 0, 4), Some(0));
        assert_eq!(shape.operand(0, 0, 5), Some(1));
        assert_eq!(shape.operand(0, 0, 7), Some(5));
        assert_eq!(shape.operand(0, 0, 9 + 4), Some(20));
    }

    #[test]
    fn groups_and_unicast_read_their_own_channels() {
        let grouped = Shape::new(&Convolution { reads: Reads::Grouped { groups: 2 }, ..PLAIN }).unwrap();
        assert_eq!((grouped.taps(), grouped.group_outputs), (36, 2));
        assert_eq!(grouped.operand(1, 0, 4), Some(80));
        let unicast = Shape::new(&Convolution { reads: Reads::Unicast { channels: 2 }, ..PLAIN }).unwrap();
        assert_eq!((unicast.taps(), unicast.group_outputs), (18, 1));
        assert_eq!(unicast.operand(3, 0, 4), Some(120));
    }

    #[test]
    fn coefficients_lie_by_plane_tap_and_lane() {
        let shape = Shape::new(&PLAIN).unwrap();
        assert_eq!(shape.coefficient(1, 0), 1);
        assert_eq!(shape.coefficient(1, 3), 7);
        assert_eq!(shape.coefficient(2, 0), 144);
    }

    #[test]
    fn sizes_that_cannot_be_counted_are_errors() {
        let huge = Convolution { width: u32::MAX, height: u32::MAX, ..PLAIN };
        assert_eq!(Shape::new(&huge), Err(ShapeError::Size));
        assert_eq!(Shape::new(&Convolution { stride_x: 0, ..PLAIN }), Err(ShapeError::Size));
        assert_eq!(Shape::new(&Convolution { kernel_width: 32, ..PLAIN }), Err(ShapeError::Kernel));
        let uneven = Convolution { reads: Reads::Grouped { groups: 3 }, ..PLAIN };
        assert_eq!(Shape::new(&uneven), Err(ShapeError::Reads));
        let none = Convolution { reads: Reads::Grouped { groups: 0 }, ..PLAIN };
        assert_eq!(Shape::new(&none), Err(ShapeError::Reads));
        let beyond = Convolution { reads: Reads::Unicast { channels: 3 }, ..PLAIN };
        assert_eq!(Shape::new(&beyond), Err(ShapeError::Reads));
    }

    #[test]
    fn buffer_of_another_length_is_an_error() {
        let shape = Shape::new(&PLAIN).unwrap();
        let (input, coefficients, output) = ([0; 160], [0; 288], [0; 80]);
        assert_eq!(shape.check(&input, Some(&coefficients), Some(&[0; 4]), &output), Ok(()));
        assert_eq!(
            shape.check(&input, Some(&coefficients), Some(&[0; 3]), &output),
            Err(ShapeError::Length { what: "bias", expected: 4, found: 3 })
        );
        assert!(shape.check(&input, Some(&coefficients[1..]), None, &output).is_err());
        assert!(shape.check(&input[1..], None, None, &output).is_err());
    }
}
