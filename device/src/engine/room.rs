//! Room for packed tensors, kept for the next pass.
//!
//! The largest take 128 MiB, and to write zeros over as much takes tens of milliseconds. So room that is too small is
//! replaced by zeroed memory of the system, whose pages come when they are first used, and room that is large enough is
//! used as it is: the caller writes all of it.

use std::ops::{Deref, DerefMut};

#[derive(Debug, Default)]
pub(super) struct Room {
    values: Vec<u16>,
    /// How many of them are in use.
    len: usize,
}

impl Room {
    /// Makes it as long. The values are unspecified.
    pub(super) fn resize(&mut self, len: usize) {
        if self.values.len() < len {
            // The old memory is freed first, so that both are never there at once.
            self.values = Vec::new();
            self.values = vec![0; len];
        }
        self.len = len;
    }
}

impl Deref for Room {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        self.values.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u16] {
        self.values.get_mut(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_as_long_as_was_asked_for_last_and_keeps_what_it_has() {
        let mut room = Room::default();
        room.resize(5);
        assert_eq!(*room, [0; 5]);
        room.fill(7);
        room.resize(2);
        assert_eq!(*room, [7; 2]);
        room.resize(4);
        assert_eq!(*room, [7; 4]);
        room.resize(6);
        assert_eq!(room.len(), 6);
    }
}
