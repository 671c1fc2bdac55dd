//! The neural engine: convolutions, channel sums and maxima, pass-throughs (td 4.1, 4.4).

use std::ops::Range;

use super::array::{self, Tap};
use super::coefficients::{self, Coefficients};
use super::machine::Machine;
use super::numbers::{defined, half_bits, half_value, maximum, relu, round_half};
use super::operands::Tensor;
use super::tables::Table;
use super::task::{Class, Task};
use super::{Stop, refusals, stop_if};

/// The coefficient of a channel sum.
const ONE: u16 = 0x3C00;

/// What is done with the taps of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Multiply,
    ChannelSum,
    ChannelMaximum,
    PassThrough,
}

/// One axis of the kernel's way over the input.
#[derive(Debug, Clone, Copy)]
struct Axis {
    kernel: u32,
    stride: u32,
    padding: u32,
    input: u32,
    output: u32,
}

impl Axis {
    /// Elements past the far end of the input that the last output reads.
    fn far_padding(self) -> i64 {
        let [kernel, stride, padding, input, output] =
            [self.kernel, self.stride, self.padding, self.input, self.output].map(i64::from);
        (output - 1) * stride + kernel - padding - input
    }

    /// The input position of an output at a tap; none in the padding.
    fn position(self, output: u32, tap: u32) -> Option<u32> {
        (output * self.stride + tap).checked_sub(self.padding).filter(|&at| at < self.input)
    }
}

fn axes(task: &Task<'_>) -> [Axis; 2] {
    let (input, output) = (task.input(), task.output());
    let field = |high, low| task.field(0x1C, high, low);
    [
        Axis {
            kernel: field(9, 5),
            stride: field(16, 15),
            padding: field(26, 22),
            input: input.h,
            output: output.h,
        },
        Axis {
            kernel: field(4, 0),
            stride: field(14, 13),
            padding: field(21, 17),
            input: input.w,
            output: output.w,
        },
    ]
}

fn operation(task: &Task<'_>) -> Result<Operation, Stop> {
    let (low, padding_mode) = (task.field(0xC804, 3, 0), task.field(0x4800, 3, 2));
    let (operation, wanted) = match low {
        0x0 => (Operation::Multiply, 0),
        0x8 => (Operation::ChannelSum, 0),
        0xB => (Operation::ChannelMaximum, 1),
        0xC => (Operation::PassThrough, 0),
        _ => return Err(Stop::refused(0xC804, format!("operation {low:#x}"))),
    };
    // Reading: the padding mode is 1 on maximum tasks and 0 on the others, as in every program.
    stop_if(padding_mode != wanted, || Stop::refused(0x4800, format!("padding mode {padding_mode}")))?;
    Ok(operation)
}

/// The input channels of an output.
fn channels(task: &Task<'_>, output: u32) -> Range<u32> {
    if task.bit(0x24, 14) {
        let each = task.field(0x24, 31, 16);
        return output * each..(output + 1) * each;
    }
    let groups = task.field(0x24, 12, 0);
    let (group, each) = (output / (task.output().c / groups), task.input().c / groups);
    group * each..(group + 1) * each
}

fn taps(task: &Task<'_>) -> u32 {
    let [rows, columns] = axes(task);
    channels(task, 0).len() as u32 * rows.kernel * columns.kernel
}

/// Refuses what nobody knows; names the inferred behaviour that is left, each with the register that asks for it.
pub(super) fn check(task: &Task<'_>) -> Result<Vec<(u32, &'static str)>, Stop> {
    for register in [0xC804, 0xC810] {
        refusals::named_bits_only(task, register)?;
    }
    let operation = operation(task)?;
    controls(task, operation)?;
    groups(task, operation)?;
    let inferred = geometry(task, operation)?;
    if operation == Operation::Multiply {
        coefficients::check(task, taps(task))?;
    }
    if task.uses_table() {
        coefficients::check_table(task)?;
    }
    Ok(inferred)
}

fn controls(task: &Task<'_>, operation: Operation) -> Result<(), Stop> {
    let refused = |register, why: &str| Stop::refused(register, why);
    stop_if(task.field(0xC804, 17, 16) == 3, || refused(0xC804, "nonlinear mode 3"))?;
    stop_if(!matches!(task.field(0xC804, 12, 8), 0 | 28), || refused(0xC804, "binary point"))?;
    stop_if(task.bit(0xC804, 6), || refused(0xC804, "matrix bias"))?;
    stop_if(task.bit(0xC804, 14), || refused(0xC804, "post-scale mode"))?;
    stop_if(task.field(0xC810, 20, 16) != 0, || refused(0xC810, "right shift"))?;
    // Reading: a bias row leads a plane of coefficients, so there is none without.
    stop_if(task.bit(0xC804, 4) && operation != Operation::Multiply, || {
        refused(0xC804, "bias row without coefficients")
    })?;
    for register in [0xC808, 0xC80C] {
        stop_if(operation != Operation::PassThrough && task.word(register) != 0, || {
            refused(register, "nobody knows what it does outside a pass-through")
        })?;
    }
    // Reading: more than sixteen engines are refused on every neural task.
    stop_if(task.field(0x34, 21, 19) > 4, || refused(0x34, "more than sixteen engines"))
}

