//! A device: opened, asked, watched.

use std::num::NonZero;
use std::time::Instant;

use ane::device::{self, Location, Scope};
use ane::inspect::{Source, Tables};
use ane_device::counters::Report;
use ane_device::options::{self, Options};
use ane_device::timing::Machine;
use ane_device::trace::chrome::Writer;
use ane_device::trace::{Clock, Timeline};
use ane_uapi::ioctl::param::Param;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};

use crate::owned::Owned;
use crate::raise;

/// A device, until it is closed.
#[pyclass(frozen, module = "ane._ane")]
pub(crate) struct Device {
    open: Owned<Option<device::Device>>,
    location: Location,
    options: Options,
}

#[pymethods]
impl Device {
    /// Opens it. The options are those of a device that is made here; one that is there already has its own.
    #[new]
    #[pyo3(signature = (*, location, chip, numerics, hang, strict, check, threads, inject))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
    fn new(
        py: Python<'_>,
        location: Option<&str>,
        chip: Option<&str>,
        numerics: Option<&str>,
        hang: Option<&str>,
        strict: bool,
        check: bool,
        threads: Option<u16>,
        inject: Vec<String>,
    ) -> PyResult<Self> {
        let location = match location {
            Some(words) => words.parse(),
            None => Location::of_environment(),
        };
        let location: Location = location.map_err(raise::wrong_value)?;
        let is_default = chip.is_none()
            && numerics.is_none()
            && hang.is_none()
            && !strict
            && !check
            && threads.is_none()
            && inject.is_empty();
        if location != Location::Embedded && !is_default {
            let what = format!(
                "device {location} is there already: chip, numerics and the other options are given to the program that makes it"
            );
            return Err(raise::wrong_value(what));
        }
        let mut made = Options { strict, check, ..Options::default() };
        if let Some(name) = chip {
            made.chip = options::chip(name).map_err(raise::wrong_value)?;
        }
        if let Some(name) = numerics {
            made.numerics = name.parse().map_err(|why: options::UnknownValue| raise::wrong_value(why))?;
        }
        if let Some(name) = hang {
            made.hang = name.parse().map_err(|why: options::UnknownValue| raise::wrong_value(why))?;
        }
        made.threads = threads
            .and_then(|threads| NonZero::new(usize::from(threads)))
            .or_else(|| std::thread::available_parallelism().ok())
            .unwrap_or(NonZero::<usize>::MIN);
        for words in &inject {
            made.inject.push(words.parse().map_err(raise::wrong_value)?);
        }
        let opened = py.detach(|| device::Device::open(&location, &made));
        let opened = opened.map_err(|why| raise::device(py, &why))?;
        Ok(Self { open: Owned::new("this device", Some(opened)), location, options: made })
    }

