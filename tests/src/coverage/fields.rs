//! Every field of every register of a task, value by value.
//!
//! The tasks of real programs are the background: one field of one task is changed, and the task is decoded and planned
//! as the device does before it moves the first byte. A value that runs in one task of a kind is said to run in that
//! kind: whether it fits the other registers of a task is another question, and the answer names the register then.

use std::collections::{BTreeMap, BTreeSet};

use ane::build::script;
use ane::container::{self, Program};
use ane_device::engine::plan::{Plan, plan};
use ane_device::refusal::Category;
use ane_device::td::decode::decode;
use ane_device::td::error::DescriptorError;
use ane_device::td::fetch::Descriptor;
use ane_device::td::register_file::RegisterFile;
use ane_uapi::hw::td;
use ane_uapi::hw::td::common::{self, TaskClass};
use ane_uapi::hw::td::header::HEADER;
use ane_uapi::hw::td::neural::{self, OpMode};
use ane_uapi::register::{Field, Grade, Register};

use super::built;
use crate::data;
use crate::oracles::{self, constants};
use crate::random::Random;

/// Fields of more bits are tried with some values only.
const NARROW: u8 = 6;

/// Tasks of one kind that stand behind a row.
const TASKS_MAX: usize = 64;

/// The kind of a task, as far as it decides which fields the task uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskKind {
    /// The array, with coefficients.
    Coefficients,
    Array,
    /// The planar engine, element by element.
    Planar,
    /// The planar engine, a reduction.
    Reduction,
}

impl TaskKind {
    pub const ALL: [Self; 4] = [Self::Coefficients, Self::Array, Self::Planar, Self::Reduction];

    /// A word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Coefficients => "array with coefficients",
            Self::Array => "array without",
            Self::Planar => "planar",
            Self::Reduction => "reduction",
        }
    }
}

/// The effect of a value on the device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldEffect {
    Runs,
    /// It is executed, and `--strict` refuses it: what is not established.
    Inferred(String),
    /// Silicon hangs on it.
    Hangs(String),
    Refused(String),
}

/// One field in tasks of some kinds, in all of which it does the same.
#[derive(Clone, Debug)]
pub struct FieldRow {
    pub register: &'static Register,
    pub field: &'static Field,
    /// True of words of the header.
    pub is_header: bool,
    pub kinds: Vec<TaskKind>,
    /// The end of the task for each value.
    pub ends: BTreeMap<u32, FieldEffect>,
    /// Values in tasks of compiled programs.
    pub met: BTreeSet<u32>,
    /// True if tasks of these kinds become others by the value: they look at the field.
    pub matters: bool,
}

impl FieldRow {
    /// How well the meaning is established.
    pub fn grade(&self) -> Grade {
        self.field.grade.unwrap_or(self.register.grade)
    }

    /// True if each value was tried.
    pub const fn is_narrow(&self) -> bool {
        self.field.bits <= NARROW
    }
}

/// A task as a background.
struct Background {
    kind: TaskKind,
    words: Vec<u32>,
    before: RegisterFile,
    plan: Plan,
    registers: RegisterFile,
    is_compiled: bool,
}

/// All rows; `None` where the compiled programs are not to be had.
pub(super) fn rows() -> Option<Vec<FieldRow>> {
    let tasks = tasks()?;
    let mut rows = Vec::new();
    for register in HEADER.registers {
        let at = register.offset as usize / 4;
        // A header of another length makes another task of the words behind it.
        for field in register.fields.iter().filter(|field| field.name != "tde") {
            rows.extend(field_rows(&tasks, register, field, true, &|task, value| {
                let mut words = task.words.clone();
                let word = words.get_mut(at)?;
                *word = field.put(*word, value);
                Some(words)
            }));
        }
    }
    for register in td::BLOCKS.iter().flat_map(|block| block.registers) {
        for field in register.fields {
            rows.extend(field_rows(&tasks, register, field, false, &|task, value| {
                let mut words = task.words.clone();
                words.extend([register.offset, field.put(task.registers.written(register.offset)?, value)]);
                Some(words)
            }));
        }
    }
    Some(rows)
}

