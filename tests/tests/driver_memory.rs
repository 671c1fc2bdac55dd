//! The driver's memory on a real device: what the engine reads and writes of a client's buffers, wherever they lie.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use ane::build::{Built, Graph, Shape};
use ane::embedded;
use ane_device::Options;
use ane_driver::bo::{BufferId, Map, Premap, StoreId, Use};
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{ArenaId, Bus, BusError};
use ane_driver::dart::CONTEXT_BYTES;
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::driven::{ContextProgram, Driven, seeker};
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{ADDRESS_ANY, BO_EVICTED, BO_SCATTERED};
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::ioctl::errno::Errno;
use half::f16;
use nix::sys::signal::Signal;

const PAGE: u64 = 0x4000;
const MIB: u64 = 1 << 20;
/// The driver's own memory: tables and pages of all contexts.
const MEMORY: usize = 8 * CONTEXT_BYTES;
/// Elements of the large tensor: eight rows to a page, and eight pages of them.
const CHANNELS: u32 = 64;
const WIDTH: u32 = 1024;

fn here() -> Driven<embedded::InProcess> {
    Driven::new(embedded::open(&Options::default(), MEMORY).unwrap())
}

fn there(daemon: &Daemon) -> Driven<VhostUser> {
    let settings = Settings { memory_bytes: MEMORY, timeout: LIMIT, ..Settings::default() };
    Driven::new(VhostUser::connect(&daemon.socket(), settings).unwrap())
}

/// Negative values become zero.
fn relu(shape: Shape) -> Built {
    let mut graph = Graph::new();
    let x = graph.input("x", shape).unwrap();
    let y = graph.relu(x).unwrap();
    graph.output("y", y).unwrap();
    graph.build().unwrap()
}

/// 32 elements: what a row has without padding.
const SMALL: Shape = Shape::new(1, 1, 32);

fn numbers(count: usize, seed: u32) -> Vec<f16> {
    (0..count as u32).map(|i| f16::from_f32(((i * 7 + seed * 13) % 61) as f32 - 30.0)).collect()
}

fn positive(values: &[f16]) -> Vec<f16> {
    values.iter().map(|value| value.max(f16::ZERO)).collect()
}

/// Runs a loaded ReLU of a small row on values of its own, and says whether it did what it should.
fn computes<B: Bus>(driven: &mut Driven<B>, built: &Built, loaded: &ContextProgram, seed: u32) -> bool {
    let values = numbers(32, seed);
    driven.fill(loaded, built.surface("x").unwrap(), &values);
    let (is_done, _) = driven.run(loaded);
    is_done && driven.take(loaded, built.surface("y").unwrap(), 32) == positive(&values)
}

/// Requirement: MAP-20
#[test]
fn buffers_on_scattered_pages_give_the_result_of_contiguous_ones() {
    let built = relu(Shape::new(CHANNELS, 1, WIDTH));
    let values = numbers((CHANNELS * WIDTH) as usize, 1);
    let results = [0, BO_SCATTERED].map(|flags| {
        let mut driven = here();
        let context = driven.open(1);
        let loaded = driven.load(context, &built.program(), flags);
        driven.fill(&loaded, built.surface("x").unwrap(), &values);
        assert!(driven.run(&loaded).0);
        let offset = driven.space(context).0.info(loaded.bars[&built.surface("x").unwrap().bar].buffer);
        let extents =
            driven.space(context).0.extents(StoreId::FIRST, offset.unwrap().map_offset, 8 * PAGE).unwrap();
        (extents.len(), driven.take(&loaded, built.surface("y").unwrap(), values.len()))
    });
    assert_eq!([results[0].0, results[1].0], [1, 8], "one stretch, and eight");
    assert!(results[0].1 == positive(&values) && results[1].1 == results[0].1);
}

