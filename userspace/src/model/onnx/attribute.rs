//! `AttributeProto`: a value of one type, which a node has under a name. The numbers are those of the published `onnx.proto`.
//!
//! An operator asks for a value of the type that the standard gives its attribute. A value of another type is not
//! converted: such a model is wrong, and other implementations refuse it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::model::protobuf::{Damage, Field, Message};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute<'a> {
    Single(f32),
    Integer(i64),
    Text(String),
    Tensor(&'a [u8]),
    Singles(Vec<f32>),
    Integers(Vec<i64>),
    Texts(Vec<String>),
    /// Neither a type nor a value: a file without types leaves out what is zero or empty.
    Empty,
    /// A value that no mapped operator takes, such as a graph.
    Other,
    /// Values of two types, or one of another type than the attribute says.
    Contradictory,
}

impl<'a> Attribute<'a> {
    /// The name and the value.
    pub(super) fn read(bytes: &'a [u8]) -> Result<(String, Self), Damage> {
        let (mut name, mut told, mut value) = (String::new(), 0, Self::Empty);
        Message::new("AttributeProto", bytes).for_each(|number, field| {
            match number {
                1 => name = field.text(),
                20 => told = field.number(),
                _ => value.take(number, field)?,
            }
            Ok::<(), Damage>(())
        })?;
        let of_type = Self::of_type(told);
        let value = match value {
            // A writer may leave out a zero, and an empty list has no field.
            Self::Empty => of_type,
            value if of_type == Self::Empty || value.is_like(&of_type) => value,
            _ => Self::Contradictory,
        };
        Ok((name, value))
    }

    /// Takes a field of the message: a value in place of none, or one more element of a list.
    fn take(&mut self, number: u64, field: Field<'a>) -> Result<(), Damage> {
        let Some(of_field) = Self::of_field(number) else { return Ok(()) };
        if *self == Self::Empty {
            *self = of_field;
        } else if !self.is_like(&of_field) {
            *self = Self::Contradictory;
        }
        match self {
            Self::Single(single) => *single = field.single(),
            Self::Integer(integer) => *integer = field.signed(),
            Self::Text(text) => *text = field.text(),
            Self::Tensor(tensor) => *tensor = field.bytes(),
            Self::Singles(list) => field.singles(list),
            Self::Integers(list) => field.integers("AttributeProto", list)?,
            Self::Texts(list) => list.push(field.text()),
            Self::Empty | Self::Other | Self::Contradictory => {}
        }
        Ok(())
    }

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The value before field `number`; `None` if that has no value.
    fn of_field(number: u64) -> Option<Self> {
        Some(match number {
            2 => Self::of_type(1),
            3 => Self::of_type(2),
            4 => Self::of_type(3),
            5 => Self::of_type(4),
            7 => Self::of_type(6),
            8 => Self::of_type(7),
            9 => Self::of_type(8),
            // Graphs, types and sparse tensors, lists of them, and the attribute of a function.
            6 | 10 | 11 | 14 | 15 | 21..=23 => Self::Other,
            _ => return None,
        })
    }

    /// Zero, or an empty list, of the type with this number in the format.
    const fn of_type(number: u64) -> Self {
        match number {
            0 => Self::Empty,
            1 => Self::Single(0.0),
            2 => Self::Integer(0),
            3 => Self::Text(String::new()),
            4 => Self::Tensor(&[]),
            6 => Self::Singles(Vec::new()),
            7 => Self::Integers(Vec::new()),
            8 => Self::Texts(Vec::new()),
            _ => Self::Other,
        }
    }

    /// The type, in words and as the format calls it.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Single(_) => "a single (FLOAT)",
            Self::Integer(_) => "a whole number (INT)",
            Self::Text(_) => "a text (STRING)",
            Self::Tensor(_) => "a tensor (TENSOR)",
            Self::Singles(_) => "a list of singles (FLOATS)",
            Self::Integers(_) => "a list of whole numbers (INTS)",
            Self::Texts(_) => "a list of texts (STRINGS)",
            Self::Empty => "empty",
            Self::Other => "neither numbers, texts nor a tensor",
            Self::Contradictory => "of another type than its value, or has two values",
        }
    }

    /// The whole number, if it is one.
    pub(super) const fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Empty => Some(0),
            _ => None,
        }
    }

    /// The message of the tensor, if it is one.
    pub(super) const fn tensor(&self) -> Option<&'a [u8]> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Attribute<'_> {
        Attribute::read(bytes).unwrap().1
    }

    #[test]
    fn attribute_without_a_type_has_that_of_its_value() {
        assert_eq!(read(&[0x18, 5]), Attribute::Integer(5));
        assert_eq!(read(&[0x15, 0, 0, 0x80, 0x3f]), Attribute::Single(1.0));
        assert_eq!(read(&[0x40, 1, 0x40, 2]), Attribute::Integers(vec![1, 2]));
        assert_eq!(read(&[0x0a, 1, b'a']), Attribute::Empty);
    }

    #[test]
    fn attribute_of_a_type_without_a_value_is_zero_or_an_empty_list() {
        assert_eq!(read(&[0xa0, 1, 2]), Attribute::Integer(0));
        assert_eq!(read(&[0xa0, 1, 7]), Attribute::Integers(Vec::new()));
    }

    #[test]
    fn value_of_another_type_than_the_attribute_says_is_contradictory() {
        assert_eq!(read(&[0x18, 5, 0xa0, 1, 1]), Attribute::Contradictory);
        assert_eq!(read(&[0x18, 5, 0x15, 0, 0, 0x80, 0x3f]), Attribute::Contradictory);
        assert_eq!(read(&[0x18, 5, 0xa0, 1, 2]), Attribute::Integer(5));
        assert_eq!(read(&[0x32, 0, 0xa0, 1, 5]), Attribute::Other);
    }
}
