//! Pooling, and how kernels and windows lie over their operand.

use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{Map, Window};
use crate::model::network::{Operation, ValueId};
use crate::model::problem::Why;

/// How a kernel lies over its operand, for each moving axis.
pub(super) struct Sides {
    pub(super) stride: Vec<usize>,
    pub(super) dilation: Vec<usize>,
    pub(super) padding: Vec<(usize, usize)>,
}

/// The factor of elements before they are squared. (Chosen) Squares of elements up to 1023 are halves then, and those of a hundredth are
/// not yet lost.
const SMALL: f64 = 0.25;

/// What decides the padding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoPad {
    /// The padding is given.
    NotSet,
    /// As many positions as a stride of the operand has. An odd element is behind.
    SameUpper,
    /// The same, with an odd element before.
    SameLower,
    /// There is none.
    Valid,
}

impl AutoPad {
    pub(super) fn of(call: &Call<'_, '_>) -> Result<Self, Why> {
        Ok(match call.text("auto_pad", "NOTSET")?.as_str() {
            // Some writers give each attribute, with an empty text where nothing is set.
            "NOTSET" | "" => Self::NotSet,
            "SAME_UPPER" => Self::SameUpper,
            "SAME_LOWER" => Self::SameLower,
            "VALID" => Self::Valid,
            other => {
                return Err(Call::mode(format!(
                    "auto_pad {other:?} is not NOTSET, SAME_UPPER, SAME_LOWER or VALID"
                )));
            }
        })
    }

    /// The padding that is given: before each moving axis, then behind each.
    ///
    /// Beside `VALID` it contradicts. Some implementations leave it out then, and others do not.
    pub(super) fn pads(self, call: &Call<'_, '_>, moving: usize) -> Result<Vec<i64>, Why> {
        let pads = call.integers("pads")?.unwrap_or_else(|| vec![0; 2 * moving]);
        if self == Self::Valid && pads.iter().any(|&pad| pad != 0) {
            return Err(Call::mode(format!("pads are {pads:?} beside auto_pad VALID, which has none")));
        }
        Ok(pads)
    }
}

/// The places of a window that a mean counts.
#[derive(Clone, Copy)]
enum Counted {
    /// Those on an element.
    Elements,
    /// Those on the padding that the model says, too.
    Padding,
    /// All, also those that a last window has behind the padding.
    Kernel,
}

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "MaxPool" => pool(call, true, Counted::Elements),
        "AveragePool" => {
            let counts_padding = call.integer("count_include_pad", 0)? != 0;
            pool(call, false, if counts_padding { Counted::Padding } else { Counted::Elements })
        }
        "LpPool" => {
            if call.integer("p", 2)? != 2 {
                return Err(Call::mode("LpPool is mapped for p = 2 only"));
            }
            let x = call.x(0)?;
            let mut window = window(call, x, false, Counted::Kernel)?;
            window.of_squares = true;
            let taps: f64 = window.kernel.iter().map(|&extent| extent as f64).product();
            let small = call.affine(x, SMALL, 0.0)?;
            let squares = call.map(Map::Square, small)?;
            let means = call.add(Operation::Window(window), &[squares])?;
            // The sum may be beyond halves where its root is not.
            let roots = call.map(Map::SquareRoot, means)?;
            one(call.affine(roots, taps.sqrt() / SMALL, 0.0)?)
        }
        _ => Ok(None),
    }
}

