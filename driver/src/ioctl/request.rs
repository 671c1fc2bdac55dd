//! Submitting requests, one at a time or in a chain.

use std::task::Poll;

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::CHAIN_MAX;
use ane_uapi::ioctl::request::{Chain, REQUEST_NONBLOCK, Request};

use super::argument::{each, elements, put, unless};
use super::{Answer, Context};
use crate::bus::Bus;
use crate::device::Driver;
use crate::submit::Submission;

/// How a submission ends: one that finds no room waits, or is told so.
fn answer(outcome: Result<(), Submission>, flags: u32) -> Answer {
    match outcome {
        Ok(()) => Poll::Ready(Ok(())),
        Err(Submission::Refused(errno)) => Poll::Ready(Err(errno)),
        Err(Submission::Full) if flags & REQUEST_NONBLOCK != 0 => Poll::Ready(Err(Errno::EAGAIN)),
        Err(Submission::Full) => Poll::Pending,
    }
}

impl<B: Bus> Driver<B> {
    pub(super) fn submit_request(&mut self, request: &mut Request, context: &mut Context<'_>) -> Answer {
        let flags = request.flags;
        answer(self.try_request(request, context), flags)
    }

    fn try_request(&mut self, request: &mut Request, context: &mut Context<'_>) -> Result<(), Submission> {
        let Self { hardware, clients, scheduler } = self;
        let asked = (&*request, &*context.memory);
        request.out_fence = scheduler.submit(hardware, clients, context.file, asked)?;
        Ok(())
    }

    pub(super) fn submit_chain(&mut self, chain: &mut Chain, context: &mut Context<'_>) -> Answer {
        let flags = chain.flags;
        answer(self.try_chain(chain, context), flags)
    }

    fn try_chain(&mut self, chain: &mut Chain, context: &mut Context<'_>) -> Result<(), Submission> {
        unless(chain.request_count == 0 || chain.flags & !REQUEST_NONBLOCK != 0, Errno::EINVAL)?;
        let Chain { requests: at, request_count: count, request_size: size, .. } = *chain;
        let bytes = elements::<Request>(context.memory, at, count, size, CHAIN_MAX)?;
        let Self { hardware, clients, scheduler } = self;
        scheduler.admits(hardware, clients, context.file)?;
        let asked = (each::<Request>(bytes), &*context.memory);
        let submitted = scheduler.submit_chain(hardware, clients, context.file, asked);
        let fences = submitted.map_err(|(index, errno)| {
            chain.failed = index;
            errno
        })?;
        chain.out_fence = fences.last().copied().unwrap_or_default();
        for (index, fence) in fences.into_iter().enumerate() {
            let offset = index.saturating_mul(size_of::<Request>()) as u64;
            let words = context.memory.read(at.saturating_add(offset), size_of::<Request>());
            if let Some(mut words) = words.ok().and_then(|words| each::<Request>(words).next()) {
                words.out_fence = fence;
                // The bytes were read a moment ago.
                let _ = put(context.memory, at, index, &words);
            }
        }
        Ok(())
    }
}
