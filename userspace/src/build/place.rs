//! Places: where each tensor of a graph lies, and through which windows operands stream.
//!
//! Passes are taken in order. A tensor gets its place with the first pass that writes it and loses it behind the last
//! that touches it. An intermediate tensor lies on chip; where the chip is full, one whose place is nobody's wish goes
//! to scratch memory (`room.rs`). An operand in memory passes through a window on chip that lasts as long as
//! its task: some rows of one tile column of all channels (td 4.2).

mod room;
mod window;

use std::collections::BTreeSet;

use ane_uapi::hw::mmio_map::Region;

use self::room::Rank;
use self::window::Windows;
use super::arena::Arena;
use super::encode::{self, ChipWords, MemoryWords, PlacedPass, Runtime, Side};
use super::error::{BuildError, Limit, Result};
use super::graph::{Graph, Home, Placement, ValueId, View};
use super::lines::Lines;
use super::pass::{Coefficients, Pass, Work};
use super::shape::{CHIP_ALIGN, InMemory, MEMORY_ALIGN, OnChip};
use super::{Built, built};
use crate::container::Direction;
use crate::container::anec::{self, CONSTANTS_BAR, SCRATCH_BARS};
use crate::task::Descriptor;

/// Bytes of the on-chip buffer (td 4.2), whatever bound the graph sets for one operand.
const TILE_L2_BYTES: u64 = Region::TileL2.range().len() as u64;

impl Graph {
    pub fn build(&self) -> Result<Built> {
        // There is an error in each list.
        self.build_or_all_errors().map_err(|errors| errors.into_iter().next().unwrap_or(BuildError::NoOutput))
    }

    /// The program, or what stands against it: every task that does not fit, or the one thing that is wrong.
    pub(crate) fn build_or_all_errors(&self) -> Result<Built, Vec<BuildError>> {
        let one = |error| vec![error];
        if self.outputs.is_empty() {
            return Err(one(BuildError::NoOutput));
        }
        Limit::Surfaces.check("program", (self.inputs.len() + self.outputs.len()) as u64).map_err(one)?;
        Limit::Tasks.check("program", self.passes.len() as u64).map_err(one)?;
        let mut in_scratch = vec![false; self.values.len()];
        for _ in 0..ROUNDS {
            match Lowering::new(self, in_scratch).run() {
                Ok(Placed::All(built)) => return Ok(built),
                Ok(Placed::Moved(moved)) => in_scratch = moved,
                Err(BuildError::WorkingSet { .. }) => break,
                Err(error) => return Err(one(error)),
            }
        }
        let all = || Lowering::new(self, vec![true; self.values.len()]);
        match all().run() {
            Ok(Placed::All(built)) => Ok(built),
            Ok(Placed::Moved(_)) | Err(BuildError::WorkingSet { .. }) => Err(all().too_large()),
            Err(error) => Err(one(error)),
        }
    }
}

/// Times that a program is placed before all tensors go to scratch memory that may. (Chosen)
const ROUNDS: usize = 8;

/// What became of a program.
enum Placed {
    /// Each tensor has its place.
    All(Built),
    /// The chip was full, and tensors were moved: those that lie in scratch memory when the program is placed again.
    Moved(Vec<bool>),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Memory { bar: u8, base: u64, layout: InMemory },
    Chip { base: u64, layout: OnChip },
}

struct Lowering<'g> {
    graph: &'g Graph,
    /// The tensors, of those whose place is nobody's wish, that lie in scratch memory.
    in_scratch: Vec<bool>,
    /// True if some were moved there since the first task.
    moved: bool,
    /// The tensors on chip whose place is nobody's wish, as they are before the present pass.
    movable: BTreeSet<Rank>,
    places: Vec<Option<Place>>,
    /// The passes that touch each tensor, in order.
    uses: Vec<Vec<usize>>,
    /// The last pass so far that wrote each tensor.
    writer: Vec<Option<usize>>,
    chip: Arena,
    scratch: Arena,
}

impl<'g> Lowering<'g> {
    fn new(graph: &'g Graph, in_scratch: Vec<bool>) -> Self {
        let mut uses = vec![Vec::new(); graph.values.len()];
        for (index, pass) in graph.passes.iter().enumerate() {
            touched(pass).for_each(|value| uses[value].push(index));
        }
        Self {
            graph,
            in_scratch,
            moved: false,
            movable: BTreeSet::new(),
            places: vec![None; graph.values.len()],
            uses,
            writer: vec![None; graph.values.len()],
            chip: Arena::new(TILE_L2_BYTES, CHIP_ALIGN),
            scratch: Arena::new(Limit::MemoryBytes.max(), MEMORY_ALIGN),
        }
    }

    fn run(mut self) -> Result<Placed> {
        self.place_fixed();
        let mut tasks = Vec::new();
        for (index, pass) in self.graph.passes.iter().enumerate() {
            let descriptor = loop {
                match self.task(index, pass) {
                    Err(BuildError::WorkingSet { .. }) if self.make_room(index, pass) => {}
                    done => break done?,
                }
            };
            tasks.push(descriptor);
        }
        Ok(match self.moved {
            true => Placed::Moved(self.in_scratch),
            false => Placed::All(built::link(self.graph, tasks, self.scratch.peak)),
        })
    }

