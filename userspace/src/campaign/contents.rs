//! What a case's files hold: a line tells of a program as it was then, and not of one that has taken its place.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::case::{Case, Expect, hex};

/// The hashes of files, each read once.
#[derive(Debug, Default)]
pub struct Contents(HashMap<PathBuf, [u8; 32]>);

impl Contents {
    /// A hash of the program of a case, its inputs and the arrays that it expects. The arrays that a description names are not part
    /// of it.
    pub fn of(&mut self, case: &Case) -> String {
        let expected = match &*case.expect {
            Expect::Arrays(arrays) => Some(arrays.values()),
            _ => None,
        };
        let named = case.inputs.values().chain(expected.into_iter().flatten()).map(PathBuf::as_path);
        let mut whole = Sha256::new();
        for named in std::iter::once(Path::new(&case.program)).chain(named) {
            whole.update(self.of_file(case.file(named)));
        }
        hex(whole.finalize().iter().take(16))
    }

    fn of_file(&mut self, path: PathBuf) -> [u8; 32] {
        // What cannot be read is an error of its case, which says more of it.
        *self.0.entry(path).or_insert_with_key(|path| hash(path).unwrap_or_default())
    }
}

fn hash(path: &Path) -> io::Result<[u8; 32]> {
    // A pipe would be waited for.
    if !path.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (mut file, mut hash, mut piece) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(piece.get(..count).unwrap_or_default()),
        }
    }
}
