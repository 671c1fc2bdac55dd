//! The operations of layers: few ones, to which the readers of formats bring the many of theirs.

/// One layer's operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A function of each element.
    Map(Map),
    /// Two operands element by element, stretched as NumPy does.
    Join(Join),
    /// The second operand where the first is not 0, else the third.
    Select,
    /// `x [N, C, rows.., columns]`, weights `[M, C / groups, ..]` and perhaps a bias `[M]`.
    Convolution(Convolution),
    /// `[.., M, K]` times `[.., K, N]`.
    Product,
    /// The same, with what follows it; perhaps a bias, which stretches to the result.
    Linear(Linear),
    /// Axes that become one value.
    Reduce(Reduce),
    /// The difference from the mean, over the root of the mean of its squares.
    Normalise(Normalise),
    /// The largest or the mean of a window that moves over the last axes.
    Window(Window),
    /// The same elements with other extents.
    Reshape(Vec<usize>),
    /// Axis `i` of the result is axis `order[i]` of the operand.
    Permute(Vec<usize>),
    /// A part, for each axis.
    Cut(Vec<Cut>),
    /// Operands one behind the other along an axis.
    Concat(usize),
    /// Axes of extent 1 repeated.
    Expand(Vec<usize>),
    /// So many of a value before and behind, for each axis.
    Pad {
        /// How many, before and behind.
        sides: Vec<(usize, usize)>,
        value: f64,
    },
    /// The elements with these indices along an axis.
    Take {
        axis: usize,
        /// The indices, each inside of the axis.
        indices: Vec<usize>,
    },
    /// Each axis `n` times as long less `n - 1`, with zeros between the elements.
    Stretch(Vec<usize>),
}

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map {
    /// `scale * x + offset`.
    Affine {
        scale: f64,
        offset: f64,
    },
    /// `max(x, 0)`.
    Relu,
    /// `x` above zero, this times `x` below.
    LeakyRelu(f64),
    /// No smaller than the first, no larger than the second.
    Clip(f64, f64),
    Abs,
    /// `x * x`.
    Square,
    SquareRoot,
    /// One over the square root.
    ReciprocalSquareRoot,
    /// `1 / x`.
    Reciprocal,
    /// `e^x`.
    Exp,
    /// `2^x`.
    Exp2,
    /// The natural logarithm.
    Ln,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    Sine,
    Cosine,
    /// The error function.
    Erf,
    /// `x` times the normal distribution up to `x`.
    Gelu,
    /// The same in the form with a hyperbolic tangent.
    GeluTanh,
    /// `x / (1 + e^-x)`.
    Silu,
    /// `ln(1 + e^x)`.
    Softplus,
    /// `x / (1 + |x|)`.
    Softsign,
    /// `x * tanh(ln(1 + e^x))`.
    Mish,
    /// `gamma * x` above zero, `gamma * alpha * (e^(x / beta) - 1)` below.
    Elu {
        /// Factor below zero.
        alpha: f64,
        /// Divisor of the exponent.
        beta: f64,
        /// Factor everywhere.
        gamma: f64,
    },
    /// The largest whole number that is not above.
    Floor,
    /// The smallest whole number that is not below.
    Ceil,
    /// The whole number towards zero.
    Truncate,
    /// The nearest whole number, the even one where two are as near.
    Round,
    /// One value below zero, one at zero, one above.
    Step {
        /// Below zero.
        below: f64,
        zero: f64,
        /// Above zero.
        above: f64,
    },
}

/// How two elements become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    /// ReLU on the result.
    pub relu: bool,
}

/// How two elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    Add,
    Subtract,
    Multiply,
    Divide,
    Maximum,
    Minimum,
    /// `a^b` for `a` not below zero.
    Power,
}

/// The end of a matrix product: `activation(scale * product + bias)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// Multiplies each sum.
    pub scale: f64,
    /// The function on each element of the result.
    pub activation: Option<Map>,
}

impl Linear {
    /// Nothing.
    pub const NONE: Self = Self { scale: 1.0, activation: None };
}

/// A convolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolution {
    /// Steps of the kernel along each moving axis.
    pub stride: Vec<usize>,
    /// Distance of the kernel's taps.
    pub dilation: Vec<usize>,
    /// Zeros before and behind.
    pub padding: Vec<(usize, usize)>,
    /// Groups of channels.
    pub groups: usize,
    /// The function on each element of the result.
    pub activation: Option<Map>,
}

impl Convolution {
    /// Places of a kernel of so many taps along a moving axis; `None` if it has none, or the axis makes no sense.
    pub(crate) fn positions(&self, axis: usize, extent: usize, taps: usize) -> Option<usize> {
        let (stride, dilation) = (*self.stride.get(axis)?, *self.dilation.get(axis)?);
        let &(before, behind) = self.padding.get(axis)?;
        let padded = extent.saturating_add(before).saturating_add(behind);
        let reach = taps.checked_sub(1)?.saturating_mul(dilation).saturating_add(1);
        let room = padded.checked_sub(reach)?;
        if dilation == 0 { None } else { Some(room.checked_div(stride)? + 1) }
    }
}

