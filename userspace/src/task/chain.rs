//! The walk along the chain of descriptors.

use std::collections::BTreeMap;

use ane_uapi::hw::td::header::Header;
use thiserror::Error;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::Task;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    #[error("program says it has no tasks")]
    NoTasks,
    #[error("task {index} at {offset:#x}: its {len:#x} bytes leave the task stream of {stream:#x} bytes")]
    OutsideStream { index: u32, offset: u32, len: u64, stream: usize },
    #[error("task {index} at {offset:#x}: its offset is not a multiple of 4")]
    Misaligned { index: u32, offset: u32 },
    #[error("task {index} at {offset:#x}: {len:#x} bytes are shorter than the header")]
    ShorterThanHeader { index: u32, offset: u32, len: u64 },
    #[error("first task: its length of {len:#x} bytes is not a multiple of 4")]
    RaggedLength { len: u32 },
    /// A link leads back into a descriptor that the chain has already passed.
    #[error(
        "task {index} at {offset:#x}: overlaps task {other} at {other_offset:#x}, so the chain loops or is damaged"
    )]
    Overlap { index: u32, offset: u32, other: u32, other_offset: u32 },
    #[error("task {index} at {offset:#x}: its next pointer is 0, but the program says it has {count} tasks")]
    EndsEarly { index: u32, offset: u32, count: u32 },
}

/// Walks the descriptors of a task stream; ends after the first error.
///
/// Tasks may not overlap. That bounds the walk by the length of the stream, whatever number of tasks the
/// program announces, and names every loop.
#[derive(Debug)]
pub struct Tasks<'a> {
    stream: &'a [u8],
    count: u32,
    next: Option<Link>,
    /// The descriptors that were passed, by where they start.
    passed: BTreeMap<u64, Passed>,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    index: u32,
    offset: u32,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    index: u32,
    offset: u32,
    len: u64,
}

impl<'a> Tasks<'a> {
    /// The `count` tasks of `stream`, the first of which is `first_bytes` long.
    pub fn new(stream: &'a [u8], first_bytes: u32, count: u32) -> Self {
        let first = Link { index: 0, offset: 0, len: first_bytes.into() };
        Self { stream, count, next: Some(first), passed: BTreeMap::new() }
    }

    fn task(&mut self, link: Link) -> Result<Task<'a>, ChainError> {
        let Link { index, offset, len } = link;
        if self.count == 0 {
            return Err(ChainError::NoTasks);
        }
        if !offset.is_multiple_of(4) {
            return Err(ChainError::Misaligned { index, offset });
        }
        if !len.is_multiple_of(4) {
            return Err(ChainError::RaggedLength { len: len as u32 });
        }
        let end = u64::from(offset) + len;
        let bytes = usize::try_from(end)
            .ok()
            .and_then(|end| self.stream.get(offset as usize..end))
            .ok_or(ChainError::OutsideStream { index, offset, len, stream: self.stream.len() })?;
        let before_end = self.passed.range(..end).next_back().map(|(_, passed)| *passed);
        if let Some(other) = before_end.filter(|passed| passed.end > offset.into()) {
            return Err(ChainError::Overlap {
                index,
                offset,
                other: other.index,
                other_offset: other.offset,
            });
        }
        let (words, _) = <[U32]>::ref_from_prefix_with_elems(bytes, bytes.len() / 4)
            .map_err(|_| ChainError::RaggedLength { len: len as u32 })?;
        let header = Header::decode(words).ok_or(ChainError::ShorterThanHeader { index, offset, len })?;
        self.passed.insert(offset.into(), Passed { index, offset, end });
        self.next = self.link_behind(link, &header)?;
        Ok(Task { index, offset, words, header })
    }

    fn link_behind(&self, link: Link, header: &Header) -> Result<Option<Link>, ChainError> {
        let index = link.index + 1;
        if index == self.count {
            return Ok(None);
        }
        match header.next.offset() {
            0 => Err(ChainError::EndsEarly { index: link.index, offset: link.offset, count: self.count }),
            offset => {
                let len = 4 * (u64::from(header.length.next_size()) + 1);
                Ok(Some(Link { index, offset, len }))
            }
        }
    }
}

