//! Modules and library, built in copies for the machine that looks like an M1: a folder of somebody's stays as it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::image::{GuestKind, try_make};
use super::Layout;
use super::walk::{ENGINE, entries, files, library_sources, objects};
use crate::workspace::root;

/// Bytes up to which a folder beside another is copied with it; a larger one is linked to.
const BESIDE_MAX: u64 = 32 << 20;

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-rL").arg(from).arg(to).status().expect("cp runs");
    assert!(copied.success(), "{} cannot be copied", from.display());
}

fn bytes_of(path: &Path) -> u64 {
    let said = Command::new("du").args(["-sb", "--"]).arg(path).output().expect("du runs");
    let text = String::from_utf8_lossy(&said.stdout);
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(u64::MAX)
}

/// Copies a folder into `to`, and what lies beside it in `top`, since rules may reach there by `../`; gives the copy.
fn copy_in_place(from: &Path, top: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir(to).expect("a folder can be made");
    let place = to.join(from.file_name().expect("it has a name"));
    copy(from, &place);
    let parent = from.parent().filter(|parent| parent.starts_with(top));
    for path in parent.into_iter().flat_map(entries) {
        let name = path.file_name().unwrap_or_default();
        if path == from || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if bytes_of(&path) <= BESIDE_MAX {
            copy(&path, &to.join(name));
        } else {
            std::os::unix::fs::symlink(&path, to.join(name)).expect("a link can be made");
        }
    }
    place
}

