//! Events, as a driver gets them.

use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::wire::event as wire;
use zerocopy::FromZeros;
use zerocopy::little_endian::{U16, U32, U64};

use crate::event::{Event, Fault, Happening};

/// An event as the wire has it: number `sequence`, with `lost` dropped since the last.
pub fn event(event: &Event, sequence: u64, lost: u32) -> wire::Event {
    let fault = |fault: &Fault| {
        let [status, low, high, buffer] = fault.words;
        (fault.window as u16, [status, low, high, buffer, 0], fault.info)
    };
    let none = IoDartErrorInfo::new_zeroed();
    let (kind, (source, words, info)) = match &event.what {
        Happening::TaskManager { line, waiting, entry } => {
            let words = [*waiting, entry.info.into_bits(), entry.word_1, entry.time, entry.word_3];
            (wire::EventKind::TaskManager, (line.number().into(), words, none))
        }
        Happening::Dart(latched) => (wire::EventKind::Dart, fault(latched)),
        Happening::QueueAborted { queue, errors: [first, second, third], nid } => {
            let words = [*first, *second, *third, u32::from(*nid), 0];
            (wire::EventKind::QueueAborted, (queue.number().into(), words, none))
        }
        Happening::Dead(latched) => (wire::EventKind::Dead, fault(latched)),
    };
    wire::Event {
        kind: U16::new(kind as u16),
        source: U16::new(source),
        lost: U32::new(lost),
        sequence: U64::new(sequence),
        timestamp: U64::new(event.at.0),
        words: words.map(U32::new),
        engine_status: U32::new(event.engine_status.into_bits()),
        info,
    }
}
