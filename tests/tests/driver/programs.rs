//! The compiled programs through files, in this process and over the device's socket: the bits that an M1 gave.

use ane::container::{self, Direction, Program};
use ane::embedded;
use ane_device::Options;
use ane_driver::Driver;
use ane_driver::bus::Bus;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_tests::client::Clients;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::data::{self, Sample};
use ane_tests::runner::surfaces;
use half::f16;

const MEMORY: usize = 32 << 20;

fn sample(name: &str) -> Option<Sample> {
    data::programs()?.into_iter().find(|sample| sample.name == name)
}

fn halves(values: impl IntoIterator<Item = f32>) -> Vec<f16> {
    values.into_iter().map(f16::from_f32).collect()
}

/// Runs a program three times through a driver on `bus`; gives its first output.
fn run_on<B: Bus>(bus: B, program: &Program<'_>, inputs: &[Vec<f16>]) -> Vec<f16> {
    let mut clients = Clients::new(Driver::probe(bus).unwrap());
    let file = clients.open();
    let loaded = clients.load(file, program);
    for (surface, values) in surfaces(program, Direction::Input).into_iter().zip(inputs) {
        clients.fill(&loaded, surface, values);
    }
    for _ in 0..3 {
        assert_eq!(clients.run(&loaded).result, 0, "{:?}", clients.driver.last_failure());
    }
    clients.take(&loaded, surfaces(program, Direction::Output)[0])
}

/// Runs a program in this process and over the socket, and gives what both say.
fn run(program: &Program<'_>, inputs: &[Vec<f16>]) -> Vec<f16> {
    let here = run_on(embedded::open(&Options::default(), MEMORY).unwrap(), program, inputs);
    let daemon = Daemon::start(&[]);
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    let there = run_on(VhostUser::connect(&daemon.socket(), settings).unwrap(), program, inputs);
    assert_eq!(here, there, "in process and over the socket");
    here
}

#[test]
fn sum_of_threes_and_twos_is_five() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    assert_eq!(run(&program, &[halves([3.0; 64]), halves([2.0; 64])]), halves([5.0; 64]));
}

#[test]
fn relu_keeps_what_is_above_zero() {
    let Some(sample) = sample("relu") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut input = vec![-3.0, 5.0];
    input.resize(77, -0.25);
    let mut expected = vec![0.0, 5.0];
    expected.resize(77, 0.0);
    assert_eq!(run(&program, &[halves(input)]), halves(expected));
}

#[test]
fn sigmoid_of_three_is_the_knot_that_the_m1_gives() {
    let Some(sample) = sample("sigmoid") else { return };
    let program = container::open(&sample.bytes).unwrap();
    assert_eq!(run(&program, &[halves([3.0; 77])]), halves([0.952_636_7; 77]));
}

#[test]
fn convolution_with_twos_gives_what_the_m1_gives() {
    let Some(sample) = sample("conv") else { return };
    let program = container::open(&sample.bytes).unwrap();
    assert_eq!(run(&program, &[halves([1.0, 2.0, 3.0])]), halves([12.0; 3]));
}

#[test]
fn inner_product_with_weights_of_zero_is_zero() {
    let Some(sample) = sample("gemm") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let input = halves((0..512).map(|i| (i % 7) as f32 - 3.0));
    assert_eq!(run(&program, &[input]), halves([0.0; 512]));
}

#[test]
fn concatenation_puts_the_second_input_first() {
    let Some(sample) = sample("concat") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let inputs = surfaces(&program, Direction::Input);
    let values: Vec<Vec<f16>> = inputs
        .iter()
        .map(|input| halves((0..input.shape.c).map(|c| (c % 1024) as f32 + input.shape.c as f32)))
        .collect();
    let mut expected: Vec<Vec<f16>> = values.clone();
    expected.sort_by_key(|values| std::cmp::Reverse(values.len()));
    assert_eq!(run(&program, &values), expected.concat());
}
