//! The program as a whole, as text.

use std::fmt::{self, Write};

use crate::count::count;
use crate::decode::ProgramReport;
use crate::decode::program::{BarReport, SurfaceReport};

/// Width of the column that holds a surface's name.
const NAME: usize = 16;

pub(super) fn write(out: &mut impl Write, program: &ProgramReport) -> fmt::Result {
    let constants: usize = program.constants.iter().map(|constants| constants.bytes).sum();
    writeln!(
        out,
        "{} program in {}: {}, {} of descriptors, {} of constants",
        program.generation,
        program.container,
        count(program.task_count, "task"),
        count(program.stream_bytes, "byte"),
        count(constants, "byte")
    )?;
    for line in program.compiler.iter().take(2) {
        writeln!(out, "  {}", line.trim())?;
    }
    if program.compiler.len() > 2 {
        writeln!(
            out,
            "  and {} of compiler options (--json has them)",
            count(program.compiler.len() - 2, "line")
        )?;
    }

    writeln!(out, "\nsurfaces")?;
    for surface in &program.surfaces {
        self::surface(out, surface)?;
    }
    writeln!(out, "\nbase addresses (BARs)")?;
    for bar in &program.bars {
        self::bar(out, bar)?;
    }
    if !program.warnings.is_empty() {
        writeln!(out, "\nodd about this file")?;
        for warning in &program.warnings {
            writeln!(out, "  {warning}")?;
        }
    }
    Ok(())
}

fn surface(out: &mut impl Write, surface: &SurfaceReport) -> fmt::Result {
    let [n, c, h, w] = surface.shape;
    let [_, plane, row, _] = surface.strides;
    writeln!(
        out,
        "  {:6} {:NAME$} BAR {:<2} {} {n}x{c}x{h}x{w} (NCHW), plane {plane:#x}, row {row:#x}, {} bytes in {}",
        surface.direction,
        surface.name,
        surface.bar,
        surface.element,
        surface.total_bytes,
        surface.buffer_bytes
    )
}

fn bar(out: &mut impl Write, bar: &BarReport) -> fmt::Result {
    let link = bar.link.map(|link| format!("linked at {link}, ")).unwrap_or_default();
    writeln!(out, "  {:>2}  {:30} {link}{:#x} bytes", bar.index, bar.role, bar.bytes)
}
