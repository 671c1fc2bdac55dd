//! The client library on a device in this process and behind a daemon: requests, fences, faults, threads.

use std::os::fd::AsFd;
use std::time::Duration;

use ane::build::{Element, Graph, Shape};
use ane::container::Axes;
use ane::device::{self, Buffer, Device, Fence, Location, Outcome, Scope, WaitFor};
use ane::model::Model;
use ane::session::{self, Session, Submission};
use ane::tensor::Tensor;
use ane_device::Options;
use ane_tests::daemon_thread::DaemonThread;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::BO_SCATTERED;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::{CONTEXTS_MAX, Param};
use ane_uapi::ioctl::stats::Counter;
use half::f16;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const SHAPE: Axes<u32> = Axes { n: 1, c: 5, h: 3, w: 40 };

/// `y = x + x`.
fn doubling() -> Model {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(SHAPE.c, SHAPE.h, SHAPE.w)).unwrap();
    let y = graph.binary(x, x, Element::ADD).unwrap();
    graph.output("y", y).unwrap();
    Model::from(&graph.build().unwrap())
}

fn embedded(options: &Options) -> Device {
    Device::open(&Location::Embedded, options).unwrap()
}

fn behind(daemon: &DaemonThread) -> Device {
    Device::open(&Location::Aned(Some(daemon.socket())), &Options::default()).unwrap()
}

fn doubles(device: &Device, value: f32) {
    let mut session = Session::load(device, &doubling()).unwrap();
    session.set("x", &Tensor::from_fn(SHAPE, |_| f16::from_f32(value))).unwrap();
    session.run().unwrap();
    let expected = f16::from_f32(2.0 * value);
    assert!(session.get("y").unwrap().values().iter().all(|value| *value == expected));
}

#[test]
fn program_runs_in_this_process_and_behind_a_daemon() {
    doubles(&embedded(&Options::default()), 1.5);
    let daemon = DaemonThread::start(&Options::default());
    doubles(&behind(&daemon), 1.5);
}

#[test]
fn files_of_one_device_run_at_once_in_threads() {
    let daemon = DaemonThread::start(&Options::default());
    for device in [embedded(&Options::default()), behind(&daemon)] {
        std::thread::scope(|scope| {
            for value in 1..=4_u8 {
                let file = device.again().unwrap();
                scope.spawn(move || (0..10).for_each(|_| doubles(&file, value.into())));
            }
        });
        assert_eq!(device.statistics(Scope::Device).unwrap().get(Counter::Completed), 40);
    }
}

#[test]
fn context_beyond_the_last_is_refused_and_free_again_when_a_file_is_dropped() {
    let device = embedded(&Options::default());
    let files: Vec<Device> = (0..CONTEXTS_MAX).map(|_| device.again().unwrap()).collect();
    let buffers: Vec<Buffer> = files.iter().map(|file| Buffer::new(file, 1, Usage::Input).unwrap()).collect();
    let refused = Buffer::new(&device, 1, Usage::Input).unwrap_err();
    assert_eq!(refused.errno(), Some(Errno::EBUSY));
    drop((buffers, files));
    Buffer::new(&device, 1, Usage::Input).unwrap();
}

#[test]
fn buffer_is_the_same_memory_scattered_or_not() {
    let daemon = DaemonThread::start(&Options::default());
    for device in [embedded(&Options::default()), behind(&daemon)] {
        let buffer = Buffer::with_flags(&device, 5 * 0x4000, Usage::Input, BO_SCATTERED).unwrap();
        let pattern: Vec<u8> = (0..5 * 0x4000_u32).map(|byte| (byte % 251) as u8).collect();
        buffer.write(0, &pattern).unwrap();
        let mut seen = vec![0; 0x9000];
        buffer.read(0x3800, &mut seen).unwrap();
        assert_eq!(seen, pattern[0x3800..0xc800]);
        assert!(matches!(buffer.write(5 * 0x4000 - 1, &[0; 2]), Err(device::Error::Outside(_))));
        assert_eq!(buffer.info().unwrap().size, 5 * 0x4000);
    }
}

