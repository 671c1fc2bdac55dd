//! The cost of the driver's memory: goals V1 to V3.
//!
//! `cargo bench -p ane-tests --bench memory`. Buffers of a context of a device in this process, mapped, unmapped and
//! evicted, with the device's real page tables and its translation buffer told each time that it has to be. Both
//! sides of a ratio run in turn; the figure is the median of the rounds' ratios. What was timed last is used: the
//! addresses are those of the tables.

#[path = "../../../device/benches/report/mod.rs"]
mod report;

use std::time::Instant;

use ane::embedded;
use ane_device::Options;
use ane_driver::bo::{BufferId, Create, Holder, Premap, Use};
use ane_driver::dart::CONTEXT_BYTES;
use ane_tests::driven::Driven;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::ADDRESS_ANY;
use report::median;

const ROUNDS: usize = 21;
const PAGE: u64 = 0x4000;
const MIB: u64 = 1 << 20;
/// Bytes of the aperture.
const APERTURE: u64 = 0xe000_0000;

/// A context of a device, and its buffers.
struct ContextRig {
    driven: Driven<embedded::InProcess>,
    context: ContextId,
}

impl ContextRig {
    fn new() -> Self {
        let bus = embedded::open(&Options::default(), 8 * CONTEXT_BYTES).expect("a device can be had");
        let mut driven = Driven::new(bus);
        let context = driven.open(1);
        Self { driven, context }
    }

    fn buffer(&mut self, bytes: u64) -> BufferId {
        self.driven.buffer(self.context, bytes, Usage::Input, 0)
    }

    /// Gives a buffer its addresses, and does what is due before they are used.
    fn map(&mut self, buffer: BufferId, bytes: u64) {
        let (space, bus) = self.driven.space(self.context);
        let premap = Premap { usage: Usage::Input as u32, address: ADDRESS_ANY, size: bytes };
        space.premap(bus, buffer, &premap).expect("there is room");
    }

    /// Takes a buffer's addresses, and has the translation buffer forget them.
    fn unmap(&mut self, buffer: BufferId) {
        let (space, bus) = self.driven.space(self.context);
        space.unmap(buffer, 0, Usage::Input as u32).expect("it is mapped");
        space.flush(bus).expect("the device answers");
    }

    /// The same, if a buffer has addresses.
    fn unmap_if_mapped(&mut self, buffer: BufferId) {
        let info = self.driven.space(self.context).0.info(buffer).expect("it is there");
        if info.device_address.is_some() {
            self.unmap(buffer);
        }
    }

    fn evictions(&mut self) -> u64 {
        self.driven.space(self.context).0.counters().evictions
    }

    /// Uses buffers as a request does.
    fn run(&mut self, uses: &[Use], places: &mut Vec<ane_uapi::hw::space::IovaRange>) {
        let (space, bus) = self.driven.space(self.context);
        space.begin(bus, uses, places).expect("there is room");
        space.finish(uses);
    }

    /// Makes a buffer of 64 KiB, uses it once, and frees it.
    fn life(&mut self, places: &mut Vec<ane_uapi::hw::space::IovaRange>) {
        let (space, bus) = self.driven.space(self.context);
        let create = Create { size: 4 * PAGE, usage: Usage::Input as u32, ..Create::default() };
        let buffer = space.create(bus, &create).expect("a buffer can be made");
        let uses = [Use { buffer, mapping: 0 }];
        self.run(&uses, places);
        self.driven.space(self.context).0.release(buffer, Holder::Handle);
    }
}

/// Seconds that something takes.
fn seconds(what: impl FnOnce()) -> f64 {
    let start = Instant::now();
    what();
    start.elapsed().as_secs_f64()
}

fn main() {
    map_and_unmap();
    live_buffers();
    eviction(64 * MIB);
    eviction(MIB);
}

