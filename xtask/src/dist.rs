//! `cargo xtask dist`: everything that is installed, under one prefix.
//!
//! The programs and libraries are built; the rest is committed and copied. Files that name a program by its place, such
//! as units, are committed with the place that distributions use, and name the one below the prefix once they are
//! installed. Below a home folder nothing is for systemd, which looks for no units there and hides these folders from the daemons that it
//! starts. Each file appears whole: it is written beside its place and then renamed, so that what runs meanwhile keeps
//! what it has.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::output::{cargo, root};

const PACKAGES: [&str; 6] = ["ane", "aned", "vhost-device-ane", "ane-drm-shim", "libane", "libane_python"];

/// The built files, and the folders that they go to.
const BUILT: [(&str, &str); 7] = [
    ("ane", "bin"),
    ("aned", "bin"),
    ("vhost-device-ane", "bin"),
    ("libane_drm_shim.so", "lib/ane"),
    ("libane.so", "lib"),
    ("libane.a", "lib"),
    ("libane_python.so", "lib"),
];

/// Where committed files say that the daemons are.
const DAEMONS: &str = "/usr/libexec/";

/// The folders that are systemd's.
const SYSTEMDS: [&str; 2] = ["lib/systemd/system", "lib/sysusers.d"];

/// The folders that the units hide from the daemons, with `ProtectHome`.
const HIDDEN: [&str; 3] = ["/home", "/root", "/run/user"];

/// The committed files, and the folders that they go to; of a folder, the files with this ending.
const COMMITTED: [(&str, &str, &str); 17] = [
    ("userspace/capi/libane/include", ".h", "include"),
    ("userspace/capi/libane_python/python", ".py", "lib/ane/python"),
    ("uapi/include", ".h", "include"),
    ("dist/man", ".1", "share/man/man1"),
    ("dist/completions", ".bash", "share/bash-completion/completions"),
    ("dist/completions", ".fish", "share/fish/vendor_completions.d"),
    ("dist/systemd", ".service", "lib/systemd/system"),
    ("dist/systemd", ".socket", "lib/systemd/system"),
    ("dist/sysusers", ".conf", "lib/sysusers.d"),
    ("dist/qemu", ".json", "share/qemu/vhost-user"),
    ("dist/campaign", ".sh", "share/ane/campaign"),
    ("dist/campaign", ".yaml", "share/ane/campaign"),
    ("examples", ".anec", "share/ane/examples"),
    ("docs", ".md", "share/doc/ane/docs"),
    ("docs", ".svg", "share/doc/ane/docs"),
    ("docs/adr", ".md", "share/doc/ane/docs/adr"),
    ("docs/walks", ".md", "share/doc/ane/docs/walks"),
];

