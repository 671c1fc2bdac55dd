//! `ane trace`.

use std::fmt::{self, Write as _};

use ane::count::count;
use ane::decode::{is_upsetting, printable};
use ane::inspect::{ReportError, Timeline};
use ane_device::trace::chrome::Writer;
use ane_device::trace::{Record, What};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use super::Subject;
use crate::failure::{Advise, Exit, Failure};
use crate::{device, files};

/// Show the engine's timeline
///
/// Runs MODEL and prints the engine's timeline: transfers, passes, requests. Without MODEL it prints the last events of a
/// running device: that of `ane daemon`, that of an aned that was started with --control, or one at a control socket.
/// Such a device records events after --on until --off. MODEL may also be a timeline that `--trace` wrote earlier.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane trace examples/add_relu.anec
  ane trace examples/add_relu.anec --json > t.json    for https://ui.perfetto.dev
  ane trace t.json
  ane trace --on --device aned
  ane trace --device aned")]
pub(crate) struct Trace {
    /// Device to inspect
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Start recording the events of a running device
    #[arg(long, conflicts_with = "model")]
    pub(crate) on: bool,
    /// Stop recording, and delete the recorded events
    #[arg(long, conflicts_with_all = ["model", "on"])]
    pub(crate) off: bool,
}

pub(crate) fn run(args: &Trace) -> Result<()> {
    let subject = &args.subject;
    // Read once: a pipe has nothing left the second time.
    let given = match subject.model.as_deref() {
        Some(file) => Some((file, files::read(file)?)),
        None => None,
    };
    // A program begins with other bytes, whichever container it is in.
    if let Some((file, bytes)) =
        given.as_ref().filter(|(_, bytes)| bytes.trim_ascii_start().starts_with(b"{"))
    {
        let page = written(bytes).with_context(|| files::name(file))?;
        return files::print(if subject.json { bytes } else { page.as_bytes() });
    }
    let (device, source) = super::opened(subject)?;
    let source = source.timekeeper().map_err(super::no_report)?;
    if args.on || args.off {
        return Timeline::keep(&source, args.on).map_err(super::no_report);
    }
    let Some(((model, bytes), device)) = given.zip(device.as_ref()) else {
        return show(&Timeline::of(&source).map_err(super::no_report)?, subject.json);
    };
    let was_kept = match Timeline::of(&source) {
        Ok(_) => true,
        Err(ReportError::Refused(_)) => false,
        Err(why) => return Err(super::no_report(why)),
    };
    Timeline::keep(&source, true).map_err(super::no_report)?;
    let ran = super::run_bytes_on(device, model, &bytes);
    let timeline = Timeline::of(&source);
    if !was_kept {
        Timeline::keep(&source, false).map_err(super::no_report)?;
    }
    let (session, outcome) = ran?;
    show(&timeline.map_err(super::no_report)?, subject.json)?;
    drop(session);
    outcome.map_err(|why| device::session_failure(&why, device))
}

fn show(timeline: &Timeline, as_json: bool) -> Result<()> {
    if !as_json {
        return files::print(page(&timeline.records, timeline.lost)?.as_bytes());
    }
    let mut text = Vec::new();
    let mut writer = Writer::new(&mut text)?;
    timeline.records.iter().try_for_each(|record| writer.write(record))?;
    writer.finish(timeline.lost)?;
    drop(writer);
    files::print(&text)
}