/// Stride, dilation and padding of a kernel of `kernel` over `extents`.
pub(super) fn sides(call: &Call<'_, '_>, extents: &[usize], kernel: &[usize]) -> Result<Sides, Why> {
    let moving = kernel.len();
    let list = |name: &str| -> Result<Vec<usize>, Why> {
        let list = call.integers(name)?.unwrap_or_else(|| vec![1; moving]);
        let numbers: Option<Vec<usize>> =
            list.iter().map(|&value| usize::try_from(value).ok().filter(|&value| value > 0)).collect();
        numbers.filter(|list| list.len() == moving).ok_or_else(|| Call::mode(format!("{name} is {list:?}")))
    };
    let (stride, dilation) = (list("strides")?, list("dilations")?);
    let auto = AutoPad::of(call)?;
    let pads = auto.pads(call, moving)?;
    if extents.len() != moving || pads.len() != 2 * moving {
        return Err(Call::mode(format!("pads are {pads:?} for {moving} moving axes")));
    }
    let mut padding = Vec::new();
    for axis in 0..moving {
        padding.push(match auto {
            AutoPad::SameUpper | AutoPad::SameLower => {
                let positions = extents[axis].div_ceil(stride[axis]);
                let reach = (kernel[axis].max(1) - 1).saturating_mul(dilation[axis]).saturating_add(1);
                let last = (positions.max(1) - 1).saturating_mul(stride[axis]);
                let all = last.saturating_add(reach).saturating_sub(extents[axis]);
                if auto == AutoPad::SameUpper { (all / 2, all - all / 2) } else { (all - all / 2, all / 2) }
            }
            AutoPad::NotSet | AutoPad::Valid => {
                let side = |at: usize| {
                    usize::try_from(pads[at])
                        .map_err(|_| Call::mode(format!("pads are {pads:?}, below zero")))
                };
                (side(axis)?, side(axis + moving)?)
            }
        });
    }
    Ok(Sides { stride, dilation, padding })
}

fn pool(call: &mut Call<'_, '_>, maximum: bool, counts: Counted) -> Made {
    if call.wanted > 1 {
        return Err(Call::mode("indices of the largest are not computed on this engine"));
    }
    let x = call.x(0)?;
    let window = window(call, x, maximum, counts)?;
    one(call.add(Operation::Window(window), &[x])?)
}

fn window(call: &Call<'_, '_>, x: ValueId, maximum: bool, counts: Counted) -> Result<Window, Why> {
    let dims = call.dims(x);
    let kernel = call.integers("kernel_shape")?.unwrap_or_default();
    let kernel: Option<Vec<usize>> =
        kernel.iter().map(|&extent| usize::try_from(extent).ok().filter(|&extent| extent > 0)).collect();
    let kernel = kernel.ok_or_else(|| Call::mode("the window has no extent"))?;
    let extents = dims.get(2..).unwrap_or_default();
    let Sides { stride, dilation, mut padding } = sides(call, extents, &kernel)?;
    let is_ceil = call.integer("ceil_mode", 0)? != 0;
    let mut positions = Vec::new();
    for axis in 0..kernel.len() {
        let (before, behind) = padding[axis];
        let reach = (kernel[axis] - 1).saturating_mul(dilation[axis]).saturating_add(1);
        let padded = extents[axis].saturating_add(before).saturating_add(behind);
        let room =
            padded.checked_sub(reach).ok_or_else(|| Call::mode("the window is larger than the operand"))?;
        let mut count = if is_ceil { room.div_ceil(stride[axis]) } else { room / stride[axis] } + 1;
        // A window that begins behind the operand is left out.
        if is_ceil && (count - 1).saturating_mul(stride[axis]) >= extents[axis].saturating_add(before) {
            count -= 1;
        }
        positions.push(count);
    }
    let told = padding.clone();
    for (axis, side) in padding.iter_mut().enumerate() {
        let reach = (kernel[axis] - 1).saturating_mul(dilation[axis]).saturating_add(1);
        let end = (positions[axis] - 1).saturating_mul(stride[axis]).saturating_add(reach);
        side.1 = end.saturating_sub(side.0.saturating_add(extents[axis]));
    }
    let counted = match counts {
        Counted::Elements => vec![(0, 0); kernel.len()],
        Counted::Padding => told,
        Counted::Kernel => padding.clone(),
    };
    Ok(Window { maximum, of_squares: false, kernel, stride, dilation, padding, positions, counted })
}
