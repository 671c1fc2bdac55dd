//! A temporary folder with files in it.

use std::path::{Path, PathBuf};

use ane::container::Axes;
use ane::tensor::{Tensor, npy};
use tempfile::TempDir;

/// A folder that goes when it is dropped.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where a file is, or would be.
    pub(crate) fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// A file with these bytes.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.0.path().join(name), bytes).expect("the file can be written");
        self.at(name)
    }

    /// An array of halves.
    pub(crate) fn array(&self, name: &str, tensor: &Tensor) -> String {
        let mut bytes = Vec::new();
        npy::write(&mut bytes, tensor).expect("memory takes it");
        self.file(name, &bytes)
    }

    /// Everything in it, for what must not be left behind.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder can be read");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// The tensor in a file that `ane run` wrote.
pub(crate) fn read(path: &Path, shape: Axes<u32>) -> Tensor {
    let file = std::fs::File::open(path).expect("the file is there");
    let array = npy::Array::read(file, ane::tensor::elements(shape)).expect("it is an array");
    assert!(array.header().number.is_half() && !array.header().is_fortran);
    array.to_tensor(shape).expect("of that shape").0
}

/// The tree's own program, of which the first task asks for a depth of three.
pub(crate) fn deep() -> Vec<u8> {
    let mut bytes = std::fs::read(example()).expect("the file is there");
    // Bytes of an `.anec` before its tasks, and of the first task before the register.
    let word = &mut bytes[0x112c..0x1130];
    assert_eq!(word, 1_u32.to_le_bytes());
    word.copy_from_slice(&3_u32.to_le_bytes());
    bytes
}

/// The tree's own program.
pub(crate) fn example() -> String {
    let path: PathBuf = ane_tests::data::example();
    path.display().to_string()
}
