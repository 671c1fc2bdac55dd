//! Transfers behind a PE_MMU: stretch by stretch, each where its region leads.
//!
//! PE_MMU comes first and the window second, never the one instead of the other: what a region yields, and what
//! no region covers, is a device address like any other, and the window faults on what it does not map or on
//! what lies outside the aperture. A fault therefore names the address behind PE_MMU, which is the one that
//! reached the window. A transfer is cut wherever a region or a page of PE_MMU ends, so that no byte goes through
//! the wrong one; rows that lie in one stretch together are asked for once.
//!
//! A transfer pays for its questions once, though the device may look at it before it moves it: that it does so is how it
//! keeps a task that faults from writing, and no step of the hardware.

use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::pe_mmu::MAX_REGIONS;
use ane_uapi::hw::space::{Iova, IovaRange};

use super::fault::{FaultPolicy, Result};
use super::rows::Rows;
use super::stream::Access;
use super::translate::{Denied, Translator};
use crate::pe_mmu::PeMmu;

/// Stretches that one transfer may still be cut into.
///
/// A client may map single bytes, and rows may go through the same ones again and again. As many as a full table
/// has regions is more than any transfer needs; behind that it faults, as one for which there is no memory
/// (Chosen).
struct Budget(usize);

impl Translator<'_> {
    /// Plans a transfer, so that PE_MMU is asked once for each of its stretches, however often the transfer is planned.
    ///
    /// A look that finds no fault asks nothing: the transfer behind it does. Under the policy that has transfers wait, one that
    /// faults asks nothing either: it asks when it is tried again. (Where the host has no thread that could wait, it is never tried
    /// again, and is not counted.) Under the other policies a transfer that faults has asked.
    #[inline(never)]
    pub(super) fn ask_once<T>(&mut self, parts: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let asked = self.shared.before.as_deref().map(PeMmu::asked);
        let planned = parts(self);
        let asks_again =
            if planned.is_ok() { self.is_check } else { self.shared.policy == FaultPolicy::Stall };
        if let (true, Some(asked), Some(before)) = (asks_again, asked, &mut self.shared.before) {
            before.take_back(asked);
        }
        planned
    }

    /// Tells checking mode of a stretch that is moved.
    fn observe_moved(&mut self, span: IovaRange, access: Access) {
        if !self.is_check {
            self.observe(span, access);
        }
    }

    /// Translates `range` into pieces, by way of PE_MMU.
    #[inline(never)]
    pub(super) fn plan_behind(&mut self, range: IovaRange, access: Access) -> Result<()> {
        self.stretches(range, access, &mut Budget(MAX_REGIONS))
    }

    fn stretches(&mut self, range: IovaRange, access: Access, budget: &mut Budget) -> Result<()> {
        let mut at = u64::from(range.base().0);
        let end = u64::from(range.end().0);
        while at < end {
            self.spend(budget, range, access)?;
            let (to, len) = self.ask(at, end.saturating_sub(at));
            let part = IovaRange::new(to, len).map_err(|_| self.refuse(to, access))?;
            self.observe_moved(part, access);
            self.each_page(part, access)?;
            at = at.saturating_add(len);
        }
        Ok(())
    }

    /// Translates rows into pieces, by way of PE_MMU.
    pub(super) fn plan_rows_behind(&mut self, rows: Rows, access: Access) -> Result<()> {
        let mut budget = Budget(MAX_REGIONS);
        let mut row = 0;
        while row < rows.count() {
            let start = rows.start(row);
            let count = self.rows_in_stretch(rows, row);
            if count == 0 {
                // It goes on in another stretch; rows lie in the aperture by their type.
                let range = IovaRange::new(start.0.into(), rows.len().into());
                let range = range.map_err(|_| self.refuse(start.0.into(), access))?;
                self.stretches(range, access, &mut budget)?;
                row = row.saturating_add(1);
                continue;
            }
            self.spend(&mut budget, rows.span(), access)?;
            let (to, _) = self.ask(start.0.into(), rows.len().into());
            let part = Rows::new(to, rows.len(), rows.stride(), count);
            let part = part.map_err(|_| self.refuse(to, access))?;
            self.observe_moved(part.span(), access);
            self.each_row(part, access)?;
            row = row.saturating_add(count);
        }
        Ok(())
    }

    /// How many rows from `row` on lie in one stretch, each from end to end.
    fn rows_in_stretch(&self, rows: Rows, row: u32) -> u32 {
        let left = rows.count().saturating_sub(row).saturating_sub(1);
        let (len, stride) = (u64::from(rows.len()), u64::from(rows.stride()));
        let all = stride.saturating_mul(left.into()).saturating_add(len);
        let there = match &self.shared.before {
            Some(before) => before.mmu().stretch(rows.start(row).0.into(), all).len,
            None => all,
        };
        let Some(room) = there.checked_sub(len) else { return 0 };
        let more = room.checked_div(stride).unwrap_or(u64::MAX);
        u32::try_from(more).unwrap_or(u32::MAX).min(left).saturating_add(1)
    }

    fn spend(&mut self, budget: &mut Budget, span: IovaRange, access: Access) -> Result<()> {
        match budget.0.checked_sub(1) {
            Some(left) => {
                budget.0 = left;
                Ok(())
            }
            None => {
                let at: Iova = span.base();
                Err(self.fail_before_pe_mmu(Denied::new(HwError::NoMemory, at), span, access))
            }
        }
    }

    /// Where an address leads, and how far.
    fn ask(&mut self, va: u64, len: u64) -> (u64, u64) {
        match &mut self.shared.before {
            Some(before) => {
                let found = before.ask(self.circuit, va, len);
                (found.pa, found.len)
            }
            None => (va, len),
        }
    }
}
