//! The traces that were written, read back in the way of a viewer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use ane_uapi::hw::nid::Nid;
use serde_json::Value;

use super::*;
use crate::engine::numerics::Numerics;
use crate::trace::Clock;

/// A sink that can be read while it is written, and fails once it is full.
#[derive(Clone, Default)]
struct Sink {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Option<usize>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.bytes.lock().expect("one thread");
        if self.room.is_some_and(|room| written.len() + bytes.len() > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn parsed(&self) -> Value {
        serde_json::from_slice(&self.bytes.lock().expect("one thread")).expect("valid JSON")
    }

    fn events(&self) -> Vec<Value> {
        let Value::Array(events) = self.parsed()["traceEvents"].take() else { panic!("no list of events") };
        events
    }
}

fn record(queue: u32, index: u16, (start, end): (u64, u64), what: What) -> Record {
    let task = Task { queue: QueueId::new(queue).expect("a queue"), nid: Nid::LINUX, index };
    Record { start: Stamp(start), end: Stamp(end), event: Event { task, what } }
}

/// One request of one task that reads, computes and writes.
fn request(queue: u32, start: u64) -> Vec<Record> {
    let at = |from: u64, to: u64, what| record(queue, 0, (start + from, start + to), what);
    let transfer = |circuit| What::Transfer { circuit, bytes: 4096 };
    let pass = |class| What::Pass { class, shape: [64, 8, 8], numerics: Some(Numerics::Exact), macs: 4096 };
    vec![
        at(0, 0, What::RequestBegin { tasks: 1 }),
        at(0, 700, transfer(Circuit::TdFetch)),
        at(700, 1_000, transfer(Circuit::TileFetch1)),
        at(1_000, 1_200, transfer(Circuit::TileFetch2)),
        at(1_200, 1_500, transfer(Circuit::KernelFetch)),
        at(1_500, 5_001, pass(TaskClass::Neural)),
        at(5_001, 6_000, pass(TaskClass::PlanarBinary)),
        at(6_000, 6_100, transfer(Circuit::TileSend)),
        at(6_200, 6_200, What::RequestEnd { succeeded: true }),
    ]
}

fn written(records: &[Record]) -> Sink {
    let sink = Sink::default();
    let mut writer = Writer::new(sink.clone()).expect("room");
    records.iter().for_each(|record| writer.write(record).expect("room"));
    writer.finish(0).expect("room");
    sink
}

/// How many `B` are not yet followed by an `E`, on each row, event by event.
fn depths(events: &[Value]) -> Vec<i64> {
    let mut open = BTreeMap::new();
    events
        .iter()
        .map(|event| {
            let depth = open.entry(event["tid"].as_u64().expect("a row")).or_insert(0);
            *depth += i64::from(event["ph"] == "B") - i64::from(event["ph"] == "E");
            *depth
        })
        .collect()
}

/// The phases of those events that have one of the `wanted`.
fn phases<'a>(events: &'a [Value], wanted: &[&str]) -> Vec<&'a str> {
    events.iter().filter_map(|event| event["ph"].as_str()).filter(|phase| wanted.contains(phase)).collect()
}

#[test]
fn events_of_requests_are_balanced_and_in_order_on_each_row() {
    let records: Vec<_> = (0..5).flat_map(|i| request(i % 2, u64::from(i) * 10_000)).collect();
    let events: Vec<_> = written(&records).events().into_iter().filter(|event| event["ph"] != "M").collect();
    assert_eq!(events.len(), records.len());
    assert!(depths(&events).iter().all(|depth| (0..=1).contains(depth)));
    assert_eq!(phases(&events, &["E"]).len(), phases(&events, &["B"]).len());
    let mut rows: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for event in &events {
        let start = event["ts"].as_f64().expect("a time");
        let row = rows.entry(event["tid"].as_u64().expect("a row")).or_default();
        row.extend([start, start + event["dur"].as_f64().unwrap_or(0.0)]);
    }
    assert_eq!(rows.len(), 2 + Circuit::ALL.len() + 2);
    assert!(rows.values().all(|times| times.is_sorted()), "{rows:?}");
}

