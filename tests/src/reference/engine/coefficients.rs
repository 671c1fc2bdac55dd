//! Coefficients and tables, as the kernel DMA finds them in memory (td 4.7, 7.1, 7.4; delta 5).
//!
//! Each engine has a chunk. A table that goes with coefficients leads it; then come slots, one for each plane of lanes
//! that the engine holds, group after group. A slot is a bias row if there is one, then one row of lanes for each tap, or
//! the same with its zeros left out ([`sparse`](super::sparse)).

use super::machine::ReferenceMachine;
use super::numbers::half_bits;
use super::sparse;
use super::tables::{HALVES, Table};
use super::task::EngineTask;
use super::{Stop, stop_if};

/// Bytes of a table.
const TABLE: u64 = 2 * HALVES as u64;

/// The multipliers of the outputs of one group and, with a bias row, the first values of their sums. An output
/// here is one channel of one of the columns that are made side by side.
#[derive(Debug, Clone, Default)]
pub(super) struct Coefficients {
    /// For each output, one coefficient for each tap; one of 8 bits is the half of the same value (numerics-array 12).
    pub(super) rows: Vec<Vec<u16>>,
    /// For each output, what the sum begins with, if there is a bias row.
    pub(super) bias: Option<Vec<u16>>,
}

/// How the coefficients of a task lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct CoefficientLayout {
    /// Outputs of a plane; the last may have less.
    pub(super) lanes: u32,
    pub(super) engines: u32,
    /// Outputs of one group, all columns that are made side by side.
    pub(super) outputs: u32,
    pub(super) groups: u32,
    pub(super) taps: u32,
    pub(super) bytes: u32,
    pub(super) bias: bool,
    pub(super) sparse: bool,
    /// Whether a table leads each chunk.
    pub(super) table: bool,
    /// Whether a task has written them, interleaved by lanes (td 7.3): a row has room for all lanes then.
    pub(super) full_rows: bool,
    /// Whether the slots of a group lie back to back, and only the group is padded.
    pub(super) pads_groups: bool,
}

impl CoefficientLayout {
    pub(super) fn of(task: &EngineTask<'_>, taps: u32) -> Self {
        let side_by_side = task.field(0x1C, 29, 28);
        let outputs = task.output().c * side_by_side;
        let (lanes, engines) =
            ((1 << task.field(0x1C, 12, 10)) * side_by_side, 1 << task.field(0x34, 21, 19));
        let full = Self {
            lanes,
            engines,
            outputs,
            groups: task.field(0x24, 12, 0),
            taps,
            bytes: if task.field(0xC800, 1, 0) == 2 { 2 } else { 1 },
            bias: task.bit(0xC804, 4),
            sparse: task.bit(0xC800, 8),
            table: task.uses_table(),
            full_rows: task.bit(0xC800, 16),
            pads_groups: false,
        };
        // Reading: groups are padded and not their slots where engines fetch as much as that makes. Sizes that both
        // make are refused in `check`.
        let full = Self { pads_groups: full.fetches_padded_groups(task) == (false, true), ..full };
        // Where the lanes of all engines are more than there are outputs, each engine has as many of them, rounded up.
        // Reading: this is so if what engines fetch is what they have then; otherwise planes have all their lanes, and
        // some engines have nothing. Nobody knows it of sparse coefficients.
        let narrow = Self { lanes: outputs.div_ceil(engines).max(1), ..full };
        // Coefficients that a task has written are planes of all lanes (td 7.3), if they are fetched so.
        let written = full.full_rows && (full.is_fetched(task) || !outputs.is_multiple_of(narrow.lanes));
        let is_narrow = outputs < lanes * engines && !full.sparse && !written && narrow.is_fetched(task);
        if is_narrow { narrow } else { full }
    }

    /// Whether the engines fetch exactly the coefficients if slots are padded; and the same if groups are
    /// padded, where that puts slots elsewhere.
    fn fetches_padded_groups(self, task: &EngineTask<'_>) -> (bool, bool) {
        let is_other = !self.slot_bytes(0).is_multiple_of(64) && self.planes() > self.engines;
        if self.sparse || self.groups == 1 || !is_other {
            return (true, false);
        }
        let is_fetched = |pads_groups| Self { pads_groups, ..self }.is_fetched(task);
        (is_fetched(false), is_fetched(true))
    }

