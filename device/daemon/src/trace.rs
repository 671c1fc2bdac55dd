//! The timeline of an engine: on its way to a file that trace viewers open, and what happened last, for the control
//! socket.
//!
//! The file is opened before the sandbox closes. It is written by the thread that the engine runs on, when the
//! engine rests or its timeline fills up, and ended when the program ends.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ane_device::trace::chrome::Writer;
use ane_device::trace::{Clock, Recent, Record, Stamp, Timeline, What};

pub(crate) struct Trace {
    file: Option<Output>,
    recent: Option<Recent>,
    /// Events that the timelines of the file have dropped.
    lost: u64,
    start: Instant,
    /// Where the modelled chip's time stands: an engine that is made anew begins at zero.
    model_end: Stamp,
}

struct Output {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    failed: bool,
}

impl Trace {
    /// To a new file, if one is named.
    pub(crate) fn new(path: Option<&Path>) -> io::Result<Self> {
        let file = path.map(Output::create).transpose()?;
        Ok(Self { file, recent: None, lost: 0, start: Instant::now(), model_end: Stamp(0) })
    }

    /// The file of one of several engines: `trace.json` becomes `trace.ane1.json`.
    pub(crate) fn path_of(path: &Path, engine: &str) -> PathBuf {
        match path.extension() {
            Some(extension) => path.with_extension(format!("{engine}.{}", extension.to_string_lossy())),
            None => path.with_extension(engine),
        }
    }

    /// A timeline whose time goes on where the last one stood; one that is off, if the options ask for none.
    pub(crate) fn timeline(&self) -> Timeline {
        if self.file.is_none() && self.recent.is_none() {
            return Timeline::off();
        }
        Timeline::on(Clock::since(self.start), Timeline::CAPACITY).with_model_from(self.model_end)
    }

    /// Keeps what happens from now on, if it is not kept already, or forgets it. True if the timeline has to be another.
    pub(crate) fn keep(&mut self, is_wanted: bool) -> bool {
        if self.recent.is_some() == is_wanted {
            return false;
        }
        self.recent = is_wanted.then(Recent::default);
        if self.file.is_none() {
            // There is nothing left that the next timeline has to go on from.
            self.model_end = Stamp(0);
        }
        self.file.is_none()
    }

    /// The latest records, as lines; `None` if they are not kept.
    pub(crate) fn text(&self) -> Option<String> {
        self.recent.as_ref().map(Recent::lines)
    }

    pub(crate) fn take(&mut self, timeline: &mut Timeline) {
        for record in timeline.drain() {
            if let What::Modelled { .. } = record.event.what {
                self.model_end = self.model_end.max(record.end);
            }
            if let Some(file) = &mut self.file {
                file.write(&record);
            }
            if let Some(recent) = &mut self.recent {
                recent.note([record]);
            }
        }
        let lost = timeline.take_lost();
        self.lost = self.lost.saturating_add(lost);
        if let Some(recent) = &mut self.recent {
            recent.miss(lost);
        }
    }

    pub(crate) fn finish(&mut self) {
        if let Some(file) = &mut self.file {
            let outcome = file.writer.finish(self.lost);
            file.complain(outcome);
        }
    }
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let writer = Writer::new(BufWriter::new(File::create(path)?))?;
        Ok(Self { path: path.to_owned(), writer, failed: false })
    }

    fn write(&mut self, record: &Record) {
        let outcome = self.writer.write(record);
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
    use ane_device::timing::phases::Part;
    use ane_device::trace::{Event, Task};
    use ane_uapi::hw::nid::Nid;
    use ane_uapi::hw::tq::QueueId;

    use super::*;

    const TASK: Task = Task { queue: QueueId::LINUX, nid: Nid::LINUX, index: 0 };

    #[test]
    fn each_of_several_engines_has_a_file_of_its_own() {
        assert_eq!(Trace::path_of(Path::new("out/trace.json"), "ane1"), Path::new("out/trace.ane1.json"));
        assert_eq!(Trace::path_of(Path::new("trace"), "ane0"), Path::new("trace.ane0"));
    }

    #[test]
    fn events_that_several_timelines_dropped_are_counted_together() {
        let mut trace = Trace::new(None).unwrap();
        trace.keep(true);
        for _ in 0..2 {
            let mut timeline = Timeline::on(Clock::since(trace.start), 3);
            (0..10).for_each(|_| timeline.mark(Event { task: TASK, what: What::RequestBegin { tasks: 1 } }));
            trace.take(&mut timeline);
        }
        assert_eq!(trace.text().unwrap().lines().next(), Some("lost 14"));
    }

    #[test]
    fn modelled_time_of_an_engine_that_is_made_anew_goes_on() {
        let mut trace = Trace::new(None).unwrap();
        trace.keep(true);
        let what = What::Modelled { part: Part::Array, cycles: 1 };
        for _ in 0..2 {
            let mut timeline = trace.timeline();
            timeline.place(Stamp(10), Stamp(50), Event { task: TASK, what });
            trace.take(&mut timeline);
        }
        let text = trace.text().unwrap();
        let begins: Vec<_> = text.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(begins, ["10", "60"]);
    }

    #[test]
    fn timeline_is_on_while_somebody_wants_to_know() {
        let mut trace = Trace::new(None).unwrap();
        assert!(!trace.timeline().is_on() && trace.text().is_none());
        assert!(trace.keep(true) && !trace.keep(true), "said twice, it changes nothing");
        assert!(trace.timeline().is_on());
        assert_eq!(trace.text().as_deref(), Some("lost 0\n"));
        assert!(trace.keep(false));
        assert!(!trace.timeline().is_on());
    }
}
