//! The confinement of a daemon once it listens: it can only serve, and remove its sockets at the end. [`place`] has the steps
//! before that, [`unblocked`] the log.
//!
//! A daemon reads what strangers wrote. If an attacker ever takes it over, the kernel still bounds what it can do to the host.
//! There are three walls, and each of them may be missing:
//!
//! * *no new privileges*: nothing that it starts has more rights than it has;
//! * *Landlock*: of the file system there is only the right to remove files where its own sockets lie, and no network;
//! * *seccomp*: the system calls that it names ([`Calls`]), and no others. Any other call ends the daemon: its own code makes none, so
//!   somebody has taken it over. Its manager starts it anew.
//!
//! All hold for every thread that starts afterwards, so [`enter`] comes before the first of them and before the first client.
//! Every daemon has a list of its own. The rules for all daemons are here: the calls that each of them has, no memory becomes
//! code, threads can be started and no processes, and some calls are refused with an error, since the C library does without.

pub mod descriptors;
pub mod place;
pub mod unblocked;

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// The newest version of Landlock whose rights are known here; an older kernel takes those it knows.
const KNOWN: ABI = ABI::V6;

/// Most calls that a daemon may keep (Chosen).
pub const CALLS_MAX: usize = 40;

pub type Call = libc::c_long;

/// The system calls that a daemon needs once it listens, besides those of [`EVERYBODY`].
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Calls whatever their arguments are.
    pub allowed: Vec<Call>,
    /// Calls that are refused with an error number and end nothing, besides those that are for everybody.
    pub refused: Vec<(Call, libc::c_int)>,
    /// True if it may make sockets of this machine.
    pub makes_sockets: bool,
    /// True if it may connect to sockets that have no name in the file system and that it did not make itself.
    pub uses_abstract_sockets: bool,
}

/// Calls that every daemon has, whatever their arguments are.
pub const EVERYBODY: &[Call] = &[
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    // Descriptors that there are, and those that come over a socket.
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_read,
    libc::SYS_write,
    // Sockets that there are.
    libc::SYS_accept4,
    libc::SYS_getsockopt,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    // Waiting; and going on with that after the process was stopped for a while.
    libc::SYS_epoll_ctl,
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
    libc::SYS_sigaltstack,
    // Seeds of hash tables, tokens of files.
    libc::SYS_getrandom,
    // Its sockets, at the end; Landlock says where.
    UNLINK,
];

/// Calls that are refused and end nothing, since the C library does without: threads by the call whose flags lie in memory,
/// where no filter sees them; names of threads; giving way while one spins; ways to save memory, of which others are left; and
/// files, from one of which it would read how many processors there are when threads contend for memory.
const REFUSED: [(Call, libc::c_int); 6] = [
    (libc::SYS_clone3, libc::ENOSYS),
    (libc::SYS_prctl, libc::EPERM),
    (libc::SYS_sched_yield, libc::ENOSYS),
    (libc::SYS_mremap, libc::ENOMEM),
    (libc::SYS_madvise, libc::ENOSYS),
    (libc::SYS_openat, libc::EACCES),
];

/// Conditions on an argument of a call: the call, the number of its argument, the bits, and whether they have to be set.
const WITH_ARGUMENT: [(Call, u8, libc::c_int, bool); 3] = [
    // No memory becomes code.
    (libc::SYS_mmap, 2, libc::PROT_EXEC, false),
    (libc::SYS_mprotect, 2, libc::PROT_EXEC, false),
    // Threads are started, and no processes.
    (libc::SYS_clone, 0, libc::CLONE_THREAD, true),
];

/// Removes a file, by the name that the call has on this architecture.
#[cfg(target_arch = "x86_64")]
const UNLINK: Call = libc::SYS_unlink;
/// Removes a file, by the name that the call has on this architecture.
#[cfg(not(target_arch = "x86_64"))]
const UNLINK: Call = libc::SYS_unlinkat;

/// What a daemon says that was told to shut nothing off.
pub const NOT_CONFINED: &str =
    "not confined: --no-sandbox leaves files, network and every system call open to whatever goes wrong here";

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
        let how = match (self.missing.is_empty(), self.calls.is_some() || self.files) {
            (true, _) => "confined",
            (false, true) => "confined in part",
            (false, false) => "not confined",
        };
        write!(f, "{how}: {}", parts.join(", "))
    }
}

/// Shuts everything off that serving does not need; `sockets` are removed at the end.
///
/// Walls that the kernel does not have are listed in the result, and done without.
pub fn enter(calls: &Calls, sockets: &[PathBuf]) -> Confined {
    prepare_c_library();
    let mut missing = Vec::new();
    let files = match restrict_files(calls, sockets) {
        Ok(is_whole) => {
            if !is_whole {
                missing.push("this kernel knows only some of the rules of Landlock".to_owned());
            }
            true
        }
        Err(why) => {
            missing.push(format!("files are open to the daemon: {why}"));
            false
        }
    };
    let left = restrict_calls(calls)
        .map_err(|why| missing.push(format!("system calls are open to the daemon: {why}")));
    Confined { calls: left.ok(), files, missing }
}

