//! A package: its modules, which file needs which, and the cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::paths::{self, Named, Words};
use super::source::Source;

/// How often a name may be handed on.
const HANDS: usize = 8;

/// A module in a file of its own.
struct Module {
    file: PathBuf,
    code: String,
    named: Vec<Named>,
}

/// The modules of a package by their paths.
pub(crate) struct Package {
    modules: BTreeMap<Words, Module>,
}

/// Files that need each other, over several folders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// The folders, from the package's own.
    pub(crate) folders: Vec<String>,
    /// The needs that cross from one folder to another: the file, and the file that it needs.
    crossings: Vec<String>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}\n    {}", self.folders, self.crossings.join("\n    "))
    }
}

/// Every source below a folder, but for other programs of the package.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("folder is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "bin" {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The path of the module in `file`.
fn module_of(file: &Path) -> Words {
    let mut words: Words =
        file.with_extension("").iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_folder_s = |last: &String| last == "mod";
    if words.last().is_some_and(is_folder_s) || words == ["lib"] || words == ["main"] {
        words.pop();
    }
    words
}

impl Package {
    /// Reads the sources in `folder`.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut found = Vec::new();
        files(folder, &mut found);
        let read = |file: PathBuf| {
            let text = std::fs::read_to_string(&file).expect("source is readable");
            (file.strip_prefix(folder).expect("lies in the folder").to_owned(), text)
        };
        Self::of(found.into_iter().map(read))
    }

    /// A package of these files and their texts.
    fn of(files: impl Iterator<Item = (PathBuf, String)>) -> Self {
        let mut modules = BTreeMap::<Words, Module>::new();
        let mut for_tests = Vec::new();
        for (file, text) in files {
            let path = module_of(&file);
            let Source { code, test_modules } = Source::of(&text);
            for_tests.extend(test_modules.into_iter().map(|name| [path.clone(), vec![name]].concat()));
            let named = paths::of(&code);
            modules.insert(path, Module { file, code, named });
        }
        modules.retain(|path, _| !for_tests.iter().any(|test| path.starts_with(test)));
        Self { modules }
    }

    /// The file that `path`, as the module `at` names it, leads to.
    fn resolve(&self, at: &[String], path: &[String], hands: usize) -> Option<&Words> {
        let (first, rest) = path.split_first()?;
        let (mut at, mut rest) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (at.to_vec(), rest),
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                (at[..at.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            _ if self.modules.contains_key(&[at, std::slice::from_ref(first)].concat()) => {
                (at.to_vec(), path)
            }
            _ => return None,
        };
        while let Some((word, behind)) = rest.split_first() {
            let next = [at.clone(), vec![word.clone()]].concat();
            if self.modules.contains_key(&next) {
                (at, rest) = (next, behind);
                continue;
            }
            if hands > 0
                && let Some(found) = self.handed_on(&at, word, behind, hands - 1)
            {
                return Some(found);
            }
            break;
        }
        // An inner module is its file's.
        while !self.modules.contains_key(&at) {
            at.pop()?;
        }
        self.modules.get_key_value(&at).map(|(path, _)| path)
    }

    /// Where `word` comes from, if the module hands it on.
    fn handed_on(&self, at: &[String], word: &str, behind: &[String], hands: usize) -> Option<&Words> {
        let named = self.modules.get(at)?.named.iter().filter(|named| named.inside.is_empty());
        let handed_on: Vec<_> = named.flat_map(|named| &named.handed_on).collect();
        if let Some((_, path)) = handed_on.iter().find(|(name, _)| name == word) {
            return self.resolve(at, &[path.as_slice(), behind].concat(), hands);
        }
        let everything = handed_on.iter().filter(|(name, _)| name == "*");
        everything
            .filter_map(|(_, path)| self.resolve(at, &path[..path.len() - 1], hands))
            .find(|module| defines(&self.modules[*module].code, word))
    }

    /// The files that each file needs, and the path by which it names each.
    fn needs(&self) -> BTreeMap<&Words, BTreeMap<&Words, String>> {
        let mut needs = BTreeMap::<_, BTreeMap<_, _>>::new();
        for (module, Module { named, .. }) in &self.modules {
            for named in named {
                let at = [module.as_slice(), &named.inside].concat();
                for path in &named.used {
                    if let Some(found) = self.resolve(&at, path, HANDS)
                        && found != module
                    {
                        needs.entry(module).or_default().entry(found).or_insert_with(|| path.join("::"));
                    }
                }
            }
        }
        needs
    }

    /// The folder that a module lies in: its own, if it has one.
    fn folder(&self, module: &Words) -> String {
        let has_folder =
            self.modules.keys().any(|other| other.len() > module.len() && other.starts_with(module));
        let folder = if has_folder { module.as_slice() } else { &module[..module.len().saturating_sub(1)] };
        folder.join("/")
    }

    /// The cycles over folders.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        let needs = self.needs();
        let reached = |from: &Words| {
            let mut seen = BTreeSet::new();
            let mut open: Vec<&Words> = needs.get(from).into_iter().flatten().map(|(to, _)| *to).collect();
            while let Some(module) = open.pop() {
                if seen.insert(module) {
                    open.extend(needs.get(module).into_iter().flatten().map(|(to, _)| *to));
                }
            }
            seen
        };
        let reach: BTreeMap<_, _> = self.modules.keys().map(|module| (module, reached(module))).collect();
        let mut cycles = Vec::new();
        let mut done = BTreeSet::new();
        for (&module, reached) in &reach {
            if !reached.contains(module) || done.contains(module) {
                continue;
            }
            let members: BTreeSet<_> =
                reached.iter().copied().filter(|other| reach[*other].contains(module)).collect();
            done.extend(members.iter().copied());
            let folders: BTreeSet<_> = members.iter().map(|member| self.folder(member)).collect();
            if folders.len() > 1 {
                let crossings = members.iter().flat_map(|from| {
                    let to = needs.get(*from).into_iter().flatten();
                    to.filter(|(to, _)| members.contains(**to) && self.folder(from) != self.folder(to))
                        .map(|(_, path)| format!("{} needs {path}", self.modules[*from].file.display()))
                });
                cycles.push(Cycle { crossings: crossings.collect(), folders: folders.into_iter().collect() });
            }
        }
        cycles
    }
}

