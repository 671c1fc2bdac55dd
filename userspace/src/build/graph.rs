//! The graph: tensors, and the passes that make them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use ane_uapi::hw::hal::Generation;
use ane_uapi::hw::sram::Hierarchy;
use ane_uapi::hw::td::activation::ActivationTable;
use half::f16;
use zerocopy::IntoBytes;

use super::error::{BuildError, Limit, Result};
use super::lines::Lines;
use super::pass::Pass;
use super::shape::{HALF, InMemory, MEMORY_ALIGN, Shape};
use crate::container::Direction;

/// A handle on a tensor of a [`Graph`], or on a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// On chip, or in scratch memory if the program does not fit otherwise.
    #[default]
    Auto,
    Chip,
    Scratch,
}

/// A description of a program: tensors, and in the order of their execution the passes that make them.
///
/// Operations are methods, each in the file of its kind. They check shapes and values at once; whether everything
/// fits on chip is known when the program is [built](Self::build).
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) hierarchy: Hierarchy,
    pub(super) values: Vec<Value>,
    views: Vec<View>,
    pub(super) passes: Vec<Pass>,
    pub(super) constants: Vec<u8>,
    /// Where constants lie that were stored, by their hash.
    stored: HashMap<u64, Range<usize>>,
    /// Most constants, as values of two bytes.
    values_max: u64,
    pub(super) inputs: Vec<(String, ValueId)>,
    pub(super) outputs: Vec<(String, ValueId)>,
    /// Tensors as they were before an operation on them changed what is known of their places.
    changes: Vec<(ValueId, Value)>,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

/// A tensor that has a place of its own.
pub(super) type ValueId = usize;

#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) shape: Shape,
    pub(super) home: Home,
    /// Channels side by side in one plane, if it lies in memory.
    pub(super) interleave: u32,
    /// Where its user wishes it to lie.
    wish: Placement,
    /// What reads or writes it finds its elements in memory only, whatever the wish is.
    is_bound: bool,
    /// Some view takes its rows for those of one channel.
    pub(super) folded: bool,
}

impl Value {
    pub(super) const fn placement(&self) -> Placement {
        if self.is_bound { Placement::Scratch } else { self.wish }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Input(usize),
    Output(usize),
    /// The constant section, at this offset.
    Constant(u64),
    Intermediate,
}

/// A tensor or a part of one, as a pass sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) value: ValueId,
    pub(super) channel: u32,
    pub(super) row: u32,
    pub(super) shape: Shape,
    /// Where its rows lie in memory, if they do not follow each other as those of the tensor do.
    pub(super) lines: Option<Lines>,
}

/// Lengths of a graph's lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    values: usize,
    views: usize,
    passes: usize,
    constants: usize,
    inputs: usize,
    outputs: usize,
    changes: usize,
}

impl Graph {
    pub fn new() -> Self {
        Self {
            hierarchy: Hierarchy::of(Generation::H13),
            values: Vec::new(),
            views: Vec::new(),
            passes: Vec::new(),
            constants: Vec::new(),
            stored: HashMap::new(),
            values_max: u64::MAX,
            inputs: Vec::new(),
            outputs: Vec::new(),
            changes: Vec::new(),
        }
    }

    pub const fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Sets the size from which operands of the operations that follow are tiled: the compiler's `fl2-size`.
    ///
    /// ```
    /// use ane::build::Graph;
    ///
    /// let mut graph = Graph::new();
    /// assert_eq!(graph.hierarchy().operand_bytes, 2 << 20);
    /// graph.set_operand_bytes(1 << 20);
    /// assert_eq!(graph.hierarchy().operand_bytes, 1 << 20);
    /// ```
    pub const fn set_operand_bytes(&mut self, bytes: u32) {
        self.hierarchy = self.hierarchy.with_operand_bytes(bytes);
    }

