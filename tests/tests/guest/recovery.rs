//! Devices that die, and guests that start again.

use ane_tests::command::ane;
use ane_tests::guest_checks;
use ane_tests::machine::Machine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{FUNCTION, Guest, here};

/// Waits until a program in the guest has written a line to a file.
fn wait_for_line(machine: &mut Machine, line: &str, file: &str) {
    machine.ok(&format!(
        "n=0; until grep -qx '{line}' {file}; do n=$((n + 1)); [ $n -lt 40 ] || {{ cat {file} /tmp/aned; false; break; }}; sleep 1; done"
    ));
}

#[test]
fn device_that_died_is_unplugged_and_another_plugged_while_a_driver_waits() {
    let Some(guest) = Guest::make() else { return };
    let mut machine = Machine::start(&guest.setting());
    machine.ok("ane vm setup");
    machine.ok(&format!("(guest-checks {FUNCTION} wait > /tmp/wait 2>&1 &)"));
    wait_for_line(&mut machine, "waiting", "/tmp/wait");
    kill(Pid::from_raw(machine.device() as i32), Signal::SIGKILL).unwrap();
    let message = machine.wait_for_message("another is ready");
    assert!(message.contains("was ended by signal 9") && message.contains("ane vm recover"), "{message}");

    let recovered = ane(&["vm", "recover", machine.monitor().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&recovered.stdout).into_owned();
    assert!(recovered.status.success(), "{said}{}", String::from_utf8_lossy(&recovered.stderr));
    assert_eq!(said, "ane1 is plugged in\n");
    wait_for_line(&mut machine, "the device is gone", "/tmp/wait");
    assert_eq!(machine.ok("cat /tmp/wait"), "waiting\nthe device is gone");
    machine.ok("ane vm setup");
    assert_eq!(machine.ok(&format!("guest-checks {FUNCTION} identity")), guest_checks::identity(&here()));

    // The same to the daemon while a client waits for an answer: the call ends with an error, and when the new function
    // is there it is taken over. The client's buffers are what they were.
    machine.ok(&format!("(aned --device vfio:{FUNCTION} > /tmp/aned 2>&1 &) ; sleep 3"));
    machine.ok("(guest-checks aned outlive /srv/add_relu.anec > /tmp/outlive 2>&1 &)");
    wait_for_line(&mut machine, "running", "/tmp/outlive");
    kill(Pid::from_raw(machine.device() as i32), Signal::SIGKILL).unwrap();
    machine.wait_for_messages("another is ready", 2);
    wait_for_line(&mut machine, "lost", "/tmp/outlive");
    assert_eq!(machine.run("ane run /srv/add_relu.anec --device aned").code, 3);
    let recovered = ane(&["vm", "recover", machine.monitor().to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&recovered.stdout), "ane2 is plugged in\n");
    wait_for_line(&mut machine, "found again", "/tmp/outlive");
    machine.ok("ane run /srv/add_relu.anec --device aned");

    // And while nobody asks anything of it.
    kill(Pid::from_raw(machine.device() as i32), Signal::SIGKILL).unwrap();
    machine.wait_for_messages("another is ready", 3);
    let recovered = ane(&["vm", "recover", machine.monitor().to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&recovered.stdout), "ane3 is plugged in\n");
    machine.ok("for n in 1 2 3 4 5 6 7 8 9; do ane run /srv/add_relu.anec --device aned && break; sleep 1; false; done");

    // And once more over a reboot, with the device that was plugged.
    machine.reboot();
    machine.ok("ane vm setup");
    assert_eq!(machine.ok(&format!("guest-checks {FUNCTION} identity")), guest_checks::identity(&here()));
    machine.power_off();
}
