//! ONNX: a graph of nodes over named tensors, as a protocol buffer.
//!
//! * `attribute`: a value of one type that a node has under a name.
//! * `message`: the messages of the format, by their published field numbers.
//! * `tensor`: elements of every type as numbers.
//! * `import`: nodes to layers, one after the other; what cannot be mapped is kept, all of it.
//! * `operators`: what each operator is in the few operations of a [`Network`](super::network::Network).

mod attribute;
mod import;
mod message;
pub(crate) mod operators;
mod tensor;

pub use import::import;
pub(super) use import::layers;
pub use tensor::{TensorError, read as read_tensor};
