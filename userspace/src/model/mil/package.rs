//! Folders that a model comes in. `Manifest.json` of an `.mlpackage` says which of its files is the model; an `.mlmodelc`
//! has its program as `model.mil`. Constants lie in a folder beside that file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::container::excerpt;
use crate::model::format::Format;
use crate::model::neighbour_files::inside;

/// The program of an `.mlmodelc`.
const TEXT: &str = "model.mil";
/// The list of an `.mlpackage`.
const MANIFEST: &str = "Manifest.json";
/// Most bytes of a manifest: it names two or three files.
const MANIFEST_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    item_info_entries: BTreeMap<String, Item>,
    root_model_identifier: String,
}

#[derive(Deserialize)]
struct Item {
    path: String,
}

/// The model's file in a folder, and the format that it has there.
///
/// # Errors
///
/// The fault of the folder.
pub(crate) fn model_file(folder: &Path) -> io::Result<(PathBuf, Format)> {
    match of_folder(folder, TEXT) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        found => return found.map(|file| (file, Format::MilText)),
    }
    let file = of_folder(folder, MANIFEST).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(why.kind(), format!("folder has neither a {TEXT} nor a {MANIFEST}"))
        }
        _ => why,
    })?;
    let mut manifest = Vec::new();
    File::open(file)?.take(MANIFEST_MAX).read_to_end(&mut manifest)?;
    let manifest: Manifest = serde_json::from_slice(&manifest).map_err(|why| damaged(&why.to_string()))?;
    let root = manifest.item_info_entries.get(&manifest.root_model_identifier);
    let path = &root.ok_or_else(|| damaged("it names no model"))?.path;
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(damaged(&format!("path {:?} leads out of the package", excerpt(path))));
    }
    Ok((of_folder(folder, &format!("Data/{path}"))?, Format::CoreMl))
}

/// A file of a folder; an error names it.
fn of_folder(folder: &Path, path: &str) -> io::Result<PathBuf> {
    inside(folder, path).map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", excerpt(path))))
}

/// The error of a manifest that the package has and that leads to no model.
fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{MANIFEST} is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    /// A folder whose manifest names this path.
    fn package(path: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("Data")).unwrap();
        let manifest =
            format!(r#"{{"itemInfoEntries": {{"a": {{"path": {path:?}}}}}, "rootModelIdentifier": "a"}}"#);
        fs::write(folder.path().join(MANIFEST), manifest).unwrap();
        folder
    }

    fn refusal(folder: &tempfile::TempDir) -> String {
        model_file(folder.path()).unwrap_err().to_string()
    }

    #[test]
    fn pipe_is_not_waited_for() {
        let folder = package("model");
        mkfifo(&folder.path().join("Data/model"), Mode::S_IRWXU).unwrap();
        assert_eq!(refusal(&folder), "Data/model: it is no regular file");
        for name in [MANIFEST, TEXT] {
            let folder = tempfile::tempdir().unwrap();
            mkfifo(&folder.path().join(name), Mode::S_IRWXU).unwrap();
            assert_eq!(refusal(&folder), format!("{name}: it is no regular file"));
        }
    }

    #[test]
    fn file_outside_of_the_folder_is_no_model_of_it() {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, "program(1.0)").unwrap();
        for name in [TEXT, MANIFEST] {
            let folder = tempfile::tempdir().unwrap();
            symlink(&secret, folder.path().join(name)).unwrap();
            assert_eq!(refusal(&folder), format!("{name}: a link leads out of the folder"));
        }
        let folder = package("model");
        symlink(&secret, folder.path().join("Data/model")).unwrap();
        assert_eq!(refusal(&folder), "Data/model: a link leads out of the folder");
        assert!(refusal(&package("../secret")).contains("leads out of the package"));
    }

    #[test]
    fn folder_without_a_model_says_what_it_lacks() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(refusal(&empty), "folder has neither a model.mil nor a Manifest.json");
        let folder = package("model");
        assert!(refusal(&folder).starts_with("Data/model: "), "{}", refusal(&folder));
        fs::write(folder.path().join("Data/model"), "").unwrap();
        let (file, format) = model_file(folder.path()).unwrap();
        assert_eq!((file.file_name().unwrap(), format), ("model".as_ref(), Format::CoreMl));
        fs::write(folder.path().join(TEXT), "").unwrap();
        assert_eq!(model_file(folder.path()).unwrap().1, Format::MilText);
    }
}
