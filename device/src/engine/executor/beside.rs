//! What takes long, computed beside the thread that has the device.
//!
//! On silicon registers are answered while the engines compute. Here one thread has all of a device, and a pass of minutes
//! would keep it from everybody: from whoever asks how far the task is, gives another client memory, or takes the task's
//! queue back. So where a front can be woken ([`Executor::compute_beside`]), a long pass is computed on a thread of its
//! own. That thread has the engines, operands and coefficients, which were all fetched, and the result; no
//! guest memory, no register and nothing else of the device. The front goes on as if the task ran, which it does, until
//! the [`Bell`] rings; then the result goes where it belongs, through the DART as it stands by then.
//!
//! A short pass is not worth two wake-ups, and is computed where it was begun. Both ways give the same bits.
//!
//! What nobody waits for any longer is told so and left: the executor goes on with new engines, and what comes
//! back too late is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use super::Executor;

/// Rung when a pass that is computed beside has ended: [`Ane::work`](crate::ane::Ane::work) has something to do then.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// Something to carry out; the flag is raised when nobody waits for it any longer.
type Job<T> = Box<dyn FnOnce(&AtomicBool) -> T + Send>;

/// What has become of a job.
pub(super) enum Came<T> {
    /// It is under way.
    NotYet,
    /// It was carried out.
    Back(T),
    /// Nobody will see it again.
    Never,
}

/// A job that was sent.
struct Sent<T> {
    number: u64,
    job: Job<T>,
    over: Arc<AtomicBool>,
}

/// What came of a job, unless it was given up; a panic goes on where the job came from.
struct Over<T> {
    number: u64,
    outcome: Option<thread::Result<T>>,
}

/// The thread beside.
pub(super) struct Beside<T> {
    bell: Bell,
    started: Option<Started<T>>,
    /// Jobs that were sent, and those of them that came back.
    sent: u64,
    returned: u64,
    /// Raised for the last of them, if nobody wants it any longer.
    over: Arc<AtomicBool>,
}

struct Started<T> {
    jobs: Sender<Sent<T>>,
    back: Receiver<Over<T>>,
}

impl<T: Send + 'static> Beside<T> {
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
        let (jobs, take) = channel();
        let (give, back) = channel();
        let bell = Arc::clone(&self.bell);
        let work = move || {
            for sent in take {
                if give.send(carry_out(sent)).is_err() {
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
    pub(super) fn send(&mut self, job: Job<T>) {
        self.sent = self.sent.wrapping_add(1);
        self.over = Arc::default();
        if let Some(Started { jobs, .. }) = &self.started {
            // If no thread takes the job, `came` returns `Never`.
            let _ = jobs.send(Sent { number: self.sent, job, over: Arc::clone(&self.over) });
        }
    }

    /// What has become of the last job that was sent.
    pub(super) fn came(&mut self) -> Came<T> {
        let Some(Started { back, .. }) = &self.started else { return Came::Never };
        loop {
            let Over { number, outcome } = match back.try_recv() {
                Ok(over) => over,
                Err(TryRecvError::Empty) => return Came::NotYet,
                Err(TryRecvError::Disconnected) => return Came::Never,
            };
            self.returned = number;
            // Others were given up.
            if number == self.sent {
                return match outcome {
                    Some(Ok(outcome)) => Came::Back(outcome),
                    Some(Err(panic)) => resume_unwind(panic),
                    None => Came::Never,
                };
            }
        }
    }
}

impl<T> Beside<T> {
    /// Gives up the last job that was sent.
    pub(super) fn give_up(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl<T> Drop for Beside<T> {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Carries a job out. A job that was given up sends nothing back: its buffers are large, and this thread frees them.
fn carry_out<T>(Sent { number, job, over }: Sent<T>) -> Over<T> {
    let is_wanted = || !over.load(Ordering::Relaxed);
    let outcome = is_wanted().then(|| catch_unwind(AssertUnwindSafe(|| job(&over))));
    Over { number, outcome: outcome.filter(|_| is_wanted()) }
}

impl Executor {
    /// Has long passes computed beside the caller's thread from now on, and long transfers moved in several turns; `bell`
    /// rings when a pass has ended.
    pub fn compute_beside(&mut self, bell: Bell) {
        self.beside = Some(Beside::new(bell));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Time for a thread to do something wrong.
    const A_WHILE: Duration = Duration::from_millis(50);

    /// A thread beside whose bell is a channel.
    fn beside() -> (Beside<u32>, Receiver<()>) {
        let (rung, bell) = channel();
        (Beside::new(Arc::new(move || rung.send(()).unwrap_or_default())), bell)
    }

    fn back(came: Came<u32>) -> Option<u32> {
        match came {
            Came::Back(outcome) => Some(outcome),
            Came::NotYet | Came::Never => None,
        }
    }

    #[test]
    fn job_comes_back_once_the_bell_has_rung_and_the_one_before_it_that_was_given_up_does_not() {
        let (mut beside, bell) = beside();
        let (go, wait) = channel::<()>();
        assert!(beside.start());
        beside.send(Box::new(move |_| wait.recv().map_or(1, |()| 1)));
        assert!(matches!(beside.came(), Came::NotYet));
        beside.give_up();
        assert!(beside.start());
        beside.send(Box::new(|_| 2));
        go.send(()).expect("the first job waits");
        bell.recv().expect("of the first");
        bell.recv().expect("of the second");
        assert_eq!(back(beside.came()), Some(2));
    }

    #[test]
    fn whoever_gives_up_one_job_after_the_other_waits_for_the_first_when_two_are_under_way() {
        let (mut beside, _bell) = beside();
        let has_ended = Arc::new(AtomicBool::new(false));
        let (tell, begun) = channel();
        let first = {
            let has_ended = Arc::clone(&has_ended);
            // Slow to notice: it ends only when somebody would have gone on long ago.
            move |_: &AtomicBool| {
                tell.send(()).expect("somebody waits");
                thread::sleep(A_WHILE);
                has_ended.store(true, Ordering::SeqCst);
                1
            }
        };
        assert!(beside.start());
        beside.send(Box::new(first));
        begun.recv().expect("it begins");
        beside.give_up();
        assert!(beside.start());
        assert!(!has_ended.load(Ordering::SeqCst), "one is not waited for");
        beside.send(Box::new(|_| 2));
        beside.give_up();
        assert!(beside.start());
        assert!(has_ended.load(Ordering::SeqCst), "with a third there would be more and more");
    }

    #[test]
    fn job_that_is_given_up_is_told_so_and_one_that_has_not_begun_does_not_begin() {
        let (mut beside, bell) = beside();
        let (tell, told) = channel();
        assert!(beside.start());
        beside.send(Box::new(move |over| {
            while !over.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            0
        }));
        beside.give_up();
        assert!(beside.start());
        beside.send(Box::new(move |_| tell.send(()).map_or(1, |()| 1)));
        beside.give_up();
        bell.recv().expect("of the first");
        bell.recv().expect("of the second");
        assert!(matches!(beside.came(), Came::Never));
        assert!(told.try_recv().is_err());
    }

    #[test]
    #[should_panic(expected = "of the job")]
    fn panic_goes_on_where_the_job_came_from() {
        let (mut beside, bell) = beside();
        assert!(beside.start());
        beside.send(Box::new(|_| panic!("of the job")));
        bell.recv().expect("it is over");
        beside.came();
    }
}
