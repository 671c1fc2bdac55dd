//! `examples/probes/`: small programs whose results decide what is open about the array's arithmetic.
//!
//! Each row of "Open" in docs/numerics.md is a question with two possible answers in bits. A probe is a program with its
//! operands and these answers; `run.py` in the same folder runs them on an engine and says which answer it gave. On an M1 that
//! settles the question; on the virtual engine all answers are those of the rules.

use std::fmt::Write as _;

use ane::build::{
    BuildError, Built, Convolution, Element, Graph, Over, Reduce, Shape, Tail, Tensor, Weights,
};
use anyhow::{Context, Result};
use half::f16;

/// The bits of 1.
const ONE: u16 = 0x3c00;

/// The function that a probe applies to its operand `x`.
enum Work {
    /// A convolution with every coefficient `weight`.
    Convolution { kernel: (u32, u32), weight: u16, bias: Option<u16>, post_scale: u16 },
    /// The sum over the channels, without coefficients.
    ChannelSum,
    /// The planar engine's sum over the columns.
    PlanarSum,
    /// `x` as a row, times a column of ones; both are operands.
    Product,
}

const POINT: Work = Work::Convolution { kernel: (1, 1), weight: ONE, bias: None, post_scale: ONE };

struct Probe {
    /// The row of the table that it belongs to, with a letter where the row has several.
    row: &'static str,
    question: &'static str,
    work: Work,
    shape: [u32; 3],
    operand: Vec<u16>,
    /// The bits that the rules give, and the bits of the other answer.
    rules: &'static str,
    otherwise: &'static str,
}

/// Sixteen times a large number, its opposite and one.
fn cancelling() -> Vec<u16> {
    [0x6c00, 0xec00, ONE].repeat(16)
}

/// 2048 and 1, with zeros to as many halves as the other operand of its row has.
fn tie() -> Vec<u16> {
    let mut halves = vec![0x6800, ONE];
    halves.resize(48, 0);
    halves
}

fn convolution(weight: u16, bias: Option<u16>, post_scale: u16) -> Work {
    Work::Convolution { kernel: (1, 1), weight, bias, post_scale }
}

