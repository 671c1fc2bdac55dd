//! The contents of a program, in whichever form it came.

use std::collections::BTreeMap;
use std::fmt;

use super::flexible::Flexible;
use crate::model::error::ModelError;
use crate::model::limits::NODES_MAX;
use crate::model::network::Kind;
use crate::model::problem::Why;
use crate::tensor::nearest_half;

/// Most operations, constants among them: a layer has up to eight operands that are constants.
pub(super) const OPERATIONS_MAX: usize = 8 * NODES_MAX;

/// A function of a program.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) inputs: Vec<(String, Option<Type>)>,
    pub(super) operations: Vec<Operation>,
    pub(super) outputs: Vec<String>,
    /// The shapes that inputs may have, of inputs that leave it open.
    pub(super) flexible: BTreeMap<String, Flexible>,
}

#[derive(Debug, Default)]
pub(super) struct Operation {
    pub(super) operator: String,
    pub(super) inputs: BTreeMap<String, Vec<Argument>>,
    pub(super) outputs: Vec<String>,
    /// The types of these results, as far as they are tensors.
    pub(super) types: Vec<Option<Type>>,
    pub(super) attributes: BTreeMap<String, Constant>,
    /// Blocks inside of it, as a loop has them.
    pub(super) blocks: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    Name(String),
    Constant(Constant),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Numbers {
        of: Type,
        values: Vec<f64>,
    },
    /// Elements in their own form, one behind the other.
    Raw {
        of: Type,
        bytes: Vec<u8>,
    },
    Text(String),
    /// Elements in another file, from a header at `offset` on.
    Blob {
        of: Type,
        file: String,
        offset: u64,
    },
    /// A value that no mapped operation takes, such as a dictionary.
    Other,
}

/// The type of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) element: ElementType,
    /// `None` for an extent that is not known.
    pub(super) dims: Vec<Option<u64>>,
}

impl Type {
    /// Refuses elements of another kind than the model says.
    ///
    /// What has 8 bits or fewer may be numbers of the engine that are whole, as `quantize` makes them.
    pub(super) fn check_kind(&self, what: &str, kind: Kind) -> Result<(), Why> {
        let is_quantized = kind == Kind::Real && matches!(self.element, ElementType::Whole(..=8, _));
        if is_quantized || self.element.kind() == Some(kind) {
            return Ok(());
        }
        let kind = match kind {
            Kind::Real => "real numbers",
            Kind::Integer => "whole numbers",
            Kind::Bool => "truths",
        };
        Err(Why::Mode(format!("{what} has {kind}; the model says {}", self.element)))
    }

    /// Refuses extents that are others than the model says.
    pub(super) fn check(&self, what: &str, dims: &[usize]) -> Result<(), Why> {
        let is_same = |(told, &extent): (&Option<u64>, &usize)| told.is_none_or(|told| told == extent as u64);
        if self.dims.len() == dims.len() && self.dims.iter().zip(dims).all(is_same) {
            return Ok(());
        }
        let extent =
            |extent: &Option<u64>| extent.map_or_else(|| "?".to_owned(), |extent| extent.to_string());
        let told: Vec<String> = self.dims.iter().map(extent).collect();
        Err(Why::Mode(format!("{what} has the shape {dims:?}; the model says [{}]", told.join(", "))))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    Bool,
    Text,
    Half,
    Single,
    Double,
    Brain,
    /// A whole number: bits, and whether it has a sign.
    Whole(u8, bool),
    Other,
}

impl ElementType {
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "bool" => Self::Bool,
            "string" => Self::Text,
            "fp16" => Self::Half,
            "fp32" => Self::Single,
            "fp64" => Self::Double,
            "bf16" => Self::Brain,
            word => {
                let (rest, signed) = match word.strip_prefix("uint") {
                    Some(rest) => (rest, false),
                    None => (word.strip_prefix("int")?, true),
                };
                match rest.parse() {
                    Ok(bits @ (1..=4 | 6 | 8 | 16 | 32 | 64)) => Self::Whole(bits, signed),
                    _ => return None,
                }
            }
        })
    }

    /// Whether this number is one of them. Real numbers become what is nearest.
    pub(super) fn has(self, number: f64) -> bool {
        match self {
            Self::Bool => number == 0.0 || number == 1.0,
            Self::Whole(bits, signed) => {
                let bits = i32::from(bits) - i32::from(signed);
                let lowest = if signed { -2f64.powi(bits) } else { 0.0 };
                // Of 64 bits the largest is read as the power behind it.
                let is_inside = number < 2f64.powi(bits) || (bits > 53 && number == 2f64.powi(bits));
                number.fract() == 0.0 && lowest <= number && is_inside
            }
            _ => true,
        }
    }

    /// Whether these are wider numbers than halves.
    pub(super) const fn is_wider(self) -> bool {
        matches!(self, Self::Single | Self::Double | Self::Brain)
    }

    /// The nearest number of the type, where results of operations are rounded to it.
    pub(super) fn nearest(self) -> Option<fn(f64) -> f64> {
        match self {
            Self::Half => Some(|value| nearest_half(value).to_f64()),
            Self::Single => Some(|value| f64::from(value as f32)),
            _ => None,
        }
    }

    /// Its kind for a layer; `None` if nothing is computed with it.
    pub(super) const fn kind(self) -> Option<Kind> {
        match self {
            Self::Bool => Some(Kind::Bool),
            Self::Half | Self::Single | Self::Double | Self::Brain => Some(Kind::Real),
            Self::Whole(..) => Some(Kind::Integer),
            Self::Text | Self::Other => None,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Text => f.write_str("string"),
            Self::Half => f.write_str("fp16"),
            Self::Single => f.write_str("fp32"),
            Self::Double => f.write_str("fp64"),
            Self::Brain => f.write_str("bf16"),
            Self::Whole(bits, true) => write!(f, "int{bits}"),
            Self::Whole(bits, false) => write!(f, "uint{bits}"),
            Self::Other => f.write_str("of another type"),
        }
    }
}

/// The function to be compiled: the one that the model's description names; if it names none, `main` or the only one.
pub(super) fn chosen(mut functions: Vec<Function>, default: Option<&str>) -> Result<Function, ModelError> {
    let named = |name: &str| functions.iter().position(|function| function.name == name);
    let at = match default {
        Some(default) => named(default).ok_or_else(|| {
            let names: Vec<String> = functions.iter().map(|function| function.name.clone()).collect();
            ModelError::unknown("function", default, &names)
        })?,
        None => {
            let only = (functions.len() == 1).then_some(0);
            named("main").or(only).ok_or(ModelError::NoGraph)?
        }
    };
    let function = functions.swap_remove(at);
    let layers = function.operations.iter().filter(|operation| operation.operator != "const").count();
    if layers > NODES_MAX { Err(ModelError::Nodes { count: layers }) } else { Ok(function) }
}
