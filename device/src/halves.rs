//! A number of 64 bits in registers of 32: each counter and each time has a register for its low and one for its high word.

/// The low and the high word of a number, as registers show it.
pub(crate) const fn halves(number: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// The high word of the counter whose low word was read last, until it is read itself.
///
/// A counter has one register with two indices. Reading index 0 latches the high word, so that both words are of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latch<R>(Option<(R, u32)>);

impl<R> Default for Latch<R> {
    fn default() -> Self {
        Self(None)
    }
}

impl<R: PartialEq> Latch<R> {
    /// The word `index` of the counter `register`, which stands at `count`.
    pub(crate) fn half(&mut self, register: R, index: u16, count: u64) -> u32 {
        let (low, high) = halves(count);
        if index == 0 {
            self.0 = Some((register, high));
            return low;
        }
        self.0.take_if(|(held, _)| *held == register).map_or(high, |(_, held)| held)
    }
}