/// Single files: from, and to.
const SINGLE: [(&str, &str); 4] = [
    ("README.md", "share/doc/ane/README.md"),
    ("Kconfig-notes.md", "share/doc/ane/Kconfig-notes.md"),
    ("LICENSE-MIT", "share/doc/ane/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/ane/LICENSE-APACHE"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub from: PathBuf,
    /// Where it goes, below the prefix.
    pub to: PathBuf,
    pub is_program: bool,
}

/// Every file that is committed and installed.
pub fn committed() -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for (folder, ending, to) in COMMITTED {
        let entries = fs::read_dir(root().join(folder)).with_context(|| folder.to_owned())?;
        for entry in entries {
            let name = entry.with_context(|| folder.to_owned())?.file_name().to_string_lossy().into_owned();
            if let Some(stem) = name.strip_suffix(ending) {
                // bash looks for the completions of a program under its plain name.
                let installed = if ending == ".bash" { stem } else { &name };
                let item = item(&format!("{folder}/{name}"), &format!("{to}/{installed}"));
                items.push(Item { is_program: ending == ".sh", ..item });
            }
        }
    }
    // zsh's begin with an underscore and have no ending.
    for entry in fs::read_dir(root().join("dist/completions"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with('_') {
            items
                .push(item(&format!("dist/completions/{name}"), &format!("share/zsh/site-functions/{name}")));
        }
    }
    items.extend(SINGLE.map(|(from, to)| item(from, to)));
    items.sort_by(|a, b| a.to.cmp(&b.to));
    Ok(items)
}

fn item(from: &str, to: &str) -> Item {
    Item { from: root().join(from), to: to.into(), is_program: false }
}

pub fn install(prefix: &Path, profile: &str) -> Result<()> {
    let mut build = cargo(&["build", "--locked", "--profile", profile]);
    build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    let status = build.status().context("starting cargo")?;
    ensure!(status.success(), "cargo build {status}");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = target.join(if profile == "dev" { "debug" } else { profile });
    let built = BUILT.map(|(name, to)| Item {
        from: folder.join(name),
        to: Path::new(to).join(name),
        is_program: true,
    });
    let prefix = &std::path::absolute(prefix)?;
    let home = env::var_os("HOME").map(PathBuf::from);
    let is_systems = !is_in_a_home(prefix, home.as_deref());
    for item in built.iter().chain(&committed()?).filter(|item| is_systems || !is_systemds(item)) {
        copy(item, prefix).with_context(|| item.to.display().to_string())?;
    }
    println!("installed below {}; put {} on your PATH", prefix.display(), prefix.join("bin").display());
    if !is_systems {
        println!(
            "without the units: systemd looks for none in a home folder; --prefix /usr/local installs them"
        );
    }
    Ok(())
}

fn is_systemds(item: &Item) -> bool {
    SYSTEMDS.iter().any(|folder| item.to.starts_with(folder))
}

/// Whether daemons that systemd starts cannot see what lies there.
fn is_in_a_home(prefix: &Path, home: Option<&Path>) -> bool {
    // A user whose home is the root has none.
    let home = home.filter(|home| home.is_absolute() && home.parent().is_some());
    HIDDEN.iter().map(Path::new).chain(home).any(|folder| prefix.starts_with(folder))
}

fn copy(item: &Item, prefix: &Path) -> Result<()> {
    let to = prefix.join(&item.to);
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut partial = to.clone().into_os_string();
    partial.push(".partial");
    let bytes = fs::read(&item.from).with_context(|| item.from.display().to_string())?;
    fs::write(&partial, if item.is_program { bytes } else { placed(bytes, &item.to, prefix) })?;
    fs::set_permissions(&partial, Permissions::from_mode(if item.is_program { 0o755 } else { 0o644 }))?;
    Ok(fs::rename(&partial, &to)?)
}

/// A file that names the daemons where they are installed; others, and those that are no text, stay as they are.
fn placed(bytes: Vec<u8>, to: &Path, prefix: &Path) -> Vec<u8> {
    let Ok(text) = str::from_utf8(&bytes) else { return bytes };
    let mut parts = text.split(DAEMONS);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(part.len());
        let (daemon, behind) = part.split_at(end);
        let path = prefix.join("bin").join(daemon).display().to_string();
        all += &match to.extension().and_then(OsStr::to_str) {
            // One word, in which nothing is taken for a specifier.
            Some("service") => format!("\"{}\"", escaped(&path).replace('%', "%%")),
            // The quotes are there.
            Some("json") => escaped(&path),
            _ => path,
        };
        all += behind;
    }
    all.into_bytes()
}

