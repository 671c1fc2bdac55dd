//! The device, lent to a pass on the engine's thread and given back.
//!
//! A device has one owner at a time. Its thread lends it as a value ([`Parts`]) and waits until it comes back, which the
//! pass sees to within a turn ([`Reach`](super::reach::Reach)). So registers need no lock, a pass that nobody lends to moves nothing, and to drop the
//! [`Lender`] is to call the pass off.
//!
//! | the pass | says | the device's thread |
//! | --- | --- | --- |
//! | computes, without the device | - | answers registers |
//! | has to move something | [`Said::Wants`], and rings the bell | lends the device, and waits |
//! | has moved for a turn, or begins to compute | [`Said::Back`] | has the device again |
//! | has ended | [`Said::Ended`] | ends the task |

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ane_uapi::hw::dart::pte::PteFormat;
use vm_memory::GuestMemory;

use super::compute::Compute;
use super::reach::Device;
use super::thread::Bell;
use crate::dart::Dart;
use crate::engine::kept_state::Chip;
use crate::engine::{EngineError, Ports};
use crate::kernel_memory::KernelMemory;
use crate::sram::Sram;
use crate::trace::Timeline;

/// The parts of the device that a pass works with, as one value.
pub(super) struct Parts {
    dart: Dart,
    l2: Sram,
    kernel: KernelMemory,
    timeline: Timeline,
    chip: Chip,
}

impl Parts {
    /// Parts that stand in for the device's while those are lent. They are never used.
    pub(super) fn spare() -> Self {
        Self {
            dart: Dart::new(PteFormat::Seed),
            l2: Sram::new(0),
            kernel: KernelMemory::default(),
            timeline: Timeline::off(),
            chip: Chip::default(),
        }
    }

    /// Exchanges these parts and the device's.
    pub(super) fn exchange<M>(&mut self, ports: &mut Ports<'_, M>, chip: &mut Chip) {
        mem::swap(&mut self.dart, ports.dart);
        mem::swap(&mut self.l2, ports.l2);
        mem::swap(&mut self.kernel, ports.kernel);
        mem::swap(&mut self.timeline, ports.timeline);
        mem::swap(&mut self.chip, chip);
    }
}

/// The device's parts, and the memory that it has now.
struct Lent<M> {
    parts: Box<Parts>,
    memory: M,
}

/// Why a pass gives the device back before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The turn of the pass is over, and it asks for another.
    Turn,
    /// The pass computes, and asks later for the device.
    Computes,
    /// A transfer of the pass waits at a fault at this address, and has to be tried again.
    AtFault(u32),
}

/// The end of a pass, with the engines that it worked with; or its panic.
pub(super) type Ended = thread::Result<(Box<Compute>, Result<(), EngineError>)>;

/// The messages of a pass to the device's thread.
pub(super) enum Said {
    /// It wants the device.
    Wants,
    /// It gives the device back.
    Back(Box<Parts>, Pause),
    /// It has ended; it gives the device back if it has it.
    Ended(Option<Box<Parts>>, Box<Ended>),
}

/// The end of the device's thread. Dropped, it calls the pass off.
pub(super) struct Lender<M> {
    lends: Sender<Lent<M>>,
    pub(super) said: Receiver<Said>,
    is_over: Arc<AtomicBool>,
}

impl<M> Lender<M> {
    /// Has the pass end early.
    pub(super) fn call_off(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Lends the device.
    pub(super) fn lend(&self, parts: Box<Parts>, memory: M) {
        // A pass that is gone says so when it is next listened to.
        let _ = self.lends.send(Lent { parts, memory });
    }
}

impl<M> Drop for Lender<M> {
    fn drop(&mut self) {
        self.call_off();
    }
}

/// The end of the pass.
pub(super) struct Borrower<M> {
    lends: Receiver<Lent<M>>,
    says: Sender<Said>,
    bell: Option<Bell>,
    lent: Option<Lent<M>>,
    /// The device's thread knows that the device is wanted.
    has_asked: bool,
    pub(super) is_over: Arc<AtomicBool>,
}

impl<M> Borrower<M> {
    /// Both ends. The pass begins with the device, or asks for it first.
    pub(super) fn new(bell: Option<Bell>, has_asked: bool) -> (Lender<M>, Self) {
        let (lends, lent) = channel();
        let (says, said) = channel();
        let is_over = Arc::<AtomicBool>::default();
        let lender = Lender { lends, said, is_over: Arc::clone(&is_over) };
        (lender, Self { lends: lent, says, bell, lent: None, has_asked, is_over })
    }

