//! Limits of the daemon's own process (`ulimit`) that its clients run into without seeing them.
//!
//! An `ENOMEM` of a client may come from a limit of the daemon's process. The client cannot see that limit, so the daemon
//! logs it at its start.

pub use ane_sandbox::descriptors::raise_limit;
use rustix::process::{Resource, getrlimit};

/// Limits that become `ENOMEM` for a client, and how to name them.
const LIMITS: [(Resource, &str); 2] = [
    (Resource::As, "address space, ulimit -v"),
    (Resource::Fsize, "the length of files and shared memory, ulimit -f"),
];

/// Warnings about the limits of this process, a line each.
pub fn limits() -> Vec<String> {
    LIMITS.into_iter().filter_map(|(resource, name)| told(name, getrlimit(resource).current)).collect()
}

fn told(name: &str, limit: Option<u64>) -> Option<String> {
    let kilobytes = limit? / 1024;
    Some(format!(
        "this process has a limit on {name}: {kilobytes} KiB; a client whose call meets it is told ENOMEM"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_told_by_name_and_size_and_none_is_not_told() {
        assert_eq!(told("address space, ulimit -v", None), None);
        let line = told("address space, ulimit -v", Some(4_096_000_000)).unwrap();
        assert!(
            line.contains("address space, ulimit -v: 4000000 KiB; ") && line.contains("ENOMEM"),
            "{line}"
        );
    }
}
