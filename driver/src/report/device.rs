//! The report about the device itself: registers read over the bus, and the tables where the registers say that they
//! are.
//!
//! Both work over any bus, so they tell the same of a device in this process, in another one, and of a PCI function. A
//! device that sleeps is woken to be looked at, as a kernel's driver would; it goes back to sleep by itself.

use std::fmt::Write as _;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::{self, Streams, Tcr, Window};
use ane_uapi::hw::dart::scan::{Heading, RUNS_REPORTED, report};
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::lookup::quiet;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::wire::config::FEATURE_PE_MMU;

use crate::Driver;
use crate::bus::{Bus, BusError, Operation};

/// Every register that can be read without a change: its place and what it holds, a line each. Refused ones are left out.
pub(super) fn registers<B: Bus>(driver: &mut Driver<B>) -> Result<String, String> {
    wake(driver)?;
    let bus = driver.bus_mut();
    let has_pe_mmu = bus.config().features.get() & FEATURE_PE_MMU != 0;
    let places: Vec<EngineOffset> = quiet(has_pe_mmu).map(|place| place.at).collect();
    let limit = usize::from(bus.config().batch_max.get()).clamp(1, 256);
    let mut text = String::new();
    let mut rest = places.as_slice();
    while !rest.is_empty() {
        let (part, _) = rest.split_at(limit.min(rest.len()));
        let reads: Vec<Operation> = part.iter().map(|&at| Operation::Read(at)).collect();
        let mut values = vec![0; part.len()];
        let (told, seen) = match bus.batch(&reads, &mut values) {
            Ok(_) => (part.len(), part.len()),
            // Those before it are told; it is left out, and the next batch begins behind it.
            Err(BusError::Refused { done, .. }) => {
                let told = usize::try_from(done).unwrap_or(0).min(part.len());
                (told, told.saturating_add(1))
            }
            Err(why) => return Err(why.to_string()),
        };
        for (at, value) in part.iter().zip(&values).take(told) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:#x} {value:#x}", at.0);
        }
        rest = rest.get(seen..).unwrap_or_default();
    }
    Ok(text)
}

/// The tables of each of these contexts, in every window that translates its stream.
pub(super) fn tables<B: Bus>(driver: &mut Driver<B>, contexts: &[ContextId]) -> Result<String, String> {
    wake(driver)?;
    let memory = driver.bus().memory().clone();
    let format = driver.bus().config().pte_format().map_err(|why| why.to_string())?;
    let (mut text, mut room) = (String::new(), RUNS_REPORTED);
    for stream in contexts.iter().map(|context| context.stream()) {
        let tcr = regs::TCR.info.at(stream.number().into());
        let ttbr = stream.table_base(0).and_then(|index| regs::TTBR.info.at(index));
        let (Some(tcr), Some(ttbr)) = (tcr, ttbr) else { continue };
        for window in Window::CARRYING_DMA {
            let read = |at: u32| Operation::Read(EngineOffset(window.base().0.saturating_add(at)));
            let mut values = [0; 3];
            let reads = [read(regs::ENABLED_STREAMS.offset()), read(tcr), read(ttbr)];
            driver.bus_mut().batch(&reads, &mut values).map_err(|why| why.to_string())?;
            let [enabled, tcr, base] = values;
            if Streams::from_bits(enabled).contains(stream) && Tcr::from_bits(tcr).translate() {
                let heading = Heading { window, stream, base: Ttbr::from_bits(base) };
                let load = |at| memory.load_u64(at).ok();
                // Writing to a string cannot fail.
                let _ = report(&mut text, &mut room, heading, format, load);
            }
        }
    }
    Ok(text)
}

fn wake<B: Bus>(driver: &mut Driver<B>) -> Result<(), String> {
    if driver.hardware.wake() { Ok(()) } else { Err("the device is gone".to_owned()) }
}
