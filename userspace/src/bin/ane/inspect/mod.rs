//! `ane dart`, `regs`, `faults`, `trace` and `explain`: looking into a device.
//!
//! Either one in this process, on which a program was run just before, or a daemon's.

mod dart;
mod explain;
mod faults;
mod regs;
mod trace;

use std::path::Path;

use ane::device::{Device, Location};
use ane::inspect;
use ane::session::{self, Session};
use ane::tensor::Tensor;
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::args::Subject;
use crate::failure::{Advise, Exit, Failure};
use crate::{device, files, run};

pub(crate) use dart::run as dart;
pub(crate) use explain::run as explain;
pub(crate) use faults::run as faults;
pub(crate) use regs::run as regs;
pub(crate) use trace::run as trace;

/// A device to look into, and what was run on it.
pub(crate) struct Seen {
    pub(crate) device: Device,
    /// Keeps what is mapped.
    _session: Option<Session>,
    /// Why the run did not end well.
    pub(crate) failure: Option<String>,
}

impl Seen {
    /// The device of the arguments, after a run of their program.
    pub(crate) fn of(subject: &Subject) -> Result<Self> {
        if subject.model.is_none() && device::location(&subject.device)? == Location::Embedded {
            let what = "an embedded device has nothing to show before a program ran on it";
            return Err(Failure::new(Exit::CommandLine, what, "name a MODEL to run, or a --device").into());
        }
        let device = device::open(&subject.device)?;
        let Some(model) = &subject.model else {
            return Ok(Self { device, _session: None, failure: None });
        };
        let (session, outcome) = run_on(&device, model)?;
        let failure = outcome.err().map(|why| why.to_string());
        Ok(Self { device, _session: Some(session), failure })
    }

    /// What the device tells about `what`.
    pub(crate) fn ask<T: DeserializeOwned>(&self, what: &'static str) -> Result<T> {
        let text = match self.device.with_embedded(|driver| inspect::report(driver, what)) {
            Some(told) => Some(told.map_err(anyhow::Error::msg)?),
            None => {
                let location = self.device.location();
                self.device.report(what).map_err(|why| device::failure(&why, location))?
            }
        };
        let text = text.ok_or_else(|| {
            let what = format!("device {} does not tell about its {what}", self.device.location());
            Failure::new(Exit::NoDevice, what, "ask an `ane daemon`, or leave --device out and name a MODEL")
        })?;
        serde_json::from_str(&text)
            .context("the daemon's answer makes no sense")
            .advise(Exit::NoDevice, "it may be of another version; start it again")
    }
}

/// Runs a program on random inputs; how it ended is for the caller to tell.
pub(crate) fn run_on(device: &Device, model: &Path) -> Result<(Session, Result<(), session::Error>)> {
    let loaded = run::load(model)?;
    let mut session = Session::load(device, &loaded)
        .map_err(|why| device::session_failure(&why, device))
        .with_context(|| files::name(model))?;
    let shapes: Vec<_> = session.inputs().map(|surface| surface.shape).collect();
    for (index, shape) in shapes.into_iter().enumerate() {
        let tensor = Tensor::random(shape, index as u64);
        session.set(&index.to_string(), &tensor).map_err(|why| device::session_failure(&why, device))?;
    }
    let outcome = session.run();
    Ok((session, outcome))
}
