//! Random programs of the builder: chains of a few operations over tensors of any shape, in any place.
//!
//! The device has to run all that the builder makes: here a refusal is a fault of one of the two.

mod chains;
mod convolution;
mod elementwise;
mod making;
mod neural;
pub mod surface;
mod values;

use ane::build::{BuildError, Built, Element, Placement, Shape, Tensor};
use ane::container::Role;
use ane_device::options::Numerics;
use ane_uapi::hw::nid::Nid;

use self::making::{GraphMaker, GraphOperand};
use self::values::ValueKind;
use super::{Case, ProgramEnd};
use crate::random::Random;

/// The first device address.
const FIRST: u32 = 0x10_0000;

/// From one region to the next: its bytes in whole pages, and a page where nothing is, so that who leaves a region
/// faults.
const PAGE: u32 = 0x4000;

/// A program and what it came from.
pub struct BuiltCase {
    /// Each operation with the shapes that went in and came out.
    pub steps: Vec<String>,
    pub built: Built,
    /// The program with its memory.
    pub case: Case,
}

/// An operation on a tensor; others that it takes, it makes or looks for itself.
type BuilderOperation = fn(&mut GraphMaker, GraphOperand) -> Result<Tensor, BuildError>;

/// Every operation that the builder offers, by name.
const OPERATIONS: [(&str, BuilderOperation); 22] = [
    ("binary", elementwise::binary),
    ("unary", elementwise::unary),
    ("normalise", elementwise::normalise),
    ("reduce", elementwise::reduce),
    ("binary reduce", elementwise::binary_reduce),
    ("sum of squares", elementwise::sum_of_squares),
    ("convolution", convolution::convolution),
    ("linear", convolution::linear),
    ("matrix product", convolution::matmul),
    ("product from the right", convolution::matmul_right),
    ("pass-through", neural::pass_through),
    ("activation", neural::activation),
    ("exponential", neural::exponential),
    ("logarithm", neural::logarithm),
    ("channel reduction", neural::across_channels),
    ("concatenation", neural::concat),
    ("slice", neural::slice),
    ("fold", neural::fold),
    ("softmax", chains::softmax),
    ("column softmax", chains::softmax_columns),
    ("norm", chains::norm),
    ("column norm", chains::layer_norm_columns),
];

/// The names of all operations, as [`BuiltCase::steps`] begin with them.
pub fn operations() -> impl Iterator<Item = &'static str> {
    OPERATIONS.into_iter().map(|(name, _)| name)
}

/// Times that a program is drawn again before it is an error that the builder refuses each.
const DRAWS: u32 = 32;

impl BuiltCase {
    /// Compares both engines on it.
    ///
    /// # Errors
    ///
    /// In words, the first difference, or that it does not run to its end.
    pub fn compare(&self) -> Result<ProgramEnd, String> {
        let difference = match self.case.compare() {
            Ok(ProgramEnd::Done) => return Ok(ProgramEnd::Done),
            Ok(_) => format!("{:x?} on the device", self.case.on_device().0),
            Err(difference) => difference,
        };
        Err(format!("{difference}\n  {}", self.steps.join("\n  ")))
    }
}

/// The program of a seed.
///
/// # Panics
///
/// If the builder refuses it for a reason that the operations should have kept away from.
pub fn program(seed: u64) -> BuiltCase {
    of_seed(seed, draw)
}

/// The program of a seed, with a tensor beside it that takes nearly all of the chip from the first task to the last.
///
/// # Panics
///
/// As [`program`].
pub fn crowded_program(seed: u64) -> BuiltCase {
    of_seed(seed, |making| {
        let crowd = crowd(making)?;
        draw(making)?;
        let copy = making.graph.unary(crowd, Element::COPY)?;
        making.graph.output("crowd", copy)
    })
}

fn of_seed(seed: u64, draw: impl Fn(&mut GraphMaker) -> Result<(), BuildError>) -> BuiltCase {
    let mut random = Random::new(seed);
    for _ in 0..DRAWS {
        let mut making = GraphMaker::new(random.next());
        match draw(&mut making).and_then(|()| making.graph.build()) {
            Ok(built) => {
                let case = case(&mut random, making.values, &built);
                return BuiltCase { steps: making.steps, built, case };
            }
            // A tensor that several passes write in parts may have been interleaved, and what is bound to the chip may
            // not fit beside a crowd.
            Err(BuildError::InsidePlane { .. } | BuildError::WorkingSet { .. }) => {}
            Err(refused) => panic!("program {seed}: {refused}\n  {}", making.steps.join("\n  ")),
        }
    }
    panic!("program {seed} is refused however often it is drawn")
}

