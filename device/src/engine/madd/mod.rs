//! The multiply-accumulate array: convolutions, channel sums and maxima, pass-throughs.
//!
//! On silicon sixteen engines of many lanes each walk over a tile of the input while coefficients stream past. What
//! an output is made of does not depend on who computes it, so the array here is free to share the work out among
//! threads and vector lanes as suits the host, as long as each output is what [`numerics`](super::numerics) says:
//! all tiers and any number of threads give the same bytes.
//!
//! * [`shape`]: the sizes of a pass, checked once.
//! * `planes`, `coefficients`, `packing`: the data as kernels read it, and how it gets there.
//! * `layout`, `cuts`, `piece`, `row`: a pass cut into pieces, and one of them computed.
//! * `tile`: the sums of some outputs at some places, from their first values to the outputs.
//! * `lines`: room that starts at a cache line.
//! * `stages`: how the taps of a tile are added, from what is known of their numbers.
//! * `vector`: outputs of one pixel.
//! * `abreast`: outputs that each read a channel of their own.
//! * `definition`: one output at a time.

mod abreast;
mod coefficients;
mod cuts;
mod definition;
mod kernel_alone;
mod layout;
mod lines;
mod maximum;
mod packing;
mod piece;
mod planes;
mod row;
pub mod shape;
mod stages;
#[cfg(test)]
mod tests;
mod tile;
mod vector;

pub use self::kernel_alone::Alone;
pub use self::shape::{Convolution, Reads, ShapeError};
pub use super::kernels::Tier;

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use self::abreast::ChannelPass;
use self::coefficients::Packed;
use self::cuts::Cuts;
use self::definition::Definition;
use self::layout::Layout;
use self::packing::Packing;
use self::piece::{PassContext, Worker};
use self::planes::Planes;
use self::shape::Shape;
use self::vector::PixelPass;
use super::cancel::{Pace, STRIDE, VECTOR, Watch};
use super::kernels::{Code, Extent, Offsets, Port};
use super::numerics::bounds::Bounds;
use super::numerics::{Numerics, halves, output};
use super::pool::Pool;

/// Work from which on another thread is worth waking, in products: some tens of microseconds.
const PER_THREAD: usize = 1 << 20;
/// The cost of each number that is an operand, a result or a coefficient, beside its products: it is measured,
/// widened or narrowed, and put where kernels read it.
const PER_NUMBER: usize = 32;
/// Numbers of the input that are worth a thread's while to measure.
const MEASURED: usize = 1 << 16;
/// Products up to which nothing is worth preparing.
const FEW: usize = 64;

/// The coefficients of a pass.
#[derive(Clone, Copy, Debug)]
pub enum Coefficients<'a> {
    Unity,
    /// Halves, as `[plane][tap][lane]`.
    Halves(&'a [u16]),
}

/// The array.
///
/// It keeps the room that it worked in, so that the next pass of that size allocates nothing.
#[derive(Debug)]
pub struct Array {
    numerics: Numerics,
    tier: Tier,
    code: &'static Code,
    pool: Pool,
    offsets: Vec<Offsets>,
    taps: Vec<usize>,
    cuts: Cuts,
    operands: Vec<f32>,
    coefficients: Packed,
    /// Coefficients of one pixel, with planes side by side.
    wide: Vec<u16>,
    /// The measures of each channel of the input.
    channels: Vec<Extent>,
    /// The first values of each output channel's sums, where they are computed in units, and zeros behind.
    begins: Vec<i32>,
    workers: Vec<Worker>,
    maxima: Vec<u16>,
}

impl Array {
    /// An array that adds in the way of `numerics`, on so many threads at most.
    #[must_use]
    pub fn new(numerics: Numerics, threads: NonZero<usize>) -> Self {
        Self::with_tier(numerics, threads, Tier::best())
    }

    /// The same, for a vector unit of one's choice; the portable code where the processor does not have it.
    #[must_use]
    pub fn with_tier(numerics: Numerics, threads: NonZero<usize>, tier: Tier) -> Self {
        let tier = if tier.is_available() { tier } else { Tier::Portable };
        Self {
            numerics,
            tier,
            code: tier.code(),
            pool: Pool::new(threads),
            offsets: Vec::new(),
            taps: Vec::new(),
            cuts: Cuts::default(),
            operands: Vec::new(),
            coefficients: Packed::default(),
            wide: Vec::new(),
            channels: Vec::new(),
            begins: Vec::new(),
            workers: Vec::new(),
            maxima: Vec::new(),
        }
    }

