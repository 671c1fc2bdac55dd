//! Folders that a model comes in. `Manifest.json` of an `.mlpackage` says which of its files is the model; an `.mlmodelc`
//! has its program as `model.mil`. Constants lie in a folder beside that file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

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

/// The model's file in a folder.
///
/// # Errors
///
/// The fault of the folder.
pub(crate) fn model_file(folder: &Path) -> io::Result<PathBuf> {
    let text = folder.join("model.mil");
    if text.is_file() {
        return Ok(text);
    }
    let mut manifest = Vec::new();
    let file = File::open(folder.join("Manifest.json")).map_err(|why| {
        io::Error::new(why.kind(), format!("folder has neither a model.mil nor a Manifest.json: {why}"))
    })?;
    file.take(MANIFEST_MAX).read_to_end(&mut manifest)?;
    let manifest: Manifest = serde_json::from_slice(&manifest)
        .map_err(|why| io::Error::other(format!("Manifest.json is damaged: {why}")))?;
    let root = manifest.item_info_entries.get(&manifest.root_model_identifier);
    let path = &root.ok_or_else(|| io::Error::other("Manifest.json names no model"))?.path;
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other(format!("Manifest.json leads out of the package: {path:?}")));
    }
    let file = folder.join("Data").join(path);
    if file.canonicalize()?.starts_with(folder.canonicalize()?) {
        Ok(file)
    } else {
        Err(io::Error::other(format!("a link leads out of the package: {path:?}")))
    }
}
