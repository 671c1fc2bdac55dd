//! A built program: what the `.anec` writer, a driver or an interpreter take.

use std::borrow::Cow;
use std::ops::Range;

use ane_uapi::hw::td::STREAM_ALIGN;
use ane_uapi::hw::td::header::EventMask;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::graph::{Graph, ValueId};
use super::shape::{HALF, InMemory};
use crate::container::anec::{self, CONSTANTS_BAR, Form, Image, SCRATCH_BARS, TASKS_BAR, WriteError};
use crate::container::limits::TILE_BYTES;
use crate::container::{
    Axes, Bar, Constants, Container, Direction, Element, Generation, Program, Role, Surface,
};
use crate::task::Descriptor;

/// A program, with its buffers laid out as clients of `.anec` assume: BAR 0 tasks, 1 constants, 3 scratch, from 4 on
/// the outputs and behind them the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    stream: Vec<u8>,
    tasks: Vec<Range<usize>>,
    constants: Vec<u8>,
    scratch_bytes: u64,
    surfaces: Vec<Surface<'static>>,
}

impl Built {
    /// The task descriptors; the first is at offset 0.
    pub fn stream(&self) -> &[u8] {
        &self.stream
    }

    /// The constant section, for BAR 1.
    pub fn constants(&self) -> &[u8] {
        &self.constants
    }

    /// Bytes of scratch memory, for BAR 3.
    pub const fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    /// The operands that a client binds: outputs, then inputs, by rising BAR.
    pub fn surfaces(&self) -> &[Surface<'static>] {
        &self.surfaces
    }

    pub fn surface(&self, name: &str) -> Option<&Surface<'static>> {
        self.surfaces.iter().find(|surface| surface.name == name)
    }

    pub const fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// The words of task `index`, header and records.
    pub fn words(&self, index: usize) -> Option<&[U32]> {
        let bytes = self.stream.get(self.tasks.get(index)?.clone())?;
        <[U32]>::ref_from_bytes(bytes).ok()
    }

    /// The words of task `index`, to be altered. Nothing checks what is put there.
    pub fn words_mut(&mut self, index: usize) -> Option<&mut [U32]> {
        let bytes = self.stream.get_mut(self.tasks.get(index)?.clone())?;
        <[U32]>::mut_from_bytes(bytes).ok()
    }

    /// The register at record address `address` of task `index`, to be altered.
    pub fn register_mut(&mut self, index: usize, address: u32) -> Option<&mut U32> {
        let task = self.program().tasks().ok()?.nth(index)?.ok()?;
        let at = task.records().find_map(|record| {
            let word = record.writes().position(|(written, _)| written == address)?;
            Some(record.at + 1 + word)
        })?;
        self.words_mut(index)?.get_mut(at)
    }

    /// The program, as a container's reader would give it.
    pub fn program(&self) -> Program<'_> {
        let constants = (!self.constants.is_empty()).then(|| Constants {
            name: Cow::Borrowed("constants"),
            bar: Some(CONSTANTS_BAR),
            bytes: &self.constants,
        });
        Program {
            container: Container::Anec,
            generation: Generation::H13,
            stream: &self.stream,
            first_task_bytes: self.first_task_bytes(),
            task_count: self.tasks.len() as u32,
            constants: constants.into_iter().collect(),
            bars: self.bars(),
            surfaces: self.surfaces.clone(),
            layers: Vec::new(),
            notes: Vec::new(),
            banner: None,
            warnings: Vec::new(),
        }
    }

    /// The input of the `.anec` writer.
    pub fn image(&self) -> Image<'_> {
        Image::of_anec(&self.program())
    }

    /// The bytes of an `.anec` file.
    ///
    /// # Errors
    ///
    /// Refuses buffers that together are longer than the aperture allows.
    pub fn to_anec(&self) -> Result<Vec<u8>, WriteError> {
        self.image().write(Form::Long)
    }

    fn first_task_bytes(&self) -> u32 {
        self.tasks.first().map_or(0, |task| task.len() as u32)
    }

    fn bars(&self) -> Vec<Bar> {
        let payload = self.stream.len().next_multiple_of(16) + self.constants.len();
        // The driver wants the buffer longer than the task stream, be it by one byte.
        let commands = payload.max(self.stream.len() + 1) as u64;
        let bar = |index, role, bytes| Bar { index, role, link: None, bytes };
        let mut bars = vec![bar(TASKS_BAR, Role::Tasks, commands.next_multiple_of(TILE_BYTES))];
        if !self.constants.is_empty() {
            bars.push(bar(CONSTANTS_BAR, Role::Constants(0), self.constants.len() as u64));
        }
        if self.scratch_bytes > 0 {
            bars.push(bar(SCRATCH_BARS[0], Role::Scratch, self.scratch_bytes.next_multiple_of(TILE_BYTES)));
        }
        let surfaces = self.surfaces.iter().enumerate();
        bars.extend(
            surfaces.map(|(index, surface)| bar(surface.bar, Role::Surface(index), surface.buffer_bytes)),
        );
        bars
    }
}

