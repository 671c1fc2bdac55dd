//! Long passes of the array, computed beside the thread that has the device.
//!
//! On silicon registers are answered while the array computes. Here one thread has all of a device, and a pass of minutes
//! would keep it from everybody: from whoever asks how far the task is, gives another client memory, or takes the task's
//! queue back. So where a front can be woken ([`Executor::compute_beside`]), the products of a long pass are summed on a
//! thread of their own. That thread has the array, operands and coefficients, which were all fetched, and the result; no
//! guest memory, no register and nothing else of the device. The front goes on as if the task ran, which it does, until
//! the [`Bell`] rings; then the result goes where it belongs, through the DART as it stands by then.
//!
//! A short pass is not worth two wake-ups, and is computed where it was begun. Both ways give the same bits.
//!
//! What nobody waits for any longer is told so and left: the executor goes on with a new array, and what comes
//! back too late is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use ane_uapi::hw::tq::QueueId;

use super::Executor;
use crate::engine::cancel::Watch;
use crate::engine::kernel_fetcher::Coefficients;
use crate::engine::madd::{self, Array, ShapeError};
use crate::engine::numerics::Numerics;
use crate::engine::plan::neural::{NeuralPass, Operation};

/// Rung when a pass that is computed beside has ended: [`Ane::work`](crate::ane::Ane::work) has something to do then.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// Steps from which on a pass is computed beside, where vectors take them: some tenths of a millisecond at least,
/// some tenths of a second where the operands keep it from the vectors (Chosen).
const LONG: u64 = 1 << 24;

/// The same, where products are computed one by one.
const LONG_ONE_BY_ONE: u64 = 1 << 18;

/// Whether a pass is worth two wake-ups.
pub(super) fn is_long(numerics: Numerics, pass: &NeuralPass) -> bool {
    pass.steps() >= if madd::has_kernel(numerics) { LONG } else { LONG_ONE_BY_ONE }
}

/// What the array makes of its operands.
#[inline]
pub(super) fn compute(
    array: &mut Array,
    pass: &NeuralPass,
    coefficients: &Coefficients,
    input: &[u16],
    result: &mut [u16],
    watch: &Watch<'_>,
) -> Result<(), ShapeError> {
    let (array, convolution, scale) = (array.under(watch), &pass.convolution, pass.post_scale);
    match pass.operation {
        Operation::Convolve(kernel) => {
            let weights = madd::Coefficients::Halves(&coefficients.weights);
            let biases = kernel.has_bias.then_some(coefficients.biases.as_slice());
            array.convolve(convolution, input, weights, biases, scale, result)
        }
        Operation::Sum => array.convolve(convolution, input, madd::Coefficients::Unity, None, scale, result),
        Operation::Maximum => array.maximum(convolution, input, scale, result),
        Operation::PassThrough => {
            array.scale(input, scale, result);
            Ok(())
        }
    }
}

/// A pass, with everything that it is computed from.
pub(super) struct Job {
    pub(super) queue: QueueId,
    pub(super) pass: NeuralPass,
    pub(super) array: Array,
    pub(super) coefficients: Coefficients,
    pub(super) input: Vec<u16>,
    pub(super) result: Vec<u16>,
}

/// A job that is over, and how it went; a panic goes on where the job came from.
type Over = (u64, Job, thread::Result<Result<(), ShapeError>>);

/// What has become of a job.
pub(super) enum Came {
    /// It is being computed.
    NotYet,
    /// It was.
    Back(Box<Job>, Result<(), ShapeError>),
    /// Nobody will see it again.
    Never,
}

/// The thread beside.
pub(super) struct Beside {
    bell: Bell,
    started: Option<Started>,
    /// Jobs that were sent, and those of them that came back.
    sent: u64,
    returned: u64,
    /// Raised for the last of them, if nobody wants it any longer.
    over: Arc<AtomicBool>,
}

struct Started {
    jobs: Sender<(u64, Job, Arc<AtomicBool>)>,
    back: Receiver<Over>,
}

impl Beside {
    pub(super) fn new(bell: Bell) -> Self {
        Self { bell, started: None, sent: 0, returned: 0, over: Arc::default() }
    }

    /// Makes ready to send a job; false if the host has no thread for it.
    ///
    /// One that was given up may be under way still, and is not waited for. With two of them whoever gives up one after the
    /// other waits until the first has noticed, so that he cannot pile them up.
    pub(super) fn start(&mut self) -> bool {
        if let Some(Started { back, .. }) = &self.started {
            while self.sent.wrapping_sub(self.returned) > 1 && back.recv().is_ok() {
                self.returned = self.returned.wrapping_add(1);
            }
            return true;
        }
        let (jobs, take) = channel::<(u64, Job, Arc<AtomicBool>)>();
        let (give, back) = channel();
        let bell = Arc::clone(&self.bell);
        let work = move || {
            for (number, job, over) in take {
                if give.send(carry_out(number, job, &over)).is_err() {
                    break;
                }
                bell();
            }
        };
        match thread::Builder::new().name("ane-beside".to_owned()).spawn(work) {
            Ok(_) => self.started = Some(Started { jobs, back }),
            Err(error) => log::warn!(target: "ane::engine", "no thread for long passes: {error}"),
        }
        self.started.is_some()
    }

    /// Has a job carried out; the bell rings when it is.
    pub(super) fn send(&mut self, job: Job) {
        self.sent = self.sent.wrapping_add(1);
        self.over = Arc::default();
        if let Some(Started { jobs, .. }) = &self.started {
            // Should nobody take it, then `came` says so.
            let _ = jobs.send((self.sent, job, Arc::clone(&self.over)));
        }
    }

    /// What has become of the last job that was sent.
    pub(super) fn came(&mut self) -> Came {
        let Some(Started { back, .. }) = &self.started else { return Came::Never };
        loop {
            let (number, job, outcome) = match back.try_recv() {
                Ok(over) => over,
                Err(TryRecvError::Empty) => return Came::NotYet,
                Err(TryRecvError::Disconnected) => return Came::Never,
            };
            self.returned = number;
            // Others are of passes that were given up.
            if number == self.sent {
                return match outcome {
                    Ok(outcome) => Came::Back(Box::new(job), outcome),
                    Err(panic) => resume_unwind(panic),
                };
            }
        }
    }

    /// Gives up the last job that was sent.
    pub(super) fn give_up(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn carry_out(number: u64, mut job: Job, over: &AtomicBool) -> Over {
    if over.load(Ordering::Relaxed) {
        return (number, job, Ok(Ok(())));
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Job { queue, pass, array, coefficients, input, result } = &mut job;
        compute(array, pass, coefficients, input, result, &Watch::new(over, *queue))
    }));
    (number, job, outcome)
}

impl Executor {
    /// Has long passes computed beside the caller's thread from now on; `bell` rings when one has ended.
    pub fn compute_beside(&mut self, bell: Bell) {
        self.beside = Some(Beside::new(bell));
    }
}