/// Has the C library do now what it would do later by calls that are shut off then.
#[cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "a setting of the allocator"))]
fn prepare_c_library() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it stores a number. There is one thread, so no other thread allocates meanwhile.
    unsafe {
        // Memory that a thread has of its own is given back after a look into /proc.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    // With the first thread, and with no other, it sets a signal's action.
    let first = std::thread::Builder::new().spawn(|| ()).map(std::thread::JoinHandle::join);
    drop(first);
}

/// Landlock, which sets no-new-privileges on its way; whether the kernel knows each of the rules.
fn restrict_files(calls: &Calls, sockets: &[PathBuf]) -> Result<bool, Box<dyn std::error::Error>> {
    let mut scope = Scope::from_all(KNOWN);
    if calls.uses_abstract_sockets {
        scope.remove(Scope::AbstractUnixSocket);
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(scope)?
        .create()?;
    for socket in sockets {
        let folder = match socket.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let folder = PathFd::new(folder)?;
        rules = rules.add_rule(PathBeneath::new(folder.as_fd(), AccessFs::RemoveFile))?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".into()),
        RulesetStatus::PartiallyEnforced => Ok(false),
        RulesetStatus::FullyEnforced => Ok(true),
    }
}

/// Seccomp; how many calls are left.
fn restrict_calls(calls: &Calls) -> Result<usize, Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(ARCH)?;
    let rules = calls.rules()?;
    let count = rules.len();
    // A filter has one answer to what it does not allow. Of several filters' answers the kernel takes the stricter, so the
    // last one lets pass what the others refuse.
    let refused: Vec<_> = REFUSED.iter().chain(&calls.refused).copied().collect();
    for &(call, errno) in &refused {
        let answer = SeccompAction::Errno(errno.unsigned_abs());
        let rule = [(call, refused_arguments(call)?)].into();
        let filter = SeccompFilter::new(rule, SeccompAction::Allow, answer, arch)?;
        apply_filter(&BpfProgram::try_from(filter)?)?;
    }
    let mut known: BTreeMap<_, _> = rules.into_iter().collect();
    for (call, _) in refused {
        known.insert(call, refused_arguments(call)?);
    }
    let allowed = SeccompFilter::new(known, SeccompAction::KillProcess, SeccompAction::Allow, arch)?;
    apply_filter(&BpfProgram::try_from(allowed)?)?;
    Ok(count)
}

/// The arguments with which a call gets its error; with any others it ends the daemon. `prctl` makes filters, and also names a
/// thread, which is the part of it that the C library does without.
fn refused_arguments(call: Call) -> Result<Vec<SeccompRule>, BackendError> {
    if call != libc::SYS_prctl {
        return Ok(Vec::new());
    }
    Ok(vec![SeccompRule::new(vec![first_is(libc::PR_SET_NAME)?])?])
}

fn first_is(value: libc::c_int) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(value.unsigned_abs()))
}

impl Calls {
    /// Each call that passes, and with which arguments.
    fn rules(&self) -> Result<Vec<(Call, Vec<SeccompRule>)>, BackendError> {
        let mut rules: Vec<_> =
            EVERYBODY.iter().chain(&self.allowed).map(|&call| (call, Vec::new())).collect();
        for (call, argument, bits, is_set) in WITH_ARGUMENT {
            let bits = u64::from(bits.unsigned_abs());
            let is = SeccompCmpOp::MaskedEq(bits);
            let wanted = if is_set { bits } else { 0 };
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, wanted)?;
            rules.push((call, vec![SeccompRule::new(vec![condition])?]));
        }
        if self.makes_sockets {
            // Sockets of this machine only.
            rules.push((libc::SYS_socket, vec![SeccompRule::new(vec![first_is(libc::AF_UNIX)?])?]));
        }
        Ok(rules)
    }

    /// How many calls are left.
    ///
    /// # Errors
    ///
    /// The call that stands in the list twice, or that is refused as well; or that there are more than [`CALLS_MAX`].
    pub fn count(&self) -> Result<usize, String> {
        let rules = self.rules().map_err(|why| why.to_string())?;
        let refused = REFUSED.iter().chain(&self.refused).map(|(call, _)| *call);
        let mut names: Vec<_> = rules.iter().map(|(call, _)| *call).chain(refused).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]) {
            return Err(format!("call {twice} stands there twice"));
        }
        if rules.len() > CALLS_MAX { Err(format!("{} calls", rules.len())) } else { Ok(rules.len()) }
    }
}

#[cfg(test)]
mod tests;