/// A text between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn everything_that_is_committed_is_there_and_no_two_go_to_one_place() {
        let items = committed().unwrap();
        let places: BTreeSet<_> = items.iter().map(|item| &item.to).collect();
        assert_eq!(places.len(), items.len());
        for to in [
            "include/ane.h",
            "include/ane_accel.h",
            "share/man/man1/ane-run.1",
            "share/bash-completion/completions/ane",
            "share/zsh/site-functions/_ane",
            "share/fish/vendor_completions.d/ane.fish",
            "lib/systemd/system/aned.service",
            "lib/sysusers.d/ane.conf",
            "share/ane/campaign/slurm.sh",
            "share/ane/campaign/parallel.sh",
            "share/ane/campaign/kubernetes.yaml",
            "share/doc/ane/README.md",
            "share/doc/ane/docs/adr/README.md",
            "share/doc/ane/docs/timing.svg",
        ] {
            assert!(places.contains(&PathBuf::from(to)), "{to}");
        }
        assert!(items.iter().all(|item| item.from.is_file()));
        let scripts = items.iter().filter(|item| item.is_program);
        assert!(
            scripts.eq(items.iter().filter(|item| item.to.extension().is_some_and(|ending| ending == "sh")))
        );
    }

    #[test]
    fn page_that_is_installed_links_to_no_page_that_is_not() {
        let items = committed().unwrap();
        let pages = items.iter().filter(|item| item.to.extension().is_some_and(|ending| ending == "md"));
        let installed: BTreeSet<_> = pages.clone().map(|item| &item.from).collect();
        for page in pages {
            let text = fs::read_to_string(&page.from).unwrap();
            for link in text.split("](").skip(1) {
                let link = link.split([')', '#']).next().unwrap();
                if !link.ends_with(".md") || link.contains("://") {
                    continue;
                }
                let target = page.from.parent().unwrap().join(link).canonicalize().unwrap();
                assert!(installed.contains(&target), "{}: {link}", page.from.display());
            }
        }
    }

    #[test]
    fn unit_and_descriptor_name_the_daemon_below_the_prefix() {
        let text_of = |file: &str, prefix: &str| {
            let bytes = fs::read(root().join(file)).unwrap();
            let text = String::from_utf8(placed(bytes, Path::new(file), Path::new(prefix))).unwrap();
            assert!(!text.contains(DAEMONS), "{text}");
            text
        };
        let (unit, descriptor) = ("dist/systemd/aned.service", "dist/qemu/50-vhost-device-ane.json");
        for (prefix, in_unit, in_json) in [
            ("/opt/ane", "/opt/ane", "/opt/ane"),
            ("/opt/my ane", "/opt/my ane", "/opt/my ane"),
            ("/opt/100%", "/opt/100%%", "/opt/100%"),
            (r#"/opt/"a"\b"#, r#"/opt/\"a\"\\b"#, r#"/opt/\"a\"\\b"#),
        ] {
            let text = text_of(unit, prefix);
            assert!(text.contains(&format!("ExecStart=\"{in_unit}/bin/aned\" --device ")), "{text}");
            let text = text_of(descriptor, prefix);
            assert!(text.contains(&format!("\"binary\": \"{in_json}/bin/vhost-device-ane\"\n")), "{text}");
        }
    }

    #[test]
    fn home_folder_gets_nothing_that_systemd_would_have_to_find_there() {
        let home = Some(Path::new("/srv/people/ann"));
        for folder in HIDDEN.iter().map(Path::new).chain(home) {
            assert!(
                is_in_a_home(folder, home) && is_in_a_home(&folder.join("ann/.local"), home),
                "{folder:?}"
            );
        }
        for prefix in ["/usr/local", "/opt/ane", "/srv/people/annex", "/homes"] {
            assert!(!is_in_a_home(Path::new(prefix), home), "{prefix}");
            assert!(!is_in_a_home(Path::new(prefix), Some(Path::new("/"))), "{prefix}");
        }
        let items = committed().unwrap();
        let left_out: Vec<_> = items.iter().filter(|item| is_systemds(item)).collect();
        assert_eq!(left_out.len(), 5, "four units and the groups: {left_out:?}");
    }

    #[test]
    fn user_of_aneds_unit_may_use_the_devices_socket() {
        let read = |name: &str| fs::read_to_string(root().join("dist/systemd").join(name)).unwrap();
        let socket = read("vhost-device-ane.socket");
        let group = socket.lines().find_map(|line| line.strip_prefix("SocketGroup=")).unwrap();
        assert!(read("aned.service").contains(&format!("SupplementaryGroups={group}\n")));
        let made = fs::read_to_string(root().join("dist/sysusers/ane.conf")).unwrap();
        assert!(made.contains(&format!("g {group} -\n")) && made.contains("g ane -\n"));
    }
}
