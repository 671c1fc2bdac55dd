//! The longest that the device's thread is held by one task of the largest kind, where it has others to serve.
//!
//! A read of a register waits that long at most. Measured is the longest single call for work, by the clock on the wall: during the
//! call the device may be lent to a pass on the engine's thread, and whatever else the machine does counts as well.

use std::time::{Duration, Instant};

use ane::build::{BuildError, Built, Convolution, Element, Graph, Shape, Tail, Tensor, Weights, activation};
use ane::embedded;
use ane_device::Options;
use ane_driver::bus::Bus;
use ane_tests::runner::{EmbeddedRunner, Outcome};
use half::f16;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::report;

/// Memory for the largest program.
const MEMORY: usize = 1 << 30;
/// The largest operand, and the largest whose elements each have a row of their own in that memory.
const LARGEST: Shape = Shape::new(64, 1024, 1024);
const NARROW: Shape = Shape::new(1024, 4096, 1);

/// A graph of one input and one output.
fn made(shape: Shape, make: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>) -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", shape).expect("fits");
    let y = make(&mut graph, x).expect("is offered");
    graph.output("y", y).expect("computed");
    graph.build().expect("can be built")
}

/// In doubles, because it has two operations.
fn elementwise(shape: Shape) -> Built {
    made(shape, |graph, x| graph.unary(x, Element { scale: f16::from_f32(0.75), ..Element::ADD }))
}

fn turned() -> Built {
    made(LARGEST, |graph, x| graph.pass_through(x, Tail::table(activation::exp2()).transposed()))
}

fn interleaved() -> Built {
    made(Shape::new(64, 512, 1024), |graph, x| {
        let between = graph.unary(x, Element::ADD)?;
        graph.interleave(between, 8)?;
        graph.unary(between, Element::ADD)
    })
}

fn coefficients() -> Built {
    made(Shape::new(8192, 1, 1), |graph, x| {
        let weights = vec![f16::from_f32(0.01); 1 << 26];
        graph.convolution(x, &Convolution::new(8192, (1, 1), Weights::Half(&weights)))
    })
}

/// The longest call for work of a run, and all of it.
fn longest(device: &mut EmbeddedRunner) -> [Duration; 2] {
    device.submit();
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    loop {
        let begin = Instant::now();
        let work = device.guest.bus.device_mut().work();
        longest = longest.max(begin.elapsed());
        if work.pending {
            continue;
        }
        if !device.guest.bus.device_mut().ane().is_on_thread() {
            break;
        }
        let wakeup = device.guest.bus.wakeup().expect("there is a bell");
        poll(&mut [PollFd::new(wakeup, PollFlags::POLLIN)], PollTimeout::MAX).expect("the bell rings");
    }
    let all = start.elapsed();
    assert_eq!(device.wait(), Outcome::Done);
    [longest, all]
}

/// The name of a program, and the function that makes it.
type NamedProgram = (&'static str, fn() -> Built);

/// Prints the figures of each kind: of the first run, whose memory is new, and of one more.
pub(crate) fn measure() {
    let kinds: [NamedProgram; 5] = [
        ("elementwise in doubles, 64x1024x1024", || elementwise(LARGEST)),
        ("rows of one element, 1024x4096x1", || elementwise(NARROW)),
        ("table and transposition, 64x1024x1024", turned),
        ("interleave of 8, 64x512x1024", interleaved),
        ("coefficients, 8192 to 8192", coefficients),
    ];
    for (what, built) in kinds {
        let built = built();
        let mut bus = embedded::open(&Options::default(), MEMORY).expect("a device");
        bus.device_mut().use_engine_thread().expect("a descriptor");
        let mut device = EmbeddedRunner::new(bus);
        device.load(&built.program());
        for run in ["first run", "again"] {
            let [longest, all] = longest(&mut device).map(|time| 1e3 * time.as_secs_f64());
            let what = format!("longest turn of {what}, {run}");
            report::line("(turns)", &what, &format!("{longest:.2} ms of {all:.1} ms"), longest);
        }
    }
}
