//! The values whose meaning nobody knows, for every task and for each engine (execution).

use super::super::register_fields;
use super::machine::HEADER;
use super::task::{Class, EngineTask, Width};
use super::{Stop, stop_if};

/// Bits of a word that are without effect although they are no field (execution; delta 14).
const INERT: &[(u32, u32)] = &[
    // Bit 8; and what a word of 0x33881 sets beside the input ReLU.
    (0x4800, 1 << 8 | 0x0003_3880),
    (0x34, 1 << 23),
    // Padding of the last and the first row, as a destination has it.
    (0x13838, 3 << 20),
    (0x1383C, 3 << 20),
];
/// Control words in which a bit without a name is refused. Reading: strides and bases ignore the low bits that no
/// field covers, and the DMA configuration words are inert but for their enable (td 10), so they are not here.
const CONTROL: &[u32] = &[0x00, 0x08, 0x0C, 0x10, 0x14, 0x1C, 0x24, 0x28, 0x34, 0x4800, 0x4804, 0x4830];

/// Refuses what any task may not have. Bits of ports that a task does not use refuse nothing (delta 14).
pub(super) fn common(task: &EngineTask<'_>) -> Result<Class, Stop> {
    for (bit, name) in [(9, "TDSkip"), (31, "TQDis")] {
        let set = task.header[6] >> bit & 1 == 1;
        stop_if(set, || Stop::refused(HEADER + 24, format!("{name} is set")))?;
    }
    let class =
        task.class().ok_or_else(|| Stop::refused(0x34, format!("task class {}", task.field(0x34, 6, 4))))?;
    stop_if(task.word(0x04) != task.word(0x18), || Stop::refused(0x18, "depths in and out differ"))?;
    for &register in CONTROL {
        named_bits_only(task, register)?;
    }
    for (register, extents) in [(0x00, task.input()), (0x14, task.output())] {
        stop_if(extents.w == 0 || extents.h == 0, || Stop::refused(register, "extent of 0"))?;
    }
    stop_if(task.input().c == 0, || Stop::refused(0x0C, "no input channels"))?;
    stop_if(task.output().c == 0, || Stop::refused(0x10, "no output channels"))?;
    formats(task, class)?;
    unexplained(task, class)?;
    // Reading: the two bits that put source 2 in memory say the same where there is one.
    stop_if(class.has_source2() && task.bit(0x34, 1) != task.bit(0x4804, 24), || {
        Stop::refused(0x34, "the bits of source 2 contradict each other")
    })?;
    stop_if(task.bit(0x24, 15), || Stop::refused(0x24, "ElemMultMode"))?;
    stop_if(task.field(0x24, 12, 0) == 0, || Stop::refused(0x24, "no groups"))?;
    // Reading: a result that is passed on is one, however often its task is repeated.
    let repeated = task.repetitions().count() > 1;
    for (register, kind) in [(0x4804, task.source_type()), (0x4830, task.result_type())] {
        stop_if(repeated && kind == 3, || Stop::refused(register, "several results passed on"))?;
    }
    stop_if(task.bit(0x4800, 4) && !class.has_source2(), || {
        Stop::refused(0x4800, "ReLU on a source 2 that is not there")
    })?;
    // Reading: only halves were seen to be passed on.
    stop_if(task.source_type() == 3 && task.source_width() != Width::Half, || {
        Stop::refused(0x08, "bytes are passed on")
    })?;
    transfers(task, class)?;
    Ok(class)
}

/// Refuses a set bit that no field covers.
pub(super) fn named_bits_only(task: &EngineTask<'_>, register: u32) -> Result<(), Stop> {
    let fields = register_fields::fields();
    let named = fields
        .iter()
        .filter(|field| field.address == register)
        .fold(0, |mask, field| mask | (u32::MAX >> (31 - (field.high - field.low)) << field.low));
    let inert = INERT.iter().filter(|inert| inert.0 == register).fold(0, |mask, inert| mask | inert.1);
    let unnamed = task.word(register) & !(named | inert);
    stop_if(unnamed != 0, || Stop::refused(register, format!("bits {unnamed:#x} have no name")))
}

