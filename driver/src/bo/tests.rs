//! Tests of a context's buffers, on a bus to nothing.

mod hostile;
mod model;

use ane_uapi::hw::dart::pte::{LeafFormat, Seed};
use ane_uapi::hw::dart::walk::{self, WalkIndices};
use ane_uapi::hw::space::{Iova, IovaRange, PhysAddr};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{
    ADDRESS_ANY, BO_BUSY, BO_EVICTED, BO_FIXED_ADDRESS, BO_MAPPED, BO_PINNED, BO_PREMAPPED, BO_SCATTERED,
};
use ane_uapi::ioctl::context::ContextPolicy;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::wire::config::FEATURE_CHECK;

use super::*;
use crate::bus::{Bus, Operation};
use crate::front::FileId;
use crate::iso::Contexts;
use crate::tests::fake::Fake;
use crate::tests::users::seeker;

const PAGE: u64 = 0x4000;
const MIB: u64 = 1 << 20;
/// Pages of the aperture that are given out.
const GIVEN_OUT: u64 = 229_376 - 3;

/// A context with an arena of so many pages.
struct Rig {
    bus: Fake,
    contexts: Contexts,
}

impl Rig {
    fn new(arena_pages: u32) -> Self {
        Self::on(Fake::new(arena_pages))
    }

    fn on(mut bus: Fake) -> Self {
        let mut contexts = Contexts::new(&bus).unwrap();
        contexts.attach(&mut bus, seeker(1), ContextPolicy::Refuse, None).unwrap();
        Self { bus, contexts }
    }

    fn both(&mut self) -> (&mut Space, &mut Fake) {
        let context = self.contexts.of(FileId(1)).unwrap();
        (self.contexts.space_mut(context).unwrap(), &mut self.bus)
    }

    fn space(&mut self) -> &mut Space {
        self.both().0
    }

    fn create(&mut self, create: Create) -> Result<BufferId> {
        let (space, bus) = self.both();
        space.create(bus, &create)
    }

    /// A buffer of so many pages, for input.
    fn buffer(&mut self, pages: u64) -> BufferId {
        self.create(Create { size: pages << 14, usage: 1, ..Create::default() }).unwrap()
    }

    fn begin(&mut self, buffers: &[BufferId]) -> Result<Vec<IovaRange>> {
        let mut places = Vec::new();
        let (space, bus) = self.both();
        space.begin(bus, &uses(buffers), &mut places).map(|()| places)
    }

    fn finish(&mut self, buffers: &[BufferId]) {
        self.space().finish(&uses(buffers));
    }

    /// Uses buffers once.
    fn run(&mut self, buffers: &[BufferId]) -> Vec<IovaRange> {
        let places = self.begin(buffers).unwrap();
        self.finish(buffers);
        places
    }

    fn state(&mut self, buffer: BufferId) -> u32 {
        self.space().info(buffer).unwrap().state
    }

    fn address(&mut self, buffer: BufferId) -> Option<u32> {
        self.space().info(buffer).unwrap().device_address.map(|iova| iova.0)
    }

    /// The page that an address leads to, by the tables in memory.
    fn walk(&mut self, iova: Iova) -> Option<PhysAddr> {
        let indices = WalkIndices::of_iova(iova);
        let (space, bus) = self.both();
        let load = |table, index| bus.memory().load_u64(walk::entry(table, index).unwrap()).unwrap();
        let leaves = Seed::decode_table(load(space.mapper().tables().base(), indices.l2)).unwrap()?;
        Seed::decode(load(leaves, indices.l3)).unwrap().map(|leaf| leaf.page)
    }
}

fn uses(buffers: &[BufferId]) -> Vec<Use> {
    buffers.iter().map(|&buffer| Use { buffer, mapping: 0 }).collect()
}

fn errno<T>(outcome: Result<T>) -> Option<Errno> {
    outcome.err().map(|why| why.errno())
}

