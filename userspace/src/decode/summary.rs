//! One line that says what a task does.

use ane_uapi::hw::td::common::{self, TaskClass};
use ane_uapi::hw::td::l2;
use ane_uapi::hw::td::neural::{self, NonlinearMode, OpMode};
use ane_uapi::hw::td::planar::{self, Operation, PostFunction, Reduction, SecondSource};
use half::f16;

use super::registers::RegisterFile;

/// The operation of the task, from the register file as it stands when the task runs.
pub(super) fn summary(file: &RegisterFile) -> String {
    let class = file.or_reset(&common::CFG).class();
    let what = match TaskClass::try_from(class) {
        Ok(TaskClass::Neural) => format!("neural {}", neural(file)),
        Ok(TaskClass::PlanarCopy | TaskClass::PlanarBinary) => format!("planar {}", elementwise(file)),
        Ok(TaskClass::PlanarNormalise) => format!("planar normalise, {}", normalise(file)),
        Ok(TaskClass::PlanarReduce | TaskClass::PlanarBinaryReduce) => format!("planar {}", reduction(file)),
        Err(_) => format!("task class {class}, which no source explains"),
    };
    let times = match file.or_reset(&common::GROUP_CONV_CFG).num_groups() {
        0 | 1 => String::new(),
        groups => format!(", {groups} times"),
    };
    format!("{what}{times}; {}", shapes(file))
}

fn neural(file: &RegisterFile) -> String {
    let mac = file.or_reset(&neural::MAC_CFG);
    let conv = file.or_reset(&common::CONV_CFG);
    let before = if file.or_reset(&l2::L2_CFG).input_relu() { "relu, then " } else { "" };
    let what = match (OpMode::try_from(mac.op_mode()), mac.unity_kernel()) {
        (Ok(OpMode::MultiplyAccumulate), false) => format!("{}x{} convolution", conv.kw(), conv.kh()),
        (Ok(OpMode::MultiplyAccumulate), true) => "channel sum".to_owned(),
        (Ok(OpMode::Maximum), _) => "channel maximum".to_owned(),
        (Ok(OpMode::PassThrough), _) => "pass-through".to_owned(),
        (Err(_), _) => format!("operation mode {}, which no source explains", mac.op_mode()),
    };
    let post = file.or_reset(&neural::POST_SCALE);
    let times = match half(post.scale()) {
        1.0 => String::new(),
        scale => format!(", times {scale}"),
    };
    let then = match NonlinearMode::try_from(mac.nonlinear_mode()) {
        Ok(NonlinearMode::None) => "",
        Ok(NonlinearMode::Relu) => ", then relu",
        Ok(NonlinearMode::Table) => ", then an activation table",
        Err(_) => ", then a nonlinearity that no source explains",
    };
    format!("{before}{what}{times}{then}")
}

/// A planar task without a reduction.
fn elementwise(file: &RegisterFile) -> String {
    match finished(file, times(biased(file, operation(file)), final_scale(file))) {
        plain if plain == "a" => "copy".to_owned(),
        relu if relu == "a, then relu" => "copy, then relu".to_owned(),
        what => what,
    }
}

fn normalise(file: &RegisterFile) -> String {
    let (a, b) = (first(file), second(file).unwrap_or_else(|| "nothing".to_owned()));
    finished(file, times(biased(file, format!("({}) * s", sum(&a, &b))), final_scale(file)))
}

/// The operation on the sources, without what comes behind it.
fn operation(file: &RegisterFile) -> String {
    let cfg = file.or_reset(&planar::PE_CFG);
    let (a, b) = (first(file), second(file));
    let other = || b.as_deref().unwrap_or("nothing");
    match (Operation::try_from(cfg.operation()), &b) {
        (Ok(Operation::Add), None) => a,
        (Ok(Operation::Add), Some(b)) => sum(&a, b),
        (Ok(Operation::SumSquared), None) => format!("{}^2", factor(&a)),
        (Ok(Operation::SumSquared), Some(b)) => format!("({})^2", sum(&a, b)),
        (Ok(Operation::Multiply), _) => format!("{a} * {}", other()),
        (Ok(Operation::Maximum), _) => format!("max({a}, {})", other()),
        (Ok(Operation::Minimum), _) => format!("min({a}, {})", other()),
        (Err(_), _) => format!("operation {}, which no source explains", cfg.operation()),
    }
}

