//! The planar engine: element by element, and one value for each channel (td 4.3).

use super::machine::ReferenceMachine;
use super::numbers::{defined, half_value, maximum, minimum, relu, stored};
use super::operands::{Extents, OperandValues, Repetition};
use super::task::{Class, EngineTask};
use super::{Stop, refusals, stop_if};

/// The registers of a planar task, as numbers.
#[derive(Debug, Clone, Copy)]
struct Chain {
    operation: u32,
    maximum: bool,
    post: u32,
    negate1: bool,
    negate2: bool,
    relu: bool,
    magnitude: bool,
    relu1: bool,
    relu2: bool,
    bias: f64,
    scale: f64,
    epsilon: f64,
    pre_scale: f64,
    final_scale: f64,
}

impl Chain {
    fn of(task: &EngineTask<'_>) -> Self {
        let half = |register, low| half_value(task.field(register, low + 15, low) as u16);
        let final_scale = f64::from(f32::from_bits(task.word(0x880C)));
        Self {
            operation: task.field(0x8800, 4, 2),
            maximum: task.field(0x8800, 1, 0) == 2,
            post: task.field(0x8800, 13, 12),
            negate1: task.bit(0x8800, 16),
            negate2: task.field(0x8800, 19, 18) == 3,
            relu: task.bit(0x8800, 5),
            magnitude: task.bit(0x8800, 6),
            relu1: task.bit(0x4800, 0),
            relu2: task.bit(0x4800, 4),
            bias: half(0x8804, 0),
            scale: half(0x8804, 16),
            epsilon: half(0x8808, 0),
            pre_scale: half(0x8808, 16),
            final_scale: if final_scale.is_nan() { f64::INFINITY } else { final_scale },
        }
    }

    /// Source 1, rectified, scaled and negated. Reading: the input ReLU is of what is read, as that of source 2.
    fn first(&self, a: f64) -> f64 {
        let a = if self.relu1 { relu(a) } else { a };
        let scaled = defined(a * self.pre_scale);
        if self.negate1 { -scaled } else { scaled }
    }

    /// Source 2, rectified and negated. Reading: in this order.
    fn second(&self, b: f64) -> f64 {
        let b = if self.relu2 { relu(b) } else { b };
        if self.negate2 { -b } else { b }
    }

    /// An element of two sources.
    fn binary(&self, a: f64, b: f64) -> f64 {
        let (a, b) = (self.first(a), self.second(b));
        match self.operation {
            0 => defined(a + b),
            1 => defined(a * b),
            2 => maximum(a, b),
            3 => minimum(a, b),
            _ => {
                let sum = defined(a + b);
                sum * sum
            }
        }
    }

    /// An element of one source.
    fn unary(&self, a: f64) -> f64 {
        let a = self.first(a);
        if self.operation == 4 { a * a } else { a }
    }

    /// The normaliser's element: the first row of source 2 is added, or subtracted if it is negated.
    fn normalised(&self, a: f64, b: f64, factor: f64) -> f64 {
        defined(defined(self.first(a) + self.second(b)) * factor)
    }

    /// The steps behind an element that is its own result.
    fn finish(&self, value: f64) -> f64 {
        let scaled = defined(defined(value + self.bias) * self.scale);
        self.rectified(defined(scaled * self.final_scale))
    }

    /// The steps behind a reduction.
    fn finish_reduced(&self, value: f64) -> f64 {
        let value = defined(defined(value * self.final_scale) + self.epsilon);
        let value = match self.post {
            1 => reciprocal(value),
            // One operation: below zero it has no value, rather than being the reciprocal of +0.
            2 if value < 0.0 => 0.0,
            2 => reciprocal(value.sqrt()),
            _ => value,
        };
        self.rectified(defined(defined(value + self.bias) * self.scale))
    }

    /// Reading: the magnitude is taken where ReLU acts, behind it, as the order of their bits is.
    fn rectified(&self, value: f64) -> f64 {
        let value = if self.relu { relu(value) } else { value };
        if self.magnitude { value.abs() } else { value }
    }
}

/// `1 / x`; of both zeros it is +infinity (numerics 11).
fn reciprocal(value: f64) -> f64 {
    if value == 0.0 { f64::INFINITY } else { 1.0 / value }
}

/// Checks and runs a task.
pub(super) fn run(machine: &mut ReferenceMachine, task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    check(task, class)?;
    let chain = Chain::of(task);
    // A batch is the task repeated with every base moved on (td 4.3).
    for repetition in task.repetitions() {
        let transposed = |tensor: OperandValues, is: bool| if is { tensor.transposed() } else { tensor };
        // A source that is broadcast along depth has one.
        let at_depth =
            |bit| Repetition { depth: if task.bit(0x30, bit) { 0 } else { repetition.depth }, ..repetition };
        let first = machine.source1(task, class, at_depth(2))?;
        let first = transposed(first, task.source1_transposed());
        let second = if class.has_source2() {
            let second = machine.source2(task, class, at_depth(6))?;
            Some(transposed(second, task.source2_transposed()))
        } else {
            None
        };
        let result = result(task, class, &chain, &first, second.as_ref());
        let result = if task.bit(0x30, 10) { result.transposed() } else { result };
        machine.result(task, &result, repetition)?;
    }
    Ok(())
}