#[test]
fn fresh_buffers_get_ascending_addresses_from_the_first_page_with_nothing_between() {
    let mut rig = Rig::new(64);
    let sizes = [1, PAGE, PAGE + 1, 5 * PAGE];
    let create = |size| Create { size, usage: 1, flags: BO_PREMAPPED, ..Create::default() };
    let buffers = sizes.map(|size| rig.create(create(size)).unwrap());
    assert_eq!(buffers.map(|buffer| rig.address(buffer)), [0x4000, 0x8000, 0xc000, 0x1_4000].map(Some));
    assert_eq!(buffers.map(|buffer| rig.space().info(buffer).unwrap().size / PAGE), [1, 1, 2, 5]);
    assert_eq!(buffers.map(|buffer| rig.space().info(buffer).unwrap().map_offset / PAGE), [0, 1, 2, 4]);
}

/// Requirement: MEM-31
#[test]
fn leaves_lead_to_the_buffer_s_pages_in_order_and_to_nothing_after_unmap() {
    for flags in [0, BO_SCATTERED] {
        let mut rig = Rig::new(64);
        let buffer = rig.create(Create { size: 7 * PAGE, usage: 2, flags, ..Create::default() }).unwrap();
        let base = rig.run(&[buffer])[0].base();
        let (space, _) = rig.both();
        let offset = space.info(buffer).unwrap().map_offset;
        let extents = space.extents(StoreId::FIRST, offset, 7 * PAGE).unwrap();
        let arena = space.arena(StoreId::FIRST).unwrap().clone();
        let pages =
            extents.iter().flat_map(|extent| (0..extent.bytes / PAGE).map(|i| extent.offset + i * PAGE));
        let expected: Vec<_> = pages.map(|offset| arena.physical(offset)).collect();
        let found: Vec<_> = (0..7).map(|i| rig.walk(Iova(base.0 + i * 0x4000))).collect();
        assert_eq!(found, expected);
        rig.space().unmap(buffer, 0, 2).unwrap();
        assert!((0..7).all(|i| rig.walk(Iova(base.0 + i * 0x4000)).is_none()));
    }
}

#[test]
fn buffer_lives_until_the_last_that_holds_it_is_gone() {
    let mut rig = Rig::new(4);
    let buffer = rig.buffer(4);
    let space = rig.space();
    space.hold(buffer, Holder::Program);
    space.hold(buffer, Holder::Request);
    space.extents(StoreId::FIRST, 0, 2 * PAGE).unwrap();
    space.release(buffer, Holder::Handle);
    assert_eq!(errno(space.extents(StoreId::FIRST, 0, PAGE)), Some(Errno::EINVAL), "nobody can name it");
    space.release(buffer, Holder::Request);
    space.release(buffer, Holder::Program);
    let wanted = Create { size: PAGE, usage: 1, ..Create::default() };
    assert_eq!(errno(rig.create(wanted)), Some(Errno::ENOMEM), "a process has it mapped");
    assert_eq!(
        errno(rig.space().unmapped(StoreId::FIRST, 0, PAGE)),
        Some(Errno::EINVAL),
        "of another length"
    );
    rig.space().unmapped(StoreId::FIRST, 0, 2 * PAGE).unwrap();
    assert!(rig.space().info(buffer).is_none());
    rig.create(wanted).unwrap();
}

#[test]
fn buffer_whose_last_holder_goes_while_work_uses_it_ends_with_the_work() {
    let mut rig = Rig::new(4);
    let buffer = rig.buffer(4);
    rig.begin(&[buffer]).unwrap();
    rig.space().release(buffer, Holder::Handle);
    assert_eq!(rig.state(buffer), BO_MAPPED | BO_BUSY);
    rig.finish(&[buffer]);
    assert!(rig.space().info(buffer).is_none());
}

#[test]
fn freed_memory_is_used_again_only_after_an_invalidation_and_is_zero() {
    let mut rig = Rig::new(4);
    let buffer = rig.buffer(4);
    rig.run(&[buffer]);
    rig.space().write(buffer, PAGE - 3, b"secret").unwrap();
    rig.space().release(buffer, Holder::Handle);
    let before = rig.space().counters().invalidations;
    let again = rig.buffer(4);
    assert_eq!(rig.space().counters().invalidations, before + 1);
    let mut seen = [1; 0x1_0000];
    rig.space().read(again, 0, &mut seen).unwrap();
    assert!(seen.iter().all(|&byte| byte == 0));
}

