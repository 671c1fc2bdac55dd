//! Errors of the libraries as exceptions: the classes are Python's, in `ane/_errors.py`.

use std::path::Path;

use ane::build::BuildError;
use ane::device::{self, Outcome};
use ane::inspect::ReportError;
use ane::model::{self, Remedy};
use ane::refusals::{Refusal, register_at};
use ane::session;
use ane_device::engine::EngineError;
use ane_device::td::fetch::FetchError;
use ane_device::tm::error::{Failure, RequestError};
use ane_uapi::hw::fault::IoDartErrorInfo;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// An exception of the package, made from its class's name and keyword arguments.
fn exception(py: Python<'_>, class: &str, message: &str, details: &Value) -> PyErr {
    let made = py.import("ane._errors").and_then(|module| {
        let keywords = PyDict::new(py);
        let json = py.import("json")?.call_method1("loads", (details.to_string(),))?;
        keywords.update(json.cast()?)?;
        module.getattr(class)?.call((message,), Some(&keywords))
    });
    match made {
        Ok(made) => PyErr::from_value(made),
        // The interpreter is about to end and has no modules any more, or memory is short.
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}

/// An object of the parent process, used in a child.
pub(crate) fn forked(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("{what} belongs to the process that opened it, and this is a child of that one");
    let hint = "open a device in the child, or start it with the method \"spawn\"";
    exception(py, "ForkError", &message, &json!({ "hint": hint }))
}

/// An object that this thread is using already.
pub(crate) fn busy(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("{what} is in use by this very thread");
    let hint =
        "do not run a program from a signal handler or a destructor that can interrupt another run of it";
    exception(py, "BusyError", &message, &json!({ "hint": hint }))
}

/// A file that holds no program.
pub(crate) fn format(py: Python<'_>, name: &str, why: &str, hint: &str) -> PyErr {
    exception(py, "FormatError", &format!("{name}: {why}"), &json!({ "hint": hint }))
}

/// A model that becomes no program, with what of it cannot be mapped.
pub(crate) fn model(py: Python<'_>, name: &str, why: &model::ModelError) -> PyErr {
    let remedy = |remedy: Remedy<'_>| match remedy {
        Remedy::Bind(name) => format!("ane.load(path, bind={{{name:?}: array}})"),
        Remedy::Extent(name) => format!("ane.load(path, dims={{{name:?}: 1}})"),
        Remedy::Cut(name) => format!("ane.load(path, cut=[{name:?}])"),
    };
    let problems: Vec<Value> = match why {
        model::ModelError::Problems(problems) => {
            let told = problems.iter().map(|problem| {
                json!({
                    "operation": problem.operation,
                    "name": problem.name,
                    "shapes": problem.shapes,
                    "reason": problem.why.to_string(),
                    "hint": problem.why.remedy().map(remedy),
                })
            });
            told.collect()
        }
        _ => Vec::new(),
    };
    let first =
        problems.iter().find_map(|problem| problem["hint"].as_str()).map(|hint| format!("try {hint}"));
    let hint = first.unwrap_or_else(|| "docs/models.md says what of a model is mapped".to_owned());
    exception(py, "ModelError", &format!("{name}: {why}"), &json!({ "hint": hint, "problems": problems }))
}

/// A graph that cannot be built.
pub(crate) fn build(py: Python<'_>, why: &BuildError) -> PyErr {
    exception(py, "BuildError", &why.to_string(), &json!({}))
}

/// An argument of the wrong type.
pub(crate) fn wrong_type(message: String) -> PyErr {
    PyTypeError::new_err(message)
}

