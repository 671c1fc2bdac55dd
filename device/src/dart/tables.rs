//! The tables as they stand: every page that a stream's addresses lead to, as this DART would walk them.
//!
//! Nothing is cached and nothing changes by it. The bounds are those of [`scan`](ane_uapi::hw::dart::scan).

use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::scan::{Heading, RUNS_REPORTED, report};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::PhysAddr;
use vm_memory::{Bytes, GuestAddress, GuestMemory};

use super::Dart;
use super::stream::Gate;

impl Dart {
    /// The tables of every stream that a window with transfers translates, as lines of text.
    pub fn tables_text(&self, memory: &impl GuestMemory) -> String {
        let load = |at: PhysAddr| memory.read_obj::<u64>(GuestAddress(at.0)).ok().map(u64::from_le);
        let (mut text, mut room) = (String::new(), RUNS_REPORTED);
        for stream in StreamId::ALL {
            for window in Window::CARRYING_DMA {
                let admission = self.window(window).admit(stream);
                if admission.gate == Gate::Translated {
                    let heading = Heading { window, stream, base: admission.base };
                    // Writing to a string cannot fail.
                    let _ = report(&mut text, &mut room, heading, self.pte_format, load);
                }
            }
        }
        text
    }
}
