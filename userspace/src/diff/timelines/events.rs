//! The events of a timeline, read one after the other: a file may have millions, and none of them stays in memory.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use super::Error;

/// Longest event, and longest value beside the list of events, in bytes (Chosen: events that devices write have some 200).
pub(super) const VALUE_BYTES_MAX: usize = 1 << 16;

/// Longest name of a row that is kept, in characters.
const NAME_MAX: usize = 96;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    /// The name of a row.
    Name(String),
    /// Something that happened, and for how many microseconds.
    Happened { what: String, microseconds: f64 },
}

/// A place in the list of events.
#[derive(Clone, Debug)]
pub(super) struct Events<'a> {
    file: &'a [u8],
    at: usize,
    is_first: bool,
}

impl<'a> Events<'a> {
    /// The list in a file.
    pub(super) fn of(file: &'a [u8]) -> Result<Self, Error> {
        let mut events = Self { file, at: 0, is_first: true };
        if !events.skip(b'{') {
            return Err(events.wrong("an object was expected"));
        }
        if events.peek() == Some(b'}') {
            return Err(Error::NoEvents);
        }
        loop {
            if events.member()? == "traceEvents" {
                return if events.skip(b'[') { Ok(events) } else { Err(Error::NoEvents) };
            }
            events.value::<IgnoredAny>()?;
            if !events.skip(b',') {
                return Err(if events.skip(b'}') {
                    Error::NoEvents
                } else {
                    events.wrong("a comma was expected")
                });
            }
        }
    }

    /// The row and the event that come next, and where it begins.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Event, usize)>, Error> {
        if self.skip(b']') {
            return self.end().map(|()| None);
        }
        if !self.is_first && !self.skip(b',') {
            return Err(self.wrong("a comma was expected"));
        }
        self.is_first = false;
        let at = self.at;
        let (row, event) = event(&self.value()?);
        Ok(Some((row, event, at)))
    }

    /// The event that begins at a place that [`next`](Self::next) said.
    pub(super) fn again(&self, at: usize) -> Result<Event, Error> {
        Ok(event(&Self { at, ..self.clone() }.value()?).1)
    }

    /// The text behind the list has to be JSON, too.
    fn end(&mut self) -> Result<(), Error> {
        while self.skip(b',') {
            self.member()?;
            self.value::<IgnoredAny>()?;
        }
        if self.skip(b'}') && self.peek().is_none() {
            Ok(())
        } else {
            Err(self.wrong("the end was expected"))
        }
    }

    /// The key of a member.
    fn member(&mut self) -> Result<String, Error> {
        let key = self.value()?;
        if self.skip(b':') { Ok(key) } else { Err(self.wrong("a colon was expected")) }
    }

    fn value<T: Deserialize<'a>>(&mut self) -> Result<T, Error> {
        let rest = self.file.get(self.at..).unwrap_or_default();
        let part = rest.get(..VALUE_BYTES_MAX).unwrap_or(rest);
        let mut values = Deserializer::from_slice(part).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(why)) if !why.is_eof() => {
                let why = why.to_string();
                // The line and the column are those of a part.
                Err(self.wrong(why.split(" at line ").next().unwrap_or_default()))
            }
            _ if part.len() < rest.len() => Err(Error::Long { at: self.at }),
            _ => Err(self.wrong("the file ends")),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = self.file.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.file.get(self.at).copied()
    }

    /// Whether this byte comes next; if so, it is passed.
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn wrong(&self, what: &str) -> Error {
        Error::Json { at: self.at, what: what.to_owned() }
    }
}

/// The row of an event, and what it says.
fn event(event: &Value) -> (u64, Event) {
    let row = event.get("tid").and_then(Value::as_u64).unwrap_or_default();
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let arguments = event.get("args").filter(|arguments| !arguments.is_null());
    if text("ph") == "M" {
        let name = arguments.and_then(|arguments| arguments.get("name")).and_then(Value::as_str);
        let name = if text("name") == "thread_name" { name.unwrap_or_default() } else { "" };
        return (row, Event::Name(name.chars().take(NAME_MAX).collect()));
    }
    let what = match arguments {
        None => format!("{} {}", text("ph"), text("name")),
        Some(arguments) => format!("{} {} {arguments}", text("ph"), text("name")),
    };
    let microseconds = event.get("dur").and_then(Value::as_f64).unwrap_or_default();
    (row, Event::Happened { what, microseconds })
}