/// An argument of the wrong value.
pub(crate) fn wrong_value(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// The system's error about a file: of a missing one, `FileNotFoundError`, as Python's own `open` does.
pub(crate) fn system(why: &std::io::Error, file: Option<&Path>) -> PyErr {
    // Python makes the class and the message of the number.
    let arguments = (why.raw_os_error(), why.to_string(), file.map(|file| file.display().to_string()));
    PyOSError::new_err(arguments)
}

pub(crate) fn device(py: Python<'_>, why: &device::Error) -> PyErr {
    let hint = if why.is_device_missing() {
        "start it, check the location, or leave `location` out to use an embedded device"
    } else {
        "`ane doctor` checks each layer"
    };
    exception(py, "DeviceError", &why.to_string(), &json!({ "hint": hint }))
}

/// Something that a device, or one in its state, does not do.
pub(crate) fn unable(py: Python<'_>, message: &str) -> PyErr {
    let hint = "ane.Device() makes a device in this process, which does all of it";
    exception(py, "DeviceError", message, &json!({ "hint": hint }))
}

/// A device of which a trace is being made.
pub(crate) fn traced(py: Python<'_>) -> PyErr {
    let hint = "leave the `with` block of the other trace first";
    exception(py, "DeviceError", "a trace of this device is being made already", &json!({ "hint": hint }))
}

/// An error of a device that gave no report.
pub(crate) fn report(py: Python<'_>, why: &ReportError) -> PyErr {
    let hint = match why {
        ReportError::Device(device::Error::Forbidden { .. }) => {
            "run as root or as the daemon's own user, or leave `location` out to use an embedded device"
        }
        ReportError::Device(why) => return device(py, why),
        ReportError::Unknown { .. } => return unable(py, &why.to_string()),
        ReportError::Refused(_) | ReportError::Control { .. } => "ask again when it is there",
        ReportError::Nonsense { .. } => "who answers may be of another version; start it again",
    };
    exception(py, "DeviceError", &why.to_string(), &json!({ "hint": hint }))
}

/// An error of a program on a device, with what the device says of the request that failed.
pub(crate) fn session(py: Python<'_>, why: &session::Error) -> PyErr {
    let (outcome, fault, reason, failure) = match why {
        session::Error::Device(why) => return device(py, why),
        session::Error::Failed { outcome, fault, reason, failure } => (outcome, fault, reason, failure),
        _ => return wrong_value(why),
    };
    let message = reason.clone().unwrap_or_else(|| why.to_string());
    let mut details = json!({ "outcome": outcome_text(outcome), "reason": reason });
    let mut class = "RunError";
    if let Some(failure) = failure {
        details["task"] = failure.task.into();
        class = describe(&mut details, failure);
    }
    if let Some(fault) = fault {
        class = "FaultError";
        put_fault(&mut details, fault.info(), &format!("{fault:#}"));
    }
    if details["hint"].is_null() {
        details["hint"] = hint(class).into();
    }
    exception(py, class, &message, &details)
}

/// Writes a failure as details of an exception, and gives the exception's class.
fn describe(details: &mut Value, failure: &Failure) -> &'static str {
    if let Some(refusal) = Refusal::of(failure) {
        put_refusal(details, &refusal);
        return "RefusedError";
    }
    match failure.error {
        RequestError::Engine(EngineError::Fault { address })
        | RequestError::Fetch(FetchError::Fault { address }) => {
            details["address"] = address.into();
            "FaultError"
        }
        RequestError::Deadline { hung } => {
            if let Some((address, value)) = hung {
                details["register"] = register_at(address).map(|register| register.name).into();
                details["address"] = address.into();
                details["value"] = value.into();
            }
            "HangError"
        }
        _ => "RunError",
    }
}

fn put_refusal(details: &mut Value, refusal: &Refusal) {
    let &Refusal { register, field, address, bits, value, category, .. } = refusal;
    details["hint"] = refusal.advice().into();
    for (name, told) in [
        ("register", register.into()),
        ("field", field.into()),
        ("address", address.into()),
        ("bits", bits.into()),
        ("value", value.into()),
        ("category", category.into()),
    ] {
        details[name] = told;
    }
}

fn put_fault(details: &mut Value, info: &IoDartErrorInfo, text: &str) {
    details["address"] = info.address.get().into();
    details["write"] = (info.is_write() == Ok(true)).into();
    details["fault"] = text.into();
}

fn outcome_text(outcome: &Outcome) -> String {
    outcome.to_string()
}

fn hint(class: &str) -> &'static str {
    match class {
        "FaultError" => {
            "`device.memory_map()` shows what is mapped, `program.tasks[i].bases` what the task reads and writes"
        }
        "HangError" => "real silicon hangs on it too; ane.Device(hang=\"report\") says so at once",
        _ => "`program.refusals` lists the tasks that the engine does not execute",
    }
}
