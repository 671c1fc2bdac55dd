//! Making programs, and taking them apart.

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{Iova, IovaRange};
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;
use ane_uapi::ioctl::param::{BARS_MAX, PROGRAM_BUFFERS_MAX};
use ane_uapi::ioctl::program::{ProgramBinding, ProgramBuffer, ProgramCreate, ProgramDestroy};
use ane_uapi::ioctl::stats::Counter;

use super::argument::{each, elements, unless};
use super::{Context, Result};
use crate::bo::{Holder, Map, Use};
use crate::bus::Bus;
use crate::clients::release;
use crate::device::Driver;
use crate::front::FileId;
use crate::hardware::BOOTSTRAP_BYTES;
use crate::journal::told;
use crate::program::{Load, Part, Program, ProgramId};
use crate::submit::may_insist;

/// A program in the making: its buffers are held, so they have to be let go if it comes to nothing.
#[derive(Default)]
struct Making {
    parts: Vec<Part>,
    /// The mappings are in use, and stay where they are.
    is_kept: bool,
}

impl<B: Bus> Driver<B> {
    pub(super) fn program_create(
        &mut self,
        create: &mut ProgramCreate,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let info = self.check_program(create, context)?;
        let file = context.file;
        let of = self.clients.attached(&mut self.hardware, file)?;
        let mut making = Making::default();
        let made = self.make_program(create, context, of, info, &mut making);
        let (program, load) = match made {
            Ok(made) => made,
            Err(errno) => {
                release(&mut self.hardware, of, &making.parts, making.is_kept);
                return Err(errno);
            }
        };
        create.dva_base = load.config.dva_base.get();
        create.region_size = load.config.region_size.get();
        create.mapped_base = load.config.mapped_base.get();
        let known = self.clients.file_mut(file)?;
        create.handle = match known.insert_program(program) {
            Ok(handle) => handle,
            Err(errno) => {
                self.clients.programs_mut().remove(program);
                release(&mut self.hardware, of, &making.parts, making.is_kept);
                return Err(errno);
            }
        };
        if let Ok(pool) = known.pool_mut(create.pool) {
            pool.programs = pool.programs.saturating_add(1);
        }
        self.clients.count_of(file, Counter::Programs, 1);
        self.clients.count_of(file, Counter::Rebases, 1);
        Ok(())
    }

    /// Checks what can be checked of a program without its buffers.
    fn check_program(&self, create: &ProgramCreate, context: &Context<'_>) -> Result<RequestInfo> {
        let known = self.clients.file(context.file)?;
        unless(create.flags != 0 || !may_insist(create.network_id), Errno::EINVAL)?;
        unless(create.stream_size == 0 || create.text >= create.buffer_count, Errno::EINVAL)?;
        unless(u64::from(create.first_size) > create.stream_size, Errno::EINVAL)?;
        unless(create.first_size > BOOTSTRAP_BYTES, Errno::EINVAL)?;
        if create.pool != NONE {
            known.pool(create.pool)?;
        }
        unless(known.has_all_programs(), Errno::ENOSPC)?;
        RequestInfo::of(create.first_size, create.task_count).map_err(|_| Errno::EINVAL)
    }

    fn make_program(
        &mut self,
        create: &ProgramCreate,
        context: &Context<'_>,
        of: ContextId,
        info: RequestInfo,
        making: &mut Making,
    ) -> Result<(ProgramId, Load)> {
        let ProgramCreate { buffers, buffer_count, buffer_size, .. } = *create;
        let parts = elements::<ProgramBuffer>(
            context.memory,
            buffers,
            buffer_count,
            buffer_size,
            PROGRAM_BUFFERS_MAX,
        )?;
        let mut handles = Vec::with_capacity(buffer_count as usize);
        let mut sizes = Vec::with_capacity(buffer_count as usize);
        for part in each::<ProgramBuffer>(parts) {
            let made = self.make_part(context.file, of, &part)?;
            making.parts.push(made);
            handles.push(part.handle);
            sizes.push((part.offset, part.size));
        }
        self.place_parts(of, &sizes, making)?;
        let bound = self.bind_parts(create, context, making)?;
        let text = making.parts.get(create.text as usize).ok_or(Errno::EINVAL)?;
        unless(text.usage != Usage::Program, Errno::EINVAL)?;
        let first = bound.iter().find(|(bar, ..)| *bar == BarIndex::TASKS).ok_or(Errno::EINVAL)?;
        let (_, part, inside) = *first;
        unless(part != create.text as usize, Errno::EINVAL)?;
        let left = u64::from(text.range.len()).checked_sub(inside).ok_or(Errno::EINVAL)?;
        unless(create.stream_size > left, Errno::EINVAL)?;
        let start = sizes.get(part).map_or(0, |(offset, _)| *offset).saturating_add(inside);
        let text = (text.used.buffer, start);
        let load = self.clients.programs_mut().load(&making.parts)?;
        let known = self.clients.file(context.file)?;
        let mut bars = [Iova(0); BarIndex::COUNT as usize];
        let mut pooled = Vec::new();
        for (bar, part, inside) in bound {
            let base = making.parts.get(part).ok_or(Errno::EINVAL)?.range.base().0;
            let inside = u32::try_from(inside).map_err(|_| Errno::EINVAL)?;
            if let Some(address) = bars.get_mut(bar.index()) {
                *address = Iova(base.saturating_add(inside));
            }
            let handle = handles.get(part).copied().unwrap_or(NONE);
            if let Ok(buffer) = known.buffer(handle)
                && buffer.pool != NONE
            {
                unless(create.pool != NONE && create.pool != buffer.pool, Errno::EINVAL)?;
                pooled.push((bar, buffer.pool, handle));
            }
        }
        let program = Program {
            file: context.file,
            parts: making.parts.clone(),
            bars,
            text,
            info,
            nid: Nid::new(create.network_id).ok(),
            pool: create.pool,
            pooled,
            load: load.clone(),
            in_flight: 0,
            is_destroyed: false,
        };
        Ok((self.clients.programs_mut().insert(program), load))
    }

