//! Files beside a model: weights that it names by a path. A path stays inside of the model's folder.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::limits::FILE_BYTES_MAX;

/// Where the files beside a model are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// There are none: the model was not read from a file.
    #[default]
    Nothing,
    /// In this folder and below it.
    Folder(PathBuf),
    /// In memory, by their paths.
    Held(BTreeMap<String, Vec<u8>>),
}

impl Beside {
    /// The folder that a model's file lies in.
    pub fn of_file(file: &Path) -> Self {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self::Folder(folder.unwrap_or_else(|| Path::new(".")).to_owned())
    }
}

/// The files of one model. Each is read once; all together have a bound.
#[derive(Debug)]
pub(super) struct Files<'a> {
    beside: &'a Beside,
    read: RefCell<BTreeMap<String, Rc<Vec<u8>>>>,
    bytes: Cell<u64>,
}

impl<'a> Files<'a> {
    pub(super) const fn new(beside: &'a Beside) -> Self {
        Self { beside, read: RefCell::new(BTreeMap::new()), bytes: Cell::new(0) }
    }

    /// The bytes of a file; on failure a sentence that names it.
    pub(super) fn read(&self, path: &str) -> Result<Rc<Vec<u8>>, String> {
        if let Some(bytes) = self.read.borrow().get(path) {
            return Ok(Rc::clone(bytes));
        }
        if !is_plain(Path::new(path)) {
            return Err(format!(
                "file {path:?} does not lie in the model's folder: wanted is a path without .."
            ));
        }
        let left = FILE_BYTES_MAX.saturating_sub(self.bytes.get());
        let bytes = match self.beside {
            Beside::Nothing => {
                return Err(format!("file {path:?} is wanted, and the model was not read from a folder"));
            }
            Beside::Held(files) => {
                let held = files.get(path).ok_or_else(|| format!("file {path:?} is not there"))?;
                (held.len() as u64 <= left).then(|| held.clone())
            }
            Beside::Folder(folder) => inside(folder, path)
                .and_then(|file| within(File::open(file)?, left))
                .map_err(|why| format!("file {path:?}: {why}"))?,
        };
        let bytes = Rc::new(bytes.ok_or_else(|| {
            format!("file {path:?}: files beside the model have more than {FILE_BYTES_MAX} bytes")
        })?);
        self.bytes.set(self.bytes.get().saturating_add(bytes.len() as u64));
        self.read.borrow_mut().insert(path.to_owned(), Rc::clone(&bytes));
        Ok(bytes)
    }
}

/// Opens a regular file in a folder or below it, by a path that a file of the folder gives, which may be absolute.
///
/// # Errors
///
/// Those of the path, or a sentence: it leads out of the folder, or to something else than a file.
pub fn open_inside(folder: &Path, path: &str) -> io::Result<File> {
    File::open(inside(folder, path)?)
}

/// Whether a path can only lead to something below where it begins, but for links.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The place of a regular file in a folder. With every link followed it is inside of that folder.
///
/// # Errors
///
/// The fault of the path, or a sentence that says what is there instead.
pub(super) fn inside(folder: &Path, path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let (root, file) = (fs::canonicalize(folder)?, fs::canonicalize(folder.join(path.as_ref()))?);
    if !file.starts_with(&root) {
        let is_by_a_link = is_plain(path.as_ref());
        let why =
            if is_by_a_link { "a link leads out of the folder" } else { "it does not lie in the folder" };
        return Err(io::Error::other(why));
    }
    // A pipe would be waited for when it is opened.
    if !fs::metadata(&file)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    Ok(file)
}

/// The bytes of a file, or nothing if they are more than `most`.
///
/// # Errors
///
/// Those of reading, or no memory.
pub(super) fn within(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    if length > most {
        return Ok(None);
    }
    // Memory that grows by halves would be twice the file.
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1))?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_outside_of_the_folder_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("model");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("weights"), [1, 2, 3]).unwrap();
        fs::write(temporary.path().join("secret"), [4]).unwrap();
        std::os::unix::fs::symlink(temporary.path().join("secret"), folder.join("link")).unwrap();
        let beside = Beside::Folder(folder);
        let files = Files::new(&beside);
        assert_eq!(*files.read("weights").unwrap(), [1, 2, 3]);
        assert_eq!(*files.read("./weights").unwrap(), [1, 2, 3]);
        let absolute = temporary.path().join("secret");
        for path in ["../secret", "", "/", ".", "a/../../secret", absolute.to_str().unwrap()] {
            let why = files.read(path).unwrap_err();
            assert!(why.contains("does not lie in the model's folder"), "{path}: {why}");
        }
        assert!(files.read("link").unwrap_err().contains("leads out"));
        let opened =
            |path: &Path| open_inside(absolute.with_file_name("model").as_path(), path.to_str().unwrap());
        assert!(opened(&absolute.with_file_name("model").join("weights")).is_ok());
        assert!(opened(&absolute).unwrap_err().to_string().contains("does not lie in the folder"));
        assert!(files.read("missing").unwrap_err().contains("\"missing\""));
    }
}
