//! The compiled programs through files, in this process and over the device's socket: the bits that an M1 gave.

use ane::container::{Direction, Program};
use ane_driver::Driver;
use ane_driver::bus::Bus;
use ane_driver::front::Files;
use ane_tests::client::Clients;
use ane_tests::known::{self, Way, assert_known};
use ane_tests::null_task::program;
use ane_tests::runner::surfaces;
use half::f16;

use super::rig::rig;

/// Through a file of the driver, three times.
struct Submissions;

impl Way for Submissions {
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
}

#[test]
fn sum_of_threes_and_twos_is_five() {
    known::sum().into_iter().for_each(assert_known::<Submissions>);
}

#[test]
fn relu_keeps_what_is_above_zero() {
    known::relu().into_iter().for_each(assert_known::<Submissions>);
}

#[test]
fn sigmoid_of_three_is_the_knot_that_the_m1_gives() {
    known::sigmoid().into_iter().for_each(assert_known::<Submissions>);
}

#[test]
fn convolution_with_twos_gives_what_the_m1_gives() {
    known::convolution().into_iter().for_each(assert_known::<Submissions>);
}

#[test]
fn inner_product_with_weights_of_zero_is_zero() {
    known::inner_product().into_iter().for_each(assert_known::<Submissions>);
}

#[test]
fn first_descriptor_that_its_client_spoils_while_the_request_waits_runs_as_it_was() {
    let mut rig = rig();
    let file = rig.open();
    let built = program(1);
    let loaded = rig.load(file, &built.program());
    rig.fill(&loaded, built.surface("x").unwrap(), &[f16::from_f32(3.0)]);
    let fence = rig.submit(&loaded).unwrap();
    // It is with the device from now on, which has not looked at it: the engine works while somebody waits.
    rig.driver.push();
    let text = loaded.bar(0);
    rig.write(text, 0, &vec![0xff; text.size as usize]);
    assert_eq!(rig.wait(file, fence).result, 0);
    assert_eq!(rig.take(&loaded, built.surface("y").unwrap()), [f16::from_f32(3.0)]);
    // The next submission uses the bytes that lie there now.
    assert_ne!(rig.run(&loaded).result, 0);
}

#[test]
fn concatenation_puts_the_second_input_first() {
    known::concatenation().into_iter().for_each(assert_known::<Submissions>);
}
