//! The owner of a device or a program: one thread at a time, and only the process that opened it.
//!
//! An embedded device is threads and locks of this process. A child of `fork` has the memory of both and none of the
//! threads, so that the first call in it could wait for ever; and what it wrote would go into the parent's buffers. So
//! everything that belongs to a device is kept in an [`Owned`], which raises `ForkError` in any other process, and which
//! a child never drops: what it would give back is the parent's.
//!
//! A thread that waits for the lock lets other Python threads run meanwhile. A thread that has the lock and asks for it
//! again, which a signal handler or a destructor can bring about, gets `BusyError` instead of waiting for itself.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::raise;

/// Nobody has the lock.
const NOBODY: u64 = 0;

/// Something that belongs to this process, and that one thread uses at a time.
pub(crate) struct Owned<T> {
    /// For messages: what it is.
    what: &'static str,
    process: u32,
    thread: AtomicU64,
    inner: ManuallyDrop<Mutex<T>>,
}

/// The owned value, for one thread.
pub(crate) struct Held<'a, T> {
    thread: &'a AtomicU64,
    guard: MutexGuard<'a, T>,
}

impl<T> Owned<T> {
    pub(crate) fn new(what: &'static str, inner: T) -> Self {
        Self {
            what,
            process: process::id(),
            thread: AtomicU64::new(NOBODY),
            inner: ManuallyDrop::new(Mutex::new(inner)),
        }
    }

    /// Takes the value, once no other thread has it.
    ///
    /// # Errors
    ///
    /// `ForkError` in a child process, `BusyError` if this thread has it already.
    pub(crate) fn hold(&self, py: Python<'_>) -> PyResult<Held<'_, T>> {
        if process::id() != self.process {
            return Err(raise::forked(py, self.what));
        }
        let me = this_thread();
        // Only this thread writes its own number there, so that reading it cannot be too early or too late.
        if self.thread.load(Ordering::Relaxed) == me {
            return Err(raise::busy(py, self.what));
        }
        // A thread that panicked has left what it held between two calls.
        let guard = self.inner.lock_py_attached(py).unwrap_or_else(|poisoned| poisoned.into_inner());
        self.thread.store(me, Ordering::Relaxed);
        Ok(Held { thread: &self.thread, guard })
    }
}

impl<T> Drop for Owned<T> {
    #[expect(
        unsafe_code,
        reason = "what belongs to another process must not be dropped, and only ManuallyDrop can say so"
    )]
    fn drop(&mut self) {
        if process::id() == self.process {
            // SAFETY: it is dropped here and nowhere else, and nobody can reach it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        // Before the lock is given back: the next thread writes its own number once it has it.
        self.thread.store(NOBODY, Ordering::Relaxed);
    }
}

/// A number for this thread that no other thread of the process has.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static ME: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread whose locals are gone is about to end and holds nothing.
    ME.try_with(|me| *me).unwrap_or(u64::MAX)
}
