//! The multiply-accumulate array against a matrix multiplication in pure Rust, and against itself: goals A1 to A6 and C9.
//!
//! `cargo bench -p ane-device --bench engine [-- A1 ..]`. The sides of a ratio run in turn in this process, warm, on as
//! many threads; the figure is the median of the rounds' ratios. One thread is timed by its own processor time, several
//! by the clock: the fastest run of each round, as other programs only ever make a run slower. Each result has been
//! compared with the expected numbers first. The array reads and writes fp16 and its time includes all conversions. A
//! peer starts from singles and ends with singles, with the im2col of a convolution included.

mod clock;
#[path = "../peer/mod.rs"]
mod peer;
mod problem;
#[path = "../report/mod.rs"]
mod report;

use std::hint::black_box;
use std::num::NonZero;

use ane_device::engine::madd::{Alone, Array, Convolution, Reads, Tier};
use ane_device::engine::numerics::Numerics;

use clock::{Clock, ROUNDS, compare, line};
use peer::by_faer;
use problem::{Data, Problem, normal, singles};
use report::median;

fn threads(number: usize) -> NonZero<usize> {
    NonZero::new(number).expect("not zero")
}

fn gigaflops(problem: &Problem, nanoseconds: f64) -> String {
    format!("{:.0} GFLOP/s", problem.operations() / nanoseconds)
}

/// Operands of each tap, `[tap][pixel]`, for a convolution with stride 1.
fn im2col(pass: &Convolution, input: &[f32], columns: &mut [f32]) {
    let [height, width] = [pass.height, pass.width].map(|n| n as usize);
    let [kernel_height, kernel_width, pad_y, pad_x] =
        [pass.kernel_height, pass.kernel_width, pass.pad_y, pass.pad_x].map(|n| n as usize);
    for (tap, columns) in columns.chunks_exact_mut(height * width).enumerate() {
        let (channel, ky, kx) =
            (tap / kernel_width / kernel_height, tap / kernel_width % kernel_height, tap % kernel_width);
        let plane = &input[channel * height * width..][..height * width];
        let (left, right) = (pad_x.saturating_sub(kx), (width + pad_x - kx).min(width));
        for (y, row) in columns.chunks_exact_mut(width).enumerate() {
            let Some(from) = (y + ky).checked_sub(pad_y).filter(|&from| from < height) else {
                row.fill(0.0);
                continue;
            };
            row[..left].fill(0.0);
            row[right..].fill(0.0);
            let start = from * width + left + kx - pad_x;
            row[left..right].copy_from_slice(&plane[start..start + right - left]);
        }
    }
}

/// Dense problems against faer, the faster of the two that were tried; the `gemm` crate took 1.4 to 2.1 times as long.
fn dense(id: &str, problem: &mut Problem, number: usize) {
    let sizes = [problem.pass.outputs as usize, problem.taps(), problem.pixels()];
    let (input, coefficients) = (singles(&problem.input), problem.singles());
    let is_convolution = problem.pass.kernel_height > 1;
    let mut columns = if is_convolution { vec![0.0; sizes[1] * sizes[2]] } else { input.clone() };
    let mut product = vec![0.0; sizes[0] * sizes[2]];
    let mut array = Array::new(Numerics::M1, threads(number));
    let pass = problem.pass;
    let mut theirs = || {
        if is_convolution {
            im2col(&pass, &input, &mut columns);
        }
        by_faer(sizes, &coefficients, &columns, &mut product, number);
        black_box(&product);
    };
    theirs();
    problem.run(&mut array);
    let figures = compare(Clock::of(number), &mut || problem.run(&mut array), &mut theirs);
    problem.check(&product);
    let [ours, theirs, _] = figures.map(|time| gigaflops(problem, time));
    let what = format!("{}, {number} threads / faer ({ours} / {theirs})", problem.what);
    line(id, &what, figures);
}

/// A problem on one thread against something else, both having run once.
fn beside(problem: &mut Problem, theirs: &mut dyn FnMut()) -> [f64; 3] {
    let mut array = Array::new(Numerics::M1, threads(1));
    theirs();
    problem.run(&mut array);
    compare(Clock::Thread, &mut || problem.run(&mut array), theirs)
}

