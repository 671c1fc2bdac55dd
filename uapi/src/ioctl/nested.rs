//! The memory behind the pointers of an argument, so that a whole call can be carried to a driver
//! in another process.
//!
//! A kernel follows a client's pointers as it goes. A process that carries a call elsewhere has to know beforehand
//! which bytes go along: [`pointers`] has them for each ioctl, as data, and [`follow`] walks a call with them. An
//! array longer than the driver takes is not followed at all, as the driver refuses it by its length alone; so the
//! bytes of a call are bounded whatever its argument claims.

use core::mem::offset_of;

use super::companion::{self, PeMmuMap, PeMmuMapEntry, PeMmuUnmap, PeMmuUnmapEntry};
use super::drm::{self, Version};
use super::fault::{self, GetFailure};
use super::fence::{self, Fence, Wait};
use super::param;
use super::program::{self, ProgramBinding, ProgramBuffer, ProgramCreate};
use super::request::{self, Bar, Chain, Request};
use super::stats::{self, GetStats};

/// The use of the memory behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// The driver reads it.
    In,
    /// The driver writes it.
    Out,
    InOut,
}

/// The meaning of a count that is too large for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Beyond {
    /// The call is refused for its count; nobody looks at the array.
    Refused,
    /// The driver writes no more than this anyway.
    Unused,
}

/// A pointer in a structure, and the array that it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    /// Bytes from the start of the structure to the pointer, a `u64`.
    pub at: usize,
    /// Bytes from the start of the structure to the number of elements.
    pub count_at: usize,
    /// Bytes of that number: 4 or 8.
    pub count_bytes: usize,
    /// Bytes of an element.
    pub element: usize,
    /// Most elements that the driver uses.
    pub max: u32,
    /// The meaning of a larger count.
    pub beyond: Beyond,
    pub used: Use,
    /// The pointers in each element.
    pub inner: &'static [Pointer],
}

/// Bytes of a string of `DRM_IOCTL_VERSION` that are brought along: the kernel's are shorter (Chosen).
pub const VERSION_STRING_MAX: u32 = 256;

/// Bytes of the largest element that has pointers of its own.
const LARGEST: usize = size_of::<Request>();

/// A pointer of `$of` to `$count` elements of type `$element`.
macro_rules! pointer {
    ($of:ident.$at:ident, $count:ident: $count_type:ty, $element:ty, $max:expr, $used:ident) => {
        pointer!($of.$at, $count: $count_type, $element, $max, $used, Refused, &[])
    };
    ($of:ident.$at:ident, $count:ident: $count_type:ty, $element:ty, $max:expr, $used:ident, $beyond:ident, $inner:expr) => {
        Pointer {
            at: offset_of!($of, $at),
            count_at: offset_of!($of, $count),
            count_bytes: size_of::<$count_type>(),
            element: size_of::<$element>(),
            max: $max,
            beyond: Beyond::$beyond,
            used: Use::$used,
            inner: $inner,
        }
    };
}

const VERSION: &[Pointer] = &[
    pointer!(Version.name, name_len: u64, u8, VERSION_STRING_MAX, Out, Unused, &[]),
    pointer!(Version.date, date_len: u64, u8, VERSION_STRING_MAX, Out, Unused, &[]),
    pointer!(Version.desc, desc_len: u64, u8, VERSION_STRING_MAX, Out, Unused, &[]),
];

const REQUEST: &[Pointer] = &[
    pointer!(Request.bars, bar_count: u32, Bar, param::BARS_MAX, In),
    pointer!(Request.in_fences, in_fence_count: u32, u64, param::IN_FENCES_MAX, In),
];

const CHAIN: &[Pointer] =
    &[pointer!(Chain.requests, request_count: u32, Request, param::CHAIN_MAX, InOut, Refused, REQUEST)];

const PROGRAM: &[Pointer] = &[
    pointer!(ProgramCreate.buffers, buffer_count: u32, ProgramBuffer, param::PROGRAM_BUFFERS_MAX, In),
    pointer!(ProgramCreate.bindings, binding_count: u32, ProgramBinding, param::BARS_MAX, In),
];

const WAIT: &[Pointer] = &[pointer!(Wait.fences, count: u32, Fence, param::WAIT_MAX, InOut)];

const STATS: &[Pointer] = &[pointer!(GetStats.counters, count: u32, u64, stats::STATS_MAX, Out)];

const FAILURE: &[Pointer] =
    &[pointer!(GetFailure.text, text_size: u32, u8, fault::FAILURE_TEXT_MAX, Out, Unused, &[])];

const MAP: &[Pointer] =
    &[pointer!(PeMmuMap.entries, count: u32, PeMmuMapEntry, param::PE_MMU_ENTRIES_MAX, In)];

const UNMAP: &[Pointer] =
    &[pointer!(PeMmuUnmap.entries, count: u32, PeMmuUnmapEntry, param::PE_MMU_ENTRIES_MAX, In)];

