//! The engine's thread, for passes that take long, and how the device's thread listens to one.
//!
//! On silicon registers are answered while the engines compute. Here one thread has all of a device, and a pass of minutes would
//! keep it from everything else. So where the front can be woken ([`Executor::use_engine_thread`]) a long pass runs on a thread
//! of its own, with its engines, its registers and its tensors; the device is lent to it (`lend`).
//! Under [`FaultPolicy::Stall`](crate::dart::FaultPolicy::Stall) every pass runs there, because a transfer that waits at its fault keeps its thread.
//!
//! A short pass is not worth two wake-ups. Both ways give the same bits.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, TryRecvError, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use vm_memory::GuestMemory;

use super::Executor;
use super::compute::Compute;
use super::lend::{Borrower, Lender, Parts, Pause, Said};
use super::pass::{Begun, Left};
use super::reach::Reach;
use crate::engine::cancel::Watch;
use crate::engine::plan::Pass;
use crate::engine::plan::cache::Costed;
use crate::engine::{EngineError, Ports, TaskContext};
use crate::td::register_file::RegisterFile;

/// Rung when a pass on the engine's thread has something to say: [`Ane::work`](crate::ane::Ane::work) has something to do then.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// How often a device's thread that waits for a pass asks whether that is still wanted.
const ASKED_EVERY: Duration = Duration::from_millis(1);

type Job = Box<dyn FnOnce() + Send>;

/// The engine's thread. It ends when this is dropped and its pass has ended.
pub(super) struct EngineThread {
    jobs: Sender<Job>,
}

impl EngineThread {
    /// Starts it, if the host has threads.
    pub(super) fn start() -> Option<Self> {
        let (jobs, take) = channel::<Job>();
        let work = move || take.into_iter().for_each(|job| job());
        match thread::Builder::new().name("ane-engine".to_owned()).spawn(work) {
            Ok(_) => Some(Self { jobs }),
            Err(error) => {
                log::warn!(target: "ane::engine", "no thread for long passes: {error}");
                None
            }
        }
    }
}

/// A pass on the engine's thread.
pub(super) struct ThreadPass<M> {
    pub(super) costed: Costed,
    lender: Lender<M>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has the device.
    HasIt,
    /// It wants the device.
    Wants,
    /// It computes without the device.
    Computes,
}

impl<M> ThreadPass<M> {
    /// True if there is nothing to do for it before the bell rings.
    pub(super) fn computes(&self) -> bool {
        self.state == State::Computes
    }
}