/// The first two rows ask the same of four programs.
fn four(
    rows: [&'static str; 4],
    question: &'static str,
    halves: &dyn Fn() -> Vec<u16>,
    [rules, otherwise]: [&'static str; 2],
) -> Vec<Probe> {
    let works = [POINT, Work::ChannelSum, Work::PlanarSum, Work::Product];
    let shapes = [[48, 1, 1], [48, 1, 1], [1, 1, 48], [1, 1, 48]];
    let each = rows.into_iter().zip(works).zip(shapes);
    each.map(|((row, work), shape)| Probe { row, question, work, shape, operand: halves(), rules, otherwise })
        .collect()
}

fn all() -> Vec<Probe> {
    let channels = |halves: &[u16]| ([u32::try_from(halves.len()).unwrap_or(0), 1, 1], halves.to_vec());
    let one = |row, question, work, halves: &[u16], rules, otherwise| {
        let (shape, operand) = channels(halves);
        Probe { row, question, work, shape, operand, rules, otherwise }
    };
    let mut probes = four(
        ["1a", "1b", "1c", "1d"],
        "16 ones survive beside 4096 and -4096",
        &cancelling,
        ["4c00", "4400"],
    );
    probes.extend(four(["2a", "2b", "2c", "2d"], "2049 is rounded away from zero", &tie, ["6801", "6800"]));
    probes.extend([
        one("3", "a bias is rounded to units", convolution(ONE, Some(0x0080), ONE), &[0], "0100", "0080"),
        one(
            "4",
            "the bias is in the accumulator first",
            convolution(ONE, Some(0xf400), ONE),
            &[0x7400, 0x7400],
            "7400",
            "7c00",
        ),
        one("5", "one tap overflows at 2^15", POINT, &[0x78e2], "7c00", "78e2"),
        one("6", "overflow is tested after every tap", POINT, &[0x7400, 0, 0x7400, 0xf400], "7c00", "7400"),
        Probe {
            row: "7",
            question: "the channel is outermost in the order of taps",
            work: Work::Convolution { kernel: (2, 1), weight: ONE, bias: None, post_scale: ONE },
            shape: [2, 1, 2],
            operand: vec![0x7400, 0xf400, 0x7400, 0],
            rules: "7400",
            otherwise: "7c00",
        },
        one("8a", "infinity is 65536", convolution(0x2c00, None, ONE), &[0x7c00], "6c00", "7c00"),
        one("8b", "a NaN is a number", convolution(0x2c00, None, ONE), &[0x7e00], "6e00", "7c00"),
        one(
            "9",
            "the post-scale comes before the rounding",
            convolution(ONE, None, 0x3a00),
            &[0x6c00, 0x4000],
            "6a01",
            "6a02",
        ),
        one(
            "10",
            "the post-scale is not limited to 2^15",
            convolution(ONE, None, 0x4000),
            &[0x74e2],
            "78e2",
            "7c00",
        ),
        one(
            "11",
            "products of two operands are rounded alike",
            Work::Product,
            &[0x0080],
            "0100",
            "0080 0000",
        ),
        one(
            "12",
            "the first overflow decides the sign",
            POINT,
            &[0x7400, 0x7400, 0xf400, 0xf400, 0xf400, 0xf400],
            "7c00",
            "fc00",
        ),
    ]);
    probes
}

/// The program of a probe; a product has a second operand `ones`.
fn build(probe: &Probe) -> Result<Built, BuildError> {
    let [c, h, w] = probe.shape;
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(c, h, w))?;
    let y = match probe.work {
        Work::Convolution { kernel, weight, bias, post_scale } => {
            convolve(&mut graph, x, c, (kernel, weight, bias, post_scale))?
        }
        Work::ChannelSum => graph.channel_sum(x, Tail::NONE)?,
        Work::PlanarSum => graph.reduce(x, Element::COPY, Reduce::SUM, Over::Columns)?,
        Work::Product => {
            let ones = graph.input("ones", Shape::new(w.max(c), 1, 1))?;
            graph.matmul(x, ones, Tail::NONE)?
        }
    };
    graph.output("y", y)?;
    graph.build()
}

fn convolve(
    graph: &mut Graph,
    x: Tensor,
    channels: u32,
    (kernel, weight, bias, post_scale): ((u32, u32), u16, Option<u16>, u16),
) -> Result<Tensor, BuildError> {
    let weights = vec![f16::from_bits(weight); (channels * kernel.0 * kernel.1) as usize];
    let bias = bias.map(|bias| [f16::from_bits(bias)]);
    let tail = Tail { post_scale: f16::from_bits(post_scale), ..Tail::NONE };
    let convolution = Convolution {
        bias: bias.as_ref().map(<[f16; 1]>::as_slice),
        tail,
        ..Convolution::new(1, kernel, Weights::Half(&weights))
    };
    graph.convolution(x, &convolution)
}

/// The files of the folder: a program for each probe, and the list that the script reads.
pub fn render() -> Result<Vec<(String, Vec<u8>)>> {
    let mut list = String::from(
        "# row | program | channels x rows x columns | operand | rules | otherwise | question\n",
    );
    let mut files = Vec::new();
    for probe in all() {
        let built = build(&probe).with_context(|| format!("probe {}", probe.row))?;
        let name = format!("probe-{}.anec", probe.row);
        let [c, h, w] = probe.shape;
        let halves: Vec<String> = probe.operand.iter().map(|half| format!("{half:04x}")).collect();
        writeln!(
            list,
            "{} | {name} | {c}x{h}x{w} | {} | {} | {} | {}",
            probe.row,
            halves.join(" "),
            probe.rules,
            probe.otherwise,
            probe.question
        )?;
        files.push((format!("examples/probes/{name}"), built.to_anec()?));
    }
    files.push(("examples/probes/probes.txt".to_owned(), list.into_bytes()));
    Ok(files)
}
