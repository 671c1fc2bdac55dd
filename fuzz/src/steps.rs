//! An input taken apart from its front: numbers and stretches of bytes, until it is used up.

/// The rest of the input.
pub struct Steps<'a>(pub &'a [u8]);

impl<'a> Steps<'a> {
    /// The next byte; `None` at the end.
    pub fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The next so many bytes, or as many as there are.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// The next number of `count` bytes, the lowest first; what is missing is zero.
    pub fn number(&mut self, count: usize) -> u64 {
        self.bytes(count).iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}
