//! Writes an ANEC.

use std::borrow::Cow;

use zerocopy::{FromZeros, IntoBytes};

use super::super::limits::{self, BARS, BUFFER_BYTES_MAX, TILE_BYTES};
use super::super::program::{Direction, Program, Role, Surface};
use super::{
    CONSTANTS_BAR, Form, Header, SURFACES_MAX, Shape, TASKS_BAR, Trailer, WriteError, bar_of, constants_at,
    names,
};

/// Bytes of a descriptor's header, of which some are set in every descriptor.
const HEADER_BYTES: usize = 4 * ane_uapi::hw::td::header::WORDS;

/// A program as an ANEC can describe it. Its tasks are bound to the BARs of [`bar_of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    pub stream: Cow<'a, [u8]>,
    /// Length of the first descriptor.
    pub first_task_bytes: u32,
    pub task_count: u32,
    /// The constants, for BAR 1.
    pub constants: &'a [u8],
    /// Bytes of the buffer behind each BAR; what the payload and the driver need is added to that of BAR 0.
    pub buffers: [u64; BARS],
    /// The outputs, from BAR 4 on.
    pub outputs: Vec<Layout>,
    /// The inputs, behind the outputs.
    pub inputs: Vec<Layout>,
    /// Names of the outputs, then of the inputs; none, if nobody asked for any.
    pub names: Vec<String>,
    /// The record of the model that it was compiled from.
    pub trailer: Option<Trailer>,
}

/// Shape and strides of one surface of halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub n: u32,
    pub c: u32,
    pub h: u32,
    pub w: u32,
    /// Bytes from one channel to the next.
    pub plane: u64,
    /// Bytes from one row to the next.
    pub row: u64,
}

impl Layout {
    /// The description of `surface` in an ANEC.
    pub fn of(surface: &Surface<'_>) -> Self {
        let (shape, strides) = (surface.shape, surface.strides);
        Self { n: shape.n, c: shape.c, h: shape.h, w: shape.w, plane: strides.c, row: strides.h }
    }

    fn shape(self) -> Shape {
        Shape {
            n: u64::from(self.n).into(),
            c: u64::from(self.c).into(),
            h: u64::from(self.h).into(),
            w: u64::from(self.w).into(),
            plane: self.plane.into(),
            row: self.row.into(),
        }
    }
}

impl<'a> Image<'a> {
    /// A program that came in an ANEC, so that it is bound as one.
    ///
    /// Other programs go through [`convert`](super::super::convert).
    pub fn of_anec(program: &Program<'a>) -> Self {
        let layouts = |direction| program.surfaces_of(direction).map(Layout::of).collect();
        let listed = |direction| program.surfaces_of(direction).collect::<Vec<_>>();
        let (outputs, inputs) = (listed(Direction::Output), listed(Direction::Input));
        let mut buffers = [0; BARS];
        for bar in program.bars.iter().filter(|bar| !matches!(bar.role, Role::Constants(_))) {
            if let Some(bytes) = buffers.get_mut(usize::from(bar.index)) {
                *bytes = bar.bytes;
            }
        }
        Self {
            stream: Cow::Borrowed(program.stream),
            first_task_bytes: program.first_task_bytes,
            task_count: program.task_count,
            constants: program.constants.first().map_or(&[], |constants| constants.bytes),
            buffers,
            outputs: layouts(Direction::Output),
            inputs: layouts(Direction::Input),
            names: [Direction::Output, Direction::Input]
                .into_iter()
                .flat_map(|direction| program.surfaces_of(direction))
                .map(|surface| surface.name.to_string())
                .collect(),
            trailer: Trailer::of(&outputs, &inputs, &program.layers, &program.notes),
        }
    }

    pub fn write(&self, form: Form) -> Result<Vec<u8>, WriteError> {
        let stream_bytes = self.stream.len() as u64;
        // Offsets as a reader of the file would name them.
        limits::check_tasks(stream_bytes, self.first_task_bytes, self.task_count, (0x08, 0x0c))?;
        if self.stream.iter().take(HEADER_BYTES).all(|&byte| byte == 0) {
            return Err(WriteError::NoTask);
        }
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        if inputs.saturating_add(outputs) > SURFACES_MAX {
            return Err(WriteError::TooManySurfaces { inputs, outputs });
        }
        let constants_at = constants_at(stream_bytes).unwrap_or(u64::MAX);
        let payload = constants_at.saturating_add(self.constants.len() as u64);

        let mut header = Header::new_zeroed();
        header.payload_bytes = payload.into();
        header.first_task_bytes = self.first_task_bytes.into();
        header.task_count = self.task_count.into();
        header.stream_bytes = stream_bytes.into();
        header.constant_bytes = (self.constants.len() as u64).into();
        // Together at most 28.
        header.inputs = (inputs as u32).into();
        header.outputs = (outputs as u32).into();
        self.put_buffers(&mut header, payload)?;
        self.put_shapes(&mut header);

        let mut file = Vec::with_capacity((form.bytes() + payload) as usize);
        file.extend_from_slice(header.as_bytes());
        if self.names.len() == inputs.saturating_add(outputs) {
            file.extend(names::encode(&self.names, outputs));
        }
        file.resize(form.bytes() as usize, 0);
        file.extend_from_slice(&self.stream);
        file.resize((form.bytes() + constants_at) as usize, 0);
        file.extend_from_slice(self.constants);
        if let Some(trailer) = &self.trailer {
            file.extend(trailer.encode(form));
        }
        Ok(file)
    }

    fn put_buffers(&self, header: &mut Header, payload: u64) -> Result<(), WriteError> {
        for (bar, (tiles, &asked)) in (0_u8..).zip(header.tiles.iter_mut().zip(&self.buffers)) {
            let bytes = match bar {
                // The driver wants the buffer longer than the task stream, be it by one byte.
                TASKS_BAR => asked.max(payload).max(self.stream.len() as u64 + 1),
                CONSTANTS_BAR => 0,
                _ => asked,
            };
            if bytes > BUFFER_BYTES_MAX {
                return Err(WriteError::BufferTooLong { bar, bytes });
            }
            // Fits: the aperture has far fewer than 2^32 tiles.
            *tiles = (bytes.div_ceil(TILE_BYTES) as u32).into();
        }
        Ok(())
    }

    fn put_shapes(&self, header: &mut Header) {
        let outputs = self.outputs.iter().map(|layout| (Direction::Output, layout)).enumerate();
        let inputs = self.inputs.iter().map(|layout| (Direction::Input, layout)).enumerate();
        for (index, (direction, layout)) in outputs.chain(inputs) {
            let bar = bar_of(direction, index, self.outputs.len());
            if let Some(shape) = bar.and_then(|bar| header.shapes.get_mut(usize::from(bar))) {
                *shape = layout.shape();
            }
        }
    }
}