#[test]
fn device_that_does_not_answer_keeps_freed_memory_from_being_used_again() {
    let mut rig = Rig::new(4);
    let buffer = rig.buffer(4);
    rig.run(&[buffer]);
    rig.space().release(buffer, Holder::Handle);
    rig.bus.is_gone = true;
    let wanted = Create { size: PAGE, usage: 1, ..Create::default() };
    assert_eq!(errno(rig.create(wanted)), Some(Errno::ENODEV));
    rig.bus.is_gone = false;
    rig.create(wanted).unwrap();
}

#[test]
fn any_number_of_unmaps_costs_the_next_request_one_invalidation_and_no_unmap_none() {
    let mut rig = Rig::new(64);
    let buffers: Vec<_> = (0..10).map(|_| rig.buffer(1)).collect();
    rig.run(&buffers);
    let count = |rig: &mut Rig| rig.space().counters().invalidations;
    let first = count(&mut rig);
    rig.run(&buffers);
    assert_eq!(count(&mut rig), first);
    for &buffer in &buffers {
        rig.space().unmap(buffer, 0, 1).unwrap();
    }
    rig.bus.busy = 5;
    rig.run(&[]);
    assert_eq!((count(&mut rig), rig.bus.busy), (first + 1, 0));
}

/// Requirement: DART-28, DART-32
#[test]
fn long_run_of_mappings_of_every_usage_sets_no_auxiliary_bit() {
    let mut rig = Rig::new(16);
    let auxiliary = Seed::AUXILIARY.into_iter().fold(0, |all, bit| all | bit);
    let mut maps = 0;
    while maps < 26_178 {
        for usage in Usage::ALL {
            let (space, bus) = rig.both();
            let buffer = space.create_for_program(bus, StoreId::FIRST, (16 * PAGE, *usage)).unwrap();
            let place = rig.run(&[buffer])[0];
            let table = rig.space().mapper().tables().base().0 + PAGE;
            for page in place.base().0 >> 14..place.end().0 >> 14 {
                let leaf = rig.bus.memory().load_u64(PhysAddr(table + u64::from(page) * 8)).unwrap();
                assert_eq!(leaf & auxiliary, 0);
                maps += 1;
            }
            rig.space().release(buffer, Holder::Program);
        }
    }
}

/// Requirement: MAP-21
#[test]
fn usage_stays_with_its_mapping_for_its_life() {
    let mut rig = Rig::new(64);
    let buffer = rig.buffer(4);
    let (space, bus) = rig.both();
    let map = Map { usage: 2, offset: PAGE, ..Map::default() };
    let (number, _) = space.map(bus, buffer, &map).unwrap();
    rig.run(&[buffer]);
    let usages = |rig: &mut Rig| [0, number].map(|number| rig.space().mapping(buffer, number).unwrap().usage);
    assert_eq!(usages(&mut rig), [Usage::Input, Usage::Output]);
    let listed: Vec<_> = rig.space().mappings().map(|(_, number, _, usage)| (number, usage)).collect();
    assert_eq!(listed, [(number, Usage::Output), (0, Usage::Input)]);
    rig.space().unmap(buffer, 0, 1).unwrap();
    rig.run(&[buffer]);
    assert_eq!(usages(&mut rig), [Usage::Input, Usage::Output]);
}

#[test]
fn two_mappings_lead_to_one_page() {
    let mut rig = Rig::new(64);
    let buffer = rig.buffer(4);
    let (space, bus) = rig.both();
    let (_, second) = space.map(bus, buffer, &Map { usage: 2, offset: 2 * PAGE, ..Map::default() }).unwrap();
    let first = rig.run(&[buffer])[0].base();
    assert_eq!(rig.walk(second), rig.walk(Iova(first.0 + 0x8000)));
    assert_eq!(rig.space().find(Iova(second.0 + 0x7fff)), Some((buffer, 1)));
    assert_eq!(rig.space().find(Iova(second.0 + 0x8000)), Some((buffer, 0)));
}

