//! The bounds of a page: no text and no list of a file makes it long.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::decode::ProgramReport;
use crate::diff::Comparison;

/// Bytes of a text of a file, as they stand in the page. (Chosen: longer than the names that compilers give.)
pub(super) const TEXT_BYTES_MAX: usize = 240;

/// Entries of a list of a file: surfaces, constants. (Chosen: twice as many as there are base addresses.)
const ENTRIES_MAX: usize = 64;

/// Lines of the compiler, of notes and of warnings.
const LINES_MAX: usize = 32;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Bytes of a value as JSON in the page, with the comma behind it.
pub(super) fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |json| super::in_script(&json).len().saturating_add(1))
}

/// A text, or the beginning of a long one with a mark that tells its length.
pub(super) fn cut(text: &str) -> String {
    let mut bytes = 0_usize;
    for (at, character) in text.char_indices() {
        bytes = bytes.saturating_add(match character {
            '"' | '\\' => 2,
            '<' | '\u{2028}' | '\u{2029}' => 6,
            control if control.is_control() => 6,
            other => other.len_utf8(),
        });
        if bytes > TEXT_BYTES_MAX {
            return format!("{}… (cut, {} bytes)", text.get(..at).unwrap_or_default(), text.len());
        }
    }
    text.to_owned()
}

fn cut_all<'a>(texts: impl IntoIterator<Item = &'a mut String>) {
    texts.into_iter().for_each(|text| *text = cut(text));
}

/// A program as a whole, with what the page has no room for left out.
#[derive(Debug, Serialize)]
pub(super) struct Whole {
    #[serde(flatten)]
    program: ProgramReport,
    /// By list: the number of entries that were left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    more: BTreeMap<&'static str, usize>,
}

impl Whole {
    pub(super) fn of(mut program: ProgramReport) -> Self {
        // Tasks name their layers.
        program.layers = Vec::new();
        let mut more = BTreeMap::new();
        shorten(&mut more, "surfaces", &mut program.surfaces, ENTRIES_MAX);
        shorten(&mut more, "constants", &mut program.constants, ENTRIES_MAX);
        shorten(&mut more, "compiler", &mut program.compiler, LINES_MAX);
        shorten(&mut more, "notes", &mut program.notes, LINES_MAX);
        shorten(&mut more, "warnings", &mut program.warnings, LINES_MAX);
        for surface in &mut program.surfaces {
            surface.array = None;
            surface.name = cut(&surface.name);
        }
        cut_all(program.bars.iter_mut().map(|bar| &mut bar.role));
        cut_all(program.constants.iter_mut().map(|constants| &mut constants.name));
        cut_all(program.compiler.iter_mut().chain(&mut program.notes).chain(&mut program.warnings));
        Self { program, more }
    }

    pub(super) const fn program(&self) -> &ProgramReport {
        &self.program
    }
}

fn shorten<T>(more: &mut BTreeMap<&'static str, usize>, name: &'static str, list: &mut Vec<T>, max: usize) {
    let left_out = list.len().saturating_sub(max);
    if left_out > 0 {
        list.truncate(max);
        more.insert(name, left_out);
    }
}

/// Differences whose texts are no longer than those of a program.
pub(super) fn differences(mut found: Comparison) -> Comparison {
    for difference in &mut found.differences {
        cut_all([&mut difference.place, &mut difference.a, &mut difference.b]);
    }
    found.notes.truncate(LINES_MAX);
    cut_all(&mut found.notes);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_fits_stays_and_longer_one_is_cut_with_a_mark() {
        let longest = "n".repeat(TEXT_BYTES_MAX);
        assert_eq!(cut(&longest), longest);
        let longer = cut(&format!("{longest}n"));
        assert_eq!(longer, format!("{longest}… (cut, {} bytes)", TEXT_BYTES_MAX + 1));
    }

    #[test]
    fn cut_text_takes_no_more_bytes_for_being_escaped() {
        for character in ["<", "\"", "\\", "\u{2028}", "\u{1}", "ф", "\u{1f600}"] {
            let bytes = json_bytes(&cut(&character.repeat(10_000)));
            assert!(bytes <= TEXT_BYTES_MAX + 40, "{character:?}: {bytes}");
        }
    }
}