fn page(records: &[Record], lost: u64) -> Result<String, fmt::Error> {
    let mut page = String::new();
    // The model's events of the chip have a clock of their own.
    let (mut modelled, mut sorted): (Vec<&Record>, Vec<&Record>) =
        records.iter().partition(|record| matches!(record.event.what, What::Modelled { .. }));
    sorted.sort_by_key(|record| (record.start, record.end));
    modelled.sort_by_key(|record| (record.start, record.end));
    let begin = sorted.first().map(|record| record.start.0).unwrap_or_default();
    writeln!(page, "{:>12}  {:>10}  task  what", "microseconds", "took")?;
    for record in sorted {
        let at = (record.start.0 - begin) as f64 / 1e3;
        let took = record.end.0.saturating_sub(record.start.0) as f64 / 1e3;
        let what = match record.event.what {
            What::RequestBegin { tasks } if record.event.task.index == 0 => {
                format!("request begins, {}", count(tasks, "task"))
            }
            What::RequestBegin { .. } => "request goes on".to_owned(),
            What::RequestEnd { succeeded: true } => "request ends".to_owned(),
            What::RequestEnd { succeeded: false } => "request fails".to_owned(),
            What::RequestAside => "request gives way".to_owned(),
            What::Transfer { circuit, bytes } => format!("{circuit}, {}", count(bytes, "byte")),
            What::Pass { class, shape: [c, h, w], macs, .. } => {
                format!("{class} pass, {c}x{h}x{w}, {}", count(macs, "multiplication"))
            }
            What::Fault { circuit, address } => format!("{circuit} faults at {address:#x}"),
            What::Fallback { circuit, address, bytes } => {
                format!("{circuit}, {} at {address:#x} that no region of PE_MMU covers", count(bytes, "byte"))
            }
            What::Unpaid { circuit } => format!("{circuit} does not pay for its translations"),
            What::TranslationWait { picoseconds } => {
                format!("transfers waited {picoseconds} picoseconds for PE_MMU, in modelled time")
            }
            What::Modelled { .. } => continue,
        };
        writeln!(page, "{at:>12.1}  {took:>10.1}  {:>4}  {what}", record.event.task.index)?;
    }
    if !modelled.is_empty() {
        writeln!(page, "\nOn the chip, by the timing model:")?;
    }
    for record in modelled {
        let What::Modelled { part, cycles } = record.event.what else { continue };
        let at = record.start.0 as f64 / 1e3;
        let took = record.end.0.saturating_sub(record.start.0) as f64 / 1e3;
        let index = record.event.task.index;
        writeln!(page, "{at:>12.1}  {took:>10.1}  {index:>4}  {}, {}", part.name(), count(cycles, "cycle"))?;
    }
    if lost > 0 {
        writeln!(page, "{} before them no longer kept", count(lost, "event"))?;
    }
    Ok(page)
}

/// The number of events that a file says it left out; 0 if it says nothing of them.
fn left_out(file: &Value) -> u64 {
    file["otherData"]["lost"].as_u64().unwrap_or_default()
}

/// A timeline of earlier.
fn written(bytes: &[u8]) -> Result<String> {
    let advice = "write one with `ane run --trace`";
    let file: Value = serde_json::from_slice(bytes).advise(Exit::Refused, advice)?;
    let events = file.get("traceEvents").and_then(Value::as_array);
    let events =
        events.ok_or_else(|| Failure::new(Exit::Refused, "no list traceEvents, so no timeline", advice))?;
    let mut page = String::new();
    writeln!(page, "{:>12}  {:>10}  what", "microseconds", "took")?;
    // The model's events of the chip are another process of the file, with a clock of their own.
    let (names, mut events): (Vec<&Value>, Vec<&Value>) = events.iter().partition(|event| event["ph"] == "M");
    let clock = |event: &Value| event["pid"].as_u64().unwrap_or_default();
    let time = |event: &Value| event["ts"].as_f64().unwrap_or_default();
    events.sort_by(|a, b| clock(a).cmp(&clock(b)).then(time(a).total_cmp(&time(b))));
    let mut of = events.first().map(|event| clock(event));
    for event in events {
        if of.replace(clock(event)) != Some(clock(event)) {
            let is_its = |name: &&&Value| name["name"] == "process_name" && clock(name) == clock(event);
            let name = names.iter().find(is_its).and_then(|name| name["args"]["name"].as_str());
            writeln!(page, "\n{}:", printable(name.unwrap_or("another process")))?;
        }
        let number = |key: &str| event[key].as_f64().unwrap_or_default();
        let name = event["name"].as_str().unwrap_or_default();
        let phase = match event["ph"].as_str() {
            Some("B") => " begins",
            Some("E") => " ends",
            _ => "",
        };
        let arguments = event.get("args").map_or(String::new(), |arguments| format!("  {arguments}"));
        let line = format!("{:>12.1}  {:>10.1}  {name}{phase}{arguments}", number("ts"), number("dur"));
        writeln!(page, "{}", line.replace(is_upsetting, " "))?;
    }
    if left_out(&file) > 0 {
        let left_out = count(left_out(&file), "event");
        writeln!(page, "\nleft out: {left_out}, for which the timeline had no room")?;
    }
    Ok(page)
}
