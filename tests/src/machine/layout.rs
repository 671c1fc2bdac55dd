//! Where a folder with somebody's driver of the real engine has its parts; docs/kernel-drivers.md says which layouts are known.
//!
//! The module's folder has a Kbuild or a Makefile. It is the folder itself, or lies in it as it does in Linux:
//! `drivers/accel/ane`, with the header of its ioctls in `include/uapi/drm`. A whole Linux tree has headers of its own kernel
//! beside that one, so of `include` only files called `ane*` are taken.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::image::{GuestKind, make};
use crate::workspace::root;

/// Where a Linux tree has the module.
const IN_LINUX: &str = "drivers/accel/ane";

/// What was found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The module's folder.
    pub module: PathBuf,
    /// The folder that the parts beside it are looked for in: the Linux tree's, or the module's.
    pub top: PathBuf,
    /// A libane in C.
    pub libane: Option<PathBuf>,
}

/// The rules in the folder that name objects, if there are any.
fn rules(folder: &Path) -> Option<String> {
    let texts = ["Kbuild", "Makefile"].map(|name| std::fs::read_to_string(folder.join(name)).ok());
    texts.into_iter().flatten().find(|text| text.contains("obj-"))
}

/// The sources in C in a folder, without programs.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let is_part = |file: &PathBuf| {
        file.extension() == Some(OsStr::new("c"))
            && !std::fs::read_to_string(file).is_ok_and(|text| text.contains(" main("))
    };
    let mut found: Vec<_> = files.filter(is_part).collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-rL").arg(from).arg(to).status().expect("cp runs");
    assert!(copied.success(), "{} cannot be copied", from.display());
}

impl Layout {
    /// Looks through a folder.
    ///
    /// # Panics
    ///
    /// If there is no module in it.
    pub fn of(folder: &Path) -> Self {
        let candidates = [folder.to_owned(), folder.join(IN_LINUX)];
        // Linux has a Makefile at its top as well, which names objects of the kernel.
        let found = candidates.iter().rev().find(|candidate| rules(candidate).is_some());
        let module =
            found.unwrap_or_else(|| panic!("no Kbuild or Makefile with obj- in {}", folder.display()));
        let top = if module.ends_with(IN_LINUX) { module.ancestors().nth(3) } else { None };
        let top = top.unwrap_or(module).to_owned();
        let beside = |at: &Path| [at.join("libane"), at.join("../libane")];
        let places = [folder, module, &top].into_iter().flat_map(beside);
        let libane = places
            .into_iter()
            .find(|place| place.join("ane.c").is_file() || place.join("src/ane.c").is_file());
        Self { module: module.clone(), top, libane }
    }

    /// `CONFIG_X=m` for each option under which `ane.o` is made.
    pub fn options(&self) -> Vec<String> {
        let rules = rules(&self.module).unwrap_or_default();
        let lines = rules.lines().filter_map(|line| line.trim_start().strip_prefix("obj-$("));
        let named = lines.filter_map(|line| line.split_once(')'));
        named
            .filter(|(_, objects)| objects.split_whitespace().any(|object| object == "ane.o"))
            .map(|(option, _)| format!("{option}=m"))
            .collect()
    }

    /// The headers of the driver in a folder of their own, as `drm/ane*` and `uapi/drm/ane*`.
    fn headers(&self, folder: &Path) -> PathBuf {
        let headers = folder.join("headers");
        for place in ["include/uapi/drm", "include/drm"] {
            for file in std::fs::read_dir(self.top.join(place)).into_iter().flatten().flatten() {
                if !file.file_name().to_string_lossy().starts_with("ane") {
                    continue;
                }
                for to in ["drm", "uapi/drm"] {
                    std::fs::create_dir_all(headers.join(to)).expect("a folder can be made");
                    copy(&file.path(), &headers.join(to).join(file.file_name()));
                }
            }
        }
        headers
    }

