//! The state of the device in words, for a person who wonders what it is doing.

use std::fmt::Write as _;

use ane_uapi::hw::tq::QueueId;
use vm_memory::GuestMemory;

use super::Ane;
use crate::counters::{Counters, Report};
use crate::engine::Engine;
use crate::event::Fault;
use crate::refusal::Category;
use crate::timing::usage::Usage;
use crate::tm::events::Line;

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// The state in words, for a person who wonders what the device is doing.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_dump(&mut text);
        text
    }

    fn write_dump(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "{}", self.identity)?;
        writeln!(
            text,
            "status    {:#x}{}",
            self.status().into_bits(),
            if self.dart.is_dead() { " (dead)" } else { "" }
        )?;
        match self.tm.running() {
            Some(running) => {
                let request = &running.request;
                writeln!(
                    text,
                    "running   {}, {}, {}, task {} of {}, descriptor at {:#x}{}",
                    request.queue,
                    request.nid,
                    request.stream,
                    running.task,
                    request.info.tasks(),
                    running.address,
                    if running.stuck.is_some() { ", stuck" } else { "" }
                )?;
            }
            None => writeln!(text, "running   nothing")?,
        }
        for queue in QueueId::ALL {
            if let Some(state) = self.tm.queue(queue)
                && (state.is_in_use() || state.free() != 2)
            {
                writeln!(text, "{queue}  {} free sets", state.free())?;
            }
        }
        if let Some(failure) = self.tm.last_failure() {
            writeln!(text, "failed    {failure}")?;
        }
        for line in Line::ALL {
            let events = self.tm.events();
            writeln!(
                text,
                "line {}    {} waiting, {} lost",
                line.number(),
                events.waiting(line),
                events.lost(line)
            )?;
        }
        if let Some(Fault { window, info, .. }) = &self.last_fault {
            writeln!(text, "fault     in {window}")?;
            for line in info.to_string().lines() {
                writeln!(text, "          {line}")?;
            }
        }
        let Counters { requests_done, requests_failed, tasks_done, refused, hazards, usage } = self.counters;
        writeln!(text, "requests  {requests_done} done, {requests_failed} failed; {tasks_done} tasks done")?;
        if !self.inferred.is_none() {
            writeln!(text, "inferred  {}", self.inferred)?;
        }
        writeln!(
            text,
            "bytes     {} read, {} written",
            self.report(Report::BytesRead),
            self.report(Report::BytesWritten)
        )?;
        let Usage { cycles, compute, kernel_stalls, bank_stalls, bank_conflicts, .. } = usage;
        writeln!(
            text,
            "modelled  {cycles} cycles, {compute} of them computing, {kernel_stalls} waiting for coefficients, \
             {bank_stalls} for banks; {bank_conflicts} bank conflicts"
        )?;
        if self.dart.before().is_some() {
            writeln!(text, "fabric    {} picoseconds for messages to PE_MMU", self.fabric_ps)?;
        }
        write!(text, "refused  ")?;
        for (category, count) in Category::ALL.iter().zip(refused) {
            write!(text, " {count} {category};")?;
        }
        writeln!(text, " {hazards} hazards; {} events lost", self.events.lost())
    }
}
