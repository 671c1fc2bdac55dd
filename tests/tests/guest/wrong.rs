//! Machines that are put together wrongly: each says what is wrong with it.

use ane_tests::command::ane;
use ane_tests::machine::{Machine, Setting};

use super::{FUNCTION, Guest};

#[test]
fn machine_without_shared_memory_is_told_so_before_its_guest_finds_out() {
    let Some(guest) = Guest::make() else { return };
    let qemu = ["-object", "memory-backend-ram,id=own,size=512M", "-machine", "memory-backend=own"];
    let setting = Setting { qemu: qemu.map(str::to_owned).to_vec(), ..guest.setting() };
    let machine = Machine::start(&setting);
    let message = machine.wait_for_message("is not shared");
    assert!(message.contains("memory-backend-memfd,share=on"), "{message}");
    let check = ane(&["vm", "check", machine.monitor().to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&check.stderr).contains("no device can reach it"));
}

#[test]
fn guest_without_an_iommu_is_told_what_it_lacks() {
    let Some(guest) = Guest::make() else { return };
    let setting = Setting { arguments: vec!["--no-iommu".to_owned()], ..guest.setting() };
    let mut machine = Machine::start(&setting);
    let setup = machine.run("ane vm setup");
    assert_eq!(setup.code, 3, "{}", setup.text);
    assert!(setup.text.contains("-device intel-iommu,intremap=on"), "{}", setup.text);
    machine.power_off();
}

#[test]
fn interrupts_that_are_not_kept_apart_are_told_by_whoever_takes_the_function() {
    let Some(guest) = Guest::make() else { return };
    let qemu = ["-device", "intel-iommu,intremap=off"];
    let setting = Setting {
        arguments: vec!["--no-iommu".to_owned()],
        qemu: qemu.map(str::to_owned).to_vec(),
        ..guest.setting()
    };
    let mut machine = Machine::start(&setting);
    machine.ok("ane vm setup");
    let daemon = machine.run(&format!("aned --device vfio:{FUNCTION}"));
    assert_eq!(daemon.code, 1, "{}", daemon.text);
    assert!(daemon.text.contains("intremap=on"), "{}", daemon.text);
    machine.power_off();
}
