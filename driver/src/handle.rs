//! Handles of one file: the table that turns a client's word into an object, or into the name of a mistake.
//!
//! A kernel's driver gives each file an `idr`, and a handle that was freed and handed out again quietly names
//! another object. Here a handle carries the generation of its entry ([`ane_uapi::ioctl::handle`]), so a client
//! that uses one too long is told. The lowest free index goes first, as GEM's does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::{GENERATION_MAX, Handle, INDEX_MASK};

/// Why a handle names no object of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was never given out.
    Never,
    Gone,
    /// The object of the handle is of another kind.
    OtherKind,
}

impl Missing {
    /// The error number for a client. The ioctls of existing clients say `EINVAL` to all three.
    pub const fn errno(self) -> Errno {
        match self {
            Self::Never => Errno::ENOENT,
            Self::Gone => Errno::ESTALE,
            Self::OtherKind => Errno::EINVAL,
        }
    }
}

/// Every index is in use, or used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Full {
    pub const fn errno(self) -> Errno {
        Errno::ENOSPC
    }
}

/// The objects that a file has handles of.
#[derive(Debug)]
pub struct Table<T> {
    /// Index 1 comes first: zero names nothing.
    entries: Vec<Entry<T>>,
    /// Entries without an object whose generation is not used up.
    free: BinaryHeap<Reverse<u32>>,
    len: usize,
}

/// An object that has, had, or is to have an index.
#[derive(Debug)]
struct Entry<T> {
    /// The generation of the object, or of the next one if there is none.
    generation: u32,
    object: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Table<T> {
    pub const fn new() -> Self {
        Self { entries: Vec::new(), free: BinaryHeap::new(), len: 0 }
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if there is no handle left to give.
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.entries.len() >= INDEX_MASK as usize
    }

    pub fn insert(&mut self, object: T) -> Result<Handle, Full> {
        let index = match self.free.peek() {
            Some(&Reverse(index)) => index,
            None => self.grow()?,
        };
        let handle = self
            .entries
            .get_mut(position_of(index))
            .and_then(|entry| {
                entry.object = Some(object);
                Handle::new(index, entry.generation)
            })
            .ok_or(Full)?;
        self.free.pop();
        self.len = self.len.saturating_add(1);
        Ok(handle)
    }

    fn grow(&mut self) -> Result<u32, Full> {
        let index = u32::try_from(self.entries.len()).map_err(|_| Full)?.saturating_add(1);
        if self.is_full() {
            return Err(Full);
        }
        self.entries.push(Entry { generation: 0, object: None });
        self.free.push(Reverse(index));
        Ok(index)
    }

    pub fn get(&self, raw: u32) -> Result<&T, Missing> {
        let handle = Handle::from_raw(raw).ok_or(Missing::Never)?;
        let entry = self.entries.get(position_of(handle.index())).ok_or(Missing::Never)?;
        entry.object.as_ref().filter(|_| entry.generation == handle.generation()).ok_or(entry.missing(handle))
    }

    /// The object of a client's handle, to change it.
    pub fn get_mut(&mut self, raw: u32) -> Result<&mut T, Missing> {
        let handle = Handle::from_raw(raw).ok_or(Missing::Never)?;
        let entry = self.entries.get_mut(position_of(handle.index())).ok_or(Missing::Never)?;
        let missing = entry.missing(handle);
        entry.object.as_mut().filter(|_| entry.generation == handle.generation()).ok_or(missing)
    }

    /// The result of `kind` for the object of a client's handle; `None` if that is of another kind.
    pub fn get_as<'a, K>(&'a self, raw: u32, kind: impl FnOnce(&'a T) -> Option<K>) -> Result<K, Missing> {
        self.get(raw).and_then(|object| kind(object).ok_or(Missing::OtherKind))
    }

    /// Takes a handle back; its index will name other objects, in later generations.
    pub fn remove(&mut self, raw: u32) -> Result<T, Missing> {
        self.remove_if(raw, |_| true)
    }

    /// Takes a handle back if its object is of a kind.
    pub fn remove_if(&mut self, raw: u32, is_kind: impl FnOnce(&T) -> bool) -> Result<T, Missing> {
        if !is_kind(self.get(raw)?) {
            return Err(Missing::OtherKind);
        }
        let handle = Handle::from_raw(raw).ok_or(Missing::Never)?;
        let entry = self.entries.get_mut(position_of(handle.index())).ok_or(Missing::Never)?;
        let object = entry.object.take().ok_or(Missing::Gone)?;
        entry.generation = entry.generation.saturating_add(1);
        if entry.generation <= GENERATION_MAX {
            self.free.push(Reverse(handle.index()));
        }
        self.len = self.len.saturating_sub(1);
        Ok(object)
    }

