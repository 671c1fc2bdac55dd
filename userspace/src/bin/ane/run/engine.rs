//! An embedded engine, watched: its timeline from the start of a run to the end.

use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use ane::device::Device;
use ane::embedded::Embedded;
use ane::timeline::Tally;
use ane_device::counters::Report;
use ane_device::trace::chrome::Writer;
use ane_device::trace::{Clock, Record, Timeline};
use anyhow::{Context, Result};

use super::report::EngineReport;
use crate::failure::{Exit, Failure};
use crate::files::{self, Existing};

/// An engine that notes what it does.
pub(crate) struct Watch {
    device: Device,
    /// The figures of everything that was taken out of its timeline.
    tally: Tally,
    /// The first records of it, for the trace.
    records: Vec<Record>,
    /// Records that no figure counts: the timeline had no room for them.
    lost: u64,
    /// Records that the trace leaves out beside those.
    left_out: u64,
}

impl Watch {
    /// Turns the timeline on, if the engine is in this process. A place that a trace cannot have is refused here, before the run.
    pub(crate) fn start(device: &Device, trace: Option<&Path>) -> Result<Self> {
        if let Some(path) = trace {
            files::check_place(path).context("--trace")?;
        }
        let is_here = device.with_embedded(|driver| {
            let timeline = Timeline::on(Clock::since(Instant::now()), Timeline::CAPACITY);
            driver.bus_mut().device_mut().ane().set_timeline(timeline);
        });
        if trace.is_some() && is_here.is_none() {
            let what = format!("device {} keeps its timeline to itself", device.location());
            let advice = "start the device with --trace, or leave --device out";
            return Err(Failure::new(Exit::CommandLine, what, advice).into());
        }
        let (device, records) = (device.clone(), Vec::new());
        Ok(Self { device, tally: Tally::default(), records, lost: 0, left_out: 0 })
    }

    /// Takes out what happened, so that the timeline has room for more. A trace has as many records as a timeline holds.
    pub(crate) fn note(&mut self) {
        let Self { device, tally, records, lost, left_out } = self;
        device.with_embedded(|driver| {
            let timeline = driver.bus_mut().device_mut().ane().timeline_mut();
            *lost += timeline.take_lost();
            for record in timeline.drain() {
                tally.add(&record);
                if records.len() < Timeline::CAPACITY {
                    records.push(record);
                } else {
                    *left_out += 1;
                }
            }
        });
    }

    /// The engine's report since then. The trace is written to a file if one is named; whether that went well comes apart, as
    /// what the run gave counts more.
    pub(crate) fn finish(mut self, trace: Option<&Path>) -> (Option<EngineReport>, Result<()>) {
        self.note();
        let Self { device, tally, records, lost, left_out } = self;
        let report = device.with_embedded(|driver| {
            let device = driver.bus_mut().device_mut();
            let findings = device.is_checking().then(|| findings(device));
            let ane = driver.bus_mut().device_mut().ane();
            EngineReport {
                timeline: tally.summary(),
                events_lost: lost,
                bytes_read: ane.report(Report::BytesRead),
                bytes_written: ane.report(Report::BytesWritten),
                inferred: Some(ane.inferred()).filter(|inferred| !inferred.is_none()).map(|i| i.to_string()),
                findings,
            }
        });
        let traced = trace.filter(|_| report.is_some()).map_or(Ok(()), |path| {
            files::save_with(path, Existing::Replace, |file| {
                let mut writer = Writer::new(BufWriter::new(file))?;
                records.iter().try_for_each(|record| writer.write(record))?;
                writer.finish(lost.saturating_add(left_out))
            })
            .context("--trace")
        });
        (report, traced)
    }
}

/// Tells of a trace that was not written, where the error of the run itself ends the command.
pub(crate) fn tell_untraced(traced: &Result<()>) {
    if let Err(why) = traced {
        files::tell(format_args!("{why:#}"));
    }
}

/// The findings of checking mode since the last call, and the number of those that it did not keep.
pub(crate) fn findings(device: &mut Embedded) -> Vec<String> {
    let ane = device.ane();
    let lost = ane.take_reports_lost();
    let lost = (lost > 0).then(|| format!("{lost} more were dropped: nobody asked in time"));
    ane.take_reports().iter().map(ToString::to_string).chain(lost).collect()
}