    /// Whether exactly the engines that have coefficients fetch, and fetch them and the padding behind.
    fn is_fetched(self, task: &EngineTask<'_>) -> bool {
        (0..self.engines.min(16)).all(|engine| {
            let bytes = self.chunk_bytes(engine);
            let has_slot = engine < self.planes();
            let size = u64::from(task.word(0x1F888 + 4 * engine));
            task.bit(0x1F808 + 4 * engine, 0) == has_slot && (!has_slot || size == bytes.next_multiple_of(64))
        })
    }

    pub(super) fn planes(self) -> u32 {
        self.outputs.div_ceil(self.lanes)
    }

    /// The outputs of a plane.
    fn of_plane(self, plane: u32) -> std::ops::Range<u32> {
        plane * self.lanes..((plane + 1) * self.lanes).min(self.outputs)
    }

    /// Bytes of a dense slot, without the padding behind it.
    fn slot_bytes(self, plane: u32) -> u64 {
        u64::from(self.row(plane) * self.bytes) * u64::from(self.taps + u32::from(self.bias))
    }

    /// Coefficients from one row of a plane to the next.
    fn row(self, plane: u32) -> u32 {
        if self.full_rows { self.lanes } else { self.of_plane(plane).len() as u32 }
    }

    /// From the end of a slot to the next. Slots lie back to back, those of groups at multiples of 64 (delta 5.2), or
    /// the first one of a group.
    fn next_slot(self, end: u64, is_first: bool) -> u64 {
        if self.groups > 1 && (is_first || !self.pads_groups) { end.next_multiple_of(64) } else { end }
    }

    /// Bytes that the chunk of an engine has at least.
    fn chunk_bytes(self, engine: u32) -> u64 {
        let mut end = if self.table { TABLE } else { 0 };
        for _ in 0..self.groups {
            for plane in (engine..self.planes()).step_by(self.engines as usize) {
                // How much a sparse slot holds says the slot itself.
                let bytes = if self.sparse { 3 } else { self.slot_bytes(plane) };
                end = self.next_slot(end, plane == engine) + bytes;
            }
        }
        end
    }
}

/// The address of an engine's chunk.
fn chunk(task: &EngineTask<'_>, engine: u32) -> u64 {
    task.coefficient_bar() + u64::from(task.word(0x1F848 + 4 * engine) & !0x3F)
}

/// Refuses coefficients that nobody knows how to read, or that do not fit.
pub(super) fn check(task: &EngineTask<'_>, taps: u32) -> Result<(), Stop> {
    super::refusals::named_bits_only(task, 0xC800)?;
    let format = task.field(0xC800, 1, 0);
    stop_if(format == 3, || Stop::refused(0xC800, "coefficient format 3"))?;
    for (bit, name) in [(2, "palettised"), (10, "reused")] {
        stop_if(task.bit(0xC800, bit), || Stop::refused(0xC800, format!("{name} coefficients")))?;
    }
    let layout = CoefficientLayout::of(task, taps);
    stop_if(format != 2 && layout.bias, || Stop::refused(0xC804, "bias row of 8-bit coefficients"))?;
    // Reading: both registers say whether zeros are left out, as in every program.
    stop_if(layout.sparse != task.bit(0x1F800, 5), || Stop::refused(0x1F800, "sparse or not"))?;
    if layout.sparse {
        sparse::check(task, layout)?;
    }
    stop_if(layout.fetches_padded_groups(task) == (true, true), || {
        Stop::refused(0x24, "slots or groups are padded, and sizes fit both")
    })?;
    // A last plane with fewer outputs has rows as narrow. Reading: if what is fetched is what there is then.
    let is_ragged = !layout.outputs.is_multiple_of(layout.lanes);
    stop_if(is_ragged && (layout.sparse || !layout.is_fetched(task)), || {
        Stop::refused(0x10, format!("{} outputs in planes of {}", layout.outputs, layout.lanes))
    })?;
    for engine in 0..layout.engines.min(layout.planes()) {
        channel(task, engine, layout.chunk_bytes(engine))?;
    }
    Ok(())
}

/// Refuses a table that nobody knows how to find. One that goes with coefficients is part of their chunks.
pub(super) fn check_table(task: &EngineTask<'_>) -> Result<(), Stop> {
    stop_if(!task.bit(0xC804, 20), || Stop::refused(0xC804, "table with bit 20 clear"))?;
    if task.uses_coefficients() { Ok(()) } else { channel(task, 0, TABLE) }
}

