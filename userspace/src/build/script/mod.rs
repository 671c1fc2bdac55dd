//! Graphs as text: a line for each tensor.
//!
//! ```text
//! # A convolution with ReLU, then softmax over its channels.
//! x = input 16x8x8
//! c = convolution x outputs=32 kernel=3x3 padding=1 weights=random:1 relu
//! m = mean c
//! y = softmax m
//! output y
//! ```
//!
//! A line names a tensor, an operation, its operands, and what else the operation wants as `key=value` or a word alone.
//! [`OPERATIONS`] lists them. Values are a number, which stands for all of them, `random:SEED`, or the name of an array
//! that the caller looks up. Numbers become halves: one may be rounded, but one that would become infinite is refused, and so is an
//! epsilon that would become 0. Padding is a number for all sides, or four: above, below, left and right.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod error;
mod layers;
mod operations;
mod words;

use std::collections::BTreeMap;

use half::f16;

pub use error::{Error, Why};

use words::Words;

use super::{Built, Graph, Tensor};
use crate::container::Axes;
use crate::tensor::{self, Conversion};

/// Longest script, in lines: as many as a program has tasks, near enough.
const LINES_MAX: usize = 1 << 16;

/// Most values that all lines of a script may have made for them, if nothing else is said (Chosen: 128 MiB of coefficients;
/// the program that is built of them takes a few times as much while it is built). What is made counts, and not what is
/// written: constants of an operation's own, and the zeros that rows are padded with.
pub const VALUES_MAX: u64 = 1 << 26;

/// Every operation: its form, and what it does.
pub const OPERATIONS: &[(&str, &str)] = &[
    ("input CxHxW", "a tensor that the client fills"),
    ("constant CxHxW values=V", "a tensor of constants"),
    ("scalar VALUE", "one constant, for any shape"),
    (
        "convolution X outputs=N [kernel=WxH] [stride=WxH] [dilation=WxH] [padding=P] [groups=N] weights=V [bias=V] [relu]",
        "a convolution, dense or in groups of channels, with taps side by side or apart",
    ),
    (
        "transposed_convolution X outputs=N [kernel=WxH] [stride=WxH] [dilation=WxH] [padding=P] [more=WxH] [groups=N] \
         weights=V [bias=V] [relu]",
        "each element adds the kernel times it; weights are inputs, outputs of a group, rows, columns",
    ),
    ("linear X outputs=N weights=V [bias=V] [relu]", "constant weights times the channels of X"),
    ("matmul X Y [relu]", "[M,K] times [K,N]: channels are rows, columns are columns"),
    ("batched_matmul X Y", "for each channel, rows and columns of X times those of Y"),
    (
        "attention QUERY KEY VALUE [MASK]",
        "softmax of QUERY times KEY turned over the root of its columns plus MASK, times VALUE; channels are heads",
    ),
    ("add|subtract|multiply|maximum|minimum X Y [relu]", "element by element"),
    ("divide|power X Y", "element by element, by tables; the base of a power is not below zero"),
    (
        "equal|not_equal|less|less_or_equal|greater|greater_or_equal X Y",
        "1 where the elements compare so, 0 elsewhere",
    ),
    ("select C X Y", "X where C is not 0, Y elsewhere"),
    ("not X", "1 where X is 0, 0 elsewhere"),
    ("square|abs|sign|floor|ceil|round X", "a function of each element, exact but for rounding"),
    (
        "relu|sigmoid|silu|gelu|tanh|erf|softplus|mish|exp|exp2|ln|log2|sqrt|rsqrt|reciprocal X",
        "a function of each element",
    ),
    ("softsign|hard_swish|selu X", "a function of each element, by several tasks"),
    ("elu X [alpha=A]", "elements below zero become A times their exponential less 1"),
    ("leaky_relu X slope=S", "elements below zero times S"),
    (
        "clamp X low=A high=B",
        "elements no smaller than A and no larger than B, by a table; all are B if A is larger",
    ),
    ("clip X low=A high=B", "the same by the larger and the smaller of two, on the planar engine"),
    ("affine X [scale=S] [offset=B]", "S times each element, plus B"),
    ("to_power X exponent=P", "each element to a power, by products if P is a small whole number"),
    ("transpose X", "channels and columns change places"),
    ("permute X order=AXIS,AXIS,AXIS", "the axes in another order"),
    ("reshape X CxHxW", "the same elements with other extents"),
    ("expand X CxHxW", "axes of extent 1 repeated"),
    ("tile X [channels=N] [rows=N] [columns=N]", "so many times along each axis"),
    (
        "pad X [channels=A,B] [rows=A,B] [columns=A,B] [edge=VALUE|nearest|mirrored|wrapped]",
        "so many elements before and behind; below zero, so many are cut off",
    ),
    ("take X AXIS indices=I,I...", "the elements with these indices along an axis"),
    (
        "depth_to_space|space_to_depth X block=N",
        "blocks of channels as squares of rows and columns, and back",
    ),
    ("copy X", "a part as a tensor of its own"),
    ("concat AXIS X Y...", "one behind the other"),
    ("slice X [channels=A..B] [rows=A..B]", "a part, without moving it"),
    (
        "cut X [channels=A..B:STEP] [rows=A..B:STEP] [columns=A..B:STEP]",
        "a part of any axes as a tensor of its own",
    ),
    (
        "max_pool|mean_pool X kernel=WxH [stride=WxH] [padding=P] [ceil=yes] [counts_padding=yes]",
        "the largest or the mean of a window that moves",
    ),
    (
        "sum|mean|largest X [over=plane|AXES]",
        "one value for each channel; over columns alone, for each row of it; over any axes",
    ),
    (
        "smallest|product|sum_of_squares|norm1|norm2|log_sum|log_sum_exp X over=AXES",
        "what elements along axes become; AXES are channels, rows or columns, with commas between",
    ),
    ("softmax|softmax_columns X", "over channels; over the columns of each row"),
    ("softmax_over|log_softmax X AXIS", "softmax along an axis, and its logarithm"),
    ("layer_norm|instance_norm X [epsilon=E]", "over everything; over each channel"),
    (
        "layer_norm_over X [SCALE [OFFSET]] over=AXES [epsilon=E]",
        "less the mean, over the deviation, times SCALE, plus OFFSET",
    ),
    ("rms_norm X [SCALE] over=AXES [epsilon=E]", "over the root of the mean of squares, times SCALE"),
    ("group_norm X [SCALE [OFFSET]] groups=N [epsilon=E]", "mean and deviation of groups of channels"),
];

