//! What is left to the daemon once it listens: serve, and remove its sockets at the end.
//!
//! The daemon reads what a stranger wrote. Should that ever get the better of it, then what it can do to the
//! host is what the kernel still lets it: no file is opened, run or made, no connection goes out, no other
//! process is started or looked at, no memory becomes code. Two walls, for either may be missing:
//!
//! * *Landlock*: of the file system there is only the right to remove files where a socket of its own lies.
//! * *seccomp*: system calls that serving needs, and no others. A call that is not on the list fails with
//!   `EPERM` and ends nothing (Chosen): a newer C library that tries a newer call first falls back, as it does
//!   on an older kernel.
//!
//! Both hold for every thread that starts afterwards, so this comes before the first of them, and after all
//! that needs a name: sockets to listen on, files to write to. Memory, queues and kicks come as descriptors.

use std::env::consts::ARCH;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
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

/// Calls that are allowed whatever their arguments are.
const CALLS: &[libc::c_long] = &[
    // Memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Descriptors that there are, and those that come over a socket. A file's length is asked for.
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_lseek,
    // What a descriptor is, by its name.
    libc::SYS_readlinkat,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // Sockets that there are.
    libc::SYS_accept4,
    libc::SYS_getsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    // Waiting.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_futex,
    libc::SYS_ppoll,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    // Threads and their ends. The first is answered by a filter of its own.
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    // Signals; a thread may end its own process.
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    // A thread that is stuck in a write is interrupted.
    libc::SYS_tgkill,
    // Who asks over the control socket; seeds of hash tables.
    libc::SYS_geteuid,
    libc::SYS_getrandom,
    // The sockets, at the end; Landlock says where.
    libc::SYS_unlinkat,
];

/// The same calls under their older names, which some architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLDER_CALLS: &[libc::c_long] =
    &[libc::SYS_epoll_wait, libc::SYS_newfstatat, libc::SYS_poll, libc::SYS_readlink, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[libc::c_long] = &[libc::SYS_newfstatat];

/// Calls whose argument of that number has none of these bits set.
const WITHOUT: [(libc::c_long, u8, libc::c_int); 2] =
    [(libc::SYS_mmap, 2, libc::PROT_EXEC), (libc::SYS_mprotect, 2, libc::PROT_EXEC)];

/// Calls whose argument of that number has all of these bits set: threads are started, and named.
const WITH: [(libc::c_long, u8, libc::c_int); 2] =
    [(libc::SYS_clone, 0, libc::CLONE_THREAD), (libc::SYS_prctl, 0, libc::PR_SET_NAME)];

/// Shuts everything off that serving does not need; `sockets` are those to be removed at the end.
///
/// What the kernel does not have is said in a line of the log, and done without.
pub(crate) fn enter(sockets: &[PathBuf]) {
    if let Err(why) = restrict_files(sockets) {
        log::warn!("sandbox: files are not shut off: {why:#}");
    }
    if let Err(why) = restrict_calls() {
        log::warn!("sandbox: system calls are not shut off: {why:#}");
    }
}

fn restrict_files(sockets: &[PathBuf]) -> anyhow::Result<()> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
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
        RulesetStatus::NotEnforced => bail!("this kernel has no Landlock"),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

fn restrict_calls() -> anyhow::Result<()> {
    let arch = TargetArch::try_from(ARCH)?;
    // The flags of this call are in memory, where no filter sees them. Told that there is no such call, the C
    // library makes threads by the older one, whose flags can be seen.
    let no_clone3 = SeccompFilter::new(
        [(libc::SYS_clone3, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        arch,
    )?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let allowed = SeccompFilter::new(rules()?.into_iter().collect(), refused, SeccompAction::Allow, arch)?;
    for filter in [no_clone3, allowed] {
        apply_filter(&BpfProgram::try_from(filter)?).context("the kernel refuses the filter")?;
    }
    Ok(())
}

fn rules() -> anyhow::Result<Vec<(libc::c_long, Vec<SeccompRule>)>> {
    let masked = |(call, argument, bits): (_, _, libc::c_int), expected: bool| -> anyhow::Result<_> {
        let bits = u64::try_from(bits)?;
        let is = SeccompCmpOp::MaskedEq(bits);
        let value = if expected { bits } else { 0 };
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)?;
        Ok((call, vec![SeccompRule::new(vec![condition])?]))
    };
    let whole = CALLS.iter().chain(OLDER_CALLS).map(|&call| Ok((call, Vec::new())));
    let without = WITHOUT.into_iter().map(|rule| masked(rule, false));
    let with = WITH.into_iter().map(|rule| masked(rule, true));
    whole.chain(without).chain(with).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Runs on a thread of its own, since there is no way back.
    fn alone<R: Send + 'static>(action: impl FnOnce() -> R + Send + 'static) -> R {
        thread::spawn(action).join().unwrap()
    }

    #[test]
    fn thread_without_other_calls_opens_nothing_and_starts_nothing_but_threads() {
        alone(|| {
            let (mut one, mut other) = UnixStream::pair().unwrap();
            restrict_calls().unwrap();
            assert!(fs::read("/proc/self/status").is_err());
            assert!(TcpListener::bind("127.0.0.1:0").is_err());
            assert!(UnixStream::pair().is_err());
            assert!(Command::new("/bin/true").status().is_err());
            assert_eq!(alone(|| vec![1; 1 << 20].len()), 1 << 20);
            std::io::Write::write_all(&mut one, b"served").unwrap();
            let mut read = [0; 6];
            std::io::Read::read_exact(&mut other, &mut read).unwrap();
            assert_eq!(&read, b"served");
        });
    }

    #[test]
    fn thread_without_files_removes_its_socket_and_touches_no_other() {
        let folder = std::env::temp_dir().join(format!("ane-sandbox-{}", std::process::id()));
        let (own, foreign) = (folder.join("own"), folder.join("foreign"));
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&foreign).unwrap();
        let (socket, precious) = (own.join("socket"), foreign.join("precious"));
        fs::write(&socket, "").unwrap();
        fs::write(&precious, "").unwrap();
        let kept = precious.clone();
        alone(move || {
            restrict_files(std::slice::from_ref(&socket)).unwrap();
            assert!(fs::read(&socket).is_err() && fs::write(own.join("new"), "").is_err());
            assert!(fs::remove_file(&precious).is_err() && fs::read(&precious).is_err());
            fs::remove_file(&socket).unwrap();
        });
        assert!(kept.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
