//! Coefficients and tables, as the kernel DMA finds them in memory (td 4.7, 7.1, 7.4).

use super::machine::Machine;
use super::numbers::half_bits;
use super::tables::{HALVES, Table};
use super::task::Task;
use super::{Stop, stop_if};

/// What the outputs are multiplied with and, with a bias row, offset by.
#[derive(Debug)]
pub(super) struct Coefficients {
    /// For each output, one coefficient for each tap; one of 8 bits is the half of the same value (numerics-array 12).
    pub(super) rows: Vec<Vec<u16>>,
    /// For each output, what the sum begins with, if there is a bias row.
    pub(super) bias: Option<Vec<u16>>,
}

/// Where the coefficients of a task lie: planes of lanes, dealt to the engines in turn.
#[derive(Debug, Clone, Copy)]
struct Layout {
    lanes: u32,
    engines: u32,
    taps: u32,
    bytes: u32,
    bias: bool,
}

impl Layout {
    fn of(task: &Task<'_>, taps: u32) -> Self {
        Self {
            lanes: 1 << task.field(0x1C, 12, 10),
            engines: 1 << task.field(0x34, 21, 19),
            taps,
            bytes: if task.field(0xC800, 1, 0) == 2 { 2 } else { 1 },
            bias: task.bit(0xC804, 4),
        }
    }

    fn slot_bytes(self) -> u64 {
        u64::from(self.taps + u32::from(self.bias)) * self.row_bytes()
    }

    fn row_bytes(self) -> u64 {
        u64::from(self.lanes * self.bytes)
    }

    /// Byte offset of a row of a plane inside its engine's chunk; the bias row is row 0 if there is one.
    fn row(self, plane: u32, row: u32) -> u64 {
        u64::from(plane / self.engines) * self.slot_bytes() + u64::from(row) * self.row_bytes()
    }
}

/// The address of an engine's chunk.
fn chunk(task: &Task<'_>, engine: u32) -> u64 {
    task.coefficient_bar() + u64::from(task.word(0x1F848 + 4 * engine) & !0x3F)
}

/// Refuses coefficients that nobody knows how to read, or that do not fit.
pub(super) fn check(task: &Task<'_>, taps: u32) -> Result<(), Stop> {
    super::refusals::named_bits_only(task, 0xC800)?;
    let format = task.field(0xC800, 1, 0);
    stop_if(!matches!(format, 0 | 2), || Stop::refused(0xC800, format!("coefficient format {format}")))?;
    for (bit, name) in [(2, "palettised"), (8, "sparse"), (10, "reused")] {
        stop_if(task.bit(0xC800, bit), || Stop::refused(0xC800, format!("{name} coefficients")))?;
    }
    let layout = Layout::of(task, taps);
    stop_if(format == 0 && layout.bias, || Stop::refused(0xC804, "bias row of 8-bit coefficients"))?;
    let outputs = task.output().c;
    stop_if(!outputs.is_multiple_of(layout.lanes), || {
        Stop::refused(0x10, format!("{outputs} outputs in planes of {}", layout.lanes))
    })?;
    let planes = outputs / layout.lanes;
    for engine in 0..layout.engines.min(planes) {
        let slots = (planes - engine).div_ceil(layout.engines);
        channel(task, engine, u64::from(slots) * layout.slot_bytes())?;
    }
    Ok(())
}

/// Refuses a table that nobody knows how to find.
pub(super) fn check_table(task: &Task<'_>) -> Result<(), Stop> {
    stop_if(task.uses_coefficients(), || Stop::refused(0xC804, "table behind coefficients"))?;
    stop_if(!task.bit(0xC804, 20), || Stop::refused(0xC804, "table with bit 20 clear"))?;
    channel(task, 0, 2 * HALVES as u64)
}

fn channel(task: &Task<'_>, engine: u32, bytes: u64) -> Result<(), Stop> {
    stop_if(!task.bit(0x1F800, 6), || Stop::refused(0x1F800, "kernel DMA is off"))?;
    let (config, size) = (0x1F808 + 4 * engine, 0x1F888 + 4 * engine);
    stop_if(!task.bit(config, 0), || Stop::refused(config, format!("channel {engine} is needed and idle")))?;
    stop_if(u64::from(task.word(size)) < bytes, || {
        Stop::refused(size, format!("channel {engine} needs {bytes:#x} bytes"))
    })
}

impl Machine {
    /// Reads the coefficients of every output.
    pub(super) fn coefficients(&self, task: &Task<'_>, taps: u32) -> Result<Coefficients, Stop> {
        let layout = Layout::of(task, taps);
        let read = |output: u32, row: u32| {
            let (plane, lane) = (output / layout.lanes, output % layout.lanes);
            let place =
                chunk(task, plane % layout.engines) + layout.row(plane, row) + u64::from(lane * layout.bytes);
            if layout.bytes == 2 {
                self.memory.half(place)
            } else {
                self.memory.byte(place).map(|byte| half_bits(f64::from(byte)))
            }
        };
        let first = u32::from(layout.bias);
        let outputs = task.output().c;
        let rows = (0..outputs).map(|output| (first..first + taps).map(|row| read(output, row)).collect());
        let bias = layout.bias.then(|| (0..outputs).map(|output| read(output, 0)).collect());
        Ok(Coefficients { rows: rows.collect::<Result<_, _>>()?, bias: bias.transpose()? })
    }

    /// Reads the activation table.
    pub(super) fn table(&self, task: &Task<'_>) -> Result<Table, Stop> {
        let mut halves = [0; HALVES];
        for (index, half) in halves.iter_mut().enumerate() {
            *half = self.memory.half(chunk(task, 0) + 2 * index as u64)?;
        }
        Table::new(halves).map_err(|why| Stop::refused(0xC804, why))
    }
}
