//! A program: its file, and what can be told of it without a device.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ane::build::Built;
use ane::container::{self, Direction, Surface, anec, convert};
use ane::decode::{BlockReport, FieldReport, ProgramReport, RegisterFile, RegisterReport, TaskReport};
use ane::model::Model;
use ane::refusals::refusals;
use ane::sram;
use ane_device::options;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::apart::apart;
use crate::model::{Decided, Loaded};
use crate::raise;

/// A program, and the file that it came in.
#[pyclass(frozen, module = "ane._ane")]
pub(crate) struct Program {
    name: String,
    file: Vec<u8>,
    model: Model,
    tasks: u32,
    report: String,
}

#[pymethods]
impl Program {
    /// The program in a file: `.hwx`, `.anec`, or a model that is compiled first, told apart by content.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, decided: &Decided) -> PyResult<Self> {
        let (own, options, name) = (path.clone(), decided.0.clone(), path.display().to_string());
        let loaded = apart(py, move |_| Loaded::of_path(&own, options))?;
        let loaded = loaded.map_err(|why| why.raise(py, &name, Some(&path)))?;
        Ok(Self::of_loaded(name, loaded))
    }

    /// The program in the bytes of a file.
    #[staticmethod]
    fn read(py: Python<'_>, file: Vec<u8>, name: String, decided: &Decided) -> PyResult<Self> {
        let options = decided.0.clone();
        let loaded = apart(py, move |_| Loaded::of_any(file, &options))?;
        let loaded = loaded.map_err(|why| why.raise(py, &name, None))?;
        Ok(Self::of_loaded(name, loaded))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The file, as it was read or built.
    #[getter]
    fn file<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file)
    }

    /// The same program as an `.anec`.
    fn to_anec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let made = py.detach(|| -> Result<Vec<u8>, String> {
            let program = self.program().map_err(|why| why.to_string())?;
            if program.container == container::Container::Anec {
                return Ok(self.file.clone());
            }
            convert::to_anec(&program, anec::Form::Long).map_err(|why| why.to_string())
        });
        let hint = "such a program runs as it is; it cannot be written as an .anec";
        let file = made.map_err(|why| raise::format(py, &self.name, &why, hint))?;
        Ok(PyBytes::new(py, &file))
    }

    /// The program as a whole, as JSON.
    #[getter]
    fn report(&self) -> &str {
        &self.report
    }

    /// Tasks that can be followed along the chain.
    #[getter]
    const fn task_count(&self) -> u32 {
        self.tasks
    }

    /// Tasks `start` to `end`, as JSON: every word, with what it means.
    fn tasks(&self, py: Python<'_>, start: u32, end: u32) -> PyResult<String> {
        let told = py.detach(|| self.describe(start, end));
        told.map(|tasks| Value::from(tasks).to_string()).map_err(raise::wrong_value)
    }

    /// The tasks that the engine does not execute, as JSON.
    fn refusals(&self, py: Python<'_>) -> PyResult<String> {
        let told = py.detach(|| -> Result<Value, String> {
            let (found, _) = refusals(&self.program().map_err(|why| why.to_string())?);
            let told = found.iter().map(|refusal| {
                let mut value = serde_json::to_value(refusal).unwrap_or_default();
                value["hint"] = refusal.advice().into();
                value
            });
            Ok(told.collect())
        });
        told.map(|told| told.to_string()).map_err(raise::wrong_value)
    }

    /// The program's use of the chip's memory, and its time there, as JSON.
    fn memory(&self, py: Python<'_>, chip: &str) -> PyResult<String> {
        let soc = options::chip(chip).map_err(raise::wrong_value)?;
        let report = py.detach(|| -> Result<String, String> {
            let program = self.program().map_err(|why| why.to_string())?;
            serde_json::to_string(&sram::Occupancy::of(&program, soc)).map_err(|why| why.to_string())
        });
        report.map_err(raise::wrong_value)
    }
}

impl Program {
    pub(crate) const fn model(&self) -> &Model {
        &self.model
    }

    /// The program that a graph became.
    pub(crate) fn of_built(py: Python<'_>, built: &Built) -> PyResult<Self> {
        let file = built.to_anec().map_err(raise::wrong_value)?;
        let name = "graph".to_owned();
        let loaded = py.detach(|| Loaded::of_program(file)).map_err(|why| why.raise(py, &name, None))?;
        Ok(Self::of_loaded(name, loaded))
    }