#[test]
fn mapping_in_use_or_kept_by_a_program_cannot_be_taken_away() {
    let mut rig = Rig::new(64);
    let buffer = rig.buffer(1);
    assert_eq!(errno(rig.space().unmap(buffer, 0, 1)), Some(Errno::ENODATA), "it has no place");
    rig.begin(&[buffer]).unwrap();
    assert_eq!(errno(rig.space().unmap(buffer, 0, 1)), Some(Errno::EBUSY));
    rig.space().keep(&uses(&[buffer]));
    rig.finish(&[buffer]);
    assert_eq!(errno(rig.space().unmap(buffer, 0, 1)), Some(Errno::EBUSY));
    rig.space().unkeep(&uses(&[buffer]));
    assert_eq!(errno(rig.space().unmap(buffer, 0, 2)), Some(Errno::EINVAL), "another usage");
    rig.space().unmap(buffer, 0, 1).unwrap();
    for number in [1, 15, 16, u32::MAX] {
        assert_eq!(errno(rig.space().unmap(buffer, number, 1)), Some(Errno::ENODATA));
    }
}

#[test]
fn buffers_of_a_context_and_their_process_mappings_are_bounded() {
    let mut rig = Rig::new(70_000);
    let buffers: Vec<_> = (0..space::BUFFERS_MAX).map(|_| rig.buffer(1)).collect();
    let wanted = Create { size: 1, usage: 1, ..Create::default() };
    assert_eq!(errno(rig.create(wanted)), Some(Errno::ENOSPC));
    rig.space().release(buffers[7], Holder::Handle);
    rig.create(wanted).unwrap();
    let page = |number: u32| u64::from(number % 1000 + 8) * PAGE;
    rig.space().mapped = process::MAPPED_MAX - 1;
    rig.space().extents(StoreId::FIRST, page(0), PAGE).unwrap();
    assert_eq!(errno(rig.space().extents(StoreId::FIRST, page(0), PAGE)), Some(Errno::ENOMEM));
    rig.space().unmapped(StoreId::FIRST, page(0), PAGE).unwrap();
    rig.space().extents(StoreId::FIRST, page(1), PAGE).unwrap();
}

#[test]
fn only_bytes_of_one_buffer_can_be_mapped_by_a_process() {
    let mut rig = Rig::new(64);
    let create = |flags| Create { size: 4 * PAGE, usage: 1, flags, ..Create::default() };
    let [plain, scattered] = [0, BO_SCATTERED].map(|flags| rig.create(create(flags)).unwrap());
    let offsets = [plain, scattered].map(|buffer| rig.space().info(buffer).unwrap().map_offset);
    assert_eq!(offsets, [0, 64 * PAGE], "behind the arena's end, for it is no stretch of it");
    for (offset, bytes) in [
        (0, 0),
        (0, 4 * PAGE + 1),
        (3 * PAGE, PAGE + 1),
        (1, 1),
        (0x800, 0x800),
        (4 * PAGE, PAGE),
        (63 * PAGE, PAGE),
        (68 * PAGE, 1),
        (0, u64::MAX),
        (u64::MAX, 1),
        (u64::MAX - 0xfff, u64::MAX),
    ] {
        assert_eq!(
            errno(rig.space().extents(StoreId::FIRST, offset, bytes)),
            Some(Errno::EINVAL),
            "{offset:#x} {bytes:#x}"
        );
        assert_eq!(
            errno(rig.space().unmapped(StoreId::FIRST, offset, bytes)),
            Some(Errno::EINVAL),
            "{offset:#x} {bytes:#x}"
        );
    }
    let middle = rig.space().extents(StoreId::FIRST, 65 * PAGE + 0x1000, 2 * PAGE).unwrap();
    let lengths: Vec<_> = middle.iter().map(|extent| extent.bytes).collect();
    assert_eq!(lengths, [PAGE - 0x1000, PAGE, 0x1000]);
    rig.space().unmapped(StoreId::FIRST, 65 * PAGE + 0x1000, 2 * PAGE).unwrap();
}

