//! A real guest in a real QEMU, and the driver in it: from boot to power-off.

use std::path::{Path, PathBuf};
use std::process::Command;

use ane::container;
use ane::device::{Device, Location};
use ane::embedded;
use ane_device::Options;
use ane_driver::bus::vhost_user::{self, VhostUser};
use ane_tests::command::{ane, built};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::data::{self, Sample};
use ane_tests::guest_checks::{self, client};
use ane_tests::machine::{self, Machine, Setting};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Memory for the largest program.
const MEMORY: usize = 16 << 20;

/// The function's address behind the machine's port.
const FUNCTION: &str = "0000:01:00.0";

/// A guest's root, and how to boot it.
struct Guest {
    folder: TempDir,
    kernel: PathBuf,
    image: PathBuf,
    samples: Vec<Sample>,
}

impl Guest {
    /// The checks and the command, with the compiled programs in the guest's /srv.
    fn make() -> Option<Self> {
        let (cache, samples) = (machine::cache()?, data::programs()?);
        let folder = tempfile::tempdir().unwrap();
        let mut files: Vec<_> = samples.iter().map(|sample| sample.path.clone()).collect();
        files.push(data::example());
        let image = machine::image(folder.path(), &["guest-checks", "ane", "aned"], &files);
        Some(Self { folder, kernel: cache.join("vmlinuz"), image, samples })
    }

    fn setting(&self) -> Setting<'_> {
        Setting {
            kernel: self.kernel.clone(),
            image: &self.image,
            pages: 64,
            arguments: Vec::new(),
            qemu: Vec::new(),
        }
    }
}

fn here() -> impl ane_driver::bus::Bus {
    embedded::open(&Options::default(), MEMORY).unwrap()
}

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
    let settings = vhost_user::Settings { timeout: LIMIT, ..Default::default() };
    let mut bus = VhostUser::connect(&daemon.socket(), settings).unwrap();
    println!("round trip between two processes: {:?}", guest_checks::round_trip(&mut bus, 2000));
    println!("round trip in the guest:\n{}", machine.ok(&format!("guest-checks {FUNCTION} round-trip")));

    // The pages of a driver that has ended are free again; with fewer it is said what is missing.
    machine.ok("echo 6 > /proc/sys/vm/nr_hugepages");
    let few = machine.run(&format!("guest-checks {FUNCTION} identity"));
    assert_eq!(few.code, 1);
    assert!(few.text.contains("6 huge pages of 2 MiB are free, 8 are needed"), "{}", few.text);
    machine.power_off();
}

/// The chapter on virtual machines, with what a guest says to each of its lines; with `ANE_BLESS=1` it is written anew.
fn carry_out_the_chapter(machine: &mut Machine) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/qemu.md");
    let chapter = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = chapter.split_once("```console\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    let mut said = String::new();
    for line in shown.lines().filter(|line| line.starts_with("guest# ")) {
        said += &format!("{line}\n");
        let answer = machine.ok(line.trim_start_matches("guest# "));
        answer.lines().for_each(|line| said += &format!("{}\n", line.trim_end()));
    }
    if std::env::var_os("ANE_BLESS").is_some() {
        std::fs::write(&path, format!("{before}```console\n{said}```{after}")).unwrap();
    }
    assert!(timeless(&said) == timeless(shown) || std::env::var_os("ANE_BLESS").is_some(), "{said}");
}

/// Text without what differs each time: how long something took.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let number = word.trim_end_matches([',', ':']).trim_end_matches(char::is_alphabetic);
        number.len() < word.len() && number.parse::<f64>().is_ok()
    };
    text.split(' ').map(|word| if is_time(word) { "~" } else { word }).collect::<Vec<_>>().join(" ")
}