#[test]
fn pass_shows_its_time_in_microseconds_and_its_numbers() {
    let events = written(&request(4, 1_000_000)).events();
    let pass = events.iter().find(|event| event["name"] == "neural").expect("it is there");
    assert_eq!((&pass["ph"], &pass["ts"], &pass["dur"]), (&"X".into(), &1001.5.into(), &3.501.into()));
    let numbers = serde_json::json!({"channels": 64, "height": 8, "width": 8, "macs": 4096, "numerics": "exact",
        "queue": 4, "nid": 64, "task": 0});
    assert_eq!(pass["args"], numbers);
}

#[test]
fn every_row_that_is_used_has_a_name_of_its_own() {
    let mut names = BTreeMap::new();
    let events = written(&request(7, 0)).events();
    for event in events.iter().filter(|event| event["name"] == "thread_name") {
        let name = event["args"]["name"].as_str().expect("text").to_owned();
        assert_eq!(names.insert(name, event["tid"].as_u64().expect("a row")), None);
    }
    assert_eq!(names.len(), 19);
    assert!(events.iter().all(|event| event["tid"] == 0 || names.values().any(|&row| event["tid"] == row)));
}

/// Requirement: MEM-34
#[test]
fn levels_of_the_hierarchy_are_rows_from_dram_to_the_array() {
    let events = written(&[]).events();
    let rows = events.iter().filter(|event| event["name"] == "thread_name" && event["pid"] == 2);
    let names: Vec<_> = rows.map(|event| event["args"]["name"].as_str().expect("text")).collect();
    assert_eq!(names, ["DRAM to kernel store", "DRAM to pool", "pool (64 banks) to array", "pool to DRAM"]);
}

#[test]
fn request_that_never_ended_is_closed_when_the_file_is() {
    let mut records = request(1, 0);
    records.truncate(4);
    let fault = What::Fault { circuit: Circuit::TileFetch2, address: 0x4000 };
    records.push(record(1, 0, (1_300, 1_300), fault));
    let events = written(&records).events();
    let last = events.last().expect("not empty");
    assert_eq!((&last["ph"], &last["ts"]), (&"E".into(), &1.3.into()));
    assert_eq!(phases(&events, &["B", "E"]), ["B", "E"]);
    let instant = &events[events.len() - 2];
    assert_eq!((&instant["ph"], &instant["args"]["address"]), (&"i".into(), &0x4000.into()));
}

#[test]
fn begin_or_end_that_was_lost_leaves_the_rows_balanced() {
    let begin = |at| record(3, 0, (at, at), What::RequestBegin { tasks: 1 });
    let end = |at| record(3, 0, (at, at), What::RequestEnd { succeeded: false });
    let events = written(&[end(5), begin(10), begin(20), end(30), end(40)]).events();
    assert_eq!(phases(&events, &["B", "E"]), ["B", "E", "B", "E"]);
}

#[test]
fn writer_that_is_dropped_leaves_a_whole_file() {
    let sink = Sink::default();
    let mut writer = Writer::new(sink.clone()).expect("room");
    writer.write(&request(0, 0)[0]).expect("room");
    drop(writer);
    assert_eq!(sink.parsed()["otherData"]["lost"], 0);
}

#[test]
fn file_without_events_is_valid_and_says_what_was_lost() {
    let sink = Sink::default();
    let mut writer = Writer::new(sink.clone()).expect("room");
    let mut timeline = Timeline::on(Clock::new(|| 0), 0);
    timeline.mark(request(0, 0)[0].event);
    writer.drain(&mut timeline).expect("room");
    writer.finish(timeline.take_lost()).expect("room");
    writer.finish(99).expect("nothing is done twice");
    assert_eq!(sink.parsed()["otherData"]["lost"], 1);
}

