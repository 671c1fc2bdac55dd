//! The neural engine: convolutions, channel sums and maxima, pass-throughs (td 4.1, 4.4).

use std::ops::Range;

use super::array::{self, Tap};
use super::coefficients::{self, CoefficientLayout, Coefficients, Tables};
use super::machine::ReferenceMachine;
use super::numbers::{defined, half_bits, half_value, maximum, relu, round_half, stored};
use super::operands::OperandValues;
use super::task::{Class, EngineTask};
use super::{Mode, Stop, refusals, stop_if};

/// The coefficient of a channel sum.
const ONE: u16 = 0x3C00;

/// The operation on the taps of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TapOperation {
    Multiply,
    ChannelSum,
    ChannelMaximum,
    PassThrough,
}

impl TapOperation {
    fn accumulates(self) -> bool {
        matches!(self, Self::Multiply | Self::ChannelSum)
    }
}

/// One axis of the kernel's way over the input.
#[derive(Debug, Clone, Copy)]
struct Axis {
    kernel: u32,
    stride: u32,
    padding: u32,
    input: u32,
    output: u32,
    /// Outputs that are made side by side.
    step: u32,
}

impl Axis {
    /// Elements past the far end of the input that the last output reads.
    fn far_padding(self) -> i64 {
        let [kernel, stride, padding, input, output] =
            [self.kernel, self.stride, self.padding, self.input, self.output].map(i64::from);
        (output - 1) * stride + kernel - padding - input
    }

    /// Taps of a row of coefficients: the kernel moved along with each output that is made beside the first.
    fn taps(self) -> u32 {
        self.kernel + self.step - 1
    }

    /// The input position of an output at a tap; none in the padding. Outputs that are made side by side start from the
    /// same position.
    fn position(self, output: u32, tap: u32) -> Option<u32> {
        let first = output - output % self.step;
        (first * self.stride + tap).checked_sub(self.padding).filter(|&at| at < self.input)
    }
}

fn axes(task: &EngineTask<'_>) -> [Axis; 2] {
    let (input, output) = (task.input(), task.output());
    let field = |high, low| task.field(0x1C, high, low);
    [
        Axis {
            kernel: field(9, 5),
            stride: field(16, 15),
            padding: field(26, 22),
            input: input.h,
            output: output.h,
            step: field(31, 30),
        },
        Axis {
            kernel: field(4, 0),
            stride: field(14, 13),
            padding: field(21, 17),
            input: input.w,
            output: output.w,
            step: field(29, 28),
        },
    ]
}

fn operation(task: &EngineTask<'_>) -> Result<TapOperation, Stop> {
    let (low, padding_mode) = (task.field(0xC804, 3, 0), task.field(0x4800, 3, 2));
    let (operation, wanted) = match low {
        0x0 => (TapOperation::Multiply, 0),
        0x8 => (TapOperation::ChannelSum, 0),
        0xB => (TapOperation::ChannelMaximum, 1),
        0xC => (TapOperation::PassThrough, 0),
        _ => return Err(Stop::refused(0xC804, format!("operation {low:#x}"))),
    };
    // Reading: the padding mode is 1 on maximum tasks and 0 on the others, as in every program.
    stop_if(padding_mode != wanted, || Stop::refused(0x4800, format!("padding mode {padding_mode}")))?;
    Ok(operation)
}

/// The input channels of an output: of those of its group, all or the ones that a unicast output reads (delta C1).
fn channels(task: &EngineTask<'_>, output: u32) -> Range<u32> {
    if task.bit(0x24, 14) {
        let each = task.field(0x24, 31, 16);
        return output * each..(output + 1) * each;
    }
    0..task.input().c
}

fn taps(task: &EngineTask<'_>) -> u32 {
    let [rows, columns] = axes(task);
    channels(task, 0).len() as u32 * rows.taps() * columns.taps()
}

/// Refuses what nobody knows; names the inferred behaviour that is left, each with the register that asks for it.
pub(super) fn check(task: &EngineTask<'_>) -> Result<Vec<(u32, &'static str)>, Stop> {
    for register in [0xC804, 0xC810] {
        refusals::named_bits_only(task, register)?;
    }
    let operation = operation(task)?;
    controls(task, operation)?;
    groups(task, operation)?;
    let inferred = geometry(task, operation)?;
    if operation == TapOperation::Multiply {
        coefficients::check(task, taps(task))?;
    }
    if task.uses_table() {
        coefficients::check_table(task)?;
    }
    Ok(inferred)
}

