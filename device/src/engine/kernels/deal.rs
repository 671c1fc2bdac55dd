//! Coefficients on their way from planes into tiles.
//!
//! A plane has the coefficients of its outputs side by side, tap by tap (td 7.1), and so have tiles, of which each has a
//! few of these outputs. A vector of a plane is read once and dealt out to the tiles that have rows in it, with the last
//! digit of each coefficient set: that is how kernels take them.
#![expect(unsafe_code, reason = "reads and writes what `Deal::fits` has seen to be there")]

use super::lanes::{LONGEST, Lanes};

/// Lanes of a plane that are rows of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strip {
    /// The first of them.
    pub(crate) lane: usize,
    pub(crate) length: usize,
    /// Where the first tap of the first of them goes.
    pub(crate) to: usize,
}

/// Some taps of a plane, and where they go.
#[derive(Debug)]
pub(crate) struct Deal<'a> {
    /// The coefficients, `[tap][lane]`.
    pub(crate) plane: &'a [u16],
    /// Lanes of a tap.
    pub(crate) lanes: usize,
    pub(crate) strips: &'a [Strip],
    /// Singles from one tap of a tile to the next.
    pub(crate) pitch: usize,
    pub(crate) tiles: &'a mut [f32],
}

impl Deal<'_> {
    fn taps(&self) -> usize {
        self.plane.len().checked_div(self.lanes).unwrap_or_default()
    }

    /// Whether the plane has whole taps, and all strips stay inside everything.
    pub(super) fn fits(&self) -> bool {
        if !self.plane.len().is_multiple_of(self.lanes) {
            return false;
        }
        let Some(last) = self.taps().checked_sub(1).and_then(|taps| taps.checked_mul(self.pitch)) else {
            return true;
        };
        self.strips.iter().all(|strip| {
            let inside = |first: usize, length: usize| {
                first.checked_add(strip.length).is_some_and(|end| end <= length)
            };
            inside(strip.lane, self.lanes)
                && strip.to.checked_add(last).is_some_and(|first| inside(first, self.tiles.len()))
        })
    }
}

/// Lanes of a vector that are rows of a tile.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    mask: u16,
    /// Where lane zero would go.
    to: usize,
}

/// Deals out all taps.
///
/// # Safety
///
/// The processor has the unit, and everything fits.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes>(deal: &mut Deal<'_>) {
    for first in (0..deal.lanes).step_by(V::COUNT) {
        let (mut parts, mut count) = ([Part::default(); LONGEST], 0);
        for &Strip { lane, length, to } in deal.strips {
            let (start, end) = (lane.max(first), (lane + length).min(first + V::COUNT));
            if start < end {
                // Lane zero may be before the tiles, but is not written then.
                let to = (to + start - lane).wrapping_sub(start - first);
                parts[count] = Part { mask: mask(end - first) & !mask(start - first), to };
                count += 1;
            }
        }
        // Masks that are known when this is compiled make no difference to what is written.
        match parts[..count] {
            [whole] if whole.mask == mask(V::COUNT) => {
                let whole = Part { mask: mask(V::COUNT), ..whole };
                // SAFETY: as the caller says; the parts are those of strips that fit.
                unsafe { of_vector::<V>(deal, first, &[whole]) };
            }
            [lower, upper] if [lower.mask, upper.mask] == HALVES => {
                let halves = [Part { mask: HALVES[0], ..lower }, Part { mask: HALVES[1], ..upper }];
                // SAFETY: as above.
                unsafe { of_vector::<V>(deal, first, &halves) };
            }
            // SAFETY: as above.
            _ => unsafe { of_vector::<V>(deal, first, &parts[..count]) },
        }
    }
}

/// The masks of both halves of the longest vector.
const HALVES: [u16; 2] = [0x00ff, 0xff00];

const fn mask(lanes: usize) -> u16 {
    match lanes {
        LONGEST => u16::MAX,
        _ => (1 << lanes) - 1,
    }
}

/// Deals out a vector of each tap, from some lane on.
///
/// # Safety
///
/// As for [`run`], and the parts are inside the tiles.
#[inline(always)]
unsafe fn of_vector<V: Lanes>(deal: &mut Deal<'_>, first: usize, parts: &[Part]) {
    let Deal { plane, lanes, pitch, .. } = *deal;
    let mut tap = deal.tiles.as_mut_ptr();
    for at in (first..plane.len()).step_by(lanes) {
        let coefficients = if at + V::COUNT <= plane.len() {
            // SAFETY: there are halves of a vector; the rest as the caller says.
            unsafe { V::load_halves(plane.as_ptr().wrapping_add(at)) }
        } else {
            let mut last = [0; LONGEST];
            last[..plane.len() - at].copy_from_slice(&plane[at..]);
            // SAFETY: as above.
            unsafe { V::load_halves(last.as_ptr()) }
        };
        let coefficients = coefficients.odd();
        for part in parts {
            // SAFETY: as the caller says.
            unsafe { coefficients.store_some(tap.wrapping_add(part.to), part.mask) };
        }
        tap = tap.wrapping_add(pitch);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;
    use crate::engine::numerics::halves;

    /// Strips of all lanes, so many to a tile, whose tiles lie one behind the other.
    fn strips(lanes: usize, rows: usize, size: usize) -> Vec<Strip> {
        let firsts = (0..lanes).step_by(rows).enumerate();
        firsts.map(|(tile, lane)| Strip { lane, length: rows.min(lanes - lane), to: tile * size }).collect()
    }

    #[test]
    fn lane_of_each_tap_goes_to_its_row_of_its_tile_in_every_tier() {
        for tier in Tier::ALL {
            for (lanes, rows, taps) in
                [(1_usize, 1, 9), (2, 6, 3), (16, 6, 5), (24, 8, 4), (64, 6, 2), (5, 3, 1)]
            {
                let plane: Vec<u16> = (0..taps * lanes).map(|i| 0x3c00 + i as u16).collect();
                let size = taps * rows;
                let mut tiles = vec![-1.0; lanes.div_ceil(rows) * size];
                tier.code().deal(&mut Deal {
                    plane: &plane,
                    lanes,
                    strips: &strips(lanes, rows, size),
                    pitch: rows,
                    tiles: &mut tiles,
                });
                let of_place = |at: usize| {
                    let lane = at / size * rows + at % rows;
                    let half = plane.get(at % size / rows * lanes + lane).filter(|_| lane < lanes);
                    half.map_or(-1.0, |&half| f32::from_bits(halves::value(half).to_bits() | 1))
                };
                let expected: Vec<f32> = (0..tiles.len()).map(of_place).collect();
                assert_eq!(tiles, expected, "{lanes} {rows} {}", tier.name());
            }
        }
    }

    #[test]
    fn what_leads_outside_does_not_fit() {
        let fits = |strip: Strip, lanes: usize, length: usize| {
            let (plane, mut tiles) = ([0; 12], vec![0.0; length]);
            let tiles = tiles.as_mut_slice();
            Deal { plane: &plane, lanes, strips: &[strip], pitch: 3, tiles }.fits()
        };
        let strip = Strip { lane: 1, length: 3, to: 0 };
        assert!(fits(strip, 4, 9));
        assert!(!fits(strip, 4, 8));
        assert!(!fits(strip, 5, 100));
        assert!(!fits(strip, 3, 100));
        assert!(!fits(Strip { to: 1, ..strip }, 4, 9));
        assert!(!fits(Strip { to: usize::MAX, ..strip }, 4, 9));
        assert!(!fits(Strip { length: usize::MAX, ..strip }, 4, 9));
    }
}
