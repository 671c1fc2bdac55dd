//! `--trace`: the timeline of an engine, on its way to a file that trace viewers open.
//!
//! The file is opened before the sandbox closes. It is written by the thread that the engine runs on, when the
//! engine rests or its timeline fills up, and ended when the program ends.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ane_device::trace::Timeline;
use ane_device::trace::chrome::Writer;

/// Where a timeline goes.
pub(crate) struct Trace {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    start: Instant,
    failed: bool,
}

impl Trace {
    /// A new file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let writer = Writer::new(BufWriter::new(File::create(path)?))?;
        Ok(Self { path: path.to_owned(), writer, start: Instant::now(), failed: false })
    }

    /// The file of one of several engines: `trace.json` becomes `trace.ane1.json`.
    pub(crate) fn path_of(path: &Path, engine: &str) -> PathBuf {
        match path.extension() {
            Some(extension) => path.with_extension(format!("{engine}.{}", extension.to_string_lossy())),
            None => path.with_extension(engine),
        }
    }

    /// A timeline whose time goes on where the file stands.
    pub(crate) fn timeline(&self) -> Timeline {
        let start = self.start;
        let clock = move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Timeline::on(Box::new(clock), Timeline::CAPACITY)
    }

    /// Writes what the timeline holds.
    pub(crate) fn take(&mut self, timeline: &mut Timeline) {
        let outcome = self.writer.drain(timeline);
        self.complain(outcome);
    }

    /// Ends the file.
    pub(crate) fn finish(&mut self, lost: u64) {
        let outcome = self.writer.finish(lost);
        self.complain(outcome);
    }

    /// A disk that is full ends the trace, and not the device; it is said once.
    fn complain(&mut self, outcome: io::Result<()>) {
        if let Err(why) = outcome
            && !std::mem::replace(&mut self.failed, true)
        {
            log::error!(target: "ane::trace", "{} cannot be written: {why}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_engines_has_a_file_of_its_own() {
        assert_eq!(Trace::path_of(Path::new("out/trace.json"), "ane1"), Path::new("out/trace.ane1.json"));
        assert_eq!(Trace::path_of(Path::new("trace"), "ane0"), Path::new("trace.ane0"));
    }
}
