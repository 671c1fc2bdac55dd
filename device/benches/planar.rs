//! The planar engine and activation tables against plain single-precision loops over the same halves: goal C5. And
//! transposition against a plain loop, which no goal is held to.
//!
//! `cargo bench -p ane-device --bench planar [-- transposition ..]`. The peer converts halves with the `half` crate,
//! which uses the processor's own conversions, in chunks that stay in the first-level cache, and computes in loops that
//! are compiled for AVX2 where the processor has it. Both sides of each ratio run in turn in this process, on one
//! thread, warm; the figure is the median of the rounds' ratios, ours to the peer's. Our results were compared with the
//! peer's first.
#![expect(unsafe_code, reason = "the peer is compiled for newer processors")]

mod report;

use std::hint::black_box;
use std::time::Instant;

use ane_device::engine::plan::operand::Shape;
use ane_device::engine::planar::{Class, Operand, Planar};
use ane_device::engine::table::Table;
use ane_device::engine::transpose::transpose;
use ane_uapi::hw::td::activation::{ActivationTable, BYTES};
use ane_uapi::hw::td::planar::Operation;
use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use report::median;
use zerocopy::IntoBytes;

const ROUNDS: usize = 41;
/// Elements that the peer converts at a time.
const CHUNK: usize = 1024;

/// Halves with the distribution of activations: a bell around zero, of width one.
fn activations(count: usize, seed: u32) -> Vec<u16> {
    let mut state = u64::from(seed) | 1 << 40;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    };
    (0..count).map(|_| f16::from_f32((0..12).map(|_| uniform()).sum()).to_bits()).collect()
}

/// Something that computes a result.
type Work<'a> = &'a mut dyn FnMut(&mut [u16]);

/// Prints the median nanoseconds per element of both, and the median ratio.
fn compare(id: &str, what: &str, elements: usize, out: &mut [u16], ours: Work<'_>, peer: Work<'_>) {
    let times = (1 << 21) / elements + 1;
    let mut run = |work: Work<'_>| {
        work(out);
        let start = Instant::now();
        for _ in 0..times {
            work(black_box(&mut *out));
        }
        start.elapsed().as_nanos() as f64 / (times * elements) as f64
    };
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (run(ours), run(peer))).collect();
    let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
    let seen = format!("{:.3} ns / {:.3} ns an element", of(|round| round.0), of(|round| round.1));
    report::line(id, what, &seen, of(|round| round.0 / round.1));
}

/// Fails unless both give results that are at most `apart` halves from each other.
fn check(out: &mut [u16], apart: u16, ours: Work<'_>, peer: Work<'_>) {
    out.fill(1);
    ours(out);
    let expected = out.to_vec();
    out.fill(2);
    peer(out);
    let agree = |(&a, &b): (&u16, &u16)| a.abs_diff(b) <= apart;
    assert!(expected.iter().zip(&*out).all(agree), "both compute the same");
}

/// Does `step` to pairs of numbers, compiled for AVX2 if the processor has it.
fn pairs(a: &mut [f32], b: &[f32], step: impl Fn(f32, f32) -> f32) {
    #[inline(always)]
    fn portable(a: &mut [f32], b: &[f32], step: impl Fn(f32, f32) -> f32) {
        a.iter_mut().zip(b).for_each(|(a, &b)| *a = step(*a, b));
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn wide(a: &mut [f32], b: &[f32], step: impl Fn(f32, f32) -> f32) {
            portable(a, b, step);
        }
        // SAFETY: the processor has the instructions.
        return unsafe { wide(a, b, step) };
    }
    portable(a, b, step);
}

/// The peer of element-wise passes.
fn by_singles(a: &[u16], b: &[u16], out: &mut [u16], step: impl Fn(f32, f32) -> f32 + Copy) {
    let (mut x, mut y) = ([0f32; CHUNK], [0f32; CHUNK]);
    for ((a, b), out) in a.chunks(CHUNK).zip(b.chunks(CHUNK)).zip(out.chunks_mut(CHUNK)) {
        let (x, y) = (&mut x[..a.len()], &mut y[..a.len()]);
        a.reinterpret_cast::<f16>().convert_to_f32_slice(x);
        b.reinterpret_cast::<f16>().convert_to_f32_slice(y);
        pairs(x, y, step);
        out.reinterpret_cast_mut::<f16>().convert_from_f32_slice(x);
    }
}