    /// Bounds the constants of all operations together, those that an operation makes by itself included: as many values of
    /// two bytes, with what they are padded with.
    ///
    /// An operation that takes more than that for a moment is refused as well.
    ///
    /// ```
    /// use ane::build::{Graph, Shape};
    /// use half::f16;
    ///
    /// let mut graph = Graph::new();
    /// graph.set_values_max(64);
    /// // A row of one value takes 64 bytes.
    /// graph.constant(Shape::new(1, 2, 1), &[f16::ONE; 2])?;
    /// assert!(graph.scalar(f16::ONE).is_err());
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub const fn set_values_max(&mut self, values: u64) {
        self.values_max = values;
    }

    pub(super) const fn values_max(&self) -> u64 {
        self.values_max
    }

    /// Values of two bytes that the constants have taken.
    pub(super) const fn values_taken(&self) -> u64 {
        self.constants.len() as u64 / HALF
    }

    /// Refuses more bytes than the constants may still take.
    pub(super) fn check_room(&self, bytes: u64) -> Result<()> {
        self.check_values(bytes.div_ceil(HALF))
    }

    /// Refuses more values than the constants may still take.
    pub(super) fn check_values(&self, count: u64) -> Result<()> {
        let left = self.values_max.saturating_sub(self.values_taken());
        if count <= left { Ok(()) } else { Err(BuildError::Values { count, left, budget: self.values_max }) }
    }

    /// A tensor that the client fills. Without a name it has that of its place, such as `input0`.
    ///
    /// # Errors
    ///
    /// Refuses a name that a file cannot keep: one that another surface has, one with a zero, and one that is longer than
    /// the room that is left for names.
    pub fn input(&mut self, name: &str, shape: Shape) -> Result<Tensor> {
        let name = self.next_name(Direction::Input, name)?;
        self.named_input(&name, shape)
    }

    /// The same with any name.
    pub(crate) fn named_input(&mut self, name: &str, shape: Shape) -> Result<Tensor> {
        let home = Home::Input(self.inputs.len());
        let tensor = self.value("input", shape, home)?;
        self.inputs.push((name.to_owned(), self.views[tensor.0].value));
        Ok(tensor)
    }

    /// A tensor of constants, which lies with the coefficients.
    pub fn constant(&mut self, shape: Shape, values: &[f16]) -> Result<Tensor> {
        let operation = "constant";
        let layout = InMemory::of(shape.check(operation)?, 1);
        length(operation, "constants", values.len(), shape.elements())?;
        Limit::MemoryBytes.check(operation, layout.bytes)?;
        // Before the rows are padded: a row of one value becomes 32 of them.
        self.check_room(layout.bytes)?;
        let mut bytes = Vec::with_capacity(layout.bytes as usize);
        for row in values.chunks(shape.w as usize) {
            bytes.extend(row.iter().flat_map(|value| value.to_le_bytes()));
            bytes.resize(bytes.len().next_multiple_of(MEMORY_ALIGN as usize), 0);
        }
        let base = self.store(operation, &bytes)?;
        self.value(operation, shape, Home::Constant(base))
    }

    /// One constant, which stretches to any shape as an operand.
    pub fn scalar(&mut self, value: f16) -> Result<Tensor> {
        self.constant(Shape::new(1, 1, 1), &[value])
    }

    /// Makes a computed tensor one that the client reads. Without a name it has that of its place, such as `output0`.
    ///
    /// # Errors
    ///
    /// Refuses inputs, constants, parts of tensors, what is an output already, what has to lie elsewhere, and the names that
    /// [`input`](Self::input) refuses.
    pub fn output(&mut self, name: &str, tensor: Tensor) -> Result<()> {
        self.may_be_output(tensor)?;
        let name = self.next_name(Direction::Output, name)?;
        self.named_output(&name, tensor)
    }

    /// The same with any name.
    pub(crate) fn named_output(&mut self, name: &str, tensor: Tensor) -> Result<()> {
        let value = self.may_be_output(tensor)?;
        let home = Home::Output(self.outputs.len());
        self.change(value, |value| value.home = home);
        self.outputs.push((name.to_owned(), value));
        Ok(())
    }

