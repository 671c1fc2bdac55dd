//! The words of a line, and how each is read.

use std::collections::BTreeMap;
use std::ops::Range;

use half::f16;

use super::super::{Axis, Padding, Shape};
use super::Why;
use crate::tensor::{Conversion, Unfit, nearest_half, overflows};

pub(super) struct Words<'a> {
    pub(super) operation: &'a str,
    pub(super) operands: Vec<&'a str>,
    pairs: BTreeMap<&'a str, &'a str>,
    /// What became of the numbers so far.
    pub(super) conversion: Conversion,
}

impl<'a> Words<'a> {
    pub(super) fn of(operation: &'a str, words: &[&'a str]) -> Result<Self, Why> {
        let (operands, pairs, conversion) = (Vec::new(), BTreeMap::new(), Conversion::default());
        let mut split = Self { operation, operands, pairs, conversion };
        for &word in words {
            let before = match word.split_once('=') {
                Some((key, value)) => split.pairs.insert(key, value).map(|_| key),
                None if word == "relu" => split.pairs.insert(word, "yes").map(|_| word),
                None => {
                    split.operands.push(word);
                    None
                }
            };
            if let Some(key) = before {
                return Err(Why::KeyTwice { operation: operation.to_owned(), key: key.to_owned() });
            }
        }
        Ok(split)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<&'a str> {
        self.pairs.remove(key)
    }

    pub(super) fn need(&mut self, key: &'static str) -> Result<&'a str, Why> {
        self.take(key).ok_or_else(|| Why::Missing { operation: self.operation.to_owned(), key })
    }

    /// Whether the line says yes to something; it may also say no.
    pub(super) fn yes(&mut self, key: &str) -> Result<bool, Why> {
        match self.take(key) {
            None | Some("no") => Ok(false),
            Some("yes") => Ok(true),
            Some(value) => Err(wrong(key, value, "yes or no")),
        }
    }

    /// A number that the engine gets as a half.
    pub(super) fn number(&mut self, key: &str, value: &str) -> Result<f64, Why> {
        let number = double(key, value)?;
        self.fit(key, value, number, Conversion::bounded)
    }

    pub(super) fn half(&mut self, key: &str, value: &str) -> Result<f16, Why> {
        self.number(key, value).map(nearest_half)
    }

    pub(super) fn needed_half(&mut self, key: &'static str) -> Result<f16, Why> {
        let value = self.need(key)?;
        self.half(key, value)
    }

    /// A bound of elements: a number, or an infinity that bounds nothing.
    pub(super) fn bound(&mut self, key: &'static str) -> Result<f64, Why> {
        let value = self.need(key)?;
        let bound = self.number(key, value)?;
        if bound.is_nan() { Err(wrong(key, value, "a number")) } else { Ok(bound) }
    }

    /// The number below a root.
    pub(super) fn epsilon(&mut self) -> Result<f64, Why> {
        let key = "epsilon";
        let Some(value) = self.take(key) else { return Ok(1e-5) };
        self.fit(key, value, double(key, value)?, Conversion::epsilon)
    }

    /// The number, if a half can stand for it.
    fn fit(
        &mut self,
        key: &str,
        value: &str,
        number: f64,
        half: fn(&mut Conversion, f64) -> Result<f16, Unfit>,
    ) -> Result<f64, Why> {
        let fit =
            if overflows(value, number) { Err(Unfit::Beyond) } else { half(&mut self.conversion, number) };
        let refusal = |why| Why::Unfit { key: key.to_owned(), value: value.to_owned(), why };
        fit.map(|_| number).map_err(refusal)
    }

    /// The one word that is no pair.
    pub(super) fn only(&mut self) -> Result<&'a str, Why> {
        match std::mem::take(&mut self.operands)[..] {
            [only] => Ok(only),
            ref words => {
                Err(Why::Operands { operation: self.operation.to_owned(), wanted: 1, given: words.len() })
            }
        }
    }

    /// Nothing may be left that nobody took.
    pub(super) fn finish(self) -> Result<(), Why> {
        let left = self.pairs.keys().chain(&self.operands).next();
        left.map_or(Ok(()), |key| {
            Err(Why::Key { operation: self.operation.to_owned(), key: (*key).to_owned() })
        })
    }
}

pub(super) fn wrong(key: &str, value: &str, wanted: &'static str) -> Why {
    Why::Value { key: key.to_owned(), value: value.to_owned(), wanted }
}

pub(super) fn count(key: &str, value: &str) -> Result<u32, Why> {
    value.parse().map_err(|_| wrong(key, value, "a whole number"))
}

pub(super) fn extents(key: &str, value: &str) -> Result<(u32, u32), Why> {
    let (columns, rows) = value.split_once('x').unwrap_or((value, value));
    let bad = |_| wrong(key, value, "columns x rows, such as 3x3");
    Ok((columns.parse().map_err(bad)?, rows.parse().map_err(bad)?))
}

pub(super) fn range(key: &str, value: &str) -> Result<Range<u32>, Why> {
    let bad = || wrong(key, value, "a range such as 0..4");
    let (start, end) = value.split_once("..").ok_or_else(bad)?;
    Ok(start.parse().map_err(|_| bad())?..end.parse().map_err(|_| bad())?)
}

pub(super) fn shape(key: &str, value: &str) -> Result<Shape, Why> {
    let bad = || wrong(key, value, "channels x rows x columns, such as 3x32x32");
    let extents: Vec<u32> = value.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
    match extents[..] {
        [c, h, w] => Ok(Shape::new(c, h, w)),
        _ => Err(bad()),
    }
}

pub(super) fn axis(key: &str, value: &str) -> Result<Axis, Why> {
    Ok(match value {
        "channels" => Axis::Channels,
        "rows" => Axis::Rows,
        "columns" => Axis::Columns,
        _ => return Err(wrong(key, value, "channels, rows or columns")),
    })
}

pub(super) fn axes(key: &str, value: &str) -> Result<Vec<Axis>, Why> {
    value.split(',').map(|one| axis(key, one)).collect()
}

fn double(key: &str, value: &str) -> Result<f64, Why> {
    value.parse().map_err(|_| wrong(key, value, "a number"))
}

/// Whole numbers with commas between.
pub(super) fn list<T: std::str::FromStr>(key: &str, value: &str) -> Result<Vec<T>, Why> {
    let one = |text: &str| text.parse().map_err(|_| wrong(key, value, "whole numbers with commas between"));
    value.split(',').map(one).collect()
}

/// Zeros on every side, or above, below, left and right.
pub(super) fn zeros(key: &str, value: &str) -> Result<Padding, Why> {
    match list(key, value)?[..] {
        [all] => Ok(Padding::all(all)),
        [top, bottom, left, right] => Ok(Padding { left, right, top, bottom }),
        _ => Err(wrong(key, value, "one number, or those above, below, left and right")),
    }
}
