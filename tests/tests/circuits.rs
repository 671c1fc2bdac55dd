//! The engine's circuits and memories as seed 004 tells of them, seen from a driver.

use ane::build::{Convolution, Element, Graph, Placement, Shape, Tail, Weights};
use ane::container::Direction;
use ane::container::limits::TILE_BYTES;
use ane_device::Options;
use ane_device::counters::Report;
use ane_driver::bus::{Bus, Operation};
use ane_tests::runner::{EmbeddedRunner, Outcome, surfaces};
use ane_uapi::hw::mmio_map::Region;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::td::header;
use half::f16;

fn runner() -> EmbeddedRunner {
    EmbeddedRunner::open(&Options::default(), 4 << 20)
}

/// Runs what `build` makes, with all inputs filled with `value`; gives the first output.
fn run(runner: &mut EmbeddedRunner, value: u16, build: impl FnOnce(&mut Graph)) -> Vec<u16> {
    let mut graph = Graph::new();
    build(&mut graph);
    let built = graph.build().unwrap();
    let program = built.program();
    runner.load(&program);
    for input in surfaces(&program, Direction::Input) {
        let shape = input.shape;
        runner.fill(input, &vec![f16::from_bits(value); (shape.c * shape.h * shape.w) as usize]);
    }
    assert_eq!(runner.run(), Outcome::Done);
    let output = runner.take(surfaces(&program, Direction::Output)[0]);
    output.into_iter().map(f16::to_bits).collect()
}

/// The first `count` halfwords of a region, as its registers show them.
fn dump(runner: &mut EmbeddedRunner, region: Region, count: usize) -> Vec<u16> {
    let reads: Vec<Operation> = (0..count as u32 / 2)
        .map(|word| Operation::Read(EngineOffset(region.range().start.0 + 4 * word)))
        .collect();
    let mut words = vec![0; reads.len()];
    for (reads, words) in reads.chunks(64).zip(words.chunks_mut(64)) {
        runner.guest.bus.batch(reads, words).unwrap();
    }
    words.into_iter().flat_map(|word: u32| [word as u16, (word >> 16) as u16]).collect()
}

/// ReLU of sixteen channels of `width` columns, their sum, and a copy of it, the first two on chip.
fn sum_on_chip(graph: &mut Graph, width: u32) {
    let x = graph.input("x", Shape::new(16, 1, width)).unwrap();
    let relu = graph.relu(x).unwrap();
    let sum = graph.channel_sum(relu, Tail::NONE).unwrap();
    graph.place(relu, Placement::Chip).unwrap();
    graph.place(sum, Placement::Chip).unwrap();
    let copy = graph.unary(sum, Element::COPY).unwrap();
    graph.output("sum", copy).unwrap();
}

/// The second pass is smaller, and 5.0 from each of sixteen channels gives 80.0, as in the dump of seed 004.
///
/// Requirement: ENG-09
#[test]
fn pass_overwrites_on_chip_what_it_writes_and_clears_nothing() {
    let mut runner = runner();
    run(&mut runner, 0x2222, |graph| sum_on_chip(graph, 40));
    let before = dump(&mut runner, Region::TileL2, 2048);
    assert!(before.iter().filter(|&&half| half == 0x2222).count() >= 16 * 40);
    let output = run(&mut runner, 0x4500, |graph| sum_on_chip(graph, 4));
    assert_eq!(output, [0x5500; 4]);
    let after = dump(&mut runner, Region::TileL2, 2048);
    let written: Vec<u16> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(_, &after)| after)
        .collect();
    // The stream's window and the ReLU of 16 by 4 elements, then four sums, which take the window's place.
    assert!(written.iter().all(|half| [0x4500, 0x5500].contains(half)), "{written:x?}");
    assert!(written.len() <= 2 * 16 * 4 + 4, "all else is what the first pass left");
    assert!(after.contains(&0x2222));
}

/// Three channels times a diagonal of `weight`.
fn scale(graph: &mut Graph, weight: f32) {
    let x = graph.input("x", Shape::new(3, 1, 1)).unwrap();
    let mut weights = [f16::ZERO; 9];
    weights.iter_mut().step_by(4).for_each(|place| *place = f16::from_f32(weight));
    let product = graph.convolution(x, &Convolution::new(3, (1, 1), Weights::Half(&weights))).unwrap();
    graph.output("product", product).unwrap();
}