/// Requirement: MAP-19
#[test]
fn in_place_work_through_two_addresses_of_one_page_reads_what_it_wrote() {
    let built = relu(SMALL);
    let mut driven = here();
    let context = driven.open(1);
    let mut loaded = driven.load(context, &built.program(), 0);
    let [x, y] = ["x", "y"].map(|name| built.surface(name).unwrap().bar);
    let buffer = loaded.bars[&x].buffer;
    let (space, bus) = driven.space(context);
    let map = Map { usage: Usage::Output as u32, ..Map::default() };
    let (mapping, second) = space.map(bus, buffer, &map).unwrap();
    loaded.bars.insert(y, Use { buffer, mapping });
    let values = numbers(32, 2);
    driven.fill(&loaded, built.surface("x").unwrap(), &values);
    let (is_done, places) = driven.run(&loaded);
    assert!(is_done && places.iter().filter(|place| place.base() == second).count() == 1);
    let in_place = driven.take(&loaded, built.surface("x").unwrap(), 32);
    assert_eq!(in_place, positive(&values));
}

/// Requirement: POOL-01
#[test]
fn first_request_of_premapped_buffers_maps_nothing() {
    let built = relu(SMALL);
    let mut driven = here();
    let context = driven.open(1);
    let loaded = driven.load(context, &built.program(), 0);
    let (space, bus) = driven.space(context);
    let all: Vec<BufferId> = space.buffers().collect();
    for buffer in all {
        let info = space.info(buffer).unwrap();
        let premap = Premap { usage: info.usage as u32, address: ADDRESS_ANY, size: info.size };
        space.premap(bus, buffer, &premap).unwrap();
    }
    let before = driven.space(context).0.counters();
    assert!(computes(&mut driven, &built, &loaded, 3));
    let after = driven.space(context).0.counters();
    assert_eq!((before.maps, before.premaps), (after.maps, before.maps));
}

/// Requirement: POOL-10
#[test]
fn process_that_maps_five_gigabytes_is_not_refused() {
    let built = relu(SMALL);
    let mut driven = here();
    let context = driven.open(1);
    let loaded = driven.load(context, &built.program(), 0);
    let x = built.surface("x").unwrap().bar;
    // Each is an input of half a gigabyte, of which the program reads the first row.
    for seed in 0..10 {
        let buffer = driven.buffer(context, 512 * MIB, Usage::Input, 0);
        let mut with_it = loaded.clone();
        with_it.bars.insert(x, Use { buffer, mapping: 0 });
        assert!(computes(&mut driven, &built, &with_it, seed));
    }
    let counters = driven.space(context).0.counters();
    assert!(
        counters.buffer_bytes > 5 << 30 && counters.mapped_bytes <= 0xe000_0000 && counters.evictions > 0
    );
}

/// Requirement: POOL-12
#[test]
fn evicted_buffer_comes_back_with_its_contents_at_another_address_and_the_engine_reads_it_there() {
    let built = relu(SMALL);
    let mut driven = here();
    let context = driven.open(1);
    let loaded = driven.load(context, &built.program(), 0);
    let values = numbers(32, 4);
    driven.fill(&loaded, built.surface("x").unwrap(), &values);
    let (_, before) = driven.run(&loaded);
    let all: Vec<BufferId> = driven.space(context).0.buffers().collect();
    // Two buffers that leave no room beside each other, and one that takes the first addresses for good.
    for _ in 0..2 {
        let buffer = driven.buffer(context, 1791 * MIB, Usage::Input, 0);
        let (space, bus) = driven.space(context);
        let size = 1791 * MIB;
        space.premap(bus, buffer, &Premap { usage: 1, address: ADDRESS_ANY, size }).unwrap();
    }
    let buffer = driven.buffer(context, 2 * MIB, Usage::Input, 0);
    let (space, bus) = driven.space(context);
    space.premap(bus, buffer, &Premap { usage: 1, address: PAGE, size: PAGE }).unwrap();
    assert!(all.iter().all(|&buffer| space.info(buffer).unwrap().state == BO_EVICTED));
    let (is_done, after) = driven.run(&loaded);
    assert!(is_done && before.iter().all(|place| !after.contains(place)));
    assert_eq!(driven.take(&loaded, built.surface("y").unwrap(), 32), positive(&values));
}

