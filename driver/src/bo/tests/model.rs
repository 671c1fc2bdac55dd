//! Random users of one context, held against a plain model.
//!
//! The model knows buffers, their mappings and users, and nothing of free lists, queues or tables. It does not
//! predict the address of a mapping, but whether there is room for it, which mappings may have made room, and that
//! everything else is as it was. The tables are read back from memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;
use crate::mem::Run;

/// Pages of buffers: small ones, and ones of which a handful fills the aperture.
const SIZES: [u32; 8] = [1, 2, 3, 17, 500, 1000, 1300, 2050];

/// The aperture ends here for these tests, so that little has to be mapped to fill it: the rest is never free.
const END: u32 = 1 + 2 * 2048;
const NEVER_FREE: Run = Run { first: END, pages: 229_374 - END };

/// A mapping: whose, which, and what may be done with it.
#[derive(Clone, Debug)]
struct Mapped {
    buffer: BufferId,
    number: u32,
    pages: u32,
    place: Option<Run>,
    fixed: Option<Run>,
    users: u32,
    kept: u32,
    is_pinned: bool,
    last_use: u64,
}

impl Mapped {
    /// Nobody may take its place.
    fn stays(&self) -> bool {
        self.place.is_some() && (self.users > 0 || self.kept > 0 || self.is_pinned)
    }
}

#[derive(Default)]
struct Model {
    mappings: Vec<Mapped>,
    /// Mappings in use, in the order of their begins.
    begun: Vec<usize>,
    now: u64,
}

impl Model {
    /// True if so many pages fit between what stays.
    fn has_room(&self, pages: u32) -> bool {
        let mut staying: Vec<_> =
            self.mappings.iter().filter(|one| one.stays()).filter_map(|one| one.place).collect();
        staying.push(NEVER_FREE);
        staying.sort();
        let mut end = 1;
        staying.iter().any(|run| {
            let fits = run.first - end >= pages;
            end = run.end();
            fits
        })
    }

    /// True if what stays leaves these pages alone.
    fn has_room_at(&self, wanted: Run) -> bool {
        let overlaps = |run: Run| run.first < wanted.end() && wanted.first < run.end();
        wanted.end() <= END && !self.mappings.iter().any(|one| one.stays() && one.place.is_some_and(overlaps))
    }

    /// Takes over what happened to the places of all mappings while `mover` was mapped, if that was allowed.
    fn follow(&mut self, space: &Space, mover: Option<usize>) -> Result<(), TestCaseError> {
        let mut evicted = Vec::new();
        for index in 0..self.mappings.len() {
            let before = &self.mappings[index];
            let now = space.mapping(before.buffer, before.number).unwrap().place;
            let now = now.map(|range| Run::new(range.base().0 >> 14, range.len() >> 14).unwrap());
            if now == before.place {
                continue;
            }
            if Some(index) != mover {
                prop_assert!(now.is_none() && !before.stays(), "{before:?} is at {now:?}");
                evicted.push(before.last_use);
            }
            self.mappings[index].place = now;
        }
        prop_assert!(evicted.is_empty() || mover.is_some(), "evicted for nobody");
        let is_fixed = mover.is_some_and(|mover| self.mappings[mover].fixed.is_some());
        if let Some(&latest) = evicted.iter().max().filter(|_| !is_fixed) {
            let spared = self
                .mappings
                .iter()
                .enumerate()
                .filter(|&(index, one)| Some(index) != mover && one.place.is_some() && !one.stays());
            let earliest = spared.map(|(_, one)| one.last_use).min();
            prop_assert!(
                earliest.is_none_or(|earliest| latest <= earliest),
                "{latest} went, {earliest:?} stayed"
            );
        }
        Ok(())
    }

