//! Finds the `/// Requirement: ID[, ID...]` lines above the tests of a crate.
//!
//! The sources are read as text, line by line, in the form that `cargo fmt` gives them: that is all it takes to find a
//! line, the `#[test]` and `fn` under it, and the modules around them. A line that stands above anything else than a
//! test that runs is an error, so that none is lost by a slip.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

/// A test that shows a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) id: String,
    /// The test, as `crate::module::name`.
    pub(super) test: String,
    /// The line that says so, as `file:line`.
    pub(super) place: String,
}

/// Adds the claims in every source file of one crate's folder.
pub(super) fn crate_folder(root: &Path, folder: &Path, claims: &mut Vec<Claim>) -> Result<()> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).context("no Cargo.toml")?;
    let package = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = ")?.trim().strip_prefix('"')?.strip_suffix('"'))
        .context("no package name in Cargo.toml")?;
    folder_of_sources(root, folder, &[package.replace('-', "_")], claims)
}

/// Goes through one folder in the order of names; `modules` is the path of the module that it holds.
fn folder_of_sources(root: &Path, folder: &Path, modules: &[String], claims: &mut Vec<Claim>) -> Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut inner = modules.to_vec();
        if path.is_dir() {
            // `src` holds the crate itself; what cargo or a fuzzer leaves behind is no source.
            match name.as_str() {
                "target" | "corpus" => continue,
                "src" if modules.len() == 1 => {}
                _ => inner.push(name),
            }
            folder_of_sources(root, &path, &inner, claims)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            if !matches!(name.as_str(), "lib" | "main" | "mod") {
                inner.push(name);
            }
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            claims.extend(source(&shown, &inner.join("::"), &text)?);
        }
    }
    Ok(())
}

/// The comments and attributes above the next item.
#[derive(Default)]
struct Above {
    /// Ids and their lines.
    ids: Vec<(String, usize)>,
    test: bool,
    ignored: bool,
    /// An attribute that goes on over several lines is not over.
    open: bool,
}

fn source(file: &str, module: &str, text: &str) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    let mut modules: Vec<(usize, &str)> = Vec::new();
    let mut above = Above::default();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let at = |why: String| anyhow!("{file}:{number}: {why}");
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if above.open {
            above.open = !code.ends_with(']');
        } else if let Some(document) = code.strip_prefix("///") {
            for id in ids(document).map_err(|why| at(why.to_string()))? {
                above.ids.push((id, number));
            }
        } else if code.starts_with("#[") {
            above.test |= code == "#[test]";
            above.ignored |= code.starts_with("#[ignore");
            above.open = !code.ends_with(']');
        } else if !code.starts_with("//") {
            let above = std::mem::take(&mut above);
            if let Some(&(_, line)) = above.ids.first() {
                let name = function(code)
                    .filter(|_| above.test)
                    .with_context(|| format!("{file}:{line}: a requirement stands above no test"))?;
                ensure!(!above.ignored, "{file}:{line}: a test that is ignored shows nothing");
                let inside = modules.iter().map(|&(_, name)| name);
                let path: Vec<_> = std::iter::once(module).chain(inside).chain([name]).collect();
                let test = path.join("::");
                claims.extend(above.ids.into_iter().map(|(id, line)| Claim {
                    id,
                    test: test.clone(),
                    place: format!("{file}:{line}"),
                }));
            } else if let Some(name) = opened_module(code) {
                modules.push((indent, name));
            } else if code == "}" {
                modules.pop_if(|&mut (outer, _)| outer == indent);
            }
        }
    }
    if let Some((_, line)) = above.ids.first() {
        bail!("{file}:{line}: a requirement stands above no test");
    }
    Ok(claims)
}

/// The ids of a documentation line that names requirements, none of any other line.
fn ids(document: &str) -> Result<Vec<String>> {
    let document = document.trim();
    let Some(rest) = document.strip_prefix("Requirement") else { return Ok(Vec::new()) };
    // A sentence may begin with the word; what cannot be meant otherwise is `Requirement:` and its likely misspellings.
    let Some(list) = rest.strip_prefix(':') else {
        ensure!(!rest.contains(':'), "{document:?} is not `Requirement: ID[, ID...]`");
        return Ok(Vec::new());
    };
    list.split(',')
        .map(|id| {
            let id = id.trim();
            let well_formed = id.split_once('-').is_some_and(|(group, number)| {
                !group.is_empty()
                    && group.bytes().all(|byte| byte.is_ascii_uppercase())
                    && number.len() == 2
                    && number.bytes().all(|byte| byte.is_ascii_digit())
            });
            ensure!(well_formed, "{id:?} is not the id of a requirement");
            Ok(id.to_owned())
        })
        .collect()
}

