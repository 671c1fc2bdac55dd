//! A daemon that is stopped: its clients find that out in bounded time, and go on when it does.

use std::process::{Command, Stdio};

use ane_tests::aned::Aned;
use ane_tests::daemon::Daemon;
use ane_tests::preload::{compiled, library};

#[test]
fn daemon_that_is_stopped_is_a_device_that_is_gone_and_serves_anew_when_it_goes_on() {
    let device = Daemon::start(&[]);
    let daemon = Aned::start(&device.socket(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("stopped.c", folder.path(), &[]) else { return };
    let output = Command::new(program)
        .arg(daemon.pid().to_string())
        .env("LD_PRELOAD", library())
        .env("ANE_SHIM_SOCKET", daemon.socket())
        .env("ANE_SHIM_PATIENCE_MS", "2000")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
}
