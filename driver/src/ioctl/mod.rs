//! Calls: a number, the exact size of its argument, and the function that carries it out.
//!
//! The number holds the size, so a call with another size has another, unknown number: `ENOTTY`, or `EINVAL` where the
//! existing driver says that. A call that moved is known by its former number too. A reserved field that is not zero is
//! `EINVAL` before the other fields are looked at. After that each call is a function of its own, in the file named for its
//! subject. The answer of a call is written into its argument. A call that fails leaves the argument as it was, unless its
//! description says otherwise.

pub(crate) mod argument;
mod buffer;
mod companion;
mod context;
mod drm;
mod fault;
mod fence;
mod legacy;
mod param;
mod pool;
mod program;
mod request;
mod stats;

use std::task::Poll;

use ane_uapi::abi::AbiStruct;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::{self as abi};

use crate::bus::Bus;
use crate::device::Driver;
use crate::front::{Call, FileId, Segments};

type Result<T, E = Errno> = std::result::Result<T, E>;

/// How a call ends, if it does now.
pub(crate) type Answer = Poll<Result<()>>;

pub(crate) struct Context<'a> {
    pub(crate) file: FileId,
    /// The memory that the argument's pointers lead to.
    pub(crate) memory: &'a mut Segments,
    /// How far the call came when it was tried before.
    pub(crate) ticket: &'a mut Option<u64>,
}

struct Row<B> {
    ioctl: &'static Ioctl,
    handler: fn(&mut Driver<B>, FileId, &mut Call) -> Answer,
}

/// Takes the argument apart, has the call carried out, and puts the argument together again.
fn with<B: Bus, T: AbiStruct + zerocopy::KnownLayout>(
    driver: &mut Driver<B>,
    file: FileId,
    call: &mut Call,
    handler: impl FnOnce(&mut Driver<B>, &mut T, &mut Context<'_>) -> Answer,
) -> Answer {
    // Both the number and the argument come from the client, and need not agree.
    let Ok(mut argument) = T::read_from_bytes(&call.argument) else { return Poll::Ready(Err(Errno::ENOTTY)) };
    if argument.first_reserved_set().is_some() {
        return Poll::Ready(Err(Errno::EINVAL));
    }
    let mut context = Context { file, memory: &mut call.memory, ticket: &mut call.ticket };
    let answer = handler(driver, &mut argument, &mut context);
    if answer.is_ready() {
        call.argument.copy_from_slice(argument.as_bytes());
    }
    answer
}

/// A row of a call that ends at once.
macro_rules! now {
    ($ioctl:path, $handler:ident) => {
        Row {
            ioctl: &$ioctl,
            handler: |driver, file, call| {
                with(driver, file, call, |driver, argument, context| {
                    Poll::Ready(driver.$handler(argument, context))
                })
            },
        }
    };
}

/// A row of a call that may have to be offered again.
macro_rules! later {
    ($ioctl:path, $handler:ident) => {
        Row {
            ioctl: &$ioctl,
            handler: |driver, file, call| {
                with(driver, file, call, |driver, argument, context| driver.$handler(argument, context))
            },
        }
    };
}

impl<B: Bus> Driver<B> {
    const TABLE: [Row<B>; abi::IOCTLS.len() + abi::DRM_IOCTLS.len()] = [
        now!(abi::drm::VERSION, version),
        now!(abi::drm::GEM_CLOSE, gem_close),
        now!(abi::drm_ane::GET_CAPS, get_caps),
        now!(abi::drm_ane::BO_INIT, bo_init),
        now!(abi::drm_ane::BO_FREE, bo_free),
        later!(abi::drm_ane::SUBMIT, legacy_submit),
        now!(abi::param::GET_PARAM, get_param),
        later!(abi::context::CONTEXT_ATTACH, context_attach),
        now!(abi::context::CONTEXT_DETACH, context_detach),
        now!(abi::buffer::BO_CREATE, bo_create),
        now!(abi::buffer::BO_INFO, bo_info),
        now!(abi::buffer::BO_MAP, bo_map),
        now!(abi::buffer::BO_UNMAP, bo_unmap),
        now!(abi::buffer::BO_PREMAP, bo_premap),
        now!(abi::pool::POOL_CREATE, pool_create),
        now!(abi::pool::POOL_DESTROY, pool_destroy),
        now!(abi::pool::POOL_TAKE, pool_take),
        now!(abi::pool::POOL_RECYCLE, pool_recycle),
        now!(abi::program::PROGRAM_CREATE, program_create),
        now!(abi::program::PROGRAM_DESTROY, program_destroy),
        later!(abi::request::SUBMIT_REQUEST, submit_request),
        later!(abi::request::SUBMIT_CHAIN, submit_chain),
        later!(abi::fence::WAIT, wait),
        now!(abi::fence::CANCEL, cancel),
        now!(abi::fault::GET_FAULT, get_fault),
        now!(abi::fault::RECOVER, recover),
        now!(abi::stats::GET_STATS, get_stats),
        now!(abi::companion::PE_MMU_MAP, pe_mmu_map),
        now!(abi::companion::PE_MMU_UNMAP, pe_mmu_unmap),
        now!(abi::companion::MOVER, mover),
        now!(abi::fault::GET_FAILURE, get_failure),
    ];

    pub(crate) fn dispatch(&mut self, file: FileId, call: &mut Call) -> Answer {
        call.number = abi::current(call.number);
        let row = const { &Self::TABLE }.iter().find(|row| row.ioctl.number == call.number);
        match row {
            Some(row) => (row.handler)(self, file, call),
            None => Poll::Ready(Err(abi::unknown(call.number))),
        }
    }
}
