//! The forms that a model comes in.

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A protocol buffer of ONNX.
    Onnx,
    /// A protocol buffer of Core ML, as an `.mlpackage` has it.
    CoreMl,
    /// The text of a Core ML program.
    MilText,
}
