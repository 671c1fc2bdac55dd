//! The client contract: what a program asks of `/dev/accel/accelN`.
//!
//! Two families share one file. [`drm_ane`] are the three ioctls of the existing Linux driver, so that its
//! clients run unchanged. The rest is this project's own and has what the founding documents describe and
//! those three lack: usage codes, contexts, pre-mapping, priorities, fences, faults and recovery.
//!
//! The rules of all of them:
//!
//! * Fields have fixed widths and lie without padding, the same for 32- and 64-bit clients. Pointers are
//!   `u64`, with the number of elements and the bytes of one beside them.
//! * What is reserved, and every flag without a meaning, has to be zero; one that is not is `EINVAL`.
//! * A call that fails has changed nothing, unless its description says so.
//! * Numbers never change. [`number`] says how they are made, [`IOCTLS`] lists them.
//!
//! That the numbers from `0x44` on are this project's, and what they do, is Chosen; each module says what the
//! choice rests on.

pub mod buffer;
pub mod companion;
pub mod context;
pub mod drm;
pub mod drm_ane;
pub mod errno;
pub mod fault;
pub mod fence;
pub mod handle;
pub mod nested;
pub mod number;
pub mod param;
pub mod pool;
pub mod program;
pub mod request;
pub mod stats;

use crate::abi::Section;
use number::{Ioctl, Refusal};

/// Every ioctl of this device, by rising number. DRM's own are in [`drm`].
pub const IOCTLS: &[&Ioctl] = &[
    &drm_ane::BO_INIT,
    &drm_ane::BO_FREE,
    &drm_ane::SUBMIT,
    &param::GET_PARAM,
    &context::CONTEXT_ATTACH,
    &context::CONTEXT_DETACH,
    &buffer::BO_CREATE,
    &buffer::BO_INFO,
    &buffer::BO_MAP,
    &buffer::BO_UNMAP,
    &buffer::BO_PREMAP,
    &pool::POOL_CREATE,
    &pool::POOL_DESTROY,
    &pool::POOL_TAKE,
    &pool::POOL_RECYCLE,
    &program::PROGRAM_CREATE,
    &program::PROGRAM_DESTROY,
    &request::SUBMIT_REQUEST,
    &request::SUBMIT_CHAIN,
    &fence::WAIT,
    &fence::CANCEL,
    &fault::GET_FAULT,
    &fault::RECOVER,
    &stats::GET_STATS,
    &companion::PE_MMU_MAP,
    &companion::PE_MMU_UNMAP,
    &companion::MOVER,
];

/// DRM's own ioctls that the device answers; the C header leaves them to `<drm/drm.h>`.
pub const DRM_IOCTLS: &[&Ioctl] = &[&drm::VERSION, &drm::GEM_CLOSE];

/// How any ioctl may fail, besides its own ways.
pub const ALWAYS: &[Refusal] = &[
    Refusal {
        errno: errno::Errno::ENOTTY,
        when: "the number, which includes the argument's size, is none of these.",
    },
    Refusal { errno: errno::Errno::EFAULT, when: "a pointer leads nowhere." },
    Refusal {
        errno: errno::Errno::EINVAL,
        when: "a reserved field or unknown flag is not zero, an element's size is another, or a handle is of another kind.",
    },
    Refusal { errno: errno::Errno::ENOENT, when: "a handle was never given out." },
    Refusal { errno: errno::Errno::ESTALE, when: "the object of a handle is gone." },
    Refusal { errno: errno::Errno::ENODEV, when: "the device is gone." },
];

/// What the C header holds, in order.
pub const SECTIONS: &[Section] = &[
    drm_ane::SECTION,
    handle::SECTION,
    param::SECTION,
    context::SECTION,
    buffer::SECTION,
    pool::SECTION,
    program::SECTION,
    request::SECTION,
    fence::SECTION,
    fault::SECTION,
    stats::SECTION,
    companion::SECTION,
];

/// The ioctl whose whole number is `number`, size and direction included.
pub fn find(number: u32) -> Option<&'static Ioctl> {
    IOCTLS.iter().chain(DRM_IOCTLS).copied().find(|ioctl| ioctl.number == number)
}
