//! Texts of a model in messages. A file may give a layer a name of any length.

use std::borrow::Cow;

/// Characters of a long text that are told, and those that a text may have beyond them: a text that was cut is not cut again.
const TOLD: usize = 120;
const BEYOND: usize = 40;

/// A text as a message has it: the beginning of a long one, and its length.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(TOLD + BEYOND).and_then(|_| text.char_indices().nth(TOLD));
    match end {
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
        assert_eq!(short(&"é".repeat(TOLD + BEYOND)), "é".repeat(TOLD + BEYOND));
        let long = "é".repeat(TOLD + BEYOND + 1);
        let cut = short(&long);
        assert_eq!(cut, format!("{}... (322 bytes in all)", "é".repeat(TOLD)));
        assert_eq!(short(&cut), cut);
    }
}
