//! One line's operation: what of the builder a name stands for. `layers.rs` beside has those that are several passes.

use ane_uapi::hw::td::activation::ActivationTable;
use half::f16;

use super::words::{Words, axes, axis, count, extents, number, range, shape, zeros};
use super::{Script, Why, layers};
use crate::build::{
    Axis, Channels, Convolution, Element, Over, Padding, Reduce, Tail, Tensor, Weights, activation,
};

impl Script<'_> {
    pub(super) fn make(&mut self, name: &str, operation: &str, words: &mut Words<'_>) -> Result<Tensor, Why> {
        if let Some(element) = element(operation) {
            let [a, b] = self.operands(words)?;
            return Ok(self.graph.binary(a, b, Element { relu: words.has("relu"), ..element })?);
        }
        if let Some(table) = table(operation) {
            let [x] = self.operands(words)?;
            return Ok(self.graph.activation(x, table())?);
        }
        let graph = match operation {
            "input" => {
                let shape = shape("shape", words.only()?)?;
                return Ok(self.graph.input(name, shape)?);
            }
            "scalar" => {
                let value = number("value", words.only()?)?;
                return Ok(self.graph.scalar(value)?);
            }
            "constant" => {
                let shape = shape("shape", words.only()?)?;
                let values = self.values("values", words.need("values")?, shape.elements())?;
                return Ok(self.graph.constant(shape, &values)?);
            }
            "convolution" | "linear" | "transposed_convolution" => return self.convolution(operation, words),
            "concat" => return self.concat(words),
            "slice" => return self.slice(words),
            "leaky_relu" => activation::leaky_relu(number("slope", words.need("slope")?)?),
            "clamp" => {
                activation::clamp(number("low", words.need("low")?)?, number("high", words.need("high")?)?)
            }
            _ => match self.layer(operation, words)? {
                Some(made) => return Ok(made),
                None => return self.rest(operation, words),
            },
        };
        let [x] = self.operands(words)?;
        Ok(self.graph.activation(x, graph)?)
    }

    /// Operations of whole tensors.
    fn rest(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Tensor, Why> {
        if operation == "matmul" {
            let [x, y] = self.operands(words)?;
            return Ok(self.graph.matmul(x, y, tail(words))?);
        }
        let epsilon = f16::from_f32(1e-5);
        let reduce = match operation {
            "sum" => Some(Reduce::SUM),
            "mean" => Some(Reduce::MEAN),
            "largest" => Some(Reduce::MAXIMUM),
            _ => None,
        };
        let [x] = match operation {
            "square" | "relu" | "exp" | "ln" | "transpose" | "softmax" | "softmax_columns" | "layer_norm"
            | "instance_norm" => self.operands(words)?,
            _ if reduce.is_some() => self.operands(words)?,
            _ => return Err(Why::NoOperation { name: operation.to_owned() }),
        };
        let graph = &mut self.graph;
        Ok(match (operation, reduce) {
            (_, Some(reduce)) => match over(words)? {
                Sums::Pass(over) => graph.reduce(x, Element::COPY, reduce, over)?,
                Sums::Axes(axes) => graph.statistic(x, layers::statistic(&reduce), &axes)?,
            },
            ("square", _) => graph.unary(x, Element::SQUARE)?,
            ("relu", _) => graph.relu(x)?,
            ("exp", _) => graph.exp(x)?,
            ("ln", _) => graph.ln(x)?,
            ("transpose", _) => graph.transpose(x)?,
            ("softmax", _) => graph.softmax(x)?,
            ("softmax_columns", _) => graph.softmax_columns(x)?,
            ("layer_norm", _) => graph.layer_norm(x, words.number("epsilon", epsilon)?)?,
            _ => graph.instance_norm(x, words.number("epsilon", epsilon)?)?,
        })
    }

    fn convolution(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Tensor, Why> {
        let [x] = self.operands(words)?;
        let outputs = count("outputs", words.need("outputs")?)?;
        let mut pair = |key: &str| words.take(key).map(|value| extents(key, value)).transpose();
        let (mut kernel, mut stride, mut dilation, mut more) = ((1, 1), (1, 1), None, (0, 0));
        let is_turned = operation == "transposed_convolution";
        if operation != "linear" {
            kernel = pair("kernel")?.unwrap_or(kernel);
            stride = pair("stride")?.unwrap_or(stride);
            dilation = pair("dilation")?;
        }
        if is_turned {
            more = pair("more")?.unwrap_or(more);
        }
        let (mut padding, mut channels, mut groups) = (Padding::NONE, Channels::Dense, 1);
        if operation != "linear" {
            if let Some(sides) = words.take("padding") {
                padding = zeros("padding", sides)?;
            }
            if let Some(number) = words.take("groups") {
                groups = count("groups", number)?;
                channels = Channels::Grouped(groups);
            }
        }
        let taps = u64::from(kernel.0) * u64::from(kernel.1);
        // Weights of a transposed convolution are as many for each input, of another's for each output.
        let inputs = self.graph.shape(x)?.c;
        let (all, of_group) = if is_turned { (inputs, outputs) } else { (outputs, inputs) };
        let each = taps.saturating_mul((of_group / groups.max(1)).into());
        let wanted = each.saturating_mul(all.into());
        let weights = self.values("weights", words.need("weights")?, wanted)?;
        let bias = words.take("bias").map(|bias| self.values("bias", bias, outputs.into())).transpose()?;
        let convolution = Convolution {
            stride,
            padding,
            channels,
            bias: bias.as_deref(),
            tail: tail(words),
            ..Convolution::new(outputs, kernel, Weights::Half(&weights))
        };
        Ok(match dilation {
            dilation if is_turned => {
                self.graph.transposed_convolution(x, &convolution, dilation.unwrap_or((1, 1)), more)?
            }
            Some(dilation) => self.graph.dilated_convolution(x, &convolution, dilation)?,
            None => self.graph.convolution(x, &convolution)?,
        })
    }

    fn concat(&mut self, words: &mut Words<'_>) -> Result<Tensor, Why> {
        let operands = std::mem::take(&mut words.operands);
        let (&first, parts) =
            operands.split_first().ok_or(Why::Form { wanted: "NAME = concat AXIS X Y..." })?;
        let axis = axis("axis", first)?;
        let parts = parts.iter().map(|part| self.tensor(part)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.graph.concat(&parts, axis)?)
    }

    fn slice(&mut self, words: &mut Words<'_>) -> Result<Tensor, Why> {
        let [x] = self.operands(words)?;
        let whole = self.graph.shape(x)?;
        let mut part = |key: &str, extent: u32| match words.take(key) {
            Some(value) => range(key, value),
            None => Ok(0..extent),
        };
        let (channels, rows) = (part("channels", whole.c)?, part("rows", whole.h)?);
        Ok(self.graph.slice(x, channels, rows)?)
    }
}

fn element(operation: &str) -> Option<Element> {
    Some(match operation {
        "add" => Element::ADD,
        "subtract" => Element::SUBTRACT,
        "multiply" => Element::MULTIPLY,
        "maximum" => Element::MAXIMUM,
        "minimum" => Element::MINIMUM,
        _ => return None,
    })
}

fn table(operation: &str) -> Option<fn() -> ActivationTable> {
    Some(match operation {
        "sigmoid" => activation::sigmoid,
        "silu" => activation::silu,
        "gelu" => activation::gelu,
        "tanh" => activation::tanh,
        "erf" => activation::erf,
        "softplus" => activation::softplus,
        "mish" => activation::mish,
        "exp2" => activation::exp2,
        "log2" => activation::log2,
        "sqrt" => activation::sqrt,
        "rsqrt" => activation::rsqrt,
        "reciprocal" => activation::reciprocal,
        _ => return None,
    })
}

fn tail(words: &mut Words<'_>) -> Tail {
    if words.has("relu") { Tail::RELU } else { Tail::NONE }
}

/// What a sum, a mean or a maximum goes over: what one pass does, or any axes.
enum Sums {
    Pass(Over),
    Axes(Vec<Axis>),
}

fn over(words: &mut Words<'_>) -> Result<Sums, Why> {
    Ok(match words.take("over") {
        None | Some("plane") => Sums::Pass(Over::Plane),
        Some("columns") => Sums::Pass(Over::Columns),
        Some(value) => Sums::Axes(axes("over", value)?),
    })
}
