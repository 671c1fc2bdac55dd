//! Carrying a script out.
//!
//! The mover processes a command when its time has come, which may be lines later. The model's registers count what became of
//! each: so a refusal is told with the line of its command, or with the lines of all that it may be of.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ane_driver::bus::{Bus, BusError, Operation};
use ane_uapi::hw::mover::command::{self, NOTHING};
use ane_uapi::hw::mover::model::{self, MODEL, Outcome};
use ane_uapi::hw::mover::regs::{self, Core};
use ane_uapi::hw::mover::status::wait_is_over;
use ane_uapi::hw::mover::xmov::{self, PORT};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::register::{Reg, Word};
use thiserror::Error;

use super::output::{Shown, What};
use super::script::{Command, Memory, Script};

/// How long a `wait` may take.
const LIMIT: Duration = Duration::from_secs(2);

/// A script that did not come to its end.
#[derive(Debug, Error)]
pub enum Failed {
    #[error("line {line}: {why}")]
    Bus {
        line: usize,
        #[source]
        why: BusError,
    },
    #[error("line {line}: byte {at:#x} of {} is {found:#04x}, not {expected:#04x}", memory.name())]
    Differs { line: usize, memory: Memory, at: u32, found: u8, expected: u8 },
    #[error("line {line}: mover did not come to rest within {LIMIT:?}, status {status:#x}")]
    Busy { line: usize, status: u32 },
}

fn at<T: Word>(base: EngineOffset, register: &Reg<T>) -> EngineOffset {
    EngineOffset(base.0 + register.offset())
}

/// Word of a command for a transfer by the parameter registers.
const MOVE: u32 = 0x40;

/// A command that the mover may not have processed yet.
#[derive(Clone, Copy, Debug)]
struct Queued {
    line: usize,
    /// It is counted, whatever becomes of it. A write to scratch is counted only if it is refused.
    is_counted: bool,
}

/// What the model's registers have counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    refused: u32,
    transfers: u32,
    last_outcome: u32,
}

struct RunningScript<'a, B> {
    bus: &'a mut B,
    shown: &'a mut Vec<Shown>,
    counted: Counted,
    queued: VecDeque<Queued>,
}

/// Carries a script out, to the end of its last transfer; tells what it shows, as far as it came. The number is how many
/// transfers were carried out.
pub fn run(script: &Script, bus: &mut impl Bus, shown: &mut Vec<Shown>) -> Result<u32, Failed> {
    let counted = Counted { refused: 0, transfers: 0, last_outcome: 0 };
    let mut run = RunningScript { bus, shown, counted, queued: VecDeque::new() };
    let before = run.count(0)?;
    run.counted = before;
    for (line, command) in &script.0 {
        run.carry_out(*line, command)?;
        run.refusals(*line)?;
        if matches!(command, Command::Wait) {
            run.queued.clear();
        }
    }
    if let Some(&(line, _)) = script.0.last() {
        run.wait(line)?;
        run.refusals(line)?;
    }
    Ok(run.counted.transfers.wrapping_sub(before.transfers))
}

