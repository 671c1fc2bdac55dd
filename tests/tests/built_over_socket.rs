//! Built programs through the daemon: the bytes that the device gives in process, and nothing that a check finds.

use ane::build::{
    Axis, BuildError, Built, Convolution, Element, Graph, Padding, Placement, Shape, Tail, Weights,
    activation,
};
use ane::container::Direction;
use ane::embedded;
use ane_device::Options;
use ane_driver::bus::Bus;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::random::Random;
use ane_tests::runner::{Outcome, Runner, surfaces};
use half::f16;

const MEMORY: usize = 4 << 20;

/// Numbers between -2 and 2.
fn numbers(count: usize) -> Vec<f16> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| f16::from_f32(random.below(4097) as f32 / 1024.0 - 2.0)).collect()
}

/// Loads a program and its inputs.
fn load<B: Bus>(bus: B, built: &Built) -> Runner<B> {
    let program = built.program();
    let mut runner = Runner::new(bus);
    runner.load(&program);
    for surface in surfaces(&program, Direction::Input) {
        let shape = surface.shape;
        runner.fill(surface, &numbers((shape.c * shape.h * shape.w) as usize));
    }
    runner
}

/// Every byte of every output.
fn outputs<B: Bus>(runner: &Runner<B>, built: &Built) -> Vec<Vec<u8>> {
    let program = built.program();
    let outputs = surfaces(&program, Direction::Output);
    outputs.into_iter().map(|s| runner.read(runner.bar(s.bar), s.total_bytes as usize)).collect()
}

/// Runs a program in this process and over the socket of a device that checks each transfer.
fn same_over_the_socket(build: impl FnOnce(&mut Graph) -> Result<(), BuildError>) {
    let mut graph = Graph::new();
    build(&mut graph).expect("the operations are offered");
    let built = graph.build().expect("the program fits");
    let mut here = load(embedded::open(&Options::default(), MEMORY).unwrap(), &built);
    assert_eq!(here.run(), Outcome::Done);

    let daemon = Daemon::start(&["--check"]);
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let mut there = load(VhostUser::connect(&daemon.socket(), settings).unwrap(), &built);
    let declarations = there.declarations(&built.program());
    there.guest.bus.declare(&declarations).unwrap();
    assert_eq!(there.run(), Outcome::Done);
    assert_eq!(Control::connect(&daemon.control()).ask("findings"), Ok(vec![]));
    assert_eq!(outputs(&here, &built), outputs(&there, &built));
    assert!(outputs(&here, &built).iter().flatten().any(|&byte| byte != 0), "something was computed");
}

#[test]
fn elementwise_chain_is_the_same_over_the_socket() {
    same_over_the_socket(|graph| {
        let a = graph.input("a", Shape::new(8, 4, 30))?;
        let b = graph.input("b", Shape::new(8, 1, 1))?;
        let product = graph.binary(a, b, Element::MULTIPLY)?;
        let two = graph.scalar(f16::from_f32(2.0))?;
        let larger = graph.binary(product, two, Element::MAXIMUM)?;
        graph.place(product, Placement::Scratch)?;
        graph.output("larger", larger)
    });
}

#[test]
fn convolution_activation_and_concatenation_are_the_same_over_the_socket() {
    same_over_the_socket(|graph| {
        let image = graph.input("image", Shape::new(3, 16, 20))?;
        let (weights, bias) = (numbers(8 * 3 * 9), numbers(8));
        let convolution = Convolution {
            padding: Padding::all(1),
            bias: Some(&bias),
            ..Convolution::new(8, (3, 3), Weights::Half(&weights))
        };
        let features = graph.convolution(image, &convolution)?;
        let active = graph.activation(features, activation::gelu())?;
        let both = graph.concat(&[active, image], Axis::Channels)?;
        graph.output("both", both)
    });
}

#[test]
fn product_of_two_inputs_is_the_same_over_the_socket() {
    same_over_the_socket(|graph| {
        let x = graph.input("x", Shape::new(40, 2, 24))?;
        let y = graph.input("y", Shape::new(24, 2, 33))?;
        let product = graph.matmul(x, y, Tail::RELU)?;
        graph.output("product", product)
    });
}

#[test]
fn softmax_and_layer_norm_are_the_same_over_the_socket() {
    same_over_the_socket(|graph| {
        let scores = graph.input("scores", Shape::new(12, 3, 40))?;
        let softmax = graph.softmax_columns(scores)?;
        let norm = graph.layer_norm(softmax, f16::from_f32(1e-5))?;
        graph.output("norm", norm)?;
        let channels = graph.softmax(scores)?;
        graph.output("channels", channels)
    });
}
