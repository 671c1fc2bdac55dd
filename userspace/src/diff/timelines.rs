//! Two timelines, as `--trace` writes them: what happened, in which order, and how long it took.
//!
//! Times are never the same twice and are no difference. They are summed by kind of event, and noted.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use super::Comparison;

#[derive(Debug, Error)]
pub enum Error {
    #[error("no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("JSON without a list traceEvents, so no timeline")]
    NoEvents,
}

#[derive(Clone, Debug, PartialEq)]
struct Event {
    what: String,
    microseconds: f64,
}

/// Compares the events of two timelines, row by row.
pub fn compare(a: &[u8], b: &[u8]) -> Result<Comparison, Error> {
    let (a, b) = (rows(a)?, rows(b)?);
    let mut found = Comparison::default();
    let none = Row::default();
    for number in a.keys().chain(b.keys().filter(|number| !a.contains_key(number))) {
        let (one, other) = (a.get(number).unwrap_or(&none), b.get(number).unwrap_or(&none));
        let name = if one.name.is_empty() { &other.name } else { &one.name };
        let place = |index: usize| format!("{name}, event {index}");
        for index in 0..one.events.len().max(other.events.len()) {
            let told = |row: &Row| row.events.get(index).map_or("-".to_owned(), |event| event.what.clone());
            found.compare(|| place(index), &told(one), &told(other));
        }
        let (one, other) = (one.microseconds(), other.microseconds());
        if one > 0.0 || other > 0.0 {
            found.notes.push(format!("{name}: {one:.1} against {other:.1} microseconds"));
        }
    }
    Ok(found)
}

#[derive(Debug, Default)]
struct Row {
    name: String,
    events: Vec<Event>,
}

impl Row {
    fn microseconds(&self) -> f64 {
        self.events.iter().map(|event| event.microseconds).sum()
    }
}

fn rows(file: &[u8]) -> Result<BTreeMap<u64, Row>, Error> {
    let file: Value = serde_json::from_slice(file)?;
    let events = file.get("traceEvents").and_then(Value::as_array).ok_or(Error::NoEvents)?;
    let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
    for event in events {
        let number = event.get("tid").and_then(Value::as_u64).unwrap_or_default();
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = event.get("args").cloned().unwrap_or_default();
        if text("ph") == "M" {
            if text("name") == "thread_name" {
                let name = arguments.get("name").and_then(Value::as_str);
                rows.entry(number).or_default().name = name.unwrap_or_default().to_owned();
            }
            continue;
        }
        let what = match arguments {
            Value::Null => format!("{} {}", text("ph"), text("name")),
            arguments => format!("{} {} {arguments}", text("ph"), text("name")),
        };
        let microseconds = event.get("dur").and_then(Value::as_f64).unwrap_or_default();
        rows.entry(number).or_default().events.push(Event { what, microseconds });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(duration: u32, bytes: u32) -> Vec<u8> {
        format!(
            r#"{{"traceEvents":[{{"ph":"M","pid":1,"tid":7,"name":"thread_name","args":{{"name":"tile DMA"}}}},
            {{"ph":"X","pid":1,"tid":7,"ts":1.5,"dur":{duration},"name":"read","args":{{"bytes":{bytes}}}}}]}}"#
        )
        .into_bytes()
    }

    #[test]
    fn times_are_noted_and_are_no_difference() {
        let found = compare(&timeline(3, 64), &timeline(5, 64)).unwrap();
        assert!(found.is_same());
        assert_eq!(found.notes, ["tile DMA: 3.0 against 5.0 microseconds"]);
    }

    #[test]
    fn event_that_is_another_is_named_by_its_row() {
        let found = compare(&timeline(3, 64), &timeline(3, 128)).unwrap();
        assert_eq!((found.count, found.differences[0].place.as_str()), (1, "tile DMA, event 0"));
        assert_eq!(found.differences[0].b, r#"X read {"bytes":128}"#);
    }

    #[test]
    fn other_json_is_no_timeline() {
        assert!(matches!(compare(b"{}", b"{}"), Err(Error::NoEvents)));
        assert!(matches!(compare(b"\x93NUMPY", b"{}"), Err(Error::Json(_))));
    }
}