#[test]
fn stale_translation_of_an_evicted_mapping_is_never_used() {
    // Two inputs of more than half the aperture take each other's place, at one address, again and again.
    let built = relu(SMALL);
    let daemon = Daemon::start(&["--check"]);
    let mut driven = there(&daemon);
    let context = driven.open(1);
    let loaded = driven.load(context, &built.program(), 0);
    let x = built.surface("x").unwrap().bar;
    let large = [0, 1].map(|_| driven.buffer(context, 2048 * MIB, Usage::Input, 0));
    for seed in 0..6 {
        let mut with_it = loaded.clone();
        with_it.bars.insert(x, Use { buffer: large[seed as usize % 2], mapping: 0 });
        assert!(computes(&mut driven, &built, &with_it, seed));
    }
    assert_eq!(driven.space(context).0.counters().evictions, 5);
    assert_eq!(Control::connect(&daemon.control()).ask("findings"), Ok(vec![]));
}

/// Opens all contexts, runs something in each, gives half of them back and opens them again.
fn contexts_come_and_go<B: Bus>(mut driven: Driven<B>) {
    let built = relu(SMALL);
    let load = |driven: &mut Driven<B>, file| {
        let context = driven.open(file);
        (context, driven.load(context, &built.program(), 0))
    };
    let all: Vec<_> = (0..8).map(|file| load(&mut driven, file)).collect();
    assert_eq!(all.iter().map(|(context, _)| *context).collect::<Vec<_>>(), ContextId::ALL);
    for (seed, (_, loaded)) in (0..).zip(&all) {
        assert!(computes(&mut driven, &built, loaded, seed), "context {seed}");
    }
    let y = built.surface("y").unwrap();
    for (seed, (_, loaded)) in (0..).zip(&all) {
        assert_eq!(driven.take(loaded, y, 32), positive(&numbers(32, seed)), "each has its own");
    }
    for file in (0..8).step_by(2) {
        driven.close(file);
    }
    for file in (0..8).step_by(2) {
        let (_, loaded) = load(&mut driven, 10 + file);
        assert!(computes(&mut driven, &built, &loaded, 20));
    }
    for (seed, (_, loaded)) in (0..).zip(&all).skip(1).step_by(2) {
        assert!(driven.run(loaded).0);
        assert_eq!(driven.take(loaded, y, 32), positive(&numbers(32, seed)), "whoever stayed has it still");
    }
}

#[test]
fn every_context_of_a_device_in_this_process_works_and_can_be_given_out_again() {
    contexts_come_and_go(here());
}

#[test]
fn every_context_of_a_device_behind_a_socket_works_and_can_be_given_out_again() {
    contexts_come_and_go(there(&Daemon::start(&[])));
}

#[test]
fn device_without_memory_slots_has_room_for_seven_contexts_and_the_eighth_is_refused() {
    let built = relu(SMALL);
    let daemon = Daemon::start(&[]);
    let settings =
        Settings { memory_bytes: MEMORY, timeout: LIMIT, memory_slots: false, ..Settings::default() };
    let mut driven = Driven::new(VhostUser::connect(&daemon.socket(), settings).unwrap());
    let loaded: Vec<_> = (0..7)
        .map(|file| {
            let context = driven.open(file);
            driven.load(context, &built.program(), 0)
        })
        .collect();
    let beside = ArenaId::all_extra().next().unwrap();
    assert!(
        matches!(driven.bus.arena(beside), Err(BusError::Lacks { .. })),
        "nor is there one for a file that shares"
    );
    let eighth = driven.contexts.attach(&mut driven.bus, seeker(7), ContextPolicy::Refuse, None);
    assert_eq!(eighth.unwrap_err().errno(), Errno::EBUSY);
    driven.close(3);
    driven.open(8);
    let others = (0..).zip(&loaded).filter(|&(number, _)| number != 3);
    assert!(others.into_iter().all(|(seed, loaded)| computes(&mut driven, &built, loaded, seed)));
}

/// A client's own view of its context's memory, which it keeps longer than the context.
fn view<B: Bus>(driven: &mut Driven<B>, context: ContextId) -> File {
    let file: OwnedFd =
        driven.space(context).0.arena(StoreId::FIRST).unwrap().file().as_fd().try_clone_to_owned().unwrap();
    file.into()
}