/// Links `tasks` into a chain, and says what the program of `graph` needs.
pub(super) fn link(graph: &Graph, mut tasks: Vec<Descriptor>, scratch_bytes: u64) -> Built {
    let count = tasks.len();
    let lengths: Vec<u32> = tasks.iter().map(Descriptor::len_bytes).collect();
    let mut stream = Vec::new();
    let mut ranges = Vec::new();
    for (index, task) in tasks.iter_mut().enumerate() {
        let next = lengths.get(index + 1).copied();
        put_place(task, index, count, stream.len(), next);
        let start = stream.len();
        stream.extend(task.encode());
        ranges.push(start..stream.len());
        if next.is_some() {
            stream.resize(stream.len().next_multiple_of(STREAM_ALIGN as usize), 0);
        }
    }
    let outputs = graph.outputs.iter().enumerate().map(|item| (Direction::Output, item));
    let inputs = graph.inputs.iter().enumerate().map(|item| (Direction::Input, item));
    let surfaces = outputs
        .chain(inputs)
        .filter_map(|(direction, (index, (name, value)))| surface(graph, direction, index, name, *value));
    Built {
        stream,
        tasks: ranges,
        constants: graph.constants.clone(),
        scratch_bytes,
        surfaces: surfaces.collect(),
    }
}

/// Writes into the header of task `index` where it stands in the chain.
fn put_place(task: &mut Descriptor, index: usize, count: usize, at: usize, next_bytes: Option<u32>) {
    let last = next_bytes.is_none();
    let own = task.len_bytes();
    let header = task.header_mut();
    // A program has at most 2^16 - 1 tasks.
    header.identity.set_tid(index as u16);
    header.identity.set_lnid(index > 0);
    header.identity.set_eon(last);
    // Masks as compilers write them for tasks alone, in a chain, and at its end.
    let (log, debug) = match (last, count) {
        (true, 1) => (0x422, 0xff_f86a),
        (true, _) => (0x422, 0x6a),
        (false, _) => (0x400, 0x68),
    };
    header.log_events = EventMask::new().with_events(log);
    header.debug_log_events = EventMask::new().with_events(debug);
    if let Some(bytes) = next_bytes {
        header.length.set_next_size((bytes / 4 - 1) as u16);
        // A descriptor is shorter than 0x300 bytes, so that the stream of 2^16 stays below 2^32.
        header.next.set_offset((at as u32 + own).next_multiple_of(STREAM_ALIGN));
        header.operands.set_tbe(true);
    }
}

fn surface(
    graph: &Graph,
    direction: Direction,
    index: usize,
    name: &str,
    value: ValueId,
) -> Option<Surface<'static>> {
    let shape = graph.values.get(value)?.shape;
    let layout = InMemory::of(shape, 1);
    Some(Surface {
        name: Cow::Owned(name.to_owned()),
        direction,
        bar: anec::bar_of(direction, index, graph.outputs.len())?,
        element: Element::Half,
        shape: Axes { n: 1, c: shape.c, h: shape.h, w: shape.w },
        dims: None,
        strides: Axes { n: layout.bytes, c: layout.plane, h: layout.row, w: HALF },
        total_bytes: layout.bytes,
        buffer_bytes: layout.bytes.next_multiple_of(TILE_BYTES),
    })
}
