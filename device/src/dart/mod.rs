//! The DART at work: the engine's IOMMU, in front of guest memory.
//!
//! Every address that the engine uses is translated here before memory is touched; the circuits have no other
//! way to it than a [`Dma`]. The registers, streams and tables are described in
//! [`ane_uapi::hw::dart`]; this is what they do.
//!
//! * `window`: the registers of one window, and what reading and writing them does.
//! * `stream`: which circuit goes through which window, and what a stream may do there.
//! * `walk`: the two tables in guest memory, in one of three formats.
//! * `tables`: what the tables say, for people.
//! * `tlb`: translations found, kept until the driver invalidates them.
//! * `memory`: where guest memory lies in this process.
//! * [`dma`]: transfers, with `rows` for tensors.
//! * `translate`: what a transfer has to pass, with `pieces` for what it comes to.
//! * `fault`: what is captured of a transfer that fails.
//! * `stall`: transfers that wait at their fault until they may pass.
//! * `behind_pe_mmu`: transfers that a PE_MMU translates first.
//! * [`check`]: what silicon lets pass and a driver's author wants to know.
//!
//! The three windows that carry DMA have to be programmed alike, and nothing compares them: each circuit goes
//! by its own window. A window that was left out faults with its own name: no table base, stream blocked or
//! stream disabled. Windows with different tables show as circuits that see different memory at one address;
//! checking mode reports it. The fourth window has registers and no circuit.
//!
//! A [`PeMmu`] may stand before the windows. It translates first and protects nothing: whatever it yields passes
//! the window as any other address does.
#![expect(clippy::result_large_err, reason = "the descriptor is what drivers get, and faults are rare")]

mod behind_pe_mmu;
pub mod check;
pub mod dma;
mod fault;
mod memory;
pub mod moving;
mod pieces;
mod rows;
mod stall;
mod stream;
mod tables;
mod tlb;
mod translate;
mod walk;
mod window;

use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::usage::Usage;
use vm_memory::GuestMemory;

pub use self::check::{CheckReport, Misuse, Origin};
pub use self::dma::Dma;
pub use self::fault::FaultPolicy;
pub use self::moving::{Alone, Helpers};
pub use self::rows::Rows;
pub use self::stream::{Access, Circuit};

use self::check::Checker;
use self::dma::View;
use self::memory::MemoryMap;
use self::pieces::Pieces;
use self::stall::Stalled;
use self::translate::Translator;
use self::walk::Format;
use self::window::WindowState;
use crate::inject::Trap;
use crate::pe_mmu::PeMmu;
use crate::refusal::Refusal;

pub struct Dart {
    pte_format: PteFormat,
    windows: [Box<WindowState>; 4],
    memory: MemoryMap,
    shared: Shared,
    /// The fault that the next transfers are to meet.
    pub trap: Trap,
}

/// The state that all windows share.
struct Shared {
    format: Format,
    policy: FaultPolicy,
    /// The fault that killed the device.
    dead: Option<IoDartErrorInfo>,
    /// The transfer that waits at its fault.
    stalled: Option<Stalled>,
    /// How often the line fell since the last reset because that transfer was tried again.
    falls: u32,
    checker: Checker,
    pieces: Pieces,
    /// The unit that translates before the windows do.
    before: Option<Box<PeMmu>>,
    /// How often a circuit has asked for its way to memory since the last reset.
    requests: u32,
    /// How many of its transfers were made.
    transfers: u64,
    bytes_read: u64,
    bytes_written: u64,
}

const _: () = {
    // A device may move to another thread, and be looked at from several.
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Dart>();
};

impl Dart {
    pub fn new(format: PteFormat) -> Self {
        Self {
            pte_format: format,
            windows: [Window::Dart0, Window::Dart1, Window::Dart2, Window::Dart3].map(WindowState::new),
            memory: MemoryMap::default(),
            shared: Shared {
                format: Format::named(format),
                policy: FaultPolicy::default(),
                dead: None,
                stalled: None,
                falls: 0,
                checker: Checker::default(),
                pieces: Pieces::default(),
                before: None,
                requests: 0,
                transfers: 0,
                bytes_read: 0,
                bytes_written: 0,
            },
            trap: Trap::default(),
        }
    }

    /// Everything back to where it was, but for what the options say and what checking mode has found.
    pub fn reset(&mut self) {
        self.windows.iter_mut().for_each(|window| window.reset());
        self.shared.dead = None;
        self.shared.stalled = None;
        self.shared.falls = 0;
        self.shared.checker.reset();
        if let Some(before) = &mut self.shared.before {
            before.reset();
        }
        self.shared.requests = 0;
        self.shared.transfers = 0;
        self.shared.bytes_read = 0;
        self.shared.bytes_written = 0;
    }

    fn window(&self, window: Window) -> &WindowState {
        let [dart0, dart1, dart2, dart3] = &self.windows;
        match window {
            Window::Dart0 => dart0,
            Window::Dart1 => dart1,
            Window::Dart2 => dart2,
            Window::Dart3 => dart3,
        }
    }

    pub fn read(&mut self, window: Window, offset: u32) -> Result<u32, Refusal> {
        self.window(window).read(offset)
    }