    /// Each task that does not fit, as if those before it did.
    fn too_large(mut self) -> Vec<BuildError> {
        self.place_fixed();
        let mut errors = Vec::new();
        for (index, pass) in self.graph.passes.iter().enumerate() {
            match self.task(index, pass) {
                Ok(_) => {}
                Err(error @ BuildError::WorkingSet { .. }) => {
                    errors.push(error);
                    self.finish(index, pass);
                }
                // An omission of a task before it is no fault of this one.
                Err(_) => self.finish(index, pass),
            }
        }
        errors
    }

    fn place_fixed(&mut self) {
        let outputs = self.graph.outputs.len();
        for (value, place) in self.graph.values.iter().zip(&mut self.places) {
            let layout = InMemory::of(value.shape, 1);
            let surface = |direction, index| {
                let bar = anec::bar_of(direction, index, outputs)?;
                Some(Place::Memory { bar, base: 0, layout })
            };
            *place = match value.home {
                Home::Input(index) => surface(Direction::Input, index),
                Home::Output(index) => surface(Direction::Output, index),
                Home::Constant(base) => Some(Place::Memory { bar: CONSTANTS_BAR, base, layout }),
                Home::Intermediate => None,
            };
        }
    }

    fn task(&mut self, index: usize, pass: &Pass) -> Result<Descriptor> {
        for view in [Some(pass.first), pass.second].into_iter().flatten() {
            self.check_written(index, pass, view)?;
        }
        for view in [Some(pass.result), pass.keep].into_iter().flatten() {
            self.make_place(index, pass, view.value)?;
        }
        let (windows, tile_rows) = self.windows(index, pass)?;
        let descriptor = self.descriptor(index, pass, &windows, tile_rows);
        windows.iter().for_each(|window| self.chip.give_back(window.base));
        let descriptor = descriptor?;
        self.finish(index, pass);
        Ok(descriptor)
    }

    /// The words of a task whose operands all have places.
    fn descriptor(&self, index: usize, pass: &Pass, windows: &Windows, tile_rows: u32) -> Result<Descriptor> {
        let result = self.side(pass, pass.result, windows.result)?;
        let first = self.first(pass, windows.first)?;
        let second = pass.second.map(|view| self.side(pass, view, windows.second)).transpose()?;
        whole_planes_per_group(pass, &first, &result)?;
        let runtime = self.runtime(index, pass)?;
        let task = PlacedPass { pass, tile_rows, first, second, result, assembled: assembled(pass), runtime };
        Ok(encode::descriptor(&task))
    }

    /// The pass has written its results; what no later one touches loses its place.
    fn finish(&mut self, index: usize, pass: &Pass) {
        for view in [Some(pass.result), pass.keep].into_iter().flatten() {
            self.writer[view.value] = Some(index);
        }
        for value in touched(pass) {
            let is_movable = self.movable.remove(&self.rank(value, index));
            self.end_life(index, value);
            if is_movable && self.places[value].is_some() {
                self.movable.insert(self.rank(value, index + 1));
            }
        }
    }

    fn check_written(&self, task: usize, pass: &Pass, view: View) -> Result<()> {
        let home = self.graph.values[view.value].home;
        let written = matches!(home, Home::Input(_) | Home::Constant(_)) || self.writer[view.value].is_some();
        if written { Ok(()) } else { Err(BuildError::NotWritten { task, operation: pass.operation }) }
    }

    /// Gives a tensor that is written a place, if this is the first pass that does.
    fn make_place(&mut self, task: usize, pass: &Pass, id: ValueId) -> Result<()> {
        if self.places[id].is_some() {
            return Ok(());
        }
        let value = self.graph.values[id];
        let on_chip = match value.placement() {
            Placement::Auto => !self.in_scratch[id],
            wish => wish == Placement::Chip,
        };
        self.places[id] = Some(if on_chip {
            let spread = OnChip::spread(value.shape, &self.graph.hierarchy);
            let place = match self.chip.take(spread.bytes) {
                Some(base) => Place::Chip { base, layout: spread },
                None => {
                    let layout = OnChip::dense(value.shape);
                    let base = take(&mut self.chip, task, pass, "result", layout.bytes)?;
                    Place::Chip { base, layout }
                }
            };
            if value.placement() == Placement::Auto {
                self.movable.insert(self.rank(id, task));
            }
            place
        } else {
            self.take_scratch(task, pass, id)?
        });
        Ok(())
    }

    fn take_scratch(&mut self, task: usize, pass: &Pass, id: ValueId) -> Result<Place> {
        let value = self.graph.values[id];
        let layout = InMemory::of(value.shape, value.interleave);
        let base = take(&mut self.scratch, task, pass, "result in scratch memory", layout.bytes)?;
        Ok(Place::Memory { bar: SCRATCH_BARS[0], base, layout })
    }