fn controls(task: &EngineTask<'_>, operation: TapOperation) -> Result<(), Stop> {
    let refused = |register, why: &str| Stop::refused(register, why);
    stop_if(task.field(0xC804, 17, 16) == 3, || refused(0xC804, "nonlinear mode 3"))?;
    stop_if(!matches!(task.field(0xC804, 12, 8), 0 | 28), || refused(0xC804, "binary point"))?;
    stop_if(task.bit(0xC804, 6), || refused(0xC804, "matrix bias"))?;
    stop_if(task.bit(0xC804, 14), || refused(0xC804, "post-scale mode"))?;
    stop_if(task.field(0xC810, 20, 16) != 0, || refused(0xC810, "right shift"))?;
    // Reading: a bias row leads a plane of coefficients, so there is none without.
    stop_if(task.bit(0xC804, 4) && operation != TapOperation::Multiply, || {
        refused(0xC804, "bias row without coefficients")
    })?;
    stop_if(operation != TapOperation::PassThrough && task.word(0xC808) != 0, || {
        refused(0xC808, "nobody knows what it does outside a pass-through")
    })?;
    // A pass-through goes around the accumulator, a maximum has none; beside the addend lies a shift.
    let addend = if operation.accumulates() { task.field(0xC80C, 31, 16) } else { task.word(0xC80C) };
    stop_if(operation != TapOperation::PassThrough && addend != 0, || {
        refused(0xC80C, "accumulator bias that nobody knows the meaning of")
    })?;
    // Reading: more than sixteen engines are refused on every neural task.
    stop_if(task.field(0x34, 21, 19) > 4, || refused(0x34, "more than sixteen engines"))
}

fn groups(task: &EngineTask<'_>, operation: TapOperation) -> Result<(), Stop> {
    let (is_unicast, each) = (task.bit(0x24, 14), task.field(0x24, 31, 16));
    stop_if(is_unicast && each == 0, || Stop::refused(0x24, "unicast of no channels"))?;
    stop_if(operation == TapOperation::PassThrough && !(is_unicast && each == 1), || {
        Stop::refused(0x24, "pass-through that is not unicast with one channel each")
    })
}

fn geometry(task: &EngineTask<'_>, operation: TapOperation) -> Result<Vec<(u32, &'static str)>, Stop> {
    let axes = axes(task);
    let refused = |why: &str| Stop::refused(0x1C, why);
    stop_if(axes.iter().any(|axis| axis.kernel == 0), || refused("kernel of no taps"))?;
    stop_if(axes.iter().any(|axis| axis.stride == 0), || refused("stride 0"))?;
    let [rows, columns] = axes;
    // Reading: what outputs side by side do in columns, and with stride 1, is all that is known of them.
    let steps = rows.step == 1 && matches!(columns.step, 1 | 2) && (columns.step == 1 || columns.stride == 1);
    stop_if(!steps || (columns.step == 2 && operation != TapOperation::Multiply), || refused("output step"))?;
    let plain = axes.iter().all(|axis| axis.kernel == 1 && axis.stride == 1 && axis.padding == 0);
    if operation != TapOperation::Multiply {
        stop_if(!plain, || refused("kernel without coefficients"))?;
        // A pass-through of other extents writes what both have (delta 14).
        let fits =
            operation == TapOperation::PassThrough || axes.iter().all(|axis| axis.input == axis.output);
        stop_if(!fits, || Stop::refused(0x14, "output is not as large as the input"))?;
        return Ok(Vec::new());
    }
    let wide = |axis: &Axis| axis.padding >= axis.kernel || axis.far_padding() >= i64::from(axis.kernel);
    stop_if(axes.iter().any(wide), || refused("padding as wide as the kernel"))?;
    let mut inferred = Vec::new();
    // Elements that the last outputs read past the far end are padding as well (delta 3.2). Reading: if that is
    // below zero, so are elements that another output could have read.
    let cut = |axis: &Axis| axis.far_padding() <= -i64::from(axis.stride);
    // Reading: no program moves by three.
    if axes.iter().any(|axis| axis.stride > 2) {
        inferred.push((0x1C, "stride 3"));
    }
    if axes.iter().any(cut) {
        inferred.push((0x14, "padding below zero"));
    }
    // Reading: which comes first, a bias row or a factor other than one.
    if task.bit(0xC804, 4) && task.field(0xC810, 15, 0) != 0x3C00 {
        inferred.push((0xC804, "bias row beside a post-scale"));
    }
    Ok(inferred)
}