    /// Nothing overlaps, and the tables say what the mappings are, page by page.
    fn check(&self, rig: &mut Rig, is_thorough: bool) -> Result<(), TestCaseError> {
        let (space, bus) = rig.both();
        let mut expected = BTreeMap::new();
        let mut places: Vec<_> = self.mappings.iter().filter_map(|one| one.place).collect();
        places.sort();
        prop_assert!(places.windows(2).all(|pair| pair[0].end() <= pair[1].first));
        prop_assert!(places.iter().all(|run| run.first >= 1 && run.end() <= END));
        prop_assert_eq!(
            u64::from(places.iter().map(|run| run.pages).sum::<u32>()) << 14,
            space.counters().mapped_bytes
        );
        if !is_thorough {
            return Ok(());
        }
        let buffers = space.buffers.iter().flat_map(|(_, buffer)| buffer.pages.runs());
        let mut owned: Vec<_> = buffers.copied().collect();
        owned.sort();
        prop_assert!(owned.windows(2).all(|pair| pair[0].end() <= pair[1].first), "a page is two buffers'");
        for one in &self.mappings {
            let Some(place) = one.place else { continue };
            let buffer = space.buffers.get(one.buffer.0.raw()).unwrap();
            let first = buffer.mapping(one.number).unwrap().first;
            let frames = buffer.pages.part(first, one.pages).flat_map(|run| run.first..run.end());
            let frames = frames
                .map(|frame| space.arena(StoreId::FIRST).unwrap().physical(u64::from(frame) << 14).unwrap());
            expected.extend((place.first..place.end()).zip(frames));
        }
        let tables = space.mapper().tables();
        for l2 in 0..112u32 {
            let entry = bus.memory().load_u64(PhysAddr(tables.base().0 + u64::from(l2) * 8)).unwrap();
            let Some(table) = Seed::decode_table(entry).unwrap() else {
                prop_assert!(expected.range(l2 * 2048..(l2 + 1) * 2048).next().is_none());
                continue;
            };
            for l3 in 0..2048 {
                let page = l2 * 2048 + l3;
                let leaf = bus.memory().load_u64(PhysAddr(table.0 + u64::from(l3) * 8)).unwrap();
                let found = Seed::decode(leaf).unwrap().map(|leaf| leaf.page);
                prop_assert!(
                    page >= 229_374 || found == expected.get(&page).copied(),
                    "page {page}: {found:?}"
                );
            }
        }
        Ok(())
    }
}

/// Writes the mark of a buffer into every page of it that a test looks at.
fn mark(rig: &mut Rig, buffer: BufferId, pages: u64) {
    let tag = buffer.0.raw().to_le_bytes();
    for page in [0, pages / 2, pages - 1] {
        rig.space().write(buffer, page * PAGE, &tag).unwrap();
    }
}

fn is_marked(rig: &mut Rig, buffer: BufferId) -> bool {
    let pages = rig.space().info(buffer).unwrap().size / PAGE;
    let mut tag = [0; 4];
    [0, pages / 2, pages - 1].into_iter().all(|page| {
        rig.space().read(buffer, page * PAGE, &mut tag).unwrap();
        tag == buffer.0.raw().to_le_bytes()
    })
}

/// Makes a buffer, if that can be.
fn create(rig: &mut Rig, model: &mut Model, size: u8, how: u8) -> Result<(), TestCaseError> {
    let pages = SIZES[usize::from(size) % SIZES.len()];
    let flags = [0, BO_SCATTERED, BO_PINNED, BO_FIXED_ADDRESS][usize::from(how) % 4];
    let address = if flags == BO_FIXED_ADDRESS { (1 + u64::from(how) * 8) * PAGE } else { 0 };
    let fixed = (flags == BO_FIXED_ADDRESS).then(|| Run::new(1 + u32::from(how) * 8, pages).unwrap());
    let can = fixed.is_none_or(|fixed| model.has_room_at(fixed));
    let size = u64::from(pages) * PAGE;
    let outcome = rig.create(Create { size, usage: 1, flags, address, ..Create::default() });
    let buffer = match outcome {
        Err(BufferError::Memory { .. }) => return Ok(()),
        Err(BufferError::Taken(_)) => {
            prop_assert!(!can);
            return Ok(());
        }
        other => other.unwrap(),
    };
    prop_assert!(can);
    let mut byte = [1];
    rig.space().read(buffer, size - 1, &mut byte).unwrap();
    prop_assert_eq!(byte, [0]);
    mark(rig, buffer, pages.into());
    model.mappings.push(Mapped {
        buffer,
        number: 0,
        pages,
        place: None,
        fixed,
        users: 0,
        kept: 0,
        is_pinned: flags == BO_PINNED,
        last_use: model.now,
    });
    let mover = model.mappings.len() - 1;
    model.follow(rig.space(), Some(mover))
}

/// Maps a part of a buffer once more, if that can be.
fn map(rig: &mut Rig, model: &mut Model, one: &Mapped, how: u8) -> Result<(), TestCaseError> {
    let all = rig.space().buffers.get(one.buffer.0.raw()).unwrap().pages.len();
    let pages = all.div_ceil(1 + u32::from(how) % 3);
    let map = Map { usage: 1, size: u64::from(pages) * PAGE, ..Map::default() };
    let count = model.mappings.iter().filter(|other| other.buffer == one.buffer).count();
    let can = model.has_room(pages) && count < 16;
    let (space, bus) = rig.both();
    let outcome = space.map(bus, one.buffer, &map);
    prop_assert_eq!(outcome.is_ok(), can);
    let Ok((number, _)) = outcome else { return Ok(()) };
    let (buffer, last_use) = (one.buffer, model.now);
    model.mappings.push(Mapped {
        buffer,
        number,
        pages,
        place: None,
        fixed: None,
        users: 0,
        kept: 0,
        is_pinned: false,
        last_use,
    });
    let mover = model.mappings.len() - 1;
    model.follow(rig.space(), Some(mover))
}

