//! A summary of the engine's work, from the device's own timeline.

use std::collections::BTreeMap;

use ane_device::trace::{Record, What};
use ane_uapi::hw::td::common::TaskClass;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// A circuit, or an engine.
    pub what: String,
    pub events: u64,
    pub bytes: u64,
    /// Multiplications with a coefficient.
    pub macs: u64,
    /// Time that they took on this machine.
    pub nanoseconds: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub requests: u64,
    pub passes: u64,
    pub faults: u64,
    /// By circuit, then by engine.
    pub rows: Vec<Row>,
}

/// A summary that grows, for a timeline that is taken out in parts.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    requests: u64,
    passes: u64,
    faults: u64,
    /// By circuit, then by engine.
    rows: BTreeMap<(u32, &'static str), Row>,
}

impl Tally {
    pub fn add(&mut self, record: &Record) {
        let (place, name, bytes, macs) = match record.event.what {
            What::Transfer { circuit, bytes } => (circuit.axi_master(), circuit.name(), bytes, 0),
            What::Pass { class: TaskClass::Neural, macs, .. } => (100, "neural engine", 0, macs),
            What::Pass { macs, .. } => (101, "planar engine", 0, macs),
            What::RequestBegin { .. } => {
                // One that gave way begins again, with a later task.
                self.requests += u64::from(record.event.task.index == 0);
                return;
            }
            What::Fault { .. } => {
                self.faults += 1;
                return;
            }
            // The work of PE_MMU is part of the transfers, and virtual time is shown elsewhere.
            What::RequestEnd { .. }
            | What::RequestAside
            | What::Modelled { .. }
            | What::Fallback { .. }
            | What::Unpaid { .. }
            | What::TranslationWait { .. } => return,
        };
        self.passes += u64::from(place >= 100);
        let row = self.rows.entry((place, name)).or_default();
        row.events += 1;
        row.bytes += bytes;
        row.macs += macs;
        row.nanoseconds += record.end.0.saturating_sub(record.start.0);
    }

    pub fn summary(self) -> Summary {
        let Self { requests, passes, faults, rows } = self;
        let named = rows.into_iter().map(|((_, name), row)| Row { what: name.to_owned(), ..row });
        Summary { requests, passes, faults, rows: named.collect() }
    }
}
