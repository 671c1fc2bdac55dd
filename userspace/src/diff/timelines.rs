//! Two timelines, as `--trace` writes them: what happened, in which order, and how long it took.
//!
//! Times are never the same twice and are no difference. They are summed by kind of event, and noted.
//!
//! Both files are read twice. The first time the events of each row are counted. The second time the two files are read in turns, and an
//! event waits, as a place in its file, for its counterpart in the other. Two runs of one program differ little in the
//! order of their rows, so few events wait.

mod events;

use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use self::events::{Event, Events, VALUE_BYTES_MAX};
use super::{Comparison, LISTED};

/// Most rows of a timeline (Chosen: a device has a row for each queue, circuit and engine, which are less than a hundred).
const ROWS_MAX: usize = 1024;

/// Most events that wait for their counterparts: 8 MiB of places.
const WAITING_MAX: usize = 1 << 20;

#[derive(Debug, Error)]
pub enum Error {
    #[error("no JSON at byte {at}: {what}")]
    Json { at: usize, what: String },
    #[error("JSON without a list traceEvents, so no timeline")]
    NoEvents,
    #[error("value at byte {at} is longer than the {VALUE_BYTES_MAX} bytes that are read of one")]
    Long { at: usize },
    #[error("timeline has more than {ROWS_MAX} rows")]
    Rows,
    #[error(
        "the rows are in too different an order: {WAITING_MAX} events wait for those of the other timeline"
    )]
    Order,
}

/// A timeline whose events have been counted.
#[derive(Debug)]
pub struct Timeline<'a> {
    file: &'a [u8],
    rows: Rows,
}

impl<'a> Timeline<'a> {
    /// Reads a timeline once.
    pub fn read(file: &'a [u8]) -> Result<Self, Error> {
        Ok(Self { file, rows: rows(file)? })
    }
}

/// Compares the events of two timelines, row by row.
///
/// # Errors
///
/// [`Error::Order`].
pub fn compare(a: Timeline<'_>, b: Timeline<'_>) -> Result<Comparison, Error> {
    let rows = [a.rows, b.rows];
    let mut found = differences([a.file, b.file], &rows)?;
    let [one, other] = &rows;
    for number in one.keys().chain(other.keys().filter(|number| !one.contains_key(number))) {
        let took = |rows: &Rows| rows.get(number).map_or(0.0, |row| row.microseconds);
        let (here, there) = (took(one), took(other));
        if here > 0.0 || there > 0.0 {
            found.notes.push(format!("{}: {here:.1} against {there:.1} microseconds", name(&rows, *number)));
        }
    }
    Ok(found)
}

#[derive(Debug, Default)]
struct Row {
    name: String,
    events: u64,
    microseconds: f64,
}

type Rows = BTreeMap<u64, Row>;

fn rows(file: &[u8]) -> Result<Rows, Error> {
    let mut events = Events::of(file)?;
    let mut rows = Rows::new();
    while let Some((number, event, _)) = events.next()? {
        let row = rows.entry(number).or_default();
        match event {
            Event::Name(name) if name.is_empty() => {}
            Event::Name(name) => row.name = name,
            Event::Happened { microseconds, .. } => {
                row.events += 1;
                row.microseconds += microseconds;
            }
        }
        if rows.len() > ROWS_MAX {
            return Err(Error::Rows);
        }
    }
    Ok(rows)
}