/// Depthwise against a loop over singles that the compiler turns into vectors of the baseline, and ours.
fn depthwise(problem: &mut Problem) {
    let (input, coefficients) = (singles(&problem.input), problem.singles());
    let (pass, taps) = (problem.pass, problem.taps());
    let [height, width, pad] = [pass.height, pass.width, pass.pad_y].map(|n| n as usize);
    let kernel = pass.kernel_width as usize;
    let pitch = width + 2 * pad;
    let mut padded = vec![0.0; (height + 2 * pad) * pitch];
    let mut output = vec![0.0f32; problem.output.len()];
    let mut theirs = || {
        for ((plane, coefficients), output) in input
            .chunks_exact(height * width)
            .zip(coefficients.chunks_exact(taps))
            .zip(output.chunks_exact_mut(height * width))
        {
            for (y, row) in plane.chunks_exact(width).enumerate() {
                padded[(y + pad) * pitch + pad..][..width].copy_from_slice(row);
            }
            for (y, row) in output.chunks_exact_mut(width).enumerate() {
                row.fill(0.0);
                for (tap, &coefficient) in coefficients.iter().enumerate() {
                    let from = &padded[(y + tap / kernel) * pitch + tap % kernel..][..width];
                    for (sum, operand) in row.iter_mut().zip(from) {
                        *sum += coefficient * operand;
                    }
                }
            }
        }
        black_box(&output);
    };
    let figures = beside(problem, &mut theirs);
    problem.check(&output);
    line("A6", &format!("{} / loop over singles", problem.what), figures);
}

/// Two arrays on one problem.
fn against(id: &str, problem: &mut Problem, what: &str, arrays: [&mut Array; 2]) {
    let [ours, theirs] = arrays;
    let clock = Clock::of(ours.threads().get());
    problem.run(theirs);
    let expected = singles(&problem.output);
    problem.run(ours);
    problem.check(&expected);
    let cell = std::cell::RefCell::new(problem);
    let mut figures =
        compare(clock, &mut || cell.borrow_mut().run(ours), &mut || cell.borrow_mut().run(theirs));
    let problem = cell.into_inner();
    if id == "A5" {
        // The goal is the gain, not the time that is left.
        figures[2] = 1.0 / figures[2];
    }
    let rates = [figures[0], figures[1]].map(|time| gigaflops(problem, time)).join(" / ");
    line(id, &format!("{}, {what} ({rates})", problem.what), figures);
}

/// Data that come to the limit against data that do not, on the same sizes.
fn limit(data: Data, what: &str, ordinary: &mut Problem) {
    let mut problem = Problem::with(data, "", ordinary.pass);
    let mut arrays = [1, 1].map(|number| Array::new(Numerics::M1, threads(number)));
    let [ours, theirs] = &mut arrays;
    problem.run(ours);
    let infinite = problem.output.iter().filter(|&&half| half & 0x7fff == 0x7c00).count();
    assert!(infinite > 0, "some sums come to the limit");
    let share = 100 * infinite / problem.output.len();
    let figures = compare(Clock::Thread, &mut || problem.run(ours), &mut || ordinary.run(theirs));
    line("A3", &format!("{}, {what}, {share} % infinite / ordinary", ordinary.what), figures);
}

