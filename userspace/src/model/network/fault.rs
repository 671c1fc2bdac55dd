//! The errors of a layer: in its extents, its elements or its work. Readers, inference and evaluation report them.

use thiserror::Error;

use crate::model::limits::OPERATIONS_MAX;

/// Why a layer is not valid.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// More elements than are computed here, or than the engine has room for.
    #[error("a tensor of {dims:?} has more than 2^26 elements")]
    Elements { dims: Vec<usize> },
    #[error("layers become more than {OPERATIONS_MAX} operations")]
    Operations,
    /// Too many axes.
    #[error("a tensor has {rank} axes, of which there may be 12")]
    Rank { rank: usize },
    /// Extents and elements that do not agree.
    #[error("{values} elements do not make a tensor of {dims:?}")]
    Length {
        dims: Vec<usize>,
        /// How many elements there are.
        values: usize,
    },
    /// Extents that cannot be stretched to each other.
    #[error("tensors of {first:?} and {second:?} do not go together")]
    Broadcast { first: Vec<usize>, second: Vec<usize> },
    /// A number that is wrong for its place.
    #[error("{what} of {value} does not fit a tensor of {dims:?}")]
    Wrong { what: &'static str, value: i64, dims: Vec<usize> },
    /// An index, an extent or the like with a part behind the point, or without end.
    #[error("{value} is no whole number")]
    NotWhole { value: f64 },
    /// A whole number that is computed with, and that a double may stand for beside its neighbours.
    #[error(
        "whole numbers are computed with in doubles, which do not hold all of them from 2^53 on, as {value:.0} is"
    )]
    Inexact { value: f64 },
    #[error("takes {wanted} operands, here are {given}")]
    Operands { wanted: &'static str, given: usize },
    #[error("a tensor of {dims:?} has no element")]
    Empty { dims: Vec<usize> },
    /// All constants of the model together.
    #[error("constants in the model have more than 2^29 elements together")]
    Stored,
    /// All that layers make of them.
    #[error("constants that are computed before the run have more than 2^27 elements together")]
    Computed,
    /// More work before the run than anybody waits for.
    #[error("computing it before the run takes {products} products; 2^32 are the most")]
    Work { products: u64 },
    /// The same for all layers of the model, each of which may be small.
    #[error("all layers together that are computed before the run take more than 2^32 products")]
    WorkTogether,
    /// A run-time operand of whole numbers.
    #[error(
        "an operand of whole numbers is not known before the run, and the engine computes in halves; bind the input \
         that decides it, if one does"
    )]
    Integers,
}
