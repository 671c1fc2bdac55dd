//! Tasks that take long: convolutions with large kernels.

use ane::build::{Built, Convolution, Graph, Padding, Shape, Weights};
use half::f16;

/// A convolution with kernels of 31 by 31, all of whose coefficients are `value`: `channels` to `outputs`, over a square.
/// Its input is `x` and its output `y`.
///
/// # Panics
///
/// If it cannot be built.
pub fn convolution(channels: u32, outputs: u32, side: u32, value: f32) -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(channels, side, side)).expect("fits");
    let weights = vec![f16::from_f32(value); (channels * outputs * 31 * 31) as usize];
    let kernel = Convolution::new(outputs, (31, 31), Weights::Half(&weights));
    let kernel = Convolution { padding: Padding::all(15), ..kernel };
    let y = graph.convolution(x, &kernel).expect("is offered");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// Two thousand million products, which take minutes where they are computed one by one.
pub fn endless() -> Built {
    convolution(32, 64, 32, 1.0)
}
