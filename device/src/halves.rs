//! A number of 64 bits in registers of 32: each counter and each time has a register for its low and one for its high word.

/// The low and the high word of a number, as registers show it.
pub(crate) const fn halves(number: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}
