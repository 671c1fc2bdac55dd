//! The daemons shut off what they do not need before they serve anybody. Every other test of them runs against a daemon that
//! has done so, and shows that nothing is missing.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use ane_tests::aned::Aned;
use ane_tests::command;
use ane_tests::daemon::{Daemon, wait_for_socket};
use ane_tests::null_task::program;

/// A field of the status of each thread of a process.
fn of_each_thread(process: u32, field: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    threads
        .map(|thread| {
            let status = thread.expect("it can be listed").path().join("status");
            let status = fs::read_to_string(status).expect("it has a status");
            let line = status.lines().find(|line| line.starts_with(field)).expect("the field is there");
            line.trim_start_matches(field).trim().to_owned()
        })
        .collect()
}

#[test]
fn aned_is_confined_and_says_so_once() {
    let device = Daemon::start(&[]);
    let aned = Aned::start(&device.socket(), &[]);
    let mut clients = aned.clients();
    let file = clients.open();
    let loaded = clients.load(file, &program(1).program());
    clients.run(&loaded);
    for (field, wanted) in [("Seccomp:", "2"), ("NoNewPrivs:", "1")] {
        assert!(of_each_thread(aned.pid(), field).iter().all(|found| found == wanted), "{field}");
    }
    let log = aned.log();
    assert_eq!(
        log.matches("confined: all but 40 system calls are shut off, files and network").count(),
        1,
        "{log}"
    );
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn aned_that_is_not_to_be_confined_warns() {
    let device = Daemon::start(&[]);
    let aned = Aned::start(&device.socket(), &["--no-sandbox"]);
    assert!(of_each_thread(aned.pid(), "Seccomp:").iter().all(|mode| mode == "0"));
    assert!(aned.log().contains("WARN  aned] not confined: --no-sandbox"), "{}", aned.log());
}

/// The client's ENOMEM comes from a limit that it cannot see.
#[test]
fn daemon_with_a_limit_on_memory_or_files_says_so_and_lives() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("aned.sock");
    let device = Daemon::start(&[]);
    let start = format!(
        "ulimit -v 64000000; ulimit -f 100000; exec {} --device vhost-user:{} --socket-path {}",
        ane_tests::aned::path().display(),
        device.socket().display(),
        socket.display()
    );
    let mut child =
        Command::new("bash").args(["-c", &start]).stderr(Stdio::piped()).spawn().expect("a shell");
    wait_for_socket(&socket, &mut child);
    let ended = Command::new(command::path())
        .args(["demo", "--device", &format!("aned:{}", socket.display())])
        .output()
        .expect("it starts");
    // An arena is longer than that.
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && told.contains("ENOMEM"), "{told}");
    assert!(child.try_wait().expect("it can be asked").is_none(), "no signal ended it");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
    nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).expect("it runs");
    let log = child.wait_with_output().expect("it ends").stderr;
    let log = String::from_utf8_lossy(&log);
    for limit in ["ulimit -v: 64000000 KiB", "ulimit -f: 100000 KiB"] {
        assert!(log.contains(limit), "{log}");
    }
}

#[test]
fn confined_daemon_with_a_device_of_its_own_computes_long_tasks() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let socket = folder.path().join("aned.sock");
    let model = folder.path().join("long.anec");
    let long = ane_tests::long_task::convolution(32, 32, 32, 0.5).to_anec().expect("can be written");
    fs::write(&model, long).expect("can be written");
    let log = fs::File::create(folder.path().join("log")).expect("a file can be made");
    let mut daemon = Command::new(command::path())
        .args(["daemon", "--socket-path"])
        .arg(&socket)
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("it starts");
    wait_for_socket(&socket, &mut daemon);
    let device = format!("aned:{}", socket.display());
    command::printed(&["run", model.to_str().expect("is text"), "--device", &device]);
    command::printed(&["demo", "--device", &device]);
    assert!(of_each_thread(daemon.id(), "Seccomp:").iter().all(|mode| mode == "2"));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(daemon.id()).expect("a process number"));
    // A process that was stopped goes on with the calls that it was in.
    for signal in [nix::sys::signal::SIGSTOP, nix::sys::signal::SIGCONT] {
        nix::sys::signal::kill(pid, signal).expect("it runs");
        std::thread::sleep(Duration::from_millis(50));
    }
    command::printed(&["demo", "--device", &device]);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).expect("it runs");
    let status = daemon.wait().expect("it ends");
    let told = fs::read_to_string(folder.path().join("log")).expect("it is there");
    assert_eq!((status.code(), status.signal()), (Some(0), None), "{told}");
    assert!(told.contains("ane: confined: all but 36 system calls"), "{told}");
    assert!(!socket.exists(), "the socket is gone");
}
