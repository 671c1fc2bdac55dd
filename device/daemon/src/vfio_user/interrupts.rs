//! The lines and the interrupts that they raise: MSI, one vector for each line, or one pin for both.
//!
//! The client hands over descriptors, one for each vector; writing to one raises it. With MSI a line raises its vector each
//! time it goes up. The pin is a level: it is raised while a line is up, masked by the client that took it, and raised again when it
//! is unmasked and a line is still up. A client that never unmasks it hears of nothing more, and nothing here waits for it. Nor
//! does anything wait for a descriptor: only eventfds are taken, and a write to one that is full is given up.

use std::fs::File;
use std::io::{ErrorKind, Write};

use ane_device::platform::Lines;
use ane_uapi::wire::platform::VECTORS;
use nix::errno::Errno;

use super::super::descriptors::{check_event, set_nonblocking};
use super::super::ringing;

/// The kinds of interrupt that VFIO numbers: pin, MSI, MSI-X, errors, requests.
pub(crate) const KINDS: u32 = 5;
const PIN: u32 = 0;
const MESSAGES: u32 = 1;

/// Flags of a change: what comes with it, and what is to be done.
const DATA_NONE: u32 = 1;
const DATA_BOOL: u32 = 1 << 1;
const DATA_EVENTFD: u32 = 1 << 2;
const ACTION_MASK: u32 = 1 << 3;
const ACTION_UNMASK: u32 = 1 << 4;
const ACTION_TRIGGER: u32 = 1 << 5;

/// Flags of a kind: descriptors, and for the pin that it can be masked and masks itself.
const INFO_EVENTFD: u32 = 1;
const INFO_MASKABLE: u32 = 1 << 1;
const INFO_AUTOMASKED: u32 = 1 << 2;

/// A change of interrupts, as it was asked for.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) flags: u32,
    pub(crate) index: u32,
    pub(crate) start: u32,
    pub(crate) count: u32,
    pub(crate) descriptors: Vec<File>,
}

/// How the guest is told.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    pin: Option<File>,
    is_masked: bool,
    messages: [Option<File>; VECTORS as usize],
    last: Lines,
}

/// Flags and number of one kind.
pub(crate) const fn info(index: u32) -> Option<(u32, u32)> {
    match index {
        PIN => Some((INFO_EVENTFD | INFO_MASKABLE | INFO_AUTOMASKED, 1)),
        MESSAGES => Some((INFO_EVENTFD, VECTORS)),
        KINDS.. => None,
        _ => Some((0, 0)),
    }
}

/// Raises what a descriptor stands for; one that is full was raised already. One that cannot be written to is given up.
fn raise(place: &mut Option<File>) {
    let Some(file) = place else { return };
    let written = {
        let _watched = ringing::begin();
        file.write(&1_u64.to_ne_bytes())
    };
    if let Err(why) = written
        && why.kind() != ErrorKind::WouldBlock
    {
        log::debug!("vfio-user: interrupt is lost: {why}");
        *place = None;
    }
}

