//! What is left to a daemon once it listens: serve, and remove its socket at the end.
//!
//! The daemon reads what strangers wrote, and what a device says. Should that ever get the better of it, then what it can
//! do to the host is what the kernel still lets it. Three walls, each of which may be missing:
//!
//! * *no new privileges*: nothing that it starts has more rights than it has;
//! * *Landlock*: of the file system there is only the right to remove files where its own socket lies, and no network;
//! * *seccomp*: the system calls of [`CALLS`], and no others. Any other call ends the daemon, which then is started anew: a
//!   daemon that does what none of its code does is not to go on.
//!
//! All hold for every thread that starts afterwards, so this comes before the first of them and before the first client.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::os::fd::AsFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// The newest version of Landlock whose rights are known here; an older kernel takes those it knows.
const KNOWN: ABI = ABI::V6;

/// Where the device is that a daemon serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// In this process: it computes on threads of its own.
    Here,
    /// Behind the socket of another process, to which it connects anew when that one was started anew.
    Socket,
}

/// Calls of every daemon, whatever their arguments are.
pub const CALLS: &[libc::c_long] = &[
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    // Descriptors: those that there are, that come over a socket, and memory objects and pipes for clients.
    libc::SYS_close,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_ftruncate,
    libc::SYS_memfd_create,
    libc::SYS_pipe2,
    libc::SYS_read,
    libc::SYS_write,
    // Sockets.
    libc::SYS_accept4,
    libc::SYS_getsockopt,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    // Waiting; and going on with that after the process was stopped for a while.
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_futex,
    libc::SYS_ppoll,
    libc::SYS_restart_syscall,
    // Time, where the system has to be asked for it.
    libc::SYS_clock_gettime,
    // Threads and their ends.
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_gettid,
    libc::SYS_rseq,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    // Seeds of hash tables, tokens of files.
    libc::SYS_getrandom,
];

/// More calls of a daemon whose device is elsewhere: it connects to it anew.
const CALLS_SOCKET: &[libc::c_long] = &[libc::SYS_connect, libc::SYS_epoll_create1, libc::SYS_eventfd2];

/// A call that has another name on architectures without the older ones.
#[cfg(target_arch = "x86_64")]
const UNLINK: libc::c_long = libc::SYS_unlink;
#[cfg(not(target_arch = "x86_64"))]
const UNLINK: libc::c_long = libc::SYS_unlinkat;

/// Calls that are refused and end nothing, since the C library does without: threads by the call whose flags lie in memory,
/// where no filter sees them; names of threads; giving way while one spins; ways to save memory, of which others are left; and
/// files, from one of which it would read how many processors there are when threads contend for memory.
const REFUSED: [(libc::c_long, libc::c_int); 6] = [
    (libc::SYS_clone3, libc::ENOSYS),
    (libc::SYS_prctl, libc::EPERM),
    (libc::SYS_sched_yield, libc::ENOSYS),
    (libc::SYS_mremap, libc::ENOMEM),
    (libc::SYS_madvise, libc::ENOSYS),
    (libc::SYS_openat, libc::EACCES),
];

/// What a call's argument of that number has to be for it to pass: these bits, in this state.
const WITH_ARGUMENT: [(libc::c_long, u8, libc::c_int, bool); 3] = [
    // No memory becomes code.
    (libc::SYS_mmap, 2, libc::PROT_EXEC, false),
    (libc::SYS_mprotect, 2, libc::PROT_EXEC, false),
    // Threads are started, and no processes.
    (libc::SYS_clone, 0, libc::CLONE_THREAD, true),
];

/// How much was shut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// System calls that are left; `None` if none were shut off.
    pub calls: Option<usize>,
    /// True if files and the network are shut off.
    pub files: bool,
    /// Why something is not shut off.
    pub missing: Vec<String>,
}

impl std::fmt::Display for Confined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let calls = self.calls.map(|calls| format!("all but {calls} system calls are shut off"));
        let files = self.files.then(|| "files and network are shut off".to_owned());
        let parts: Vec<String> = calls.into_iter().chain(files).chain(self.missing.iter().cloned()).collect();
        write!(f, "{}", parts.join(", "))
    }
}