/// The values of a name in a module's own description.
fn info(module: &[u8], name: &str) -> Vec<String> {
    let entries = module.split(|&byte| byte == 0);
    let values = entries.filter_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// True of a module that binds to the engine of an M1.
fn is_engines(module: &Path) -> bool {
    let bytes = std::fs::read(module).expect("a module can be read");
    info(&bytes, "alias").iter().any(|alias| alias.contains(ENGINE))
}

/// The modules that bind to the engine, behind those that they depend on; all modules, if none binds.
fn chosen(all: &[PathBuf]) -> Vec<PathBuf> {
    let mut taken = Vec::new();
    for module in all.iter().filter(|module| is_engines(module)) {
        take(module, all, &mut taken);
    }
    if taken.is_empty() { all.to_owned() } else { taken }
}

/// Takes a module behind those that it depends on. Modules do not depend on each other in a circle: none could be loaded.
fn take(module: &Path, all: &[PathBuf], taken: &mut Vec<PathBuf>) {
    if taken.iter().any(|other| other == module) {
        return;
    }
    let bytes = std::fs::read(module).expect("a module can be read");
    for name in info(&bytes, "depends").iter().flat_map(|names| names.split(',')) {
        let is_it = |path: &&PathBuf| {
            path.file_stem().is_some_and(|stem| stem.to_string_lossy().replace('-', "_") == name)
        };
        if let Some(found) = all.iter().find(is_it) {
            take(found, all, taken);
        }
    }
    taken.push(module.to_owned());
}

impl Layout {
    /// The headers of the driver in a folder of their own, as `ane*`, `drm/ane*` and `uapi/drm/ane*`.
    fn copied_headers(&self, folder: &Path) -> PathBuf {
        let headers = folder.join("headers");
        for file in self.headers() {
            for to in ["drm", "uapi/drm"] {
                std::fs::create_dir_all(headers.join(to)).expect("a folder can be made");
                copy(&file, &headers.join(to).join(file.file_name().unwrap_or_default()));
            }
        }
        headers
    }

    /// Builds the modules: those that bind to the engine and what they depend on, or all if none does. `arguments` are make's.
    ///
    /// # Panics
    ///
    /// If none is made.
    pub fn modules(&self, folder: &Path, arguments: &[String]) -> Vec<PathBuf> {
        let top = if self.is_in_linux() { &self.module } else { &self.top };
        let place = copy_in_place(&self.module, top, &folder.join("driver"));
        let names = ["", "/include", "/include/uapi", "/src", "/src/include", "/src/uapi"];
        let own = names.map(|name| format!("-I{}{name}", place.display()));
        let headers = self.copied_headers(folder);
        // A header of ioctls includes DRM's as its neighbour, which it is in Linux.
        let mut all = vec![format!(
            "KCFLAGS={} -I{} -I{}/drm -I$(srctree)/include/uapi/drm",
            own.join(" "),
            headers.display(),
            headers.display()
        )];
        all.extend(self.options());
        all.extend_from_slice(arguments);
        if let Err(said) = try_make(GuestKind::AppleLike, &place, &all) {
            // Other modules of the folder may need what Debian's kernel has not.
            println!("not all of {} is built: {said}", self.module.display());
            for object in objects(&self.module) {
                let mut one = all.clone();
                one.push(format!("{object}.ko"));
                match try_make(GuestKind::AppleLike, &place, &one) {
                    Ok(()) => println!("{object}.ko is built alone"),
                    Err(said) => println!("{object}.ko is not built: {said}"),
                }
            }
        }
        let modules = chosen(&files(&place, "ko"));
        assert!(!modules.is_empty(), "{} makes no module", self.module.display());
        println!("modules: {modules:?}");
        modules
    }

    /// The arguments that link a program with libane: the archive that its Makefile makes, or else its sources.
    ///
    /// # Panics
    ///
    /// If it cannot be copied.
    pub fn library(&self, folder: &Path) -> Option<Vec<String>> {
        let libane = self.libane.as_ref()?.canonicalize().expect("it is there");
        let top = if self.is_in_linux() { &libane } else { &self.top };
        let place = copy_in_place(&libane, top, &folder.join("library"));
        let headers = self.copied_headers(folder);
        let includes =
            [place.clone(), place.join("include"), place.join("src"), headers.clone(), headers.join("drm")];
        let own = ["", "include", "include/uapi"].map(|name| self.module.join(name));
        let uapi = std::path::absolute(root().join("uapi/include")).expect("it has a path");
        let includes =
            includes.into_iter().chain(own).chain([uapi]).map(|path| format!("-I{}", path.display()));
        let includes: Vec<_> = includes.collect();
        let archive = if place.join("Makefile").is_file() { archive(&place, &includes) } else { None };
        let sources = || [library_sources(&place), library_sources(&place.join("src"))].concat();
        let parts = archive.map_or_else(sources, |one| vec![one]);
        println!("libane: {parts:?}");
        Some(parts.iter().map(|part| part.display().to_string()).chain(includes).collect())
    }
}

/// The archive that make makes of a libane, if it makes one: shared libraries are of no use to a static program.
fn archive(place: &Path, includes: &[String]) -> Option<PathBuf> {
    let mut make = Command::new(root().join("tools/guest/client"));
    let made = make.arg("--make").arg(place).env("CPPFLAGS", includes.join(" ")).output().expect("it runs");
    let archive = files(place, "a").into_iter().next();
    if archive.is_none() {
        println!("its Makefile makes no archive: {}", String::from_utf8_lossy(&made.stderr));
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_is_chosen_behind_all_that_it_depends_on() {
        let folder = tempfile::tempdir().unwrap();
        let module = |name: &str, description: &str| {
            let path = folder.path().join(format!("{name}.ko"));
            std::fs::write(&path, description).unwrap();
            path
        };
        let ane = module("ane", &format!("alias=of:N*T*C{ENGINE}\0depends=ane_last,ane_part\0"));
        let (last, part) = (module("ane-last", "depends=\0"), module("ane-part", "depends=ane_last,drm\0"));
        let other = module("other", "depends=\0");
        let all = [ane.clone(), last.clone(), other.clone(), part.clone()];
        assert_eq!(chosen(&all), [last, part.clone(), ane]);
        // Without the engine's all are taken, as they are.
        assert_eq!(chosen(&[part.clone(), other.clone()]), [part, other]);
    }
}