    /// Writes the register at `offset` of a window, with all that follows from it.
    ///
    /// # Errors
    ///
    /// Refuses an offset without a register, a locked register, and bits that nothing explains. The register
    /// is unchanged then.
    pub fn write(&mut self, window: Window, offset: u32, value: u32) -> Result<(), Refusal> {
        select(&mut self.windows, window).write(offset, value)
    }

    /// A circuit's way to `memory`, for requests of `stream`.
    ///
    /// The memory may be another than last time, or have other regions: translations then start anew. Memory
    /// behind an IOMMU of its own is not physical memory and is nowhere to the DART.
    pub fn dma<'a, M: GuestMemory>(
        &'a mut self,
        memory: &'a M,
        stream: StreamId,
        circuit: Circuit,
    ) -> Dma<'a, M> {
        if self.shared.checker.is_on() {
            self.compare_windows(stream, circuit);
        }
        let memory = memory.physical_memory();
        let (view, is_replaced) = View::attach(&mut self.memory, memory);
        if is_replaced {
            // Kept translations hold places in the memory that was.
            self.windows.iter_mut().for_each(|window| window.buffer.clear());
        }
        let window = select(&mut self.windows, circuit.window());
        let translator = Translator::new(view, &mut self.shared, window, &mut self.trap, stream, circuit);
        Dma::new(translator, memory)
    }

    /// Reports windows that do not treat the stream as dart0 does.
    #[cold]
    fn compare_windows(&mut self, stream: StreamId, circuit: Circuit) {
        let of = |window| self.window(window).admit(stream);
        let [first, others @ ..] = Window::CARRYING_DMA;
        let expected = of(first);
        let differs = |window| (!of(window).agrees(&expected)).then_some(window);
        for window in others.map(differs).into_iter().flatten() {
            self.shared.checker.disagree(window, stream, circuit, Iova(0));
        }
    }

    /// The faults that were captured since this was last asked; each raises the DART's interrupt line.
    ///
    /// A window holds one fault at a time. If the driver cleared it and another came before this was asked,
    /// the newer one is given.
    pub fn take_faults(&mut self) -> impl Iterator<Item = (Window, IoDartErrorInfo)> {
        Window::ALL
            .iter()
            .zip(&mut self.windows)
            .filter_map(|(&window, state)| state.capture.take().map(|info| (window, info)))
    }

    /// True if a fault killed the device; see [`FaultPolicy::Panic`].
    pub const fn is_dead(&self) -> bool {
        self.shared.dead.is_some()
    }

    /// Puts a PE_MMU before the windows: circuits then name its addresses, and what it yields is translated here.
    pub fn set_before(&mut self, before: PeMmu) {
        self.shared.before = Some(Box::new(before));
    }

    pub fn before(&self) -> Option<&PeMmu> {
        self.shared.before.as_deref()
    }

    /// The PE_MMU before the windows, to send it messages.
    pub fn before_mut(&mut self) -> Option<&mut PeMmu> {
        self.shared.before.as_deref_mut()
    }

    /// Picoseconds that transfers have to wait for the PE_MMU before the windows, since that was last taken.
    pub fn translation_wait(&self) -> u64 {
        self.before().map_or(0, PeMmu::wait)
    }

    /// Decides what a fault does beyond being captured.
    pub fn set_policy(&mut self, policy: FaultPolicy) {
        self.shared.policy = policy;
    }

    pub fn set_check(&mut self, is_on: bool) {
        self.shared.checker.set(is_on);
    }

    /// Says what the transfers that follow are for; checking mode repeats it.
    pub fn set_origin(&mut self, origin: Origin) {
        self.shared.checker.set_origin(origin);
    }

    /// Tells checking mode what a mapping is for, in place of all declared mappings that it overlaps.
    ///
    /// False if the stream has too many: [`check::MAX_MAPPINGS`].
    pub fn declare(&mut self, stream: StreamId, range: IovaRange, usage: Usage) -> bool {
        self.shared.checker.declare(stream, range, usage)
    }

    /// Tells checking mode that what was mapped in `range` is mapped no more.
    pub fn forget(&mut self, stream: StreamId, range: IovaRange) {
        self.shared.checker.forget(stream, range);
    }

    /// The findings of checking mode since this was last asked.
    pub fn take_reports(&mut self) -> Vec<CheckReport> {
        self.shared.checker.take()
    }

    /// The number of findings that were dropped since this was last asked, because earlier ones were not taken.
    pub fn take_reports_lost(&mut self) -> u64 {
        self.shared.checker.take_lost()
    }

    /// Transfers that circuits have made since the last reset; rows that are moved together are one.
    pub const fn transfers(&self) -> u64 {
        self.shared.transfers
    }

    /// Bytes that circuits have read since the last reset.
    pub const fn bytes_read(&self) -> u64 {
        self.shared.bytes_read
    }

    /// Bytes that circuits have written since the last reset.
    pub const fn bytes_written(&self) -> u64 {
        self.shared.bytes_written
    }
}

fn select(windows: &mut [Box<WindowState>; 4], window: Window) -> &mut WindowState {
    let [dart0, dart1, dart2, dart3] = windows;
    match window {
        Window::Dart0 => dart0,
        Window::Dart1 => dart1,
        Window::Dart2 => dart2,
        Window::Dart3 => dart3,
    }
}