#[test]
fn arguments_that_make_no_sense_have_the_numbers_of_the_contract() {
    let mut rig = Rig::new(64);
    let good = Create { size: PAGE, usage: 1, ..Create::default() };
    let fixed = |address| Create { flags: BO_FIXED_ADDRESS, address, ..good };
    for (create, expected) in [
        (Create { size: 0, ..good }, Errno::EINVAL),
        (Create { size: GIVEN_OUT * PAGE + 1, ..good }, Errno::EINVAL),
        (Create { size: u64::MAX, ..good }, Errno::EINVAL),
        (Create { size: GIVEN_OUT * PAGE, ..good }, Errno::ENOMEM),
        (Create { usage: 0, ..good }, Errno::EINVAL),
        (Create { usage: 3, ..good }, Errno::EINVAL),
        (Create { usage: 0x1019, ..good }, Errno::EINVAL),
        (Create { usage: u32::MAX, ..good }, Errno::EINVAL),
        (Create { flags: 0x10, ..good }, Errno::EINVAL),
        (Create { flags: u32::MAX, ..good }, Errno::EINVAL),
        (Create { address: PAGE, ..good }, Errno::EINVAL),
        (fixed(1), Errno::EINVAL),
        (fixed(u64::MAX), Errno::EINVAL),
        (fixed(0), Errno::ERANGE),
        (fixed(0xe000_0000), Errno::ERANGE),
        (fixed(0x1_0000_4000), Errno::ERANGE),
        (fixed(0xffff_ffff_ffff_c000), Errno::ERANGE),
        (fixed(0xdfff_c000), Errno::EEXIST),
    ] {
        assert_eq!(errno(rig.create(create)), Some(expected), "{create:x?}");
    }
    let buffer = rig.buffer(4);
    let map = Map { usage: 1, ..Map::default() };
    for (map, expected) in [
        (Map { usage: 0x101a, ..map }, Errno::EINVAL),
        (Map { flags: BO_SCATTERED, ..map }, Errno::EINVAL),
        (Map { offset: 1, ..map }, Errno::EINVAL),
        (Map { offset: 4 * PAGE, ..map }, Errno::EINVAL),
        (Map { offset: u64::MAX - (PAGE - 1), ..map }, Errno::EINVAL),
        (Map { size: 4 * PAGE + 1, ..map }, Errno::EINVAL),
        (Map { offset: PAGE, size: u64::MAX, ..map }, Errno::EINVAL),
        (Map { address: PAGE, ..map }, Errno::EINVAL),
        (Map { flags: BO_FIXED_ADDRESS, address: 0xdfff_8000, ..map }, Errno::ERANGE),
        (Map { flags: BO_FIXED_ADDRESS, address: 0x4001, ..map }, Errno::EINVAL),
    ] {
        let (space, bus) = rig.both();
        assert_eq!(errno(space.map(bus, buffer, &map)), Some(expected), "{map:x?}");
    }
    let premap = Premap { usage: 1, address: ADDRESS_ANY, size: 1 };
    for (premap, expected) in [
        (Premap { usage: 2, ..premap }, Errno::EINVAL),
        (Premap { address: 0, ..premap }, Errno::EINVAL),
        (Premap { address: 7, ..premap }, Errno::EINVAL),
        (Premap { address: 0xe000_0000, ..premap }, Errno::ERANGE),
        (Premap { size: 0, ..premap }, Errno::EINVAL),
        (Premap { size: 4 * PAGE + 1, ..premap }, Errno::EINVAL),
        (Premap { size: u64::MAX, ..premap }, Errno::EINVAL),
    ] {
        let (space, bus) = rig.both();
        assert_eq!(errno(space.premap(bus, buffer, &premap)), Some(expected), "{premap:x?}");
    }
    let (space, bus) = rig.both();
    space.premap(bus, buffer, &premap).unwrap();
    assert_eq!(errno(space.premap(bus, buffer, &premap)), Some(Errno::EALREADY));
    assert_eq!(space.counters().maps, 1, "nothing that failed has mapped anything");
}

