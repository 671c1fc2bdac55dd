//! No cycle between the modules of a package, beyond those of files that lie in one folder.
//!
//! Files of one folder may need each other: they are one thing in several parts. A cycle over folders means that none of them can
//! be read, tested or moved without the others. A file that has a folder of its name is of that folder, as its `mod.rs` would be.
//!
//! What a file needs is read from its paths: `use` declarations, and paths that begin with `crate`, `super`, `self` or a module
//! beside them. A name that a module hands on (`pub use`) counts for the file that it comes from. Code for tests does not count.
//! Calls of methods have no path, so what only they need is not seen.
//!
//! * `source`: a file without comments, texts and tests; `paths`: the paths in it; `package`: from paths to files, and cycles.

mod package;
mod paths;
mod source;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use package::Package;

/// A cycle over folders that is known: the package's sources, the folders, and why it is still there.
struct Known {
    sources: &'static str,
    folders: &'static [&'static str],
    #[expect(dead_code, reason = "for whoever reads the list")]
    why: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        sources: "driver/src",
        folders: &["", "submit", "tm"],
        why: "the request and what it is called belong to `submit`, which `tm` and `program` serve: until the driver is parted \
              into its hardware, its clients and its scheduler",
    },
    Known {
        sources: "userspace/src",
        folders: &["model/network", "model/network/evaluate"],
        why: "a network evaluates what it knows of itself while it is made",
    },
    Known {
        sources: "userspace/src",
        folders: &[
            "model",
            "model/mil",
            "model/mil/operators",
            "model/mil/text",
            "model/onnx",
            "model/onnx/operators",
        ],
        why: "both languages give the compiler's errors, and the compiler opens both; operators of the one are said in those of \
              the other",
    },
    Known {
        sources: "tests/src",
        folders: &["differential", "differential/built"],
        why: "the number of a case names cases of each kind, and each kind makes cases",
    },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace is there")
}

/// The folders of every library and program of the workspace, from its root, but for programs of one file.
fn roots() -> BTreeSet<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let all = |value: &Value, key: &str| value[key].as_array().expect("is a list").clone();
    let is_built =
        |kind: &Value| !["test", "bench", "example", "custom-build"].contains(&kind.as_str().unwrap_or(""));
    all(&metadata, "packages")
        .iter()
        .flat_map(|package| all(package, "targets"))
        .filter(|target| all(target, "kind").iter().all(is_built))
        .map(|target| PathBuf::from(target["src_path"].as_str().expect("has a path")))
        .filter(|file| file.ends_with("lib.rs") || file.ends_with("main.rs"))
        .map(|file| file.parent().expect("lies in a folder").to_owned())
        .collect()
}

#[test]
fn modules_of_a_package_form_no_cycle_over_folders() {
    let mut known: Vec<_> = KNOWN.iter().collect();
    let mut found = Vec::new();
    let workspace = root();
    for folder in roots() {
        let package = Package::read(&folder);
        let sources = folder.strip_prefix(&workspace).expect("is of the workspace").display().to_string();
        for cycle in package.cycles() {
            let place =
                known.iter().position(|known| known.sources == sources && known.folders == cycle.folders);
            match place {
                Some(place) => drop(known.remove(place)),
                None => found.push(format!("{sources}: {cycle}")),
            }
        }
    }
    assert!(found.is_empty(), "modules that need each other over folders:\n{}", found.join("\n"));
    let gone: Vec<_> = known.iter().map(|known| (known.sources, known.folders)).collect();
    assert!(gone.is_empty(), "cycles that are gone, to be taken out of KNOWN: {gone:?}");
}
