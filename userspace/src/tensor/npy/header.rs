//! The header: magic, version, and a dictionary as Python would print it.
//!
//! `\x93NUMPY`, two bytes of version, the dictionary's length (two bytes in version 1, four from version 2 on), and the
//! dictionary, which has the keys `descr`, `fortran_order` and `shape` and nothing else. Version 3 allows UTF-8.

use std::io::Read;

use thiserror::Error;

use super::numbers::Number;
use crate::container::Axes;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest dictionary that is read: NumPy itself refuses longer ones than 10,000 bytes unless told otherwise.
const DICTIONARY_MAX: u32 = 1 << 16;

/// Most axes: NumPy's own limit is 64.
const AXES_MAX: usize = 64;

/// A whole header is a multiple of this, so that the data is aligned when the file is mapped.
const ALIGN: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub number: Number,
    /// The first axis is the fastest.
    pub is_fortran: bool,
    pub shape: Vec<u64>,
}

/// A description of a file of another kind.
const fn looks_like(is_archive: bool) -> &'static str {
    if is_archive { "it looks like a zip archive, as .npz files are" } else { "it is something else" }
}

#[derive(Debug, Error)]
pub enum BadHeader {
    #[error("file ends inside the header of an array")]
    Short,
    /// Another kind of file. Its bytes are not told: who reads the message may be somebody who may not read the file.
    #[error("not a .npy file: {}, and does not begin with \\x93NUMPY", looks_like(*.is_archive))]
    Magic {
        /// It begins as an archive of arrays does, a `.npz` file.
        is_archive: bool,
    },
    #[error(".npy version {major}.{minor} is not known, known are 1.0, 2.0 and 3.0")]
    Version { major: u8, minor: u8 },
    #[error("header of {bytes} bytes is longer than the {DICTIONARY_MAX} that are read")]
    TooLong { bytes: u32 },
    #[error("header has no {wanted} at byte {at}")]
    Syntax { wanted: &'static str, at: usize },
    #[error("header has {key:?} {how}")]
    Key { key: String, how: &'static str },
    #[error("array has more than {AXES_MAX} axes")]
    Axes,
    #[error("elements are of type {descr:?}; wanted are floats or integers, such as '<f2' or '<f4'")]
    Number { descr: String },
    #[error(transparent)]
    Io(std::io::Error),
}

impl From<std::io::Error> for BadHeader {
    fn from(why: std::io::Error) -> Self {
        if why.kind() == std::io::ErrorKind::UnexpectedEof { Self::Short } else { Self::Io(why) }
    }
}

impl Header {
    pub fn of_halves(shape: Axes<u32>) -> Self {
        let shape = [shape.n, shape.c, shape.h, shape.w].map(u64::from).to_vec();
        Self { number: Number::HALF, is_fortran: false, shape }
    }

    /// How many elements there are; `None` beyond 2^64.
    pub fn elements(&self) -> Option<u64> {
        // With an empty axis there are none, however long the others are.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent))
    }

    /// Reads a header, and not a byte more.
    pub fn read(mut from: impl Read) -> Result<Self, BadHeader> {
        let mut seen = [0; 6];
        from.read_exact(&mut seen)?;
        if &seen != MAGIC {
            return Err(BadHeader::Magic { is_archive: seen.starts_with(b"PK") });
        }
        let [major, minor] = array(&mut from)?;
        let bytes = match (major, minor) {
            (1, 0) => u32::from(u16::from_le_bytes(array(&mut from)?)),
            (2 | 3, 0) => u32::from_le_bytes(array(&mut from)?),
            _ => return Err(BadHeader::Version { major, minor }),
        };
        if bytes > DICTIONARY_MAX {
            return Err(BadHeader::TooLong { bytes });
        }
        let mut dictionary = vec![0; bytes as usize];
        from.read_exact(&mut dictionary)?;
        Parser { text: &dictionary, at: 0 }.header()
    }

    /// The bytes of the header, version 1.0, padded to a multiple of 64.
    pub fn encode(&self) -> Vec<u8> {
        let order = if self.is_fortran { "True" } else { "False" };
        let extents: String = self.shape.iter().map(|extent| format!("{extent}, ")).collect();
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}), }}",
            self.number,
            // A tuple of one keeps its comma, longer ones need none.
            if self.shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") }
        );
        let before = MAGIC.len() + 4;
        let whole = (before + text.len() + 1).next_multiple_of(ALIGN);
        text.extend(std::iter::repeat_n(' ', whole - before - text.len() - 1));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        // Sixty-four axes of twenty digits are below 2^16.
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }
}

fn array<const N: usize>(mut from: impl Read) -> Result<[u8; N], BadHeader> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads the few words of Python that a header has.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn header(mut self) -> Result<Header, BadHeader> {
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        self.require(b'{', "dictionary")?;
        while !self.takes(b'}') {
            let key = self.string()?;
            self.require(b':', "colon")?;
            let known = match key.as_str() {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => is_fortran.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.tuple()?).is_some(),
                _ => return Err(BadHeader::Key { key, how: "which does not belong there" }),
            };
            if known {
                return Err(BadHeader::Key { key, how: "twice" });
            }
            if !self.takes(b',') {
                self.require(b'}', "closing brace")?;
                break;
            }
        }
        if self.peek().is_some() {
            return Err(self.wanted("end"));
        }
        let missing = |key: &str| BadHeader::Key { key: key.to_owned(), how: "nowhere" };
        let descr = descr.ok_or_else(|| missing("descr"))?;
        Ok(Header {
            number: descr.parse().map_err(|()| BadHeader::Number { descr })?,
            is_fortran: is_fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn require(&mut self, byte: u8, wanted: &'static str) -> Result<(), BadHeader> {
        if self.takes(byte) { Ok(()) } else { Err(self.wanted(wanted)) }
    }

    const fn wanted(&self, wanted: &'static str) -> BadHeader {
        BadHeader::Syntax { wanted, at: self.at }
    }

    /// The bytes from here for which `belongs` holds.
    fn word(&mut self, belongs: impl Fn(u8) -> bool) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word: Vec<u8> = rest.iter().copied().take_while(|&byte| belongs(byte)).collect();
        self.at += word.len();
        String::from_utf8_lossy(&word).into_owned()
    }

    fn string(&mut self) -> Result<String, BadHeader> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        let quote = quote.ok_or_else(|| self.wanted("string"))?;
        self.at += 1;
        let word = self.word(|byte| byte != quote);
        self.require(quote, "closing quote")?;
        Ok(word)
    }

    /// The type of the elements; that of records is a list, which is told as it stands there.
    fn descr(&mut self) -> Result<String, BadHeader> {
        if self.peek() == Some(b'[') {
            let descr = self.word(|byte| byte != b']' && byte != b'\n');
            return Err(BadHeader::Number { descr: format!("{descr}]") });
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, BadHeader> {
        self.peek();
        match self.word(|byte| byte.is_ascii_alphabetic()).as_str() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(self.wanted("True or False")),
        }
    }

    fn tuple(&mut self) -> Result<Vec<u64>, BadHeader> {
        let mut extents = Vec::new();
        self.require(b'(', "tuple")?;
        while !self.takes(b')') {
            self.peek();
            let extent = self.word(|byte| byte.is_ascii_digit());
            extents.push(extent.parse().map_err(|_| self.wanted("length of an axis"))?);
            // As Python 2 printed long integers.
            self.takes(b'L');
            if extents.len() > AXES_MAX {
                return Err(BadHeader::Axes);
            }
            if !self.takes(b',') {
                self.require(b')', "closing parenthesis")?;
                break;
            }
        }
        Ok(extents)
    }
}
