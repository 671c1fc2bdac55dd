//! Concatenation: one pass-through for each part, into its place in the result (td 8.1).

use super::error::{BuildError, Result};
use super::graph::{Graph, Tensor};
use super::pass::Tail;
use super::shape::Shape;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    Channels,
    Rows,
    Columns,
}

impl Graph {
    /// Puts tensors together along an axis, in this order.
    ///
    /// # Errors
    ///
    /// Refuses an empty list, and tensors that differ along another axis.
    pub fn concat(&mut self, parts: &[Tensor], axis: Axis) -> Result<Tensor> {
        let operation = "concatenation";
        if axis == Axis::Columns {
            return self.concat_columns(parts);
        }
        let shapes = parts.iter().map(|&part| self.shape(part)).collect::<Result<Vec<_>, _>>()?;
        let first = shapes.first().copied().unwrap_or(Shape::new(0, 0, 0));
        let mut whole = Shape { c: 0, h: 0, w: first.w };
        for &second in &shapes {
            let same = match axis {
                Axis::Channels => Shape { c: first.c, ..second },
                Axis::Rows | Axis::Columns => Shape { h: first.h, ..second },
            };
            if same != first {
                return Err(BuildError::Shapes { operation, first, second });
            }
            (whole.c, whole.h) = match axis {
                Axis::Channels => (whole.c.saturating_add(second.c), second.h),
                Axis::Rows | Axis::Columns => (second.c, whole.h.saturating_add(second.h)),
            };
        }
        let result = self.intermediate(operation, whole)?;
        let mut at = 0;
        for (&part, shape) in parts.iter().zip(shapes) {
            let (channels, rows) = match axis {
                Axis::Channels => (at..at + shape.c, 0..shape.h),
                Axis::Rows | Axis::Columns => (0..shape.c, at..at + shape.h),
            };
            at = if axis == Axis::Channels { channels.end } else { rows.end };
            let place = self.slice(result, channels, rows)?;
            self.pass_through_into(place, part, Tail::NONE)?;
        }
        Ok(result)
    }
}
