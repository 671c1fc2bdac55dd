//! The limits of a program, in any file.
//!
//! The first two limits are the task manager's: they are the widths of its INFO register. The others bound what
//! a file can make a reader or its caller allocate.

use ane_uapi::hw::dart::aperture;
use thiserror::Error;

/// Most words of a descriptor (derived, td 9: nine bits hold the number minus one).
pub const TASK_WORDS_MAX: u32 = 512;

/// Most tasks of a program (derived, td 9: sixteen bits hold the number).
pub const TASKS_MAX: u32 = 0xffff;

/// BARs that the hardware has (derived, td 9).
pub const BARS: usize = 32;

/// Most bytes of one buffer: the whole aperture (derived, facts C: the engine works in the bottom 3.5 GiB).
pub const BUFFER_BYTES_MAX: u64 = aperture::SIZE;

/// Bytes of a tile, the unit in which buffers are allocated: a page.
pub const TILE_BYTES: u64 = aperture::PAGE_SIZE as u64;

/// A program that no task manager could be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Exceeded {
    #[error("number of tasks at {at:#x} is 0")]
    NoTasks { at: u64 },
    #[error("number of tasks at {at:#x} is {count}, the task manager takes at most {TASKS_MAX}")]
    Tasks { at: u64, count: u32 },
    #[error(
        "first task's length at {at:#x} is {words} words, the task manager takes at most {TASK_WORDS_MAX}"
    )]
    FirstTask { at: u64, words: u64 },
    #[error("first task's length at {at:#x} is {bytes:#x} bytes, which is no positive multiple of 4")]
    FirstTaskRagged { at: u64, bytes: u32 },
    #[error("task stream of {stream:#x} bytes is shorter than its first task of {first:#x}")]
    StreamShorterThanFirstTask { stream: u64, first: u32 },
}

/// Checks what both containers say about the task stream; `at` are the file offsets of length and count.
pub(crate) fn check_tasks(stream: u64, first_bytes: u32, count: u32, at: (u64, u64)) -> Result<(), Exceeded> {
    let (first_at, count_at) = at;
    if first_bytes == 0 || !first_bytes.is_multiple_of(4) {
        return Err(Exceeded::FirstTaskRagged { at: first_at, bytes: first_bytes });
    }
    if first_bytes / 4 > TASK_WORDS_MAX {
        return Err(Exceeded::FirstTask { at: first_at, words: u64::from(first_bytes / 4) });
    }
    match count {
        0 => return Err(Exceeded::NoTasks { at: count_at }),
        1..=TASKS_MAX => {}
        _ => return Err(Exceeded::Tasks { at: count_at, count }),
    }
    if u64::from(first_bytes) > stream {
        return Err(Exceeded::StreamShorterThanFirstTask { stream, first: first_bytes });
    }
    Ok(())
}
