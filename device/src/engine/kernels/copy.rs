//! Operands on their way from planes into panels.
//!
//! A panel has a row for each tap, and a row takes what it holds from one or two output rows, at most a few. Whole vectors
//! are copied, and what one brings too many is written over by the next. A tap goes into all panels before the next tap:
//! what lies side by side in a plane is read while it is near. The input itself may be far, and its channels lie too far
//! apart for a processor to guess where the next tap is, so that it is asked for some taps before.
#![expect(unsafe_code, reason = "reads and writes what `Gather::fits` has seen to be there")]

use super::lanes::Lanes;
use super::prefetch;

/// Taps whose operands are on their way while others are copied.
const AHEAD: usize = 8;

/// As many neighbours in a plane as a vector has, and neighbours in a panel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Where the first tap of the first of them goes.
    pub(crate) to: usize,
    /// Where the first tap of the first of them is.
    pub(crate) at: usize,
}

/// Where operands come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// Planes, with the padding around each.
    Planes(&'a [f32]),
    /// The input as it is.
    Halves(&'a [u16]),
}

impl Source<'_> {
    fn len(self) -> usize {
        match self {
            Self::Planes(all) => all.len(),
            Self::Halves(all) => all.len(),
        }
    }
}

/// The elements that are to be copied.
#[derive(Debug)]
pub(crate) struct Gather<'a> {
    pub(crate) source: Source<'a>,
    /// How far behind the first tap each of the others is.
    pub(crate) taps: &'a [usize],
    /// The source and destination of each copy; those of a panel in ascending order.
    pub(crate) stretches: &'a [Stretch],
    /// Columns of a panel: how far apart its taps are.
    pub(crate) columns: usize,
    /// The panels, `[tap][column]`, and room behind each for another row.
    pub(crate) panels: &'a mut [f32],
}

impl Gather<'_> {
    /// Whether whole vectors of `vector` numbers stay inside of all operands.
    pub(super) fn fits(&self, vector: usize) -> bool {
        let furthest = self.taps.iter().copied().max().unwrap_or_default();
        let Some(last) = self.taps.len().checked_sub(1).and_then(|rows| rows.checked_mul(self.columns))
        else {
            return true;
        };
        self.stretches.iter().all(|stretch| {
            let inside = |first: usize, distance: usize, length: usize| {
                let end = first.checked_add(distance).and_then(|first| first.checked_add(vector));
                end.is_some_and(|end| end <= length)
            };
            inside(stretch.at, furthest, self.source.len()) && inside(stretch.to, last, self.panels.len())
        })
    }
}

/// Copies the operands of all taps.
///
/// # Safety
///
/// The processor has the unit, and everything fits vectors of `V`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes>(gather: &mut Gather<'_>) {
    match gather.source {
        // SAFETY: as the caller says.
        Source::Planes(all) => unsafe { each::<V, Singles>(gather, all.as_ptr()) },
        // SAFETY: as the caller says.
        Source::Halves(all) => unsafe { each::<V, Halves>(gather, all.as_ptr()) },
    }
}

/// A way to read operands.
trait Read {
    /// The format in which they are stored.
    type Stored;
    /// Whether they may be far.
    const IS_FAR: bool;

    /// Reads a vector.
    ///
    /// # Safety
    ///
    /// The processor has the unit, and a vector can be read.
    unsafe fn read<V: Lanes>(from: *const Self::Stored) -> V;
}

struct Singles;

impl Read for Singles {
    type Stored = f32;
    const IS_FAR: bool = false;

    #[inline(always)]
    unsafe fn read<V: Lanes>(from: *const f32) -> V {
        // SAFETY: as the caller says.
        unsafe { V::load(from) }
    }
}

struct Halves;

impl Read for Halves {
    type Stored = u16;
    const IS_FAR: bool = true;

    #[inline(always)]
    unsafe fn read<V: Lanes>(from: *const u16) -> V {
        // SAFETY: as the caller says.
        unsafe { V::load_halves(from) }
    }
}

/// # Safety
///
/// As for [`run`]; `all` is where the operands are.
#[inline(always)]
unsafe fn each<V: Lanes, R: Read>(gather: &mut Gather<'_>, all: *const R::Stored) {
    let mut row = gather.panels.as_mut_ptr();
    for (i, &tap) in gather.taps.iter().enumerate() {
        let source = all.wrapping_add(tap);
        let ahead = gather.taps.get(i + AHEAD).map_or(0, |next| next.wrapping_sub(tap));
        for &Stretch { to, at, .. } in gather.stretches {
            let from = source.wrapping_add(at);
            if R::IS_FAR {
                prefetch::read(from.wrapping_add(ahead));
            }
            // SAFETY: the vector of the furthest tap is inside the operands.
            let operands: V = unsafe { R::read(from) };
            // SAFETY: and where it goes, inside the panels.
            unsafe { operands.store(row.wrapping_add(to)) };
        }
        row = row.wrapping_add(gather.columns);
    }
}
