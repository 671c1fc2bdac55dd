//! The report as a picture: one column for each bank, one row for each operand that is in the pool.

use std::fmt::{self, Write};

use super::{Heat, Occupancy};

/// Pixels of a cell.
const CELL: u32 = 11;
/// Pixels of the labels.
const LABEL: u32 = 190;
/// Most rows that are drawn; the last one is the sum of all.
pub const ROWS_MAX: usize = 256;

/// A colour from pale to dark.
fn colour(granules: u64, warmest: u64) -> String {
    if granules == 0 {
        return "#f4f4f4".to_owned();
    }
    let part = granules as f64 / warmest.max(1) as f64;
    let mix = |pale: f64, dark: f64| (pale + (dark - pale) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(254.0, 153.0), mix(224.0, 0.0), mix(182.0, 13.0))
}

fn row(to: &mut impl Write, index: usize, label: &str, heat: &Heat) -> fmt::Result {
    let y = 34 + index as u32 * (CELL + 2);
    let warmest = heat.iter().copied().max().unwrap_or(0);
    writeln!(to, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>", LABEL - 6, y + CELL - 2)?;
    for (bank, &granules) in (0_u32..).zip(heat) {
        let (x, fill) = (LABEL + bank * CELL, colour(granules, warmest));
        writeln!(
            to,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{CELL}\" fill=\"{fill}\"><title>bank {bank}: {granules} \
             granules</title></rect>",
            CELL - 1
        )?;
    }
    Ok(())
}

pub fn write(to: &mut impl Write, report: &Occupancy) -> fmt::Result {
    let operands = report.tasks.iter().flat_map(|task| {
        let named = move |operand: &super::Operand| {
            operand.heat.map(|heat| (format!("task {} {}", task.index, operand.name), heat))
        };
        task.operands.iter().filter_map(named)
    });
    let mut rows: Vec<(String, Heat)> = operands.take(ROWS_MAX).collect();
    rows.push(("all".to_owned(), report.heat));
    let (width, height) = (LABEL + 64 * CELL + 10, 44 + rows.len() as u32 * (CELL + 2));
    writeln!(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"10\">"
    )?;
    writeln!(to, "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>")?;
    writeln!(
        to,
        "<text x=\"{LABEL}\" y=\"14\" font-size=\"12\">Granules of 16 bytes by bank, {}</text>",
        report.chip.unwrap_or(report.generation)
    )?;
    for bank in (0..64).step_by(8) {
        writeln!(to, "<text x=\"{}\" y=\"28\">{bank}</text>", LABEL + bank * CELL)?;
    }
    for (index, (label, heat)) in rows.iter().enumerate() {
        row(to, index, label, heat)?;
    }
    writeln!(to, "</svg>")
}