/// Makes a tensor on chip that leaves 4 to 24 KB for others. It has many short rows, so that its windows are small.
fn crowd(making: &mut GraphMaker) -> Result<Tensor, BuildError> {
    // Each row takes 64 bytes: 16 of each channel.
    let left = making.between(64, 384);
    let input = making.graph.input("crowd of", Shape::new(4, 0x8000 - left, 1))?;
    let crowd = making.graph.relu(input)?;
    making.graph.place(crowd, Placement::Chip)?;
    Ok(crowd)
}

/// Draws a chain of one to five operations.
fn draw(making: &mut GraphMaker) -> Result<(), BuildError> {
    let shape = making.shape();
    making.input(shape)?;
    let count = 1 + making.random.below(5);
    let mut last = making.operands[0];
    for index in 0..count {
        let from = if making.random.below(3) == 0 { making.any() } else { last };
        last = step(making, from, index + 1 == count)?;
    }
    // Parts, inputs and what is bound to the chip cannot be outputs, but copies of them can.
    if making.graph.output("result", last.tensor).is_err() {
        let copy = making.graph.unary(last.tensor, Element::COPY)?;
        making.graph.output("result", copy)?;
    }
    if making.random.below(2) == 0 {
        let other = making.any();
        // The same reasons; then there is one output.
        let _ = making.graph.output("other", other.tensor);
    }
    Ok(())
}

/// One operation, drawn again where a tensor lies where the operation does not take it.
fn step(making: &mut GraphMaker, from: GraphOperand, is_last: bool) -> Result<GraphOperand, BuildError> {
    loop {
        let (name, operation) = OPERATIONS[making.random.below(OPERATIONS.len() as u32) as usize];
        let (graph, operands) = (making.graph.clone(), making.operands.clone());
        match operation(making, from) {
            Ok(tensor) => return keep(making, name, from, tensor, is_last),
            Err(BuildError::Place { .. }) => (making.graph, making.operands) = (graph, operands),
            Err(refused) => {
                making.steps.push(format!("{name} of {}", making.graph.shape(from.tensor)?));
                return Err(refused);
            }
        }
    }
}

/// Notes a step, and says where its result shall lie.
fn keep(
    making: &mut GraphMaker,
    name: &str,
    from: GraphOperand,
    tensor: Tensor,
    is_last: bool,
) -> Result<GraphOperand, BuildError> {
    let mut operand = GraphOperand { tensor, interleave: making.interleave_of(name, from) };
    let mut wish = String::new();
    match making.random.below(8) {
        0 if !is_last && making.graph.place(tensor, Placement::Chip).is_ok() => wish.push_str(", on chip"),
        1 if making.graph.place(tensor, Placement::Scratch).is_ok() => wish.push_str(", in scratch memory"),
        2 if !is_last => {
            let interleave = 1 + making.random.below(15);
            if operand.interleave == 1 && making.graph.interleave(tensor, interleave).is_ok() {
                operand.interleave = interleave;
                wish = format!(", interleaved by {interleave}");
            }
        }
        _ => {}
    }
    let (before, after) = (making.graph.shape(from.tensor)?, making.graph.shape(tensor)?);
    making.steps.push(format!("{name} of {before}: {after}{wish}"));
    making.operands.push(operand);
    Ok(operand)
}

/// A built program with memory that is filled at random, results and scratch too.
fn case(random: &mut Random, values: ValueKind, built: &Built) -> Case {
    let program = built.program();
    let (mut bars, mut regions, mut next) = ([0; 32], Vec::new(), FIRST);
    for bar in &program.bars {
        let bytes = match bar.role {
            Role::Tasks => {
                let mut stream = built.stream().to_vec();
                stream[2] = Nid::LINUX.number();
                stream
            }
            Role::Constants(_) => built.constants().to_vec(),
            _ => values.bytes(random, bar.bytes),
        };
        bars[usize::from(bar.index)] = next;
        let pages = (bytes.len() as u32).div_ceil(PAGE);
        regions.push((next, bytes));
        next += (pages + 1) * PAGE;
    }
    let numerics = if random.below(4) == 0 { Numerics::Exact } else { Numerics::M1 };
    let tasks = program.task_count as u16;
    Case { regions, bars, first_words: program.first_task_bytes / 4, tasks, numerics }
}