#[test]
fn buffer_may_have_sixteen_mappings() {
    let mut rig = Rig::new(64);
    let buffer = rig.buffer(1);
    let (space, bus) = rig.both();
    let map = Map { usage: 1, ..Map::default() };
    let numbers: Vec<_> = (1..16).map(|_| space.map(bus, buffer, &map).unwrap().0).collect();
    assert_eq!(numbers, (1..16).collect::<Vec<_>>());
    assert_eq!(errno(space.map(bus, buffer, &map)), Some(Errno::ENOSPC));
    space.unmap(buffer, 7, 1).unwrap();
    assert_eq!(space.info(buffer).unwrap().mapping_count, 14);
    assert_eq!(space.map(bus, buffer, &map).unwrap().0, 7);
}

#[test]
fn more_than_the_aperture_can_be_mapped_and_the_longest_unused_makes_room() {
    // Sparse: five gigabytes of buffers that nobody writes to.
    let mut rig = Rig::new(5 << 16);
    let buffers: Vec<_> = (0..10).map(|_| rig.buffer(512 * MIB / PAGE)).collect();
    for &buffer in &buffers {
        rig.run(&[buffer]);
    }
    let states: Vec<_> = buffers.iter().map(|&buffer| rig.state(buffer)).collect();
    let expected = [vec![BO_EVICTED; 4], vec![BO_MAPPED; 6]].concat();
    assert_eq!(states, expected, "six of half a gigabyte fit");
    assert_eq!(rig.space().counters().evictions, 4);
}

/// Requirement: POOL-11
#[test]
fn mapping_that_work_uses_is_never_evicted_and_only_then_is_there_no_room() {
    let mut rig = Rig::new(1 << 19);
    let third = GIVEN_OUT / 3;
    let buffers: Vec<_> = (0..3).map(|_| rig.buffer(third)).collect();
    let large = rig.buffer(third + 3);
    rig.begin(&buffers).unwrap();
    assert_eq!(errno(rig.begin(&[large])), Some(Errno::ENOSPC));
    rig.finish(&buffers[1..2]);
    assert_eq!(errno(rig.begin(&[large])), Some(Errno::ENOSPC), "one would do no good");
    assert_eq!(rig.space().counters().evictions, 0, "so none was evicted");
    rig.finish(&buffers[2..]);
    rig.run(&[large]);
    assert_eq!(rig.state(buffers[0]), BO_MAPPED | BO_BUSY);
    rig.finish(&buffers[..1]);
}

#[test]
fn buffers_of_one_request_do_not_take_each_other_s_place() {
    let mut rig = Rig::new(1 << 19);
    let half = GIVEN_OUT / 2;
    let [first, second, third] = [half, half, half].map(|pages| rig.buffer(pages));
    rig.run(&[first, second]);
    assert_eq!(errno(rig.begin(&[first, third, second])), Some(Errno::ENOSPC));
    assert_eq!(rig.state(second) & BO_BUSY, 0, "a request that fails uses nothing");
    let places = rig.run(&[third, first]);
    assert!(!places[0].overlaps(places[1]));
}

#[test]
fn pinned_and_kept_mappings_stay_and_fixed_ones_come_back_where_they_were() {
    let mut rig = Rig::new(1 << 18);
    let create = Create { size: PAGE, usage: 1, flags: BO_PINNED, ..Create::default() };
    let pinned = rig.create(create).unwrap();
    let kept = rig.buffer(1);
    rig.begin(&[pinned, kept]).unwrap();
    rig.space().keep(&uses(&[kept]));
    rig.finish(&[pinned, kept]);
    let create =
        Create { size: PAGE, usage: 1, flags: BO_FIXED_ADDRESS, address: 0x5000_0000, ..Create::default() };
    let fixed = rig.create(create).unwrap();
    let large = rig.buffer(GIVEN_OUT - 2);
    rig.run(&[large]);
    assert_eq!([pinned, kept, fixed].map(|id| rig.state(id)), [BO_MAPPED, BO_MAPPED, BO_EVICTED]);
    assert_eq!(rig.run(&[fixed])[0].base(), Iova(0x5000_0000));
    assert_eq!(rig.state(large), BO_EVICTED);
}

