//! Behaviour that no source establishes and that is executed all the same.
//!
//! A plan notes what of it the task needs; the device reports it, and `--strict` refuses it. Everything else
//! that is not established is refused always.

use std::fmt;

/// What a pass needs of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inferred(u8);

impl Inferred {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Deviation: inferred. Px and Py are the leading padding, and the trailing one follows from the output's
    /// size.
    pub const PADDING: Self = Self(1);
    /// Deviation: inferred. Sx and Sy above 1 are the distance between inputs of neighbouring outputs.
    pub const STRIDE: Self = Self(2);
    /// Deviation: inferred. A bias row is added to the accumulator before the post-scale.
    pub const BIAS: Self = Self(4);

    /// Each of them with its name.
    pub const NAMES: [(Self, &'static str); 3] =
        [(Self::PADDING, "padding"), (Self::STRIDE, "stride"), (Self::BIAS, "bias row")];

    /// True for nothing.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// True if all of `other` is here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is here and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Display for Inferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Self::NAMES.iter().filter(|(one, _)| self.contains(*one)).map(|(_, name)| name);
        f.write_str(names.next().unwrap_or(&"nothing"))?;
        names.try_for_each(|name| write!(f, ", {name}"))
    }
}