    fn of_loaded(name: String, loaded: Loaded) -> Self {
        let Loaded { file, model, tasks, report } = loaded;
        Self { name, file, model, tasks, report }
    }

    fn program(&self) -> Result<container::Program<'_>, container::Error> {
        container::open(&self.file)
    }

    fn describe(&self, start: u32, end: u32) -> Result<Vec<Value>, String> {
        let program = self.program().map_err(|why| why.to_string())?;
        let whole = ProgramReport::of(&program);
        let mut registers = RegisterFile::default();
        let mut previous: Option<TaskReport> = None;
        let mut told = Vec::new();
        for task in program.tasks().map_err(|why| why.to_string())?.map_while(Result::ok) {
            if task.index >= end {
                break;
            }
            // Earlier tasks matter only for the registers that they leave, and for the header before.
            if task.index.saturating_add(1) < start {
                task.for_each_write(|address, value| {
                    registers.write(address, value);
                });
                continue;
            }
            let report = TaskReport::of(&task, &mut registers, previous.as_ref(), &whole.bars);
            if task.index >= start {
                told.push(described(&report));
            }
            previous = Some(report);
        }
        Ok(told)
    }
}

/// The program as a whole, as JSON.
pub(crate) fn report(program: &container::Program<'_>, model: &Model, tasks: u32) -> Result<String, String> {
    let mut report = serde_json::to_value(ProgramReport::of(program)).map_err(|why| why.to_string())?;
    // Arrays are given and taken by these names; the report's are made for terminals.
    report["inputs"] = surfaces(&model.inputs());
    report["outputs"] = surfaces(&model.outputs());
    let walk = program.tasks().map_err(|why| why.to_string());
    let damage = walk.map_or_else(Some, |mut tasks| tasks.find_map(Result::err).map(|why| why.to_string()));
    report["damage"] = damage.into();
    report["tasks"] = tasks.into();
    Ok(report.to_string())
}

fn surfaces(surfaces: &[&Surface<'static>]) -> Value {
    let names = unique_names(surfaces.iter().map(|surface| surface.name.as_ref()));
    let told = surfaces.iter().zip(names).map(|(surface, name)| {
        let (shape, strides) = (surface.shape, surface.strides);
        json!({
            "name": name,
            "direction": if surface.direction == Direction::Input { "input" } else { "output" },
            "bar": surface.bar,
            "element": surface.element.to_string(),
            "shape": [shape.n, shape.c, shape.h, shape.w],
            "array": surface.extents(),
            "strides": [strides.n, strides.c, strides.h, strides.w],
            "buffer_bytes": surface.buffer_bytes,
        })
    });
    told.collect()
}

/// A task with everything that is known of its words.
fn described(task: &TaskReport) -> Value {
    let header = task.header.iter().map(|word| register("header", word));
    let writes = |block: &BlockReport| -> Vec<Value> {
        block.registers.iter().map(|word| register(block.name, word)).collect()
    };
    json!({
        "index": task.index,
        "offset": task.offset.0,
        "bytes": task.bytes,
        "summary": task.summary,
        "changed": task.changed,
        "bases": task.bases,
        "header": header.collect::<Vec<_>>(),
        "registers": task.blocks.iter().flat_map(writes).collect::<Vec<_>>(),
    })
}

fn register(block: &str, word: &RegisterReport) -> Value {
    let field = |field: &FieldReport| {
        json!({
            "name": field.name,
            "bits": field.bits,
            "value": field.value,
            "shown": field.shown,
            "meaning": field.meaning,
            "value_meaning": field.value_meaning,
            "grade": field.grade.unwrap_or(word.grade),
        })
    };
    json!({
        "name": word.name,
        "block": block,
        "index": word.index,
        "address": word.address.0,
        "value": word.value.0,
        "was": word.was.map(|was| was.0),
        "fields": word.fields.iter().map(field).collect::<Vec<_>>(),
        "unknown_bits": word.unknown_bits.map_or(0, |bits| bits.0),
        "meaning": word.meaning,
        "grade": word.grade,
        "source": word.source,
    })
}

/// The names, with a number behind those that come again: arrays are found by them. A file may say anything.
pub(crate) fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let unique = |name: &str| {
        let others = (2..).map(|count| format!("{name}-{count}"));
        let found = std::iter::once(name.to_owned()).chain(others).find(|name| taken.insert(name.clone()));
        found.unwrap_or_default()
    };
    names.map(unique).collect()
}
