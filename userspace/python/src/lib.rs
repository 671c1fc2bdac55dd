//! `ane._ane`: the part of the Python package that is Rust.
//!
//! The package in `ane/` is what people import: it has the names, the types and the documentation. This module has what
//! Python cannot do by itself: files decoded, devices opened, arrays moved, programs run. Reports cross the border as
//! JSON text and become typed objects there; arrays cross it as memory, without a copy.
//!
//! * `program`: a program out of a file or a graph, and what can be told of it without a device.
//! * `model`: files that become programs, and models beside double precision.
//! * `apart`: long work that a signal can end.
//! * `device`: a device, its counters, its timeline.
//! * `session`: a program on a device; where arrays go in and out.
//! * `graph`: the builder of programs.
//! * `owned`: who may touch what: one thread at a time, and no child of `fork`.
//! * `raise`: errors as the exceptions of `ane/_errors.py`.

mod apart;
mod device;
mod graph;
mod model;
mod owned;
mod program;
mod raise;
mod session;

use pyo3::prelude::*;

/// The module that Python imports as `ane._ane`.
#[pymodule]
fn _ane(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<program::Program>()?;
    module.add_class::<model::Decided>()?;
    module.add_function(wrap_pyfunction!(model::compare, module)?)?;
    module.add_class::<device::Device>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<graph::Graph>()
}
