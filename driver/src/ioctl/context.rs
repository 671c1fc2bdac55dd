//! Getting a context and giving it back.

use std::task::Poll;

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::ioctl::context::{CONTEXT_ANY, ContextAttach, ContextDetach, ContextPolicy};
use ane_uapi::ioctl::errno::Errno;

use super::argument::unless;
use super::{Answer, Context, Result};
use crate::bus::Bus;
use crate::clock::Time;
use crate::device::Driver;
use crate::journal::told;

impl<B: Bus> Driver<B> {
    pub(super) fn context_attach(&mut self, attach: &mut ContextAttach, context: &mut Context<'_>) -> Answer {
        let answer = self.try_attach(attach, context);
        if answer != Ok(false)
            && let Some(place) = context.ticket.take()
        {
            self.hardware.contexts_mut().give_up(place);
        }
        match answer {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(errno) => Poll::Ready(Err(errno)),
        }
    }

    /// True if the file has a context now; false if it has to wait.
    fn try_attach(&mut self, attach: &mut ContextAttach, context: &mut Context<'_>) -> Result<bool> {
        let policy = ContextPolicy::try_from(attach.policy).map_err(|_| Errno::EINVAL)?;
        unless(policy != ContextPolicy::Wait && attach.timeout_ns != 0, Errno::EINVAL)?;
        let wanted = match attach.context {
            CONTEXT_ANY => None,
            number => Some(ContextId::new(number).map_err(|_| Errno::EINVAL)?),
        };
        let place = *context.ticket;
        let seeker = self.clients.seeker(context.file)?;
        match self.hardware.attach(seeker, policy, wanted, place) {
            Ok(attached) => {
                attach.context = attached.context.number().into();
                attach.sharers = attached.sharers;
                Ok(true)
            }
            Err(error) if error.errno() == Errno::EBUSY && policy == ContextPolicy::Wait => {
                let until = Time::from_client(attach.timeout_ns);
                unless(until <= self.hardware.now(), Errno::ETIMEDOUT)?;
                self.hardware.ring_at(until);
                if place.is_none() {
                    *context.ticket = Some(self.hardware.contexts_mut().wait(seeker, wanted));
                }
                Ok(false)
            }
            Err(error) => Err(told(&error, error.errno())),
        }
    }

    pub(super) fn context_detach(
        &mut self,
        detach: &mut ContextDetach,
        context: &mut Context<'_>,
    ) -> Result<()> {
        unless(detach.flags != 0, Errno::EINVAL)?;
        unless(self.hardware.contexts().of(context.file).is_none(), Errno::ENOENT)?;
        let file = self.clients.file(context.file)?;
        unless(file.uses_context() || file.has_requests() || file.is_mapped(), Errno::EBUSY)?;
        self.clients.detach(&mut self.hardware, context.file);
        Ok(())
    }
}