fn elementwise(elements: usize) {
    let shape = Shape { channels: 64, height: 1, width: (elements / 64) as u32 };
    let (a, b) = (activations(elements, 1), activations(elements, 2));
    let whole = |values| Operand { values, channels: 64, height: 1, width: shape.width };
    let mut out = vec![0; elements];
    for (name, operation) in [("add", Operation::Add), ("multiply", Operation::Multiply)] {
        let planar = Planar::plain(Class::Binary, operation);
        let mut ours = |out: &mut [u16]| planar.run(shape, whole(&a), Some(whole(&b)), out).expect("fits");
        // Named here, so that the peer's loop is compiled for the operation.
        let mut add = |out: &mut [u16]| by_singles(&a, &b, out, |a, b| a + b);
        let mut multiply = |out: &mut [u16]| by_singles(&a, &b, out, |a, b| a * b);
        let peer: Work<'_> = if operation == Operation::Add { &mut add } else { &mut multiply };
        // The planar engine rounds halves away from zero, and the processor to even.
        check(&mut out, 1, &mut ours, peer);
        compare("C5", &format!("{name}, {elements} elements"), elements, &mut out, &mut ours, peer);
    }

    let bias = activations(64, 3);
    let spread: Vec<u16> = bias.iter().flat_map(|&bias| vec![bias; elements / 64]).collect();
    let add = Planar::plain(Class::Binary, Operation::Add);
    let channel = Operand { values: &bias, channels: 64, height: 1, width: 1 };
    let mut ours = |out: &mut [u16]| add.run(shape, whole(&a), Some(channel), out).expect("fits");
    let mut peer = |out: &mut [u16]| by_singles(&a, &spread, out, |a, b| a + b);
    check(&mut out, 1, &mut ours, &mut peer);
    let title = format!("add of one value for each channel, {elements} elements");
    compare("C5", &title, elements, &mut out, &mut ours, &mut peer);

    let chain = Planar { bias: 0x3800, scale: 0x3dc5, ..add };
    let mut ours = |out: &mut [u16]| chain.run(shape, whole(&a), Some(whole(&b)), out).expect("fits");
    let mut peer = |out: &mut [u16]| by_singles(&a, &b, out, |a, b| (a + b + 0.5) * 1.442_382_8);
    check(&mut out, 2, &mut ours, &mut peer);
    let title = format!("add, bias, scale in doubles, {elements} elements");
    compare("(C5)", &title, elements, &mut out, &mut ours, &mut peer);
}

fn reduction(width: usize) {
    const CHANNELS: usize = 64;
    let shape = Shape { channels: CHANNELS as u32, height: 1, width: width as u32 };
    let a = activations(CHANNELS * width, 4);
    let whole = Operand { values: &a, channels: CHANNELS as u32, height: 1, width: width as u32 };
    let mut out = vec![0; CHANNELS];
    for (name, operation, apart) in [("sum", Operation::Add, 1), ("sum of squares", Operation::SumSquared, 1)]
    {
        let planar = Planar::plain(Class::Reduce, operation);
        let mut ours = |out: &mut [u16]| planar.run(shape, whole, None, out).expect("fits");
        let mut x = vec![0f32; width];
        let mut peer = |out: &mut [u16]| {
            for (row, out) in a.chunks(width).zip(out) {
                row.reinterpret_cast::<f16>().convert_to_f32_slice(&mut x);
                let sum = |step: fn(f32) -> f32| {
                    let (eights, rest) = x.as_chunks::<8>();
                    let mut lanes = [0f32; 8];
                    for eight in eights {
                        lanes.iter_mut().zip(eight).for_each(|(lane, &x)| *lane += step(x));
                    }
                    lanes.iter().sum::<f32>() + rest.iter().map(|&x| step(x)).sum::<f32>()
                };
                let sum = if operation == Operation::Add { sum(|x| x) } else { sum(|x| x * x) };
                *out = f16::from_f32(sum).to_bits();
            }
        };
        check(&mut out, apart, &mut ours, &mut peer);
        let title = format!("{name} of {CHANNELS} channels of {width}");
        compare("(C5)", &title, CHANNELS * width, &mut out, &mut ours, &mut peer);
    }
}