/// True if the code has an item of that name.
fn defines(code: &str, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "union", "mod"];
    kinds.iter().any(|kind| {
        let item = format!("{kind} {name}");
        code.match_indices(&item).any(|(at, _)| {
            !code[at + item.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files = files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned()));
        Package::of(files).cycles().into_iter().map(|cycle| cycle.folders).collect()
    }

    #[test]
    fn cycle_over_folders_is_found() {
        let files =
            [("lib.rs", "mod a; mod b;"), ("a/mod.rs", "use crate::b::B;"), ("b/mod.rs", "crate::a::x();")];
        // A module without a folder of its own lies in the one around it.
        assert_eq!(cycles(&files), [] as [Vec<String>; 0]);
        let parts = [("a/part.rs", "use super::super::b::B;"), ("b/part.rs", "")];
        assert_eq!(cycles(&[files.as_slice(), &parts].concat()), [["a", "b"]]);
    }

    #[test]
    fn files_of_one_folder_may_need_each_other_and_their_mod_rs() {
        let files = [
            ("a/mod.rs", "mod b; b::f();"),
            ("a/b.rs", "use super::A; use super::c::C;"),
            ("a/c.rs", "super::b::f();"),
        ];
        assert_eq!(cycles(&files), [] as [Vec<String>; 0]);
    }

    #[test]
    fn name_that_is_handed_on_counts_for_where_it_comes_from() {
        let a = [
            ("a/mod.rs", "pub use self::leaf::Leaf; pub use self::rest::*; use crate::b::B;"),
            ("a/leaf.rs", ""),
        ];
        let rest = [("a/rest.rs", "pub struct Rest;"), ("b/part.rs", "")];
        let with = |needs| [a.as_slice(), &rest, &[("b/mod.rs", needs)]].concat();
        assert_eq!(cycles(&with("use crate::a::{Leaf, Rest};")), [] as [Vec<String>; 0]);
        assert_eq!(cycles(&with("use crate::a::Own;")), [["a", "b"]]);
    }

    #[test]
    fn tests_do_not_count() {
        let files = [
            ("a/mod.rs", "use crate::b::B; #[cfg(test)] mod tests;"),
            ("a/part.rs", ""),
            ("b/mod.rs", "#[cfg(test)] mod tests { use crate::a::A; }"),
            ("b/part.rs", ""),
            ("a/tests.rs", "use crate::b::B;"),
        ];
        assert_eq!(cycles(&files), [] as [Vec<String>; 0]);
    }
}