impl<M: GuestMemory + Clone + Send + 'static> Executor<M> {
    /// Runs long passes on a thread of their own from now on; `bell` rings when one of them wants the device's thread.
    pub fn use_engine_thread(&mut self, bell: Bell) {
        self.bell = Some(bell);
    }

    /// Sends a pass to the engine's thread; false if there is none.
    #[cold]
    pub(super) fn send_to_thread(
        &mut self,
        (task, registers): (&TaskContext<'_>, &RegisterFile),
        costed: Costed,
        begun: Option<Begun>,
    ) -> bool {
        if self.thread.is_none() {
            self.thread = EngineThread::start();
        }
        let Some(thread) = &self.thread else { return false };
        // A pass that has begun has its operands, and computes first.
        let (lender, borrower) = Borrower::new(self.bell.clone(), begun.is_none());
        // Should the pass be called off, then the next one has engines all the same.
        let another = self.compute.another();
        let compute = Box::new(std::mem::replace(&mut self.compute, another));
        let (header, bars, registers) = (*task.header, *task.bars, registers.clone());
        let &TaskContext { queue, nid, stream, index, tasks, .. } = task;
        let pass = costed.plan.pass;
        let job = move || {
            let task = TaskContext { header: &header, queue, nid, stream, index, tasks, bars: &bars };
            carry_out(borrower, compute, (&task, &registers), &pass, begun);
        };
        let state = if begun.is_none() { State::Wants } else { State::Computes };
        let is_sent = thread.jobs.send(Box::new(job)).is_ok();
        self.thread_pass = is_sent.then_some(ThreadPass { costed, lender, state });
        is_sent
    }

    /// Goes on with the pass on the engine's thread, for a turn; to its end or its fault where nobody else waits for
    /// this thread.
    #[cold]
    pub(super) fn go_on(
        &mut self,
        mut pass: ThreadPass<M>,
        ports: &mut Ports<'_, M>,
        task: &TaskContext<'_>,
    ) -> Poll<Result<Costed, EngineError>> {
        loop {
            if ports.cancel.is_cancelled(task.queue) {
                // To drop it is to call it off.
                return Poll::Ready(Err(EngineError::Cancelled));
            }
            if pass.state == State::Wants {
                let mut parts = self.spare.take().unwrap_or_else(|| Box::new(Parts::spare()));
                parts.exchange(ports, &mut self.chip);
                pass.lender.lend(parts, ports.memory.clone());
                pass.state = State::HasIt;
            }
            let Some(said) = self.listen(&pass) else {
                if self.bell.is_some() && pass.computes() {
                    self.thread_pass = Some(pass);
                    return Poll::Pending;
                }
                continue;
            };
            match said {
                Said::Wants => pass.state = State::Wants,
                Said::Back(parts, why) => {
                    self.take_back(parts, ports);
                    pass.state = if why == Pause::Computes { State::Computes } else { State::Wants };
                    match why {
                        Pause::AtFault(address) => {
                            self.thread_pass = Some(pass);
                            return Poll::Ready(Err(EngineError::Fault { address }));
                        }
                        Pause::Turn | Pause::Computes if self.bell.is_some() => {
                            self.thread_pass = Some(pass);
                            return Poll::Pending;
                        }
                        Pause::Turn | Pause::Computes => {}
                    }
                }
                Said::Ended(parts, ended) => {
                    if let Some(parts) = parts {
                        self.take_back(parts, ports);
                    }
                    let (compute, ended) = ended.unwrap_or_else(|panic| resume_unwind(panic));
                    self.compute = *compute;
                    return Poll::Ready(ended.map(|()| pass.costed));
                }
            }
        }
    }

    fn take_back(&mut self, mut parts: Box<Parts>, ports: &mut Ports<'_, M>) {
        parts.exchange(ports, &mut self.chip);
        self.spare = Some(parts);
    }

    /// The pass's next message. It is waited for if the pass has the device, or if there is no bell to announce it.
    fn listen(&self, pass: &ThreadPass<M>) -> Option<Said> {
        let gone = || Said::Ended(None, Box::new(Err(Box::new("the engine's thread is gone"))));
        let said = &pass.lender.said;
        if pass.state == State::HasIt {
            return Some(said.recv().unwrap_or_else(|_| gone()));
        }
        if self.bell.is_some() {
            return match said.try_recv() {
                Ok(said) => Some(said),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(gone()),
            };
        }
        match said.recv_timeout(ASKED_EVERY) {
            Ok(said) => Some(said),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(gone()),
        }
    }
}

/// Carries a pass out on this thread, and says how it ended; a panic goes on where the pass came from.
fn carry_out<M: GuestMemory>(
    mut borrower: Borrower<M>,
    mut compute: Box<Compute>,
    task: (&TaskContext<'_>, &RegisterFile),
    pass: &Pass,
    begun: Option<Begun>,
) {
    let is_over = Arc::clone(&borrower.is_over);
    let work = || {
        let watch = Watch::new(&*is_over, task.0.queue);
        let mut reach = Reach::lent(task, (&*is_over, &watch), &mut borrower);
        let ended = compute.carry_out(&mut reach, pass, begun.as_ref()).map_err(|left| match left {
            Left::Failed(error) => error,
            // Only a pass on the device's thread is ended for that.
            Left::TooLong(_) => EngineError::Cancelled,
        });
        (compute, ended)
    };
    let ended = catch_unwind(AssertUnwindSafe(work));
    borrower.end(ended);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use vm_memory::GuestMemoryMmap;

    use super::*;
    use crate::options::Options;

    #[test]
    fn pass_that_was_called_off_leaves_the_thread_to_the_next() {
        let thread = EngineThread::start().expect("the host has threads");
        let engines = || Box::new(Compute::new(&Options::default()));
        let (first, borrower) = Borrower::<GuestMemoryMmap>::new(None, true);
        let job = move || {
            while !borrower.is_over.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            borrower.end(Ok((engines(), Err(EngineError::Cancelled))));
        };
        thread.jobs.send(Box::new(job)).expect("it is there");
        drop(first);
        let (second, mut borrower) = Borrower::<GuestMemoryMmap>::new(None, true);
        let job = move || {
            let ended = borrower.device().map(|_| ());
            borrower.end(Ok((engines(), ended)));
        };
        thread.jobs.send(Box::new(job)).expect("it is there");
        second.lend(Box::new(Parts::spare()), GuestMemoryMmap::new());
        let Ok(Said::Ended(Some(_), ended)) = second.said.recv() else { panic!("it has the device") };
        assert_eq!(ended.expect("no panic").1, Ok(()));
    }
}
