//! The second run of a program takes no memory from the host: plans, staging areas and threads are there already.

use ane::build::{BuildError, Convolution, Graph, Padding, Shape, Tail, Weights};
use ane_device::Options;
use ane_device::options::Numerics;
use ane_device::time::Ticks;
use ane_tests::counting::{self, Counting};
use ane_tests::runner::{EmbeddedRunner, Outcome};
use half::f16;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocations of a request on its way out: its events, and the queue that they wait in.
const OF_A_REQUEST: usize = 8;

/// How often the engine asks for memory in the second run of a program.
fn asked(numerics: Numerics, graph: Result<Graph, BuildError>) -> usize {
    let built = graph.unwrap().build().unwrap();
    let options = Options { numerics, ..Options::default() };
    let mut runner = EmbeddedRunner::open(&options, 32 << 20);
    runner.load(&built.program());
    assert_eq!(runner.run(), Outcome::Done);
    runner.submit();
    let ane = runner.guest.bus.device_mut().ane();
    let before = counting::asked();
    while ane.work(Ticks::from_milliseconds(1_000)).pending {}
    let asked = counting::asked() - before;
    assert_eq!(runner.wait(), Outcome::Done);
    asked
}

fn convolution(channels: u32, size: u32) -> Result<Graph, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(channels, size, size))?;
    let weights = vec![f16::from_f32(0.125); (channels * channels * 9) as usize];
    let convolution = Convolution {
        padding: Padding::all(1),
        tail: Tail::RELU,
        ..Convolution::new(channels, (3, 3), Weights::Half(&weights))
    };
    let y = graph.convolution(x, &convolution)?;
    graph.output("y", y)?;
    Ok(graph)
}

fn softmax() -> Result<Graph, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(512, 1, 1))?;
    let y = graph.softmax(x)?;
    graph.output("y", y)?;
    Ok(graph)
}

/// One test, because all of a process is counted.
#[test]
fn second_run_of_a_program_takes_no_memory_for_its_tasks() {
    let found = asked(Numerics::M1, convolution(32, 28));
    assert!(found <= OF_A_REQUEST, "convolution: {found} times");
    let found = asked(Numerics::M1, softmax());
    assert!(found <= OF_A_REQUEST, "softmax: {found} times");
}