    /// Closes it; programs that are on it keep it until they are gone.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = self.open.hold(py)?.take();
        py.detach(|| drop(closed));
        Ok(())
    }

    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open.hold(py)?.is_none())
    }

    #[getter]
    fn location(&self) -> String {
        self.location.to_string()
    }

    /// The chip as the driver has it.
    #[getter]
    fn chip(&self, py: Python<'_>) -> PyResult<String> {
        let device = self.device(py)?;
        let chip = py.detach(|| device.parameter(Param::Chip)).map_err(|why| raise::device(py, &why))?;
        Ok(format!("t{chip:x}"))
    }

    /// The arithmetic, of a device in this process.
    #[getter]
    fn numerics(&self) -> Option<&'static str> {
        (self.location == Location::Embedded).then(|| self.options.numerics.name())
    }

    /// The driver's counters, as JSON.
    fn statistics(&self, py: Python<'_>) -> PyResult<String> {
        let device = self.device(py)?;
        let counted =
            py.detach(|| device.statistics(Scope::Device)).map_err(|why| raise::device(py, &why))?;
        let counters: Map<_, _> =
            counted.iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        Ok(Value::from(counters).to_string())
    }

    /// The engine's counters, and the virtual time that it took, as JSON.
    fn counters(&self, py: Python<'_>) -> PyResult<String> {
        let generation = self.options.chip.chip().generation;
        let told = self.embedded(py, "tells its counters through its registers alone", move |device| {
            device.with_embedded(|driver| {
                let ane = driver.bus_mut().device_mut().ane();
                let cycles = ane.report(Report::Cycles);
                json!({
                    "bytes_read": ane.report(Report::BytesRead),
                    "bytes_written": ane.report(Report::BytesWritten),
                    "tasks": ane.report(Report::Tasks),
                    "requests": ane.report(Report::Requests),
                    "cycles": cycles,
                    "compute_cycles": ane.report(Report::ComputeCycles),
                    "kernel_stall_cycles": ane.report(Report::KernelStallCycles),
                    "bank_stall_cycles": ane.report(Report::BankStallCycles),
                    "bank_conflicts": ane.report(Report::BankConflicts),
                    "virtual_nanoseconds": Machine::of(generation).nanoseconds(cycles),
                    "inferred": Some(ane.inferred()).filter(|inferred| !inferred.is_none()).map(|i| i.to_string()),
                })
                .to_string()
            })
        })?;
        Ok(told)
    }

    /// The findings of checking mode since the last call.
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.embedded(py, "prints its findings itself", |device| {
            device.with_embedded(|driver| {
                let ane = driver.bus_mut().device_mut().ane();
                let lost = ane.take_reports_lost();
                let lost = (lost > 0).then(|| format!("{lost} more were dropped: nobody asked in time"));
                ane.take_reports().iter().map(ToString::to_string).chain(lost).collect()
            })
        })
    }

    /// The mappings of each context, as JSON.
    fn memory_map(&self, py: Python<'_>) -> PyResult<String> {
        let device = self.device(py)?;
        let tables = py.detach(|| Tables::of(&Source::Driver(device)));
        let tables = tables.map_err(|why| raise::report(py, &why))?;
        serde_json::to_string(&tables).map_err(raise::wrong_value)
    }

    /// Notes what happens from now on. One trace at a time: a second would take the events of the first.
    fn start_trace(&self, py: Python<'_>) -> PyResult<()> {
        let is_free = self.embedded(py, "keeps its timeline to itself", |device| {
            device.with_embedded(|driver| {
                let ane = driver.bus_mut().device_mut().ane();
                let is_free = !ane.timeline_mut().is_on();
                if is_free {
                    ane.set_timeline(Timeline::on(Clock::since(Instant::now()), Timeline::CAPACITY));
                }
                is_free
            })
        })?;
        if is_free { Ok(()) } else { Err(raise::traced(py)) }
    }

    /// The events since the start, as a Chrome trace.
    fn stop_trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (records, lost) = self.embedded(py, "keeps its timeline to itself", |device| {
            device.with_embedded(|driver| {
                let ane = driver.bus_mut().device_mut().ane();
                let lost = ane.timeline_mut().take_lost();
                let records: Vec<_> = ane.timeline_mut().drain().collect();
                ane.set_timeline(Timeline::off());
                (records, lost)
            })
        })?;
        let mut file = Vec::new();
        let written = py.detach(|| {
            let mut writer = Writer::new(&mut file)?;
            records.iter().try_for_each(|record| writer.write(record))?;
            writer.finish(lost)
        });
        written.map_err(|why| raise::system(&why, None))?;
        Ok(PyBytes::new(py, &file))
    }
}

impl Device {
    /// The open device.
    pub(crate) fn device(&self, py: Python<'_>) -> PyResult<device::Device> {
        self.open.hold(py)?.clone().ok_or_else(|| raise::unable(py, "this device is closed"))
    }

    /// Does something with driver and device, which both have to be in this process.
    fn embedded<R: Send>(
        &self,
        py: Python<'_>,
        otherwise: &str,
        action: impl FnOnce(&device::Device) -> Option<R> + Send,
    ) -> PyResult<R> {
        let device = self.device(py)?;
        let done = py.detach(|| action(&device));
        done.ok_or_else(|| raise::unable(py, &format!("device {} {otherwise}", self.location)))
    }
}