    /// Says something that the device's thread does not wait for.
    fn call(&self, said: Said) {
        // If the receiver is gone the pass was called off. Its next request for the device says so.
        let _ = self.says.send(said);
        if let Some(bell) = &self.bell {
            bell();
        }
    }

    /// Gives the device back, if the pass has it.
    pub(super) fn give_back(&mut self, why: Pause) {
        if let Some(Lent { parts, memory }) = self.lent.take() {
            // The device may get other memory now, and this one has to be gone then.
            drop(memory);
            self.has_asked = why != Pause::Computes;
            let _ = self.says.send(Said::Back(parts, why));
        }
    }

    /// Tells of the end of the pass.
    pub(super) fn end(mut self, ended: Ended) {
        let ended = Box::new(ended);
        match self.lent.take() {
            Some(Lent { parts, memory }) => {
                drop(memory);
                let _ = self.says.send(Said::Ended(Some(parts), ended));
            }
            None => self.call(Said::Ended(None, ended)),
        }
    }
}

impl<M: GuestMemory> Borrower<M> {
    pub(super) fn device(&mut self) -> Result<Device<'_, M>, EngineError> {
        let lent = match self.lent.take() {
            Some(lent) => lent,
            None => {
                if !mem::replace(&mut self.has_asked, true) {
                    self.call(Said::Wants);
                }
                self.lends.recv().map_err(|_| EngineError::Cancelled)?
            }
        };
        let Lent { parts, memory } = self.lent.insert(lent);
        let Parts { dart, l2, kernel, timeline, chip } = &mut **parts;
        Ok(Device { memory, dart, l2, kernel, timeline, chip })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use vm_memory::GuestMemoryMmap;

    use super::*;

    fn lend(lender: &Lender<GuestMemoryMmap>) {
        lender.lend(Box::new(Parts::spare()), GuestMemoryMmap::new());
    }

    #[test]
    fn pass_that_computed_asks_for_the_device_once_and_one_that_had_its_turn_need_not_ask() {
        let rung = Arc::new(AtomicUsize::new(0));
        let bell: Bell = {
            let rung = Arc::clone(&rung);
            Arc::new(move || _ = rung.fetch_add(1, Ordering::SeqCst))
        };
        let (lender, mut borrower) = Borrower::new(Some(bell), false);
        thread::scope(|scope| {
            scope.spawn(|| {
                borrower.device().map(|_| ()).expect("it is lent");
                borrower.give_back(Pause::Turn);
                borrower.device().map(|_| ()).expect("it is lent again");
                borrower.give_back(Pause::Computes);
                borrower.device().map(|_| ()).expect("it is lent once more");
            });
            assert!(matches!(lender.said.recv(), Ok(Said::Wants)));
            lend(&lender);
            assert!(matches!(lender.said.recv(), Ok(Said::Back(_, Pause::Turn))));
            lend(&lender);
            assert!(matches!(lender.said.recv(), Ok(Said::Back(_, Pause::Computes))));
            assert!(matches!(lender.said.recv(), Ok(Said::Wants)));
            lend(&lender);
        });
        assert_eq!(rung.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn pass_that_was_called_off_is_told_so_and_lent_nothing() {
        let (lender, mut borrower) = Borrower::<GuestMemoryMmap>::new(None, true);
        assert!(!borrower.is_over.load(Ordering::SeqCst));
        drop(lender);
        assert!(borrower.is_over.load(Ordering::SeqCst));
        assert_eq!(borrower.device().err(), Some(EngineError::Cancelled));
    }

    #[test]
    fn pass_that_ends_gives_back_what_it_has_and_its_panic() {
        for has_device in [false, true] {
            let (lender, mut borrower) = Borrower::<GuestMemoryMmap>::new(None, true);
            if has_device {
                lend(&lender);
                borrower.device().map(|_| ()).expect("it is lent");
            }
            borrower.end(Err(Box::new("of the pass")));
            let Ok(Said::Ended(parts, ended)) = lender.said.recv() else { panic!("the pass says nothing") };
            assert_eq!(parts.is_some(), has_device);
            let panic = ended.err().expect("it panicked");
            assert_eq!(panic.downcast_ref(), Some(&"of the pass"));
        }
    }
}
