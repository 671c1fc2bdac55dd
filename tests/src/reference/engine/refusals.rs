//! What nobody knows the meaning of, for every task and for each engine (execution).

use super::super::register_fields;
use super::machine::HEADER;
use super::task::{Class, Task};
use super::{Stop, stop_if};

/// Bits of a word that the text names as having no effect although they are no field.
const INERT: &[(u32, u32)] = &[(0x4800, 1 << 8)];
/// Control words in which a bit without a name is refused. Reading: strides and bases ignore the low bits that no
/// field covers, and the DMA configuration words are inert but for their enable (td 10), so they are not here.
const CONTROL: &[u32] = &[
    0x00, 0x08, 0x0C, 0x10, 0x14, 0x1C, 0x24, 0x28, 0x34, 0x4800, 0x4804, 0x4830, 0x13838, 0x1383C, 0x17818,
];

/// Refuses what any task may not have.
pub(super) fn common(task: &Task<'_>) -> Result<Class, Stop> {
    for (bit, name) in [(9, "TDSkip"), (31, "TQDis")] {
        let set = task.header[6] >> bit & 1 == 1;
        stop_if(set, || Stop::refused(HEADER + 24, format!("{name} is set")))?;
    }
    let class =
        task.class().ok_or_else(|| Stop::refused(0x34, format!("task class {}", task.field(0x34, 6, 4))))?;
    for register in [0x04, 0x18] {
        stop_if(task.word(register) != 1, || Stop::refused(register, "depth is not 1"))?;
    }
    for &register in CONTROL {
        named_bits_only(task, register)?;
    }
    for (register, extents) in [(0x00, task.input()), (0x14, task.output())] {
        stop_if(extents.w == 0 || extents.h == 0, || Stop::refused(register, "extent of 0"))?;
    }
    stop_if(task.input().c == 0, || Stop::refused(0x0C, "no input channels"))?;
    stop_if(task.output().c == 0, || Stop::refused(0x10, "no output channels"))?;
    formats(task, class)?;
    unexplained(task)?;
    // Reading: the two bits that put source 2 in memory say the same, and nothing where there is none.
    let bits = (task.bit(0x34, 1), task.bit(0x4804, 24));
    stop_if(bits.0 != bits.1 || (bits.0 && !class.has_source2()), || {
        Stop::refused(0x34, "the bits of source 2 contradict each other or the class")
    })?;
    stop_if(task.bit(0x24, 15), || Stop::refused(0x24, "ElemMultMode"))?;
    stop_if(task.field(0x24, 12, 0) == 0, || Stop::refused(0x24, "no groups"))?;
    transfers(task, class)?;
    Ok(class)
}

/// Refuses a set bit that no field covers.
pub(super) fn named_bits_only(task: &Task<'_>, register: u32) -> Result<(), Stop> {
    let fields = register_fields::fields();
    let named = fields
        .iter()
        .filter(|field| field.address == register)
        .fold(0, |mask, field| mask | (u32::MAX >> (31 - (field.high - field.low)) << field.low));
    let inert = INERT.iter().filter(|inert| inert.0 == register).fold(0, |mask, inert| mask | inert.1);
    let unnamed = task.word(register) & !(named | inert);
    stop_if(unnamed != 0, || Stop::refused(register, format!("bits {unnamed:#x} have no name")))
}

/// Formats are fp16; that of source 2 is 0 where there is none. Reading: must be 0, not merely ignored.
fn formats(task: &Task<'_>, class: Class) -> Result<(), Stop> {
    let second = if class.has_source2() { 2 } else { 0 };
    stop_if(task.word(0x08) != 2 | second << 2 | 2 << 4, || {
        Stop::refused(0x08, format!("formats {:#x} are not fp16", task.word(0x08)))
    })
}

/// Words and fields that are 0 in every program. Reading: in every task, used operands or not.
fn unexplained(task: &Task<'_>) -> Result<(), Stop> {
    let words = [0x13830, 0x13834, 0x13844, 0x13848, 0x1384C];
    let offsets = [0x13850, 0x13854, 0x13858, 0x1385C, 0x13860, 0x13864, 0x13868, 0x1386C];
    for register in words.into_iter().chain(offsets) {
        stop_if(task.word(register) != 0, || Stop::refused(register, "nobody knows what it does"))?;
    }
    let streams = [0x1F8C8, 0x1F8CC, 0x1F8D0, 0x1F8D4].map(|register| (register, 0x80));
    let seen = [(0x20, 0x2041), (0x13840, 0x100), (0x1F804, 0)];
    for (register, value) in seen.into_iter().chain(streams) {
        stop_if(task.word(register) != 0 && task.word(register) != value, || {
            Stop::refused(register, format!("only 0 and {value:#x} were seen"))
        })?;
    }
    let fields = [(31, 28, "CmpVec"), (18, 16, "OffsetCh"), (8, 8, "Shift")];
    for register in [0x13838, 0x1383C, 0x17818] {
        for (high, low, name) in fields {
            stop_if(task.field(register, high, low) != 0, || Stop::refused(register, name))?;
        }
    }
    for register in [0x4804, 0x4830] {
        for (high, low, name) in [(15, 12, "CmpVec"), (18, 16, "OffsetCh")] {
            stop_if(task.field(register, high, low) != 0, || Stop::refused(register, name))?;
        }
    }
    Ok(())
}

fn transfers(task: &Task<'_>, class: Class) -> Result<(), Stop> {
    stop_if(task.source_type() == 3, || Stop::refused(0x4804, "source type 3"))?;
    stop_if(task.result_type() == 3, || Stop::refused(0x4830, "result type 3"))?;
    if task.source_type() != 0 {
        memory_format(task, 0x13838, &[1])?;
    }
    if class.has_source2() && task.source2_in_memory() {
        memory_format(task, 0x1383C, &[0, 1])?;
    }
    if task.result_type() != 0 {
        memory_format(task, 0x17818, &[1])?;
        stop_if(!task.bit(0x17800, 0), || {
            Stop::refused(0x17800, "result goes to memory, its DMA is disabled")
        })?;
    }
    Ok(())
}

fn memory_format(task: &Task<'_>, register: u32, modes: &[u32]) -> Result<(), Stop> {
    let known = modes.contains(&task.field(register, 1, 0))
        && task.field(register, 5, 4) == 3
        && task.field(register, 13, 12) == 2;
    stop_if(!known, || Stop::refused(register, format!("format {:#x}", task.word(register))))
}