#[test]
fn fence_waits_any_all_and_not_at_all() {
    let device = embedded(&Options::default());
    let mut session = Session::load(&device, &doubling()).unwrap();
    let one = session.submit(&Submission::default()).unwrap();
    let after = [one];
    let two = session.submit(&Submission { after: &after, ..Submission::default() }).unwrap();
    let now = device.wait(&[two], WaitFor::All, Some(Duration::ZERO)).unwrap();
    assert_eq!(now, [Outcome::Pending]);
    let any = device.wait(&[one, two], WaitFor::Any, None).unwrap();
    assert_eq!(any[0], Outcome::Done);
    assert_eq!(device.wait(&[one, two], WaitFor::All, None).unwrap(), [Outcome::Done; 2]);
    let unknown = device.wait(&[Fence(999)], WaitFor::All, None).unwrap_err();
    assert_eq!(unknown.errno(), Some(Errno::ENODATA));
}

#[test]
fn request_that_is_taken_back_does_not_run() {
    let device = embedded(&Options::default());
    let mut session = Session::load(&device, &doubling()).unwrap();
    let one = session.submit(&Submission::default()).unwrap();
    let after = [one];
    let two = session.submit(&Submission { after: &after, ..Submission::default() }).unwrap();
    device.cancel(two, false).unwrap();
    let outcomes = device.wait(&[one, two], WaitFor::All, None).unwrap();
    assert_eq!(outcomes[0], Outcome::Done);
    assert_eq!(outcomes[1].to_string(), "ended with ECANCELED");
}

#[test]
fn descriptor_of_a_fence_becomes_readable_at_its_end() {
    let daemon = DaemonThread::start(&Options::default());
    let device = behind(&daemon);
    let mut session = Session::load(&device, &doubling()).unwrap();
    let fence = session.submit(&Submission::default()).unwrap();
    let signal = device.signal(fence).unwrap();
    let mut watched = [PollFd::new(signal.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut watched, PollTimeout::from(10_000_u16)).unwrap(), 1);
    session.finish(fence, Some(Duration::ZERO)).unwrap();
}

#[test]
fn fault_of_a_request_comes_with_it_and_the_device_goes_on() {
    let device = embedded(&Options {
        inject: vec!["translation-fault:after=1".parse().unwrap()],
        ..Options::default()
    });
    let mut session = Session::load(&device, &doubling()).unwrap();
    let failed = session.run().unwrap_err();
    let session::Error::Failed { fault: Some(fault), .. } = failed else { panic!("{failed}") };
    assert!(!fault.is_benign());
    device.resume().unwrap();
    session.run().unwrap();
}

#[test]
fn surface_is_asked_for_by_name_or_number() {
    let device = embedded(&Options::default());
    let mut session = Session::load(&device, &doubling()).unwrap();
    session.set("0", &Tensor::random(SHAPE, 1)).unwrap();
    assert!(session.get("0").is_ok() && session.get("y").is_ok());
    let unknown = session.get("z").unwrap_err().to_string();
    assert_eq!(unknown, "program has no output \"z\"");
    let shape = session.set("x", &Tensor::random(Axes { w: 41, ..SHAPE }, 1)).unwrap_err().to_string();
    assert_eq!(shape, "input \"x\" has shape [1, 5, 3, 40], the tensor has [1, 5, 3, 41]");
}

#[test]
fn daemon_that_is_gone_is_told_by_every_call() {
    let daemon = DaemonThread::start(&Options::default());
    let device = behind(&daemon);
    device.parameter(Param::Chip).unwrap();
    drop(daemon);
    let gone = device.parameter(Param::Chip).unwrap_err();
    assert!(gone.is_device_missing(), "{gone}");
}

#[test]
fn fence_that_is_not_known_is_refused_and_the_device_is_there() {
    let daemon = DaemonThread::start(&Options::default());
    for device in [embedded(&Options::default()), behind(&daemon)] {
        let refused = device.signal(Fence(7)).unwrap_err();
        assert_eq!(refused.errno(), Some(Errno::ENODATA), "{refused}");
        assert!(!refused.is_device_missing(), "{refused}");
        assert_eq!(refused.to_string(), "a descriptor for fence 7 cannot be had: ENODATA");
    }
}