/// Any convolution against loops over singles: for each output and tap a row of operands times a coefficient.
fn loops(problem: &mut Problem) {
    let (input, coefficients) = (singles(&problem.input), problem.singles());
    let (pass, taps) = (problem.pass, problem.taps());
    let [height, width, out_height, out_width, kernel, stride, pad] = [
        pass.height,
        pass.width,
        pass.out_height,
        pass.out_width,
        pass.kernel_width,
        pass.stride_x,
        pass.pad_x,
    ]
    .map(|n| n as usize);
    let channels = pass.channels as usize;
    let [rows, pitch] = [height + 2 * pad, width + 2 * pad];
    let mut padded = vec![0.0; channels * rows * pitch];
    let mut output = vec![0.0f32; problem.output.len()];
    let mut theirs = || {
        for (plane, padded) in input.chunks_exact(height * width).zip(padded.chunks_exact_mut(rows * pitch)) {
            for (y, row) in plane.chunks_exact(width).enumerate() {
                padded[(y + pad) * pitch + pad..][..width].copy_from_slice(row);
            }
        }
        for (coefficients, output) in
            coefficients.chunks_exact(taps).zip(output.chunks_exact_mut(out_height * out_width))
        {
            for (y, row) in output.chunks_exact_mut(out_width).enumerate() {
                row.fill(0.0);
                for (tap, &coefficient) in coefficients.iter().enumerate() {
                    let (channel, ky, kx) = (tap / kernel / kernel, tap / kernel % kernel, tap % kernel);
                    let from = &padded[(channel * rows + y * stride + ky) * pitch + kx..];
                    if stride == 1 {
                        row.iter_mut().zip(from).for_each(|(sum, operand)| *sum += coefficient * operand);
                    } else {
                        let from = from.iter().step_by(stride);
                        row.iter_mut().zip(from).for_each(|(sum, operand)| *sum += coefficient * operand);
                    }
                }
            }
        }
        black_box(&output);
    };
    let figures = beside(problem, &mut theirs);
    problem.check(&output);
    line("A6", &format!("{} / loops over singles", problem.what), figures);
}

/// One pixel of many channels: against a loop over singles, and against the reading of its coefficients.
fn vector(problem: &mut Problem) {
    let (input, coefficients) = (singles(&problem.input), problem.singles());
    let (taps, outputs) = (problem.taps(), problem.output.len());
    // A row of coefficients for each operand, so that the compiler makes vectors of the inner loop.
    let turned: Vec<f32> =
        (0..taps * outputs).map(|at| coefficients[at % outputs * taps + at / outputs]).collect();
    let mut output = vec![0.0f32; outputs];
    let mut theirs = || {
        output.fill(0.0);
        for (operand, row) in input.iter().zip(turned.chunks_exact(outputs)) {
            output.iter_mut().zip(row).for_each(|(sum, coefficient)| *sum += operand * coefficient);
        }
        black_box(&output);
    };
    let figures = beside(problem, &mut theirs);
    problem.check(&output);
    line("A6", &format!("{} / loop over singles", problem.what), figures);

    let from = problem.coefficients.clone();
    let mut to = vec![0; from.len()];
    let mut copy = || {
        to.copy_from_slice(&from);
        black_box(&to);
    };
    let mut figures = beside(problem, &mut copy);
    // The goal is the bandwidth, not the time.
    figures[2] = 1.0 / figures[2];
    line("A6 memcpy", &format!("{} / memcpy of its coefficients", problem.what), figures);
}

/// A kernel on data in the first cache, as the array adds and in plain single precision.
fn kernel_alone(tier: Tier) {
    /// So many that operands and coefficients lie in the first cache.
    const TAPS: usize = 192;
    let halves = |deviation, seed| normal(TAPS * 64, deviation, seed).into_iter();
    let coefficients = (2.0 / TAPS as f32).sqrt();
    let Some(ours) = Alone::new(tier, TAPS, halves(1.0, 1), halves(coefficients, 2)) else { return };
    let (products, chunks) = (ours.products() as f64, ours.chunks());
    let cell = std::cell::RefCell::new(ours);
    let run = |run: fn(&mut Alone)| {
        let cell = &cell;
        move || (0..64).for_each(|_| run(&mut cell.borrow_mut()))
    };
    let figures = compare(Clock::Thread, &mut run(Alone::run), &mut run(Alone::run_plain));
    let [ours, theirs] = [figures[0], figures[1]].map(|time| 2.0 * 64.0 * products / time);
    let what = format!(
        "kernel of {}, {TAPS} taps in {chunks} chunks ({ours:.0} / {theirs:.0} GFLOP/s)",
        tier.name()
    );
    line("A4", &what, figures);
}