impl Interrupts {
    pub(crate) fn change(&mut self, change: Change) -> Result<(), Errno> {
        let Change { flags, index, start, count, descriptors } = change;
        let (_, number) = info(index).ok_or(Errno::EINVAL)?;
        if start.checked_add(count).is_none_or(|end| end > number) {
            return Err(Errno::EINVAL);
        }
        match (flags & (ACTION_MASK | ACTION_UNMASK | ACTION_TRIGGER), index) {
            (ACTION_TRIGGER, PIN | MESSAGES) => self.connect(flags, index, start, count, descriptors),
            (ACTION_MASK, PIN) => {
                self.is_masked = true;
                Ok(())
            }
            // A descriptor for unmasking is not taken: QEMU then unmasks by message.
            (ACTION_UNMASK, PIN) if flags & DATA_EVENTFD == 0 => {
                self.is_masked = false;
                self.raise_pin();
                Ok(())
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn connect(
        &mut self,
        flags: u32,
        index: u32,
        start: u32,
        count: u32,
        descriptors: Vec<File>,
    ) -> Result<(), Errno> {
        let is_usable = |file| check_event(file).and_then(|()| set_nonblocking(file)).is_ok();
        if !descriptors.iter().all(is_usable) {
            return Err(Errno::EINVAL);
        }
        let mut files = descriptors.into_iter();
        if index == PIN {
            self.is_masked = false;
        }
        let all: &mut [Option<File>] =
            if index == PIN { std::slice::from_mut(&mut self.pin) } else { &mut self.messages };
        if flags & DATA_NONE != 0 && count == 0 {
            all.fill_with(|| None);
            return Ok(());
        }
        let (start, count) = (start as usize, count as usize);
        let chosen = all.iter_mut().skip(start).take(count);
        if flags & DATA_EVENTFD != 0 {
            chosen.for_each(|place| *place = files.next());
            // The new descriptors do not know of a line that is up.
            self.last = Lines::default();
        } else if flags & (DATA_NONE | DATA_BOOL) != 0 {
            // The peer asks for a signal now.
            chosen.for_each(raise);
        }
        Ok(())
    }

    /// True if the pin is the way the guest is told.
    fn uses_pin(&self) -> bool {
        self.messages.iter().all(Option::is_none)
    }

    fn raise_pin(&mut self) {
        if self.uses_pin() && !self.is_masked && (self.last.engine || self.last.dart) && self.pin.is_some() {
            self.is_masked = true;
            raise(&mut self.pin);
        }
    }

    /// Tells the guest how the lines are now; true if the function raises its pin.
    pub(crate) fn tell(&mut self, lines: Lines) -> bool {
        let before = std::mem::replace(&mut self.last, lines);
        let [engine, dart] = &mut self.messages;
        if lines.engine && !before.engine {
            raise(engine);
        }
        if lines.dart && (!before.dart || lines.dart_falls != before.dart_falls) {
            raise(dart);
        }
        self.raise_pin();
        self.uses_pin() && (lines.engine || lines.dart)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use nix::sys::eventfd::{EfdFlags, EventFd};

    use super::*;

    const UP: Lines = Lines { engine: false, dart: true, dart_falls: 0 };
    const DOWN: Lines = Lines { dart: false, ..UP };

    fn eventfd() -> EventFd {
        EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap()
    }

    fn change(flags: u32, index: u32, count: u32, files: &[&EventFd]) -> Change {
        let descriptors =
            files.iter().map(|file| File::from(file.as_fd().try_clone_to_owned().unwrap())).collect();
        Change { flags, index, start: 0, count, descriptors }
    }

    fn raised(file: &EventFd) -> u64 {
        file.read().unwrap_or(0)
    }

    #[test]
    fn message_comes_once_each_time_a_line_goes_up() {
        let (mut interrupts, files) = (Interrupts::default(), [eventfd(), eventfd()]);
        let [engine, dart] = &files;
        interrupts.change(change(DATA_EVENTFD | ACTION_TRIGGER, MESSAGES, 2, &[engine, dart])).unwrap();
        for _ in 0..3 {
            assert!(!interrupts.tell(UP), "the pin is not used");
        }
        assert_eq!((raised(engine), raised(dart)), (0, 1));
        interrupts.tell(DOWN);
        interrupts.tell(UP);
        assert_eq!(raised(dart), 1);
        interrupts.tell(Lines { dart_falls: 1, ..UP });
        assert_eq!(raised(dart), 1, "it fell and went up within one access");
    }

    #[test]
    fn pin_is_raised_again_when_it_is_unmasked_and_the_level_still_up() {
        let (mut interrupts, pin) = (Interrupts::default(), eventfd());
        interrupts.change(change(DATA_EVENTFD | ACTION_TRIGGER, PIN, 1, &[&pin])).unwrap();
        assert!(interrupts.tell(UP) && interrupts.tell(UP));
        assert_eq!(raised(&pin), 1, "it masks itself");
        interrupts.change(change(DATA_NONE | ACTION_UNMASK, PIN, 1, &[])).unwrap();
        assert_eq!(raised(&pin), 1);
        assert!(!interrupts.tell(DOWN));
        interrupts.change(change(DATA_NONE | ACTION_UNMASK, PIN, 1, &[])).unwrap();
        assert_eq!(raised(&pin), 0);
    }

    #[test]
    fn change_of_what_there_is_not_is_refused() {
        let mut interrupts = Interrupts::default();
        for (flags, index, count) in [
            (DATA_EVENTFD | ACTION_TRIGGER, MESSAGES, 3),
            (DATA_EVENTFD | ACTION_TRIGGER, 2, 1),
            (DATA_EVENTFD | ACTION_TRIGGER, 9, 0),
            (DATA_NONE | ACTION_MASK, MESSAGES, 1),
            (DATA_NONE, PIN, 1),
            (u32::MAX, PIN, 1),
        ] {
            let refused = interrupts.change(change(flags, index, count, &[]));
            assert_eq!(refused, Err(Errno::EINVAL), "{flags:#x} {index} {count}");
        }
        let far = Change { flags: ACTION_TRIGGER, index: 1, start: u32::MAX, count: 1, descriptors: vec![] };
        assert_eq!(interrupts.change(far), Err(Errno::EINVAL));
    }
}
