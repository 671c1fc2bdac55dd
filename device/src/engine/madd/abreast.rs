//! Passes whose outputs each read a channel of their own, such as depthwise convolutions.
//!
//! As many channels as a vector has lanes are computed together, each in its lane. A share is some rows of the outputs of
//! so many channels: its operands are interleaved, and measured on the way. From that follows how its taps are added, as in
//! [`stages`](super::stages). Where the sums of any channel do not fit single precision, or may come to the limit, the pass is computed as
//! any other.

use std::ops::Range;

use super::definition::Definition;
use super::lines::Lines;
use super::shape::Shape;
use super::stages::{SINGLES, SLACK};
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::{Abreast, Code, Deal, Interleave, Magnitudes, Port, Strip, Window};
use crate::engine::numerics::halves::{self, Operand};
use crate::engine::numerics::product::UNIT;
use crate::engine::numerics::sum::{LIMIT, in_units};

/// Lanes of the longest vector of any tier.
const LANES: usize = 16;
/// Singles of interleaved planes at most: they stay in the second cache.
const NEAR: usize = 1 << 15;
/// Shares that each thread should have at least.
const SHARES: usize = 4;

/// A pass of channels that are abreast.
#[derive(Debug)]
pub(super) struct ChannelPass<'a> {
    code: &'static Code,
    definition: &'a Definition<'a>,
    port: Port,
    /// Channels that are computed together.
    lanes: usize,
    /// Pixels from one row of a plane to the next, what is around the input included.
    pitch: usize,
    /// Output rows of a share.
    rows: usize,
    /// How far behind the first operand of an output that of each tap is, in singles.
    offsets: Vec<usize>,
}

/// Room to work in, of one thread.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// `[pixel][lane]`
    planes: Lines,
    /// `[tap][lane]`, and the same of the magnitudes from which on they count.
    coefficients: Lines,
    least: Lines,
    /// Coefficients as halves.
    halves: Vec<u16>,
    /// Results, `[pixel][lane]`.
    results: Vec<u16>,
    chunks: Vec<usize>,
}

/// Some rows of the outputs of some channels.
#[derive(Debug)]
pub(super) struct ChannelShare<'a> {
    channels: Range<usize>,
    rows: Range<usize>,
    window: Window<'a>,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "sizes are those of a checked shape, and `new` has counted the rest"
)]
impl<'a> ChannelPass<'a> {
    /// The pass, if it is one, and a row of its outputs reads little enough.
    pub(super) fn new(
        code: &'static Code,
        definition: &'a Definition<'a>,
        port: Port,
        threads: usize,
    ) -> Option<Self> {
        let shape = definition.shape;
        let lanes = code.abreast()?;
        if [shape.group_outputs, shape.group_channels] != [1, 1] || port.post_scale != halves::ONE {
            return None;
        }
        let reach = (shape.out_width - 1).checked_mul(shape.stride_x)?.checked_add(shape.kernel_width)?;
        let pitch = reach.max(shape.pad_x.checked_add(shape.width)?);
        let row = pitch.checked_mul(lanes)?;
        let lines = NEAR.checked_div(row)?;
        let most = lines.checked_sub(shape.kernel_height)? / shape.stride_y + 1;
        let blocks = shape.outputs().div_ceil(lanes);
        let shares = if threads == 1 { 1 } else { (threads * SHARES).div_ceil(blocks) };
        let rows = most.min(shape.out_height.div_ceil(shares)).max(1);
        let windows = (0..shape.kernel_height).flat_map(|y| (0..shape.kernel_width).map(move |x| (y, x)));
        let offsets = windows.map(|(y, x)| (y * pitch + x) * lanes).collect();
        Some(Self { code, definition, port, lanes, pitch, rows, offsets })
    }

