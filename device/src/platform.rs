//! The engine as a platform device: ranges that a driver maps and touches with plain loads and stores, and two lines.
//!
//! On the chip a driver finds the engine's range, three DARTs and the power words where the device tree says, and polls
//! them. Here each range is a window with an index ([`Range`]), and an access is an offset, a width and a value; the front
//! that carries accesses decides how a guest reaches them. Nothing refuses an access: where nothing answers a read gives all
//! ones and a write does nothing, as on a bus with nothing there.
//!
//! Today's driver pushes a request and polls for one second of its own time, and compares the time only after it has looked
//! (contract 2). A model that takes longer than silicon would lose against it. So a read that is part of such polling waits
//! for the work that is there: the guest's processor stands still meanwhile, as if the bus were slow, and finds the request
//! ended. Work that can take for ever (a wedge, a transfer that waits at a fault) is not waited for.
//!
//! The engine's line is up from an event until the driver acknowledges; the DARTs' line is a level, up while one of them holds
//! a fault.

use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm;
use ane_uapi::wire::platform::ENGINE_BASE;
pub use ane_uapi::wire::platform::Range;
use vm_memory::GuestMemory;

use crate::Ane;
use crate::ane::Work;
use crate::engine::Engine;
use crate::engine::cancel::Cancel;
use crate::event::Happening;
use crate::halves::halves;
use crate::time::Ticks;

/// How long one read may wait for work (Chosen: no program at hand takes as long; a guest that stands still for longer
/// would be taken for dead).
pub const TIMEOUT: Ticks = Ticks::from_milliseconds(5_000);

/// The lines, and whether each is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Events of the task manager wait for their acknowledgement.
    pub engine: bool,
    pub dart: bool,
    /// Changes when the DARTs' line falls, also if it is up again at the end of the same access.
    pub dart_falls: u32,
}

/// The state of the front of a platform device beside the engine: its line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Platform {
    engine_line: bool,
}

impl Platform {
    pub fn lines<M: GuestMemory, E: Engine<M>>(&self, ane: &Ane<M, E>) -> Lines {
        let dart = ane.dart();
        Lines { engine: self.engine_line, dart: dart.line().is_some(), dart_falls: dart.falls() }
    }

    /// One turn of the engine's work, unless it is called off.
    pub fn work<M: GuestMemory, E: Engine<M>>(
        &mut self,
        ane: &mut Ane<M, E>,
        now: Ticks,
        cancel: &dyn Cancel,
    ) -> Work {
        let work = ane.work_unless(now, cancel);
        self.watch(ane);
        work
    }

    /// Notes what has happened to the engine's line.
    fn watch<M: GuestMemory, E: Engine<M>>(&mut self, ane: &mut Ane<M, E>) {
        self.engine_line |=
            ane.take_events().any(|event| matches!(event.what, Happening::TaskManager { .. }));
        self.engine_line &= ane.task_manager().events().is_unacknowledged();
    }

    /// Reads 1, 2, 4 or 8 bytes. `clock` is asked for the time whenever some has passed.
    pub fn read<M: GuestMemory, E: Engine<M>>(
        &mut self,
        ane: &mut Ane<M, E>,
        (range, offset, bytes): (Range, u64, u8),
        clock: &dyn Fn() -> Ticks,
        cancel: &dyn Cancel,
    ) -> u64 {
        let nothing = ones(bytes);
        let Some(offset) = inside(range, offset, bytes) else { return nothing };
        let Some(at) = place(range, offset) else {
            let word = if bytes == 4 { ane.read_power(offset) } else { None };
            return word.map_or(nothing, u64::from);
        };
        if is_polled(range, offset) {
            self.settle(ane, clock, cancel);
        }
        let value = ane.read_wide(at, bytes, clock());
        self.watch(ane);
        value.unwrap_or_else(|refusal| refusal.answer() & nothing)
    }

