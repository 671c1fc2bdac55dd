//! Limits of this process (`ulimit`), as far as an error of the system may come from one: such an error does not say so.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Error numbers as messages have them, the limit that may be behind one, and how to name it.
const BEHIND: [(&[&str], Resource, &str); 2] = [
    (&["ENOMEM", "(os error 12)"], Resource::RLIMIT_AS, "address space, ulimit -v"),
    (&["(os error 27)"], Resource::RLIMIT_FSIZE, "the length of files and shared memory, ulimit -f"),
];

/// Has a write beyond the limit on the length of files fail, where by default it ends the process without a word.
#[expect(unsafe_code, reason = "a signal is not to end the process")]
pub(crate) fn tell_of_files() {
    extern "C" fn nothing(_: i32) {}
    // A handler and not to ignore it, which programs that are started would inherit.
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing. Should it not be set, all is as it was.
    let _ = unsafe { sigaction(Signal::SIGXFSZ, &action) };
}

/// The limit that a message may be about, if this process has one.
pub(crate) fn behind(message: &str) -> Option<String> {
    BEHIND.into_iter().find_map(|(errors, resource, name)| {
        let is_meant = errors.iter().any(|error| message.contains(error));
        let (limit, _) = getrlimit(resource).ok().filter(|_| is_meant)?;
        (limit != RLIM_INFINITY).then(|| format!("this process has a limit on {name}: {} KiB", limit / 1024))
    })
}
