//! ANEC: the flat container of the Linux stack.
//!
//! A header with sizes, counts, and for each BAR a buffer size and a shape; then the task stream, zeros up to a
//! multiple of 16, and the constants. There is no magic number and no element type: elements are halves, except where a
//! port of the tasks moves bytes. Clients in C take all of them for halves, so that none but halves are written here. Names are this project's addition (`names`). There is no BAR table either. The first clients assume one order
//! ([`bar_of`]), to which what is written here is bound; in a file that is bound otherwise the tasks tell which BARs they
//! read and which they write, as today's clients have them do (`ane_uapi::hw::td::operands`).
//!
//! The header takes 0x1000 bytes in most files and 0x800 in those of the first reader; what the payload leaves of
//! the file decides. Programs that were compiled from a model say more behind the payload (`trailer`). Buffers are counted in tiles of 16 KiB in most files and of 512 bytes in those of a newer
//! converter; `tiles` tells them apart. Facts: td 2.2, client-abi, delta C12.

mod error;
mod names;
mod read;
mod tiles;
mod trailer;
mod write;

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use error::{ReadError, WriteError};
pub(crate) use names::{ALL_BYTES as NAMES_ROOM, of_place as name_of_place};
pub use read::{is_anec, read};
pub use trailer::Trailer;
pub use write::{Image, Layout};

use super::limits::BARS;
use super::program::Direction;

pub const TASKS_BAR: u8 = 0;

/// BAR of the constants; the driver computes it, so it has no buffer of its own.
pub const CONSTANTS_BAR: u8 = 1;

/// BARs of intermediate results, in the order in which they are given out. Programs have one at most so far.
pub const SCRATCH_BARS: [u8; 2] = [3, 2];

/// BAR of the first output; inputs follow the last one (derived, client-abi).
pub const SURFACES_BAR: u8 = 4;

/// Most surfaces that BARs are left for.
pub const SURFACES_MAX: usize = BARS - SURFACES_BAR as usize;

/// The BAR that the first clients take for surface `index` of `direction`, where there are `outputs` outputs.
///
/// `None` if the hardware has no such BAR.
pub fn bar_of(direction: Direction, index: usize, outputs: usize) -> Option<u8> {
    let before = match direction {
        Direction::Output => 0,
        Direction::Input => outputs,
    };
    let surface = before.checked_add(index).filter(|&surface| surface < SURFACES_MAX)?;
    Some(SURFACES_BAR + surface as u8)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// 0x800 bytes, as the first reader expects.
    Short,
    /// 0x1000 bytes, as today's converters write.
    #[default]
    Long,
}

impl Form {
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];

    /// Bytes in front of the payload.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Short => 0x800,
            Self::Long => 0x1000,
        }
    }
}

/// The named part of the header; names may follow, then zeros up to the [form](Form)'s length.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    payload_bytes: U64,
    first_task_bytes: U32,
    task_count: U32,
    stream_bytes: U64,
    constant_bytes: U64,
    inputs: U32,
    outputs: U32,
    tiles: [U32; BARS],
    shapes: [Shape; BARS],
}

/// Shape of the surface behind one BAR; all zero where there is none.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Shape {
    n: U64,
    c: U64,
    h: U64,
    w: U64,
    plane: U64,
    row: U64,
}

const _: () = {
    assert!(offset_of!(Header, first_task_bytes) == 0x08);
    assert!(offset_of!(Header, task_count) == 0x0c);
    assert!(offset_of!(Header, stream_bytes) == 0x10);
    assert!(offset_of!(Header, constant_bytes) == 0x18);
    assert!(offset_of!(Header, inputs) == 0x20);
    assert!(offset_of!(Header, outputs) == 0x24);
    assert!(offset_of!(Header, tiles) == 0x28);
    assert!(offset_of!(Header, shapes) == 0xa8);
    assert!(size_of::<Header>() == 0x6a8);
    assert!(size_of::<Header>() as u64 <= Form::Short.bytes());
};

/// The constants start at a multiple of this behind the start of the task stream.
const CONSTANTS_ALIGN: u64 = 16;

/// Where the constants start in the payload; `None` beyond 2^64.
fn constants_at(stream_bytes: u64) -> Option<u64> {
    stream_bytes.checked_next_multiple_of(CONSTANTS_ALIGN)
}