/// Runs a task that was checked, once for each group and each depth.
pub(super) fn run(machine: &mut ReferenceMachine, task: &EngineTask<'_>) -> Result<(), Stop> {
    let operation = operation(task)?;
    let layout = (operation == TapOperation::Multiply).then(|| CoefficientLayout::of(task, taps(task)));
    // Reading: coefficients and tables are fetched before the first repetition writes anything.
    let coefficients = layout.map(|layout| machine.coefficients(task, layout)).transpose()?;
    let tables = if task.uses_table() { Some(machine.tables(task, layout)?) } else { None };
    let none = Coefficients::default();
    for repetition in task.repetitions() {
        let source = machine.source1(task, Class::Neural, repetition)?;
        let coefficients = coefficients.as_ref().map_or(&none, |groups| &groups[repetition.group as usize]);
        let tables = tables.as_ref();
        let pass = Pass { mode: machine.mode, task, operation, source, coefficients, tables };
        let mut result = OperandValues::from_fn(task.output(), |index| pass.output(index));
        if operation == TapOperation::PassThrough {
            result = result.cut(task.input());
        }
        let result = if task.bit(0x34, 28) { result.transposed() } else { result };
        machine.result(task, &result, repetition)?;
    }
    Ok(())
}

/// One repetition of a task with all that it reads.
struct Pass<'a> {
    mode: Mode,
    task: &'a EngineTask<'a>,
    operation: TapOperation,
    source: OperandValues,
    coefficients: &'a Coefficients,
    tables: Option<&'a Tables>,
}

impl Pass<'_> {
    fn output(&self, (output, y, x): (u32, u32, u32)) -> u16 {
        let [_, columns] = axes(self.task);
        // Outputs that are made side by side have coefficients of their own.
        let row = output * columns.step + x % columns.step;
        let scaled = self.scaled(row, (output, y, x));
        // Reading: a value is rounded to a half before the nonlinearity, whatever is stored of it.
        let rounded = round_half(scaled);
        let rounded = if self.operation.accumulates() && rounded == 0.0 { 0.0 } else { rounded };
        let value = match self.tables {
            Some(tables) => tables.of(row).at(rounded),
            None if self.task.field(0xC804, 17, 16) == 1 => relu(rounded),
            None => rounded,
        };
        stored(self.task.result_width(), value)
    }

    /// An output before it is rounded.
    fn scaled(&self, row: u32, (output, y, x): (u32, u32, u32)) -> f64 {
        let (task, source) = (self.task, &self.source);
        let operands = operands(task, source, (output, y, x));
        let value = match self.operation {
            TapOperation::ChannelMaximum => {
                operands.map(|bits| outside(task, bits)).reduce(maximum).expect("an output has a channel")
            }
            // Beyond the input there is nothing, and nothing is written.
            TapOperation::PassThrough if y >= source.extents.h || x >= source.extents.w => 0.0,
            TapOperation::PassThrough => outside(task, source.bits(output, y, x)),
            TapOperation::Multiply => {
                let operands = operands.map(|bits| input(task, bits));
                let coefficients = self.coefficients.rows[row as usize].iter().copied();
                let bias = self.coefficients.bias.as_ref().map(|bias| bias[row as usize]);
                self.sum(bias, operands.zip(coefficients).collect())
            }
            TapOperation::ChannelSum => {
                self.sum(None, operands.map(|operand| (input(task, operand), ONE)).collect())
            }
        };
        defined(value * half_value(task.field(0xC810, 15, 0) as u16))
    }

    /// The value of the accumulator. Reading: its bias counts as the bias row does, before the first tap and in
    /// units (delta 3.5 says that it is added, and neither when nor how it is rounded).
    fn sum(&self, bias: Option<u16>, taps: Vec<Tap>) -> f64 {
        let addends: Vec<u16> = bias.into_iter().chain([self.task.field(0xC80C, 15, 0) as u16]).collect();
        array::reduce(self.mode, &addends, &taps)
    }
}

/// The operands of an output, ascending by channel, kernel row and kernel column; +0 in the padding.
fn operands<'a>(
    task: &'a EngineTask<'_>,
    source: &'a OperandValues,
    (output, y, x): (u32, u32, u32),
) -> impl Iterator<Item = u16> + 'a {
    let [rows, columns] = axes(task);
    let kernel = move || (0..rows.taps()).flat_map(move |ky| (0..columns.taps()).map(move |kx| (ky, kx)));
    channels(task, output).flat_map(move |channel| {
        kernel().map(move |(ky, kx)| match (rows.position(y, ky), columns.position(x, kx)) {
            (Some(y), Some(x)) => source.bits(channel, y, x),
            _ => 0,
        })
    })
}

/// An operand of the array behind the input ReLU, which makes an infinity of a NaN of either sign (numerics 9). Reading:
/// what is left on chip is the element without it.
fn input(task: &EngineTask<'_>, element: u16) -> u16 {
    if task.bit(0x4800, 0) { half_bits(relu(half_value(element))) } else { element }
}

/// An element that does not pass the array, behind the input ReLU: here a NaN is +infinity (numerics 9).
fn outside(task: &EngineTask<'_>, element: u16) -> f64 {
    let value = half_value(element);
    if task.bit(0x4800, 0) { relu(value) } else { value }
}
