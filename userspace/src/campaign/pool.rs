//! Processes that run cases and may be killed.
//!
//! Each worker is this program once more. It reads cases as lines of JSON and answers each with a line; so a process serves
//! thousands of small cases, and what a case costs beside its own work is two short writes. Whoever waits for an answer
//! looks at the clock and at the memory that the worker has in use. A worker that takes too much of either is killed, one
//! that died is replaced, and the case gets the verdict.

mod words;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use self::words::Words;
use super::case::Case;
use super::record::{Outcome, REASON_MAX, Verdict};
use super::runner::Runner;
use crate::decode::is_upsetting;

/// How often the memory of a worker is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Cases after which a worker is replaced (Chosen): what a program leaves behind in its process ends with it.
const CASES_MAX: u32 = 10_000;

/// Longest answer that is taken.
const ANSWER_MAX: usize = 1 << 16;

/// Serves as a worker: cases come in on `from`, outcomes go out on `into`, until either is closed.
///
/// # Errors
///
/// The system's.
pub fn serve(from: impl Read, mut into: impl Write) -> io::Result<()> {
    let mut runner = Runner::default();
    for line in BufReader::new(from).lines() {
        let outcome = match serde_json::from_str::<Case>(&line?) {
            Ok(case) => runner.run(&case),
            Err(why) => Outcome::because(Verdict::Error, why),
        };
        let mut answer = serde_json::to_vec(&outcome)?;
        answer.push(b'\n');
        into.write_all(&answer)?;
        into.flush()?;
    }
    Ok(())
}

/// Runs cases on so many workers at once; `done` hears of each. Ends early if `done` says so.
///
/// # Errors
///
/// That of `done`, or of a worker that cannot be started.
pub fn run(
    cases: Vec<Case>,
    jobs: usize,
    start: impl Fn() -> Command + Sync,
    done: impl FnMut(&Case, Outcome) -> io::Result<()> + Send,
) -> io::Result<()> {
    let jobs = jobs.clamp(1, cases.len().max(1));
    let cases = Mutex::new(cases.into_iter());
    let done = Mutex::new(done);
    let is_over = AtomicBool::new(false);
    let serve = || -> io::Result<()> {
        let mut worker = None;
        while !is_over.load(Ordering::Relaxed) {
            let Some(case) = lock(&cases).next() else { break };
            let outcome = one(&mut worker, &case, &start)?;
            let mut done = lock(&done);
            // Whoever ended the campaign hears of nothing more.
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let told = done(&case, outcome);
            if told.is_err() {
                is_over.store(true, Ordering::Relaxed);
            }
            told?;
        }
        Ok(())
    };
    let guarded = || {
        let served = serve();
        if served.is_err() {
            is_over.store(true, Ordering::Relaxed);
        }
        served
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(guarded)).collect();
        let died = || Err(io::Error::other("a thread of the campaign died"));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| died()))
    })
}

/// The value that a mutex guards, also after a thread that held it died.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs one case on a worker, which is started if there is none.
fn one(worker: &mut Option<Worker>, case: &Case, start: impl Fn() -> Command) -> io::Result<Outcome> {
    loop {
        let mut current = match worker.take().filter(|worker| worker.served < CASES_MAX) {
            Some(worker) => worker,
            None => Worker::start(start())?,
        };
        let is_fresh = current.served == 0;
        let (outcome, is_alive) = current.run(case)?;
        if is_alive {
            *worker = Some(current);
        } else if outcome.verdict == Verdict::Memory && !is_fresh {
            // The cases before may have left it with what this one is blamed for.
            continue;
        }
        return Ok(outcome);
    }
}

/// A process that runs cases.
struct Worker {
    child: Child,
    cases: ChildStdin,
    answers: OwnedFd,
    words: Words,
    /// The part of an answer that has come.
    begun: Vec<u8>,
    served: u32,
}

