//! The end of a program: its handle goes first, and its buffers with its last request.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::usage::Usage;

use super::Clients;
use crate::bo::{Holder, Use};
use crate::bus::Bus;
use crate::hardware::Hardware;
use crate::program::{Part, ProgramId};

impl Clients {
    /// A program's handle is gone. It goes with its last request.
    pub(crate) fn destroy_program<B: Bus>(&mut self, hardware: &mut Hardware<B>, id: ProgramId) {
        let Some(program) = self.programs.get_mut(id) else { return };
        program.is_destroyed = true;
        if program.in_flight == 0 {
            self.end_program(hardware, id);
        }
    }

    /// A request of a program has ended.
    pub(crate) fn leave_program<B: Bus>(&mut self, hardware: &mut Hardware<B>, id: ProgramId) {
        let Some(program) = self.programs.get_mut(id) else { return };
        program.in_flight = program.in_flight.saturating_sub(1);
        if program.in_flight == 0 && program.is_destroyed {
            self.end_program(hardware, id);
        }
    }

    fn end_program<B: Bus>(&mut self, hardware: &mut Hardware<B>, id: ProgramId) {
        let Some(program) = self.programs.remove(id) else { return };
        if let Some(of) = hardware.contexts().of(program.file) {
            release(hardware, of, &program.parts, true);
        }
        if let Some(known) = self.files.get_mut(&program.file)
            && let Ok(pool) = known.pool_mut(program.pool)
        {
            pool.programs = pool.programs.saturating_sub(1);
        }
    }
}

/// Lets go of a program's buffers, which have their places for good if they are kept.
pub(crate) fn release<B: Bus>(hardware: &mut Hardware<B>, of: ContextId, parts: &[Part], is_kept: bool) {
    let Some((_, space)) = hardware.reach(of) else { return };
    let uses: Vec<Use> = parts.iter().map(|part| part.used).collect();
    if is_kept {
        space.unkeep(&uses);
    }
    for part in parts.iter().rev() {
        if part.is_own_mapping {
            let usage = if part.usage.is_firmware() { Usage::Intermediate } else { part.usage };
            // Nothing uses it any more: its program had it alone.
            let _ = space.unmap(part.used.buffer, part.used.mapping, usage as u32);
        }
        space.release(part.used.buffer, Holder::Program);
    }
}
