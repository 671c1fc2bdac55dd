//! The programs that Python has, by the numbers that it has of them.
//!
//! Python frees what it does not use any more, in whatever order and thread it likes, and scripts free it themselves as well. So a
//! handle is no pointer but a number that is never given twice: one that is not known any more is an error. Calls on one
//! program wait for each other, and a program that is given back ends with the last call on it.
//!
//! A child of `fork` has the table as it was then. A call that another thread of the parent was in never ends there, and calls on that
//! program wait for it for ever.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use ane_capi::{Network, call};

/// A program, closed when nobody has it any more.
struct Open(Box<Network>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Table {
    last: usize,
    programs: BTreeMap<usize, Arc<Mutex<Open>>>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { last: 0, programs: BTreeMap::new() });

fn table<T>(work: impl FnOnce(&mut Table) -> T) -> T {
    work(&mut TABLE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Takes a program in; gives its handle, which is not null.
pub(crate) fn add(network: Box<Network>) -> *mut c_void {
    table(|table| {
        // A process does not come to the end of these.
        table.last += 1;
        table.programs.insert(table.last, Arc::new(Mutex::new(Open(network))));
        ptr::without_provenance_mut(table.last)
    })
}

/// Takes a program out. `EINVAL` if there is none of that handle, or no more.
pub(crate) fn remove(handle: *mut c_void) -> io::Result<()> {
    // It is closed when the table is free for others again.
    let gone = table(|table| table.programs.remove(&handle.addr()));
    gone.map(drop).ok_or_else(call::invalid)
}

/// Works on a program, alone.
pub(crate) fn with(handle: *mut c_void, work: impl FnOnce(&Network) -> io::Result<()>) -> io::Result<()> {
    let program = table(|table| table.programs.get(&handle.addr()).cloned()).ok_or_else(call::invalid)?;
    let open = program.lock().unwrap_or_else(PoisonError::into_inner);
    work(&open.0)
}
