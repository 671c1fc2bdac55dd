//! No cycle between the modules of a package, beyond those of files that lie in one folder.
//!
//! Files of one folder may need each other: they are one thing in several parts. A cycle over folders means that none of them can
//! be read, tested or moved without the others. A file that has a folder of its name is of that folder, as its `mod.rs` would be.
//!
//! The paths in a file show the files that it needs: `use` declarations, and paths that begin with `crate`,
//! `super`, `self` or a module beside them. A name that a module hands on (`pub use`) counts for the file that
//! it comes from. Code for tests does not count. Calls of methods have no path, so a need that shows in such
//! calls only is not seen.
//!
//! * `source`: a file without comments, texts and tests; `paths`: the paths in it; `package`: from paths to files, and cycles.

mod package;
mod paths;
mod source;

use std::collections::BTreeSet;
use std::path::PathBuf;

use ane_tests::workspace::{list, packages, root};
use serde_json::Value;

use package::Package;

/// The folders of every library and program of the workspace, from its root, but for programs of one file.
fn roots() -> BTreeSet<PathBuf> {
    let is_built =
        |kind: &Value| !["test", "bench", "example", "custom-build"].contains(&kind.as_str().unwrap_or(""));
    packages()
        .iter()
        .flat_map(|package| list(package, "targets"))
        .filter(|target| list(target, "kind").iter().all(is_built))
        .map(|target| PathBuf::from(target["src_path"].as_str().expect("has a path")))
        .filter(|file| file.ends_with("lib.rs") || file.ends_with("main.rs"))
        .map(|file| file.parent().expect("lies in a folder").to_owned())
        .collect()
}

#[test]
fn modules_of_a_package_form_no_cycle_over_folders() {
    let workspace = root();
    let found: Vec<String> = roots()
        .iter()
        .flat_map(|folder| {
            let sources = folder.strip_prefix(&workspace).expect("is of the workspace").display();
            let cycles = Package::read(folder).cycles();
            cycles.into_iter().map(move |cycle| format!("{sources}: {cycle}")).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "modules that need each other over folders:\n{}", found.join("\n"));
}
