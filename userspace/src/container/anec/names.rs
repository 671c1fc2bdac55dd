//! Names of surfaces, in the part of the header that no other reader looks at.
//!
//! (Chosen) The last of the shapes ends at 0x6a8, and the shorter of the two headers at 0x800; what is between is zero
//! in every known file. Where a program has names they lie there: a mark, then outputs and inputs by rising BAR, each
//! ended by a zero. Other readers skip them. Names that do not fit are left out, all of them, and surfaces are called
//! by their place, as in a file without.

use std::collections::BTreeSet;

use super::{Direction, Form, Header};

const MARK: &[u8] = b"ANENAMES";

/// Bytes for the mark and all names.
pub(super) const ROOM: usize = Form::Short.bytes() as usize - size_of::<Header>();

/// Bytes for all names, each with the zero that ends it.
pub(crate) const ALL_BYTES: usize = ROOM - MARK.len();

/// The name of a surface that has none.
pub(crate) fn of_place(direction: Direction, index: usize) -> String {
    format!("{}{index}", direction.name())
}

/// The bytes behind the shapes for `names`; none if these are the default names of their places, or do not fit.
pub(super) fn encode(names: &[String], outputs: usize) -> Vec<u8> {
    let places = places(outputs, names.len().saturating_sub(outputs));
    let mut bytes = MARK.to_vec();
    for name in names {
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    // Names are not written if reading would not give them back: empty names, double ones, or with a zero.
    let comes_back = decode(&bytes, outputs, names.len().saturating_sub(outputs)).as_deref() == Some(names);
    if comes_back && !names.iter().eq(&places) { bytes } else { Vec::new() }
}

/// The names behind the shapes, if they are there: one for each surface, and no two the same.
pub(super) fn decode(bytes: &[u8], outputs: usize, inputs: usize) -> Option<Vec<String>> {
    let names = bytes.get(..bytes.len().min(ROOM))?.strip_prefix(MARK)?;
    let mut parts = names.split(|&byte| byte == 0);
    let wanted = outputs.checked_add(inputs)?;
    let names: Vec<String> = parts
        .by_ref()
        .take(wanted)
        .map(|name| String::from_utf8(name.to_vec()).ok())
        .collect::<Option<_>>()?;
    // The last name has its zero, too.
    parts.next()?;
    let distinct: BTreeSet<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    (names.len() == wanted && distinct.len() == wanted).then_some(names)
}

/// The names of surfaces that have none.
pub(super) fn places(outputs: usize, inputs: usize) -> Vec<String> {
    let of = |direction, count| (0..count).map(move |index| of_place(direction, index));
    of(Direction::Output, outputs).chain(of(Direction::Input, inputs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn names_come_back_in_their_order() {
        let names = names(&["result", "bild é", "x"]);
        let mut bytes = encode(&names, 1);
        bytes.resize(ROOM, 0);
        assert_eq!(decode(&bytes, 1, 2), Some(names));
    }

    #[test]
    fn names_that_fill_the_room_fit_and_one_byte_more_does_not() {
        let longest = "n".repeat(ALL_BYTES - 1);
        assert_eq!(encode(std::slice::from_ref(&longest), 1).len(), ROOM);
        assert!(encode(&[longest + "n"], 1).is_empty());
    }

    #[test]
    fn names_of_places_and_those_that_would_not_come_back_are_not_written() {
        for bad in [&["output0", "input0"], &["y", ""], &["y", "y"], &["y", "a\0b"]] {
            assert!(encode(&names(bad), 1).is_empty(), "{bad:?}");
        }
    }

    #[test]
    fn damaged_names_are_none() {
        let good = encode(&names(&["y", "x"]), 1);
        assert_eq!(decode(&good, 1, 2), None, "too few");
        assert_eq!(decode(&good[..good.len() - 1], 1, 1), None, "no end");
        assert_eq!(decode(b"ANENAMES\xff\0x\0", 1, 1), None, "no text");
        assert_eq!(decode(&[0; ROOM], 1, 1), None, "no mark");
    }
}