/// A loop of scalar arithmetic after each kind of kernel, against the same loop after nothing.
fn scalar_after_kernels() {
    let mut problem = Problem::new("", Reads::Dense, [16, 16, 8, 3]);
    let scalar = |seed: f64| {
        let mut sum = seed;
        for _ in 0..20_000 {
            sum = black_box(sum).mul_add(0.0, 1.5) + black_box(sum) * 0.25;
        }
        black_box(sum);
    };
    for tier in Tier::ALL {
        let mut array = Array::with_tier(Numerics::M1, threads(1), tier);
        let (mut after, mut before, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..101 {
            let alone = Clock::Thread.time(1, &mut || scalar(1.0));
            problem.run(&mut array);
            let behind = Clock::Thread.time(1, &mut || scalar(1.0));
            after.push(behind);
            before.push(alone);
            ratios.push(behind / alone);
        }
        let figures = [median(after), median(before), median(ratios)];
        line("C9", &format!("scalar loop after kernels of {} / before", tier.name()), figures);
    }
}

fn main() {
    // Cargo adds options of its own; a goal's id is none.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |id: &str| wanted.is_empty() || wanted.iter().any(|other| other == id);
    println!("{ROUNDS} rounds; {}; ours, then the peer", Tier::best().name());
    let dense_problems = |data: Data| {
        [
            ("GEMM 1024x1024x1024", [1024, 1024, 32, 1]),
            ("GEMM 256x256x3136", [256, 256, 56, 1]),
            ("3x3 64-64 at 56x56", [64, 64, 56, 3]),
            ("3x3 256-256 at 14x14", [256, 256, 14, 3]),
        ]
        .map(|(what, sizes)| Problem::of(data, what, Reads::Dense, sizes))
    };
    if wants("A1") {
        for mut problem in dense_problems(Data::Normal) {
            dense("A1", &mut problem, 1);
            dense("A1", &mut problem, 2);
        }
    }
    if wants("A2") {
        for mut problem in dense_problems(Data::Small) {
            dense("A2", &mut problem, 1);
        }
    }
    if wants("A3") {
        for mut problem in dense_problems(Data::Normal) {
            limit(Data::Large, "sums around 2^15", &mut problem);
            limit(Data::Constant, "products of 512", &mut problem);
        }
    }
    if wants("A4") {
        Tier::ALL.into_iter().for_each(kernel_alone);
    }
    if wants("A5") {
        for mut problem in dense_problems(Data::Normal) {
            let arrays = [2, 1].map(|number| Array::new(Numerics::M1, threads(number)));
            let [mut two, mut one] = arrays;
            against("A5", &mut problem, "2 / 1", [&mut two, &mut one]);
        }
    }
    if wants("A6") {
        for [channels, side, kernel] in [[64, 56, 3], [256, 14, 3], [32, 112, 5]] {
            let what = format!("depthwise {kernel}x{kernel}, {channels} at {side}x{side}");
            let reads = Reads::Unicast { channels: 1 };
            depthwise(&mut Problem::new(&what, reads, [channels, channels, side, kernel]));
        }
        for [outputs, side, kernel] in [[32, 224, 3], [64, 224, 7]] {
            let what = format!("{kernel}x{kernel} 3-{outputs} at {side}x{side}, stride 2");
            let same = Problem::new("", Reads::Dense, [3, outputs, side, kernel]).pass;
            let pass =
                Convolution { out_height: side / 2, out_width: side / 2, stride_y: 2, stride_x: 2, ..same };
            loops(&mut Problem::with(Data::Normal, &what, pass));
        }
        loops(&mut Problem::new("3x3 3-64 at 56x56", Reads::Dense, [3, 64, 56, 3]));
        // With as many lanes as compilers choose for so many outputs.
        for [channels, outputs, lanes] in [[512, 512, 32], [2048, 1008, 16], [4096, 4096, 32]] {
            let what = format!("one pixel, {channels} to {outputs} channels");
            vector(&mut Problem::new(&what, Reads::Dense, [channels, outputs, 1, 1]).in_lanes(lanes));
        }
    }
    if wants("C9") {
        scalar_after_kernels();
    }
}