    #[must_use]
    pub fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// The vector unit that it uses.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// How many threads it may use.
    #[must_use]
    pub fn threads(&self) -> NonZero<usize> {
        self.pool.threads()
    }

    /// The same threads, for what else a pass computes.
    pub(in crate::engine) fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// Sums that start with a bias, of operands times coefficients; then post-scale and the rounding to fp16.
    ///
    /// The input is `[channel][row][column]`, the output likewise; both are fp16 bits.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] if the sizes make no sense or do not belong to the buffers; the output is as it was then.
    pub fn convolve(
        &mut self,
        pass: &Convolution,
        input: &[u16],
        coefficients: Coefficients<'_>,
        bias: Option<&[u16]>,
        post_scale: u16,
        output: &mut [u16],
    ) -> Result<(), ShapeError> {
        self.under(&Watch::idle()).convolve(pass, input, coefficients, bias, post_scale, output)
    }

    /// The array, for a pass that may be called off; what it has computed is worth nothing then.
    pub const fn under<'a>(&'a mut self, watch: &'a Watch<'a>) -> Watched<'a> {
        Watched { array: self, watch, bounds: Bounds::NONE }
    }

    /// Brings operands and coefficients into the form that kernels read.
    fn prepare(&mut self, threads: usize, layout: &Layout, definition: &Definition<'_>, watch: &Watch<'_>) {
        let Self { code, ref pool, .. } = *self;
        let Definition { shape, input, coefficients, .. } = *definition;
        layout.taps(shape, &mut self.taps);
        layout.offsets(&self.taps, &mut self.offsets);
        self.cuts.set(layout, shape);
        self.begins.clear();
        let begin = |output| i32::try_from(definition.begin(output)).unwrap_or_default();
        self.begins.extend((0..shape.outputs()).map(begin));
        self.begins.resize(shape.outputs().saturating_add(layout.kernel.rows), 0);
        let operands = make_room(&mut self.operands, layout.operands());
        let (rows, has_exponents) = (layout.kernel.rows, layout.looks_for_dropped());
        let packing = Packing { code, shape, coefficients, rows, has_exponents };
        let planes = layout.planes.shares(operands).map(Share::Planes);
        let (channel, all) = (shape.height.saturating_mul(shape.width), layout.planes.channels);
        self.channels.resize(all, Extent::NONE);
        let together = MEASURED.checked_div(channel).unwrap_or_default().max(1);
        let inputs = input.chunks(together.saturating_mul(channel));
        let measured =
            self.channels.chunks_mut(together).zip(inputs).map(Share::Measures).filter(|_| !layout.own);
        let shares = planes.chain(measured).chain(self.coefficients.shares(&packing).map(Share::Tiles));
        let workers = self.workers.get_mut(..threads).unwrap_or_default();
        pool.share(workers, watch, shares, |worker, share, pace| match share {
            Share::Planes(planes) => layout.planes.fill(code, shape, input, planes, &mut worker.row, pace),
            Share::Measures((extents, inputs)) => {
                for (extent, input) in extents.iter_mut().zip(inputs.chunks_exact(channel)) {
                    if pace.spend(channel / VECTOR) {
                        return;
                    }
                    *extent = code.measure(input);
                }
            }
            Share::Tiles(tiles) => packing.pack(tiles, &mut worker.strips, pace),
        });
    }

    /// Puts the planes of one pixel's coefficients side by side, as far as they are narrower than a vector; the shape that has them
    /// so.
    fn widen(
        &mut self,
        threads: usize,
        shape: &Shape,
        coefficients: Option<&[u16]>,
        to: &mut Vec<u16>,
        watch: &Watch<'_>,
    ) -> Option<Shape> {
        let (coefficients, wide) = (coefficients?, vector::widened(shape)?);
        let size = wide.lanes.saturating_mul(wide.taps());
        let len = coefficients.len().next_multiple_of(size);
        if to.len() < len {
            to.resize(len, 0);
        }
        to.truncate(len);
        let planes = to.chunks_exact_mut(size).zip(coefficients.chunks(size));
        let workers = self.workers.get_mut(..threads).unwrap_or_default();
        self.pool.share(workers, watch, planes, |_, (to, from), pace| {
            if !pace.spend(size / VECTOR) {
                if from.len() < to.len() {
                    to.fill(0);
                }
                vector::put_side_by_side(from, shape, to);
            }
        });
        Some(wide)
    }

    /// Computes shares in single precision, or finds one that takes more; one is enough to end.
    fn in_singles<J: Send>(
        &mut self,
        threads: usize,
        watch: &Watch<'_>,
        shares: impl Iterator<Item = J> + Send,
        run: impl Fn(&mut Worker, J, &mut Pace<'_>) -> bool + Sync,
    ) -> bool {
        let is_done = AtomicBool::new(true);
        let workers = self.workers.get_mut(..threads).unwrap_or_default();
        self.pool.share(workers, watch, shares, |worker, share, pace| {
            if is_done.load(Ordering::Relaxed) && !run(worker, share, pace) {
                is_done.store(false, Ordering::Relaxed);
            }
        });
        is_done.into_inner()
    }

    /// Computes each output by itself.
    fn define(
        &mut self,
        threads: usize,
        definition: Definition<'_>,
        port: Port,
        output: &mut [u16],
        watch: &Watch<'_>,
    ) {
        let numerics = self.numerics;
        let (pixels, products) = (definition.shape.pixels(), definition.shape.taps());
        let channels = output.chunks_exact_mut(pixels).enumerate();
        let workers = self.workers.get_mut(..threads).unwrap_or_default();
        self.pool.share(workers, watch, channels, |worker, (o, channel), pace| {
            for (pixel, place) in channel.iter_mut().enumerate() {
                if pace.spend(products) {
                    return;
                }
                let sum = definition.sum(numerics, o, pixel, &mut worker.taps);
                *place = port.bounds.of(output::of(sum, port.post_scale));
            }
        });
    }

    /// The largest operand of each output, times post-scale.
    ///
    /// # Errors
    ///
    /// As for [`Array::convolve`].
    pub fn maximum(
        &mut self,
        pass: &Convolution,
        input: &[u16],
        post_scale: u16,
        output: &mut [u16],
    ) -> Result<(), ShapeError> {
        self.under(&Watch::idle()).maximum(pass, input, post_scale, output)
    }

    /// A pass-through: each operand times post-scale, with one rounding, as far as both buffers go.
    pub fn scale(&mut self, input: &[u16], post_scale: u16, output: &mut [u16]) {
        self.under(&Watch::idle()).scale(input, post_scale, output);
    }
}