/// Source 1, as the operation gets it.
fn first(file: &RegisterFile) -> String {
    let a = if file.or_reset(&l2::L2_CFG).input_relu() { "relu(a)" } else { "a" };
    let sign = if file.or_reset(&planar::PE_CFG).negate_src1() { "-" } else { "" };
    match half(file.or_reset(&planar::EPSILON_PRE_SCALE).pre_scale()) {
        1.0 => format!("{sign}{a}"),
        scale => format!("{sign}{scale} * {a}"),
    }
}

/// Source 2, where the task has one.
fn second(file: &RegisterFile) -> Option<String> {
    let b = if file.or_reset(&l2::L2_CFG).src2_relu() { "relu(b)" } else { "b" };
    match SecondSource::try_from(file.or_reset(&planar::PE_CFG).second_source()) {
        Ok(SecondSource::Absent) => None,
        Ok(SecondSource::AsIs) => Some(b.to_owned()),
        Ok(SecondSource::Negated) => Some(format!("-{b}")),
        Err(_) => Some(format!("{b} (selector unknown)")),
    }
}

fn reduction(file: &RegisterFile) -> String {
    let cfg = file.or_reset(&planar::PE_CFG);
    let over = match Reduction::try_from(cfg.reduction()) {
        Ok(Reduction::Sum) => "sum over rows and columns",
        Ok(Reduction::Maximum) => "maximum over rows and columns",
        Err(_) => "reduction that no source explains",
    };
    let mut what = match operation(file) {
        plain if plain == "a" => over.to_owned(),
        operation => format!("{operation}, then {over}"),
    };
    let mut then = |is_there: bool, text: String| {
        if is_there {
            what.push_str(&text);
        }
    };
    let scale = final_scale(file);
    then(scale != 1.0, format!(", times {scale}"));
    let epsilon = half(file.or_reset(&planar::EPSILON_PRE_SCALE).epsilon());
    then(epsilon != 0.0, format!(", plus {epsilon}"));
    let (is_there, post) = match PostFunction::try_from(cfg.post_function()) {
        Ok(PostFunction::None) => (false, ""),
        Ok(post) => (true, post.name()),
        Err(_) => (true, "a function that no source explains"),
    };
    then(is_there, format!(", then {post}"));
    let behind = file.or_reset(&planar::BIAS_SCALE);
    let (bias, scale) = (half(behind.bias()), half(behind.scale()));
    then(bias != 0.0, format!(", plus {bias}"));
    then(scale != 1.0, format!(", times {scale}"));
    finished(file, what)
}

/// A number or operation with bias and scale behind it.
fn biased(file: &RegisterFile, what: String) -> String {
    let behind = file.or_reset(&planar::BIAS_SCALE);
    let what = match half(behind.bias()) {
        0.0 => what,
        bias if bias < 0.0 => format!("{what} - {}", -bias),
        bias => format!("{what} + {bias}"),
    };
    times(what, half(behind.scale()))
}

fn times(what: String, scale: f32) -> String {
    if scale == 1.0 { what } else { format!("{} * {scale}", factor(&what)) }
}

/// The end of every planar task: magnitude and ReLU.
fn finished(file: &RegisterFile, what: String) -> String {
    let cfg = file.or_reset(&planar::PE_CFG);
    let what = if cfg.magnitude() { format!("|{what}|") } else { what };
    if cfg.relu() { format!("{what}, then relu") } else { what }
}

