//! Models that another implementation runs: onnxruntime, in the Python that `ANE_ONNXRUNTIME` names.
//!
//! It shares nothing with this tree: it reads the same file with a reader of its own, and computes in singles.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use ane::model::network::Array;
use ane::tensor::npy;

use crate::data::not_run;

/// A model, and what its inputs are.
pub struct Fed {
    pub model: Vec<u8>,
    pub inputs: Vec<(String, Array)>,
}

/// The results of each model, in the order of its outputs; `None`, and said so, where there is no onnxruntime.
///
/// # Panics
///
/// If onnxruntime refuses a model.
pub fn results(models: &[Fed]) -> Option<Vec<Vec<Array>>> {
    let Some(python) = std::env::var_os("ANE_ONNXRUNTIME") else {
        not_run("ANE_ONNXRUNTIME names no Python with onnxruntime (tools/install makes one)");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = |index: usize, rest: &str| folder.path().join(format!("{index}.{rest}"));
    for (index, fed) in models.iter().enumerate() {
        fs::write(at(index, "onnx"), &fed.model).expect("a file");
        for (name, array) in &fed.inputs {
            let bytes: Vec<u8> = array.values().iter().flat_map(|value| value.to_le_bytes()).collect();
            fs::write(at(index, &format!("{name}.f64")), bytes).expect("a file");
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/onnx-results");
    let ended = Command::new(python).arg(script).arg(folder.path()).output().expect("a Python");
    assert!(ended.status.success(), "onnxruntime: {}", String::from_utf8_lossy(&ended.stderr));
    let outputs = |index: usize| {
        let files = (0..).map(|output| at(index, &format!("{output}.npy")));
        files.take_while(|path| path.is_file()).map(|path| array_of(&path)).collect()
    };
    Some((0..models.len()).map(outputs).collect())
}

/// The array in a file of NumPy.
///
/// # Panics
///
/// If there is none.
pub fn array_of(path: &Path) -> Array {
    let array = npy::Array::read(File::open(path).expect("a file"), 1 << 24).expect("an array");
    let dims = array.header().shape.iter().map(|&extent| extent as usize).collect();
    Array::new(dims, array.doubles()).expect("extents of the file")
}