    /// The value of a tensor that can become an output.
    fn may_be_output(&self, tensor: Tensor) -> Result<ValueId> {
        let operation = "output";
        let view = self.view(tensor)?;
        let value = self.values[view.value];
        let refused = |is| Err(BuildError::Place { operation, is, wanted: "an output" });
        match value.home {
            Home::Input(_) => return refused("an input"),
            Home::Constant(_) => return refused("a constant"),
            Home::Output(_) => return refused("an output already"),
            Home::Intermediate => {}
        }
        if view.shape != value.shape || view.lines.is_some() {
            return refused("part of another");
        }
        if value.interleave != 1 {
            return refused("interleaved");
        }
        if value.placement() == Placement::Chip {
            return refused("on chip");
        }
        Ok(view.value)
    }

    /// Says where an intermediate tensor should lie. [`Placement::Auto`] leaves it to the builder again.
    ///
    /// # Errors
    ///
    /// Refuses surfaces and constants, and the chip for a tensor that has to lie in memory: one that is folded, interleaved or
    /// taken by lines.
    pub fn place(&mut self, tensor: Tensor, placement: Placement) -> Result<()> {
        let view = self.view(tensor)?;
        let value = self.values[view.value];
        let wanted = "placed";
        if value.home != Home::Intermediate {
            return Err(BuildError::Place { operation: "placement", is: "a surface or a constant", wanted });
        }
        if value.is_bound && placement == Placement::Chip {
            return Err(BuildError::Place { operation: "placement", is: "bound to scratch memory", wanted });
        }
        self.change(view.value, |value| value.wish = placement);
        Ok(())
    }

    /// Lets an intermediate tensor lie in scratch memory with `interleave` channels side by side in one plane.
    pub fn interleave(&mut self, tensor: Tensor, interleave: u32) -> Result<()> {
        let operation = "interleave";
        Limit::Interleave.check(operation, interleave)?;
        let view = self.view(tensor)?;
        let wanted = "interleaved";
        if self.values[view.value].home != Home::Intermediate {
            return Err(BuildError::Place { operation, is: "a surface or a constant", wanted });
        }
        if self.values[view.value].folded {
            return Err(BuildError::Place { operation, is: "folded", wanted });
        }
        self.in_memory(operation, tensor)?;
        self.change(view.value, |value| value.interleave = interleave);
        Ok(())
    }

    /// Some channels and rows of a tensor. A part in width is not offered: it takes another path (numerics 13).
    pub fn slice(&mut self, tensor: Tensor, channels: Range<u32>, rows: Range<u32>) -> Result<Tensor> {
        let operation = "slice";
        let view = self.view(tensor)?;
        for (axis, part, extent) in [("channels", &channels, view.shape.c), ("rows", &rows, view.shape.h)] {
            if part.start >= part.end || part.end > extent {
                return Err(BuildError::Slice { operation, axis, start: part.start, end: part.end, extent });
            }
        }
        let lines = view.lines.map(|lines| lines.from(channels.start, rows.start));
        Ok(self.view_of(View {
            value: view.value,
            channel: view.channel + channels.start,
            row: view.row + rows.start,
            shape: Shape::new(channels.end - channels.start, rows.end - rows.start, view.shape.w),
            lines,
        }))
    }

    /// A whole tensor with the rows of all its channels as rows of one: (C, H, W) as (1, C * H, W).
    ///
    /// In memory that is the same bytes, so the tensor will lie there.
    ///
    /// # Errors
    ///
    /// Refuses parts of tensors, what lies on chip or interleaved, and more rows than 15 bits count.
    pub fn fold(&mut self, tensor: Tensor) -> Result<Tensor> {
        let operation = "fold";
        let view = self.view(tensor)?;
        let value = self.values[view.value];
        if view.shape != value.shape || view.lines.is_some() || value.interleave != 1 {
            return Err(BuildError::Place { operation, is: "a part or interleaved", wanted: "folded" });
        }
        let Shape { c, h, w } = view.shape;
        Limit::Rows.check(operation, u64::from(c) * u64::from(h))?;
        self.in_memory(operation, tensor)?;
        self.change(view.value, |value| value.folded = true);
        Ok(self.view_of(View { shape: Shape::new(1, c * h, w), ..view }))
    }

    pub const fn task_count(&self) -> usize {
        self.passes.len()
    }

    pub fn shape(&self, tensor: Tensor) -> Result<Shape> {
        Ok(self.view(tensor)?.shape)
    }