/// A reduction: what is left has extent 1 along each axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The function on the elements.
    pub kind: ReduceKind,
    /// The axes, rising.
    pub axes: Vec<usize>,
    /// Elements are squared first.
    pub square: bool,
    /// Added to the value.
    pub epsilon: f64,
    pub post: Post,
}

/// A norm: `(x - mean) / sqrt(mean of (x - mean)^2 + epsilon)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalise {
    /// The axes over which means are taken, rising.
    pub axes: Vec<usize>,
    pub epsilon: f64,
}

/// How elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    Sum,
    Mean,
    Maximum,
    Minimum,
}

/// The function after a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Post {
    /// Nothing.
    None,
    Reciprocal,
    /// One over its square root.
    ReciprocalSquareRoot,
}

/// A window over the last axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The largest instead of the mean.
    pub maximum: bool,
    /// Elements are squares, for which the array's range is too narrow: sums are halves.
    pub of_squares: bool,
    /// Extents of the window.
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    /// Distance of its elements.
    pub dilation: Vec<usize>,
    /// Elements before and behind that are not there.
    pub padding: Vec<(usize, usize)>,
    /// Positions along each axis.
    pub positions: Vec<usize>,
    /// A mean counts so many of the padding, before and behind, as zeros.
    pub counted: Vec<(usize, usize)>,
}

/// Part of an axis: `count` elements from `start` on, by `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    pub start: usize,
    /// From one to the next; not 0.
    pub step: isize,
    pub count: usize,
}

impl Cut {
    /// All of an axis.
    pub const fn all(extent: usize) -> Self {
        Self { start: 0, step: 1, count: extent }
    }
}

impl Operation {
    /// The word for reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Map(map) => map.name(),
            Self::Join(join) => match join.kind {
                JoinKind::Add => "add",
                JoinKind::Subtract => "subtract",
                JoinKind::Multiply => "multiply",
                JoinKind::Divide => "divide",
                JoinKind::Maximum => "maximum",
                JoinKind::Minimum => "minimum",
                JoinKind::Power => "power",
            },
            Self::Select => "select",
            Self::Convolution(_) => "convolution",
            Self::Product => "matrix product",
            Self::Linear(_) => "linear",
            Self::Reduce(reduce) => match reduce.kind {
                ReduceKind::Sum => "sum",
                ReduceKind::Mean => "mean",
                ReduceKind::Maximum => "largest",
                ReduceKind::Minimum => "smallest",
            },
            Self::Normalise(_) => "norm",
            Self::Window(window) => {
                if window.maximum {
                    "largest in a window"
                } else {
                    "mean of a window"
                }
            }
            Self::Reshape(_) => "reshape",
            Self::Permute(_) => "permute",
            Self::Cut(_) => "slice",
            Self::Concat(_) => "concatenation",
            Self::Expand(_) => "expand",
            Self::Pad { .. } => "pad",
            Self::Take { .. } => "take",
            Self::Stretch(_) => "stretch",
        }
    }
}

impl Map {
    /// The word for reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Affine { .. } => "scale and offset",
            Self::Relu => "relu",
            Self::LeakyRelu(_) => "leaky relu",
            Self::Clip(..) => "clip",
            Self::Abs => "abs",
            Self::Square => "square",
            Self::SquareRoot => "sqrt",
            Self::ReciprocalSquareRoot => "rsqrt",
            Self::Reciprocal => "reciprocal",
            Self::Exp => "exp",
            Self::Exp2 => "exp2",
            Self::Ln => "ln",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
            Self::Sine => "sine",
            Self::Cosine => "cosine",
            Self::Erf => "erf",
            Self::Gelu | Self::GeluTanh => "gelu",
            Self::Silu => "silu",
            Self::Softplus => "softplus",
            Self::Softsign => "softsign",
            Self::Mish => "mish",
            Self::Elu { .. } => "elu",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Truncate => "truncate",
            Self::Round => "round",
            Self::Step { .. } => "step",
        }
    }

    /// Whether a convolution, or a product with a known matrix, can end with it: the engine has ReLU behind its array, or
    /// one table.
    pub(crate) fn ends_convolution(&self) -> bool {
        match *self {
            Self::Clip(low, high) => low <= high,
            Self::Relu
            | Self::LeakyRelu(_)
            | Self::SquareRoot
            | Self::ReciprocalSquareRoot
            | Self::Reciprocal
            | Self::Exp2
            | Self::Sigmoid
            | Self::Tanh
            | Self::Gelu
            | Self::GeluTanh
            | Self::Silu
            | Self::Erf
            | Self::Softplus
            | Self::Mish
            | Self::Step { .. } => true,
            _ => false,
        }
    }

    /// Whether a table of 33 knots stands for it on the engine.
    pub const fn is_table(&self) -> bool {
        !matches!(
            self,
            Self::Affine { .. }
                | Self::Relu
                | Self::LeakyRelu(_)
                | Self::Clip(..)
                | Self::Abs
                | Self::Square
                | Self::Floor
                | Self::Ceil
                | Self::Truncate
                | Self::Round
                | Self::Step { .. }
        )
    }
}
