//! Elements in another place or number.

use super::super::concat::Axis;
use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use super::super::shape::Shape;
use super::{Setting, dims};
use crate::model::network::Operation;
use crate::model::network::operation::Cut;

/// So many elements before and behind, along channels, rows and columns; below zero, so many are cut off.
pub type Sides = [(i32, i32); 3];

/// The values beyond the edges of a padded tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    Value(f64),
    /// The element at the edge.
    Nearest,
    /// The elements mirrored at the edge, which is not repeated.
    Mirrored,
    /// The elements of the other end.
    Wrapped,
}

impl Graph {
    /// The same elements in a tensor of its own, by one pass: what is part of another becomes whole.
    ///
    /// # Errors
    ///
    /// Refuses tensors of another graph.
    pub fn copy(&mut self, x: Tensor) -> Result<Tensor> {
        self.layer("copy", &[x], |_, values| Ok(values[0]))
    }

    /// Columns of several tensors side by side: they become lines on the way, as parts in width cannot be written.
    pub(in crate::build) fn concat_columns(&mut self, parts: &[Tensor]) -> Result<Tensor> {
        self.layer("concatenation", parts, |layer, values| {
            layer.add(Operation::Concat(Axis::Columns.place()), values)
        })
    }

    /// A part of each axis, by any step: of channels, of rows, of columns.
    ///
    /// # Errors
    ///
    /// Refuses what leaves the tensor, and what is empty.
    ///
    /// # Examples
    ///
    /// Every second column, from the last to the first:
    ///
    /// ```
    /// use ane::build::{Cut, Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(8, 4, 16))?;
    /// let y = graph.cut(x, [Cut::all(8), Cut::all(4), Cut { start: 15, step: -2, count: 8 }])?;
    /// assert_eq!(graph.shape(y)?, Shape::new(8, 4, 8));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn cut(&mut self, x: Tensor, [channels, rows, columns]: [Cut; 3]) -> Result<Tensor> {
        let cuts = vec![Cut::all(1), channels, rows, columns];
        self.layer("slice", &[x], |layer, values| layer.add(Operation::Cut(cuts), values))
    }

    /// The tensor so many times along channels, rows and columns.
    ///
    /// # Errors
    ///
    /// Refuses 0, and more than 1024 along one axis.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(1, 1, 375))?;
    /// let y = graph.tile(x, [1, 375, 1])?;
    /// assert_eq!(graph.shape(y)?, Shape::new(1, 375, 375));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn tile(&mut self, x: Tensor, times: [u32; 3]) -> Result<Tensor> {
        self.layer("tile", &[x], |layer, values| {
            let times = layer.list([1, times[0].into(), times[1].into(), times[2].into()]);
            layer.operator("Tile", &[values[0], times], &[])
        })
    }

    /// Axes of extent 1 repeated, so that the tensor has this shape.
    ///
    /// # Errors
    ///
    /// Refuses a shape that the tensor does not stretch to.
    pub fn expand(&mut self, x: Tensor, shape: Shape) -> Result<Tensor> {
        self.layer("expand", &[x], |layer, values| layer.add(Operation::Expand(dims(shape)), values))
    }

    /// The axes in another order: the first of these becomes channels, the second rows, the third columns.
    ///
    /// # Errors
    ///
    /// Refuses an axis that is there twice.
    pub fn permute(&mut self, x: Tensor, order: [Axis; 3]) -> Result<Tensor> {
        let order = [0, order[0].place(), order[1].place(), order[2].place()].to_vec();
        self.layer("permute", &[x], |layer, values| layer.add(Operation::Permute(order), values))
    }

    /// The same elements, in the order of columns, rows and channels, with other extents.
    ///
    /// # Errors
    ///
    /// Refuses another number of elements.
    pub fn reshape(&mut self, x: Tensor, shape: Shape) -> Result<Tensor> {
        self.layer("reshape", &[x], |layer, values| layer.add(Operation::Reshape(dims(shape)), values))
    }

    /// The tensor with more around it, or less.
    ///
    /// # Errors
    ///
    /// Refuses to cut off more than there is.
    pub fn pad(&mut self, x: Tensor, sides: Sides, edge: Edge) -> Result<Tensor> {
        let (mode, value) = match edge {
            Edge::Value(value) => ("constant", value),
            Edge::Nearest => ("edge", 0.0),
            Edge::Mirrored => ("reflect", 0.0),
            Edge::Wrapped => ("wrap", 0.0),
        };
        self.layer("pad", &[x], |layer, values| {
            let before = sides.iter().map(|side| side.0.into());
            let behind = sides.iter().map(|side| side.1.into());
            let pads = layer.list([0].into_iter().chain(before).chain([0]).chain(behind));
            let value = layer.scalar(value);
            layer.operator("Pad", &[values[0], pads, value], &[("mode", Setting::Text(mode))])
        })
    }

    /// The elements with these indices along an axis, in this order.
    ///
    /// # Errors
    ///
    /// Refuses an index that the axis has not, and an empty list.
    pub fn take(&mut self, x: Tensor, axis: Axis, indices: &[u32]) -> Result<Tensor> {
        let axis = axis.place();
        let indices = indices.iter().map(|&index| index as usize).collect();
        self.layer("take", &[x], |layer, values| layer.add(Operation::Take { axis, indices }, values))
    }

    /// Blocks of channels as squares of `block` rows and columns.
    ///
    /// # Errors
    ///
    /// Refuses channels that squares of this size do not divide.
    pub fn depth_to_space(&mut self, x: Tensor, block: u32) -> Result<Tensor> {
        let settings = [("blocksize", Setting::Integer(block.into()))];
        self.layer("depth to space", &[x], |layer, values| layer.operator("DepthToSpace", values, &settings))
    }

    /// Squares of `block` rows and columns as channels.
    ///
    /// # Errors
    ///
    /// Refuses rows or columns that squares of this size do not divide.
    pub fn space_to_depth(&mut self, x: Tensor, block: u32) -> Result<Tensor> {
        let settings = [("blocksize", Setting::Integer(block.into()))];
        self.layer("space to depth", &[x], |layer, values| layer.operator("SpaceToDepth", values, &settings))
    }
}