/// A row for each set of kinds that agree.
fn field_rows(
    tasks: &[Background],
    register: &'static Register,
    field: &'static Field,
    is_header: bool,
    change: &dyn Fn(&Background, u32) -> Option<Vec<u32>>,
) -> Vec<FieldRow> {
    let mut rows: Vec<FieldRow> = Vec::new();
    for kind in TaskKind::ALL {
        let of_kind: Vec<&Background> = tasks.iter().filter(|task| task.kind == kind).collect();
        let held = |task: &Background| {
            let at = register.offset as usize / 4;
            let word =
                if is_header { task.words.get(at).copied() } else { task.registers.written(register.offset) };
            word.map(|word| field.of(word))
        };
        let met: BTreeSet<u32> =
            of_kind.iter().filter(|task| task.is_compiled).filter_map(|task| held(task)).collect();
        let all: BTreeSet<u32> = of_kind.iter().filter_map(|task| held(task)).collect();
        let values = values(field, &all);
        // A task that does not look at the field says nothing about its values.
        let looks = |task: &&&Background| values.iter().any(|&value| is_other(task, value, change));
        let looking: Vec<&Background> = of_kind.iter().filter(looks).copied().collect();
        let matters = !looking.is_empty();
        let asked = if matters { looking } else { of_kind };
        let ends: BTreeMap<u32, FieldEffect> =
            values.iter().filter_map(|&value| Some((value, best(&asked, value, change)?))).collect();
        if let Some(row) = rows.iter_mut().find(|row| row.ends == ends) {
            row.kinds.push(kind);
            row.met.extend(met);
            row.matters |= matters;
        } else if !ends.is_empty() {
            rows.push(FieldRow { register, field, is_header, kinds: vec![kind], ends, met, matters });
        }
    }
    rows
}

/// Values to try: all, or those at the ends, powers of two, and what programs hold.
fn values(field: &Field, held: &BTreeSet<u32>) -> BTreeSet<u32> {
    let most = u32::MAX >> (32 - u32::from(field.bits));
    if field.bits <= NARROW {
        return (0..=most).collect();
    }
    let powers = (0..field.bits).map(|bit| 1 << bit);
    (0..=8).chain(powers).chain([most, most - 1]).chain(held.iter().copied()).collect()
}

/// The best that becomes of a value in any of the tasks.
fn best(
    tasks: &[&Background],
    value: u32,
    change: &dyn Fn(&Background, u32) -> Option<Vec<u32>>,
) -> Option<FieldEffect> {
    let mut best: Option<FieldEffect> = None;
    for task in tasks {
        let end = end(task, &change(task, value)?);
        let is_better = match (&best, &end) {
            (None, _) => true,
            (Some(FieldEffect::Refused(_)), FieldEffect::Hangs(_)) => false,
            (Some(known), end) => rank(end) < rank(known),
        };
        if is_better {
            best = Some(end);
        }
        if best == Some(FieldEffect::Runs) {
            break;
        }
    }
    best
}

const fn rank(end: &FieldEffect) -> u8 {
    match end {
        FieldEffect::Runs => 0,
        FieldEffect::Inferred(_) => 1,
        FieldEffect::Hangs(_) | FieldEffect::Refused(_) => 2,
    }
}

/// True if the value makes another pass of the task, or none.
fn is_other(task: &Background, value: u32, change: &dyn Fn(&Background, u32) -> Option<Vec<u32>>) -> bool {
    let Some(words) = change(task, value) else { return false };
    let decoded = decode(&Descriptor::of(words), &task.before);
    decoded.ok().and_then(|(header, registers)| plan(&header, &registers).ok()) != Some(task.plan)
}

/// The end of a changed task.
fn end(task: &Background, words: &[u32]) -> FieldEffect {
    let descriptor = Descriptor::of(words.iter().copied());
    let (header, registers) = match decode(&descriptor, &task.before) {
        Ok(decoded) => decoded,
        Err(error) => return FieldEffect::Refused(why(&error)),
    };
    match plan(&header, &registers) {
        Ok(plan) => {
            let more = plan.inferred.without(task.plan.inferred);
            if more.is_none() { FieldEffect::Runs } else { FieldEffect::Inferred(more.to_string()) }
        }
        Err(verdict) => {
            let place = format!("{}: {}", verdict.register(), verdict.why);
            match verdict.category {
                Category::WouldHang => FieldEffect::Hangs(place),
                category => FieldEffect::Refused(format!("{place} ({category})")),
            }
        }
    }
}

