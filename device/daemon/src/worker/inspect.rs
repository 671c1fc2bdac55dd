//! The questions of the control socket to an engine: between two turns, and without changing what the guest sees.

use std::fmt::Write as _;

use ane_device::counters::Counters;
use ane_device::dart::CheckReport;
use ane_device::inject::Injection;
use ane_device::refusal::Category;
use ane_uapi::hw::lookup::Place;

use super::Worker;

impl Worker {
    pub(crate) fn dump(&self) -> String {
        let health = if self.failed { "failed, waits for a reset" } else { "sound" };
        format!(
            "{}\nfront: {health}, {} memory regions, next event {}, {} events dropped since the last\n",
            self.ane.dump().trim_end(),
            vm_memory::GuestMemoryBackend::num_regions(&self.memory),
            self.sequence,
            self.events_dropped,
        )
    }

    /// Arms a fault, until it has gone off, is cleared, or the frontend leaves.
    pub(crate) fn inject(&mut self, injection: Injection) {
        self.ane.inject(injection);
    }

    /// True if the device looks for what silicon lets pass.
    pub(crate) const fn is_checking(&self) -> bool {
        self.options.check
    }

    pub(crate) fn clear_injections(&mut self) {
        self.ane.clear_injections();
    }

    pub(crate) fn injections(&self) -> Vec<Injection> {
        self.ane.injections()
    }

    /// The findings of checking mode since last asked.
    pub(crate) fn take_findings(&mut self) -> Vec<CheckReport> {
        let mut findings = std::mem::take(&mut self.findings);
        findings.extend(self.ane.take_reports());
        findings
    }

    /// The number of findings since last asked that were dropped, because they were not asked for in time.
    pub(crate) fn take_findings_lost(&mut self) -> u64 {
        std::mem::take(&mut self.findings_lost).saturating_add(self.ane.take_reports_lost())
    }

    /// The counts since the last reset, by name.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let &Counters { requests_done, requests_failed, tasks_done, refused, hazards, usage } =
            self.ane.counters();
        let named = [
            ("requests-done", requests_done),
            ("requests-failed", requests_failed),
            ("tasks-done", tasks_done),
            ("bytes-read", self.ane.dart().bytes_read()),
            ("bytes-written", self.ane.dart().bytes_written()),
            ("hazards", hazards),
            ("model-cycles", usage.cycles),
            ("model-compute-cycles", usage.compute),
            ("model-kernel-stall-cycles", usage.kernel_stalls),
            ("model-bank-stall-cycles", usage.bank_stalls),
            ("model-bank-conflicts", usage.bank_conflicts),
            ("pe-mmu-fabric-picoseconds", self.ane.fabric_ps()),
            ("events-lost", self.ane.events_lost()),
        ];
        let refused = Category::ALL
            .iter()
            .zip(refused)
            .map(|(category, count)| (format!("refused-{}", category.name().replace(' ', "-")), count));
        named.into_iter().map(|(name, count)| (name.to_owned(), count)).chain(refused).collect()
    }

    /// Every register that can be read without changing anything: where it is, and what it holds, a line each.
    pub(crate) fn registers(&mut self) -> String {
        let now = self.now();
        let line = |(place, value): (Place, u32)| format!("{:#x} {value:#x}\n", place.at.0);
        self.ane.registers_shown(now).into_iter().map(line).collect()
    }

    /// The mappings in the streams' tables, as the DART would walk them.
    pub(crate) fn tables(&self) -> String {
        self.ane.dart().tables_text(&self.memory)
    }

    /// If a window holds a fault, why the last request failed, and the state.
    pub(crate) fn faults(&self) -> String {
        let is_latched = self.ane.dart().line().is_some();
        let mut text = format!("fault {}\n", if is_latched { "latched" } else { "clear" });
        let failure = self.ane.task_manager().last_failure().map(ToString::to_string);
        for (name, told) in [("failure", failure), ("device", Some(self.dump()))] {
            let Some(told) = told else { continue };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}");
            told.lines().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
        text
    }

    /// Keeps what happens from now on, or forgets it.
    pub(crate) fn keep_timeline(&mut self, is_wanted: bool) {
        self.trace.take(self.ane.timeline_mut());
        if self.trace.keep(is_wanted) {
            self.ane.set_timeline(self.trace.timeline());
        }
    }

    /// The latest records, if they are kept.
    pub(crate) fn timeline(&mut self) -> Option<String> {
        self.trace.take(self.ane.timeline_mut());
        self.trace.text()
    }
}
