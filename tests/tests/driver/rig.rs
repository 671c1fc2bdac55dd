//! A driver on the device in this process, and a program for its clients.

use std::time::Duration;

use ane::container::{self, Direction};
use ane::embedded;
use ane_device::inject::Injection;
use ane_device::{Ane, Options};
use ane_driver::Driver;
use ane_driver::clock::Manual;
use ane_driver::front::{FileId, Files};
use ane_tests::client::{Clients, Loaded};
use ane_tests::data;
use ane_tests::runner::surfaces;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::{GET_PARAM, GetParam, Param};
use ane_uapi::ioctl::stats::{Counter, GET_STATS, GetStats, STATS_DEVICE, STATS_FILE};
use half::f16;
use vm_memory::GuestMemoryMmap;
use zerocopy::{FromBytes, FromZeros};

/// Memory for the driver.
pub(crate) const MEMORY: usize = 32 << 20;

/// Clients of the device in this process.
pub(crate) type EmbeddedClients = Clients<Driver<embedded::InProcess>>;

/// A driver on a device with these options.
pub(crate) fn rig_with(options: &Options) -> EmbeddedClients {
    Clients::new(Driver::probe(embedded::open(options, MEMORY).unwrap()).unwrap())
}

/// A driver on an ordinary device.
pub(crate) fn rig() -> EmbeddedClients {
    rig_with(&Options::default())
}

/// A driver on an ordinary device, whose clock is wound by hand.
pub(crate) fn wound() -> (EmbeddedClients, Manual) {
    let clock = Manual::default();
    let bus = embedded::open(&Options::default(), MEMORY).unwrap();
    (Clients::new(Driver::with_clock(bus, Box::new(clock.clone())).unwrap()), clock)
}

pub(crate) fn ane(rig: &mut EmbeddedClients) -> &mut Ane<GuestMemoryMmap> {
    rig.driver.bus_mut().device_mut().ane()
}

/// Makes the device do something wrong.
pub(crate) fn inject(rig: &mut EmbeddedClients, injection: &str) {
    let injection: Injection = injection.parse().unwrap();
    ane(rig).inject(injection);
}

/// The program that adds two tensors, loaded for a file with three and two in them; `None` where there is none.
pub(crate) fn sum<F: Files>(rig: &mut Clients<F>, file: FileId) -> Option<Loaded> {
    let sample = data::programs()?.into_iter().find(|sample| sample.name == "sum")?;
    let program = container::open(&sample.bytes).unwrap();
    let loaded = rig.load(file, &program);
    for (surface, value) in surfaces(&program, Direction::Input).into_iter().zip([3.0, 2.0]) {
        rig.fill(&loaded, surface, &[f16::from_f32(value); 64]);
    }
    Some(loaded)
}

/// Asserts that the sum is there, and takes it away.
pub(crate) fn assert_sum(rig: &mut EmbeddedClients, loaded: &Loaded) {
    let sample = data::programs().unwrap().into_iter().find(|sample| sample.name == "sum").unwrap();
    let program = container::open(&sample.bytes).unwrap();
    let surface = surfaces(&program, Direction::Output)[0];
    assert_eq!(rig.take(loaded, surface), [f16::from_f32(5.0); 64]);
    rig.fill(loaded, surface, &[f16::ZERO; 64]);
}

pub(crate) fn param(rig: &mut EmbeddedClients, file: FileId, param: Param) -> u64 {
    let mut get = GetParam { param: param as u32, ..GetParam::new_zeroed() };
    rig.ioctl(file, &GET_PARAM, &mut get).unwrap();
    get.value
}

/// A counter of a file, or of the device.
pub(crate) fn counter(rig: &mut EmbeddedClients, file: FileId, is_device: bool, counter: Counter) -> u64 {
    let at = 0x1000;
    let mut memory = ane_driver::front::Segments::new();
    memory.push(at, vec![0; 8 * Counter::CODES.len()]);
    let scope = if is_device { STATS_DEVICE } else { STATS_FILE };
    let mut get = GetStats { counters: at, count: Counter::CODES.len() as u32, scope };
    if is_device {
        // The work of others is only shown to those who look after the device.
        assert_eq!(rig.ioctl_with(file, &GET_STATS, &mut get, &mut memory), Err(Errno::EPERM));
        let privileged = rig.open_as(true);
        rig.ioctl_with(privileged, &GET_STATS, &mut get, &mut memory).unwrap();
        rig.driver.close(privileged);
    } else {
        rig.ioctl_with(file, &GET_STATS, &mut get, &mut memory).unwrap();
    }
    let value = memory.read(at + 8 * counter as u64, 8).unwrap();
    u64::read_from_bytes(value).unwrap()
}

/// How an ended request ended.
pub(crate) fn result(fence: &ane_uapi::ioctl::fence::Fence) -> Result<(), Errno> {
    match fence.result {
        0 => Ok(()),
        errno => Err(Errno::try_from(errno.unsigned_abs()).unwrap()),
    }
}

/// Lets the driver work for a while.
pub(crate) fn work_for(rig: &mut EmbeddedClients, span: Duration) {
    let start = std::time::Instant::now();
    while start.elapsed() < span {
        rig.driver.progress(Duration::from_millis(5));
    }
}
