//! Table bases: where a stream's page tables begin.
//!
//! Bit 31 says that the base is there, the rest is the physical address in units of 4 KB. The word
//! `0x90022320`, read from a live machine, is the table at `0x10022320000`.

use thiserror::Error;

use crate::hw::space::PhysAddr;
use crate::layout;
use crate::register::Show;

layout! {
    /// A translation-table base: one of four per stream.
    pub struct Ttbr {
        /// Physical address of the table, in units of 4 KB.
        #[bits(31)] frame: u32 => Show::Hex; Measured,
        /// The base is there.
        #[bits(1)] valid: bool; Measured
    }
}

/// Bits by which the frame is shifted (seed 000; measured).
pub const SHIFT: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadTableBase {
    #[error("table base at {0} is no multiple of 4 KB")]
    Misaligned(PhysAddr),
    #[error("table base at {0} needs more than 43 bits")]
    TooHigh(PhysAddr),
}

impl Ttbr {
    /// The base that names `table`.
    ///
    /// # Errors
    ///
    /// Refuses an address that the register cannot hold. A table fills a page, so a driver aligns it to
    /// 16 KB; the register would hold less.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane_uapi::hw::dart::ttbr::Ttbr;
    /// use ane_uapi::hw::space::PhysAddr;
    ///
    /// assert_eq!(Ttbr::from_bits(0x9002_2320).table(), Some(PhysAddr(0x100_2232_0000)));
    /// assert_eq!(Ttbr::of(PhysAddr(0x100_2232_0000)).map(Ttbr::into_bits), Ok(0x9002_2320));
    /// assert_eq!(Ttbr::new().table(), None);
    /// ```
    pub const fn of(table: PhysAddr) -> Result<Self, BadTableBase> {
        if !table.is_aligned(1 << SHIFT) {
            return Err(BadTableBase::Misaligned(table));
        }
        let frame = table.0 >> SHIFT;
        if frame >> 31 != 0 {
            return Err(BadTableBase::TooHigh(table));
        }
        Ok(Self::from_bits(frame as u32).with_valid(true))
    }

    /// The table, if the base is there.
    pub const fn table(self) -> Option<PhysAddr> {
        if self.valid() { Some(PhysAddr((self.frame() as u64) << SHIFT)) } else { None }
    }
}
