//! Statistics: what driver and device counted.

use ane_uapi::ioctl::stats::{self, Counter, GetStats};
use zerocopy::{FromZeros, IntoBytes};

use super::{Device, Error, address};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Scope {
    File = stats::STATS_FILE,
    /// For the whole device, all files that were ever open included.
    Device = stats::STATS_DEVICE,
}

/// Counters, all of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics(Vec<u64>);

impl Statistics {
    /// A counter; zero if the driver is older than it.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0.get(counter as usize).copied().unwrap_or(0)
    }

    /// Every counter that has a name, with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let codes = Counter::CODES.iter().zip(&self.0);
        codes.map(|(code, &count)| (code.name, count))
    }
}

impl Device {
    pub fn statistics(&self, scope: Scope) -> Result<Statistics, Error> {
        let mut counters = [0_u64; Counter::CODES.len()];
        let memory = counters.as_mut_bytes();
        let mut get = GetStats::new_zeroed();
        (get.counters, get.scope) = (address(memory), scope as u32);
        get.count = Counter::CODES.len() as u32;
        self.call(&stats::GET_STATS, &mut get, &mut [memory])?;
        Ok(Statistics(counters.to_vec()))
    }
}
