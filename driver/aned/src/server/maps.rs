//! What a client has mapped of its files, so that it ends with the client: others may hold the file, or the memory of its context.

use std::collections::BTreeMap;

use ane_uapi::ioctl::errno::Errno;

/// Mappings of a client at a time: a context has room for fewer buffers than that, and each range costs memory and is unmapped
/// when the client goes.
const MAPS_MAX: u32 = 1 << 16;

/// By the client's number of the file, offset and bytes: how often each range is mapped.
#[derive(Debug, Default)]
pub(super) struct Maps {
    ranges: BTreeMap<(u32, u64, u64), u32>,
    total: u32,
}

impl Maps {
    /// One more, unless the client has as many as it may have.
    pub(super) fn add(&mut self, number: u32, offset: u64, bytes: u64) -> Result<(), Errno> {
        if self.total >= MAPS_MAX {
            return Err(Errno::ENOMEM);
        }
        self.total = self.total.saturating_add(1);
        let count = self.ranges.entry((number, offset, bytes)).or_default();
        *count = count.saturating_add(1);
        Ok(())
    }

    /// One less; false if the client has not mapped that.
    pub(super) fn remove(&mut self, number: u32, offset: u64, bytes: u64) -> bool {
        let range = (number, offset, bytes);
        let Some(count) = self.ranges.get_mut(&range) else { return false };
        self.total = self.total.saturating_sub(1);
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.ranges.remove(&range);
        }
        true
    }

    /// Forgets a file: offset and bytes of each range, as often as it is mapped.
    pub(super) fn forget(&mut self, number: u32) -> impl Iterator<Item = (u64, u64)> + use<> {
        let mut of_file = self.ranges.split_off(&(number, 0, 0));
        if let Some(next) = number.checked_add(1) {
            self.ranges.append(&mut of_file.split_off(&(next, 0, 0)));
        }
        self.total = self.total.saturating_sub(of_file.values().sum());
        of_file.into_iter().flat_map(|((_, offset, bytes), count)| (0..count).map(move |_| (offset, bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_has_so_many_mappings_and_no_more_until_some_end() {
        let mut maps = Maps::default();
        for n in 0..MAPS_MAX {
            maps.add(n % 2, u64::from(n / 4), 1).unwrap();
        }
        assert_eq!(maps.add(7, 0, 1), Err(Errno::ENOMEM));
        assert!(!maps.remove(7, 0, 1), "it was not mapped");
        assert!(maps.remove(1, 0, 1));
        maps.add(7, 0, 1).unwrap();
        assert_eq!(maps.forget(0).count(), MAPS_MAX as usize / 2);
        assert_eq!(maps.forget(0).count(), 0);
        assert_eq!(maps.total, MAPS_MAX / 2);
        assert_eq!(maps.forget(7).collect::<Vec<_>>(), [(0, 1)]);
    }
}
