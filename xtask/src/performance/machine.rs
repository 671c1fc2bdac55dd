//! Where figures were measured: what matters of the machine, and nothing that tells whose it is.

use ane_device::engine::madd::Tier;
use anyhow::{Context, Result};

use crate::output::printed;

/// A machine, and when it was looked at.
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) tier: &'static str,
    pub(crate) kernel: String,
    pub(crate) compiler: String,
    pub(crate) date: String,
    /// How many threads wanted to run in the last minute.
    pub(crate) load: String,
}

impl Machine {
    /// The machine, without the time.
    pub(crate) fn told(&self) -> String {
        let Self { processor, processors, kernel, compiler, .. } = self;
        let count =
            if *processors == 1 { "one processor".to_owned() } else { format!("{processors} processors") };
        format!("{count} of {processor}; Linux {kernel}; {compiler}")
    }

    pub(crate) fn here() -> Result<Self> {
        let file = |path: &str| std::fs::read_to_string(path).with_context(|| path.to_owned());
        let model = file("/proc/cpuinfo")?;
        let model = model.lines().find(|line| line.starts_with("model name"));
        let release = file("/proc/sys/kernel/osrelease")?;
        // The rest after the number is a distributor's or a host's.
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = release.find(|c| !is_number(c)).unwrap_or(release.len());
        Ok(Self {
            processor: model
                .and_then(|line| line.split_once(": "))
                .map_or_else(|| "a processor without a name".to_owned(), |(_, name)| name.to_owned()),
            processors: std::thread::available_parallelism()?.get(),
            tier: Tier::best().name(),
            kernel: release.get(..end).unwrap_or_default().to_owned(),
            compiler: printed("rustc", &["--version"])?,
            date: printed("date", &["+%Y-%m-%d"])?,
            load: file("/proc/loadavg")?.split(' ').next().unwrap_or_default().to_owned(),
        })
    }
}
