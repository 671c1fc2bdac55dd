//! The translation buffer: translations found, kept until the driver invalidates them.
//!
//! A mapping that a driver changes in memory is not changed for the engine before the driver says so: it
//! selects the streams and gives the invalidate command. A driver that forgets goes on with the old page, if
//! the buffer still holds it. How large the real buffer is and how it replaces is not known. Chosen: each
//! window has one of [`ENTRIES`] entries, direct-mapped by page and stream, so a translation goes when
//! another with the same place comes. Only what was found is kept: a page that was not mapped is looked for
//! again each time, and control words and permissions of streams are never kept.

use ane_uapi::hw::dart::aperture::{PAGE_SHIFT, PAGE_SIZE};
use ane_uapi::hw::dart::pte::Leaf;
use ane_uapi::hw::dart::regs::Streams;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::Iova;

use super::memory::Place;
use super::stream::{Access, Rights};

/// Translations that one window's buffer holds: 8 MB of pages (Chosen).
pub(super) const ENTRIES: usize = 512;

/// The bits of an address that name a byte in the page.
const OFFSET: u32 = PAGE_SIZE - 1;

/// By how much the streams' pages are shifted against each other, so that contexts that use the same
/// addresses do not displace each other's first 64 pages.
const STREAM_SHIFT: u32 = 6;

const _: () = assert!(ENTRIES.is_power_of_two() && (1 << STREAM_SHIFT) * 8 <= ENTRIES);

/// The key of a translation: page and stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

impl Tag {
    /// The tag of an empty entry.
    const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) const fn new(iova: Iova, stream: StreamId) -> Self {
        Self(((iova.0 >> PAGE_SHIFT) << 4) | stream.number() as u32)
    }

    /// The entry that this tag may be in.
    #[inline]
    const fn index(self) -> usize {
        ((self.0 >> 4) ^ ((self.0 & 0xf) << STREAM_SHIFT)) as usize & (ENTRIES - 1)
    }

    const fn stream_bit(self) -> u16 {
        1 << (self.0 & 0xf)
    }
}

const _: () = {
    // The shifts keep page and stream apart, and no tag is that of an empty entry.
    assert!(Tag::new(Iova(u32::MAX), StreamId::ALL[15]).0 == (1 << (32 - PAGE_SHIFT + 4)) - 1);
    assert!(Tag::new(Iova(u32::MAX), StreamId::ALL[15]).0 != Tag::NONE.0);
};

/// A translation, two to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Entry {
    pub(super) page: Place,
    tag: Tag,
    /// First byte of the page that is open.
    pub(super) first: u32,
    /// Last byte of the page that is open.
    pub(super) last: u32,
    pub(super) rights: Rights,
}

impl Entry {
    /// No translation: no tag finds it, and it permits nothing.
    const EMPTY: Self =
        Self { page: Place::NOWHERE, tag: Tag::NONE, first: u32::MAX, last: 0, rights: Rights::NONE };

    /// The translation that `leaf` is, with the page at `page`.
    pub(super) const fn new(tag: Tag, leaf: &Leaf, page: Place) -> Self {
        let (first, last) = (leaf.first as u32, leaf.last as u32);
        Self { page, tag, first, last, rights: Rights::of_leaf(leaf) }
    }

    /// The first address from `iova` on in its page that is not open; the page has one.
    pub(super) const fn first_closed(&self, iova: Iova) -> Iova {
        let offset = iova.0 & OFFSET;
        if self.opens(offset, offset) {
            Iova((iova.0 & !OFFSET).wrapping_add(self.last).wrapping_add(1))
        } else {
            iova
        }
    }

    pub(super) fn says(&self, leaf: &Leaf) -> bool {
        let other = Self::new(self.tag, leaf, self.page);
        (self.first, self.last, self.rights) == (other.first, other.last, other.rights)
    }

