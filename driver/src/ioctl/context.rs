//! Getting a context and giving it back.

use std::task::Poll;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::ioctl::context::{CONTEXT_ANY, ContextAttach, ContextDetach, ContextPolicy};
use ane_uapi::ioctl::errno::Errno;

use super::argument::unless;
use super::{Answer, Context};
use crate::bus::Bus;
use crate::clock::Time;
use crate::device::Driver;
use crate::file::Object;

impl<B: Bus> Driver<B> {
    pub(super) fn context_attach(&mut self, attach: &mut ContextAttach, context: &mut Context<'_>) -> Answer {
        let answer = self.try_attach(attach, context);
        if answer != Ok(false)
            && let Some(place) = context.ticket.take()
        {
            self.contexts.give_up(place);
        }
        match answer {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(errno) => Poll::Ready(Err(errno)),
        }
    }

    /// True if the file has a context now; false if it has to wait.
    fn try_attach(&mut self, attach: &mut ContextAttach, context: &mut Context<'_>) -> Result<bool, Errno> {
        let policy = ContextPolicy::try_from(attach.policy).map_err(|_| Errno::EINVAL)?;
        unless(policy != ContextPolicy::Wait && attach.timeout_ns != 0, Errno::EINVAL)?;
        let wanted = match attach.context {
            CONTEXT_ANY => None,
            number => Some(ContextId::new(number).map_err(|_| Errno::EINVAL)?),
        };
        let place = *context.ticket;
        let seeker = self.seeker(context.file).ok_or(Errno::ENODEV)?;
        match self.contexts.attach_in_turn(&mut self.bus, seeker, policy, wanted, place) {
            Ok(attached) => {
                attach.context = attached.context.number().into();
                attach.sharers = attached.sharers;
                Ok(true)
            }
            Err(error) if error.errno() == Errno::EBUSY && policy == ContextPolicy::Wait => {
                let until = Time::from_client(attach.timeout_ns);
                unless(until <= self.clock.now(), Errno::ETIMEDOUT)?;
                self.ring_at(until);
                if place.is_none() {
                    *context.ticket = Some(self.contexts.wait(seeker, wanted));
                }
                Ok(false)
            }
            Err(error) => Err(error.errno()),
        }
    }

    pub(super) fn context_detach(
        &mut self,
        detach: &mut ContextDetach,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        unless(detach.flags != 0, Errno::EINVAL)?;
        unless(self.contexts.of(context.file).is_none(), Errno::ENOENT)?;
        let file = self.files.get(&context.file).ok_or(Errno::ENODEV)?;
        let has_objects = file.objects.iter().any(|(_, object)| !matches!(object, Object::Pool(_)));
        unless(has_objects || file.requests != 0, Errno::EBUSY)?;
        self.detach(context.file);
        Ok(())
    }
}
