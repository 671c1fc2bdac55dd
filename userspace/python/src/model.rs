//! Files that become programs: `.hwx`, `.anec`, or a model, which is compiled; and models beside double precision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ane::container::{self, anec};
use ane::device;
use ane::model::compare::{CompareError, Layer, compare_until, random_for};
use ane::model::network::Array;
use ane::model::{self, Model, ModelError, Options};
use ane::session;
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::apart::{Stop, apart};
use crate::device::Device;
use crate::program::report;
use crate::raise;

/// The decisions about a model before it is compiled.
#[pyclass(frozen, module = "ane._ane")]
pub(crate) struct Decided(pub(crate) Options);

#[pymethods]
impl Decided {
    /// Numbers for extents, values for inputs, and results that become inputs.
    #[new]
    fn new(
        dims: BTreeMap<String, usize>,
        bind: BTreeMap<String, PyReadonlyArrayDyn<'_, f64>>,
        cut: BTreeSet<String>,
    ) -> PyResult<Self> {
        let constants = arrays(&bind)?;
        Ok(Self(Options { constants, extents: dims, cuts: cut, ..Options::default() }))
    }
}

/// Arrays of a model's own shapes.
fn arrays<C: FromIterator<(String, Array)>>(
    arrays: &BTreeMap<String, PyReadonlyArrayDyn<'_, f64>>,
) -> PyResult<C> {
    let array = |(name, array): (&String, &PyReadonlyArrayDyn<'_, f64>)| {
        let values = array.as_array().iter().copied().collect();
        Ok((name.clone(), Array::new(array.shape().to_vec(), values).map_err(raise::wrong_value)?))
    };
    arrays.iter().map(array).collect()
}

/// Why a file is no program.
pub(crate) enum Fault {
    /// It cannot be read.
    Contents(ModelError),
    /// It is a model that cannot be compiled.
    Model(ModelError),
    /// It is a damaged program, or something else.
    Program(String),
    /// The program of a model is longer than a file may be.
    Write(anec::WriteError),
    /// It cannot be described.
    Report(String),
    /// It is a program, and there are decisions about a model.
    Decided,
}

impl Fault {
    /// The exception, about the file of this name.
    pub(crate) fn raise(self, py: Python<'_>, name: &str, path: Option<&Path>) -> PyErr {
        match self {
            Self::Contents(ModelError::File(why)) => raise::system(&why, path),
            Self::Contents(why) => raise::format(py, name, &why.to_string(), "name a program or a model"),
            Self::Model(why) => raise::model(py, name, &why),
            Self::Program(why) => {
                let hint = "programs are .hwx and .anec files; ane.Graph builds one without a compiler";
                raise::format(py, name, &why, hint)
            }
            Self::Write(why) => raise::wrong_value(why),
            Self::Report(why) => raise::wrong_value(why),
            Self::Decided => raise::wrong_value(format!(
                "{name}: is a program, in which everything is decided: dims, bind and cut are for models"
            )),
        }
    }
}

/// A program, and the file that it is in.
pub(crate) struct Loaded {
    pub(crate) file: Vec<u8>,
    pub(crate) model: Model,
    pub(crate) tasks: u32,
    /// The program as a whole, as JSON.
    pub(crate) report: String,
}

impl Loaded {
    /// The program in a file.
    pub(crate) fn of_path(path: &Path, options: Options) -> Result<Self, Fault> {
        let (file, options) = model::compile::contents(path, options).map_err(Fault::Contents)?;
        Self::of_any(file, &options)
    }

    /// A program, or a model that becomes one.
    pub(crate) fn of_any(file: Vec<u8>, options: &Options) -> Result<Self, Fault> {
        let is_program = container::hwx::is_hwx(&file) || anec::is_anec(&file);
        if options.format.is_none() && (is_program || model::compile::format(&file).is_none()) {
            let program = Self::of_program(file)?;
            let is_undecided =
                options.extents.is_empty() && options.constants.is_empty() && options.cuts.is_empty();
            return if is_undecided { Ok(program) } else { Err(Fault::Decided) };
        }
        let compiled = model::compile(&file, options).map_err(Fault::Model)?;
        Self::of_program(compiled.to_anec().map_err(Fault::Write)?)
    }