fn why(error: &DescriptorError) -> String {
    match error {
        DescriptorError::Unexplained { .. } => "no source explains these bits".to_owned(),
        DescriptorError::NoRegister { .. } => "no source knows a register here".to_owned(),
        DescriptorError::UnknownCode { .. } => "no source knows the code".to_owned(),
        DescriptorError::Header { .. } => error.to_string(),
    }
}

/// Tasks to change: some of each kind, no two with the same configuration.
fn tasks() -> Option<Vec<Background>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for sample in data::programs()? {
        let program = container::open(&sample.bytes).expect("a known program");
        collect(&program, true, &mut found, &mut seen);
    }
    for oracle in oracles::all()? {
        let made = constants::make(&oracle, &mut Random::new(1));
        let stream = oracle.stream();
        collect(&oracle.program(&stream, &made), true, &mut found, &mut seen);
    }
    for (_, text, _) in built::PROGRAMS {
        let text = format!("{text}\noutput y\n");
        let built = script::build(&text, |_, _| Err("no arrays".to_owned())).expect("it can be built");
        collect(&built.program(), false, &mut found, &mut seen);
    }
    let mut counts = BTreeMap::new();
    found.retain(|task| {
        let count = counts.entry(task.kind).or_insert(0);
        *count += 1;
        *count <= TASKS_MAX
    });
    Some(found)
}

fn collect(
    program: &Program<'_>,
    is_compiled: bool,
    into: &mut Vec<Background>,
    seen: &mut BTreeSet<Vec<u32>>,
) {
    let mut before = RegisterFile::default();
    for task in program.tasks().expect("a chain") {
        let words: Vec<u32> = task.expect("a task").words.iter().map(|word| word.get()).collect();
        let (header, registers) =
            decode(&Descriptor::of(words.iter().copied()), &before).expect("it decodes");
        let plan = plan(&header, &registers);
        if let Ok(plan) = plan
            && let Some(kind) = kind(&registers)
            && seen.insert(signature(&registers))
        {
            into.push(Background {
                kind,
                words,
                before: before.clone(),
                plan,
                registers: registers.clone(),
                is_compiled,
            });
        }
        before = registers;
    }
}

fn kind(registers: &RegisterFile) -> Option<TaskKind> {
    let mac = registers.get(&neural::MAC_CFG);
    Some(match TaskClass::try_from(registers.get(&common::CFG).class()).ok()? {
        TaskClass::Neural if !mac.unity_kernel() && mac.op_mode() == OpMode::MultiplyAccumulate as u8 => {
            TaskKind::Coefficients
        }
        TaskClass::Neural => TaskKind::Array,
        TaskClass::PlanarReduce | TaskClass::PlanarBinaryReduce => TaskKind::Reduction,
        _ => TaskKind::Planar,
    })
}

/// The registers by which tasks that use different fields differ.
fn signature(registers: &RegisterFile) -> Vec<u32> {
    use ane_uapi::hw::td::{l2, tile_source};
    let word = |at: u32| registers.written(at).unwrap_or_default();
    let conv = registers.get(&common::CONV_CFG);
    vec![
        word(common::CFG.info.offset) & 0x1000_00ff,
        word(neural::MAC_CFG.info.offset),
        word(neural::KERNEL_CFG.info.offset),
        word(common::CH_CFG.info.offset),
        u32::from(conv.sx()) | u32::from(conv.px()) << 8,
        word(l2::SOURCE_CFG.info.offset) & 3,
        word(l2::RESULT_CFG.info.offset) & 3,
        u32::from(registers.get(&common::GROUP_CONV_CFG).num_groups() > 1),
        word(tile_source::FMT1.info.offset),
        word(common::PLANAR_MAP.info.offset),
    ]
}