#[test]
fn client_that_is_gone_never_sees_what_the_next_one_of_its_context_computes() {
    let built = relu(SMALL);
    let mut driven = here();
    let context = driven.open(1);
    let loaded = driven.load(context, &built.program(), 0);
    assert!(computes(&mut driven, &built, &loaded, 5));
    let old = view(&mut driven, context);
    let offset = |driven: &mut Driven<_>, loaded: &ContextProgram| {
        let buffer = loaded.bars[&built.surface("y").unwrap().bar].buffer;
        driven.space(context).0.info(buffer).unwrap().map_offset
    };
    let at = offset(&mut driven, &loaded);
    driven.close(1);
    assert_eq!(driven.open(2), context);
    let loaded = driven.load(context, &built.program(), 0);
    assert_eq!(offset(&mut driven, &loaded), at, "at the same offset");
    assert!(computes(&mut driven, &built, &loaded, 6));
    let mut seen = [0; 64];
    old.read_exact_at(&mut seen, at).unwrap();
    let of = |seed| {
        positive(&numbers(32, seed)).iter().flat_map(|v| v.to_bits().to_le_bytes()).collect::<Vec<_>>()
    };
    assert_eq!(seen.to_vec(), of(5));
    view(&mut driven, context).read_exact_at(&mut seen, at).unwrap();
    assert_eq!(seen.to_vec(), of(6));
}

#[test]
fn work_of_one_client_that_names_another_s_address_fails_and_reads_nothing() {
    let built = relu(SMALL);
    let mut driven = here();
    let [first, second] = [1, 2].map(|file| driven.open(file));
    let theirs = driven.buffer(first, 64 * PAGE, Usage::Input, 0);
    let (space, bus) = driven.space(first);
    let at = space.premap(bus, theirs, &Premap { usage: 1, address: ADDRESS_ANY, size: PAGE }).unwrap();
    let secret: Vec<u8> = numbers(32 * 1024, 7).iter().flat_map(|v| v.to_bits().to_le_bytes()).collect();
    (0..16).for_each(|part| space.write(theirs, part * 0x1_0000, &secret).unwrap());
    let mut ours = driven.load(second, &built.program(), 0);
    assert!(computes(&mut driven, &built, &ours, 8));
    // Mapped for the first client, and for the second nothing is.
    ours.forged.insert(built.surface("x").unwrap().bar, Iova(at.0 + 48 * 0x4000));
    assert!(!driven.run(&ours).0);
    assert_eq!(driven.take(&ours, built.surface("y").unwrap(), 32), positive(&numbers(32, 8)));
}

#[test]
fn device_that_was_killed_and_came_back_finds_every_client_s_memory_as_it_was() {
    let built = relu(SMALL);
    let mut daemon = Daemon::start(&[]);
    let mut driven = there(&daemon);
    let contexts = [1, 2].map(|file| driven.open(file));
    let loaded = contexts.map(|context| driven.load(context, &built.program(), 0));
    assert!((0..).zip(&loaded).all(|(seed, loaded)| computes(&mut driven, &built, loaded, seed)));
    daemon.signal(Signal::SIGKILL);
    daemon.wait();
    let again = Daemon::start(&[]);
    driven.bus.reconnect(&again.socket()).unwrap();
    let mut operations = Vec::new();
    driven.contexts.restore(&mut operations);
    driven.bus.batch(&operations, &mut []).unwrap();
    for (seed, loaded) in (0..).zip(&loaded) {
        assert!(driven.run(loaded).0);
        assert_eq!(driven.take(loaded, built.surface("y").unwrap(), 32), positive(&numbers(32, seed)));
    }
}

/// Requirement: DART-36
#[test]
fn one_file_of_the_driver_writes_page_tables() {
    fn writers(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                writers(&path, found);
            } else if std::fs::read_to_string(&path).unwrap().contains(".store_u64(") {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driver/src");
    let mut found = Vec::new();
    writers(&driver, &mut found);
    found.sort();
    // Beside it, the memory itself, and the rings of virtqueues, which lie in memory that no DART maps.
    let known = ["bus/memory.rs", "bus/ring.rs", "dart/tables.rs"].map(|file| driver.join(file));
    assert_eq!(found, known.map(|path| path.to_string_lossy().into_owned()));
}