/// The sum of two, of which the second may have a sign.
fn sum(a: &str, b: &str) -> String {
    match b.strip_prefix('-') {
        Some(b) => format!("{a} - {b}"),
        None => format!("{a} + {b}"),
    }
}

/// In parentheses, unless it is one thing already.
fn factor(what: &str) -> String {
    let is_call = ["max(", "min("].iter().any(|call| what.starts_with(call)) && what.ends_with(')');
    if is_call || !what.contains(' ') && !what.starts_with('-') {
        what.to_owned()
    } else {
        format!("({what})")
    }
}

fn half(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

fn final_scale(file: &RegisterFile) -> f32 {
    f32::from_bits(file.or_reset(&planar::FINAL_SCALE).scale())
}

fn shapes(file: &RegisterFile) -> String {
    let input = file.or_reset(&common::IN_DIM);
    let output = file.or_reset(&common::OUT_DIM);
    format!(
        "{}x{}x{} -> {}x{}x{} (CxHxW)",
        file.or_reset(&common::C_IN).channels(),
        input.height(),
        input.width(),
        file.or_reset(&common::C_OUT).channels(),
        output.height(),
        output.width(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{BuildError, Element, Graph, Over, Reduce, Shape, Tensor};
    use crate::decode::Report;

    /// The operation of the last task, without the shapes.
    fn told(make: impl FnOnce(&mut Graph, Tensor, Tensor) -> Result<Tensor, BuildError>) -> String {
        let mut graph = Graph::new();
        let [a, b] = ["a", "b"].map(|name| graph.input(name, Shape::new(4, 4, 8)).unwrap());
        let result = make(&mut graph, a, b).unwrap();
        graph.output("result", result).unwrap();
        let built = graph.build().unwrap();
        let report = Report::of(&built.program());
        let summary = &report.tasks.last().unwrap().summary;
        summary.split_once(';').unwrap().0.to_owned()
    }

    #[test]
    fn elementwise_task_is_told_with_all_that_it_does() {
        let half = f16::from_f32;
        assert_eq!(told(|graph, a, _| graph.unary(a, Element::COPY)), "planar copy");
        assert_eq!(told(|graph, a, _| graph.unary(a, Element::COPY.relu())), "planar copy, then relu");
        assert_eq!(told(|graph, a, _| graph.unary(a, Element::SQUARE)), "planar a^2");
        let scaled = Element::COPY.then(half(-0.5), half(2.0));
        assert_eq!(told(|graph, a, _| graph.unary(a, scaled)), "planar (a - 0.5) * 2");
        assert_eq!(told(|graph, a, b| graph.binary(a, b, Element::SUBTRACT)), "planar a - b");
        let scaled = Element { pre_scale: half(0.5), ..Element::ADD.then(half(0.0), half(4.0)).relu() };
        assert_eq!(told(|graph, a, b| graph.binary(a, b, scaled)), "planar (0.5 * a + b) * 4, then relu");
        let largest = Element::MAXIMUM.then(half(0.0), half(3.0));
        assert_eq!(told(|graph, a, b| graph.binary(a, b, largest)), "planar max(a, b) * 3");
    }

    #[test]
    fn reduction_is_told_with_what_comes_before_and_behind_it() {
        let of = |element, reduce| told(|graph, a, _| graph.reduce(a, element, reduce, Over::Plane));
        assert_eq!(of(Element::COPY, Reduce::SUM), "planar sum over rows and columns");
        assert_eq!(of(Element::COPY, Reduce::MEAN), "planar sum over rows and columns, times 0.03125");
        assert_eq!(of(Element::SQUARE, Reduce::SUM), "planar a^2, then sum over rows and columns");
        let deviation = Reduce::MEAN.then(f16::ONE, PostFunction::ReciprocalSquareRoot);
        assert_eq!(
            of(Element::SQUARE, deviation),
            "planar a^2, then sum over rows and columns, times 0.03125, plus 1, then 1 / sqrt(x)"
        );
    }
}
