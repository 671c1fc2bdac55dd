//! Words of the text, and where they stand.

use crate::model::error::ModelError;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word<'a> {
    Name(&'a str),
    /// A number as it is written.
    Number(&'a str),
    /// The text between quotation marks.
    Text(&'a [u8]),
    Sign(char),
    End,
}

/// Where the reader is in the text.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// `wanted` and what is there instead, with line and column.
    pub(super) fn error(&self, what: &str) -> ModelError {
        let mut here = self.clone();
        here.pass_blanks();
        let before = here.bytes.get(..here.at).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count().saturating_add(1);
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at.saturating_add(1));
        let column = here.at.saturating_sub(start).saturating_add(1);
        ModelError::Text { line, column, what: what.to_owned() }
    }

    fn wanted(&self, what: &str) -> ModelError {
        self.error(&format!("{what} is wanted, not what stands here,"))
    }

    fn pass_blanks(&mut self) {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let length = match rest {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
                [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
                _ => return,
            };
            self.at = self.at.saturating_add(length);
        }
    }

    /// The next word and where it ends.
    fn next_word(&self) -> Result<(Word<'a>, usize), ModelError> {
        let mut here = self.clone();
        here.pass_blanks();
        let rest = here.bytes.get(here.at..).unwrap_or_default();
        let run = |is_part: &dyn Fn(u8) -> bool| {
            let length = rest.iter().position(|&byte| !is_part(byte)).unwrap_or(rest.len());
            // Only signs of ASCII are parts.
            let text = rest.get(..length).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default();
            (text, here.at.saturating_add(length))
        };
        Ok(match rest {
            [] => (Word::End, here.at),
            [b'"', inner @ ..] => {
                let mut escaped = false;
                let length = inner.iter().position(|&byte| {
                    let ends = byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                    ends
                });
                let length = length.ok_or_else(|| self.error("a text without an end"))?;
                (
                    Word::Text(inner.get(..length).unwrap_or_default()),
                    here.at.saturating_add(length).saturating_add(2),
                )
            }
            [b'0'..=b'9', ..] | [b'-' | b'+', b'0'..=b'9' | b'i' | b'n', ..] => {
                // The sign of an exponent stands behind its letter.
                let mut last = 0;
                let is_hex = matches!(rest, [b'0', b'x', ..] | [_, b'0', b'x', ..]);
                let (mut length, mut is_first) = (0_usize, true);
                for &byte in rest {
                    let exponent =
                        if is_hex { matches!(last, b'p' | b'P') } else { matches!(last, b'e' | b'E') };
                    let is_sign = matches!(byte, b'+' | b'-');
                    if !(byte.is_ascii_alphanumeric() || byte == b'.' || is_sign && (is_first || exponent)) {
                        break;
                    }
                    (last, is_first) = (byte, false);
                    length = length.saturating_add(1);
                }
                let text =
                    rest.get(..length).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default();
                (Word::Number(text), here.at.saturating_add(length))
            }
            [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] => {
                let (text, end) = run(&|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'@' | b'/' | b':')
                });
                (Word::Name(text), end)
            }
            &[byte, ..] => (Word::Sign(char::from(byte)), here.at.saturating_add(1)),
        })
    }

    pub(super) fn peek(&self) -> Result<Word<'a>, ModelError> {
        Ok(self.next_word()?.0)
    }

    /// Goes on behind the next word.
    pub(super) fn skip(&mut self) -> Result<(), ModelError> {
        match self.next_word()? {
            (Word::End, _) => Err(self.wanted("more")),
            (_, end) => {
                self.at = end;
                Ok(())
            }
        }
    }

    /// Goes on behind a sign, if it is the next word.
    pub(super) fn take(&mut self, sign: char) -> Result<bool, ModelError> {
        match self.next_word()? {
            (Word::Sign(found), end) if found == sign => {
                self.at = end;
                Ok(true)
            }
            // A loop to a bracket that closes ends with the text.
            (Word::End, _) if matches!(sign, ')' | ']' | '}' | '>') => Err(self.wanted(&format!("{sign:?}"))),
            _ => Ok(false),
        }
    }

    pub(super) fn want(&mut self, sign: char) -> Result<(), ModelError> {
        if self.take(sign)? { Ok(()) } else { Err(self.wanted(&format!("{sign:?}"))) }
    }

    pub(super) fn name(&mut self) -> Result<String, ModelError> {
        match self.next_word()? {
            (Word::Name(name), end) => {
                self.at = end;
                Ok(name.to_owned())
            }
            _ => Err(self.wanted("a name")),
        }
    }

    pub(super) fn want_name(&mut self, name: &str) -> Result<(), ModelError> {
        match self.next_word()? {
            (Word::Name(found), end) if found == name => {
                self.at = end;
                Ok(())
            }
            _ => Err(self.wanted(&format!("{name:?}"))),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, ModelError> {
        match self.next_word()? {
            (Word::Text(bytes), end) => {
                self.at = end;
                Ok(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => Err(self.wanted("a text")),
        }
    }

    pub(super) fn whole(&mut self) -> Result<u64, ModelError> {
        match self.next_word()? {
            (Word::Number(number), end) => match number.parse() {
                Ok(value) => {
                    self.at = end;
                    Ok(value)
                }
                Err(_) => Err(self.wanted("a whole number")),
            },
            _ => Err(self.wanted("a whole number")),
        }
    }

    /// A number, a truth, or one of the words for what is no number.
    pub(super) fn number(&mut self) -> Result<f64, ModelError> {
        let (word, end) = self.next_word()?;
        let value = match word {
            Word::Number(number) => hexadecimal(number).or_else(|| number.parse().ok()),
            Word::Name("true") => Some(1.0),
            Word::Name("false") => Some(0.0),
            Word::Name("inf" | "infinity") => Some(f64::INFINITY),
            Word::Name("nan") => Some(f64::NAN),
            _ => None,
        };
        let value = value.ok_or_else(|| self.wanted("a number"))?;
        self.at = end;
        Ok(value)
    }
}

/// A number such as `-0x1.8p-3`.
fn hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0x")?;
    let (digits, exponent) = digits.split_once(['p', 'P']).unwrap_or((digits, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value = 0.0;
    for digit in whole.chars().chain(part.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let places = i32::try_from(part.len()).ok()?.checked_mul(4)?;
    Some(sign * value * f64::from(exponent.checked_sub(places)?).exp2())
}
