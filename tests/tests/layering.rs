//! The allowed dependencies between the crates, as a test.
//!
//! `uapi` and `sandbox` know nobody; `device` and `driver` know `uapi` and never each other, nor the daemons around them; `userspace`
//! joins them; `tests` and `xtask` may know everybody. A crate does not dev-depend upwards either.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ane_tests::workspace::{list, packages, root};
use serde_json::Value;

/// For each package, the packages of this workspace that it may depend on, dev-dependencies included.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ane-uapi", &[]),
    ("ane-device", &["ane-uapi"]),
    ("ane-sandbox", &[]),
    ("vhost-device-ane", &["ane-uapi", "ane-device", "ane-sandbox"]),
    ("ane-call", &[]),
    ("aned-protocol", &["ane-uapi", "ane-call"]),
    ("ane-driver", &["ane-uapi", "ane-call"]),
    ("aned", &["ane-uapi", "ane-driver", "ane-sandbox", "aned-protocol"]),
    ("ane-tiling", &[]),
    ("ane", &["ane-uapi", "ane-device", "ane-driver", "ane-tiling", "aned", "aned-protocol"]),
    ("ane-capi", &["ane-uapi", "ane-tiling"]),
    ("libane", &["ane-capi"]),
    ("libane_python", &["ane-capi"]),
    ("ane-drm-shim", &["ane-uapi", "ane-call", "aned-protocol"]),
    ("ane-python", &["ane-uapi", "ane-device", "ane"]),
    ("xtask", &["ane-uapi", "ane-device", "ane-driver", "aned", "ane"]),
    (
        "ane-tests",
        &["ane-uapi", "ane-device", "ane-driver", "aned", "aned-protocol", "ane", "ane-capi", "xtask"],
    ),
];

/// The crates from elsewhere that the ABI may use.
const UAPI_DEPENDENCIES: &[&str] = &["bitfield-struct", "pastey", "thiserror", "zerocopy"];

/// Folders whose code may not name a contract, in whatever form of path.
const APART: &[(&str, &[&str])] =
    &[("uapi/src/hw", &["wire", "ioctl"]), ("uapi/src/wire", &["ioctl"]), ("device/src", &["ioctl"])];

/// The crates that carry accesses to a device. Libraries know none of them, but for the driver's buses.
const CARRIERS: [&str; 3] = ["vhost", "virtio", "vfio"];

/// Folders of libraries, and the folders inside that are not meant.
const CARRIED: &[(&str, &[&str])] = &[("device/src", &[]), ("driver/src", &["bus"])];

/// Dependencies of every package of the workspace, by name.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let name = |value: &Value| value["name"].as_str().expect("has a name").to_owned();
    let dependencies = |package: &Value| list(package, "dependencies").iter().map(name).collect();
    packages().iter().map(|package| (name(package), dependencies(package))).collect()
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

/// Every line of code below a folder, without its comment, and where it stands; folders in `but` are left out.
fn code(folder: &str, but: &[&str]) -> Vec<(String, String)> {
    let folder = root().join(folder);
    let mut files = Vec::new();
    sources(&folder, &mut files);
    files.retain(|file| !but.iter().any(|inner| file.starts_with(folder.join(inner))));
    assert!(!files.is_empty(), "{} holds no code", folder.display());
    let lines = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("source is readable");
        let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
        let numbered = (1..).zip(text.lines());
        let placed = numbered.map(|(number, line)| (format!("{}:{number}", file.display()), code(line)));
        placed.collect::<Vec<_>>()
    };
    files.into_iter().flat_map(lines).collect()
}

#[test]
fn contract_does_not_name_a_contract_above_it() {
    for (folder, forbidden) in APART {
        for (place, line) in code(folder, &[]) {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let named = words.find(|word| forbidden.contains(word));
            assert_eq!(named, None, "{place} names a contract above it");
        }
    }
}

#[test]
fn library_does_not_name_what_carries_its_accesses() {
    for (folder, but) in CARRIED {
        for (place, line) in code(folder, but) {
            let named = CARRIERS.into_iter().find(|name| line.contains(name));
            assert_eq!(named, None, "{place} names a carrier");
        }
    }
}
