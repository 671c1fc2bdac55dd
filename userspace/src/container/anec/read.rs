//! Reads an ANEC.

use std::borrow::Cow;
use std::mem::{offset_of, size_of};

use ane_uapi::hw::td::header;
use ane_uapi::hw::td::operands::{BarSet, Roles};
use zerocopy::FromBytes;

use super::super::bytes::Reader;
use super::super::limits::{self, BARS, TILE_BYTES};
use super::super::program::{
    Axes, Bar, Constants, Container, Direction, Element, Generation, Program, Role, Surface, Warning, extent,
};
use super::tiles::{Tiles, commands_needed};
use super::{
    CONSTANTS_BAR, Form, Header, ReadError, SCRATCH_BARS, SURFACES_BAR, SURFACES_MAX, Shape, TASKS_BAR,
    Trailer, constants_at, names,
};

/// True if the file is an ANEC, or was one before it was damaged.
///
/// Without a magic number there is only consistency to go by: the payload leaves one of the two header lengths,
/// or it is as long as task stream and constants together.
pub fn is_anec(file: &[u8]) -> bool {
    let Ok((header, _)) = Header::ref_from_prefix(file) else { return false };
    let (file, _) = parts(header, file);
    let left = (file.len() as u64).checked_sub(header.payload_bytes.get());
    let adds_up = payload(header) == Some(header.payload_bytes.get());
    Form::ALL.iter().any(|form| left == Some(form.bytes())) || (adds_up && header.stream_bytes.get() > 0)
}

/// The file without what it says of a model, and that text.
fn parts<'a>(header: &Header, file: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
    let is_whole = |file: &[u8]| {
        let left = (file.len() as u64).checked_sub(header.payload_bytes.get());
        Form::ALL.iter().any(|form| left == Some(form.bytes()))
    };
    match Trailer::split(file) {
        Some((front, text)) if !is_whole(file) && is_whole(front) => (front, Some(text)),
        _ => (file, None),
    }
}

pub fn read(file: &[u8]) -> Result<Program<'_>, ReadError> {
    let reader = Reader::file(file);
    // The prefix has the header's length.
    let header = Header::read_from_bytes(reader.slice(0, size_of::<Header>() as u64, "header")?)
        .unwrap_or_else(|_| zerocopy::FromZeros::new_zeroed());

    let (file, model) = parts(&header, file);
    let reader = Reader::file(file);
    let payload_at = payload_at(&header, reader.len())?;
    refuse_zeros(reader, payload_at)?;
    let tiles = Tiles::of(&header);
    let (stream_bytes, constant_bytes) = (header.stream_bytes.get(), header.constant_bytes.get());
    let stream = reader.slice(payload_at, stream_bytes, "task stream")?;
    let constants_at = payload_at.saturating_add(constants_at(stream_bytes).unwrap_or(u64::MAX));
    let constants = reader.slice(constants_at, constant_bytes, "constants")?;

    let (first_task_bytes, task_count) = (header.first_task_bytes.get(), header.task_count.get());
    let at = (offset_of!(Header, first_task_bytes) as u64, offset_of!(Header, task_count) as u64);
    limits::check_tasks(stream_bytes, first_task_bytes, task_count, at)?;

    let (outputs, inputs) = (header.outputs.get() as usize, header.inputs.get() as usize);
    // Either header is at least that long.
    let named = reader.slice(size_of::<Header>() as u64, names::ROOM as u64, "names")?;
    let told = Roles::of_tasks(stream, first_task_bytes, task_count, SURFACES_BAR, outputs, inputs);
    let roles = told.unwrap_or_else(|| Roles::in_order(SURFACES_BAR, outputs, inputs));
    let mut surfaces = surfaces(&header, tiles, roles, names::decode(named, outputs, inputs))?;
    let mut warnings = tiles.warning(&header);
    if told.is_none() {
        warnings.push(Warning::OperandsUnclear { inputs, outputs, first: SURFACES_BAR });
    }
    let (mut layers, mut notes) = (Vec::new(), Vec::new());
    if let Some(text) = model {
        match Trailer::apply(text, &mut surfaces, task_count) {
            Ok(told) => (layers, notes) = told,
            Err(reason) => warnings.push(Warning::ModelIgnored { reason }),
        }
    }
    let bars = bars(&header, tiles, &surfaces, &mut warnings)?;
    let constants = (constant_bytes > 0).then_some(Constants {
        name: Cow::Borrowed("constants"),
        bar: Some(CONSTANTS_BAR),
        bytes: constants,
    });
    Ok(Program {
        container: Container::Anec,
        // The container does not say; everything that writes it compiles for M1.
        generation: Generation::H13,
        stream,
        first_task_bytes,
        task_count,
        constants: constants.into_iter().collect(),
        bars,
        surfaces,
        layers,
        notes,
        banner: None,
        warnings,
    })
}

/// The bytes of task stream and constants together.
fn payload(header: &Header) -> Option<u64> {
    constants_at(header.stream_bytes.get())?.checked_add(header.constant_bytes.get())
}

/// Bytes of the buffer that holds the payload, in whole pages.
fn commands_bytes(header: &Header) -> u64 {
    commands_needed(header).checked_next_multiple_of(TILE_BYTES).unwrap_or(u64::MAX)
}