/// Builds the program that `text` describes. `array` is asked for values by name, and told how many are wanted.
///
/// # Examples
///
/// ```
/// let text = "x = input 512x1x1\ny = softmax x\noutput y";
/// let built = ane::build::script::build(text, |name, _| Err(format!("there is no array {name}")))?;
/// assert_eq!(built.surfaces().len(), 2);
/// # Ok::<(), ane::build::script::Error>(())
/// ```
pub fn build(text: &str, array: impl FnMut(&str, u64) -> Result<Vec<f16>, String>) -> Result<Built, Error> {
    build_within(text, VALUES_MAX, array)
}

/// The same, with so many values in all for every line together.
pub fn build_within(
    text: &str,
    budget: u64,
    array: impl FnMut(&str, u64) -> Result<Vec<f16>, String>,
) -> Result<Built, Error> {
    build_and_tell(text, budget, array).map(|(built, _)| built)
}

/// The same, with what became of the numbers in the text when they were made halves.
pub fn build_and_tell(
    text: &str,
    budget: u64,
    mut array: impl FnMut(&str, u64) -> Result<Vec<f16>, String>,
) -> Result<(Built, Conversion), Error> {
    let mut script = Script::new(Graph::new(), BTreeMap::new(), &mut array);
    script.graph.set_values_max(budget);
    let mut lines = 0;
    for (line, text) in (1..).zip(text.lines()) {
        lines = line;
        let outcome = if line > LINES_MAX { Err(Why::TooLong) } else { script.line(text) };
        outcome.map_err(|why| Error { line, why })?;
    }
    let built = script.graph.build().map_err(|why| Error { line: lines + 1, why: why.into() })?;
    Ok((built, script.conversion))
}