fn function(code: &str) -> Option<&str> {
    let (_, rest) = code.split_once("fn ")?;
    rest.split(['(', '<']).next()
}

fn opened_module(code: &str) -> Option<&str> {
    let (_, rest) = code.strip_suffix(" {")?.split_once("mod ")?;
    rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String, String)> {
        let claims = source("f.rs", "c::f", text).expect("well formed");
        claims.into_iter().map(|claim| (claim.id, claim.test, claim.place)).collect()
    }

    fn row(id: &str, test: &str, place: &str) -> (String, String, String) {
        (id.into(), test.into(), place.into())
    }

    fn refusal(text: &str) -> String {
        source("f.rs", "c::f", text).expect_err("malformed").to_string()
    }

    #[test]
    fn line_above_a_test_claims_each_of_its_ids() {
        let text = "/// What it is about.\n/// Requirement: A-01, B-12\n#[test]\nfn holds() {\n}\n";
        assert_eq!(found(text), [row("A-01", "c::f::holds", "f.rs:2"), row("B-12", "c::f::holds", "f.rs:2")]);
    }

    #[test]
    fn test_inside_modules_is_named_with_them_and_after_them_without() {
        let text = "\
mod outer {
    mod inner {
        /// Requirement: A-01
        #[test]
        fn deep() {
            if true {
            }
        }
    }
    /// Requirement: A-02
    #[test]
    fn middle() {}
}

/// Requirement: A-03
#[test]
fn flat() {}
";
        let tests: Vec<_> = found(text).into_iter().map(|(_, test, _)| test).collect();
        assert_eq!(tests, ["c::f::outer::inner::deep", "c::f::outer::middle", "c::f::flat"]);
    }

    #[test]
    fn attributes_and_comments_between_line_and_function_are_passed_over() {
        let text = "\
/// Requirement: A-01
#[expect(
    clippy::thing,
    reason = \"fn main() {\"
)]
// Why it is so.
#[test]
fn holds() {}
";
        assert_eq!(found(text), [row("A-01", "c::f::holds", "f.rs:1")]);
    }

    #[test]
    fn test_of_a_property_macro_is_found_by_its_name() {
        let text =
            "proptest! {\n    /// Requirement: A-01\n    #[test]\n    fn holds(x in 0u8..4) {\n    }\n}\n";
        assert_eq!(found(text), [row("A-01", "c::f::holds", "f.rs:2")]);
    }

    #[test]
    fn line_above_anything_but_a_test_that_runs_is_refused() {
        let nothing = "f.rs:1: a requirement stands above no test";
        assert_eq!(refusal("/// Requirement: A-01\nfn helper() {}\n"), nothing);
        assert_eq!(refusal("/// Requirement: A-01\n#[test]\n\nfn far() {}\n"), nothing);
        assert_eq!(refusal("/// Requirement: A-01\n"), nothing);
        assert_eq!(
            refusal("/// Requirement: A-01\n#[test]\n#[ignore = \"slow\"]\nfn slow() {}\n"),
            "f.rs:1: a test that is ignored shows nothing"
        );
    }

    #[test]
    fn misspelt_line_is_refused_and_prose_is_not() {
        assert_eq!(
            refusal("/// Requirements: A-01\n#[test]\nfn a() {}\n"),
            "f.rs:1: \"Requirements: A-01\" is not `Requirement: ID[, ID...]`"
        );
        assert_eq!(
            refusal("/// Requirement: A-1\n#[test]\nfn a() {}\n"),
            "f.rs:1: \"A-1\" is not the id of a requirement"
        );
        assert_eq!(
            refusal("/// Requirement:\n#[test]\nfn a() {}\n"),
            "f.rs:1: \"\" is not the id of a requirement"
        );
        assert_eq!(found("/// Requirements are many.\nfn helper() {}\n"), []);
    }
}
