//! The report of a run: inputs, outputs, times, and the engine's work.

use std::fmt::{self, Write as _};
use std::time::Duration;

use ane::container::Surface;
use ane::count::count;
use ane::decode::printable;
use ane::device::{Device, Scope};
use ane::tensor::Tensor;
use ane::timeline::Summary;
use anyhow::Result;
use serde::Serialize;

/// Elements of an output that are shown.
const SHOWN: usize = 8;

#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    pub(crate) model: String,
    pub(crate) device: String,
    pub(crate) chip: String,
    pub(crate) numerics: Option<&'static str>,
    pub(crate) tasks: u32,
    pub(crate) inputs: Vec<InputReport>,
    pub(crate) outputs: Vec<OutputReport>,
    pub(crate) runs: u32,
    pub(crate) fastest_nanoseconds: u64,
    pub(crate) average_nanoseconds: u64,
    pub(crate) engine: Option<EngineReport>,
    pub(crate) driver: Vec<Counted>,
}

#[derive(Debug, Serialize)]
pub(crate) struct InputReport {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) source: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct OutputReport {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    pub(crate) smallest: f32,
    pub(crate) largest: f32,
    pub(crate) mean: f64,
    pub(crate) not_numbers: usize,
    pub(crate) first: Vec<f32>,
}

/// The report of an engine in this process.
#[derive(Debug, Serialize)]
pub(crate) struct EngineReport {
    pub(crate) timeline: Summary,
    /// Events of very long runs that the timeline dropped, and that it does not count.
    pub(crate) events_lost: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// Behaviour that no source establishes and that the program needed.
    pub(crate) inferred: Option<String>,
    /// The findings of checking mode; `None` if it is off.
    pub(crate) findings: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Counted {
    pub(crate) name: &'static str,
    pub(crate) count: u64,
}

impl InputReport {
    pub(crate) fn of(surface: &Surface<'_>, source: String) -> Self {
        Self { name: printable(&surface.name), shape: surface.extents(), source }
    }
}

impl OutputReport {
    pub(crate) fn of(surface: &Surface<'_>, tensor: &Tensor, file: Option<String>) -> Self {
        let values = || tensor.values().iter().map(|value| value.to_f32());
        let numbers = || values().filter(|value| !value.is_nan());
        let count = numbers().count();
        Self {
            name: printable(&surface.name),
            shape: surface.extents(),
            file,
            smallest: numbers().fold(f32::INFINITY, f32::min),
            largest: numbers().fold(f32::NEG_INFINITY, f32::max),
            mean: numbers().map(f64::from).sum::<f64>() / count.max(1) as f64,
            not_numbers: tensor.values().len() - count,
            first: values().take(SHOWN).collect(),
        }
    }
}

/// The driver's counters for this file; none where it does not count.
pub(crate) fn counted(device: &Device) -> Vec<Counted> {
    let statistics = device.statistics(Scope::File);
    statistics.map_or_else(
        |_| Vec::new(),
        |statistics| {
            let counted = statistics.iter().filter(|(_, count)| *count > 0);
            counted.map(|(name, count)| Counted { name, count }).collect()
        },
    )
}

impl RunReport {
    pub(crate) fn page(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        let Self { model, device, chip, tasks, .. } = self;
        let s = if *tasks == 1 { "" } else { "s" };
        write!(page, "{model}: {tasks} task{s} on {chip} ({device})")?;
        if let Some(numerics) = self.numerics {
            write!(page, ", numerics {numerics}")?;
        }
        writeln!(page)?;
        for InputReport { name, shape, source } in &self.inputs {
            writeln!(page, "  input   {name:<16} {shape:?}  {source}")?;
        }
        for output in &self.outputs {
            writeln!(page, "  output  {:<16} {:?}  {}", output.name, output.shape, output.values())?;
        }
        let fastest = Duration::from_nanos(self.fastest_nanoseconds);
        if self.runs == 1 {
            writeln!(page, "  time    {fastest:.1?} on this machine, from submission to completion")?;
        } else {
            let average = Duration::from_nanos(self.average_nanoseconds);
            writeln!(
                page,
                "  time    {fastest:.1?} the fastest of {} runs, {average:.1?} on average",
                self.runs
            )?;
        }
        if let Some(engine) = &self.engine {
            engine.write(&mut page)?;
        }
        Ok(page)
    }
}

impl OutputReport {
    fn values(&self) -> String {
        let first: Vec<_> = self.first.iter().map(ToString::to_string).collect();
        let more = if self.shape.iter().product::<usize>() > self.first.len() { ", ..." } else { "" };
        let odd = if self.not_numbers > 0 {
            format!(", {} are no numbers", self.not_numbers)
        } else {
            String::new()
        };
        let to = self.file.as_ref().map_or(String::new(), |file| format!(" -> {file}"));
        format!(
            "{}{more}  ({} to {}, mean {:.4}{odd}){to}",
            first.join(", "),
            self.smallest,
            self.largest,
            self.mean
        )
    }
}

impl EngineReport {
    pub(crate) fn write(&self, page: &mut String) -> fmt::Result {
        writeln!(
            page,
            "  engine  {}, {} read, {} written",
            count(self.timeline.passes, "pass"),
            count(self.bytes_read, "byte"),
            self.bytes_written
        )?;
        for row in &self.timeline.rows {
            let took = Duration::from_nanos(row.nanoseconds);
            write!(page, "          {:<22} {:>6} x {took:>9.1?}", row.what, row.events)?;
            if row.bytes > 0 {
                write!(page, "  {}", count(row.bytes, "byte"))?;
            }
            if row.macs > 0 {
                write!(page, "  {}", count(row.macs, "multiplication"))?;
            }
            writeln!(page)?;
        }
        if self.events_lost > 0 {
            let lost = count(self.events_lost, "event");
            writeln!(
                page,
                "  note    {lost} of long runs are not in these figures: the timeline had no room"
            )?;
        }
        if let Some(inferred) = &self.inferred {
            writeln!(
                page,
                "  note    no source establishes what it needed of: {inferred} (--strict refuses it)"
            )?;
        }
        for finding in self.findings.iter().flatten() {
            writeln!(page, "  check   {finding}")?;
        }
        if self.findings.as_ref().is_some_and(Vec::is_empty) {
            writeln!(page, "  check   nothing found")?;
        }
        Ok(())
    }
}