#[test]
fn sink_that_is_full_is_an_error_once_and_is_left_alone_after() {
    let sink = Sink { room: Some(2_000), ..Sink::default() };
    let mut writer = Writer::new(sink.clone()).expect("room for the names");
    let records: Vec<_> = (0..20).flat_map(|i| request(0, i * 10_000)).collect();
    let failures = records.iter().filter(|record| writer.write(record).is_err()).count();
    writer.finish(0).expect("given up");
    assert_eq!(failures, 1);
}

/// One event of each kind there is, one behind the other.
fn every_kind() -> Vec<Record> {
    let circuit = Circuit::TileFetch1;
    let modelled = Part::ALL.map(|part| What::Modelled { part, cycles: 100 });
    let others = [
        What::Fallback { circuit, address: u64::MAX, bytes: 64 },
        What::Unpaid { circuit },
        What::TranslationWait { picoseconds: u64::MAX },
        What::Fault { circuit, address: u32::MAX },
        What::RequestEnd { succeeded: false },
    ];
    let later = modelled.into_iter().chain(others);
    let later =
        (0..).zip(later).map(|(n, what)| record(2, u16::MAX, (20_000 + 10 * n, 20_000 + 10 * n), what));
    let begin = record(2, 0, (15_000, 15_000), What::RequestBegin { tasks: u16::MAX });
    request(0, 0).into_iter().chain([begin]).chain(later).collect()
}

/// True if what the trace event format (Google, "Trace Event Format") demands of an event of its phase is there.
fn is_well_formed(event: &Value) -> bool {
    let has_place = event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string();
    let is_timed = event["ts"].as_f64().is_some_and(|ts| ts >= 0.0) && event["args"].is_object();
    has_place
        && match event["ph"].as_str() {
            Some("X") => is_timed && event["dur"].as_f64().is_some_and(|duration| duration >= 0.0),
            Some("B") => is_timed,
            // Arguments of an end are optional.
            Some("E") => event["ts"].is_number(),
            Some("i") => is_timed && event["s"] == "t",
            Some("M") => event["args"]["name"].is_string(),
            _ => false,
        }
}

#[test]
fn every_event_has_what_the_trace_event_format_demands_of_its_phase() {
    let file = written(&every_kind()).parsed();
    assert_eq!(file["displayTimeUnit"], "ns");
    let events = file["traceEvents"].as_array().expect("a list");
    let wrong: Vec<_> = events.iter().filter(|event| !is_well_formed(event)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    for phase in ["X", "B", "E", "i", "M"] {
        assert!(events.iter().any(|event| event["ph"] == phase), "{phase}");
    }
}

#[test]
fn every_process_and_row_of_an_event_is_named_before_it_is_used() {
    let mut named = BTreeSet::new();
    for event in written(&every_kind()).events() {
        let (pid, tid) = (event["pid"].as_u64(), event["tid"].as_u64());
        if event["ph"] == "M" {
            let place = if event["name"] == "process_name" { (pid, None) } else { (pid, tid) };
            assert!(named.insert(place), "named once: {event}");
        } else {
            assert!(named.contains(&(pid, None)) && named.contains(&(pid, tid)), "{event}");
        }
    }
}

/// Viewers draw what overlaps on one row as one within the other, which nothing here is.
#[test]
fn events_of_one_row_follow_each_other_and_never_overlap() {
    let records: Vec<_> = (0..4).flat_map(|n| request(0, 10_000 * n)).collect();
    let mut ends: BTreeMap<(Option<u64>, Option<u64>), f64> = BTreeMap::new();
    for event in written(&records).events().iter().filter(|event| event["ph"] == "X") {
        let start = event["ts"].as_f64().expect("a time");
        let end = ends.entry((event["pid"].as_u64(), event["tid"].as_u64())).or_default();
        assert!(start >= *end, "{event}");
        *end = start + event["dur"].as_f64().expect("a time");
    }
    assert!(ends.len() > 5);
}