    pub(super) fn shares<'o>(
        &self,
        output: &'o mut [u16],
    ) -> impl Iterator<Item = ChannelShare<'o>> + Send + use<'o> {
        let Shape { out_height, out_width, .. } = *self.definition.shape;
        let (lanes, rows, outputs) = (self.lanes, self.rows, self.definition.shape.outputs());
        let mut whole = Window::new(output, out_height * out_width);
        (0..outputs).step_by(lanes).flat_map(move |first| {
            let mut windows = whole.take_rows(lanes);
            (0..out_height).step_by(rows).map(move |row| {
                let rows = row..out_height.min(row + rows);
                let window = windows.take_columns(rows.len() * out_width);
                ChannelShare { channels: first..outputs.min(first + lanes), rows, window }
            })
        })
    }

    /// Computes a share, unless its sums may leave single precision or come to the limit.
    pub(super) fn run(&self, share: ChannelShare<'_>, room: &mut Room, pace: &mut Pace<'_>) -> bool {
        let ChannelShare { channels, rows, window } = share;
        let (shape, lanes) = (self.definition.shape, self.lanes);
        let pixels = rows.len() * shape.out_width;
        let lines = (rows.len() - 1) * shape.stride_y + shape.kernel_height;
        if pace.spend((pixels * shape.taps() + lines * self.pitch) * lanes / VECTOR) {
            return true;
        }
        let magnitudes = self.interleave(&channels, (rows.start * shape.stride_y, lines), &mut room.planes);
        self.deal(&channels, room);
        let mut begins = [0; LANES];
        let biases = channels.clone().map(|channel| self.definition.begin(channel));
        for (begin, bias) in begins.iter_mut().zip(biases) {
            match i32::try_from(bias) {
                Ok(bias) => *begin = bias,
                Err(_) => return false,
            }
        }
        let Some(drops) = self.measure(magnitudes, &begins, room) else { return false };
        if room.results.len() < pixels * lanes {
            room.results.resize(pixels * lanes, 0);
        }
        self.code.run_abreast(&mut Abreast {
            planes: room.planes.singles(),
            coefficients: room.coefficients.singles(),
            least: if drops { room.least.singles() } else { &[] },
            offsets: &self.offsets,
            chunks: &room.chunks,
            begins: &begins,
            extents: (rows.len(), shape.out_width),
            steps: (shape.stride_y * self.pitch * lanes, shape.stride_x * lanes),
            bounds: self.port.bounds,
            to: &mut room.results,
        });
        self.code.separate(&room.results[..pixels * lanes], window);
        true
    }

    /// Interleaves so many lines of the channels' planes, from one on.
    fn interleave(
        &self,
        channels: &Range<usize>,
        (line, lines): (usize, usize),
        planes: &mut Lines,
    ) -> Magnitudes {
        let shape = self.definition.shape;
        planes.resize(lines * self.pitch * self.lanes);
        let above = shape.pad_y.saturating_sub(line).min(lines);
        let from = (line + above).saturating_sub(shape.pad_y).min(shape.height);
        let rows = from..shape.height.min(from + lines - above);
        let size = shape.height * shape.width;
        let first = channels.start * size + rows.start * shape.width;
        let end = (channels.end - 1) * size + rows.end * shape.width;
        self.code.interleave(&mut Interleave {
            channels: &self.definition.input[first..end.max(first)],
            distance: size,
            length: rows.len() * shape.width,
            width: shape.width,
            first: if rows.is_empty() { 0 } else { above * self.pitch + shape.pad_x },
            pitch: self.pitch,
            to: planes.singles_mut(),
        })
    }

    /// Puts the coefficients of some channels side by side, as the kernel reads them.
    fn deal(&self, channels: &Range<usize>, room: &mut Room) {
        let (shape, lanes) = (self.definition.shape, self.lanes);
        let taps = shape.taps();
        let Room { halves: all, coefficients, least, .. } = room;
        all.clear();
        all.resize(taps * lanes, 0);
        for (lane, channel) in channels.clone().enumerate() {
            let of_lane = all[lane..].iter_mut().step_by(lanes);
            match self.definition.coefficients {
                Some(from) => {
                    let (plane, place) = (channel / shape.lanes, channel % shape.lanes);
                    let from = from[plane * taps * shape.lanes + place..].iter().step_by(shape.lanes);
                    of_lane.zip(from).for_each(|(to, from)| *to = *from);
                }
                None => of_lane.for_each(|to| *to = halves::ONE),
            }
        }
        coefficients.resize(taps * lanes);
        least.resize(taps * lanes);
        self.code.deal(&mut Deal {
            plane: all,
            lanes,
            strips: &[Strip { lane: 0, length: lanes, to: 0 }],
            pitch: lanes,
            tiles: coefficients.singles_mut(),
        });
        self.code.least(coefficients.singles(), least.singles_mut());
    }

    /// Finds how the taps are added, from the measures of the operands, and whether products may be dropped; none if single precision does
    /// not do.
    fn measure(&self, magnitudes: Magnitudes, begins: &[i32], room: &mut Room) -> Option<bool> {
        let lanes = self.lanes;
        let value = |bits: u16| Operand::new(bits).value();
        let largest = magnitudes.largest.map(value);
        let mut reach: [f64; LANES] = std::array::from_fn(|lane| in_units(i64::from(begins[lane]).abs()));
        let (mut of_chunk, mut length) = ([0.0; LANES], 0);
        room.chunks.clear();
        for coefficients in room.coefficients.singles().chunks_exact(lanes) {
            // Each product is rounded by half a unit at most.
            let mut bound = [0.0; LANES];
            for ((bound, coefficient), largest) in bound.iter_mut().zip(coefficients).zip(largest) {
                *bound = SLACK * coefficient.abs() * largest + UNIT;
            }
            let beyond = |sums: [f32; LANES]| sums.iter().any(|&sum| sum >= SINGLES);
            if beyond(bound) {
                return None;
            }
            let more = std::array::from_fn(|lane| of_chunk[lane] + bound[lane]);
            if beyond(more) {
                room.chunks.push(length);
                (of_chunk, length) = (bound, 0);
            } else {
                of_chunk = more;
            }
            length += 1;
            reach.iter_mut().zip(bound).for_each(|(reach, bound)| *reach += f64::from(bound));
        }
        room.chunks.push(length);
        if reach.iter().any(|reach| reach * f64::from(SLACK) >= in_units(LIMIT)) {
            return None;
        }
        let mut most = [0.0f32; LANES];
        for least in room.least.singles().chunks_exact(lanes) {
            most.iter_mut().zip(least).for_each(|(most, least)| *most = most.max(*least));
        }
        let smallest = magnitudes.smallest.map(|less_one| less_one.checked_add(1).map(value));
        Some(smallest.iter().zip(most).any(|(smallest, most)| smallest.is_some_and(|least| least < most)))
    }
}