    pub(super) const fn mark(&self) -> Mark {
        Mark {
            values: self.values.len(),
            views: self.views.len(),
            passes: self.passes.len(),
            constants: self.constants.len(),
            inputs: self.inputs.len(),
            outputs: self.outputs.len(),
            changes: self.changes.len(),
        }
    }

    /// Takes back what was added since: nothing of an operation that failed half way is left.
    pub(super) fn rewind(&mut self, to: Mark) {
        // The first change of a tensor is undone last.
        for (value, before) in self.changes.drain(to.changes..).rev() {
            self.values[value] = before;
        }
        self.inputs.truncate(to.inputs);
        self.outputs.truncate(to.outputs);
        self.values.truncate(to.values);
        self.views.truncate(to.views);
        self.passes.truncate(to.passes);
        self.constants.truncate(to.constants);
        self.stored.retain(|_, place| place.end <= to.constants);
    }

    pub(super) fn view(&self, tensor: Tensor) -> Result<View> {
        let foreign = BuildError::ForeignTensor { index: tensor.0, count: self.views.len() };
        self.views.get(tensor.0).copied().ok_or(foreign)
    }

    pub(crate) fn intermediate(&mut self, operation: &'static str, shape: Shape) -> Result<Tensor> {
        self.value(operation, shape, Home::Intermediate)
    }

    /// Sees to it that a tensor lies in memory.
    pub(super) fn in_memory(&mut self, operation: &'static str, tensor: Tensor) -> Result<()> {
        let view = self.view(tensor)?;
        let value = self.values[view.value];
        match (value.home, value.placement()) {
            (Home::Intermediate, Placement::Chip) => {
                return Err(BuildError::Place { operation, is: "on chip", wanted: "in memory" });
            }
            (Home::Intermediate, _) if !value.is_bound => {
                self.change(view.value, |value| value.is_bound = true);
            }
            _ => {}
        }
        Ok(())
    }

    /// Changes what is known of a tensor; [`rewind`](Self::rewind) takes it back.
    pub(super) fn change(&mut self, id: ValueId, change: impl FnOnce(&mut Value)) {
        let value = &mut self.values[id];
        self.changes.push((id, *value));
        change(value);
    }

    /// Puts bytes into the constant section, once: a recurrent layer has the same in each step.
    pub(super) fn store(&mut self, operation: &'static str, bytes: &[u8]) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        let known =
            self.stored.get(&hash).filter(|place| self.constants.get((*place).clone()) == Some(bytes));
        if let Some(place) = known {
            return Ok(place.start as u64);
        }
        let base = self.constants.len();
        Limit::MemoryBytes.check(operation, (base + bytes.len()) as u64)?;
        self.check_room((bytes.len() as u64).next_multiple_of(MEMORY_ALIGN))?;
        self.constants.extend_from_slice(bytes);
        self.stored.insert(hash, base..self.constants.len());
        self.constants.resize(self.constants.len().next_multiple_of(MEMORY_ALIGN as usize), 0);
        Ok(base as u64)
    }

    pub(super) fn store_table(&mut self, table: &ActivationTable) -> Result<u64> {
        self.store("activation table", table.as_bytes())
    }

    fn value(&mut self, operation: &'static str, shape: Shape, home: Home) -> Result<Tensor> {
        let shape = shape.check(operation)?;
        Limit::MemoryBytes.check(operation, InMemory::of(shape, 1).bytes)?;
        let value = self.values.len();
        let (wish, is_bound, folded) = (Placement::Auto, false, false);
        self.values.push(Value { shape, home, interleave: 1, wish, is_bound, folded });
        Ok(self.view_of(View { value, channel: 0, row: 0, shape, lines: None }))
    }

    pub(super) fn view_of(&mut self, view: View) -> Tensor {
        self.views.push(view);
        Tensor(self.views.len() - 1)
    }
}

/// Refuses a list that does not have as many values as a shape takes.
pub(super) fn length(operation: &'static str, what: &'static str, given: usize, expected: u64) -> Result<()> {
    let given = given as u64;
    if given == expected { Ok(()) } else { Err(BuildError::Length { operation, what, given, expected }) }
}