/// The work that a thread prepares at a time.
#[derive(Debug)]
enum Share<'a> {
    Planes(planes::PlaneShare<'a>),
    /// Channels, and where their measures go.
    Measures((&'a mut [Extent], &'a [u16])),
    Tiles(packing::Tiles<'a>),
}

/// The array while somebody may call its pass off.
#[derive(Debug)]
pub struct Watched<'a> {
    array: &'a mut Array,
    watch: &'a Watch<'a>,
    bounds: Bounds,
}

impl Watched<'_> {
    /// The same, with the results of a convolution or sum kept within bounds.
    #[must_use]
    pub const fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// As [`Array::convolve`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn convolve(
        self,
        pass: &Convolution,
        input: &[u16],
        coefficients: Coefficients<'_>,
        bias: Option<&[u16]>,
        post_scale: u16,
        output: &mut [u16],
    ) -> Result<(), ShapeError> {
        let Self { array, watch, bounds } = self;
        let shape = Shape::new(pass)?;
        let coefficients = match coefficients {
            Coefficients::Unity => None,
            Coefficients::Halves(halves) => Some(halves),
        };
        shape.check(input, coefficients, bias, output)?;
        let products = output.len().saturating_mul(shape.taps());
        let numbers = [input.len(), output.len(), coefficients.map_or(0, <[u16]>::len)];
        let numbers = numbers.into_iter().fold(0, usize::saturating_add);
        let work = numbers.saturating_mul(PER_NUMBER).saturating_add(products);
        let threads = array.pool.start(work / PER_THREAD);
        if array.workers.len() < threads {
            array.workers.resize_with(threads, Worker::default);
        }
        let definition = Definition { shape: &shape, input, coefficients, bias };
        let port = Port { post_scale, factor: f64::from(halves::value(post_scale)), bounds };
        let planes = Planes::new(&shape).filter(|_| has_kernel(array.numerics) && products > FEW);
        let Some(planes) = planes else {
            array.define(threads, definition, port, output, watch);
            return Ok(());
        };
        let mut room = std::mem::take(&mut array.wide);
        let wide = array.widen(threads, &shape, coefficients, &mut room, watch);
        let of_pixel = match &wide {
            Some(wide) => Definition { shape: wide, coefficients: Some(&room), ..definition },
            None => definition,
        };
        let is_done = PixelPass::new(array.code, &of_pixel, port).is_some_and(|pass| {
            array.in_singles(threads, watch, pass.shares(output), |_, share, pace| pass.run(share, pace))
        });
        array.wide = room;
        if is_done {
            return Ok(());
        }
        let is_done = ChannelPass::new(array.code, &definition, port, threads).is_some_and(|pass| {
            array.in_singles(threads, watch, pass.shares(output), |worker, share, pace| {
                pass.run(share, &mut worker.abreast, pace)
            })
        });
        if is_done {
            return Ok(());
        }
        let layout = Layout::new(array.code, &shape, planes, threads);
        array.prepare(threads, &layout, &definition, watch);
        let pass = PassContext {
            code: array.code,
            layout,
            offsets: &array.offsets,
            taps: &array.taps,
            cuts: &array.cuts,
            operands: &array.operands,
            coefficients: &array.coefficients,
            channels: &array.channels,
            definition,
            begins: &array.begins,
            port,
        };
        let workers = array.workers.get_mut(..threads).unwrap_or_default();
        let shares = pass.layout.shares_of(&shape, output);
        array.pool.share(workers, watch, shares, |worker, pieces, pace| {
            for (piece, mut window) in pieces {
                pass.run(&piece, &mut window, worker, pace);
            }
        });
        Ok(())
    }

    /// As [`Array::maximum`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn maximum(
        self,
        pass: &Convolution,
        input: &[u16],
        post_scale: u16,
        output: &mut [u16],
    ) -> Result<(), ShapeError> {
        let Self { array, watch, .. } = self;
        let shape = Shape::new(pass)?;
        shape.check(input, None, None, output)?;
        array.maxima.resize(shape.pixels(), 0);
        let mut channels = output.chunks_exact_mut(shape.pixels());
        let mut pace = Pace::new(watch);
        for group in 0..shape.groups {
            maximum::of_group(array.code, &shape, group, input, &mut array.maxima, &mut pace);
            for channel in channels.by_ref().take(shape.group_outputs) {
                if pace.spend(channel.len() / VECTOR) {
                    return Ok(());
                }
                scale(array.code, &array.maxima, post_scale, channel);
            }
        }
        Ok(())
    }

    /// As [`Array::scale`].
    pub fn scale(self, input: &[u16], post_scale: u16, output: &mut [u16]) {
        let mut pace = Pace::new(self.watch);
        for (from, to) in input.chunks(STRIDE).zip(output.chunks_mut(STRIDE)) {
            if pace.spend(to.len()) {
                return;
            }
            scale(self.array.code, from, post_scale, to);
        }
    }
}

/// Whether products are summed in vectors; otherwise they are computed one by one.
pub(in crate::engine) fn has_kernel(numerics: Numerics) -> bool {
    numerics == Numerics::M1
}

/// Room for so many singles, whatever they are. The system hands out zeros page by page, so that nobody
/// writes them all at once, and what is there already stays as it is.
fn make_room(singles: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if singles.len() < len {
        // The old room goes first, for there may not be enough for both.
        *singles = Vec::new();
        *singles = vec![0.0; len];
    }
    singles.get_mut(..len).unwrap_or_default()
}

/// Operands times post-scale, with one rounding.
fn scale(code: &Code, input: &[u16], post_scale: u16, output: &mut [u16]) {
    if post_scale == halves::ONE {
        // Nothing to multiply, nothing to round.
        code.enter(input, output);
    } else {
        code.scale(input, f64::from(halves::value(post_scale)), output);
    }
}