/// V1: 64 MiB, mapped and unmapped.
fn map_and_unmap() {
    let bytes = 64 * MIB;
    let pages = (bytes / PAGE) as f64;
    let mut rig = ContextRig::new();
    let buffer = rig.buffer(bytes);
    let scattered = rig.driven.buffer(rig.context, bytes, Usage::Input, 1);
    for (id, buffer, what) in [
        ("V1", buffer, "64 MiB mapped and unmapped, a page"),
        ("V1", scattered, "64 MiB of scattered pages mapped and unmapped, a page"),
    ] {
        let times = (0..ROUNDS).map(|_| {
            seconds(|| {
                rig.map(buffer, bytes);
                rig.unmap(buffer);
            })
        });
        let time = median(times.collect());
        report::line(id, what, &format!("{:.1} us for {pages} pages", time * 1e6), time * 1e6 / pages);
    }
}

/// V2: one buffer among a thousand, and alone.
fn live_buffers() {
    const TIMES: usize = 2000;
    let (mut alone, mut among) = (ContextRig::new(), ContextRig::new());
    let mut places = Vec::new();
    for _ in 0..1000 {
        let buffer = among.buffer(4 * PAGE);
        among.map(buffer, 4 * PAGE);
    }
    let mut used = |rig: &mut ContextRig| {
        let uses = [0; 4].map(|_| Use { buffer: rig.buffer(4 * PAGE), mapping: 0 });
        rig.run(&uses, &mut places);
        uses
    };
    let uses = [used(&mut alone), used(&mut among)];
    let mut lives = Vec::new();
    let mut requests = Vec::new();
    for _ in 0..ROUNDS {
        let life =
            |rig: &mut ContextRig, places: &mut Vec<_>| seconds(|| (0..TIMES).for_each(|_| rig.life(places)));
        lives.push([life(&mut alone, &mut places), life(&mut among, &mut places)]);
        let request = |rig: &mut ContextRig, uses: &[Use], places: &mut Vec<_>| {
            seconds(|| (0..TIMES).for_each(|_| rig.run(uses, places)))
        };
        requests
            .push([request(&mut alone, &uses[0], &mut places), request(&mut among, &uses[1], &mut places)]);
    }
    assert_eq!(places.len(), 4, "every buffer of the last request has a place");
    for (what, times) in [
        ("a buffer of 64 KiB made, used, freed: among 1,000 / alone", lives),
        ("the four buffers of a request: among 1,000 / alone", requests),
    ] {
        let of = |side: usize| median(times.iter().map(|pair| pair[side]).collect()) * 1e6 / TIMES as f64;
        let ratio = median(times.iter().map(|[alone, among]| among / alone).collect());
        report::line("V2", what, &format!("{:.3} us / {:.3} us", of(1), of(0)), ratio);
    }
}

/// V3: a working set of twice the aperture, in buffers of so many bytes, used in turn.
///
/// Each use is timed by itself, and the median taken: what is compared is shorter than the slices in which a busy
/// machine gives its processors out.
fn eviction(bytes: u64) {
    let mut rig = ContextRig::new();
    let count = (2 * APERTURE / bytes) as usize;
    let buffers: Vec<_> = (0..count).map(|_| rig.buffer(bytes)).collect();
    // Nearly as many as fit.
    let (fitting, others) = buffers.split_at(count / 2 - 1);
    let mut places = Vec::new();
    let mut used = |rig: &mut ContextRig, buffers: &[BufferId]| -> Vec<f64> {
        let uses = buffers.iter().map(|&buffer| [Use { buffer, mapping: 0 }]);
        uses.map(|uses| seconds(|| rig.run(&uses, &mut places))).collect()
    };
    // Once, so that every table is there.
    used(&mut rig, fitting);
    let (mut mapping, mut evicting) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        buffers.iter().for_each(|&buffer| rig.unmap_if_mapped(buffer));
        mapping.extend(used(&mut rig, fitting));
        // The first of these finds room still.
        used(&mut rig, &others[..2]);
        let before = rig.evictions();
        evicting.extend(used(&mut rig, &others[2..]));
        evicting.extend(used(&mut rig, fitting));
        assert!(rig.evictions() - before >= count as u64 - 4, "every use has evicted something");
    }
    let (mapping, evicting) = (median(mapping), median(evicting));
    let added = (evicting - mapping) / mapping;
    let what = format!("working set twice the aperture, of {} MiB each: eviction / mapping", bytes / MIB);
    report::line(
        "V3",
        &what,
        &format!("{:.2} us / {:.2} us", (evicting - mapping) * 1e6, mapping * 1e6),
        added,
    );
}