    /// Finds or makes one buffer of a program, and a mapping for the program's use of it, which has no place yet.
    fn make_part(&mut self, file: FileId, of: ContextId, part: &ProgramBuffer) -> Result<Part> {
        let usage = Usage::try_from(part.usage).map_err(|_| Errno::EINVAL)?;
        unless(part.size == 0, Errno::EINVAL)?;
        let end = part.offset.checked_add(part.size).ok_or(Errno::EINVAL)?;
        let known = self.clients.file(file)?;
        let store = self.hardware.contexts().store(file).ok_or(Errno::ENODEV)?;
        let (bus, space) = self.hardware.reach(of).ok_or(Errno::ENODEV)?;
        let nowhere = IovaRange::new(0, 1).map_err(|_| Errno::EINVAL)?;
        if part.handle == NONE {
            // Every input and output has to be a buffer that the client has.
            let is_ours = !matches!(usage, Usage::Input | Usage::Output | Usage::Weights | Usage::Constants);
            unless(!is_ours, Errno::EINVAL)?;
            let made = space.create_for_program(bus, store, (end, usage));
            let buffer = made.map_err(|error| told(&error, error.errno()))?;
            let used = Use { buffer, mapping: 0 };
            return Ok(Part { usage, used, is_own_mapping: false, range: nowhere });
        }
        let buffer = known.buffer(part.handle)?.id;
        let info = space.info(buffer).ok_or(Errno::ESTALE)?;
        unless(end > info.size, Errno::EINVAL)?;
        let mut used = Use { buffer, mapping: 0 };
        // The firmware's surfaces map read-write, as intermediates do; a client's buffer under another use gets a
        // mapping of its own for this one.
        let wanted = if usage.is_firmware() { Usage::Intermediate } else { usage };
        let is_own_mapping = info.usage != wanted;
        if is_own_mapping {
            let map = Map { usage: wanted as u32, ..Map::default() };
            (used.mapping, _) = space.map(bus, buffer, &map).map_err(|error| told(&error, error.errno()))?;
        }
        space.hold(buffer, Holder::Program);
        Ok(Part { usage, used, is_own_mapping, range: nowhere })
    }

    /// Gives every buffer of a program its place, for as long as the program lives.
    fn place_parts(&mut self, of: ContextId, sizes: &[(u64, u64)], making: &mut Making) -> Result<()> {
        let (bus, space) = self.hardware.reach(of).ok_or(Errno::ENODEV)?;
        let uses: Vec<Use> = making.parts.iter().map(|part| part.used).collect();
        let mut places = Vec::new();
        space.begin(bus, &uses, &mut places).map_err(|error| told(&error, error.errno()))?;
        space.keep(&uses);
        space.finish(&uses);
        making.is_kept = true;
        for ((part, place), &(offset, size)) in making.parts.iter_mut().zip(places).zip(sizes) {
            let base = u64::from(place.base().0).checked_add(offset).ok_or(Errno::EINVAL)?;
            part.range = IovaRange::new(base, size).map_err(|_| Errno::EINVAL)?;
        }
        Ok(())
    }

    /// The bindings of a program: BAR, index of the buffer, and bytes into its part.
    fn bind_parts(
        &self,
        create: &ProgramCreate,
        context: &Context<'_>,
        making: &Making,
    ) -> Result<Vec<(BarIndex, usize, u64)>> {
        let ProgramCreate { bindings, binding_count, binding_size, .. } = *create;
        let bytes =
            elements::<ProgramBinding>(context.memory, bindings, binding_count, binding_size, BARS_MAX)?;
        let mut bound: Vec<(BarIndex, usize, u64)> = Vec::with_capacity(binding_count as usize);
        for binding in each::<ProgramBinding>(bytes) {
            let bar = BarIndex::new(binding.bar).map_err(|_| Errno::EINVAL)?;
            unless(bound.iter().any(|(other, ..)| *other == bar), Errno::EINVAL)?;
            let index = binding.buffer as usize;
            let part = making.parts.get(index).ok_or(Errno::EINVAL)?;
            unless(binding.offset >= part.range.len().into(), Errno::EINVAL)?;
            bound.push((bar, index, binding.offset));
        }
        Ok(bound)
    }

    pub(super) fn program_destroy(
        &mut self,
        destroy: &mut ProgramDestroy,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let program = self.clients.file_mut(context.file)?.remove_program(destroy.handle)?;
        self.clients.destroy_program(&mut self.hardware, program);
        Ok(())
    }
}
