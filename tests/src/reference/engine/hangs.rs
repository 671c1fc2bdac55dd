//! The values that silicon was seen to hang on (td 10), by register.

use super::task::{Class, EngineTask};
use super::{Stop, stop_if};

/// Looks for a reason to hang. Reading: a task that would hang and would be refused as well hangs.
pub(super) fn check(task: &EngineTask<'_>) -> Result<(), Stop> {
    for (register, name) in [(0x04, "InDepth"), (0x18, "OutDepth"), (0x1C, "ConvCfg"), (0x24, "GroupConvCfg")]
    {
        stop_if(task.word(register) == 0, || Stop::hangs(register, format!("{name} is 0")))?;
    }
    stop_if(task.tile_height() == 0, || Stop::hangs(0x28, "tile height is 0"))?;
    let Some(class) = task.class() else { return Ok(()) };
    if class == Class::Neural {
        neural(task)?;
    }
    source(task, class)?;
    result(task)
}

fn neural(task: &EngineTask<'_>) -> Result<(), Stop> {
    stop_if(task.word(0x2C) != 0, || Stop::hangs(0x2C, "patch on a neural task"))?;
    let wanted = u64::from(task.output().c) * u64::from(task.field(0x24, 31, 16));
    let unicast = task.bit(0x24, 14);
    stop_if(unicast && wanted > u64::from(task.input().c), || {
        Stop::hangs(0x10, format!("unicast outputs need {wanted} input channels"))
    })?;
    let fetches = task.uses_coefficients() || task.uses_table();
    stop_if(fetches && !task.bit(0x1F808, 0), || {
        Stop::hangs(0x1F808, "coefficients or a table are needed, and channel 0 is idle")
    })
}

fn source(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    if task.source_in_memory() {
        stop_if(!task.bit(0x13800, 0), || Stop::hangs(0x13800, "source comes from memory, DMA is disabled"))?;
        stop_if(task.word(0x13838) == 0, || {
            Stop::hangs(0x13838, "source comes from memory, its format is 0")
        })?;
        // Reading: the row is the operand's own, one element where it is broadcast along the row.
        let elements = task.source1(class).w.min(task.tile_width(class));
        let tile = (task.source_width().bytes() as u32 * elements).next_multiple_of(16);
        let stride = task.word(0x480C) & !0xF;
        stop_if(stride < tile, || {
            Stop::hangs(0x480C, format!("channel stride {stride:#x} is shorter than a row tile of {tile:#x}"))
        })?;
    }
    stop_if(class.has_source2() && task.source2_in_memory() && task.word(0x1383C) == 0, || {
        Stop::hangs(0x1383C, "source 2 comes from memory, its format is 0")
    })
}

fn result(task: &EngineTask<'_>) -> Result<(), Stop> {
    if task.result_type() == 0 {
        return stop_if(task.bit(0x17800, 0), || {
            Stop::hangs(0x4830, "result stays on chip, its DMA is enabled")
        });
    }
    stop_if(task.result_in_memory() && task.word(0x17818) == 0, || {
        Stop::hangs(0x17818, "result goes to memory, its format is 0")
    })
}