    /// Takes the space back of a tensor that no later pass touches.
    fn end_life(&mut self, task: usize, id: ValueId) {
        if self.uses[id].last() != Some(&task) || self.graph.values[id].home != Home::Intermediate {
            return;
        }
        match self.places[id].take() {
            Some(Place::Chip { base, .. }) => self.chip.give_back(base),
            Some(Place::Memory { base, .. }) => self.scratch.give_back(base),
            None => {}
        }
    }

    /// The words of source 1, which may stay on chip.
    fn first(&self, pass: &Pass, window: Option<ChipWords>) -> Result<Side> {
        let side = self.side(pass, pass.first, window)?;
        match pass.keep {
            Some(keep) => Ok(Side { chip: self.side(pass, keep, None)?.chip, ..side }),
            None => Ok(side),
        }
    }

    fn side(&self, pass: &Pass, view: View, window: Option<ChipWords>) -> Result<Side> {
        let (channel, row) = (u64::from(view.channel), u64::from(view.row));
        let batched = |stride: u64| match (pass.batches, view.shape.h) {
            (1, _) => None,
            (_, 1) => Some(0),
            _ => Some(stride),
        };
        match self.places[view.value] {
            Some(Place::Chip { base, layout }) => Ok(Side {
                chip: ChipWords {
                    base: base + channel * layout.channel + row * layout.row,
                    channel: layout.channel,
                    row: layout.row,
                    group: batched(layout.row).unwrap_or(layout.bytes),
                },
                memory: None,
            }),
            Some(Place::Memory { bar, base, layout }) => {
                if !view.channel.is_multiple_of(layout.interleave) {
                    let InMemory { interleave, .. } = layout;
                    let (operation, channel) = (pass.operation, view.channel);
                    return Err(BuildError::InsidePlane { operation, channel, interleave });
                }
                let plane = channel / u64::from(layout.interleave);
                let lines = view.lines.unwrap_or(Lines {
                    base: plane * layout.plane + row * layout.row,
                    plane: layout.plane,
                    row: layout.row,
                });
                Ok(Side {
                    chip: window.unwrap_or_default(),
                    memory: Some(MemoryWords {
                        bar,
                        base: base + lines.base,
                        row: lines.row,
                        plane: lines.plane,
                        depth: layout.bytes,
                        group: batched(lines.row).unwrap_or(0),
                        interleave: layout.interleave,
                    }),
                })
            }
            None => Err(BuildError::NotWritten { task: 0, operation: pass.operation }),
        }
    }

    /// The facts about runtime coefficients that their task needs.
    fn runtime(&self, task: usize, pass: &Pass) -> Result<Option<Runtime>> {
        let Work::Neural(neural) = &pass.work else { return Ok(None) };
        let Coefficients::Runtime(view) = neural.coefficients else { return Ok(None) };
        let missing = BuildError::NotWritten { task, operation: pass.operation };
        let producer = self.writer[view.value].ok_or(missing)?;
        let memory = self.side(pass, view, None)?.memory;
        Ok(memory.map(|memory| Runtime { memory, producer }))
    }
}

/// Refuses groups that end inside of an interleaved plane: from one group to the next there is one stride.
fn whole_planes_per_group(pass: &Pass, first: &Side, result: &Side) -> Result<()> {
    let groups = pass.groups();
    // The groups of a turned result lie side by side in each row.
    let sides = [(first, pass.input.c, false), (result, pass.output.c, pass.transpose)];
    for (side, channels, is_turned) in sides {
        let interleave = side.memory.map_or(1, |memory| memory.interleave);
        let each = channels / groups;
        if groups > 1 && !is_turned && !each.is_multiple_of(interleave) {
            return Err(BuildError::InsidePlane { operation: pass.operation, channel: each, interleave });
        }
    }
    Ok(())
}

/// Whether a result for memory is put together on chip first: transposed reductions, as compilers do it (td 4.2).
fn assembled(pass: &Pass) -> bool {
    use ane_uapi::hw::td::common::TaskClass::{PlanarBinaryReduce, PlanarReduce};
    let reduces = match &pass.work {
        Work::Planar(planar) => matches!(planar.class, PlanarReduce | PlanarBinaryReduce),
        Work::Neural(_) => false,
    };
    pass.transpose && reduces
}

fn touched(pass: &Pass) -> impl Iterator<Item = ValueId> {
    let coefficients = match &pass.work {
        Work::Neural(neural) => match neural.coefficients {
            Coefficients::Runtime(view) => Some(view),
            _ => None,
        },
        Work::Planar(_) => None,
    };
    let views = [Some(pass.first), pass.second, coefficients, Some(pass.result), pass.keep];
    views.into_iter().flatten().map(|view| view.value)
}

fn take(arena: &mut Arena, task: usize, pass: &Pass, what: &'static str, bytes: u64) -> Result<u64> {
    let (operation, capacity) = (pass.operation, arena.capacity);
    let place = arena.take(bytes);
    place.ok_or_else(|| BuildError::WorkingSet { task, operation, what, bytes, live: arena.live(), capacity })
}