    /// Builds the modules for the machine that looks like an M1, in a copy: `ane.ko` if one is made, otherwise all that are.
    /// `arguments` are make's.
    ///
    /// # Panics
    ///
    /// If it does not build, or makes none.
    pub fn modules(&self, folder: &Path, arguments: &[String]) -> Vec<PathBuf> {
        let place = folder.join("driver");
        copy(&self.module, &place);
        let own = ["", "/include", "/include/uapi"].map(|name| format!("-I{}{name}", place.display()));
        let headers = self.headers(folder);
        // A header of ioctls includes DRM's as its neighbour, which it is in Linux.
        let mut all = vec![format!(
            "KCFLAGS={} -I{} -I{}/drm -I$(srctree)/include/uapi/drm",
            own.join(" "),
            headers.display(),
            headers.display()
        )];
        all.extend(self.options());
        all.extend_from_slice(arguments);
        make(GuestKind::AppleLike, &place, &all);
        if place.join("ane.ko").is_file() {
            return vec![place.join("ane.ko")];
        }
        let files = std::fs::read_dir(&place).expect("it was copied").flatten().map(|file| file.path());
        let mut found: Vec<_> = files.filter(|file| file.extension() == Some(OsStr::new("ko"))).collect();
        found.sort();
        assert!(!found.is_empty(), "{} makes no module", self.module.display());
        found
    }

    /// What a program is linked with that uses the libane: the archive that its Makefile makes, or else its sources.
    ///
    /// # Panics
    ///
    /// If it cannot be copied.
    pub fn library(&self, folder: &Path) -> Option<Vec<String>> {
        let libane = self.libane.as_ref()?;
        let place = folder.join("libane");
        copy(libane, &place);
        let headers = self.headers(folder);
        let includes =
            [place.clone(), place.join("include"), place.join("src"), headers.clone(), headers.join("drm")];
        let own = ["", "include", "include/uapi"].map(|name| self.module.join(name));
        let uapi = std::path::absolute(root().join("uapi/include")).expect("it has a path");
        let includes =
            includes.into_iter().chain(own).chain([uapi]).map(|path| format!("-I{}", path.display()));
        let includes: Vec<_> = includes.collect();
        let archive = if place.join("Makefile").is_file() { Self::archive(&place, &includes) } else { None };
        let parts =
            archive.map_or_else(|| [sources(&place), sources(&place.join("src"))].concat(), |one| vec![one]);
        println!("libane: {parts:?}");
        Some(parts.iter().map(|part| part.display().to_string()).chain(includes).collect())
    }

    /// What make makes of it, if that is an archive: shared libraries are of no use to a static program.
    fn archive(place: &Path, includes: &[String]) -> Option<PathBuf> {
        let mut make = Command::new(root().join("tools/guest/client"));
        let made =
            make.arg("--make").arg(place).env("CPPFLAGS", includes.join(" ")).output().expect("it runs");
        let files = [place.to_owned(), place.join("src"), place.join("build")];
        let mut files =
            files.into_iter().flat_map(|at| std::fs::read_dir(at).into_iter().flatten().flatten());
        let archive =
            files.find(|file| file.path().extension() == Some(OsStr::new("a"))).map(|file| file.path());
        if archive.is_none() {
            eprintln!("its Makefile makes no archive: {}", String::from_utf8_lossy(&made.stderr));
        }
        archive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_that_make_the_engines_module_alone() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join(IN_LINUX);
        std::fs::create_dir_all(&module).unwrap();
        std::fs::write(folder.path().join("Makefile"), "obj-y += init/\n").unwrap();
        std::fs::create_dir_all(folder.path().join("libane/src")).unwrap();
        std::fs::write(folder.path().join("libane/src/ane.c"), "").unwrap();
        let text = "obj-$(CONFIG_DRM_ACCEL_ANE) += ane.o\nobj-$(CONFIG_OTHER) += ane_other.o\nobj-m += x.o\n";
        std::fs::write(module.join("Makefile"), text).unwrap();
        for named in [folder.path(), &module] {
            let layout = Layout::of(named);
            assert_eq!((&layout.module, layout.top.as_path()), (&module, folder.path()));
            assert_eq!(layout.options(), ["CONFIG_DRM_ACCEL_ANE=m"]);
            assert_eq!(layout.libane, Some(folder.path().join("libane")));
        }
    }
}