#[test]
fn fixed_address_pushes_idle_mappings_out_and_no_others() {
    let mut rig = Rig::new(64);
    let buffers: Vec<_> = (0..4).map(|_| rig.buffer(2)).collect();
    let places = rig.run(&buffers);
    assert_eq!(places[1].base(), Iova(0xc000));
    let fixed = |address, pages| Create {
        size: pages * PAGE,
        usage: 1,
        flags: BO_FIXED_ADDRESS,
        address,
        ..Create::default()
    };
    rig.begin(&buffers[2..3]).unwrap();
    assert_eq!(errno(rig.create(fixed(0x1_0000, 2))), Some(Errno::EEXIST), "the second page is in use");
    assert_eq!(rig.state(buffers[1]), BO_MAPPED, "so the first stays");
    rig.create(fixed(0x8000, 3)).unwrap();
    let states: Vec<_> = buffers.iter().map(|&buffer| rig.state(buffer)).collect();
    assert_eq!(states, [BO_EVICTED, BO_EVICTED, BO_MAPPED | BO_BUSY, BO_MAPPED]);
}

#[test]
fn evicted_buffer_is_mapped_again_elsewhere_with_its_contents() {
    let mut rig = Rig::new(1 << 18);
    let [first, guard] = [1, 1].map(|pages| rig.buffer(pages));
    rig.space().write(first, 5, b"contents").unwrap();
    let before = rig.run(&[first, guard])[0];
    rig.begin(&[guard]).unwrap();
    let large = rig.buffer(GIVEN_OUT - 2);
    rig.run(&[large]);
    assert_eq!(rig.state(first), BO_MAPPED, "there was room behind it");
    let create = Create {
        size: PAGE,
        usage: 1,
        flags: BO_FIXED_ADDRESS,
        address: before.base().0.into(),
        ..Create::default()
    };
    rig.create(create).unwrap();
    assert_eq!((rig.state(first), rig.space().info(first).unwrap().evictions), (BO_EVICTED, 1));
    let after = rig.run(&[first])[0];
    assert_ne!(after, before);
    let page = rig.walk(after.base()).unwrap();
    let (space, _) = rig.both();
    let mut seen = [0; 8];
    let offset = page.0 - space.arena(StoreId::FIRST).unwrap().stretches()[0].at.0;
    space.arena(StoreId::FIRST).unwrap().read(offset + 5, &mut seen).unwrap();
    assert_eq!(&seen, b"contents");
}

#[test]
fn device_in_checking_mode_hears_of_every_mapping_and_of_its_end() {
    let mut bus = Fake::new(64);
    bus.config.features.set(FEATURE_CHECK);
    let mut rig = Rig::on(bus);
    let buffer = rig.buffer(2);
    let place = rig.run(&[buffer])[0];
    rig.space().unmap(buffer, 0, 1).unwrap();
    rig.run(&[]);
    let heard: Vec<_> = rig.bus.declared.iter().map(|declaration| declaration.decode().unwrap()).collect();
    let [own, mapped, unmapped] = heard[..] else { panic!("three are declared, not {heard:?}") };
    assert_eq!((own.1.base(), own.2), (Iova(0xdfff_8000), Some(Usage::Program)));
    assert_eq!((mapped.1, mapped.2), (place, Some(Usage::Input)));
    assert_eq!((unmapped.1, unmapped.2), (place, None));
}

#[test]
fn translations_are_dropped_in_every_window_of_the_context_s_stream_only() {
    let mut rig = Rig::new(64);
    rig.contexts.attach(&mut rig.bus, seeker(2), ContextPolicy::Refuse, None).unwrap();
    let context = rig.contexts.of(FileId(2)).unwrap();
    rig.bus.operations.clear();
    rig.contexts.space_mut(context).unwrap().flush(&mut rig.bus).unwrap();
    let writes = rig.bus.operations.iter().filter_map(|operation| match operation {
        Operation::Write(at, value) => Some((at.0, *value)),
        Operation::Read(_) => None,
    });
    let expected = [0x180_0000, 0x181_0000, 0x182_0000]
        .into_iter()
        .flat_map(|window| [(window + 0x34, 0b10), (window + 0x20, 1 << 20)]);
    assert!(writes.eq(expected));
}
