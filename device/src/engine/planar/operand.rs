//! Operands: packed tensors that may be broadcast, read as if they were whole.
//!
//! The planar map says along which extents a source has one row, column or channel for all. A pass walks over the
//! elements of its shape in the order of channel, row, column, in blocks; an operand that is broadcast is spread into
//! a small buffer for each block, and one that is whole is read where it lies. The arithmetic is the same for both.

use super::{Class, Planar};
use crate::engine::plan::operand::Shape;
use ane_uapi::hw::td::planar::Operation;

/// A packed tensor of fp16 bit patterns, in the order of channel, row, column.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Its elements.
    pub values: &'a [u16],
    /// Channels, or 1 where there is one for all; as for the other extents.
    pub channels: u32,
    pub height: u32,
    pub width: u32,
}

/// Why a pass cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOperands {
    /// The shape has no elements, or more than can be counted.
    #[error("shape {shape:?} has no elements, or too many")]
    Shape { shape: Shape },
    /// Source 1 is neither as large as the shape nor broadcast to it.
    #[error("source 1 does not fit shape {shape:?}")]
    First { shape: Shape },
    /// Source 2 does not fit, is missing, or is one too many.
    #[error("source 2 does not fit shape {shape:?}, is missing, or is one too many")]
    Second { shape: Shape },
    /// The operation needs two sources.
    #[error("\"{operation}\" has one source")]
    Operation { operation: Operation },
    /// The result has another size than the shape.
    #[error("result has {found} elements, not {expected}")]
    Result {
        /// Elements that the pass gives.
        expected: usize,
        /// Elements that there is room for.
        found: usize,
    },
}

/// The elements of a channel; an error unless operation, shape and size of the result go together.
pub(super) fn check(planar: &Planar, shape: Shape, found: usize) -> Result<usize, BadOperands> {
    let extents = [shape.channels, shape.height, shape.width].map(usize::try_from);
    let [Ok(channels), Ok(height), Ok(width)] = extents else { return Err(BadOperands::Shape { shape }) };
    let elements = height.checked_mul(width).filter(|&elements| elements != 0);
    let whole = elements.and_then(|elements| elements.checked_mul(channels)).filter(|&whole| whole != 0);
    let (Some(elements), Some(whole)) = (elements, whole) else { return Err(BadOperands::Shape { shape }) };
    let has_one_source = matches!(planar.class, Class::Copy | Class::Reduce);
    if has_one_source && !matches!(planar.operation, Operation::Add | Operation::SumSquared) {
        return Err(BadOperands::Operation { operation: planar.operation });
    }
    let expected = if planar.class.is_reduction() { channels } else { whole };
    if found != expected {
        return Err(BadOperands::Result { expected, found });
    }
    Ok(elements)
}

/// Elements of a block: what an operand that is broadcast is spread into.
pub(super) const BLOCK: usize = 256;

/// Room for a block of an operand that is broadcast, and what is in it.
pub(super) struct Spread {
    elements: [u16; BLOCK],
    /// How many of them there are, and of an operand that repeats itself the place of the first in what it repeats.
    kept: Option<(usize, usize)>,
}

impl Spread {
    pub(super) const fn new() -> Self {
        Self { elements: [0; BLOCK], kept: None }
    }
}

/// How many elements go in one direction, and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Steps {
    count: usize,
    stride: usize,
}

/// An operand as a pass sees it.
pub(super) struct View<'a> {
    values: &'a [u16],
    /// From the outermost in; directions that go on like the one inside are one with it.
    walks: [Steps; 3],
}

impl<'a> View<'a> {
    /// The operand, spread over `shape`; `None` if it does not fit.
    pub(super) fn new(shape: Shape, operand: Operand<'a>) -> Option<Self> {
        let [channels, height, width] = extents(operand)?;
        let row = stride(operand.height, shape.height, width)?;
        let channel = stride(operand.channels, shape.channels, height.checked_mul(width)?)?;
        let column = stride(operand.width, shape.width, 1)?;
        if operand.values.len() != channels.checked_mul(height)?.checked_mul(width)? {
            return None;
        }
        Some(Self { values: operand.values, walks: walks(shape, [channel, row, column])? })
    }

    /// The two rows of an operand, each spread over `shape`; `None` if it does not fit.
    pub(super) fn two_rows(shape: Shape, operand: Operand<'a>) -> Option<[Self; 2]> {
        let [channels, height, width] = extents(operand)?;
        let channel = stride(operand.channels, shape.channels, height.checked_mul(width)?)?;
        let column = stride(operand.width, shape.width, 1)?;
        if height != 2 || operand.values.len() != channels.checked_mul(height)?.checked_mul(width)? {
            return None;
        }
        let walks = walks(shape, [channel, 0, column])?;
        let second = operand.values.get(width..)?;
        Some([operand.values, second].map(|values| Self { values, walks }))
    }

