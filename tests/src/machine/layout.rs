//! Where a folder with somebody's driver of the real engine has its parts; docs/kernel-drivers.md says which layouts are known.
//!
//! The module's folder has a Kbuild or a Makefile. It is the folder itself, lies in it as it does in Linux (`drivers/accel/ane`,
//! with the header of its ioctls in `include/uapi/drm`), or is looked for: its sources name the engine of an M1. A whole Linux tree
//! has headers of its own kernel beside that one, so of its `include` only files called `ane*` are taken.
//!
//! * this file: the parts; * [`walk`]: the folders that are looked through; * [`build`]: modules and library, in copies.

mod build;
mod walk;

use std::path::{Path, PathBuf};

use self::walk::{folders, is_linux, makes_engine, names_engine, rules};

/// Where a Linux tree has the module.
const IN_LINUX: &str = "drivers/accel/ane";

/// The sources that were found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The module's folder.
    pub module: PathBuf,
    /// The folder that the parts beside it are looked for in: the Linux tree's, the one that was named, or the module's.
    pub top: PathBuf,
    /// A libane in C.
    pub libane: Option<PathBuf>,
}

impl Layout {
    /// Looks through a folder.
    ///
    /// # Panics
    ///
    /// If there is no module in it.
    pub fn of(folder: &Path) -> Self {
        let folder = &std::path::absolute(folder).expect("it has a path");
        let found = folders(folder);
        // Linux has a Makefile at its top as well, which names objects of the kernel.
        let in_linux = found.iter().filter(|place| place.ends_with(IN_LINUX) && rules(place).is_some()).min();
        let module = in_linux.cloned().or_else(|| {
            let with_rules = found.iter().filter(|place| rules(place).is_some());
            with_rules
                .min_by_key(|place| {
                    let depth = place.components().count();
                    (!names_engine(place), !makes_engine(place), depth, place.as_path())
                })
                .cloned()
        });
        let module =
            module.unwrap_or_else(|| panic!("no Kbuild or Makefile with obj- in {}", folder.display()));
        let linux = if module.ends_with(IN_LINUX) { module.ancestors().nth(3) } else { None };
        let top = linux.unwrap_or(folder).to_owned();
        let beside = |at: &Path| [at.join("libane"), at.join("../libane")];
        let near = [folder, &module, &top].into_iter().flat_map(|at| beside(at));
        // One with another name declares what they all declare.
        let declares = |place: &&PathBuf| {
            ["ane.h", "include/ane.h", "src/ane.h"].into_iter().any(|name| {
                std::fs::read_to_string(place.join(name)).is_ok_and(|text| text.contains("ane_exec"))
            })
        };
        let far =
            found.iter().filter(declares).min_by_key(|place| (place.components().count(), place.as_path()));
        let libane = near
            .into_iter()
            .find(|place| place.join("ane.c").is_file() || place.join("src/ane.c").is_file())
            .or_else(|| far.cloned());
        Self { module, top, libane }
    }

    /// True if the module lies where Linux has it.
    fn is_in_linux(&self) -> bool {
        self.module.ends_with(IN_LINUX)
    }

    /// `CONFIG_X=m` for each option under which the engine's module is made.
    pub fn options(&self) -> Vec<String> {
        let rules = rules(&self.module).unwrap_or_default();
        let named = rules.lines().filter_map(|line| line.strip_prefix("obj-$(")?.split_once(')'));
        let all: Vec<_> = named.collect();
        let is_engines = |objects: &str| objects.split_whitespace().any(|object| object == "ane.o");
        // A folder in which no module has the name of Linux has one of another name.
        let is_known = all.iter().any(|(_, objects)| is_engines(objects)) || rules.contains("obj-m");
        let taken = all.iter().filter(|(_, objects)| !is_known || is_engines(objects));
        let mut options: Vec<_> = taken.map(|(option, _)| format!("{option}=m")).collect();
        options.dedup();
        options
    }

