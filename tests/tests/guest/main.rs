//! A real guest in a real QEMU, and the driver in it: from boot to power-off.

mod apple_like;
mod clients;
mod daemon;
mod kernel_module;
mod ko_source;
mod programs;
mod recovery;
mod wrong;

use std::path::{Path, PathBuf};

use ane::embedded;
use ane_device::Options;
use ane_tests::data::{self, Sample};
use ane_tests::machine::{self, Setting};
use tempfile::TempDir;

/// Memory for the largest program.
const MEMORY: usize = 16 << 20;

/// The function's address behind the machine's port.
const FUNCTION: &str = "0000:01:00.0";

/// A guest's root, and how to boot it.
struct Guest {
    folder: TempDir,
    kernel: PathBuf,
    image: PathBuf,
    samples: Vec<Sample>,
}

impl Guest {
    /// The checks and the command, with the compiled programs in the guest's /srv.
    fn make() -> Option<Self> {
        Self::with(|_, samples| {
            let programs = samples.iter().map(|sample| sample.path.clone());
            Some(programs.chain([data::example()]).collect())
        })
    }

    /// The same programs of this tree, with files that `make` makes in a folder, or finds.
    fn with(make: impl Fn(&Path, &[Sample]) -> Option<Vec<PathBuf>>) -> Option<Self> {
        let (kernel, samples) = (machine::kernel()?, data::programs()?);
        let folder = tempfile::tempdir().unwrap();
        let files = make(folder.path(), &samples)?;
        let image = machine::image(folder.path(), &["guest-checks", "ane", "aned"], &files);
        Some(Self { folder, kernel, image, samples })
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            kernel: self.kernel.clone(),
            image: &self.image,
            pages: 64,
            arguments: Vec::new(),
            qemu: Vec::new(),
        }
    }
}

fn here() -> impl ane_driver::bus::Bus {
    embedded::open(&Options::default(), MEMORY).unwrap()
}
