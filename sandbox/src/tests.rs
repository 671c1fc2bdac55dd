#![expect(unsafe_code, reason = "memory is mapped to see that it is refused")]
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;

use super::*;

/// The calls that a confined process needs in order to end.
fn calls() -> Calls {
    Calls { allowed: vec![libc::SYS_set_robust_list], ..Calls::default() }
}

/// Runs the test of that name again in a process of its own, with `ANE_SANDBOX_ACT` set: there is no way back from a sandbox.
fn in_a_process(test: &str, act: &str) -> ExitStatus {
    let this = std::env::current_exe().unwrap();
    let arguments = ["--exact", test, "--nocapture", "--test-threads=1"];
    Command::new(this).args(arguments).env("ANE_SANDBOX_ACT", act).output().unwrap().status
}

#[test]
fn call_that_is_on_no_list_ends_the_process_and_one_that_is_refused_does_not() {
    const NAME: &str = "tests::call_that_is_on_no_list_ends_the_process_and_one_that_is_refused_does_not";
    let Ok(act) = std::env::var("ANE_SANDBOX_ACT") else {
        for act in ["refused", "thread"] {
            assert_eq!(in_a_process(NAME, act).code(), Some(7), "{act}");
        }
        for act in ["listen", "start", "code"] {
            assert_eq!(in_a_process(NAME, act).signal(), Some(libc::SIGSYS), "{act}");
        }
        return;
    };
    let confined = enter(&calls(), &[]);
    assert!(confined.calls.is_some(), "{confined}");
    match act.as_str() {
        "refused" => assert!(fs::read("/proc/self/status").is_err()),
        "thread" => assert_eq!(thread::spawn(|| vec![1; 1 << 20].len()).join().unwrap(), 1 << 20),
        "listen" => drop(TcpListener::bind("127.0.0.1:0")),
        "start" => drop(Command::new("/bin/true").status()),
        _ => {
            let access = libc::PROT_READ | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: a mapping of its own, which nothing else is replaced by.
            let _ = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, flags, -1, 0) };
        }
    }
    std::process::exit(7);
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
    // It holds for this thread alone, and there is no way back.
    thread::spawn(move || {
        restrict_files(&Calls::default(), std::slice::from_ref(&socket)).unwrap();
        assert!(fs::read(&socket).is_err() && fs::write(own.join("new"), "").is_err());
        assert!(fs::remove_file(&precious).is_err() && fs::read(&precious).is_err());
        fs::remove_file(&socket).unwrap();
    })
    .join()
    .unwrap();
    assert!(kept.exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn call_that_stands_twice_and_one_too_many_are_told() {
    assert!(calls().count().is_ok());
    let twice = Calls { allowed: vec![libc::SYS_read], ..Calls::default() };
    assert_eq!(twice.count(), Err(format!("call {} stands there twice", libc::SYS_read)));
    let both = Calls { allowed: vec![libc::SYS_openat], ..Calls::default() };
    assert!(both.count().is_err());
    let many = Calls { allowed: (1000..1040).collect(), ..Calls::default() };
    assert_eq!(many.count(), Err(format!("{} calls", EVERYBODY.len() + WITH_ARGUMENT.len() + 40)));
}

#[test]
fn socket_of_a_living_process_is_served_whatever_its_type_and_the_process_sees_no_connection() {
    let folder = std::env::temp_dir().join(format!("ane-served-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [stream, datagram, left, none] = ["stream", "datagram", "left", "none"].map(|name| folder.join(name));
    let listener = UnixListener::bind(&stream).unwrap();
    listener.set_nonblocking(true).unwrap();
    let _receiver = UnixDatagram::bind(&datagram).unwrap();
    drop(UnixListener::bind(&left).unwrap());
    let served = [&stream, &datagram, &left, &none].map(|path| place::is_served(path).unwrap());
    assert_eq!(served, [true, true, false, false]);
    assert!(listener.accept().is_err(), "nobody connected");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn permissions_of_a_file_behind_a_link_stay_as_they_are() {
    let folder = std::env::temp_dir().join(format!("ane-admitted-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [socket, precious, link] = ["socket", "precious", "link"].map(|name| folder.join(name));
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::write(&precious, "").unwrap();
    fs::set_permissions(&precious, Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    assert!(place::admit(&link, 0o666, None).is_err() && place::admit(&precious, 0o666, None).is_err());
    place::admit(&socket, 0o604, None).unwrap();
    let modes = [&precious, &socket].map(|path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    assert_eq!(modes, [0o640, 0o604]);
    fs::remove_dir_all(&folder).unwrap();
}