    /// The headers of ioctls in this layout, in folders called `drm`.
    fn headers(&self) -> Vec<PathBuf> {
        let places = if self.is_in_linux() && is_linux(&self.top) {
            ["include/uapi/drm", "include/drm"].map(|name| self.top.join(name)).into()
        } else {
            [folders(&self.top), folders(&self.module)].concat()
        };
        let is_drm = |place: &&PathBuf| place.ends_with("drm");
        let files =
            places.iter().filter(is_drm).flat_map(|place| std::fs::read_dir(place).into_iter().flatten());
        let is_taken = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".h") && (!self.is_in_linux() || name.starts_with("ane"))
        };
        let mut found: Vec<_> = files.flatten().map(|file| file.path()).filter(is_taken).collect();
        found.sort();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn options_are_those_that_make_the_engines_module_alone() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join(IN_LINUX);
        file(folder.path(), "Makefile", "obj-y += init/\n");
        file(folder.path(), "libane/src/ane.c", "");
        let text = "obj-$(CONFIG_DRM_ACCEL_ANE) += ane.o\nobj-$(CONFIG_OTHER) += ane_other.o\nobj-m += x.o\n";
        file(&module, "Makefile", text);
        for named in [folder.path(), &module] {
            let layout = Layout::of(named);
            assert_eq!((&layout.module, layout.top.as_path()), (&module, folder.path()));
            assert_eq!(layout.options(), ["CONFIG_DRM_ACCEL_ANE=m"]);
            assert_eq!(layout.libane, Some(folder.path().join("libane")));
        }
    }

    #[test]
    fn option_of_a_module_with_another_name_is_taken_where_there_is_no_other() {
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), "Kbuild", "obj-$(CONFIG_NPU) \\\n\t+= apple_npu.o\n");
        assert_eq!(Layout::of(folder.path()).options(), ["CONFIG_NPU=m"]);
    }

    #[test]
    fn repository_with_several_modules_has_the_one_of_the_engine_and_a_library_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        file(at, "Makefile", "all:\n\tmake -C libane\n");
        file(at, "ane/Makefile", "obj-m := ane.o\nane-objs := src/ane_drv.o\n");
        file(at, "ane/src/ane_drv.c", "{ .compatible = \"apple,t8103-ane\" }");
        file(at, "ane/src/uapi/drm/ane_accel.h", "");
        file(at, "ane/aaa/Makefile", "obj-m := probe.o\n");
        file(at, "ane/aaa/probe.c", "\"apple,t8103-ane\"");
        file(at, "ane/t6021/Makefile", "obj-m := ane_t6021.o\n");
        file(at, "lib/include/ane.h", "int ane_exec(struct ane_nn *nn);");
        let layout = Layout::of(at);
        assert_eq!((&layout.module, &layout.top), (&at.join("ane"), &at.to_owned()));
        assert_eq!(layout.libane, Some(at.join("lib")));
        assert_eq!(layout.headers(), [at.join("ane/src/uapi/drm/ane_accel.h")]);
    }

    #[test]
    fn headers_of_a_whole_linux_tree_are_the_engines_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        file(at, "linux/Kconfig", "");
        file(at, "linux/arch/arm64/Makefile", "obj-y += kernel/\n");
        file(at, "linux/drivers/accel/ane/Makefile", "obj-$(CONFIG_DRM_ACCEL_ANE) += ane.o\n");
        file(at, "linux/include/uapi/drm/ane_accel.h", "");
        file(at, "linux/include/uapi/drm/drm.h", "");
        file(at, "libane/ane.c", "");
        let layout = Layout::of(at);
        assert_eq!(layout.module, at.join("linux").join(IN_LINUX));
        assert_eq!(layout.headers(), [at.join("linux/include/uapi/drm/ane_accel.h")]);
        assert_eq!(layout.libane, Some(at.join("libane")));
    }
}