impl<'a> Iterator for Tasks<'a> {
    type Item = Result<Task<'a>, ChainError>;

    fn next(&mut self) -> Option<Self::Item> {
        let link = self.next.take()?;
        Some(self.task(link))
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::header;

    use super::*;

    /// A stream of tasks that are nothing but headers, with the given next pointers and next sizes.
    fn headers(links: &[(u32, u32)]) -> Vec<u8> {
        let mut stream = Vec::new();
        for &(next, next_size) in links {
            let mut words = [0_u32; header::WORDS];
            words[1] = next_size << 16;
            words[7] = next;
            stream.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        stream
    }

    fn walk(stream: &[u8], first: u32, count: u32) -> Result<Vec<u32>, ChainError> {
        Tasks::new(stream, first, count).map(|task| task.map(|task| task.offset)).collect()
    }

    #[test]
    fn linked_tasks_are_walked_in_chain_order() {
        let stream = headers(&[(80, 9), (0, 0), (40, 9)]);
        assert_eq!(walk(&stream, 40, 3), Ok(vec![0, 80, 40]));
    }

    #[test]
    fn count_ends_the_chain_even_where_a_link_leads_on() {
        let stream = headers(&[(40, 9), (80, 9), (0, 0)]);
        assert_eq!(walk(&stream, 40, 2), Ok(vec![0, 40]));
    }

    #[test]
    fn link_to_itself_is_named_as_overlap() {
        // The first task cannot link to itself, because offset 0 means "last"; the second can.
        let stream = headers(&[(40, 9), (40, 9)]);
        assert_eq!(
            walk(&stream, 40, u32::MAX),
            Err(ChainError::Overlap { index: 2, offset: 40, other: 1, other_offset: 40 })
        );
    }

    #[test]
    fn link_into_the_middle_of_a_passed_task_is_named_as_overlap() {
        let stream = headers(&[(40, 9), (20, 9)]);
        assert_eq!(
            walk(&stream, 40, 3),
            Err(ChainError::Overlap { index: 2, offset: 20, other: 1, other_offset: 40 })
        );
    }

    #[test]
    fn chain_shorter_than_its_count_is_refused() {
        let stream = headers(&[(0, 0)]);
        assert_eq!(walk(&stream, 40, 2), Err(ChainError::EndsEarly { index: 0, offset: 0, count: 2 }));
    }

    #[test]
    fn task_that_leaves_the_stream_is_refused() {
        let stream = headers(&[(40, 10), (0, 0)]);
        assert_eq!(
            walk(&stream, 40, 2),
            Err(ChainError::OutsideStream { index: 1, offset: 40, len: 44, stream: 80 })
        );
        assert!(matches!(walk(&stream, u32::MAX - 3, 1), Err(ChainError::OutsideStream { .. })));
    }

    #[test]
    fn misaligned_link_ragged_length_and_short_header_are_refused() {
        assert_eq!(
            walk(&headers(&[(42, 9), (0, 0)]), 40, 2),
            Err(ChainError::Misaligned { index: 1, offset: 42 })
        );
        assert_eq!(walk(&headers(&[(0, 0)]), 38, 1), Err(ChainError::RaggedLength { len: 38 }));
        assert_eq!(
            walk(&headers(&[(0, 0)]), 36, 1),
            Err(ChainError::ShorterThanHeader { index: 0, offset: 0, len: 36 })
        );
    }

    #[test]
    fn program_without_tasks_is_refused() {
        assert_eq!(walk(&headers(&[(0, 0)]), 40, 0), Err(ChainError::NoTasks));
    }
}