fn channel(task: &EngineTask<'_>, engine: u32, bytes: u64) -> Result<(), Stop> {
    stop_if(!task.bit(0x1F800, 6), || Stop::refused(0x1F800, "kernel DMA is off"))?;
    let (config, size) = (0x1F808 + 4 * engine, 0x1F888 + 4 * engine);
    stop_if(!task.bit(config, 0), || Stop::refused(config, format!("channel {engine} is needed and idle")))?;
    stop_if(u64::from(task.word(size)) < bytes, || {
        Stop::refused(size, format!("channel {engine} needs {bytes:#x} bytes"))
    })
}

impl ReferenceMachine {
    /// Reads the coefficients of every group.
    pub(super) fn coefficients(
        &self,
        task: &EngineTask<'_>,
        layout: CoefficientLayout,
    ) -> Result<Vec<Coefficients>, Stop> {
        let outputs = layout.outputs as usize;
        let empty =
            Coefficients { rows: vec![Vec::new(); outputs], bias: layout.bias.then(|| vec![0; outputs]) };
        let mut groups = vec![empty; layout.groups as usize];
        for engine in 0..layout.engines.min(layout.planes()) {
            let (start, mut at) = (chunk(task, engine), if layout.table { TABLE } else { 0 });
            let size = u64::from(task.word(0x1F888 + 4 * engine));
            for group in &mut groups {
                for plane in (engine..layout.planes()).step_by(layout.engines as usize) {
                    at = layout.next_slot(at, plane == engine);
                    at +=
                        self.slot(task, (layout, layout.of_plane(plane)), (start + at, size - at), group)?;
                    stop_if(at > size, || {
                        Stop::refused(0x1F888 + 4 * engine, "slot is longer than its chunk")
                    })?;
                }
            }
        }
        Ok(groups)
    }

    /// Reads one slot, of which `place` says the address and the bytes that are left for it; gives how many it has.
    fn slot(
        &self,
        task: &EngineTask<'_>,
        (layout, outputs): (CoefficientLayout, std::ops::Range<u32>),
        (start, room): (u64, u64),
        group: &mut Coefficients,
    ) -> Result<u64, Stop> {
        let mut at = start;
        let mut next = || {
            let place = at;
            at += u64::from(layout.bytes);
            match task.field(0xC800, 1, 0) {
                2 => self.memory.half(place),
                1 => self.memory.byte(place).map(|byte| half_bits(f64::from(byte.cast_signed()))),
                _ => self.memory.byte(place).map(|byte| half_bits(f64::from(byte))),
            }
        };
        let empty = if layout.full_rows { layout.lanes - outputs.len() as u32 } else { 0 };
        if let Some(bias) = &mut group.bias {
            for output in outputs.clone() {
                bias[output as usize] = next()?;
            }
            for _ in 0..empty {
                next()?;
            }
        }
        if layout.sparse {
            let bias_bytes = at - start;
            let body = sparse::read(&self.memory, task, layout, (at, room.saturating_sub(bias_bytes)))?;
            for (output, row) in outputs.zip(body.rows) {
                group.rows[output as usize] = row;
            }
            return Ok(bias_bytes + body.bytes);
        }
        for _ in 0..layout.taps {
            for output in outputs.clone() {
                group.rows[output as usize].push(next()?);
            }
            for _ in 0..empty {
                next()?;
            }
        }
        Ok(at - start)
    }

    /// Reads the table that an output of a task goes through: with coefficients, that of the engine that makes it.
    pub(super) fn tables(
        &self,
        task: &EngineTask<'_>,
        layout: Option<CoefficientLayout>,
    ) -> Result<Tables, Stop> {
        let engines = layout.map_or(1, |layout| layout.engines.min(layout.planes()));
        let read = |engine| {
            let mut halves = [0; HALVES];
            for (index, half) in halves.iter_mut().enumerate() {
                *half = self.memory.half(chunk(task, engine) + 2 * index as u64)?;
            }
            Table::new(halves).map_err(|why| Stop::refused(0xC804, why))
        };
        let lanes = layout.map_or(u32::MAX, |layout| layout.lanes);
        Ok(Tables { lanes, tables: (0..engines).map(read).collect::<Result<_, _>>()? })
    }
}

/// The tables of a task, one for each engine that has its own.
#[derive(Debug)]
pub(super) struct Tables {
    lanes: u32,
    tables: Vec<Table>,
}

impl Tables {
    /// The table of an output, counted with the columns that are made side by side.
    pub(super) fn of(&self, output: u32) -> &Table {
        &self.tables[(output / self.lanes) as usize % self.tables.len()]
    }
}
