//! Several requests on their way at once: `cargo run -p ane --example requests`.
//!
//! Two sessions on two files of one device, each with a context of its own; requests that wait for others; and what
//! became of each.

use std::error::Error;

use ane::build::{BuildError, Element, Graph, Shape};
use ane::container::Axes;
use ane::device::{Device, Location, Outcome, Scope, WaitFor};
use ane::model::Model;
use ane::session::{Session, Submission};
use ane::tensor::Tensor;
use ane_device::Options;
use ane_uapi::ioctl::stats::Counter;
use half::f16;

const SHAPE: Axes<u32> = Axes { n: 1, c: 8, h: 1, w: 32 };

fn main() -> Result<(), Box<dyn Error>> {
    let model = twice_plus_one()?;
    let device = Device::open(&Location::Embedded, &Options::default())?;
    let mut first = Session::load(&device, &model)?;
    let mut second = Session::load(&device.again()?, &model)?;
    for (session, value) in [(&mut first, 1.0), (&mut second, 20.0)] {
        session.set("x", &Tensor::from_fn(SHAPE, |_| f16::from_f32(value)))?;
    }

    // Nothing runs yet: an embedded engine works while somebody waits.
    let one = first.submit(&Submission::default())?;
    let after = [one];
    let two = first.submit(&Submission { after: &after, priority: 3, ..Submission::default() })?;
    let other = second.submit(&Submission::default())?;

    let outcomes = device.wait(&[one, two], WaitFor::All, None)?;
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done]);
    second.finish(other, None)?;
    println!("{} and {}", first.get("y")?.values()[0], second.get("y")?.values()[0]);

    let statistics = device.statistics(Scope::Device)?;
    println!("{} requests completed", statistics.get(Counter::Completed));
    Ok(())
}

fn twice_plus_one() -> Result<Model, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(SHAPE.c, SHAPE.h, SHAPE.w))?;
    let one = graph.scalar(f16::ONE)?;
    let twice = graph.binary(x, x, Element::ADD)?;
    let y = graph.binary(twice, one, Element::ADD)?;
    graph.output("y", y)?;
    Ok(Model::from(&graph.build()?))
}

#[test]
fn example_runs() {
    main().unwrap();
}
