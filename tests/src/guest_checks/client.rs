//! Questions to a driver, as its clients ask them.

use std::thread;
use std::time::{Duration, Instant};

use ane::device::{Buffer, Device};
use ane::model::Model;
use ane::session::{self, Session};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{self, BO_EVICTED, BO_FIXED_ADDRESS, BO_MAPPED, BoMap, BoPremap, BoUnmap};
use zerocopy::FromZeros;

/// How long a device that was lost may stay away.
const ABSENCE: Duration = Duration::from_secs(90);

/// Where buffers are mapped that are to be in each other's way.
const ADDRESS: u64 = 0x0100_0000;

/// Bytes of each: three pages.
const BYTES: u64 = 0xc000;

/// Mappings made, taken away and pushed out by another: what the driver says of them, and that the buffers keep
/// what they hold.
///
/// # Panics
///
/// If the driver refuses what it should not.
pub fn buffers(device: &Device) -> String {
    let mut said = Vec::new();
    let first = Buffer::new(device, BYTES, Usage::Input).expect("there is memory");
    let second = Buffer::new(device, BYTES, Usage::Input).expect("there is memory");
    let pattern: Vec<u8> = (0..BYTES).map(|n| (n % 251) as u8).collect();
    first.write(0, &pattern).expect("it can be written");
    let state = |buffer: &Buffer| {
        let info = buffer.info().expect("it is known");
        format!(
            "mapped {} evicted {} at {:#x}, {} mappings, {} evictions",
            info.state & BO_MAPPED != 0,
            info.state & BO_EVICTED != 0,
            info.device_address,
            info.mapping_count,
            info.evictions
        )
    };
    for (name, buffer) in [("first", &first), ("second", &second), ("first", &first)] {
        let mut premap = BoPremap::new_zeroed();
        (premap.count, premap.handle, premap.usage) = (1, buffer.handle(), Usage::Input as u32);
        (premap.device_address, premap.size) = (ADDRESS, BYTES);
        let outcome = device.call(&buffer::BO_PREMAP, &mut premap, &mut []);
        said.push(format!("premap of the {name}: {:?}", outcome.map_err(|why| why.errno())));
        said.push(format!("first: {}; second: {}", state(&first), state(&second)));
    }
    let mut map = BoMap::new_zeroed();
    (map.handle, map.usage, map.flags) = (second.handle(), Usage::Weights as u32, BO_FIXED_ADDRESS);
    (map.offset, map.size, map.device_address) = (0x4000, 0x4000, 0x0200_0000);
    device.call(&buffer::BO_MAP, &mut map, &mut []).expect("it can be mapped twice");
    said.push(format!("mapping {} at {:#x}; second: {}", map.mapping, map.device_address, state(&second)));
    let mut unmap = BoUnmap::new_zeroed();
    (unmap.handle, unmap.mapping, unmap.usage) = (second.handle(), map.mapping, map.usage);
    device.call(&buffer::BO_UNMAP, &mut unmap, &mut []).expect("it can be taken away");
    let again = device.call(&buffer::BO_UNMAP, &mut unmap, &mut []).map_err(|why| why.errno());
    said.push(format!("unmapped; again: {again:?}; second: {}", state(&second)));
    let mut kept = vec![0; pattern.len()];
    first.read(0, &mut kept).expect("it can be read");
    said.push(format!("contents kept: {}", kept == pattern));
    said.join("\n")
}

/// The fault of a program that was run while one was armed in the device: what its client is told.
///
/// # Panics
///
/// If the program runs to its end.
pub fn fault(device: &Device, bytes: &[u8]) -> String {
    let model = Model::read(bytes).expect("program can be read");
    let mut session = Session::load(device, &model).expect("program can be loaded");
    let Err(session::Error::Failed { fault: Some(fault), .. }) = session.run() else {
        panic!("a fault is armed");
    };
    // Numbers of bus transactions count on from whatever ran before.
    let text = fault.info().to_string();
    text.lines().filter(|line| !line.starts_with("AXI_ID")).collect::<Vec<_>>().join("\n")
}

/// A program that is loaded, run until its device is lost, and run again as it is when the device is back: `told`
/// hears of each.
///
/// # Panics
///
/// If what comes out is not the same, or the device does not come back.
pub fn outlive(device: &Device, bytes: &[u8], told: impl Fn(&str)) {
    let model = Model::read(bytes).expect("program can be read");
    let mut session = Session::load(device, &model).expect("program can be loaded");
    let outputs = |session: &Session| {
        let names: Vec<String> = session.outputs().map(|surface| surface.name.to_string()).collect();
        let take = |name: &String| session.get(name).expect("it is an output").values().to_vec();
        names.iter().map(take).collect::<Vec<_>>()
    };
    session.run().expect("program runs");
    let before = outputs(&session);
    told("running");
    while session.run().is_ok() {
        thread::sleep(Duration::from_millis(50));
    }
    told("lost");
    let since = Instant::now();
    while session.run().is_err() {
        assert!(since.elapsed() < ABSENCE, "the device does not come back");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(outputs(&session), before, "the same buffers, and the same results");
    told("found again");
}
