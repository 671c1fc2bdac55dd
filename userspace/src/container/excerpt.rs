//! Text of a file as errors quote it.

/// Text of the file, cut to what an error needs; messages print it quoted and escaped.
pub(crate) fn excerpt(text: &str) -> String {
    /// Long enough for every name that a compiler gives.
    const MAX: usize = 96;
    text.chars().take(MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_of_a_long_name_has_96_characters() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"é".repeat(1_000_000)).chars().count(), 96);
    }
}
