//! Protocol buffers, read where they lie: a message is its bytes, and a field is a number with a value.
//!
//! Nothing is allocated for what a length says; every length is held against the bytes that are there. Unknown fields
//! are passed over, as the format wants it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// A number of variable length.
    Number(u64),
    /// Four bytes.
    Word([u8; 4]),
    /// Eight bytes.
    Long([u8; 8]),
    /// A text, a message, or numbers one behind the other.
    Bytes(&'a [u8]),
}

/// The fault of a message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} at byte {at} of {message}")]
pub struct Damage {
    pub what: &'static str,
    pub message: &'static str,
    pub at: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// For messages of errors.
    name: &'static str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Message<'a> {
    /// The message that some bytes are.
    pub const fn new(name: &'static str, bytes: &'a [u8]) -> Self {
        Self { name, bytes, at: 0 }
    }

    /// The next field and its number; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`Damage`], after which nothing more is to be read.
    pub fn next_field(&mut self) -> Result<Option<(u64, Field<'a>)>, Damage> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let key = self.number()?;
        let field = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => Field::Long(self.array()?),
            2 => {
                let length = self.number()?;
                let length = usize::try_from(length).map_err(|_| self.damage("length beyond the message"))?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Word(self.array()?),
            _ => return Err(self.damage("field of an unknown form")),
        };
        match key >> 3 {
            0 => Err(self.damage("field without a number")),
            number => Ok(Some((number, field))),
        }
    }

    /// Calls `each` for every field.
    ///
    /// # Errors
    ///
    /// [`Damage`], and what `each` returns.
    pub fn for_each<E: From<Damage>>(
        mut self,
        mut each: impl FnMut(u64, Field<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((number, field)) = self.next_field()? {
            each(number, field)?;
        }
        Ok(())
    }

    fn damage(&self, what: &'static str) -> Damage {
        Damage { what, message: self.name, at: self.at }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(length);
        let bytes = end.and_then(|end| self.bytes.get(self.at..end));
        let bytes = bytes.ok_or_else(|| self.damage("length beyond the message"))?;
        self.at = self.at.saturating_add(length);
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| self.damage("length beyond the message"))
    }

    fn number(&mut self) -> Result<u64, Damage> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| self.damage("number without an end"))?;
            self.at = self.at.saturating_add(1);
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damage("number without an end"))
    }
}

impl<'a> Field<'a> {
    /// The bytes, or none.
    pub const fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The text, with signs of replacement where it is none.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// The number, or 0.
    pub const fn number(self) -> u64 {
        match self {
            Self::Number(value) => value,
            _ => 0,
        }
    }

    /// The number with its sign, or 0.
    pub const fn signed(self) -> i64 {
        self.number().cast_signed()
    }

    /// The single, or 0.
    pub const fn single(self) -> f32 {
        match self {
            Self::Word(bytes) => f32::from_le_bytes(bytes),
            _ => 0.0,
        }
    }

    /// Appends whole numbers, which stand alone or one behind the other.
    ///
    /// # Errors
    ///
    /// [`Damage`].
    pub fn integers(self, name: &'static str, list: &mut Vec<i64>) -> Result<(), Damage> {
        match self {
            Self::Number(value) => list.push(value.cast_signed()),
            Self::Bytes(bytes) => {
                let mut packed = Message::new(name, bytes);
                while packed.at < bytes.len() {
                    list.push(packed.number()?.cast_signed());
                }
            }
            Self::Word(_) | Self::Long(_) => {}
        }
        Ok(())
    }

    /// Appends singles, which stand alone or one behind the other.
    pub fn singles(self, list: &mut Vec<f32>) {
        match self {
            Self::Word(bytes) => list.push(f32::from_le_bytes(bytes)),
            Self::Bytes(bytes) => {
                list.extend(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
            }
            Self::Number(_) | Self::Long(_) => {}
        }
    }

    /// Appends doubles, which stand alone or one behind the other.
    pub fn doubles(self, list: &mut Vec<f64>) {
        match self {
            Self::Long(bytes) => list.push(f64::from_le_bytes(bytes)),
            Self::Bytes(bytes) => {
                list.extend(bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)));
            }
            Self::Number(_) | Self::Word(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>, Damage> {
        let mut all = Vec::new();
        Message::new("test", bytes).for_each(|number, field| {
            all.push((number, field));
            Ok::<(), Damage>(())
        })?;
        Ok(all)
    }

    #[test]
    fn fields_of_every_form_are_read() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f];
        let read = fields(&bytes);
        let single = Field::Word([0, 0, 0x80, 0x3f]);
        assert_eq!(read, Ok(vec![(1, Field::Number(150)), (2, Field::Bytes(b"hi")), (3, single)]));
        assert_eq!(single.single(), 1.0);
    }

    #[test]
    fn length_that_lies_is_damage_with_its_place() {
        for bytes in [
            &[0x12, 3, 1, 2][..],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x0d, 1],
        ] {
            let damage = fields(bytes).unwrap_err();
            assert_eq!(damage.what, "length beyond the message", "{bytes:x?}");
        }
        assert_eq!(fields(&[0x08, 0x80]).unwrap_err().what, "number without an end");
        assert_eq!(fields(&[0x08; 1]).unwrap_err().at, 1);
        assert_eq!(fields(&[0x0b]).unwrap_err().what, "field of an unknown form");
        assert_eq!(fields(&[0x00, 0]).unwrap_err().what, "field without a number");
        assert_eq!(
            fields(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).unwrap_err().what,
            "number without an end"
        );
    }
}
