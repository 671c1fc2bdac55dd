//! The reason why the device did not run a request to its end, in words.
//!
//! The error registers say most: the error, its task, its register and the value there. They hold the last error of any
//! request, so they are used only as far as they agree with the event of this request.

use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::error::ErrorPlace;
use ane_uapi::hw::{td, tm};

use super::Hardware;
use crate::bus::{Bus, Operation};
use crate::tm::Why;

impl<B: Bus> Hardware<B> {
    /// Why a request did not run to its end.
    pub(crate) fn reason(&mut self, why: Why) -> String {
        let Why::Error { word, value, .. } = why else {
            return "the device lost it, and does not say why".to_owned();
        };
        let mut registers = [0; 3];
        let reads = [tm::ERROR.offset(), tm::ERROR_PLACE.offset(), tm::ERROR_VALUE.offset()]
            .map(|offset| Operation::Read(EngineOffset(tm::TASK_MANAGER.base.0.saturating_add(offset))));
        let has_read = self.bus.batch(&reads, &mut registers).is_ok();
        let [first, place, third] = registers;
        let is_its = has_read && (first, third) == (word.into_bits(), value);
        if is_its && let Some(reason) = self.bus.reason(registers) {
            return reason;
        }
        let what = word.error().map_or_else(|| "an error without a name".to_owned(), |code| code.to_string());
        if !is_its {
            return format!("{what}, value {value:#010x}");
        }
        let place = ErrorPlace::from_bits(place);
        let address = u32::from(place.register()) << 2;
        match td::find(address) {
            Some(found) if address != 0 => {
                let name = found.register.name;
                format!("task {}: {what}: {value:#010x} in {name} at {address:#x}", place.task())
            }
            _ => format!("task {}: {what}, value {value:#010x}", place.task()),
        }
    }
}
