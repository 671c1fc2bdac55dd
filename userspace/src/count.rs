//! Numbers of things in words: one task, two tasks.

use std::fmt;

/// How many there are of something, for a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    count: u128,
    one: &'static str,
}

/// So many of what is called so if it is one.
///
/// # Examples
///
/// ```
/// use ane::count::count;
///
/// let said = [count(0_u32, "task"), count(1_u32, "pass"), count(2_u64, "pass"), count(3_usize, "entry")];
/// assert_eq!(said.map(|said| said.to_string()), ["0 tasks", "1 pass", "2 passes", "3 entries"]);
/// ```
pub fn count(count: impl TryInto<u128>, one: &'static str) -> Count {
    // Numbers of things are not negative.
    Count { count: count.try_into().unwrap_or_default(), one }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, one } = *self;
        let vowels = ["a", "e", "i", "o", "u"];
        let stem = one.strip_suffix('y').filter(|stem| !vowels.iter().any(|vowel| stem.ends_with(vowel)));
        match stem {
            _ if count == 1 => write!(f, "{count} {one}"),
            Some(stem) => write!(f, "{count} {stem}ies"),
            None if ["s", "x", "ch", "sh"].iter().any(|end| one.ends_with(end)) => {
                write!(f, "{count} {one}es")
            }
            None => write!(f, "{count} {one}s"),
        }
    }
}