fn result(
    task: &EngineTask<'_>,
    class: Class,
    chain: &Chain,
    first: &OperandValues,
    second: Option<&OperandValues>,
) -> OperandValues {
    let element = |(c, y, x)| {
        let a = first.broadcast(c, y, x);
        match second {
            Some(second) if class == Class::Normalise => {
                chain.normalised(a, second.broadcast(c, 0, x), second.broadcast(c, 1, x))
            }
            Some(second) => chain.binary(a, second.broadcast(c, y, x)),
            None => chain.unary(a),
        }
    };
    let extents = task.output();
    if !class.reduces() {
        return OperandValues::from_fn(extents, |index| {
            stored(task.result_width(), chain.finish(element(index)))
        });
    }
    OperandValues::from_fn(Extents { c: extents.c, h: 1, w: 1 }, |(c, ..)| {
        let elements = Extents { c: 1, ..extents }.indices().map(|(_, y, x)| element((c, y, x)));
        let reduced = if chain.maximum {
            elements.reduce(maximum).expect("a channel has an element")
        } else {
            elements.fold(0.0, |sum, element| defined(sum + element))
        };
        stored(task.result_width(), chain.finish_reduced(reduced))
    })
}

fn check(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    for register in [0x2C, 0x30, 0x8800] {
        refusals::named_bits_only(task, register)?;
    }
    stop_if(task.input().c != task.output().c, || Stop::refused(0x10, "channels in and out differ"))?;
    stop_if(task.word(0x00) != task.word(0x14), || Stop::refused(0x14, "input and output differ"))?;
    // Reading: kernel, stride, padding and unicast of a planar task are those of every program.
    let kernel = task.word(0x1C) & !(7 << 10);
    stop_if(kernel != 0x5000_A021, || Stop::refused(0x1C, "planar task with a kernel"))?;
    stop_if(task.bit(0x24, 14), || Stop::refused(0x24, "unicast on a planar task"))?;
    stop_if(task.bit(0x34, 28), || Stop::refused(0x34, "neural transpose on a planar task"))?;
    let (reduces, elementwise) = (task.field(0x8800, 1, 0) == 2, task.field(0x8800, 4, 2) == 2);
    // A task that gives each element by itself pads nothing, so the mode is one that it does not use (delta 14). Reading:
    // it may be either of the two that programs have, and a sum of maxima may count as a maximum task or not.
    let padding_modes: &[u32] = match (reduces, elementwise || !class.reduces()) {
        (true, _) => &[1],
        (false, true) => &[0, 1],
        (false, false) => &[0],
    };
    stop_if(!padding_modes.contains(&task.field(0x4800, 3, 2)), || Stop::refused(0x4800, "padding mode"))?;
    operation(task, class)?;
    reduction(task, class)
}

fn operation(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    let (operation, selector) = (task.field(0x8800, 4, 2), task.field(0x8800, 19, 18));
    let selected = if class.has_source2() { selector >= 2 } else { selector == 0 };
    stop_if(!selected, || Stop::refused(0x8800, format!("selector {selector} of source 2")))?;
    let known = match class {
        Class::Normalise => operation == 0,
        Class::Binary | Class::BinaryReduce => operation <= 4,
        _ => matches!(operation, 0 | 4),
    };
    stop_if(!known, || Stop::refused(0x8800, format!("operation {operation}")))?;
    // No rule is needed for one row, and a transposed source 2 has its rows anyway (delta C3, 14).
    let has_rows = task.bit(0x30, 5) || task.source2_transposed() || task.input().h == 1;
    stop_if(class == Class::Normalise && !has_rows, || {
        Stop::refused(0x30, "source 2 of a normaliser is not broadcast along the rows")
    })
}

fn reduction(task: &EngineTask<'_>, class: Class) -> Result<(), Stop> {
    let (reduction, post) = (task.field(0x8800, 1, 0), task.field(0x8800, 13, 12));
    let epsilon = task.field(0x8808, 15, 0);
    if class.reduces() {
        stop_if(matches!(reduction, 1 | 3), || Stop::refused(0x8800, format!("reduction {reduction}")))?;
        return stop_if(post == 3, || Stop::refused(0x8800, "post function 3"));
    }
    stop_if(reduction != 0 || post != 0, || Stop::refused(0x8800, "reduction in a task without one"))?;
    stop_if(epsilon != 0, || Stop::refused(0x8808, "epsilon in a task without a reduction"))
}
