//! The client contract: what a program asks of `/dev/accel/accelN`.
//!
//! Two families share one file. [`drm_ane`] are the four ioctls of the existing Linux driver, so that its
//! clients run unchanged; numbers up to [`OWN`] are that driver's. The rest is this project's own and has what the founding documents describe and
//! those three lack: usage codes, contexts, pre-mapping, priorities, fences, faults and recovery.
//!
//! The rules of all of them:
//!
//! * Fields have fixed widths and lie without padding, the same for 32- and 64-bit clients. Pointers are
//!   `u64`, with the number of elements and the bytes of one beside them.
//! * What is reserved, and every flag without a meaning, has to be zero; one that is not is `EINVAL`.
//! * A call that fails has changed nothing, unless its description says so.
//! * Numbers never change. [`number`] says how they are made, [`IOCTLS`] lists them. They did once: this project's own calls
//!   were at `0x44` and up until the existing driver promised never to give a number to a second call and used these itself. The
//!   old numbers still lead to the same calls in this release ([`current`]).
//!
//! That the numbers from `0x80` on are this project's, and what they do, is Chosen; each module says what the
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
use number::{Ioctl, Number, Refusal};

/// The first number of this project's own calls.
pub const OWN: u8 = 0x80;

/// The first and the last number that they had.
pub const FORMER: core::ops::RangeInclusive<u8> = 0x44..=0x5b;

/// Numbers of the existing driver's second ABI, which this device does not speak. A driver of the first answers them with
/// `EINVAL` whatever their size (contract 5.2).
const SECOND_ABI: core::ops::RangeInclusive<u8> = 0x44..=0x47;

/// Every ioctl of this device, by rising number. DRM's own are in [`drm`].
pub const IOCTLS: &[&Ioctl] = &[
    &drm_ane::GET_CAPS,
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
    &fault::GET_FAILURE,
];

/// DRM's own ioctls that the device answers; the C header leaves them to `<drm/drm.h>`.
pub const DRM_IOCTLS: &[&Ioctl] = &[&drm::VERSION, &drm::GEM_CLOSE];

/// How any ioctl may fail, besides its own ways.
pub const ALWAYS: &[Refusal] = &[
    Refusal {
        errno: errno::Errno::ENOTTY,
        when: "the number, which includes the argument's size, is none of these.",
    },
    Refusal {
        errno: errno::Errno::EINVAL,
        when: "the number is one of 0x44 to 0x47: calls of the existing driver's second ABI, which this device does not have.",
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

/// The sections of the C header, in order.
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

/// The ioctl whose whole number is `number`, size and direction included, or was before the calls moved.
pub fn find(number: u32) -> Option<&'static Ioctl> {
    let known = |number| IOCTLS.iter().chain(DRM_IOCTLS).copied().find(|ioctl| ioctl.number == number);
    known(number).or_else(|| known(moved(number)?))
}

/// The number that a call has now; one that is no call's stays as it is.
pub fn current(number: u32) -> u32 {
    find(number).map_or(number, |ioctl| ioctl.number)
}

/// Where a former number's call went.
fn moved(number: u32) -> Option<u32> {
    let former = Number::decode(number);
    let nr =
        FORMER.contains(&former.nr).then(|| former.nr.wrapping_sub(*FORMER.start()).wrapping_add(OWN))?;
    Some(Number { nr, ..former }.encode())
}

/// How a number fails that is no call's.
pub fn unknown(number: u32) -> errno::Errno {
    let Number { subsystem, nr, .. } = Number::decode(number);
    let is_upstreams = subsystem == number::DRM_TYPE && SECOND_ABI.contains(&nr);
    if is_upstreams { errno::Errno::EINVAL } else { errno::Errno::ENOTTY }
}
