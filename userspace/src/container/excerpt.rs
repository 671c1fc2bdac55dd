//! Text of a file as errors quote it.

/// Text of the file, cut to what an error needs and marked where it is cut; messages print it quoted and escaped.
pub(crate) fn excerpt(text: &str) -> String {
    /// Long enough for every name that a compiler gives.
    const MAX: usize = 96;
    match text.char_indices().nth(MAX).and_then(|(end, _)| text.get(..end)) {
        None => text.to_owned(),
        Some(told) => format!("{told}... ({} bytes in all)", text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_of_a_long_name_has_96_characters() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"é".repeat(96)), "é".repeat(96));
        assert_eq!(excerpt(&"é".repeat(1_000_000)), format!("{}... (2000000 bytes in all)", "é".repeat(96)));
    }
}
