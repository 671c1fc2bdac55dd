//! Reading a script.

use ane_uapi::hw::mover::Direction;
use ane_uapi::hw::mover::model::MODEL;
use ane_uapi::hw::mover::regs::{Core, MOVER};
use ane_uapi::hw::mover::transfer::SIZE_MASK;
use ane_uapi::hw::mover::xmov::{Instruction, THREADS};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::{mmio_map, mover};
use ane_uapi::register::Block;
use serde::Serialize;
use thiserror::Error;

/// Most bytes that one line shows, fills or holds: all of scratch.
const BYTES_MAX: u32 = 2 << 20;

ane_uapi::named! {
    #[derive(Serialize)]
    pub enum Memory {
        #[serde(rename = "scratch")]
        Scratch "scratch",
        #[serde(rename = "config")]
        Configuration "config",
        #[serde(rename = "iram")]
        InstructionRam "iram",
    }
}

impl Memory {
    fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|memory| memory.name() == word)
    }

    fn range(self) -> &'static mmio_map::Range {
        match self {
            Self::Scratch => mmio_map::Region::TileL2,
            Self::Configuration => mmio_map::Region::MoverConfiguration,
            Self::InstructionRam => mmio_map::Region::KernelMemory,
        }
        .range()
    }

    pub fn start(self) -> EngineOffset {
        self.range().start
    }

    pub fn len(self) -> u32 {
        self.range().len()
    }

    /// False: a memory has bytes.
    pub const fn is_empty(self) -> bool {
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Puts bytes there as they are.
    Store { memory: Memory, at: u32, bytes: Vec<u8> },
    /// Writes a register.
    Write { at: EngineOffset, value: u32 },
    /// Reads a register and shows what it holds.
    Read { name: String, at: EngineOffset },
    /// Writes parameters and command, and the command that has to follow.
    Move([u32; 4]),
    /// Has a thread issue the instruction.
    Xmov { thread: u32, word: u32 },
    /// `block` says which instructions wait.
    StallWait { thread: u32, block: u16, condition: u16 },
    /// Waits until the mover is idle.
    Wait,
    /// Shows bytes of a memory.
    Show { memory: Memory, at: u32, len: u32 },
    /// Compares bytes of a memory with these.
    Expect { memory: Memory, at: u32, bytes: Vec<u8> },
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    pub what: String,
}

/// A script: commands with the numbers of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(pub Vec<(usize, Command)>);

impl Script {
    /// True if a line of it starts a transfer.
    pub fn has_transfers(&self) -> bool {
        self.0.iter().any(|(_, command)| matches!(command, Command::Move(_) | Command::Xmov { .. }))
    }
}

/// A number, decimal or hexadecimal behind `0x`.
fn number(word: &str) -> Result<u32, String> {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| format!("{word:?} is no number of 32 bits"))
}

/// Bytes in hexadecimal, two digits each.
fn bytes(words: &[&str]) -> Result<Vec<u8>, String> {
    let byte = |word: &&str| {
        let is_byte = word.len() == 2;
        is_byte.then(|| u8::from_str_radix(word, 16).ok()).flatten().ok_or(format!("{word:?} is no byte"))
    };
    words.iter().map(byte).collect()
}

/// A memory and bytes in it that exist.
fn place(memory: &str, at: &str, len: usize) -> Result<(Memory, u32), String> {
    let memory = Memory::named(memory)
        .ok_or_else(|| format!("memory {memory:?} is not known; known: scratch, config, iram"))?;
    let at = number(at)?;
    let end = u64::from(at) + len as u64;
    if len == 0 || end > u64::from(memory.len()) {
        return Err(format!(
            "{len} bytes at {at:#x} do not lie in {}, which has {:#x}",
            memory.name(),
            memory.len()
        ));
    }
    Ok((memory, at))
}

fn count(word: &str) -> Result<u32, String> {
    let len = number(word)?;
    if len > BYTES_MAX { Err(format!("{len} bytes are more than {BYTES_MAX}")) } else { Ok(len) }
}

fn core(word: Option<&&str>) -> Result<Core, String> {
    let Some(word) = word else { return Ok(Core::B) };
    let known = || Core::ALL.iter().map(|core| core.name()).collect::<Vec<_>>().join(", ");
    let found = Core::ALL.iter().copied().find(|core| core.name() == *word);
    found.ok_or_else(|| format!("core {word:?} is not known; known: {}", known()))
}