/// Shuts everything off that serving does not need; `socket` is removed at the end.
///
/// What the kernel does not have is in what this returns, and done without.
pub fn enter(device: Device, socket: Option<&Path>) -> Confined {
    prepare_c_library();
    let mut missing = Vec::new();
    let files = restrict_files(socket).map_err(|why| missing.push(format!("files are open to it: {why}")));
    let calls =
        restrict_calls(device).map_err(|why| missing.push(format!("system calls are open to it: {why}")));
    Confined { calls: calls.ok(), files: files.is_ok(), missing }
}

/// Has the C library do now what it would do later by calls that are shut off then.
#[cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "a setting of the C library is a call of it"))]
fn prepare_c_library() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it stores a number. There is one thread, so nobody allocates meanwhile.
    unsafe {
        // Memory that a thread has of its own is given back after a look into /proc.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    // With the first thread, and with no other, it sets a signal's action.
    let first = std::thread::Builder::new().spawn(|| ()).map(std::thread::JoinHandle::join);
    drop(first);
}

/// Landlock, which sets no-new-privileges on its way.
fn restrict_files(socket: Option<&Path>) -> Result<(), Box<dyn std::error::Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::Signal)?
        .create()?;
    if let Some(socket) = socket {
        let folder = match socket.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let folder = PathFd::new(folder)?;
        rules = rules.add_rule(PathBeneath::new(folder.as_fd(), AccessFs::RemoveFile))?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".into()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

/// Seccomp; how many calls are left.
fn restrict_calls(device: Device) -> Result<usize, Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(ARCH)?;
    let rules = rules(device)?;
    let count = rules.len();
    // A filter has one answer to what it does not allow. Of several filters' answers the kernel takes the stricter, so the
    // last one lets pass what the others refuse.
    for (call, errno) in REFUSED {
        let answer = SeccompAction::Errno(errno.unsigned_abs());
        let rule = [(call, refused(call)?)].into();
        let filter = SeccompFilter::new(rule, SeccompAction::Allow, answer, arch)?;
        apply_filter(&BpfProgram::try_from(filter)?)?;
    }
    let mut known: BTreeMap<_, _> = rules.into_iter().collect();
    for (call, _) in REFUSED {
        known.insert(call, refused(call)?);
    }
    let allowed = SeccompFilter::new(known, SeccompAction::KillProcess, SeccompAction::Allow, arch)?;
    apply_filter(&BpfProgram::try_from(allowed)?)?;
    Ok(count)
}

/// Which of a refused call's arguments are meant: of the one that makes filters, too, that it names a thread.
fn refused(call: libc::c_long) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    if call != libc::SYS_prctl {
        return Ok(Vec::new());
    }
    let names =
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::PR_SET_NAME as u64)?;
    Ok(vec![SeccompRule::new(vec![names])?])
}

type Rules = Vec<(libc::c_long, Vec<SeccompRule>)>;

fn rules(device: Device) -> Result<Rules, seccompiler::BackendError> {
    let more = match device {
        Device::Here => &[][..],
        Device::Socket => CALLS_SOCKET,
    };
    let mut rules: Rules =
        CALLS.iter().chain(more).chain([&UNLINK]).map(|&call| (call, Vec::new())).collect();
    for (call, argument, bits, is_set) in WITH_ARGUMENT {
        let bits = u64::from(bits.unsigned_abs());
        let is = SeccompCmpOp::MaskedEq(bits);
        let wanted = if is_set { bits } else { 0 };
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, wanted)?;
        rules.push((call, vec![SeccompRule::new(vec![condition])?]));
    }
    if device == Device::Socket {
        // Sockets of this machine only.
        let is_unix =
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?;
        rules.push((libc::SYS_socket, vec![SeccompRule::new(vec![is_unix])?]));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemon_is_left_forty_calls_at_the_most() {
        for device in [Device::Here, Device::Socket] {
            let rules = rules(device).unwrap();
            let mut names: Vec<_> = rules.iter().map(|(call, _)| *call).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), rules.len(), "each stands there once");
            assert!(rules.len() <= 40, "{device:?}: {}", rules.len());
        }
    }
}