/// Formats are fp16 or one byte (td 4.1, delta 4). Reading: that of source 2 has the same codes and means the same, though
/// no program has a source 2 of bytes.
fn formats(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    let known = |low| task.field(0x08, low + 1, low) != 3;
    let second = !class.has_source2() || known(2);
    stop_if(!known(0) || !known(4) || !second, || {
        Stop::refused(0x08, format!("formats {:#x}", task.word(0x08)))
    })
}

/// Words and fields that are 0 in every program, of the ports that a task uses.
fn unexplained(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    stop_if(task.word(0x20) != 0 && task.word(0x20) != 0x2041, || {
        Stop::refused(0x20, "only 0 and 0x2041 were seen")
    })?;
    let second = class.has_source2() && task.source2_in_memory();
    if task.source_in_memory() || second {
        for register in [0x13830, 0x13834, 0x13844, 0x13848, 0x1384C, 0x13860, 0x13864, 0x13868, 0x1386C] {
            stop_if(task.word(register) != 0, || Stop::refused(register, "nobody knows what it does"))?;
        }
        stop_if(task.word(0x13840) != 0 && task.word(0x13840) != 0x100, || {
            Stop::refused(0x13840, "only 0 and 0x100 were seen")
        })?;
        for register in [0x13850, 0x13854, 0x13858, 0x1385C] {
            stop_if(task.word(register) > 1, || Stop::refused(register, "pixel offset"))?;
        }
    }
    if class == Class::Neural && (task.uses_coefficients() || task.uses_table()) {
        let streams = [0x1F8C8, 0x1F8CC, 0x1F8D0, 0x1F8D4].map(|register| (register, 0x80));
        for (register, value) in streams.into_iter().chain([(0x1F804, 0)]) {
            stop_if(task.word(register) != 0 && task.word(register) != value, || {
                Stop::refused(register, format!("only 0 and {value:#x} were seen"))
            })?;
        }
    }
    let formats = [(task.source_in_memory(), 0x13838), (second, 0x1383C), (task.result_in_memory(), 0x17818)];
    for (_, register) in formats.into_iter().filter(|(is_used, _)| *is_used) {
        for (high, low, name) in [(31, 28, "CmpVec"), (18, 16, "OffsetCh"), (8, 8, "Shift")] {
            stop_if(task.field(register, high, low) != 0, || Stop::refused(register, name))?;
        }
        named_bits_only(task, register)?;
    }
    let ports = [(task.source_in_memory() || second, 0x4804), (task.result_in_memory(), 0x4830)];
    for (_, register) in ports.into_iter().filter(|(is_used, _)| *is_used) {
        for (high, low, name) in [(15, 12, "CmpVec"), (18, 16, "OffsetCh")] {
            stop_if(task.field(register, high, low) != 0, || Stop::refused(register, name))?;
        }
    }
    Ok(())
}

fn transfers(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    if task.source_in_memory() {
        memory_format(task, 0x13838, task.source_width(), &[1])?;
    }
    if class.has_source2() && task.source2_in_memory() {
        memory_format(task, 0x1383C, task.source2_width(), &[0, 1])?;
        // Reading: the enable of the first port is that of both (td 4.5).
        stop_if(!task.bit(0x13800, 0), || {
            Stop::refused(0x13800, "source 2 comes from memory, the DMA of sources is disabled")
        })?;
    }
    if task.result_in_memory() {
        memory_format(task, 0x17818, task.result_width(), &[1])?;
        stop_if(!task.bit(0x17800, 0), || {
            Stop::refused(0x17800, "result goes to memory, its DMA is disabled")
        })?;
    }
    // Reading: what is passed on does not go to memory as well.
    stop_if(task.result_type() == 3 && task.bit(0x17800, 0), || {
        Stop::refused(0x17800, "result is passed on, its DMA is enabled")
    })
}

fn memory_format(task: &EngineTask<'_>, register: u32, width: Width, modes: &[u32]) -> Result<(), Stop> {
    let (mode, truncate, memory) =
        (task.field(register, 1, 0), task.field(register, 5, 4), task.field(register, 13, 12));
    let known = match width {
        Width::Half => modes.contains(&mode) && (truncate, memory) == (3, 2),
        Width::Byte | Width::Unsigned => (mode, truncate, memory) == (0, 0, 0),
    };
    stop_if(!known, || Stop::refused(register, format!("format {:#x}", task.word(register))))
}