impl Worker {
    fn start(mut command: Command) -> io::Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let gone = || io::Error::other("a worker has no pipe");
        let cases = child.stdin.take().ok_or_else(gone)?;
        let answers: OwnedFd = child.stdout.take().ok_or_else(gone)?.into();
        let words: OwnedFd = child.stderr.take().ok_or_else(gone)?.into();
        for pipe in [&answers, &words] {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { child, cases, answers, words: Words::new(words), begun: Vec::new(), served: 0 })
    }

    /// The outcome of a case, and whether the worker lives.
    fn run(&mut self, case: &Case) -> io::Result<(Outcome, bool)> {
        let start = Instant::now();
        self.served += 1;
        let mut line = serde_json::to_vec(case)?;
        line.push(b'\n');
        if self.cases.write_all(&line).is_err() {
            return Ok((self.died(start)?, false));
        }
        let deadline = case.limits.time();
        loop {
            if let Some(outcome) = self.answer()? {
                self.words.forget();
                return Ok((outcome, true));
            }
            let spent = start.elapsed();
            if spent >= deadline {
                let why = format!("it took more than {} s", case.limits.seconds);
                return Ok((self.kill(Verdict::Timeout, &why, start)?, false));
            }
            if self.bytes().is_some_and(|used| used > case.limits.mebibytes.saturating_mul(1 << 20)) {
                let why = format!("it took more than {} MiB", case.limits.mebibytes);
                return Ok((self.kill(Verdict::Memory, &why, start)?, false));
            }
            let wait = (deadline - spent).min(LOOK);
            let timeout =
                PollTimeout::try_from(wait.max(Duration::from_millis(1))).unwrap_or(PollTimeout::ZERO);
            let answers = PollFd::new(self.answers.as_fd(), PollFlags::POLLIN);
            let mut pipes: Vec<_> = [answers].into_iter().chain(self.words.awaited()).collect();
            match poll(&mut pipes, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
            self.words.take();
            if self.is_over()? {
                // It may have answered and ended.
                let outcome = self.answer()?.map_or_else(|| self.died(start), Ok)?;
                return Ok((outcome, false));
            }
        }
    }

    /// Takes what has come; the answer, if it is whole. A worker that says nonsense is as good as dead.
    fn answer(&mut self) -> io::Result<Option<Outcome>> {
        let Some(end) = self.begun.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.begun.drain(..=end).collect();
        Ok(Some(serde_json::from_slice(&line).unwrap_or_else(|why| Outcome::because(Verdict::Crashed, why))))
    }

    /// Reads what is there; true if nothing more will come.
    fn is_over(&mut self) -> io::Result<bool> {
        let mut piece = [0; 4096];
        loop {
            match nix::unistd::read(&self.answers, &mut piece) {
                Ok(0) => return Ok(true),
                Ok(count) => {
                    self.begun.extend_from_slice(piece.get(..count).unwrap_or_default());
                    if self.begun.len() > ANSWER_MAX {
                        return Ok(true);
                    }
                }
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }

    /// Bytes of memory that it has in use.
    fn bytes(&self) -> Option<u64> {
        let told = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).ok()?;
        let pages: u64 = told.split(' ').nth(1)?.parse().ok()?;
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
        Some(pages.saturating_mul(u64::try_from(page).ok()?))
    }

    fn kill(&mut self, verdict: Verdict, why: &str, start: Instant) -> io::Result<Outcome> {
        // It may have ended just now.
        let _ = self.child.kill();
        self.child.wait()?;
        Ok(Outcome { milliseconds: milliseconds(start), ..Outcome::because(verdict, why) })
    }

    /// The verdict on a worker that is no more, with the last that it said.
    fn died(&mut self, start: Instant) -> io::Result<Outcome> {
        // One that closed its pipe and lives is killed.
        let _ = self.child.kill();
        let status = self.child.wait()?;
        let how = match (status.signal(), status.code()) {
            (Some(signal), _) => format!("its process was ended by signal {signal}"),
            (None, Some(code)) => format!("its process ended with code {code}"),
            (None, None) => "its process ended".to_owned(),
        };
        let words = self.words.last();
        let words = words.trim().replace(is_upsetting, " ");
        // As many as a reason has room for, and of these the last.
        let room = REASON_MAX.saturating_sub(how.chars().count()).saturating_sub(2);
        let last: String = words.chars().skip(words.chars().count().saturating_sub(room)).collect();
        let why = if last.is_empty() { how } else { format!("{how}: {last}") };
        Ok(Outcome { milliseconds: milliseconds(start), ..Outcome::because(Verdict::Crashed, why) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::case::{Limits, example};
    use super::*;

    /// Workers that are shell scripts.
    fn shell(script: &'static str) -> impl Fn() -> Command + Sync {
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        }
    }

    fn outcomes(script: &'static str, count: u64, limits: Limits) -> Vec<(u64, Outcome)> {
        let cases = (0..count).map(|seed| Case { seed, limits, ..example("a") }).collect();
        let mut seen = Vec::new();
        run(cases, 2, shell(script), |case, outcome| {
            seen.push((case.seed, outcome));
            Ok(())
        })
        .unwrap();
        seen.sort_by_key(|(seed, _)| *seed);
        seen
    }

    #[test]
    fn worker_serves_many_cases() {
        let script = r#"while read -r line; do echo '{"verdict":"ran"}'; done"#;
        let seen = outcomes(script, 100, Limits::default());
        assert!(seen.len() == 100 && seen.iter().all(|(_, outcome)| outcome.verdict == Verdict::Ran));
    }

    #[test]
    fn worker_that_dies_is_replaced_and_its_case_is_told() {
        let script = r#"while read -r line; do case "$line" in
            *'"seed":3,'*) echo broken >&2; kill -SEGV $$;;
            *'"seed":4,'*) exit 7;;
            *'"seed":5,'*) echo nonsense;;
            *) echo '{"verdict":"ran"}';; esac; done"#;
        let seen = outcomes(script, 8, Limits::default());
        let crashed = |(_, outcome): &&(u64, Outcome)| outcome.verdict == Verdict::Crashed;
        assert_eq!(seen.iter().filter(crashed).map(|(seed, _)| *seed).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(seen[3].1.reason.as_deref(), Some("its process was ended by signal 11: broken"));
        assert_eq!(seen[4].1.reason.as_deref(), Some("its process ended with code 7"));
    }

    #[test]
    fn reason_of_a_worker_that_died_is_the_last_that_it_said_about_its_case() {
        // More than a pipe holds: a worker whose words nobody reads would wait for ever.
        let script = r#"while read -r line; do case "$line" in
            *'"seed":1,'*) i=0; while [ $i -lt 4000 ]; do echo "line $i of a very long story" >&2; i=$((i+1)); done;
                echo the end >&2; exit 7;;
            *'"seed":2,'*) exit 8;;
            *) echo early words >&2; echo '{"verdict":"ran"}';; esac; done"#;
        let limits = Limits { seconds: 30.0, ..Limits::default() };
        let cases = (0..3).map(|seed| Case { seed, limits, ..example("a") }).collect();
        let mut seen = Vec::new();
        run(cases, 1, shell(script), |_, outcome| {
            seen.push(outcome);
            Ok(())
        })
        .unwrap();
        let verdicts: Vec<_> = seen.iter().map(|outcome| outcome.verdict).collect();
        assert_eq!(verdicts, [Verdict::Ran, Verdict::Crashed, Verdict::Crashed]);
        let reasons: Vec<_> =
            seen.iter().map(|outcome| outcome.reason.as_deref().unwrap_or_default()).collect();
        assert!(reasons[1].starts_with("its process ended with code 7: "), "{}", reasons[1]);
        assert!(reasons[1].ends_with("line 3999 of a very long story the end"), "{}", reasons[1]);
        assert_eq!(reasons[2], "its process ended with code 8");
    }

    #[test]
    fn words_about_a_case_are_not_those_of_the_next() {
        let script = r#"read -r line; echo early words >&2; echo '{"verdict":"ran"}'; read -r line; exit 9"#;
        let cases = (0..2).map(|seed| Case { seed, ..example("a") }).collect();
        let mut reasons = Vec::new();
        run(cases, 1, shell(script), |_, outcome| {
            reasons.extend(outcome.reason);
            Ok(())
        })
        .unwrap();
        assert_eq!(reasons, ["its process ended with code 9"]);
    }

    #[test]
    fn case_that_takes_too_long_or_too_much_is_killed() {
        let limits = Limits { seconds: 0.2, ..Limits::default() };
        let seen = outcomes("read -r line; exec sleep 60", 2, limits);
        assert!(seen.iter().all(|(_, outcome)| outcome.verdict == Verdict::Timeout));
        let limits = Limits { seconds: 30.0, mebibytes: 1 };
        let seen = outcomes("read -r line; exec sleep 60", 1, limits);
        assert_eq!(
            (seen[0].1.verdict, seen[0].1.reason.as_deref()),
            (Verdict::Memory, Some("it took more than 1 MiB"))
        );
    }

    #[test]
    fn error_of_whoever_listens_ends_the_campaign() {
        let cases = (0..1000).map(|seed| Case { seed, ..example("a") }).collect();
        let mut heard = 0;
        let script = shell(r#"while read -r line; do echo '{"verdict":"ran"}'; done"#);
        let ended = run(cases, 2, script, |_, _| {
            heard += 1;
            if heard == 10 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        });
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(heard, 10);
    }

    #[test]
    fn line_that_is_no_case_is_answered_too() {
        let mut answers = Vec::new();
        serve(&b"nonsense\n{}\n"[..], &mut answers).unwrap();
        let answers: Vec<Outcome> = answers
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(answers.len(), 2);
        assert!(answers.iter().all(|answer| answer.verdict == Verdict::Error));
    }
}