/// The name of a row, as either timeline has it.
fn name(rows: &[Rows; 2], number: u64) -> &str {
    let names = rows.iter().filter_map(|rows| Some(rows.get(&number)?.name.as_str()));
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

/// The events of a row that one timeline has shown so far, and the other has not.
#[derive(Debug, Default)]
struct Waiting {
    /// How many events each has shown.
    shown: [u64; 2],
    /// Where those begin that the timeline which is ahead has shown.
    places: VecDeque<usize>,
}

fn differences(files: [&[u8]; 2], rows: &[Rows; 2]) -> Result<Comparison, Error> {
    let mut events = [Events::of(files[0])?, Events::of(files[1])?];
    let mut waiting: BTreeMap<u64, Waiting> = BTreeMap::new();
    let (mut count, mut listed) = (0, BTreeMap::new());
    let mut differs = |number: u64, index: u64, told: [String; 2]| {
        count += 1;
        // Rows of the first timeline are listed before those that only the other has.
        listed.insert((!rows[0].contains_key(&number), number, index), told);
        if listed.len() > LISTED {
            listed.pop_last();
        }
    };
    let (mut ended, mut all) = ([false; 2], 0);
    while ended != [true; 2] {
        for side in [0, 1] {
            if ended[side] {
                continue;
            }
            let Some((number, event, at)) = events[side].next()? else {
                ended[side] = true;
                continue;
            };
            let Event::Happened { what, .. } = event else { continue };
            let row = waiting.entry(number).or_default();
            let index = row.shown[side];
            row.shown[side] += 1;
            let told = |here: String, there: String| if side == 0 { [here, there] } else { [there, here] };
            if rows[1 - side].get(&number).is_none_or(|row| index >= row.events) {
                differs(number, index, told(what, "-".to_owned()));
            } else if index >= row.shown[1 - side] {
                row.places.push_back(at);
                all += 1;
                if all > WAITING_MAX {
                    return Err(Error::Order);
                }
            } else if let Some(at) = row.places.pop_front() {
                all -= 1;
                if let Event::Happened { what: other, .. } = events[1 - side].again(at)?
                    && what != other
                {
                    differs(number, index, told(what, other));
                }
            }
        }
    }
    let mut found = Comparison::default();
    for ((_, number, index), [a, b]) in listed {
        found.differs(format!("{}, event {index}", name(rows, number)), a, b);
    }
    found.count = count;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two files, compared.
    fn compare(a: &[u8], b: &[u8]) -> Result<Comparison, Error> {
        super::compare(Timeline::read(a)?, Timeline::read(b)?)
    }

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
        assert!(matches!(compare(b"\x93NUMPY", b"{}"), Err(Error::Json { at: 0, .. })));
    }

    /// An event of a row.
    fn event(row: u32, name: &str) -> String {
        format!(r#"{{"ph":"i","tid":{row},"name":"{name}"}}"#)
    }

    fn of(events: &[String]) -> Vec<u8> {
        format!(
            r#"{{"displayTimeUnit":"ns", "traceEvents": [{}], "otherData": {{"a": [1, 2]}}}} "#,
            events.join(", ")
        )
        .into_bytes()
    }

    #[test]
    fn order_of_rows_is_no_difference_and_the_order_in_a_row_is_one() {
        let all: Vec<_> = (0..40).map(|at| event(at % 4, &at.to_string())).collect();
        let by_row: Vec<_> = (0..40).map(|at| event(at / 10, &(at % 10 * 4 + at / 10).to_string())).collect();
        assert!(compare(&of(&all), &of(&by_row)).unwrap().is_same());
        let mut other = by_row;
        other.swap(3, 4);
        let found = compare(&of(&other), &of(&all)).unwrap();
        let told: Vec<_> =
            found.differences.iter().map(|one| [&one.place, &one.a, &one.b].map(String::as_str)).collect();
        assert_eq!(told, [[", event 3", "i 16", "i 12"], [", event 4", "i 12", "i 16"]]);
    }

    #[test]
    fn events_that_one_has_not_are_counted_and_the_first_are_listed() {
        let all: Vec<_> = (0..1000).map(|at| event(at % 2, "x")).collect();
        let found = compare(&of(&all[..2]), &of(&all)).unwrap();
        assert_eq!((found.count, found.differences.len()), (998, LISTED));
        assert_eq!((found.differences[0].a.as_str(), found.differences[0].b.as_str()), ("-", "i x"));
        assert_eq!(compare(&of(&all), &of(&[])).unwrap().count, 1000);
    }

    #[test]
    fn file_cut_anywhere_is_no_timeline() {
        let whole = of(&[event(1, "x"), event(2, "y")]);
        let end = whole.trim_ascii_end().len();
        for at in 0..end {
            assert!(compare(&whole[..at], &whole).is_err(), "{at}");
        }
        assert!(compare(&whole[..end], &whole).unwrap().is_same());
    }

    #[test]
    fn long_events_and_many_rows_are_refused() {
        let long = of(&[event(1, &"x".repeat(VALUE_BYTES_MAX))]);
        assert!(matches!(compare(&long, &long), Err(Error::Long { .. })));
        let nested = format!(r#"{{"a":{}"#, "[".repeat(2 * VALUE_BYTES_MAX)).into_bytes();
        assert!(matches!(compare(&nested, &nested), Err(Error::Long { at: 5 })));
        let rows: Vec<_> = (0..=ROWS_MAX as u32).map(|row| event(row, "")).collect();
        assert!(matches!(compare(&of(&rows), &of(&[])), Err(Error::Rows)));
    }
}
