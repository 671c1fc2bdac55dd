//! The report as text.

use std::fmt::{self, Write};

use super::{Heat, Level, Occupancy, TaskOccupancy};
use crate::count::count;

/// Blocks that show how warm a bank is, from nothing to the warmest.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The 64 banks as one line: each block is as high as its bank is warm, beside the warmest.
pub fn bar(heat: &Heat) -> String {
    let warmest = heat.iter().copied().max().unwrap_or(0).max(1);
    let block = |&granules: &u64| {
        let height = u128::from(granules) * 8 / u128::from(warmest);
        // Anything that is there at all shows.
        BLOCKS[if granules > 0 { (height as usize).clamp(1, 8) } else { 0 }]
    };
    heat.iter().map(block).collect()
}

pub fn levels(to: &mut impl Write, levels: &[Level]) -> fmt::Result {
    for Level { name, value, unit, field, grade, role } in levels {
        let field = field.as_deref().unwrap_or("-");
        let value = if *unit == "bytes" { format!("{value:#x}") } else { value.to_string() };
        writeln!(to, "  {name:<20} {value:>10} {unit:<6} field {field:<6} {grade:<10} {role}")?;
    }
    Ok(())
}

pub fn task(to: &mut impl Write, task: &TaskOccupancy) -> fmt::Result {
    let TaskOccupancy { index, class, output_buffer, passes, groups, conflicts, stalls, .. } = task;
    writeln!(to)?;
    writeln!(
        to,
        "task {index} ({class}): {}, {}, {}, {output_buffer} output buffer",
        count(*passes, "pass"),
        count(*groups, "access"),
        count(*conflicts, "conflict")
    )?;
    for operand in &task.operands {
        writeln!(
            to,
            "  {:<12} {:>10} bytes  {}: {}",
            operand.name, operand.bytes, operand.place, operand.why
        )?;
        if let Some(heat) = &operand.heat {
            writeln!(to, "               banks |{}|", bar(heat))?;
        }
    }
    let TaskOccupancy { fill, read, array, write, cycles, .. } = task;
    writeln!(
        to,
        "  cycles: {cycles} (coefficients {fill}, in {read}, array {array} with {stalls} waiting for banks, out {write})"
    )
}

/// The lines before the tasks.
pub fn head(to: &mut impl Write, report: &Occupancy) -> fmt::Result {
    writeln!(to, "{} ({}): DRAM, pool, 64 banks, array", report.chip.unwrap_or("target"), report.generation)?;
    levels(to, &report.levels)
}

/// The lines behind them.
pub fn foot(to: &mut impl Write, report: &Occupancy) -> fmt::Result {
    writeln!(to)?;
    writeln!(
        to,
        "all tasks: {} cycles, {} us from call to return",
        report.cycles,
        report.nanoseconds / 1000
    )?;
    writeln!(to, "banks 0 to 63 |{}|", bar(&report.heat))
}

pub fn write(to: &mut impl Write, report: &Occupancy) -> fmt::Result {
    head(to, report)?;
    if report.tasks.is_empty() {
        return Ok(());
    }
    for one in &report.tasks {
        task(to, one)?;
    }
    foot(to, report)
}