    /// The program in the bytes of its file.
    pub(crate) fn of_program(file: Vec<u8>) -> Result<Self, Fault> {
        let program = container::open(&file).map_err(|why| Fault::Program(why.to_string()))?;
        Model::check(&program).map_err(|why| Fault::Program(why.to_string()))?;
        let tasks = program.tasks().map_or(0, |tasks| tasks.map_while(Result::ok).count());
        let (model, tasks) = (Model::of(&program), u32::try_from(tasks).unwrap_or(u32::MAX));
        let report = report(&program, &model, tasks).map_err(Fault::Report)?;
        Ok(Self { file, model, tasks, report })
    }
}

/// Why a model was not compared.
enum NotCompared {
    File(Fault),
    /// There is an array of an input that the model does not have.
    Unknown {
        name: String,
        known: Vec<String>,
    },
    /// An array does not fit its input.
    Input {
        name: String,
        why: model::network::Fault,
    },
    Run(session::Error),
    Other(CompareError),
}

impl NotCompared {
    fn raise(self, py: Python<'_>, path: &Path) -> PyErr {
        let name = path.display().to_string();
        match self {
            Self::File(why) => why.raise(py, &name, Some(path)),
            Self::Unknown { name, known } => {
                raise::wrong_type(format!("the model has no input {name:?}; its inputs are {known:?}"))
            }
            Self::Input { name, why } => raise::wrong_value(format!("input {name:?}: {why}")),
            Self::Run(why) => raise::session(py, &why),
            Self::Other(why) => raise::wrong_value(why),
        }
    }
}

/// A model on a device beside double precision, layer by layer, as JSON.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    device: &Device,
    path: PathBuf,
    decided: &Decided,
    arrays: BTreeMap<String, PyReadonlyArrayDyn<'_, f64>>,
    seed: u64,
) -> PyResult<String> {
    let (device, options) = (device.device(py)?, decided.0.clone());
    let (own, given) = (path.clone(), self::arrays(&arrays)?);
    drop(arrays);
    let layers = apart(py, move |stop| compared(&device, &own, options, &given, seed, stop))?;
    let layers = layers.map_err(|why| why.raise(py, &path))?;
    serde_json::to_string(&layers).map_err(raise::wrong_value)
}

fn compared(
    device: &device::Device,
    path: &Path,
    options: Options,
    given: &BTreeMap<String, Array>,
    seed: u64,
    stop: &Stop,
) -> Result<Vec<Layer>, NotCompared> {
    let read = model::compile::contents(path, options);
    let (file, options) = read.map_err(|why| NotCompared::File(Fault::Contents(why)))?;
    let compiled = model::compile(&file, &options).map_err(|why| NotCompared::File(Fault::Model(why)))?;
    let known = |name: &String| compiled.inputs.iter().any(|port| port.name == *name);
    if let Some(name) = given.keys().find(|name| !known(name)) {
        let known = compiled.inputs.iter().map(|port| port.name.clone()).collect();
        return Err(NotCompared::Unknown { name: name.clone(), known });
    }
    let mut inputs = Vec::with_capacity(compiled.inputs.len());
    for (seed, port) in (seed..).zip(&compiled.inputs) {
        let made = match given.get(&port.name) {
            Some(array) => array.reshaped(port.dims.clone()),
            None => random_for(&compiled, port, seed),
        };
        inputs.push(made.map_err(|why| NotCompared::Input { name: port.name.clone(), why })?);
    }
    compare_until(device, &compiled, &inputs, || stop.is_set()).map_err(|why| match why {
        CompareError::Compile(why) => NotCompared::File(Fault::Model(why)),
        CompareError::Run(why) => NotCompared::Run(why),
        why => NotCompared::Other(why),
    })
}
