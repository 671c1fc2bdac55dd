//! Comments, names and numbers as C wants them.

/// Columns of a comment.
const WIDTH: usize = 100;

/// A comment made of paragraphs.
pub(super) struct Comment(Vec<String>);

impl Comment {
    /// A comment from a doc comment: blank lines part paragraphs, other breaks do not matter.
    pub(super) fn new(doc: &str) -> Self {
        Self(Vec::new()).and(doc)
    }

    /// The comment with more paragraphs behind.
    #[must_use]
    pub(super) fn and(mut self, doc: &str) -> Self {
        let paragraphs =
            doc.split("\n\n").map(|text| plain(text).split_whitespace().collect::<Vec<_>>().join(" "));
        self.0.extend(paragraphs.filter(|text| !text.is_empty()));
        self
    }

    /// The comment of a declaration, indented by `tabs`: on one line where it fits.
    pub(super) fn at(&self, tabs: usize) -> String {
        let indent = "\t".repeat(tabs);
        match &self.0[..] {
            [] => String::new(),
            [only] if 8 * tabs + only.chars().count() + 6 <= WIDTH => format!("{indent}/* {only} */\n"),
            _ => self.lines(&indent),
        }
    }

    /// A comment that stands alone, with a blank line behind it.
    pub(super) fn block(&self) -> String {
        format!("{}\n", self.lines(""))
    }

    fn lines(&self, indent: &str) -> String {
        let mut out = format!("{indent}/*\n");
        for (index, paragraph) in self.0.iter().enumerate() {
            if index > 0 {
                out.push_str(&format!("{indent} *\n"));
            }
            let mut line = String::new();
            for word in paragraph.split(' ') {
                if !line.is_empty()
                    && 8 * indent.len() + 3 + line.chars().count() + 1 + word.chars().count() > WIDTH
                {
                    out.push_str(&format!("{indent} * {line}\n"));
                    line.clear();
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            out.push_str(&format!("{indent} * {line}\n"));
        }
        out.push_str(&format!("{indent} */\n"));
        out
    }
}

/// Text without the marks of Rust's documentation, and without what would end a comment.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, link) = rest.split_at(at);
        out.push_str(before);
        match link.split_once(']') {
            Some((label, behind)) if label.starts_with("[`") || behind.starts_with('(') => {
                out.push_str(label.trim_start_matches('['));
                rest = match behind.strip_prefix('(').and_then(|target| target.split_once(')')) {
                    Some((_, behind)) => behind,
                    None => behind,
                };
            }
            _ => {
                out.push('[');
                rest = &link[1..];
            }
        }
    }
    out.push_str(rest);
    out.replace('`', "").replace("\\[", "[").replace("\\]", "]").replace("*/", "* /")
}

/// A name as part of a macro: upper case, underscores between words and for what is no letter or digit.
pub(super) fn macro_name(name: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        if c.is_ascii_alphanumeric() {
            let before = at.checked_sub(1).and_then(|before| chars.get(before));
            let after = chars.get(at + 1);
            let starts_word = c.is_ascii_uppercase()
                && before.is_some_and(|before| {
                    before.is_ascii_lowercase()
                        || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
                });
            if starts_word {
                out.push('_');
            }
            out.push(c.to_ascii_uppercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.trim_end_matches('_').to_owned()
}

/// A number as C reads it at its width.
pub(super) fn number(value: u64, bits: u32, hex: bool) -> String {
    let suffix = match (bits, value > u64::from(i32::MAX.unsigned_abs())) {
        (64, _) => "ULL",
        (_, true) => "U",
        _ => "",
    };
    if hex { format!("{value:#x}{suffix}") } else { format!("{value}{suffix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_comment_stands_on_one_line_and_a_long_one_does_not() {
        assert_eq!(Comment::new("Bytes.\n").at(1), "\t/* Bytes. */\n");
        let long = Comment::new(&"word ".repeat(40)).at(0);
        assert!(long.starts_with("/*\n * word") && long.ends_with(" */\n"));
        assert!(long.lines().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn paragraphs_stay_apart() {
        assert_eq!(Comment::new("One.\n\nTwo.\n").block(), "/*\n * One.\n *\n * Two.\n */\n\n");
    }

    #[test]
    fn marks_of_rust_documentation_are_left_out() {
        assert_eq!(plain("see [`Nid`](super::nid) and BAR\\[1\\]"), "see Nid and BAR[1]");
        assert_eq!(plain("no end: */"), "no end: * /");
    }

    #[test]
    fn macro_name_has_only_what_a_macro_may_have() {
        assert_eq!(macro_name("input tensor (read-only)"), "INPUT_TENSOR_READ_ONLY");
        assert_eq!(macro_name("(a + b)^2"), "A_B_2");
        assert_eq!(macro_name("KernelDMAMaster"), "KERNEL_DMA_MASTER");
        assert_eq!(macro_name("SrcDMAConfig1"), "SRC_DMA_CONFIG1");
        assert_eq!(macro_name("REQ_SIZE2"), "REQ_SIZE2");
    }

    #[test]
    fn number_has_the_suffix_of_its_width() {
        assert_eq!(number(32, 32, true), "0x20");
        assert_eq!(number(0x8000_0000, 32, true), "0x80000000U");
        assert_eq!(number(7, 64, false), "7ULL");
    }
}
