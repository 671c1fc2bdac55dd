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
        self.admits(context.file)?;
        let group = self.requests.create_group();
        let id = self.admit(context.file, request, context.memory, group);
        let id = id.inspect_err(|_| self.requests.drop_group(group))?;
        self.count_group(context.file);
        request.out_fence = self.commit(id, None);
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
        self.admits(context.file)?;
        let group = self.requests.create_group();
        let mut admitted = Vec::with_capacity(count as usize);
        for (index, request) in (0..).zip(each::<Request>(bytes)) {
            // A chain is taken as a whole or not at all, so only the chain itself may ask not to wait.
            let is_bare = request.flags & REQUEST_NONBLOCK == 0 && request.reserved2 == [0; 2];
            let id = unless(!is_bare, Errno::EINVAL)
                .and_then(|()| self.admit(context.file, &request, context.memory, group));
            match id {
                Ok(id) => admitted.push(id),
                Err(errno) => {
                    chain.failed = index;
                    if admitted.is_empty() {
                        self.requests.drop_group(group);
                    }
                    admitted.into_iter().for_each(|id| self.discard(id));
                    return Err(errno.into());
                }
            }
        }
        self.count_group(context.file);
        let mut last = None;
        for (index, id) in admitted.into_iter().enumerate() {
            let fence = self.commit(id, last);
            last = Some(fence);
            let offset = index.saturating_mul(size_of::<Request>()) as u64;
            let words = context.memory.read(at.saturating_add(offset), size_of::<Request>());
            if let Some(mut words) = words.ok().and_then(|words| each::<Request>(words).next()) {
                words.out_fence = fence;
                // The bytes were read a moment ago.
                let _ = put(context.memory, at, index, &words);
            }
        }
        chain.out_fence = last.unwrap_or_default();
        Ok(())
    }
}
