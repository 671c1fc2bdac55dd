//! Descriptors of types that own one and lend only its number.
#![expect(unsafe_code, reason = "a number has to become a borrowed descriptor")]

use std::os::fd::{AsRawFd, BorrowedFd};

use vmm_sys_util::epoll::Epoll;
use vmm_sys_util::eventfd::EventFd;

/// Types that own a descriptor, which they close when they are dropped and not before.
pub(super) trait Owner: AsRawFd {}

impl Owner for Epoll {}
impl Owner for EventFd {}
impl Owner for vfio_ioctls::VfioDevice {}

/// The descriptor of `owner`, for as long as it lives.
pub(super) fn borrow<T: Owner>(owner: &T) -> BorrowedFd<'_> {
    // SAFETY: the owner keeps its descriptor open while it lives, and it is borrowed as long as the result.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}