    /// Writes 1, 2, 4 or 8 bytes; what does not fit the width is dropped.
    pub fn write<M: GuestMemory, E: Engine<M>>(
        &mut self,
        ane: &mut Ane<M, E>,
        (range, offset, bytes): (Range, u64, u8),
        value: u64,
        now: Ticks,
    ) {
        let Some(offset) = inside(range, offset, bytes) else { return };
        match place(range, offset) {
            Some(at) => {
                // A refused access was counted and logged. A bus reports no write errors.
                let _ = ane.write_wide(at, bytes, value, now);
            }
            None if bytes == 4 => {
                let (word, _) = halves(value);
                ane.write_power(offset, word, now);
            }
            None => {}
        }
        self.watch(ane);
    }

    /// Works until nothing is left that goes on by itself, or for as long as a guest may stand still.
    fn settle<M: GuestMemory, E: Engine<M>>(
        &mut self,
        ane: &mut Ane<M, E>,
        clock: &dyn Fn() -> Ticks,
        cancel: &dyn Cancel,
    ) {
        let end = clock().saturating_add(TIMEOUT);
        loop {
            let now = clock();
            if now >= end || !self.work(ane, now, cancel).pending {
                return;
            }
        }
    }
}

/// The offset, if all of the access lies where something may answer.
fn inside(range: Range, offset: u64, bytes: u8) -> Option<u32> {
    let end = offset.checked_add(bytes.into())?;
    if end > range.bytes().into() { None } else { u32::try_from(offset).ok() }
}

/// Where in the container an offset of a range is; `None` for power words, which are beside it.
fn place(range: Range, offset: u32) -> Option<EngineOffset> {
    let base = match range {
        Range::Engine => ENGINE_BASE,
        Range::Dart(0) => Window::Dart0.base(),
        Range::Dart(1) => Window::Dart1.base(),
        Range::Dart(_) => Window::Dart2.base(),
        Range::Power => return None,
    };
    Some(EngineOffset(base.0.saturating_add(offset)))
}

/// True of the registers that a driver polls for the end of a request.
fn is_polled(range: Range, offset: u32) -> bool {
    match range {
        Range::Dart(_) => offset == regs::ERROR_STATUS.offset(),
        Range::Engine => {
            let manager = tm::TASK_MANAGER.base.0.saturating_sub(ENGINE_BASE.0);
            offset
                .checked_sub(manager)
                .and_then(|inside| tm::TASK_MANAGER.find(inside))
                .is_some_and(|(row, _)| [tm::EVENT_COUNT.offset(), tm::STATUS.offset()].contains(&row.offset))
        }
        Range::Power => false,
    }
}

/// The value of a read that no device answers.
const fn ones(bytes: u8) -> u64 {
    match bytes {
        1 => 0xff,
        2 => 0xffff,
        4 => 0xffff_ffff,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_that_leaves_its_range_is_nowhere() {
        assert_eq!(inside(Range::Engine, 0x2_3ffc, 4), Some(0x2_3ffc));
        assert_eq!(inside(Range::Engine, 0x2_3ffc, 8), None);
        assert_eq!(inside(Range::Dart(0), 0x4000, 1), None);
        assert_eq!(inside(Range::Power, u64::MAX, 8), None);
    }

    #[test]
    fn ranges_lie_where_the_container_has_them() {
        assert_eq!(place(Range::Engine, 0x2_0000), Some(EngineOffset(0x1c2_4000)));
        assert_eq!(place(Range::Dart(2), 0x40), Some(EngineOffset(0x182_0040)));
        assert_eq!(place(Range::Power, 0x470), None);
    }

    #[test]
    fn reads_that_poll_are_error_words_counts_and_the_status() {
        for (range, offset) in [
            (Range::Dart(0), 0x40),
            (Range::Dart(2), 0x40),
            (Range::Engine, 0x2_0014),
            (Range::Engine, 0x2_0028),
            (Range::Engine, 0x2_0054),
        ] {
            assert!(is_polled(range, offset), "{range:?} {offset:#x}");
        }
        assert!(!is_polled(Range::Engine, 0x2_0018) && !is_polled(Range::Dart(0), 0x50));
    }
}
