//! Every compiled program, and a fault, by the driver's bus alone.

use std::time::Duration;

use ane::container;
use ane_driver::bus::vhost_user::{self, VhostUser};
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::guest_checks;
use ane_tests::machine::Machine;

use super::{FUNCTION, Guest, here};

/// How long the rings are looked at before sleeping, when polling is measured, as in the guest.
const POLL: Duration = Duration::from_millis(2);

#[test]
fn programs_and_faults_in_a_guest_are_bit_for_bit_those_of_this_process() {
    let Some(guest) = Guest::make() else { return };
    let mut machine = Machine::start(&guest.setting());
    let setup = machine.ok("ane vm setup");
    assert_eq!(setup, format!("{FUNCTION} belongs to vfio-pci; 64 huge pages of 2 MiB"));
    assert_eq!(machine.ok(&format!("guest-checks {FUNCTION} identity")), guest_checks::identity(&here()));

    // First of all, since transactions are numbered from the start of the device's process.
    let fault = machine.ok(&format!("guest-checks {FUNCTION} fault"));
    assert_eq!(fault, guest_checks::fault(here()));

    let there = machine.ok(&format!("cd /srv; guest-checks {FUNCTION} programs *.hwx"));
    let here: Vec<_> = guest
        .samples
        .iter()
        .map(|sample| {
            assert!(container::open(&sample.bytes).is_ok(), "{}", sample.name);
            guest_checks::program(here(), &format!("{}.hwx", sample.name), &sample.bytes)
        })
        .collect();
    assert_eq!(there.lines().collect::<Vec<_>>(), here);

    // The same wire without a machine, for who wants to compare.
    let daemon = Daemon::start(&[]);
    for (name, poll) in [("sleeping", Duration::ZERO), ("polling", POLL)] {
        let settings = vhost_user::Settings { timeout: LIMIT, poll, ..Default::default() };
        let mut bus = VhostUser::connect(&daemon.socket(), settings).unwrap();
        let times = guest_checks::round_trip(&mut bus, 2000);
        println!("between two processes, {name}: p50 {:?} p99 {:?}", times.median, times.p99);
    }
    println!("in the guest:\n{}", machine.ok(&format!("guest-checks {FUNCTION} round-trip")));

    // The pages of a driver that has ended are free again; with fewer it is said what is missing.
    machine.ok("echo 6 > /proc/sys/vm/nr_hugepages");
    let few = machine.run(&format!("guest-checks {FUNCTION} identity"));
    assert_eq!(few.code, 1);
    assert!(few.text.contains("6 huge pages of 2 MiB are free, 8 are needed"), "{}", few.text);
    machine.power_off();
}
