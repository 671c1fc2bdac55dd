//! A compiled program, from any container.
//!
//! A program is a stream of task descriptors, constants, and a table of up to 32 base addresses (BARs). No
//! descriptor holds an address: it names BARs, and the client that submits the program fills them. Which BAR
//! carries what differs from compiler to compiler, so the [table](Program::bars) is all there is to go by (td 5).

use std::borrow::Cow;
use std::ops::Range;

pub use ane_tiling::Axes;
use thiserror::Error;

use super::limits::TILE_BYTES;
use crate::task::Tasks;

/// A compiled program; task stream and constants are still the bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<'a> {
    pub container: Container,
    pub generation: Generation,
    /// The task descriptors; the first is at offset 0.
    pub stream: &'a [u8],
    pub first_task_bytes: u32,
    pub task_count: u32,
    pub constants: Vec<Constants<'a>>,
    /// The BARs in use, by rising index.
    pub bars: Vec<Bar>,
    /// The operands that a client binds, in the order of the file.
    pub surfaces: Vec<Surface<'a>>,
    /// The layers of the model that it was compiled from, in the order of their tasks; none of any other program.
    pub layers: Vec<Layer>,
    /// The messages of the compiler of a model, such as that constants were rounded.
    pub notes: Vec<String>,
    /// The compiler's own description.
    pub banner: Option<Cow<'a, str>>,
    /// Oddities that are no reason to refuse the file.
    pub warnings: Vec<Warning>,
}

impl<'a> Program<'a> {
    /// The tasks, in the order in which the engine runs them.
    ///
    /// # Errors
    ///
    /// Refuses programs for other engines than H13: their descriptors are laid out differently.
    pub fn tasks(&self) -> Result<Tasks<'a>, LaterGeneration> {
        match self.generation {
            Generation::H13 => Ok(Tasks::new(self.stream, self.first_task_bytes, self.task_count)),
            generation => Err(LaterGeneration { generation }),
        }
    }

    /// The surfaces of one direction, in the order of the file.
    pub fn surfaces_of(&self, direction: Direction) -> impl Iterator<Item = &Surface<'a>> {
        self.surfaces.iter().filter(move |surface| surface.direction == direction)
    }

    pub fn bar(&self, index: u8) -> Option<&Bar> {
        self.bars.iter().find(|bar| bar.index == index)
    }

    /// The layer of the model that a task belongs to.
    pub fn layer_of(&self, task: u32) -> Option<&Layer> {
        let index = self.layers.partition_point(|layer| layer.tasks.end <= task);
        self.layers.get(index).filter(|layer| layer.tasks.contains(&task))
    }

    /// Bytes that the program needs for intermediate results.
    pub fn scratch_bytes(&self) -> u64 {
        let scratch = self.bars.iter().filter(|bar| bar.role == Role::Scratch);
        // At most 32 buffers, none longer than the aperture.
        scratch.map(|bar| bar.bytes).sum()
    }
}

ane_uapi::named! {
    pub enum Container {
        /// The compiler's own object file.
        Hwx "HWX",
        Anec "ANEC",
    }
}

ane_uapi::codes! {
    /// An engine generation, by the object's cpu subtype (derived, facts F.4 and A.2).
    pub enum Generation: u32, "engine generation" {
        /// A14 and M1: the generation this project models.
        H13 = 4, "h13";
        H14 = 5, "h14";
        H15 = 6, "h15";
        H16 = 7, "h16";
        H17 = 9, "h17";
        H18 = 10, "h18";
        H18g = 11, "h18g";
    }
}

/// The tasks of a program for another engine were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("program is for {generation}, whose task descriptors are not known here; only those of h13 are")]
pub struct LaterGeneration {
    pub generation: Generation,
}

/// One section of constants: coefficients, tables, planar constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants<'a> {
    pub name: Cow<'static, str>,
    /// The BAR that carries it, if one does.
    pub bar: Option<u8>,
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Index in the table, 0 to 31.
    pub index: u8,
    pub role: Role,
    /// The address at which the object was linked; the flat container has none.
    pub link: Option<u64>,
    pub bytes: u64,
}

impl Bar {
    /// The same in tiles of 16 KB, rounded up.
    pub const fn tiles(&self) -> u64 {
        self.bytes.div_ceil(TILE_BYTES)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Tasks,
    /// Constants, by index into [`Program::constants`].
    Constants(usize),
    /// Intermediate results.
    Scratch,
    /// An operand, by index into [`Program::surfaces`].
    Surface(usize),
    Unassigned,
}

ane_uapi::named! {
    /// The writer of a surface.
    pub enum Direction {
        /// The client; the engine reads it.
        Input "input",
        Output "output",
    }
}

/// A layer of a model, and the tasks that compute it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name in the list of `docs/models.md`.
    pub operation: String,
    /// The name in the model.
    pub name: String,
    /// Extents of its result.
    pub dims: Vec<usize>,
    pub tasks: Range<u32>,
}

