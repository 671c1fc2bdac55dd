//! Lines: the rows of a tensor in memory, taken in another order.
//!
//! Tile DMA has a stride for channels and one for rows, and neither has to be the larger (the compiler's transposition of
//! channels and rows is a copy with a row stride above the plane stride, delta 6). So channels and rows may change
//! places, every second row may be left out, and rows may be dealt out to channels without anything being moved. Only
//! columns are fixed: they follow each other, from an address that is a multiple of 64 bytes.

use std::ops::Range;

use super::error::{BuildError, Result};
use super::graph::{Graph, Tensor, View};
use super::shape::{HALF, InMemory, MEMORY_ALIGN, Shape};

/// Where the rows of a part of a tensor lie, in bytes from the tensor's first. Each is a multiple of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lines {
    pub base: u64,
    /// From one channel to the next; 0 repeats it.
    pub plane: u64,
    /// From one row to the next; 0 repeats it.
    pub row: u64,
}

impl Lines {
    /// Those of a whole tensor of this shape.
    pub fn of(shape: Shape) -> Self {
        let InMemory { plane, row, .. } = InMemory::of(shape, 1);
        Self { base: 0, plane, row }
    }

    /// Those from a channel and a row on.
    pub(super) fn from(self, channel: u32, row: u32) -> Self {
        let base = self.base + u64::from(channel) * self.plane + u64::from(row) * self.row;
        Self { base, ..self }
    }

    /// The end of the last of `shape`, unless that is beyond all numbers.
    fn end(self, shape: Shape) -> Option<u64> {
        let channels = u64::from(shape.c.checked_sub(1)?).checked_mul(self.plane)?;
        let rows = u64::from(shape.h.checked_sub(1)?).checked_mul(self.row)?;
        self.base.checked_add(channels)?.checked_add(rows)?.checked_add(HALF * u64::from(shape.w))
    }
}

impl Graph {
    /// A tensor's rows in another order, as a tensor of `shape`. It will lie in memory.
    ///
    /// # Errors
    ///
    /// Refuses parts of tensors, what lies on chip or interleaved, strides that no register holds, and lines that leave
    /// the tensor.
    ///
    /// # Examples
    ///
    /// Channels and rows change places:
    ///
    /// ```
    /// use ane::build::{Element, Graph, Lines, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(8, 4, 16))?;
    /// let Lines { base, plane, row } = Lines::of(graph.shape(x)?);
    /// let turned = graph.lines(x, Shape::new(4, 8, 16), Lines { base, plane: row, row: plane })?;
    /// let y = graph.unary(turned, Element::COPY)?;
    /// graph.output("y", y)?;
    /// assert_eq!(graph.build()?.task_count(), 1);
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn lines(&mut self, tensor: Tensor, shape: Shape, lines: Lines) -> Result<Tensor> {
        let operation = "lines";
        let view = self.view(tensor)?;
        let value = self.values[view.value];
        let shape = shape.check(operation)?;
        // The stride of an axis of one element is anybody's.
        let whole = Lines::of(value.shape);
        let lines = Lines {
            plane: if shape.c == 1 { whole.plane } else { lines.plane },
            row: if shape.h == 1 { whole.row } else { lines.row },
            ..lines
        };
        if view.shape == shape && view.lines.is_none() && lines == whole {
            return Ok(tensor);
        }
        let refused = |is| Err(BuildError::Place { operation, is, wanted: "taken by lines" });
        if view.shape != value.shape || view.lines.is_some() {
            return refused("part of another");
        }
        if value.interleave != 1 {
            return refused("interleaved");
        }
        let bytes = InMemory::of(value.shape, 1).bytes;
        let aligned = [lines.base, lines.plane, lines.row].iter().all(|at| at.is_multiple_of(MEMORY_ALIGN));
        if !aligned || lines.end(shape).is_none_or(|end| end > bytes) {
            return Err(BuildError::Lines { lines, shape, bytes });
        }
        self.in_memory(operation, tensor)?;
        self.change(view.value, |value| value.folded = true);
        Ok(self.view_of(View { value: view.value, channel: 0, row: 0, shape, lines: Some(lines) }))
    }

    /// Some channels and columns of a tensor. Unless that is all of them, columns begin at a multiple of 64 bytes, and the
    /// tensor will lie in memory.
    pub(super) fn block(
        &mut self,
        tensor: Tensor,
        channels: &Range<u32>,
        columns: &Range<u32>,
    ) -> Result<Tensor> {
        let shape = self.shape(tensor)?;
        let part = Shape { c: channels.end - channels.start, w: columns.end - columns.start, ..shape };
        if part.w == shape.w {
            return self.slice(tensor, channels.clone(), 0..shape.h);
        }
        let (tensor, _, _, lines) = self.lines_of(tensor)?;
        let Lines { base, plane, row } = lines.from(channels.start, 0);
        self.lines(tensor, part, Lines { base: base + HALF * u64::from(columns.start), plane, row })
    }

    /// Where the rows of a tensor or a part of one lie: the tensor that it is a part of, its shape and that of the part,
    /// and the lines.
    pub(crate) fn lines_of(&mut self, tensor: Tensor) -> Result<(Tensor, Shape, Shape, Lines)> {
        let view = self.view(tensor)?;
        let whole = self.values[view.value].shape;
        let all = View { value: view.value, channel: 0, row: 0, shape: whole, lines: None };
        let lines = view.lines.unwrap_or_else(|| Lines::of(whole).from(view.channel, view.row));
        // Rows of a tensor that was folded are those of its channels, one behind the other.
        let is_whole = view.shape == whole && view.lines.is_none();
        Ok((if is_whole { tensor } else { self.view_of(all) }, whole, view.shape, lines))
    }
}
