//! Configuration space: what the guest's PCI code finds.
//!
//! 256 bytes. The monitor answers for the BARs' sizes and for capabilities by itself and still forwards every write, so only
//! those fields change that a driver of such a function may mean: the command word, what interrupt lines are called, the BARs
//! and the words of MSI. Everything else is as it was.

use ane_uapi::wire::platform::{DEVICE, Range, VECTORS, VENDOR};

pub(crate) const BYTES: usize = 256;

/// Where the MSI capability stands.
const MSI: usize = 0x50;

/// The interrupt status in the status word.
const INTX_PENDING: u8 = 1 << 3;

#[derive(Clone, Debug)]
pub(crate) struct Function {
    bytes: [u8; BYTES],
    writable: [u8; BYTES],
}

impl Default for Function {
    fn default() -> Self {
        let mut function = Self { bytes: [0; BYTES], writable: [0; BYTES] };
        let [v0, v1, ..] = VENDOR.to_le_bytes();
        let [d0, d1, ..] = DEVICE.to_le_bytes();
        // Class 12 00 00: a processing accelerator.
        function.fixed(0x00, &[v0, v1, d0, d1, 0, 0, 0x10, 0, 0, 0, 0, 0x12]);
        function.fixed(0x2c, &[v0, v1, d0, d1]);
        function.fixed(0x34, &[MSI_AT]);
        // INTA.
        function.fixed(0x3d, &[1]);
        // Capability 5, the last one; up to two vectors, addresses of 64 bits.
        let log = VECTORS.trailing_zeros().to_le_bytes()[0];
        function.fixed(MSI, &[5, 0, log << 1 & 0xe | 0x80, 0]);
        // Memory decode, bus master, interrupt disable; the line's name; MSI's enable, number, address and data.
        function.open(0x04, &[0x46, 0x04]);
        function.open(0x3c, &[0xff]);
        function.open(MSI.saturating_add(2), &[0x71]);
        function.open(MSI.saturating_add(4), &[0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        for (bar, range) in (0_usize..).zip(Range::ALL) {
            let mask = (!range.bar_bytes().saturating_sub(1)).to_le_bytes();
            function.open(bar.saturating_mul(4).saturating_add(0x10), &mask);
        }
        function
    }
}

const MSI_AT: u8 = 0x50;
const _: () = assert!(MSI_AT as usize == MSI);

impl Function {
    fn fixed(&mut self, at: usize, bytes: &[u8]) {
        for (byte, &value) in self.bytes.iter_mut().skip(at).zip(bytes) {
            *byte = value;
        }
    }

    fn open(&mut self, at: usize, masks: &[u8]) {
        for (byte, &mask) in self.writable.iter_mut().skip(at).zip(masks) {
            *byte = mask;
        }
    }

    /// Reads bytes; behind the end there are ones.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        for (n, byte) in into.iter_mut().enumerate() {
            *byte = at.checked_add(n).and_then(|at| self.bytes.get(at)).copied().unwrap_or(0xff);
        }
    }

    pub(crate) fn write(&mut self, at: u64, from: &[u8]) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let places = self.bytes.iter_mut().zip(&self.writable).skip(at);
        for ((byte, mask), value) in places.zip(from) {
            *byte = *byte & !mask | value & mask;
        }
    }

    /// Shows in the status word whether the function raises its pin.
    pub(crate) fn show_pin(&mut self, is_up: bool) {
        if let Some(status) = self.bytes.get_mut(6) {
            *status = if is_up { *status | INTX_PENDING } else { *status & !INTX_PENDING };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(function: &Function, at: u64) -> u32 {
        let mut bytes = [0; 4];
        function.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn function_is_an_accelerator_with_one_capability() {
        let function = Function::default();
        assert_eq!(
            [0, 8, 0x2c, 0x34].map(|at| word(&function, at)),
            [0x10fa_1af4, 0x1200_0000, 0x10fa_1af4, 0x50]
        );
        assert_eq!((word(&function, 4), word(&function, 0x50)), (0x0010_0000, 0x0082_0005));
        assert_eq!(word(&function, 0xfe), 0xffff_0000);
    }

    #[test]
    fn writes_change_what_may_change_and_nothing_else() {
        let mut function = Function::default();
        let before = function.clone();
        for at in 0..300 {
            function.write(at, &[0xff; 8]);
        }
        function.write(u64::MAX, &[0xff; 8]);
        for (at, (now, was)) in function.bytes.iter().zip(before.bytes).enumerate() {
            assert_eq!(now & !before.writable[at], was & !before.writable[at], "{at:#x}");
        }
        // A BAR that is written with ones says its size.
        assert_eq!(
            [0x10, 0x14, 0x20, 0x24].map(|at| word(&function, at)),
            [0xfffc_0000, 0xffff_c000, 0xffff_0000, 0]
        );
    }

    #[test]
    fn pin_shows_in_the_status_word_alone() {
        let mut function = Function::default();
        function.show_pin(true);
        assert_eq!(word(&function, 4), 0x0018_0000);
        function.show_pin(false);
        assert_eq!(word(&function, 4), 0x0010_0000);
    }
}