fn groups(task: &Task<'_>, operation: Operation) -> Result<(), Stop> {
    let (groups, each) = (task.field(0x24, 12, 0), task.field(0x24, 31, 16));
    let (input, output) = (task.input().c, task.output().c);
    if task.bit(0x24, 14) {
        stop_if(each == 0, || Stop::refused(0x24, "unicast of no channels"))?;
        // Reading: nobody says what groups of unicast outputs are.
        stop_if(groups != 1, || Stop::refused(0x24, "unicast in groups"))?;
    } else {
        stop_if(!input.is_multiple_of(groups) || !output.is_multiple_of(groups), || {
            Stop::refused(0x24, format!("{groups} groups do not divide the channels"))
        })?;
    }
    stop_if(operation == Operation::PassThrough && !(task.bit(0x24, 14) && each == 1), || {
        Stop::refused(0x24, "pass-through that is not unicast with one channel each")
    })
}

fn geometry(task: &Task<'_>, operation: Operation) -> Result<Vec<(u32, &'static str)>, Stop> {
    let axes = axes(task);
    let refused = |why: &str| Stop::refused(0x1C, why);
    stop_if(axes.iter().any(|axis| axis.kernel == 0), || refused("kernel of no taps"))?;
    stop_if(axes.iter().any(|axis| axis.stride == 0), || refused("stride 0"))?;
    stop_if(task.field(0x1C, 31, 28) != 0b0101, || refused("output step other than 1"))?;
    let plain = axes.iter().all(|axis| axis.kernel == 1 && axis.stride == 1 && axis.padding == 0);
    if operation != Operation::Multiply {
        stop_if(!plain, || refused("kernel without coefficients"))?;
        stop_if(axes.iter().any(|axis| axis.input != axis.output), || {
            Stop::refused(0x14, "output is not as large as the input")
        })?;
    }
    let wide = |axis: &Axis| axis.padding >= axis.kernel || axis.far_padding() >= i64::from(axis.kernel);
    stop_if(axes.iter().any(wide), || refused("padding as wide as the kernel"))?;
    let mut inferred = Vec::new();
    // Reading: what the last outputs read past the far end is padding as well, and so are, below zero, elements that
    // another output could have read.
    let cut = |axis: &Axis| axis.far_padding() <= -i64::from(axis.stride);
    if axes.iter().any(|axis| axis.padding > 0 || axis.far_padding() > 0 || cut(axis)) {
        inferred.push((0x1C, "padding"));
    }
    if axes.iter().any(|axis| axis.stride > 1) {
        inferred.push((0x1C, "stride"));
    }
    if task.bit(0xC804, 4) {
        inferred.push((0xC804, "bias row"));
    }
    Ok(inferred)
}

/// Runs a task that was checked.
pub(super) fn run(machine: &mut Machine, task: &Task<'_>) -> Result<(), Stop> {
    let operation = operation(task)?;
    let source = machine.source1(task, Class::Neural, 0)?;
    let coefficients = match operation {
        Operation::Multiply => Some(machine.coefficients(task, taps(task))?),
        _ => None,
    };
    let table = if task.uses_table() { Some(machine.table(task)?) } else { None };
    let mode = machine.mode;
    let result = Tensor::from_fn(task.output(), |(output, y, x)| {
        let operands = operands(task, &source, (output, y, x));
        let value = match (operation, &coefficients) {
            (Operation::ChannelMaximum, _) => {
                operands.map(half_value).reduce(maximum).expect("an output has a channel")
            }
            (Operation::PassThrough, _) => half_value(input(task, source.bits(output, y, x))),
            (_, Some(Coefficients { rows, bias })) => {
                let bias = bias.as_ref().map(|bias| bias[output as usize]);
                let taps: Vec<Tap> = operands.zip(rows[output as usize].iter().copied()).collect();
                array::reduce(mode, bias.as_slice(), &taps)
            }
            _ => array::reduce(mode, &[], &operands.map(|operand| (operand, ONE)).collect::<Vec<Tap>>()),
        };
        let scaled = defined(value * half_value(task.field(0xC810, 15, 0) as u16));
        let accumulates = matches!(operation, Operation::Multiply | Operation::ChannelSum);
        half_bits(nonlinear(task, table.as_ref(), stored(accumulates, scaled)))
    });
    let result = if task.bit(0x34, 28) { result.transposed() } else { result };
    machine.result(task, &result, 0)
}

/// The operands of an output, ascending by channel, kernel row and kernel column; +0 in the padding.
fn operands<'a>(
    task: &'a Task<'_>,
    source: &'a Tensor,
    (output, y, x): (u32, u32, u32),
) -> impl Iterator<Item = u16> + 'a {
    let [rows, columns] = axes(task);
    let kernel = move || (0..rows.kernel).flat_map(move |ky| (0..columns.kernel).map(move |kx| (ky, kx)));
    channels(task, output).flat_map(move |channel| {
        kernel().map(move |(ky, kx)| match (rows.position(y, ky), columns.position(x, kx)) {
            (Some(y), Some(x)) => input(task, source.bits(channel, y, x)),
            _ => 0,
        })
    })
}

/// An element of source 1 behind the input ReLU. Reading: what is left on chip is the element without it, and a NaN has
/// a sign here as it has in the array.
fn input(task: &Task<'_>, element: u16) -> u16 {
    if task.bit(0x4800, 0) && element >= 0x8000 { 0 } else { element }
}

/// The one rounding before the nonlinearity. What leaves the accumulator has no negative zero (numerics-array 8).
fn stored(accumulates: bool, value: f64) -> f64 {
    let rounded = round_half(value);
    if accumulates && rounded == 0.0 { 0.0 } else { rounded }
}

fn nonlinear(task: &Task<'_>, table: Option<&Table>, value: f64) -> f64 {
    match table {
        Some(table) => table.at(value),
        None if task.field(0xC804, 17, 16) == 1 => relu(value),
        None => value,
    }
}
