//! The least that an engine can be asked for: a pass-through of one element.

use ane::build::{Built, Graph, Shape, Tail};

/// A program of so many null tasks, one behind the other, from `x` to `y`.
///
/// # Panics
///
/// If it cannot be built.
pub fn program(tasks: usize) -> Built {
    let mut graph = Graph::new();
    let mut tensor = graph.input("x", Shape::new(1, 1, 1)).expect("fits");
    for _ in 0..tasks {
        tensor = graph.pass_through(tensor, Tail::NONE).expect("fits");
    }
    graph.output("y", tensor).expect("computed");
    graph.build().expect("can be built")
}
