//! Texts of a model in messages. A file may give a layer a name of any length.

use std::borrow::Cow;

/// Characters of a text that are told.
const TOLD: usize = 120;

/// A text as a message has it: the beginning of a long one, and its length.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(TOLD) {
        None => text.into(),
        Some((end, _)) => {
            format!("{}... ({} bytes in all)", text.get(..end).unwrap_or_default(), text.len()).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(short("conv1"), "conv1");
        assert_eq!(short(&"é".repeat(TOLD)), "é".repeat(TOLD));
        let long = "é".repeat(TOLD + 1);
        assert_eq!(short(&long), format!("{}... (242 bytes in all)", "é".repeat(TOLD)));
    }
}