impl<B: Bus> RunningScript<'_, B> {
    fn show(&mut self, line: usize, what: What) {
        self.shown.push(Shown { line, what });
    }

    fn batch(&mut self, line: usize, operations: &[Operation]) -> Result<Vec<u32>, Failed> {
        let limit = usize::from(self.bus.config().batch_max.get()).max(1);
        let mut values = Vec::new();
        for part in operations.chunks(limit) {
            let reads = part.iter().filter(|operation| matches!(operation, Operation::Read(_))).count();
            let mut read = vec![0; reads];
            self.bus.batch(part, &mut read).map_err(|why| Failed::Bus { line, why })?;
            values.extend(read);
        }
        Ok(values)
    }

    fn load(&mut self, line: usize, memory: Memory, first: u32, len: u32) -> Result<Vec<u8>, Failed> {
        let skipped = first % 4;
        let words = (skipped + len).div_ceil(4);
        let start = memory.start().0 + first - skipped;
        let operations: Vec<_> =
            (0..words).map(|word| Operation::Read(EngineOffset(start + 4 * word))).collect();
        let bytes = self.batch(line, &operations)?.into_iter().flat_map(u32::to_le_bytes);
        Ok(bytes.skip(skipped as usize).take(len as usize).collect())
    }

    fn store(&mut self, line: usize, memory: Memory, first: u32, bytes: &[u8]) -> Result<(), Failed> {
        // Whole words, of which the parts that are not written keep what they have.
        let skipped = first % 4;
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let words = (skipped + len).div_ceil(4);
        let mut all = self.load(line, memory, first - skipped, 4 * words)?;
        all[skipped as usize..][..bytes.len()].copy_from_slice(bytes);
        let start = memory.start().0 + first - skipped;
        let (chunks, _) = all.as_chunks::<4>();
        let operations: Vec<_> = (0u32..)
            .zip(chunks)
            .map(|(word, chunk)| Operation::Write(EngineOffset(start + 4 * word), u32::from_le_bytes(*chunk)))
            .collect();
        self.batch(line, &operations).map(drop)
    }

    fn carry_out(&mut self, line: usize, command: &Command) -> Result<(), Failed> {
        let window = Core::B.window();
        match command {
            Command::Store { memory, at, bytes } => self.store(line, *memory, *at, bytes),
            Command::Write { at, value } => {
                if is_command(*at) {
                    self.queue(line, *value);
                }
                self.batch(line, &[Operation::Write(*at, *value)]).map(drop)
            }
            Command::Read { name, at } => {
                let values = self.batch(line, &[Operation::Read(*at)])?;
                let value = values.first().copied().unwrap_or_default();
                self.show(line, What::Register { name: name.clone(), value });
                Ok(())
            }
            Command::Move([source, destination, size, direction]) => {
                let writes = [
                    Operation::Write(at(window, &regs::XMOV_SRC_ADDR), *source),
                    Operation::Write(at(window, &regs::XMOV_DST_ADDR), *destination),
                    Operation::Write(at(window, &regs::XMOV_SIZE), *size),
                    Operation::Write(at(window, &regs::XMOV_DIRECTION), *direction),
                    Operation::Write(at(window, &regs::COMMAND_ADDR), MOVE),
                    Operation::Write(at(window, &regs::COMMAND_ADDR), NOTHING),
                ];
                self.queue(line, MOVE);
                self.batch(line, &writes).map(drop)
            }
            Command::Xmov { thread, word } => {
                self.queued.push_back(Queued { line, is_counted: true });
                let port = EngineOffset(at(PORT.base, &xmov::ISSUE).0 + 4 * thread);
                self.batch(line, &[Operation::Write(port, *word)]).map(drop)
            }
            Command::StallWait { thread, block, condition } => {
                let port = EngineOffset(at(PORT.base, &xmov::STALL_WAIT).0 + 4 * thread);
                let word = xmov::StallWait::new().with_block(*block).with_condition(*condition);
                self.batch(line, &[Operation::Write(port, word.into_bits())]).map(drop)
            }
            Command::Wait => self.wait(line),
            Command::Show { memory, at, len } => {
                let bytes = self.load(line, *memory, *at, *len)?;
                self.show(line, What::Bytes { memory: *memory, at: *at, bytes });
                Ok(())
            }
            Command::Expect { memory, at, bytes } => {
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                let found = self.load(line, *memory, *at, len)?;
                let differs =
                    (*at..).zip(found.iter().zip(bytes)).find(|(_, (found, wanted))| found != wanted);
                match differs {
                    Some((at, (&found, &expected))) => {
                        Err(Failed::Differs { line, memory: *memory, at, found, expected })
                    }
                    None => Ok(()),
                }
            }
        }
    }

    fn wait(&mut self, line: usize) -> Result<(), Failed> {
        let start = Instant::now();
        let status = at(Core::B.window(), &regs::STATUS);
        loop {
            let values = self.batch(line, &[Operation::Read(status)])?;
            let status = values.first().copied().unwrap_or_default();
            if wait_is_over(status, 1) {
                return Ok(());
            }
            if start.elapsed() > LIMIT {
                return Err(Failed::Busy { line, status });
            }
        }
    }

    /// A command is put into the mover's queue.
    fn queue(&mut self, line: usize, word: u32) {
        let is_counted = match command::Command::decode(word) {
            Ok(command::Command::Wait | command::Command::Nothing) => return,
            Ok(command::Command::ScratchWrite { .. }) => false,
            Ok(command::Command::Move | command::Command::CompactMove(_)) | Err(_) => true,
        };
        self.queued.push_back(Queued { line, is_counted });
    }

    /// What the model's registers count now.
    fn count(&mut self, line: usize) -> Result<Counted, Failed> {
        let registers = [
            at(MODEL.base, &model::REFUSED),
            at(MODEL.base, &model::TRANSFERS),
            at(MODEL.base, &model::LAST_OUTCOME),
        ];
        let found = self.batch(line, &registers.map(Operation::Read))?;
        let [refused, transfers, last_outcome] =
            [0, 1, 2].map(|index| found.get(index).copied().unwrap_or_default());
        Ok(Counted { refused, transfers, last_outcome })
    }

    /// The first and the last line of the commands that were counted: of so many.
    fn processed(&mut self, line: usize, mut count: u32) -> (usize, usize) {
        let mut lines = None;
        while count > 0
            && let Some(queued) = self.queued.pop_front()
        {
            let (first, _) = lines.unwrap_or((queued.line, queued.line));
            lines = Some((first, queued.line));
            count -= u32::from(queued.is_counted);
        }
        lines.unwrap_or((line, line))
    }

    /// Says what was refused since this was last asked.
    fn refusals(&mut self, line: usize) -> Result<(), Failed> {
        let now = self.count(line)?;
        let before = std::mem::replace(&mut self.counted, now);
        let count = now.refused.wrapping_sub(before.refused);
        let transfers = now.transfers.wrapping_sub(before.transfers);
        let outcome = u8::try_from(now.last_outcome).ok().and_then(|code| Outcome::try_from(code).ok());
        let (first, last_line) = if count == 1 && outcome.is_some_and(is_at_once) {
            if self.queued.back().is_some_and(|queued| queued.line == line) {
                self.queued.pop_back();
            }
            self.processed(line, transfers);
            (line, line)
        } else {
            self.processed(line, count.saturating_add(transfers))
        };
        if count != 0 {
            let outcome = outcome.map_or("unknown", |outcome| outcome.name());
            self.show(first, What::Refused { outcome, count, last_line });
        }
        Ok(())
    }
}

/// True if what is refused like this is refused when it is written.
const fn is_at_once(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::NoCredit | Outcome::NotXmov | Outcome::TileLost)
}

/// True for the command register in the window of any core.
fn is_command(offset: EngineOffset) -> bool {
    Core::ALL.iter().any(|core| at(core.window(), &regs::COMMAND_ADDR) == offset)
}