/// Where the payload starts, which is how long the header is.
fn payload_at(header: &Header, file: u64) -> Result<u64, ReadError> {
    let says = header.payload_bytes.get();
    if payload(header) != Some(says) {
        let (stream, constants) = (header.stream_bytes.get(), header.constant_bytes.get());
        return Err(ReadError::PayloadSum { payload: says, stream, constants });
    }
    let left = file.checked_sub(says).filter(|&left| Form::ALL.iter().any(|form| form.bytes() == left));
    left.ok_or(ReadError::PayloadSize { payload: says, file })
}

/// Refuses a payload that begins with zeros, where a descriptor has its header: words 2 to 6 of one are never all zero.
///
/// A file with the longer header of which the last 0x800 bytes are missing would pass for one with the shorter.
fn refuse_zeros(file: Reader<'_>, payload_at: u64) -> Result<(), ReadError> {
    let header: [u8; 4 * header::WORDS] = file.array(payload_at, "first task's header")?;
    if header.iter().any(|&byte| byte != 0) { Ok(()) } else { Err(ReadError::NoTask { at: payload_at }) }
}

/// The surfaces: outputs by rising BAR, then inputs by rising BAR.
fn surfaces(
    header: &Header,
    tiles: Tiles,
    roles: Roles,
    names: Option<Vec<String>>,
) -> Result<Vec<Surface<'static>>, ReadError> {
    let (inputs, outputs) = (header.inputs.get(), header.outputs.get());
    if u64::from(inputs) + u64::from(outputs) > SURFACES_MAX as u64 {
        return Err(ReadError::TooManySurfaces { inputs, outputs });
    }
    let names = names.unwrap_or_else(|| names::places(outputs as usize, inputs as usize));
    let of = |direction, bars: BarSet| bars.iter().map(move |bar| (direction, bar));
    of(Direction::Output, roles.outputs)
        .chain(of(Direction::Input, roles.inputs))
        .zip(names)
        .map(|((direction, bar), name)| surface(header, tiles, direction, name, (bar, element(roles, bar)?)))
        .collect()
}

/// The elements at a BAR: bytes where the tasks move bytes, and halves otherwise.
fn element(roles: Roles, bar: u8) -> Result<Element, ReadError> {
    match (roles.bytes.contains(bar), roles.halves.contains(bar)) {
        (true, true) => Err(ReadError::MixedElements { bar }),
        (true, false) => Ok(Element::Byte),
        (false, _) => Ok(Element::Half),
    }
}

fn surface(
    header: &Header,
    tiles: Tiles,
    direction: Direction,
    name: String,
    (bar, element): (u8, Element),
) -> Result<Surface<'static>, ReadError> {
    let at = (offset_of!(Header, shapes) + size_of::<Shape>() * usize::from(bar)) as u64;
    let buffer_bytes = tiles.buffer_bytes(header, bar)?;
    let too_short = ReadError::BufferTooShort { bar, at, buffer: buffer_bytes };
    let raw = header.shapes.get(usize::from(bar)).ok_or(too_short)?;
    let axis = |count: u64, axis, field: usize| match u32::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(ReadError::Axis { bar, axis, at: at + field as u64, count }),
    };
    let shape = Axes {
        n: axis(raw.n.get(), "N", offset_of!(Shape, n))?,
        c: axis(raw.c.get(), "C", offset_of!(Shape, c))?,
        h: axis(raw.h.get(), "H", offset_of!(Shape, h))?,
        w: axis(raw.w.get(), "W", offset_of!(Shape, w))?,
    };
    let plane = raw.plane.get();
    let batch = plane.checked_mul(shape.c.into()).ok_or(too_short)?;
    let step = element.bytes().unwrap_or(Element::HALF_BYTES);
    let strides = Axes { n: batch, c: plane, h: raw.row.get(), w: step };
    if extent(shape, strides, step).is_none_or(|extent| extent > buffer_bytes) {
        return Err(too_short);
    }
    Ok(Surface {
        name: Cow::Owned(name),
        direction,
        bar,
        element,
        shape,
        dims: None,
        strides,
        total_bytes: batch,
        buffer_bytes,
    })
}

fn bars(
    header: &Header,
    tiles: Tiles,
    surfaces: &[Surface<'_>],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Bar>, ReadError> {
    let (payload, stream) = (header.payload_bytes.get(), header.stream_bytes.get());
    let commands = tiles.buffer_bytes(header, TASKS_BAR)?;
    if commands < payload || commands <= stream {
        return Err(ReadError::CommandBuffer {
            tiles: tiles.count(header, TASKS_BAR),
            unit: tiles.unit(),
            payload,
            stream,
        });
    }
    let mut bars = Vec::new();
    for index in 0..BARS as u8 {
        let bytes = tiles.buffer_bytes(header, index)?;
        let surface = surfaces.iter().position(|surface| surface.bar == index);
        let (role, bytes) = match (index, surface) {
            // Nothing reads what a longer buffer has behind the payload, and without it the unit of tiles is plain
            // from the file that is written again.
            (TASKS_BAR, _) => (Role::Tasks, bytes.min(commands_bytes(header))),
            (CONSTANTS_BAR, _) => {
                if bytes > 0 {
                    warnings.push(Warning::ConstantsWithBuffer { tiles: (bytes / TILE_BYTES) as u32 });
                }
                (Role::Constants(0), header.constant_bytes.get())
            }
            (_, Some(surface)) => (Role::Surface(surface), bytes),
            (index, None) if SCRATCH_BARS.contains(&index) => (Role::Scratch, bytes),
            (_, None) => (Role::Unassigned, bytes),
        };
        if bytes > 0 {
            bars.push(Bar { index, role, link: None, bytes });
        }
    }
    Ok(bars)
}
