//! A program on a device: arrays in, arrays out.
//!
//! An array's elements go straight to where the engine reads them: tiling into the surface's layout is the only copy there
//! is. It is made with the interpreter's lock held, so that no other Python thread writes to the array meanwhile. The
//! lock is given up while the engine runs.

use std::time::Duration;

use ane::device::Outcome;
use ane::session::{self, Submission};
use ane::tensor::fits;
use half::f16;
use numpy::{PyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::device::Device;
use crate::owned::Owned;
use crate::program::{Program, unique_names};
use crate::raise;

/// How long the engine runs before signals are looked at: what a person who presses Ctrl-C does not notice.
const SLICE: Duration = Duration::from_millis(100);

/// An operand that a client binds.
struct Operand {
    name: Py<PyString>,
    /// The extents of its arrays.
    shape: Vec<usize>,
}

/// A program on a device.
#[pyclass(frozen, module = "ane._ane")]
pub(crate) struct Session {
    inner: Owned<session::Session>,
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
}

#[pymethods]
impl Session {
    #[new]
    fn new(py: Python<'_>, device: &Device, program: &Program) -> PyResult<Self> {
        let device = device.device(py)?;
        let loaded = py.detach(|| session::Session::load(&device, program.model()));
        let inner = loaded.map_err(|why| raise::session(py, &why))?;
        let operands = |surfaces: Vec<&ane::container::Surface<'static>>| -> Vec<Operand> {
            let names = unique_names(surfaces.iter().map(|surface| surface.name.as_ref()));
            let named = surfaces.iter().zip(names).map(|(surface, name)| Operand {
                name: PyString::intern(py, &name).unbind(),
                shape: surface.extents(),
            });
            named.collect()
        };
        let (inputs, outputs) = (operands(inner.inputs().collect()), operands(inner.outputs().collect()));
        Ok(Self { inner: Owned::new("this program", inner), inputs, outputs })
    }

    /// Fills the inputs, runs it to its end, and takes the outputs.
    fn run<'py>(&self, py: Python<'py>, arrays: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        // Whatever may run somebody else's code comes before the lock.
        let inputs = self.gather(py, arrays)?;
        let mut session = self.inner.hold(py)?;
        for (index, input) in inputs.iter().enumerate() {
            let set = session.set_values(index, input.as_slice().map_err(raise::wrong_value)?);
            set.map_err(|why| raise::session(py, &why))?;
        }
        drop(inputs);
        run_to_end(py, &mut session)?;
        let results = PyDict::new(py);
        for (index, output) in self.outputs.iter().enumerate() {
            let array = PyArray::<f16, _>::zeros(py, output.shape.clone(), false);
            let mut values = array.try_readwrite().map_err(raise::wrong_value)?;
            let taken = session.get_values(index, values.as_slice_mut().map_err(raise::wrong_value)?);
            taken.map_err(|why| raise::session(py, &why))?;
            drop(values);
            results.set_item(&output.name, array)?;
        }
        Ok(results)
    }
}

impl Session {
    /// An array for each input, dense and in the order of its axes.
    fn gather<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<PyReadonlyArrayDyn<'py, f16>>> {
        let mut found = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            match arrays.get_item(&input.name)? {
                Some(array) => found.push(dense(py, input, &array)?),
                None => {
                    let name = input.name.bind(py).repr()?;
                    return Err(raise::wrong_type(format!("input {name} is missing; {}", self.wanted(py)?)));
                }
            }
        }
        if arrays.len() > found.len() {
            for name in arrays.keys() {
                let known = self.inputs.iter().map(|input| input.name.bind(py).as_any().eq(&name));
                if !known.collect::<PyResult<Vec<bool>>>()?.contains(&true) {
                    let (name, wanted) = (name.repr()?, self.wanted(py)?);
                    return Err(raise::wrong_type(format!("the program has no input {name}; {wanted}")));
                }
            }
        }
        Ok(found)
    }

    /// The program's inputs, for messages.
    fn wanted(&self, py: Python<'_>) -> PyResult<String> {
        let named =
            self.inputs.iter().map(|input| Ok(format!("{} {:?}", input.name.bind(py).repr()?, input.shape)));
        let named: Vec<String> = named.collect::<PyResult<_>>()?;
        Ok(match named.len() {
            0 => "it has no inputs".to_owned(),
            _ => format!("its inputs are {}", named.join(", ")),
        })
    }
}

/// The array of an input, copied only if its elements do not lie as a C program would have them.
fn dense<'py>(
    py: Python<'py>,
    input: &Operand,
    given: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArrayDyn<'py, f16>> {
    let name = || input.name.bind(py).repr().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let Ok(array) = given.cast::<PyUntypedArray>() else {
        let kind = given.get_type().fully_qualified_name()?;
        return Err(raise::wrong_type(format!(
            "input {} is a {kind}; wanted is a numpy.ndarray of float16",
            name()
        )));
    };
    let Ok(halves) = array.cast::<PyArrayDyn<f16>>() else {
        let dtype = array.dtype();
        return Err(raise::wrong_type(format!(
            "input {} has dtype {dtype}; the engine takes float16 of this machine's byte order: x.astype(numpy.float16)",
            name()
        )));
    };
    if !fits(halves.shape(), &input.shape) {
        return Err(raise::wrong_value(format!(
            "input {} has shape {:?}, the program wants {:?}, or the same without axes of length 1",
            name(),
            halves.shape(),
            input.shape
        )));
    }
    let array = if halves.is_c_contiguous() && halves.is_aligned() {
        halves.clone()
    } else {
        let copied = py.import("numpy")?.call_method1("require", (halves, py.None(), ["C", "A"]))?;
        copied.cast_into::<PyArrayDyn<f16>>()?
    };
    array.try_readonly().map_err(raise::wrong_value)
}

/// Runs a session whose inputs are filled. A signal that Python turns into an exception ends the request too.
fn run_to_end(py: Python<'_>, session: &mut session::Session) -> PyResult<()> {
    let fence =
        py.detach(|| session.submit(&Submission::default())).map_err(|why| raise::session(py, &why))?;
    loop {
        let ended = py.detach(|| session.finish(fence, Some(SLICE)));
        match ended {
            Ok(()) => return Ok(()),
            Err(session::Error::Failed { outcome: Outcome::Pending, .. }) => {
                if let Err(interrupted) = py.check_signals() {
                    // It ends at its next task; its buffers are its own until then.
                    let _ = py.detach(|| {
                        session.device().cancel(fence, true)?;
                        session.device().wait(&[fence], ane::device::WaitFor::All, None)
                    });
                    return Err(interrupted);
                }
            }
            Err(why) => return Err(raise::session(py, &why)),
        }
    }
}