    /// So many elements from `start` on, a block at most; `spread` is for this view alone.
    ///
    /// The elements must lie inside the shape.
    #[inline(always)]
    pub(super) fn block<'b>(&'b self, start: usize, len: usize, spread: &'b mut Spread) -> &'b [u16] {
        match self.flat() {
            Some(values) => values.get(start..).and_then(|values| values.get(..len)).unwrap_or_default(),
            None => self.spread(start, len, spread),
        }
    }

    /// All elements, if they lie in the order in which they are walked over, each once.
    pub(super) fn flat(&self) -> Option<&'a [u16]> {
        match self.walks {
            [Steps { count: 1, .. }, Steps { count: 1, .. }, Steps { count: 2.., stride: 1 }] => {
                Some(self.values)
            }
            _ => None,
        }
    }

    /// How many elements it repeats over and over, if it does.
    fn period(&self) -> Option<usize> {
        match self.walks {
            [Steps { count: 1, .. }, Steps { count: 1, .. }, Steps { stride: 0, .. }] => Some(1),
            [Steps { count: 1, .. }, Steps { stride: 0, .. }, Steps { count, .. }] => Some(count),
            _ => None,
        }
    }

    /// The same of a view that is not flat. Elements that repeat are spread once, if blocks begin at the same place of
    /// them.
    #[inline(never)]
    fn spread<'b>(&self, start: usize, len: usize, spread: &'b mut Spread) -> &'b [u16] {
        let Spread { elements, kept } = spread;
        let here = self.period().and_then(|period| start.checked_rem(period)).map(|place| (len, place));
        let block = elements.get_mut(..len).unwrap_or_default();
        if here.is_none() || here != *kept {
            self.copy(start, block);
            *kept = here;
        }
        block
    }

    /// Copies elements from `start` on, as many as there is room for.
    fn copy(&self, start: usize, to: &mut [u16]) {
        let [outer, middle, inner] = self.walks;
        let (row, mut column) = div_rem(start, inner.count);
        let (mut plane, mut row) = div_rem(row, middle.count);
        let mut rest = to;
        while !rest.is_empty() {
            let base = plane.saturating_mul(outer.stride).saturating_add(row.saturating_mul(middle.stride));
            let from = base.saturating_add(column.saturating_mul(inner.stride));
            let values = self.values.get(from..).unwrap_or_default();
            let count = inner.count.saturating_sub(column).clamp(1, rest.len());
            let (piece, others) = rest.split_at_mut(count);
            copy(values, inner.stride, piece);
            rest = others;
            column = 0;
            row = row.saturating_add(1);
            if row >= middle.count {
                row = 0;
                plane = plane.saturating_add(1);
            }
        }
    }
}

/// Copies values that are `stride` apart.
fn copy(values: &[u16], stride: usize, to: &mut [u16]) {
    match stride {
        0 => to.fill(values.first().copied().unwrap_or_default()),
        1 => {
            if let Some(values) = values.get(..to.len()) {
                to.copy_from_slice(values);
            }
        }
        _ => to.iter_mut().zip(values.iter().step_by(stride)).for_each(|(to, &from)| *to = from),
    }
}

fn div_rem(number: usize, by: usize) -> (usize, usize) {
    (number.checked_div(by).unwrap_or_default(), number.checked_rem(by).unwrap_or_default())
}

fn extents(operand: Operand<'_>) -> Option<[usize; 3]> {
    let [channels, height, width] = [operand.channels, operand.height, operand.width].map(usize::try_from);
    Some([channels.ok()?, height.ok()?, width.ok()?])
}

/// The stride in one direction: 0 if there is one for all, `None` if there is another number.
fn stride(extent: u32, of_shape: u32, stride: usize) -> Option<usize> {
    if extent == of_shape {
        Some(stride)
    } else if extent == 1 {
        Some(0)
    } else {
        None
    }
}

/// The three walks, with those that go on like the one inside made one.
fn walks(shape: Shape, strides: [usize; 3]) -> Option<[Steps; 3]> {
    let mut merged = [Steps { count: 1, stride: 0 }; 3];
    let counts = [shape.channels, shape.height, shape.width];
    // From the innermost out, and turned round at the end.
    let mut places = merged.iter_mut();
    let mut current = places.next()?;
    for (count, stride) in counts.into_iter().zip(strides).rev() {
        let count = usize::try_from(count).ok()?;
        if count == 1 {
            continue;
        }
        if current.count == 1 {
            *current = Steps { count, stride };
        } else if Some(stride) == current.stride.checked_mul(current.count) {
            current.count = current.count.checked_mul(count)?;
        } else {
            current = places.next()?;
            *current = Steps { count, stride };
        }
    }
    merged.reverse();
    Some(merged)
}
