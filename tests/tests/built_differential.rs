//! Random programs of the builder on the device and on the interpreter: what can be built runs, the same on both.

use std::sync::atomic::{AtomicU64, Ordering};

use ane::build::{
    BuildError, Channels, Convolution, Element, Graph, Over, Padding, Placement, Reduce, Shape, Tail, Tensor,
    Weights,
};
use ane_device::options::Numerics;
use ane_tests::differential::built::surface::of_graph;
use ane_tests::differential::built::{crowded_program, operations, program};
use ane_tests::differential::{ProgramEnd, compare_all, programs};
use half::f16;

/// Programs that every run compares.
const PROGRAMS: u64 = 6_000;

/// The same of programs whose tensors do not all fit on chip.
const CROWDED_PROGRAMS: u64 = 40;

/// Requirement: ENG-02
#[test]
fn built_program_leaves_the_same_bytes_on_both() {
    let seeds: Vec<u64> = programs(PROGRAMS).collect();
    let ends = compare_all(&seeds, |seed| program(seed).compare());
    assert_eq!(ends[ProgramEnd::Done as usize], seeds.len() as u64, "what can be built runs");
}

#[test]
fn program_whose_tensors_lie_on_chip_and_in_scratch_memory_leaves_the_same_bytes_on_both() {
    let seeds: Vec<u64> = programs(CROWDED_PROGRAMS).collect();
    let with_scratch = AtomicU64::new(0);
    let ends = compare_all(&seeds, |seed| {
        let program = crowded_program(seed);
        with_scratch.fetch_add(u64::from(program.built.scratch_bytes() > 0), Ordering::Relaxed);
        program.compare()
    });
    assert_eq!(ends[ProgramEnd::Done as usize], seeds.len() as u64, "what can be built runs");
    assert!(with_scratch.into_inner() > CROWDED_PROGRAMS / 4, "not all fit beside the crowd");
}

#[test]
fn every_operation_occurs_in_built_programs() {
    let steps: Vec<String> = (0..1_000).flat_map(|seed| program(seed).steps).collect();
    for name in operations() {
        let count = steps.iter().filter(|step| step.starts_with(&format!("{name} of "))).count();
        assert!(count > 30, "{name}: {count}");
    }
}

/// Runs `operation` on an input of calm numbers; both engines have to finish it alike.
fn agrees(shape: Shape, operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>) {
    let values: Vec<u16> = (0..shape.elements()).map(|n| 0x3800 + (n * 37 % 0x400) as u16).collect();
    let (_, case) = of_graph(shape, &values, Numerics::M1, operation);
    assert_eq!(case.compare(), Ok(ProgramEnd::Done), "{:x?}", case.on_device().0);
}

#[test]
fn transposed_reduction_of_rows_to_memory_keeps_its_batches_apart() {
    agrees(Shape::new(12, 3, 22), |graph, input| {
        graph.reduce(input, Element::COPY.transposed(), Reduce::SUM, Over::Columns)
    });
}

#[test]
fn transposed_result_that_streams_spares_what_lies_on_chip() {
    agrees(Shape::new(1, 4, 4), |graph, input| {
        let kept = graph.relu(input)?;
        graph.place(kept, Placement::Chip)?;
        let columns = graph.input("columns", Shape::new(4, 4, 7))?;
        // Each head reads `kept` after the one before it has streamed its result.
        graph.matmul(kept, columns, Tail::NONE.transposed())
    });
}

#[test]
fn strided_convolution_that_streams_spares_what_lies_on_chip() {
    agrees(Shape::new(2, 9, 5), |graph, input| {
        let kept = graph.relu(input)?;
        graph.place(kept, Placement::Chip)?;
        let weights = [f16::ONE; 36];
        let convolution =
            Convolution { stride: (1, 3), ..Convolution::new(2, (3, 3), Weights::Half(&weights)) };
        let strided = graph.convolution(kept, &convolution)?;
        graph.place(strided, Placement::Scratch)?;
        let sum = graph.reduce(kept, Element::COPY, Reduce::SUM, Over::Plane)?;
        graph.binary(strided, sum, Element::MULTIPLY)
    });
}

#[test]
fn grouped_convolution_that_streams_spares_its_source_on_chip() {
    agrees(Shape::new(5, 4, 22), |graph, input| {
        // The windows take the room that `x` had, in front of the squares.
        let x = graph.relu(input)?;
        graph.place(x, Placement::Chip)?;
        let squares = graph.reduce(x, Element::SQUARE, Reduce::SUM, Over::Columns)?;
        graph.place(squares, Placement::Chip)?;
        let (channels, padding) = (Channels::Grouped(5), Padding { left: 1, right: 0, top: 1, bottom: 1 });
        let weights = [f16::ONE; 15 * 4];
        let kernel = Convolution::new(15, (2, 2), Weights::Half(&weights));
        graph.convolution(squares, &Convolution { channels, padding, ..kernel })
    });
}

#[test]
fn group_that_ends_inside_of_an_interleaved_plane_is_refused_and_whole_planes_run() {
    let weights = [f16::ONE; 8 * 2];
    let grouped = |graph: &mut Graph, input, interleave| {
        let channels = Channels::Grouped(4);
        let convolution = Convolution { channels, ..Convolution::new(8, (1, 1), Weights::Half(&weights)) };
        let made = graph.convolution(input, &convolution)?;
        graph.interleave(made, interleave)?;
        graph.convolution(made, &convolution)
    };
    agrees(Shape::new(8, 2, 5), |graph, input| grouped(graph, input, 2));
    let mut graph = Graph::new();
    let input = graph.input("x", Shape::new(8, 2, 5)).expect("an input");
    let made = grouped(&mut graph, input, 3).expect("known when it is placed");
    graph.output("y", made).expect("an output");
    assert!(matches!(graph.build(), Err(BuildError::InsidePlane { channel: 2, interleave: 3, .. })));
}

/// Two tensors of 1.2 MB are more than the chip holds, so that what nobody placed goes to scratch memory.
#[test]
fn chain_that_does_not_fit_on_chip_gives_the_same_bytes_through_scratch_memory() {
    agrees(Shape::new(3, 200, 1000), |graph, input| {
        let relu = graph.relu(input)?;
        let double = graph.binary(relu, input, Element::ADD)?;
        let columns = graph.reduce(double, Element::COPY, Reduce::MEAN, Over::Columns)?;
        graph.binary(double, columns, Element::SUBTRACT)
    });
}