/// The pointers in the argument of the ioctl with this whole number; none for one that is unknown.
pub const fn pointers(number: u32) -> &'static [Pointer] {
    const VERSION_NUMBER: u32 = drm::VERSION.number;
    const REQUEST_NUMBER: u32 = request::SUBMIT_REQUEST.number;
    const CHAIN_NUMBER: u32 = request::SUBMIT_CHAIN.number;
    const PROGRAM_NUMBER: u32 = program::PROGRAM_CREATE.number;
    const WAIT_NUMBER: u32 = fence::WAIT.number;
    const STATS_NUMBER: u32 = stats::GET_STATS.number;
    const FAILURE_NUMBER: u32 = fault::GET_FAILURE.number;
    const MAP_NUMBER: u32 = companion::PE_MMU_MAP.number;
    const UNMAP_NUMBER: u32 = companion::PE_MMU_UNMAP.number;
    match number {
        VERSION_NUMBER => VERSION,
        REQUEST_NUMBER => REQUEST,
        CHAIN_NUMBER => CHAIN,
        PROGRAM_NUMBER => PROGRAM,
        WAIT_NUMBER => WAIT,
        STATS_NUMBER => STATS,
        FAILURE_NUMBER => FAILURE,
        MAP_NUMBER => MAP,
        UNMAP_NUMBER => UNMAP,
        _ => &[],
    }
}

/// Memory of a client, as [`follow`] goes through it.
pub trait Client {
    /// The `bytes` bytes at `at` belong to the call. What of them is no memory is left out, and the driver finds out.
    fn stretch(&mut self, at: u64, bytes: usize, used: Use);

    /// Fills `into` with bytes of a stretch that was named before; false if they are no memory.
    fn peek(&mut self, at: u64, into: &mut [u8]) -> bool;
}

/// Names each stretch of memory that belongs to a call with this argument.
pub fn follow<C: Client>(argument: &[u8], pointers: &[Pointer], client: &mut C) {
    for pointer in pointers {
        let Some((at, count)) = pointer.read(argument) else { continue };
        let Some(bytes) = count.checked_mul(pointer.element) else { continue };
        if bytes == 0 {
            continue;
        }
        client.stretch(at, bytes, pointer.used);
        if pointer.inner.is_empty() {
            continue;
        }
        for index in 0..count {
            let element = index.checked_mul(pointer.element).and_then(|from| at.checked_add(from as u64));
            let mut copy = [0; LARGEST];
            let Some((at, copy)) = element.zip(copy.get_mut(..pointer.element)) else { break };
            if !client.peek(at, copy) {
                break;
            }
            follow_inner(copy, pointer.inner, client);
        }
    }
}

/// The pointers of an element, which have no elements with pointers behind them.
fn follow_inner<C: Client>(element: &[u8], pointers: &[Pointer], client: &mut C) {
    for pointer in pointers {
        let Some((at, count)) = pointer.read(element) else { continue };
        if let Some(bytes) = count.checked_mul(pointer.element).filter(|&bytes| bytes > 0) {
            client.stretch(at, bytes, pointer.used);
        }
    }
}

impl Pointer {
    /// Where it leads, and how many elements belong to the call; `None` if it is not followed.
    fn read(&self, structure: &[u8]) -> Option<(u64, usize)> {
        let at = number(structure, self.at, 8)?;
        let count = number(structure, self.count_at, self.count_bytes)?;
        let max = u64::from(self.max);
        let count = match self.beyond {
            Beyond::Refused if count > max => return None,
            Beyond::Refused => count,
            Beyond::Unused => count.min(max),
        };
        usize::try_from(count).ok().map(|count| (at, count))
    }
}

/// A little-endian number of up to eight bytes.
fn number(structure: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let part = structure.get(at..at.checked_add(bytes)?)?;
    let mut word = [0; 8];
    word.get_mut(..bytes)?.copy_from_slice(part);
    Some(u64::from_le_bytes(word))
}

/// Elements with pointers of their own have none behind those, and fit [`follow`]'s copy.
const fn is_flat(pointers: &[Pointer]) -> bool {
    let mut outer = 0;
    while outer < pointers.len() {
        let inner = pointers[outer].inner;
        if !inner.is_empty() && pointers[outer].element > LARGEST {
            return false;
        }
        let mut index = 0;
        while index < inner.len() {
            if !inner[index].inner.is_empty() {
                return false;
            }
            index += 1;
        }
        outer += 1;
    }
    true
}

const _: () = {
    assert!(is_flat(VERSION) && is_flat(REQUEST) && is_flat(CHAIN) && is_flat(PROGRAM));
    assert!(is_flat(WAIT) && is_flat(STATS) && is_flat(FAILURE) && is_flat(MAP) && is_flat(UNMAP));
};