/// Requirement: ENG-11
#[test]
fn kernel_memory_holds_a_kernel_until_the_next_one() {
    let mut runner = runner();
    assert_eq!(run(&mut runner, 0x3c00, |graph| scale(graph, 2.0)), [0x4000; 3]);
    let two = [0x4000, 0, 0, 0, 0x4000, 0, 0, 0, 0x4000];
    assert_eq!(dump(&mut runner, Region::KernelMemory, 10)[..9], two);
    run(&mut runner, 0x3c00, |graph| sum_on_chip(graph, 8));
    assert_eq!(dump(&mut runner, Region::KernelMemory, 10)[..9], two, "a pass without a kernel leaves it");
    run(&mut runner, 0x3c00, |graph| scale(graph, 3.0));
    assert_eq!(
        dump(&mut runner, Region::KernelMemory, 10)[..9],
        two.map(|half| if half == 0 { 0 } else { 0x4200 })
    );
}

/// A descriptor that writes no register makes the engine do again what its registers say.
///
/// Requirement: ENG-01
#[test]
fn push_is_one_pass_with_the_registers_as_they_are() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(4, 1, 5)).unwrap();
    let relu = graph.relu(x).unwrap();
    graph.output("relu", relu).unwrap();
    let built = graph.build().unwrap();
    let program = built.program();
    let mut runner = runner();
    runner.load(&program);
    assert_eq!(runner.run(), Outcome::Done);
    let (input, output) = (built.surface("x").unwrap(), built.surface("relu").unwrap());
    assert_eq!(runner.take(output), [f16::ZERO; 20]);

    runner.fill(input, &[f16::ONE; 20]);
    assert_eq!(runner.take(output), [f16::ZERO; 20], "without a push nothing is done");
    let bars = std::array::from_fn(|bar| runner.bar(bar as u8).0);
    runner.submit_at(runner.first(), header::BYTES, 1, bars);
    assert_eq!(runner.wait(), Outcome::Done);
    assert_eq!(runner.take(output), [f16::ONE; 20]);
}

/// Requirement: ENG-03
#[test]
fn surface_takes_whole_tiles_of_0x4000_bytes() {
    assert_eq!(TILE_BYTES, 0x4000);
    let mut graph = Graph::new();
    let small = graph.input("small", Shape::new(1, 1, 1)).unwrap();
    let large = graph.input("large", Shape::new(257, 1, 32)).unwrap();
    let sum = graph.binary(small, large, Element::ADD).unwrap();
    graph.output("sum", sum).unwrap();
    let built = graph.build().unwrap();
    let tiles = |name: &str| built.surface(name).unwrap().buffer_bytes;
    assert_eq!([tiles("small"), tiles("large"), tiles("sum")], [0x4000, 0x8000, 0x8000]);
}

/// Bytes that the engine reads for a planar task with so many sources of 16 rows of 64 bytes, beside its descriptor.
fn bytes_fetched(sources: usize) -> u32 {
    let mut graph = Graph::new();
    let names = ["first", "second"];
    let sources: Vec<_> =
        names[..sources].iter().map(|name| graph.input(name, Shape::new(16, 1, 32)).unwrap()).collect();
    let result = match sources[..] {
        [a] => graph.unary(a, Element::COPY),
        _ => graph.binary(sources[0], sources[1], Element::ADD),
    };
    graph.output("result", result.unwrap()).unwrap();
    let built = graph.build().unwrap();
    let mut runner = runner();
    runner.load(&built.program());
    assert_eq!(runner.run(), Outcome::Done);
    let words = built.words(0).unwrap().len() as u32;
    runner.guest.bus.read(Report::BytesRead.offset()).unwrap() - 4 * words
}

/// Requirement: DMA-04
#[test]
fn input_fetcher_makes_a_transfer_for_each_source() {
    assert_eq!([1, 2].map(bytes_fetched), [0x400, 0x800]);
}
