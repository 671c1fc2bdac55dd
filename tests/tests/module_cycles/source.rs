//! The text of a file as far as its paths matter: without comments, literals and what only tests see.

/// A file without comments, literals and code for tests.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) code: String,
    /// Modules in files of their own that only tests see.
    pub(crate) test_modules: Vec<String>,
}

impl Source {
    /// Reads a file's text.
    pub(crate) fn of(text: &str) -> Self {
        let mut source = Self { code: without_comments(text), test_modules: Vec::new() };
        while let Some(start) = source.code.find("#[cfg(test)]") {
            let item = &source.code[start..];
            let end = item_end(item);
            if let Some(name) = module_declared(&item[..end]) {
                source.test_modules.push(name);
            }
            source.code.replace_range(start..start + end, "");
        }
        source
    }
}

/// Bytes of the literal or comment that `text` begins with; 0 if it begins with neither.
fn skipped(text: &str) -> usize {
    let behind = |mark: &str| text.find(mark).map_or(text.len(), |at| at + mark.len());
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return behind("*/");
    }
    if let Some(raw) = text.strip_prefix('r').filter(|raw| raw.starts_with(['"', '#'])) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = &raw[hashes..];
        let Some(body) = body.strip_prefix('"') else { return 0 };
        let mark = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&mark).map_or(body.len(), |at| at + mark.len());
        return text.len() - body.len() + end;
    }
    let quote = match text.chars().next() {
        Some('"') => '"',
        // A character, and not the name of a lifetime.
        Some('\'') if text[1..].starts_with('\\') || text[1..].chars().nth(1) == Some('\'') => '\'',
        _ => return 0,
    };
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    text.len()
}

fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(character) = rest.chars().next() {
        // An `r` inside of a name begins no literal.
        let skip =
            if character == 'r' && (before.is_alphanumeric() || before == '_') { 0 } else { skipped(rest) };
        if skip > 0 {
            code.push(' ');
            rest = &rest[skip..];
        } else {
            code.push(character);
            rest = &rest[character.len_utf8()..];
        }
        before = character;
    }
    code
}

/// Where the item that `code` begins with ends: behind its block, or its semicolon.
fn item_end(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, character) in code.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// The module that an item declares, if it is `mod name;`.
fn module_declared(item: &str) -> Option<String> {
    let words: Vec<_> = item.strip_suffix(';')?.split_whitespace().collect();
    let [.., "mod", name] = words.as_slice() else { return None };
    Some((*name).to_owned())
}

#[test]
fn comments_literals_and_tests_are_no_code() {
    let text = "a(\"// crate::x\\\"\", '\\'', r#\"crate::\"y\"#); // crate::z\n/* crate::z */ b::<'a>('c');\n\
                #[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod inner { fn f() {} }\nlast();";
    let source = Source::of(text);
    assert!(!source.code.contains("crate") && !source.code.contains("inner"), "{}", source.code);
    assert!(source.code.contains("b::<'a>(") && source.code.contains("last();"), "{}", source.code);
    assert_eq!(source.test_modules, ["tests"]);
}
