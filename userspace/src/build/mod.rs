//! Programs for the H13 engine, built from a description instead of compiled by Apple.
//!
//! The engine runs *passes*: each reads one or two operands, does one thing, and leaves one result in memory or on
//! chip. A [`Graph`] is a list of passes over tensors; [`Graph::build`] gives every tensor a place, links the task
//! descriptors, and returns a [`Built`] program, which the `.anec` writer takes as it is. The registers are those
//! that compilers write for passes of the kind, as far as programs show them; where several would do, the choice
//! says "(Chosen)".
//!
//! * `graph`, `shape`, `names`, `error`: tensors, their shapes, names of surfaces, and what is refused.
//! * One file for each kind of operation: `elementwise`, `convolution`, `matmul`, `pass_through`,
//!   [`activation`], `concat`, `reduce`, `channels`, `softmax`, `norm`.
//! * `layers`: operations of several passes, as the model compiler makes them.
//! * `lines`: rows of a tensor in memory in another order, without moving them.
//! * `tiling`, `parts`: operands that the pool does not hold.
//! * `pass`, `place`, `encode`: what a pass is, where its operands lie, its registers.
//! * [`script`]: graphs as text.
//! * [`Built`]: the program, with access to every word for those who want to break it.
//!
//! # Examples
//!
//! ```
//! use ane::build::{Element, Graph, Shape};
//!
//! let mut graph = Graph::new();
//! let a = graph.input("a", Shape::new(64, 1, 1))?;
//! let b = graph.input("b", Shape::new(64, 1, 1))?;
//! let sum = graph.binary(a, b, Element::ADD)?;
//! graph.output("sum", sum)?;
//! let built = graph.build()?;
//! assert_eq!(built.task_count(), 1);
//! # Ok::<(), ane::build::BuildError>(())
//! ```

pub mod activation;
mod arena;
mod built;
mod channels;
mod coefficients;
mod concat;
mod convolution;
mod elementwise;
mod encode;
mod error;
mod graph;
mod layers;
mod lines;
mod matmul;
mod names;
mod norm;
mod parts;
mod pass;
mod pass_through;
mod place;
mod reduce;
pub mod script;
mod shape;
mod softmax;
mod tiling;

pub use built::Built;
pub use channels::Across;
pub use concat::Axis;
pub use convolution::{Channels, Convolution, Padding, Weights};
pub use elementwise::Element;
pub use error::{BuildError, Limit, NameFault};
pub use graph::{Graph, Placement, Tensor};
pub use layers::{Comparison, Edge, Pool, Sides, Statistic};
pub use lines::Lines;
pub(crate) use parts::channels_max;
pub use pass::{Nonlinearity, Tail};
pub use reduce::{Over, Reduce};
pub use shape::Shape;

pub use crate::model::network::operation::{Cut, Map};
