//! The paths that a file's code names.

/// A path, word by word.
pub(crate) type Words = Vec<String>;

/// The paths that one module names, which may be an inner one of its file.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The inner modules around it, from the file's own.
    pub(crate) inside: Words,
    /// Paths that it uses.
    pub(crate) used: Vec<Words>,
    /// The names that it hands on, and the path that each comes from. A `*` hands on everything.
    pub(crate) handed_on: Vec<(String, Words)>,
}

/// The paths that the modules of a file name.
pub(crate) fn of(code: &str) -> Vec<Named> {
    let mut all = Vec::new();
    collect(code, Vec::new(), &mut all);
    all
}

fn collect(code: &str, inside: Words, all: &mut Vec<Named>) {
    let mut code = code.to_owned();
    // Visibility names modules without needing them.
    while let Some(at) = code.find("pub(") {
        let end = code[at..].find(')').map_or(code.len(), |end| at + end + 1);
        code.replace_range(at..end, "pub");
    }
    while let Some((start, name, open)) = inner_module(&code) {
        let end = block_end(&code, open);
        collect(&code[open + 1..end - 1], [inside.clone(), vec![name]].concat(), all);
        code.replace_range(start..end, " ");
    }
    let mut named = Named { inside, ..Named::default() };
    while let Some((start, is_public)) = declaration(&code) {
        let end = code[start..].find(';').map_or(code.len(), |end| start + end + 1);
        let tree =
            code[start..end].trim_end_matches(';').split_once("use").map_or("", |(_, tree)| tree).to_owned();
        for (path, name) in branches(&tree) {
            match is_public {
                true => named.handed_on.push((name, path)),
                false => named.used.push(path),
            }
        }
        code.replace_range(start..end, ";");
    }
    named.used.extend(in_text(&code));
    all.push(named);
}

/// Words of the code with where they start.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_word)?;
        let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |end| start + end);
        at = end;
        Some((start, &code[start..end]))
    })
}

/// The first module with a block: where it starts, its name, and where the block opens.
fn inner_module(code: &str) -> Option<(usize, String, usize)> {
    let mut before = None;
    for (at, word) in words(code) {
        let end = at + word.len();
        let opens = code[end..].trim_start().starts_with('{');
        if let Some((start, "mod")) = before
            && opens
        {
            let open = end + code[end..].find('{').unwrap_or_default();
            return Some((start, word.to_owned(), open));
        }
        before = Some((at, word));
    }
    None
}

/// Behind the block that opens at `open`.
fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, character) in code[open..].char_indices() {
        depth = match character {
            '{' => depth + 1,
            '}' => depth.saturating_sub(1),
            _ => depth,
        };
        if depth == 0 {
            return open + at + 1;
        }
    }
    code.len()
}

/// The first `use`: where it starts, and whether it hands on.
fn declaration(code: &str) -> Option<(usize, bool)> {
    let mut before = None;
    for (at, word) in words(code) {
        // Not `use<..>`, which names lifetimes.
        let is_declaration = word == "use" && code[at + 3..].starts_with(char::is_whitespace);
        match before {
            Some((start, "pub")) if is_declaration => return Some((start, true)),
            _ if is_declaration => return Some((at, false)),
            _ => before = Some((at, word)),
        }
    }
    None
}

/// The paths of a tree, each with the name that it has here.
fn branches(tree: &str) -> Vec<(Words, String)> {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let (path, alias) =
            tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path: Words =
            path.split("::").map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect();
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.map(str::to_owned).or_else(|| path.last().cloned()).unwrap_or_default();
        return vec![(path, name)];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut parts = vec![String::new()];
    let mut depth = 0usize;
    for character in inner.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (character, depth, parts.last_mut()) {
            (',', 0, _) => parts.push(String::new()),
            (_, _, Some(part)) => part.push(character),
            (_, _, None) => {}
        }
    }
    let head = head.trim().trim_end_matches("::");
    parts
        .iter()
        .filter(|part| !part.trim().is_empty())
        .flat_map(|part| branches(&format!("{head}::{}", part.trim())))
        .collect()
}

/// Paths outside of declarations.
fn in_text(code: &str) -> Vec<Words> {
    let mut paths: Vec<Words> = Vec::new();
    let mut end_before = usize::MAX;
    for (at, word) in words(code) {
        let goes_on = end_before != usize::MAX && code[end_before..at] == *"::";
        match paths.last_mut() {
            Some(path) if goes_on => path.push(word.to_owned()),
            // A path from the root of another package, or of what a macro is given, is none of ours.
            _ if code[..at].ends_with("::") || code[..at].ends_with('$') => paths.push(vec![String::new()]),
            _ => paths.push(vec![word.to_owned()]),
        }
        end_before = at + word.len();
    }
    paths.retain(|path| path.len() > 1 && !path[0].is_empty());
    paths
}

#[test]
fn trees_are_taken_apart() {
    let named =
        of("use crate::a::{self, b::{C, D as E}, F};\npub(in crate::x) use self::g::*;\nuse std::fmt;");
    let used: Vec<_> = named[0].used.iter().map(|path| path.join("::")).collect();
    assert_eq!(used, ["crate::a", "crate::a::b::C", "crate::a::b::D", "crate::a::F", "std::fmt"]);
    assert_eq!(named[0].handed_on, [("*".to_owned(), vec!["self".into(), "g".into(), "*".into()])]);
}

#[test]
fn paths_in_the_text_and_in_inner_modules_are_found_where_they_stand() {
    let named =
        of("fn f() -> impl Fn() + use<'_> { crate::a::b(); one; $crate::no::no() }\nmod m { use super::x; }");
    assert_eq!(named[0].inside, ["m"]);
    assert_eq!(named[0].used, [["super", "x"]]);
    assert_eq!(named[1].used, [["crate", "a", "b"]]);
}