/// An operand that a client binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surface<'a> {
    /// Name; made up from direction and number where the container has none.
    pub name: Cow<'a, str>,
    pub direction: Direction,
    pub bar: u8,
    pub element: Element,
    /// Elements along each axis; none is 0.
    pub shape: Axes<u32>,
    /// The extents in the model that the program was compiled from: as many elements, in the same order.
    pub dims: Option<Vec<usize>>,
    /// Bytes from one element to the next along each axis.
    pub strides: Axes<u64>,
    /// Bytes of one batch element, as the file says.
    pub total_bytes: u64,
    /// Bytes to allocate; every element of the shape lies inside.
    pub buffer_bytes: u64,
}

impl Surface<'_> {
    /// The extents of its arrays: those of the model, or else N, C, H, W.
    pub fn extents(&self) -> Vec<usize> {
        let Axes { n, c, h, w } = self.shape;
        self.dims.clone().unwrap_or_else(|| [n, c, h, w].map(|extent| extent as usize).to_vec())
    }
}

/// Offset of the first byte behind the last element; `None` beyond 2^64.
pub(crate) fn extent(shape: Axes<u32>, strides: Axes<u64>, element_bytes: u64) -> Option<u64> {
    let axes = [(shape.n, strides.n), (shape.c, strides.c), (shape.h, strides.h), (shape.w, strides.w)];
    axes.iter().try_fold(element_bytes, |end, &(count, stride)| {
        let steps = u64::from(count.saturating_sub(1));
        end.checked_add(steps.checked_mul(stride)?)
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    Half,
    /// One byte: 0 or 1 of a truth value; no source says whether larger numbers have a sign.
    Byte,
    /// A code that no source explains.
    Other(u32),
}

impl Element {
    /// Code of fp16 (derived, td 2.1).
    pub const HALF_CODE: u32 = 5;

    /// Code of elements of one byte (derived, delta 2.1).
    pub const BYTE_CODE: u32 = 3;

    pub const HALF_BYTES: u64 = 2;

    pub const fn from_code(code: u32) -> Self {
        match code {
            Self::HALF_CODE => Self::Half,
            Self::BYTE_CODE => Self::Byte,
            _ => Self::Other(code),
        }
    }

    /// Bytes of an element, where they are known.
    pub const fn bytes(self) -> Option<u64> {
        match self {
            Self::Half => Some(Self::HALF_BYTES),
            Self::Byte => Some(1),
            Self::Other(_) => None,
        }
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Half => f.write_str("fp16"),
            Self::Byte => f.write_str("one byte"),
            Self::Other(code) => write!(f, "code {code:#x}"),
        }
    }
}

/// An oddity of a file that could be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Warning {
    #[error(
        "load command {index} at {at:#x}: command {command:#x} is not known, its {len:#x} bytes are ignored"
    )]
    UnknownLoadCommand { index: u32, at: u64, command: u32, len: u64 },
    #[error("load command {index} at {at:#x}: thread flavor {flavor:#x} is not known and ignored")]
    UnknownFlavor { index: u32, at: u64, flavor: u32 },
    #[error("BAR {bar} is given link address {link:#x}, the hardware has 32 BARs")]
    BarBeyondHardware { bar: u32, link: u64 },
    #[error("BAR {bar} is given link address {link:#x}, where no section starts")]
    BarWithoutSection { bar: u8, link: u64 },
    #[error(
        "tensor {name:?}: the word behind its extents, at {at:#x}, is {count:#x}; elements of a fifth axis are not read"
    )]
    FifthExtent { name: String, at: u64, count: u32 },
    #[error("{direction} {name:?}: section of {section:#x} bytes is too short, the elements end at {extent:#x}",
        direction = direction.name())]
    SectionShorterThanSurface { direction: Direction, name: String, section: u64, extent: u64 },
    /// Tasks that read and write other numbers of BARs than the header counts inputs and outputs.
    #[error(
        "tasks do not tell {inputs} inputs and {outputs} outputs apart: outputs are taken to begin at BAR {first}, \
         and inputs to follow them"
    )]
    OperandsUnclear { inputs: usize, outputs: usize, first: u8 },
    /// A buffer for the BAR that carries the constants, which no driver accepts.
    #[error(
        "BAR 1 has a buffer of {tiles} tiles of its own, which the driver refuses: the constants follow the tasks"
    )]
    ConstantsWithBuffer { tiles: u32 },
    #[error(
        "tile counts from 0x28 on are read in units of {unit:#x} bytes: in units of {TILE_BYTES:#x} BAR 0 would have \
         {tiles:#x} tiles for a payload of {payload:#x} bytes"
    )]
    TileUnit { unit: u64, tiles: u32, payload: u64 },
    /// Text behind the payload that is not about this program.
    #[error("what the file says of its model is ignored: {reason}")]
    ModelIgnored { reason: &'static str },
    #[error("program for {generation} is not fully understood: {reason}")]
    NotUnderstood { generation: Generation, reason: String },
}
