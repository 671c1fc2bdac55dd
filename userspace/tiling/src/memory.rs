//! Memory that a surface lies in.
#![expect(unsafe_code, reason = "says where bytes lie that others may change")]

/// Bytes that a surface lies in, which an engine may read and write as well.
///
/// # Safety
///
/// [`Memory::start`] points to memory that can be read, and [`Memory::start_mut`] to memory that can be
/// written, for [`Memory::bytes`] bytes as long
/// as the memory is borrowed; no slice that does not belong to the memory overlaps it.
pub unsafe trait Memory {
    fn bytes(&self) -> usize;

    /// Where they lie; `None` if they are in several pieces.
    fn start(&self) -> Option<*const u8>;

    /// Where they lie, to be written; `None` if they are in several pieces.
    fn start_mut(&mut self) -> Option<*mut u8>;

    /// Copies bytes out, which were found to be there.
    fn get(&self, at: usize, into: &mut [u8]);

    /// Copies bytes in, for which room was found.
    fn put(&mut self, at: usize, from: &[u8]);
}

// SAFETY: a slice's bytes belong to whoever borrows it.
unsafe impl Memory for [u8] {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn start(&self) -> Option<*const u8> {
        Some(self.as_ptr())
    }

    fn start_mut(&mut self) -> Option<*mut u8> {
        Some(self.as_mut_ptr())
    }

    fn get(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self[at..at + into.len()]);
    }

    fn put(&mut self, at: usize, from: &[u8]) {
        self[at..at + from.len()].copy_from_slice(from);
    }
}