/// A sigmoid: 33 knots from -8 to 8.
fn sigmoid() -> ([u8; BYTES], [f32; 33]) {
    let knots: [f32; 33] =
        std::array::from_fn(|i| f16::from_f32(1.0 / (1.0 + (8.0 - i as f32 / 2.0).exp())).to_f32());
    let table = ActivationTable {
        domain_low: 0xc800.into(),
        domain_high: 0x4800.into(),
        below: 0.into(),
        above: 0x3c00.into(),
        knots: knots.map(|knot| f16::from_f32(knot).to_bits().into()),
        slope_low: 0.into(),
        intercept_low: 0.into(),
        slope_high: 0.into(),
        intercept_high: 0.into(),
        spacing: 1.into(),
        mode: 1.into(),
        rest: [0.into(); 21],
    };
    (table.as_bytes().try_into().expect("as many"), knots)
}

fn activation(elements: usize) {
    let (bytes, knots) = sigmoid();
    let mut table = Table::parse(&bytes).expect("a good table");
    // From here on it is looked up.
    table.prepare(1 << 16);
    let a = activations(elements, 5);
    let slopes: [f32; 33] = std::array::from_fn(|i| knots.get(i + 1).map_or(0.0, |next| next - knots[i]));
    let mut out = vec![0; elements];
    let mut ours = |out: &mut [u16]| {
        out.copy_from_slice(&a);
        table.replace(out);
    };
    let mut peer = |out: &mut [u16]| {
        by_singles(&a, &a, out, |x, _| {
            let position = (x * 2.0 + 16.0).clamp(0.0, 32.0);
            let index = position as i32;
            let at = (index as usize).min(32);
            knots[at] + slopes[at] * (position - index as f32)
        });
    };
    check(&mut out, 1, &mut ours, &mut peer);
    let title = format!("table activation, {elements} elements");
    compare("C5", &title, elements, &mut out, &mut ours, &mut peer);
    if elements == 1 << 16 {
        let mut first = |out: &mut [u16]| {
            out.copy_from_slice(&a);
            let mut table = Table::parse(&bytes).expect("a good table");
            table.prepare(out.len());
            table.replace(out);
        };
        compare("(C5)", "the same, with a table that is new", elements, &mut out, &mut first, &mut peer);
    }
}

/// A loop over what comes out, element by element.
fn by_elements(from: &[u16], [channels, height, width]: [usize; 3], into: &mut [u16]) {
    for (row, into) in into.chunks_exact_mut(channels).enumerate() {
        let (x, y) = (row / height, row % height);
        let column = from[y * width + x..].iter().step_by(height * width);
        into.iter_mut().zip(column).for_each(|(to, element)| *to = *element);
    }
}

fn transposition(extents: [usize; 3]) {
    let [channels, height, width] = extents;
    let elements = channels * height * width;
    let shape = Shape { channels: channels as u32, height: height as u32, width: width as u32 };
    let from = activations(elements, 6);
    let (mut out, mut turned) = (vec![0; elements], Vec::new());
    let mut ours = |_: &mut [u16]| transpose(&from, shape, &mut turned);
    let mut peer = |out: &mut [u16]| by_elements(&from, extents, out);
    let title = format!("transposition, {channels}x{height}x{width} / loop over elements");
    compare("(C5)", &title, elements, &mut out, &mut ours, &mut peer);
    assert_eq!(turned, out, "both move the same");
}

fn main() {
    // Cargo adds options of its own.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|other| other == part);
    let has = |what, is_there: bool| println!("{what}: {}", if is_there { "yes" } else { "no" });
    #[cfg(target_arch = "x86_64")]
    has("AVX2", std::arch::is_x86_feature_detected!("avx2"));
    #[cfg(target_arch = "x86_64")]
    has("F16C", std::arch::is_x86_feature_detected!("f16c"));
    println!("{ROUNDS} rounds, one thread; ours, then the peer, for each element");
    if wants("elements") {
        for elements in [1 << 12, 1 << 16, 1 << 20] {
            elementwise(elements);
            activation(elements);
        }
    }
    if wants("reductions") {
        for width in [64, 768, 1 << 14] {
            reduction(width);
        }
    }
    if wants("transposition") {
        for extents in
            [[512, 1, 64], [256, 1, 3136], [64, 56, 56], [1024, 1, 1024], [2048, 1, 64], [3, 224, 224]]
        {
            transposition(extents);
        }
    }
}