/// Uses a mapping, if that can be.
fn begin(rig: &mut Rig, model: &mut Model, index: usize) -> Result<(), TestCaseError> {
    let one = model.mappings[index].clone();
    let can = one.place.is_some()
        || one.fixed.map_or_else(|| model.has_room(one.pages), |fixed| model.has_room_at(fixed));
    let mut places = Vec::new();
    let (space, bus) = rig.both();
    let outcome = space.begin(bus, &[Use { buffer: one.buffer, mapping: one.number }], &mut places);
    model.now += 1;
    model.mappings[index].last_use = model.now;
    prop_assert_eq!(outcome.is_ok(), can, "{:?} of {:?}", outcome, one);
    model.follow(rig.space(), Some(index))?;
    if can {
        model.mappings[index].users += 1;
        model.begun.push(index);
        prop_assert!(is_marked(rig, one.buffer), "contents are intact");
    }
    Ok(())
}

/// One step of a random user: what to do, and with which.
fn step(rig: &mut Rig, model: &mut Model, (what, which, how): (u8, u8, u8)) -> Result<(), TestCaseError> {
    if what < 3 || model.mappings.is_empty() {
        return create(rig, model, which, how);
    }
    let index = usize::from(which) % model.mappings.len();
    let one = model.mappings[index].clone();
    let uses = [Use { buffer: one.buffer, mapping: one.number }];
    match what {
        3..8 => begin(rig, model, index)?,
        8..11 => {
            if !model.begun.is_empty() {
                let index = model.begun.swap_remove(usize::from(which) % model.begun.len());
                let one = &mut model.mappings[index];
                one.users -= 1;
                rig.space().finish(&[Use { buffer: one.buffer, mapping: one.number }]);
            }
        }
        11 => {
            if one.users > 0 {
                rig.space().keep(&uses);
                model.mappings[index].kept += 1;
            } else if one.kept > 0 {
                rig.space().unkeep(&uses);
                model.mappings[index].kept -= 1;
            }
        }
        12 => {
            let is_there = one.number != 0 || one.place.is_some();
            let outcome = rig.space().unmap(one.buffer, one.number, 1);
            prop_assert_eq!(outcome.is_ok(), is_there && one.users == 0 && one.kept == 0);
            if outcome.is_ok() {
                model.mappings[index].place = None;
            }
            if outcome.is_ok() && one.number != 0 {
                forget(rig, model, index)?;
            }
        }
        13 => map(rig, model, &one, how)?,
        _ => {
            let mut others = model.mappings.iter().filter(|other| other.buffer == one.buffer);
            if others.all(|other| other.users == 0 && other.kept == 0) {
                rig.space().release(one.buffer, Holder::Handle);
                prop_assert!(rig.space().info(one.buffer).is_none());
                while let Some(index) = model.mappings.iter().position(|other| other.buffer == one.buffer) {
                    forget(rig, model, index)?;
                }
            }
        }
    }
    model.follow(rig.space(), None)
}

/// Takes a mapping out of the model.
fn forget(rig: &mut Rig, model: &mut Model, index: usize) -> Result<(), TestCaseError> {
    let gone = model.mappings.remove(index);
    model.begun.iter_mut().filter(|begun| **begun > index).for_each(|begun| *begun -= 1);
    prop_assert!(rig.space().mapping(gone.buffer, gone.number).is_err());
    Ok(())
}

/// A run of so many steps; at the end everything is given back.
fn run(steps: Vec<(u8, u8, u8)>) -> Result<(), TestCaseError> {
    let arena_pages = 20_000;
    let mut rig = Rig::new(arena_pages);
    let space = rig.space();
    assert!(space.mapper.take_at(NEVER_FREE).is_ok() && space.movable.take_at(NEVER_FREE));
    let mut model = Model::default();
    for one in steps {
        step(&mut rig, &mut model, one)?;
        model.check(&mut rig, false)?;
    }
    model.check(&mut rig, true)?;
    let all = std::mem::take(&mut model.mappings);
    for one in &all {
        let uses = [Use { buffer: one.buffer, mapping: one.number }];
        (0..one.kept).for_each(|_| rig.space().unkeep(&uses));
        (0..one.users).for_each(|_| rig.space().finish(&uses));
    }
    for one in all.iter().filter(|one| one.number == 0) {
        rig.space().release(one.buffer, Holder::Handle);
    }
    let (space, bus) = rig.both();
    space.flush(bus).unwrap();
    prop_assert_eq!(space.stores.get(StoreId::FIRST).unwrap().frames.free_pages(), arena_pages);
    prop_assert_eq!((space.mapper.longest_free(), space.movable.longest()), (END - 1, END - 1));
    prop_assert!(space.idle.is_empty() && space.by_place.is_empty() && space.by_offset.is_empty());
    model.check(&mut rig, true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn space_does_what_the_model_allows(steps in proptest::collection::vec((0..15u8, any::<u8>(), any::<u8>()), 1..250)) {
        run(steps)?;
    }
}
