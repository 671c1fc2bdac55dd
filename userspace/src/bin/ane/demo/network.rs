//! The network of the demonstration, and numbers to put into it.
//!
//! Inputs and coefficients of the first part are small whole numbers: every sum of theirs is one that a half holds, so
//! that the engine has to compute it exactly, whatever its arithmetic.

use ane::build::{BuildError, Built, Convolution, Graph, Shape, Tail, Weights, activation};
use ane::container::Axes;
use ane::tensor::Tensor;
use half::f16;

/// Rows of the image, which the convolution shortens by two.
pub(super) const ROWS: u32 = 6;
pub(super) const COLUMNS: u32 = 18;
pub(super) const CHANNELS: u32 = 4;
pub(super) const FEATURES: u32 = 16;
/// Columns of the second factor of the matrix product.
pub(super) const CLASSES: u32 = 10;

/// The image: whole numbers from -4 to 4.
pub(super) fn image() -> Tensor {
    whole(Axes { n: 1, c: CHANNELS, h: ROWS, w: COLUMNS }, 9, 4)
}

/// The second factor, one matrix for each row: eighths from -1 to 1.
pub(super) fn projection() -> Tensor {
    let shape = Axes { n: 1, c: COLUMNS - 2, h: ROWS - 2, w: CLASSES };
    let eighths = whole(shape, 17, 8);
    Tensor::from_fn(shape, |place| eighths.values()[place as usize] / f16::from_f32(8.0))
}

/// The coefficients: whole numbers from -2 to 2.
pub(super) fn weights() -> Vec<f16> {
    whole(Axes { n: FEATURES, c: CHANNELS, h: 3, w: 3 }, 5, 2).into_values()
}

/// Whole numbers in `count` steps from `-low`, in an order without a pattern that a mistake could share.
fn whole(shape: Axes<u32>, count: u64, low: i16) -> Tensor {
    let value = |place: u64| (place * place + 3 * place + 7) * 2_654_435_761 / 65_536 % count;
    Tensor::from_fn(shape, |place| f16::from_f32(f32::from(value(place) as i16 - low)))
}

/// Convolution with ReLU, sigmoid, a product for each row, softmax over the channels.
pub(super) fn build() -> Result<Built, BuildError> {
    let weights = weights();
    let mut graph = Graph::new();
    let image = graph.input("image", Shape::new(CHANNELS, ROWS, COLUMNS))?;
    let projection = graph.input("projection", Shape::new(COLUMNS - 2, ROWS - 2, CLASSES))?;
    let convolution =
        Convolution { tail: Tail::RELU, ..Convolution::new(FEATURES, (3, 3), Weights::Half(&weights)) };
    let features = graph.convolution(image, &convolution)?;
    graph.output("features", features)?;
    // Sums reach some dozens: divided by 32 they are where the sigmoid is no constant.
    let sigmoid = Tail { post_scale: f16::from_f32(1.0 / 32.0), ..Tail::table(activation::sigmoid()) };
    let activated = graph.pass_through(features, sigmoid)?;
    let product = graph.matmul(activated, projection, Tail::NONE)?;
    let probabilities = graph.softmax(product)?;
    graph.output("probabilities", probabilities)?;
    graph.build()
}
