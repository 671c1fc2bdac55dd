//! Who may know whom: the direction of knowledge between the crates, as a test.
//!
//! `uapi` knows nobody; `device` and `driver` know `uapi` and never each other; `userspace` joins them;
//! `tests` and `xtask` may know everybody. A crate does not dev-depend upwards either.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// For each package, the packages of this workspace that it may depend on, dev-dependencies included.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ane-uapi", &[]),
    ("ane-device", &["ane-uapi"]),
    ("ane-driver", &["ane-uapi"]),
    ("ane", &["ane-uapi", "ane-device", "ane-driver"]),
    ("ane-capi", &["ane-uapi"]),
    ("libane", &["ane-capi"]),
    ("libane_python", &["ane-capi"]),
    ("ane-drm-shim", &["ane-uapi", "ane-driver"]),
    ("xtask", &["ane-uapi", "ane-device", "ane-driver", "ane"]),
    ("ane-tests", &["ane-uapi", "ane-device", "ane-driver", "ane", "ane-capi", "xtask"]),
];

/// The crates from elsewhere that the ABI may use.
const UAPI_DEPENDENCIES: &[&str] = &["bitfield-struct", "zerocopy"];

/// Folders inside a crate that may not name another folder of it.
const APART: &[(&str, &[&str])] = &[
    ("uapi/src/hw", &["crate::wire", "crate::ioctl"]),
    ("uapi/src/wire", &["crate::ioctl"]),
    ("device/src", &["ane_uapi::ioctl"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Dependencies of every package of the workspace, by name.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let name = |value: &Value| value["name"].as_str().expect("has a name").to_owned();
    metadata["packages"]
        .as_array()
        .expect("has packages")
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("has dependencies");
            (name(package), dependencies.iter().map(name).collect())
        })
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn package_depends_only_downwards() {
    let packages = dependencies();
    for (package, dependencies) in &packages {
        let allowed = ALLOWED
            .iter()
            .find_map(|(name, allowed)| (name == package).then_some(*allowed))
            .unwrap_or_else(|| panic!("{package} has no place in the drawing: add it to ALLOWED"));
        for dependency in dependencies.iter().filter(|name| packages.contains_key(*name)) {
            assert!(allowed.contains(&dependency.as_str()), "{package} may not depend on {dependency}");
        }
    }
}

#[test]
fn abi_uses_nothing_but_its_layout_crates() {
    for dependency in &dependencies()["ane-uapi"] {
        assert!(UAPI_DEPENDENCIES.contains(&dependency.as_str()), "ane-uapi may not depend on {dependency}");
    }
}

#[test]
fn contract_does_not_name_a_contract_above_it() {
    for (folder, forbidden) in APART {
        let mut files = Vec::new();
        sources(&root().join(folder), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("source is readable");
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for name in *forbidden {
                    assert!(!code.contains(name), "{}:{} names {name}", file.display(), number + 1);
                }
            }
        }
    }
}
