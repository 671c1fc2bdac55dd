//! Programs whose surfaces a test fills and reads itself.

use ane::build::{BuildError, Built, Graph, Shape, Tensor};
use ane_device::options::Numerics;

use super::values::ValueKind;
use crate::differential::Case;
use crate::random::Random;

/// A program of one operation on one input, for tests that look at the operation.
///
/// # Panics
///
/// If the builder refuses it.
pub fn of_graph(
    shape: Shape,
    values: &[u16],
    numerics: Numerics,
    operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>,
) -> (Built, Case) {
    let mut graph = Graph::new();
    let input = graph.input("input", shape).expect("the shape has a place");
    let result = operation(&mut graph, input).expect("the operation is offered");
    graph.output("result", result).expect("the result has a place");
    let built = graph.build().expect("the program fits");
    let mut case = super::case(&mut Random::new(0), ValueKind::Calm, &built);
    case.numerics = numerics;
    put(&mut case, &built, "input", values);
    (built, case)
}

/// Puts elements into a surface, in the order of channels, rows and columns.
///
/// # Panics
///
/// If there is no such surface.
pub fn put(case: &mut Case, built: &Built, name: &str, values: &[u16]) {
    let (region, places) = places(case, built, name);
    assert_eq!(places.len(), values.len(), "{name} has {} elements", places.len());
    for (at, value) in places.into_iter().zip(values) {
        case.regions[region].1[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
}

/// The elements of a surface in `regions`, which a program left.
///
/// # Panics
///
/// If there is no such surface.
pub fn take(case: &Case, built: &Built, name: &str, regions: &[Vec<u8>]) -> Vec<u16> {
    let (region, places) = places(case, built, name);
    let bytes = &regions[region];
    places.into_iter().map(|at| u16::from_le_bytes([bytes[at], bytes[at + 1]])).collect()
}

/// The region of a surface, and where in it each element lies.
fn places(case: &Case, built: &Built, name: &str) -> (usize, Vec<usize>) {
    let surface = built.surface(name).expect("a surface of the program");
    let base = case.bars[usize::from(surface.bar)];
    let region = case.regions.iter().position(|&(at, _)| at == base).expect("each BAR has a region");
    let (shape, strides) = (surface.shape, surface.strides);
    let mut places = Vec::new();
    for c in 0..shape.c {
        for h in 0..shape.h {
            let row = u64::from(c) * strides.c + u64::from(h) * strides.h;
            places.extend((0..shape.w).map(|w| (row + u64::from(w) * strides.w) as usize));
        }
    }
    (region, places)
}
