//! Counters: what driver and device did, for a file and for all of them.

use ane_uapi::ioctl::stats::Counter;

pub(crate) const COUNT: usize = Counter::CODES.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counters([u64; COUNT]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

impl Counters {
    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0.get(counter as usize).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, counter: Counter, amount: u64) {
        if let Some(value) = self.0.get_mut(counter as usize) {
            *value = value.saturating_add(amount);
        }
    }

    pub(crate) fn sub(&mut self, counter: Counter, amount: u64) {
        if let Some(value) = self.0.get_mut(counter as usize) {
            *value = value.saturating_sub(amount);
        }
    }

    pub(crate) fn raise(&mut self, counter: Counter, value: u64) {
        if let Some(peak) = self.0.get_mut(counter as usize) {
            *peak = value.max(*peak);
        }
    }

    /// All values, by rising number.
    pub(crate) const fn values(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_numbered_without_gaps_so_that_the_number_is_the_index() {
        let numbers: Vec<u32> = Counter::CODES.iter().map(|code| code.value).collect();
        assert_eq!(numbers, (0..30).collect::<Vec<_>>());
    }
}