/// The real driver in the guest: its daemon, and clients of it that are processes of their own.
#[test]
fn clients_of_the_daemon_in_a_guest_are_served_as_those_of_this_process() {
    let Some(guest) = Guest::make() else { return };
    let control = guest.folder.path().join("control.sock");
    let arguments = ["--device-arg=--control".to_owned(), format!("--device-arg={}", control.display())];
    let mut machine = Machine::start(&Setting { arguments: arguments.to_vec(), ..guest.setting() });
    carry_out_the_chapter(&mut machine);

    // The six programs, by the command, on the same random inputs as here.
    // Another process runs one of them all the while, in a context of its own at the same addresses.
    machine
        .ok("(ane run /srv/concat.hwx --device aned --repeat 30 -o /tmp/steady > /tmp/steady.log 2>&1 &)");
    for sample in &guest.samples {
        let (name, out) = (&sample.name, guest.folder.path().join(&sample.name));
        machine.ok(&format!("cd /srv; ane run {name}.hwx --device aned -o /tmp/{name}"));
        let here = ane(&["run", sample.path.to_str().unwrap(), "-o", out.to_str().unwrap()]);
        assert!(here.status.success(), "{}", String::from_utf8_lossy(&here.stderr));
        let sums = |text: &str| {
            let mut sums: Vec<_> = text
                .lines()
                .filter(|line| line.ends_with(".npy"))
                .map(|line| line[..32].to_owned())
                .collect();
            sums.sort();
            sums
        };
        let here = Command::new("sh").arg("-c").arg("md5sum *").current_dir(&out).output().unwrap();
        let here = sums(&String::from_utf8(here.stdout).unwrap());
        assert!(!here.is_empty());
        assert_eq!(sums(&machine.ok(&format!("cd /tmp/{name}; md5sum *"))), here, "{name}");
    }
    machine.ok("ane demo --device aned");
    machine
        .ok("for n in 1 2 3 4 5 6 7 8 9; do [ -e /tmp/steady ] && break; sleep 1; done; cat /tmp/steady.log");
    machine.ok("cd /tmp/steady; md5sum *.npy > /tmp/sums; cd /tmp/concat; md5sum -c /tmp/sums");

    let device = Device::open(&Location::Embedded, &Options::default()).unwrap();
    assert_eq!(machine.ok("guest-checks aned buffers"), client::buffers(&device));

    let mut faults = Control::connect(&control);
    faults.ask("inject translation-fault:after=1").unwrap();
    let there = machine.ok("guest-checks aned fault /srv/sum.hwx");
    let inject = vec!["translation-fault:after=1".parse().unwrap()];
    let device = Device::open(&Location::Embedded, &Options { inject, ..Options::default() }).unwrap();
    let sum = guest.samples.iter().find(|sample| sample.name == "sum").unwrap();
    assert_eq!(there, client::fault(&device, &sum.bytes));
    machine.power_off();
}

#[test]
fn device_that_died_is_unplugged_and_another_plugged_while_a_driver_waits() {
    let Some(guest) = Guest::make() else { return };
    let mut machine = Machine::start(&guest.setting());
    machine.ok("ane vm setup");
    machine
        .ok(&format!("guest-checks {FUNCTION} wait > /tmp/wait 2>&1 & sleep 2; grep -q waiting /tmp/wait"));
    kill(Pid::from_raw(machine.device() as i32), Signal::SIGKILL).unwrap();
    let message = machine.wait_for_message("another is ready");
    assert!(message.contains("was ended by signal 9") && message.contains("ane vm recover"), "{message}");

    let recovered = ane(&["vm", "recover", machine.monitor().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&recovered.stdout).into_owned();
    assert!(recovered.status.success(), "{said}{}", String::from_utf8_lossy(&recovered.stderr));
    assert_eq!(said, "ane1 is plugged in\n");
    assert_eq!(machine.ok("sleep 1; cat /tmp/wait"), "waiting\nthe device is gone");
    machine.ok("ane vm setup");
    assert_eq!(machine.ok(&format!("guest-checks {FUNCTION} identity")), guest_checks::identity(&here()));

    // The same to the daemon, whose clients are told; it is started anew, as the function is another.
    machine.ok(&format!("(aned --device vfio:{FUNCTION} > /tmp/aned 2>&1 &) ; sleep 3"));
    machine.ok("ane run /srv/add_relu.anec --device aned");
    kill(Pid::from_raw(machine.device() as i32), Signal::SIGKILL).unwrap();
    machine.wait_for_messages("another is ready", 2);
    let recovered = ane(&["vm", "recover", machine.monitor().to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&recovered.stdout), "ane2 is plugged in\n");
    let lost = machine.run("ane run /srv/add_relu.anec --device aned");
    assert_eq!(lost.code, 3, "{}", lost.text);
    machine.ok("killall aned; ane vm setup");
    machine.ok(&format!("(aned --device vfio:{FUNCTION} > /tmp/aned 2>&1 &) ; sleep 3"));
    machine.ok("ane run /srv/add_relu.anec --device aned");

    // And once more over a reboot, with the device that was plugged.
    machine.reboot();
    machine.ok("ane vm setup");
    assert_eq!(machine.ok(&format!("guest-checks {FUNCTION} identity")), guest_checks::identity(&here()));
    machine.power_off();
}

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
fn qemu_that_is_too_old_is_named_with_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let qemu = folder.path().join("qemu-system-x86_64");
    std::fs::write(&qemu, "#!/bin/sh\necho QEMU emulator version 7.2.9\n").unwrap();
    Command::new("chmod").arg("+x").arg(&qemu).status().unwrap();
    let output = Command::new(built("ane", "ane"))
        .args(["vm", "run", "--dry-run", "--qemu"])
        .arg(&qemu)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("is QEMU 7.2") && said.contains("10.2 or later is needed"), "{said}");
}
