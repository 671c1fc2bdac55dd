//! What the driver leaves alone: the memories of the chip, which belong to the tasks.

use std::time::Duration;

use ane::build::{Convolution, Graph, Shape, Weights};
use ane_device::inject::Injection;
use ane_driver::Driver;
use ane_driver::clock::Manual;
use ane_driver::front::Files;
use ane_tests::client::Clients;
use ane_uapi::hw::mmio_map::Region;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{RECOVER, RECOVER_RESET, Recover};
use half::f16;
use zerocopy::FromZeros;

use super::checked_bus::CheckedBus;
use super::rig::result;

/// From the first look at the device on, through requests that end well, in a fault and in a reset, until the file is closed.
///
/// Requirement: ENG-10
#[test]
fn driver_accesses_neither_tile_l2_nor_kernel_memory() {
    let on_chip = [Region::TileL2, Region::KernelMemory].map(Region::range);
    let bus = CheckedBus::new(move |at| !on_chip.iter().any(|range| range.contains(at)));
    let clock = Manual::default();
    let mut rig = Clients::new(Driver::with_clock(bus, Box::new(clock.clone())).unwrap());
    let file = rig.open_as(true);
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(3, 1, 4)).unwrap();
    let weights = [f16::ONE; 9];
    let product = graph.convolution(x, &Convolution::new(3, (1, 1), Weights::Half(&weights))).unwrap();
    graph.output("product", product).unwrap();
    let built = graph.build().unwrap();
    let loaded = rig.load(file, &built.program());
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    let injection: Injection = "translation-fault:after=1".parse().unwrap();
    rig.driver.bus_mut().bus_mut().device_mut().ane().inject(injection);
    assert_eq!(result(&rig.run(&loaded)), Err(Errno::EIO));
    let mut recover = Recover { flags: RECOVER_RESET, ..Recover::new_zeroed() };
    rig.ioctl(file, &RECOVER, &mut recover).unwrap();
    clock.advance(Duration::from_millis(300));
    rig.settle();
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    rig.driver.close(file);
    rig.settle();
}