/// Adds what one line describes to a graph: an operation, and its words. The operands are `%0`, `%1` and so on.
///
/// # Errors
///
/// [`Why`] the line is wrong; the graph stays as it was.
///
/// # Examples
///
/// ```
/// use ane::build::{Graph, Shape, script};
///
/// let mut graph = Graph::new();
/// let x = graph.input("x", Shape::new(16, 8, 8))?;
/// let y = script::add(&mut graph, "max_pool", &[x], &["%0", "kernel=2x2"], |name, _| {
///     Err(format!("there is no array {name}"))
/// })?;
/// assert_eq!(graph.shape(y)?, Shape::new(16, 4, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add(
    graph: &mut Graph,
    operation: &str,
    operands: &[Tensor],
    words: &[&str],
    mut array: impl FnMut(&str, u64) -> Result<Vec<f16>, String>,
) -> Result<Tensor, Why> {
    let tensors = (0..).zip(operands).map(|(index, &tensor)| (format!("%{index}"), tensor)).collect();
    let (before, most) = (graph.mark(), graph.values_max());
    let mut script = Script::new(std::mem::take(graph), tensors, &mut array);
    // A line by itself has what a whole script has, unless the graph has less.
    script.graph.set_values_max(most.min(script.graph.values_taken() + VALUES_MAX));
    let made = script.operation("", operation, words);
    *graph = script.graph;
    graph.set_values_max(most);
    // A word that nobody takes is noticed behind the operation, and an operation may fail half way.
    made.inspect_err(|_| graph.rewind(before))
}

/// Where a script's values come from.
type Arrays<'a> = &'a mut dyn FnMut(&str, u64) -> Result<Vec<f16>, String>;

struct Script<'a> {
    graph: Graph,
    tensors: BTreeMap<String, Tensor>,
    array: Arrays<'a>,
    /// What became of the numbers in the text.
    conversion: Conversion,
}

impl<'a> Script<'a> {
    fn new(graph: Graph, tensors: BTreeMap<String, Tensor>, array: Arrays<'a>) -> Self {
        Self { graph, tensors, array, conversion: Conversion::default() }
    }
}

impl Script<'_> {
    fn line(&mut self, line: &str) -> Result<(), Why> {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => Ok(()),
            ["output", name] => {
                let tensor = self.tensor(name)?;
                Ok(self.graph.output(name, tensor)?)
            }
            [name, "=", operation, ref words @ ..] => {
                if self.tensors.contains_key(name) {
                    return Err(Why::Twice { name: name.to_owned() });
                }
                let tensor = self.operation(name, operation, words)?;
                self.tensors.insert(name.to_owned(), tensor);
                Ok(())
            }
            _ => Err(Why::Form { wanted: "NAME = OPERATION ... or output NAME" }),
        }
    }

    fn tensor(&self, name: &str) -> Result<Tensor, Why> {
        self.tensors.get(name).copied().ok_or_else(|| Why::NoTensor { name: name.to_owned() })
    }

    fn operation(&mut self, name: &str, operation: &str, words: &[&str]) -> Result<Tensor, Why> {
        let mut words = Words::of(operation, words)?;
        let made = self.make(name, operation, &mut words)?;
        self.conversion += words.conversion;
        words.finish()?;
        Ok(made)
    }

    fn operands<const N: usize>(&self, words: &mut Words<'_>) -> Result<[Tensor; N], Why> {
        let names = std::mem::take(&mut words.operands);
        let wrong = Why::Operands { operation: words.operation.to_owned(), wanted: N, given: names.len() };
        let tensors: Vec<Tensor> = names.iter().map(|name| self.tensor(name)).collect::<Result<_, _>>()?;
        tensors.try_into().map_err(|_| wrong)
    }

    fn values(&mut self, words: &mut Words<'_>, key: &str, value: &str, count: u64) -> Result<Vec<f16>, Why> {
        // They are counted when the graph has them.
        self.graph.check_values(count)?;
        if value.parse::<f64>().is_ok() {
            return Ok(vec![words.half(key, value)?; count as usize]);
        }
        if let Some(seed) = value.strip_prefix("random:") {
            let wrong =
                |_| Why::Value { key: key.to_owned(), value: value.to_owned(), wanted: "random:SEED" };
            let seed: u64 = seed.parse().map_err(wrong)?;
            let shape = Axes { n: 1, c: 1, h: 1, w: count as u32 };
            return Ok(tensor::Tensor::random(shape, seed).into_values());
        }
        (self.array)(value, count).map_err(|why| Why::Array { name: value.to_owned(), why })
    }
}

#[cfg(test)]
mod tests;
