//! Coefficients without their zeros (delta 5.4).
//!
//! The body of a slot walks over positions: input channel, phase of the stride, tap of the part of the kernel that the
//! phase sees, lane. Every eight positions have a byte that says which of them are there, and then these. A tap that the
//! kernel does not have, and a lane that the plane does not have, are positions too, and never there.

use super::coefficients::CoefficientLayout;
use super::memory::Memory;
use super::task::EngineTask;
use super::{Stop, stop_if};

/// One slot, taken apart.
pub(super) struct Body {
    /// For each lane, one coefficient for each tap.
    pub(super) rows: Vec<Vec<u16>>,
    /// Bytes of its count and of what the count covers.
    pub(super) bytes: u64,
}

/// Lanes that positions are counted for: of a single lane, two or four (delta 5.4). Others below four are not known.
fn counted_lanes(task: &EngineTask<'_>, lanes: u32) -> Option<u32> {
    match lanes {
        1 => Some(if task.bit(0x34, 2) { 4 } else { 2 }),
        4.. => Some(lanes),
        _ => None,
    }
}

pub(super) fn check(task: &EngineTask<'_>, layout: CoefficientLayout) -> Result<(), Stop> {
    stop_if(layout.bytes != 2, || Stop::refused(0xC800, "sparse coefficients of 8 bits"))?;
    stop_if(task.field(0x1C, 29, 28) != 1, || Stop::refused(0x1C, "sparse coefficients of two columns"))?;
    // Reading: an engine that fetches has coefficients; if full planes leave none for it, they are narrower, of which
    // nobody knows for how many lanes positions are counted.
    let is_other = layout.outputs.div_ceil(layout.engines) < layout.lanes;
    let is_narrow = (layout.planes()..layout.engines.min(16)).any(|engine| task.bit(0x1F808 + 4 * engine, 0));
    stop_if(is_other && is_narrow, || Stop::refused(0xC800, "sparse coefficients of narrower planes"))?;
    stop_if(counted_lanes(task, layout.lanes).is_none(), || {
        Stop::refused(0xC800, format!("sparse coefficients of {} lanes", layout.lanes))
    })
}

/// The taps of one input channel in the order of the body; none where the kernel ends before.
fn taps(task: &EngineTask<'_>) -> Vec<Option<u32>> {
    let field = |high, low| task.field(0x1C, high, low);
    let ([rows, columns], [down, right]) = ([field(9, 5), field(4, 0)], [field(16, 15), field(14, 13)]);
    let mut taps = Vec::new();
    for (phase_y, phase_x) in (0..down).flat_map(|y| (0..right).map(move |x| (y, x))) {
        for y in (0..rows.div_ceil(down)).map(|y| y * down + phase_y) {
            for x in (0..columns.div_ceil(right)).map(|x| x * right + phase_x) {
                taps.push((y < rows && x < columns).then_some(y * columns + x));
            }
        }
    }
    taps
}

fn is_zero(memory: &Memory, start: u64, bytes: u64) -> Result<bool, Stop> {
    for at in start..start + bytes {
        if memory.byte(at)? != 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads a slot behind its bias row, at an address from which on there is so much room.
pub(super) fn read(
    memory: &Memory,
    task: &EngineTask<'_>,
    layout: CoefficientLayout,
    (start, room): (u64, u64),
) -> Result<Body, Stop> {
    let short = || Stop::refused(0xC800, "sparse coefficients end before their positions do");
    stop_if(room < 3, short)?;
    // Two bytes and one that is zero: read as a number of 24 bits.
    let count = u64::from(memory.half(start)?) | u64::from(memory.byte(start + 2)?) << 16;
    let (mut at, end) = (start + 3, start + 3 + count);
    stop_if(3 + count > room, short)?;
    let mut rows = vec![vec![0; layout.taps as usize]; layout.lanes as usize];
    // Reading: a chunk that holds nothing but zeros has no coefficients.
    if is_zero(memory, start, room)? {
        return Ok(Body { rows, bytes: 3 });
    }
    let counted = counted_lanes(task, layout.lanes).expect("lanes were checked");
    let each = taps(task);
    let kernel = task.field(0x1C, 9, 5) * task.field(0x1C, 4, 0);
    let channels = layout.taps / kernel;
    let places = (0..channels).flat_map(|channel| {
        let tap = move |tap: Option<u32>| tap.map(|tap| channel * kernel + tap);
        each.iter().flat_map(move |&t| (0..counted).map(move |lane| (tap(t), lane)))
    });
    let places: Vec<(Option<u32>, u32)> = places.collect();
    for eight in places.chunks(8) {
        stop_if(at >= end, short)?;
        let mask = memory.byte(at)?;
        at += 1;
        for bit in (0..8).filter(|bit| mask >> bit & 1 == 1) {
            let Some(&(Some(tap), lane)) = eight.get(bit).filter(|(_, lane)| *lane < layout.lanes) else {
                return Err(Stop::refused(0xC800, "sparse coefficient that the kernel has no place for"));
            };
            stop_if(at + 2 > end, short)?;
            rows[lane as usize][tap as usize] = memory.half(at)?;
            at += 2;
        }
    }
    Ok(Body { rows, bytes: 3 + count })
}