    /// Every object, by rising index.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        (1..).zip(&self.entries).filter_map(|(index, entry)| {
            Some((Handle::new(index, entry.generation)?, entry.object.as_ref()?))
        })
    }

    /// Every object, by rising index; the handles are void, and the table is as if it were new.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(self).entries.into_iter().filter_map(|entry| entry.object)
    }
}

impl<T> Entry<T> {
    /// Why `handle`, which has this entry's index, does not name what is here.
    const fn missing(&self, handle: Handle) -> Missing {
        if handle.generation() < self.generation { Missing::Gone } else { Missing::Never }
    }
}

/// Where an index, which counts from 1, is found.
const fn position_of(index: u32) -> usize {
    (index as usize).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_handles_are_one_two_three() {
        let mut table = Table::new();
        let handles: Vec<_> = "abc".chars().map(|object| table.insert(object).unwrap().raw()).collect();
        assert_eq!(handles, [1, 2, 3]);
    }

    #[test]
    fn handle_that_was_never_given_out_is_told_from_one_whose_object_is_gone() {
        let mut table = Table::new();
        let first = table.insert('a').unwrap().raw();
        assert_eq!(table.remove(first), Ok('a'));
        assert_eq!(table.get(first), Err(Missing::Gone));
        for never in [0, 2, first + (1 << 20), 0xfff0_0001, 0xfff0_0000, u32::MAX] {
            assert_eq!(table.get(never), Err(Missing::Never), "{never:#x}");
        }
        let second = table.insert('b').unwrap().raw();
        assert_eq!(second, first + (1 << 20), "the index in its next generation");
        assert_eq!(table.remove(first), Err(Missing::Gone));
        assert_eq!(table.get(second), Ok(&'b'));
    }

    #[test]
    fn object_of_another_kind_stays() {
        let mut table = Table::new();
        let handle = table.insert('a').unwrap().raw();
        assert_eq!(table.remove_if(handle, char::is_ascii_digit), Err(Missing::OtherKind));
        assert_eq!(table.get_as(handle, |object| object.to_digit(10)), Err(Missing::OtherKind));
        assert_eq!(table.get_as(handle, |object| object.to_digit(16)), Ok(10));
    }

    #[test]
    fn index_whose_generations_are_used_up_is_not_used_again() {
        let mut table = Table::new();
        for generation in 0..=GENERATION_MAX {
            let handle = table.insert(generation).unwrap();
            assert_eq!((handle.index(), handle.generation()), (1, generation));
            table.remove(handle.raw()).unwrap();
        }
        assert_eq!(table.insert(0).map(Handle::raw), Ok(2));
        assert_eq!(table.get(GENERATION_MAX << 20 | 1), Err(Missing::Gone));
    }

    #[test]
    fn table_without_a_free_index_is_full() {
        let mut table = Table::new();
        for _ in 0..INDEX_MASK {
            table.insert(()).unwrap();
        }
        assert!(table.is_full());
        assert_eq!(table.insert(()), Err(Full));
        table.remove(7).unwrap();
        assert_eq!(table.insert(()).map(Handle::index), Ok(7));
    }

    proptest! {
        #[test]
        fn table_agrees_with_a_list_of_all_handles_ever(steps in proptest::collection::vec((any::<bool>(), 0usize..64), 1..400)) {
            let mut table = Table::new();
            let mut ever: Vec<(u32, Option<usize>)> = Vec::new();
            for (number, (inserts, which)) in steps.into_iter().enumerate() {
                if inserts || ever.is_empty() {
                    let handle = table.insert(number).unwrap().raw();
                    prop_assert!(ever.iter().all(|&(other, _)| other != handle));
                    ever.push((handle, Some(number)));
                } else {
                    let at = which % ever.len();
                    let expected = ever[at].1.take().ok_or(Missing::Gone);
                    prop_assert_eq!(table.remove(ever[at].0), expected);
                }
                prop_assert_eq!(table.len(), ever.iter().filter(|(_, object)| object.is_some()).count());
            }
            for (handle, object) in ever {
                prop_assert_eq!(table.get(handle).copied(), object.ok_or(Missing::Gone));
            }
        }
    }
}