/// A register of a core's window, by its name or its offset there, or one of the model, by its name.
fn register(word: &str, core: Core) -> Result<EngineOffset, String> {
    let named = |block: &Block| {
        let row = block.registers.iter().find(|row| row.name.eq_ignore_ascii_case(word))?;
        Some(row.offset)
    };
    let offset = match (named(&MOVER), named(&MODEL)) {
        (Some(offset), _) => offset,
        (None, Some(offset)) => return Ok(EngineOffset(MODEL.base.0 + offset)),
        (None, None) => number(word).map_err(|_| {
            let known: Vec<_> = MOVER.registers.iter().chain(MODEL.registers).map(|row| row.name).collect();
            format!("register {word:?} is not known; known: {}", known.join(", "))
        })?,
    };
    MOVER.find(offset).ok_or_else(|| format!("there is no register at {offset:#x}"))?;
    Ok(EngineOffset(core.window().0 + offset))
}

fn direction(word: &str) -> Result<u32, String> {
    let name = |direction: Direction| direction.name().replace(' ', "-");
    if let Some(direction) = Direction::ALL.iter().copied().find(|&direction| name(direction) == word) {
        return Ok(direction as u32);
    }
    let known = || Direction::ALL.iter().copied().map(name).collect::<Vec<_>>().join(", ");
    number(word).map_err(|_| format!("direction {word:?} is not known; known: {}", known()))
}

fn thread(word: &str) -> Result<u32, String> {
    let thread = number(word)?;
    if thread < THREADS.into() { Ok(thread) } else { Err(format!("there is no thread {thread}")) }
}

fn mask(word: &str) -> Result<u16, String> {
    u16::try_from(number(word)?).map_err(|_| format!("mask {word} has more than 16 bits"))
}

/// The command of a line without its comment.
fn command(words: &[&str]) -> Result<Command, String> {
    match *words {
        ["config", at, "=", ref values @ ..] => {
            let values = values.iter().map(|word| number(word)).collect::<Result<Vec<_>, _>>()?;
            let bytes: Vec<u8> = values.into_iter().flat_map(u32::to_le_bytes).collect();
            let at = number(at)?.checked_mul(4).ok_or("configuration space has fewer words")?;
            let (memory, at) = place("config", &at.to_string(), bytes.len())?;
            Ok(Command::Store { memory, at, bytes })
        }
        ["scratch" | "iram", at, "=", ref values @ ..] => {
            let bytes = bytes(values)?;
            let (memory, at) = place(words[0], at, bytes.len())?;
            Ok(Command::Store { memory, at, bytes })
        }
        ["fill", memory, at, len, value] => {
            let len = count(len)? as usize;
            let value = u8::try_from(number(value)?).map_err(|_| format!("{value} is no byte"))?;
            let (memory, at) = place(memory, at, len)?;
            Ok(Command::Store { memory, at, bytes: vec![value; len] })
        }
        ["write", name, value, ref window @ ..] if window.len() <= 1 => {
            Ok(Command::Write { at: register(name, core(window.first())?)?, value: number(value)? })
        }
        ["read", name, ref window @ ..] if window.len() <= 1 => {
            Ok(Command::Read { name: name.to_owned(), at: register(name, core(window.first())?)? })
        }
        ["move", source, destination, size, way] => {
            let units = number(size)?;
            // The register would move what is left of a larger number.
            if units > SIZE_MASK {
                return Err(format!("{units} units are more than a transfer moves, {SIZE_MASK}"));
            }
            Ok(Command::Move([number(source)?, number(destination)?, units, direction(way)?]))
        }
        ["xmov", of] => {
            Ok(Command::Xmov { thread: thread(of)?, word: Instruction::encode(false, false).into_bits() })
        }
        ["xmov", of, word] => Ok(Command::Xmov { thread: thread(of)?, word: number(word)? }),
        ["stallwait", of, block, condition] => {
            Ok(Command::StallWait { thread: thread(of)?, block: mask(block)?, condition: mask(condition)? })
        }
        ["wait"] => Ok(Command::Wait),
        ["show", memory, at, len] => {
            let len = count(len)?;
            let (memory, at) = place(memory, at, len as usize)?;
            Ok(Command::Show { memory, at, len })
        }
        ["expect", memory, at, "=", ref values @ ..] => {
            let bytes = bytes(values)?;
            let (memory, at) = place(memory, at, bytes.len())?;
            Ok(Command::Expect { memory, at, bytes })
        }
        _ => Err(format!(
            "{:?} is not understood; a line begins with scratch, config, iram, fill, move, write, read, xmov, stallwait, \
             wait, show or expect",
            words.join(" ")
        )),
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::mover::Script;
    ///
    /// let script = Script::read("move 0x100 0x200 2 scratch-to-scratch\nwait").unwrap();
    /// assert_eq!(script.0.len(), 2);
    /// assert_eq!(Script::read("wait\nfly").unwrap_err().line, 2);
    /// ```
    pub fn read(text: &str) -> Result<Self, BadLine> {
        let mut commands = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let words: Vec<_> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
            if !words.is_empty() {
                commands.push((line, command(&words).map_err(|what| BadLine { line, what })?));
            }
        }
        Ok(Self(commands))
    }
}

const _: () = assert!(mover::transfer::WINDOW_BYTES <= BYTES_MAX);
