//! The end of a file whose client is gone. Nothing of it is left once the device has let go of its requests.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::ioctl::stats::Counter;

use super::Clients;
use super::file::{File, Object};
use crate::bo::{self, Holder};
use crate::bus::Bus;
use crate::front::FileId;
use crate::hardware::Hardware;
use crate::stats::Counters;

impl Clients {
    /// Every file that is not gone.
    pub(crate) fn all(&self) -> Vec<FileId> {
        self.files.keys().copied().collect()
    }

    /// Nothing more is taken of a file. False if there is none.
    pub(crate) fn begin_close<B: Bus>(&mut self, hardware: &mut Hardware<B>, file: FileId) -> bool {
        let Some(known) = self.files.get_mut(&file) else { return false };
        known.is_closed = true;
        hardware.contexts_mut().give_up_all(file);
        self.has_closed = true;
        true
    }

    /// True if a file was closed and is still there.
    pub(crate) const fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// The files that were closed and of which the device has nothing any more.
    pub(crate) fn take_closed(&mut self) -> Vec<FileId> {
        if !self.has_closed {
            return Vec::new();
        }
        let is_over = |(_, known): &(&FileId, &File)| known.is_closed && known.requests == 0;
        let over: Vec<FileId> = self.files.iter().filter(is_over).map(|(file, _)| *file).collect();
        self.has_closed = self.files.values().filter(|known| known.is_closed).count() > over.len();
        over
    }

    pub(crate) fn end_close<B: Bus>(&mut self, hardware: &mut Hardware<B>, file: FileId) {
        let Some(mut known) = self.files.remove(&file) else { return };
        let context = hardware.contexts().of(file);
        hardware.contexts_mut().begin_detach(file);
        for object in known.take_objects() {
            match object {
                Object::Buffer(buffer) => {
                    if let Some((_, space)) = context.and_then(|context| hardware.reach(context)) {
                        space.release(buffer.id, Holder::Handle);
                    }
                }
                Object::Program(program) => self.destroy_program(hardware, program),
                Object::Pool(_) => {}
            }
        }
        hardware.forget_regions(file);
        self.detach(hardware, file);
        self.announce();
    }

    pub(crate) fn detach<B: Bus>(&mut self, hardware: &mut Hardware<B>, file: FileId) {
        let Some(context) = hardware.contexts().of(file) else { return };
        if hardware.contexts().sharers(context) == 1 {
            self.keep_counters(hardware, context);
            self.unpark(context);
        }
        hardware.detach(file);
        self.announce();
    }

    /// Keeps what a context counted that is given back: its buffers are gone, what happened did.
    fn keep_counters<B: Bus>(&mut self, hardware: &Hardware<B>, context: ContextId) {
        if let Some(space) = hardware.contexts().space(context) {
            add_events(&mut self.counters, &space.counters());
        }
    }
}

pub(crate) fn add_events(counters: &mut Counters, of: &bo::Counters) {
    counters.add(Counter::Maps, of.maps);
    counters.add(Counter::Unmaps, of.unmaps);
    counters.add(Counter::Evictions, of.evictions);
    counters.add(Counter::Premaps, of.premaps);
    counters.add(Counter::Invalidations, of.invalidations);
}
