//! Numbers in the options of a device.

/// A whole number: decimal, or hexadecimal behind `0x`.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