    /// True if `access` may use the bytes from `first` to byte `last` of its page, for a stream with `rights`.
    #[inline]
    pub(super) const fn serves(&self, rights: Rights, first: Iova, last: u32, access: Access) -> bool {
        self.rights.and(rights).allow(access) && self.opens(first.0 & OFFSET, last)
    }

    /// Where the byte of the page lies that `iova` names.
    #[inline]
    pub(super) const fn at(&self, iova: Iova) -> Place {
        self.page.further((iova.0 & OFFSET) as usize)
    }

    #[inline]
    pub(super) fn is(&self, tag: Tag) -> bool {
        self.tag == tag
    }

    #[inline]
    pub(super) const fn opens(&self, first: u32, last: u32) -> bool {
        self.first <= first && last <= self.last
    }
}

const _: () = assert!(size_of::<Entry>() == 32);

pub(super) struct TranslationBuffer {
    entries: [Entry; ENTRIES],
    /// The streams that may have entries.
    held: u16,
}

impl TranslationBuffer {
    /// An empty buffer.
    pub(super) fn new() -> Self {
        Self { entries: [Entry::EMPTY; ENTRIES], held: 0 }
    }

    #[inline]
    pub(super) fn find(&self, tag: Tag) -> Option<&Entry> {
        self.entries.get(tag.index()).filter(|entry| entry.is(tag))
    }

    /// Where a translation with this tag is kept, in place of whatever is there.
    ///
    /// The stream has to have been announced.
    #[inline]
    pub(super) fn slot(&mut self, tag: Tag) -> Option<&mut Entry> {
        self.entries.get_mut(tag.index())
    }

    /// Notes that a stream may get entries.
    pub(super) fn announce(&mut self, stream: StreamId) {
        self.held |= stream.bit();
    }

    /// Drops every translation of the streams selected.
    pub(super) fn invalidate(&mut self, streams: Streams) {
        let selected = streams.mask();
        if self.held & selected == 0 {
            return;
        }
        self.held &= !selected;
        for entry in self.entries.iter_mut() {
            if entry.tag.stream_bit() & selected != 0 {
                *entry = Entry::EMPTY;
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.invalidate(Streams::new().with_mask(u16::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_is_invalidated_by_itself_and_none_is_forgotten() {
        let streams = [StreamId::ALL[1], StreamId::ALL[2]];
        let tags = streams.map(|stream| Tag::new(Iova(0), stream));
        let mut buffer = TranslationBuffer::new();
        for (stream, tag) in streams.into_iter().zip(tags) {
            buffer.announce(stream);
            *buffer.slot(tag).unwrap() = Entry { tag, ..Entry::EMPTY };
        }
        buffer.invalidate(Streams::new().with_mask(streams[0].bit()));
        assert_eq!(tags.map(|tag| buffer.find(tag).is_some()), [false, true]);
        buffer.invalidate(Streams::new().with_mask(streams[1].bit()));
        assert_eq!(tags.map(|tag| buffer.find(tag).is_some()), [false, false]);
    }

    #[test]
    fn pages_beyond_the_buffer_displace_others_and_take_no_room() {
        let stream = StreamId::ALL[3];
        let pages = (0_u32..).take(4 * ENTRIES);
        let tags: Vec<_> = pages.map(|n| Tag::new(Iova(n << PAGE_SHIFT), stream)).collect();
        let mut buffer = TranslationBuffer::new();
        buffer.announce(stream);
        for &tag in &tags {
            *buffer.slot(tag).unwrap() = Entry { tag, ..Entry::EMPTY };
            assert!(buffer.find(tag).is_some());
        }
        let held: Vec<_> = tags.iter().filter(|&&tag| buffer.find(tag).is_some()).collect();
        assert_eq!(held.len(), ENTRIES);
        assert!(buffer.find(tags[0]).is_none());
        buffer.invalidate(Streams::new().with_mask(stream.bit()));
        assert!(tags.iter().all(|&tag| buffer.find(tag).is_none()));
    }
}
