//! One line's operation: what of the builder a name stands for. `layers.rs` beside has those that are several passes.

use ane_uapi::hw::td::activation::ActivationTable;

use super::words::{Words, axes, axis, count, extents, range, shape, zeros};
use super::{Script, Why};
use crate::build::{
    BuildError, Channels, Convolution, Element, Graph, Over, Padding, Reduce, Statistic, Tail, Tensor,
    Weights, activation,
};
use crate::tensor::nearest_half;

impl Script<'_> {
    pub(super) fn make(&mut self, name: &str, operation: &str, words: &mut Words<'_>) -> Result<Tensor, Why> {
        if let Some(element) = element(operation) {
            let [a, b] = self.operands(words)?;
            return Ok(self.graph.binary(a, b, Element { relu: words.yes("relu")?, ..element })?);
        }
        if let Some(table) = table(operation) {
            let [x] = self.operands(words)?;
            return Ok(self.graph.activation(x, table())?);
        }
        if let Some(pass) = pass(operation) {
            let [x] = self.operands(words)?;
            return Ok(pass(&mut self.graph, x)?);
        }
        Ok(match operation {
            "input" => self.graph.input(name, shape("shape", words.only()?)?)?,
            "scalar" => {
                let value = words.only()?;
                self.graph.scalar(words.half("value", value)?)?
            }
            "constant" => {
                let shape = shape("shape", words.only()?)?;
                let values = words.need("values")?;
                let values = self.values(words, "values", values, shape.elements())?;
                self.graph.constant(shape, &values)?
            }
            "convolution" | "linear" | "transposed_convolution" => self.convolution(operation, words)?,
            "concat" => self.concat(words)?,
            "slice" => self.slice(words)?,
            "leaky_relu" | "clamp" => {
                let table = match operation {
                    "clamp" => {
                        let low = nearest_half(words.bound("low")?);
                        activation::clamp(low, nearest_half(words.bound("high")?))
                    }
                    _ => activation::leaky_relu(words.needed_half("slope")?),
                };
                let [x] = self.operands(words)?;
                self.graph.activation(x, table)?
            }
            "matmul" => {
                let [x, y] = self.operands(words)?;
                self.graph.matmul(x, y, tail(words)?)?
            }
            "sum" | "mean" | "largest" => {
                let (reduce, statistic) = match operation {
                    "sum" => (Reduce::SUM, Statistic::Sum),
                    "mean" => (Reduce::MEAN, Statistic::Mean),
                    _ => (Reduce::MAXIMUM, Statistic::Largest),
                };
                let [x] = self.operands(words)?;
                match words.take("over") {
                    None | Some("plane") => self.graph.reduce(x, Element::COPY, reduce, Over::Plane)?,
                    Some("columns") => self.graph.reduce(x, Element::COPY, reduce, Over::Columns)?,
                    Some(value) => self.graph.statistic(x, statistic, &axes("over", value)?)?,
                }
            }
            "layer_norm" => {
                let [x] = self.operands(words)?;
                self.graph.layer_norm(x, nearest_half(words.epsilon()?))?
            }
            "instance_norm" => {
                let [x] = self.operands(words)?;
                self.graph.instance_norm(x, nearest_half(words.epsilon()?))?
            }
            _ => self
                .layer(operation, words)?
                .ok_or_else(|| Why::NoOperation { name: operation.to_owned() })?,
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
        let (mut padding, mut groups) = (Padding::NONE, 1);
        if operation != "linear" {
            if let Some(sides) = words.take("padding") {
                padding = zeros("padding", sides)?;
            }
            if let Some(number) = words.take("groups") {
                groups = count("groups", number)?;
            }
        }
        let taps = u64::from(kernel.0) * u64::from(kernel.1);
        // Weights of a transposed convolution are as many for each input, of another's for each output.
        let inputs = self.graph.shape(x)?.c;
        let (all, of_group) = if is_turned { (inputs, outputs) } else { (outputs, inputs) };
        let each = taps.saturating_mul((of_group / groups.max(1)).into());
        let wanted = each.saturating_mul(all.into());
        let weights = words.need("weights")?;
        let weights = self.values(words, "weights", weights, wanted)?;
        let bias = words.take("bias");
        let bias = bias.map(|bias| self.values(words, "bias", bias, outputs.into())).transpose()?;
        let convolution = Convolution {
            stride,
            padding,
            channels: Channels::of_groups(groups, inputs, outputs),
            bias: bias.as_deref(),
            tail: tail(words)?,
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

type Pass = fn(&mut Graph, Tensor) -> Result<Tensor, BuildError>;

/// Operations of one tensor and nothing else.
fn pass(operation: &str) -> Option<Pass> {
    Some(match operation {
        "square" => |graph, x| graph.unary(x, Element::SQUARE),
        "relu" => Graph::relu,
        "exp" => Graph::exp,
        "ln" => Graph::ln,
        "transpose" => Graph::transpose,
        "softmax" => Graph::softmax,
        "softmax_columns" => Graph::softmax_columns,
        "hard_swish" => Graph::hard_swish,
        "not" => Graph::not,
        "copy" => Graph::copy,
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

fn tail(words: &mut Words<'_>) -> Result<Tail, Why> {
    Ok(if words.yes("relu")? { Tail::RELU } else { Tail::NONE })
}
