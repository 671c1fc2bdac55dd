//! Our kernel module, driver/kernel, in guests: by the virtio function on amd64 and on arm64, and by the engine's registers on arm64.
//! Clients there open `/dev/accel/accel0`, and know nothing of this project.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ane_tests::command::{self, ane, built};
use ane_tests::control::Control;
use ane_tests::data::{self, Sample};
use ane_tests::machine::{self, GuestKind, Machine};
use ane_tests::null_task;
use ane_tests::preload::compiled;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::clients::{case, sums};

/// Submissions that are timed.
const TIMES: u32 = 200;

/// The files of a guest: programs with bytes for their inputs, and the program that asks nothing of the engine.
pub(super) struct Files {
    pub(super) folder: TempDir,
    samples: Vec<Sample>,
    all: Vec<PathBuf>,
}

impl Files {
    pub(super) fn make() -> Option<Self> {
        let samples = data::programs()?;
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<_> = samples.iter().flat_map(|sample| case(sample, folder.path())).collect();
        let mut all: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
        all.push(folder.path().join("null.anec"));
        std::fs::write(&all[all.len() - 1], null_task::program(1).to_anec().unwrap()).unwrap();
        // The results of each program here, by the same client, compiled for this machine.
        let client = compiled("raw.c", folder.path(), &[])?;
        // `ane exec` looks for it.
        command::library("libane_drm_shim.so");
        for sample in &samples {
            let names = case(sample, folder.path());
            let here = |name: &String| folder.path().join(name).display().to_string();
            let out = here(&format!("{}.out", sample.name));
            let mut words =
                vec!["exec".to_owned(), "--".to_owned(), client.display().to_string(), here(&names[0]), out];
            words.extend(names[1..].iter().map(here));
            let ran = ane(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
        Some(Self { folder, samples, all })
    }

    pub(super) fn with(&self, clients: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
        self.all.iter().cloned().chain(clients).collect()
    }

    /// Every program has the bits that it has here.
    pub(super) fn all_run(&self, machine: &mut Machine) {
        self.all_run_by(machine, "raw");
    }

    /// The same by another client.
    pub(super) fn all_run_by(&self, machine: &mut Machine, client: &str) {
        for sample in &self.samples {
            let name = &sample.name;
            let names = case(sample, self.folder.path());
            machine.ok(&format!("{client} {} /tmp/{name}.out {}", names[0], names[1..].join(" ")));
            let there = machine.ok(&format!("cd /tmp; md5sum {name}.out.*; rm {name}.out.*; cd /srv"));
            assert_eq!(there, sums(self.folder.path(), &format!("{name}.out.*")), "{name}, {client}");
        }
    }
}

/// The lines that monitors know of the driver for Apple's machines come first.
fn is_monitored(machine: &mut Machine, bus: &str) {
    let said = machine.ok(&format!("head -n 2 {}/*/ane_stats | cut -d ' ' -f 1", place(bus)));
    assert_eq!(said, "busy_ns\njobs");
}

/// Where the driver has its devices, by the bus.
fn place(bus: &str) -> String {
    format!("/sys/bus/{bus}/drivers/ane")
}

/// The device's name on that bus.
fn name(machine: &mut Machine, bus: &str) -> String {
    machine.ok(&format!("cd {}; for d in *; do [ ! -e $d/ane_stats ] || echo $d; done; cd /srv", place(bus)))
}

fn stat(machine: &mut Machine, bus: &str, what: &str) -> u64 {
    let said = machine.ok(&format!("cat {}/*/ane_stats", place(bus)));
    let line = said.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("{said}"));
    line.trim().parse().unwrap()
}

/// The tests that run inside of the guest: none of them may fail.
fn is_conforming(machine: &mut Machine) {
    for (client, least) in [("accel relu.anec", 40), ("requests relu.anec", 120)] {
        let said = machine.ok(client);
        let good = said.lines().filter(|line| line.starts_with("ok ")).count();
        assert!(said.contains(&format!("1..{good}")) && good >= least, "{said}");
    }
}

/// A client whose queue is full from here on.
fn is_loaded(machine: &mut Machine) {
    machine
        .ok("(requests relu.anec load >/tmp/load 2>&1 &); until grep -q submits /tmp/load; do sleep 1; done");
}

/// A client that submits until its device is gone, and looks at its memory when `/tmp/gone` is there.
fn is_held(machine: &mut Machine) {
    machine.ok("rm -f /tmp/gone; (accel relu.anec hold >/tmp/held 2>&1 &); until grep -q submits /tmp/held; do sleep 1; done");
}

/// A client that submits while its device goes, and the device that comes back.
fn goes_and_comes_back(machine: &mut Machine, go: &str, come: &str) {
    is_loaded(machine);
    is_held(machine);
    machine.ok(go);
    machine.ok("touch /tmp/gone");
    machine.ok("n=0; until grep -q 'load: No such device' /tmp/load; do n=$((n + 1)); [ $n -lt 30 ] || { cat /tmp/load; false; break; }; sleep 1; done");
    let ending = "submit: No such device; buffer: No such device; memory kept";
    machine.ok(&format!("n=0; until grep -q '{ending}' /tmp/held; do n=$((n + 1)); [ $n -lt 30 ] || {{ cat /tmp/held; false; break; }}; sleep 1; done"));
    assert_eq!(machine.ok(&format!("{come}; accel sum.anec once")), "done");
}

/// Sleep and waking, of the devices alone; and the module that leaves and is loaded again.
fn sleeps_and_is_loaded_again(machine: &mut Machine) {
    is_loaded(machine);
    machine.ok("echo devices >/sys/power/pm_test; echo 0 >/sys/module/suspend/parameters/pm_test_delay");
    // It is chance which device wakes first where nothing orders them.
    for _ in 0..3 {
        machine.ok("echo freeze >/sys/power/state");
        assert_eq!(machine.ok("accel sum.anec once"), "done");
    }
    assert_eq!(machine.ok("dmesg | grep -Ei 'failed to (reset|resume)' || true"), "");
    // The client that fills the queue was not disturbed, and its requests end.
    machine
        .ok("kill -0 $(pidof requests) && kill -9 $(pidof requests); while pidof requests; do sleep 1; done");
    machine.ok("rmmod ane; [ ! -e /dev/accel/accel0 ]; insmod /modules/user/*.ko");
    assert_eq!(machine.ok("accel sum.anec once"), "done");
}

/// The device gives no answer for longer than the driver waits for one, a minute. The engine is lost until the device answers
/// again.
fn stands_still(machine: &mut Machine, folder: &str) {
    let process = Pid::from_raw(machine.device() as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    machine.ok(&format!("! echo 1 >{folder}/reset; grep -q 1 {folder}/wedged"));
    assert_eq!(machine.ok("accel relu.anec lost"), "buffer: No such device; lost");
    kill(process, Signal::SIGCONT).unwrap();
    machine.ok(&format!("echo 1 >{folder}/reset; grep -q 0 {folder}/wedged"));
}

/// Prints what an empty submission takes, and gives the accesses that each made.
fn is_timed(machine: &mut Machine, bus: &str, what: &str) -> u64 {
    let names = ["accesses", "jobs", "busy_ns"];
    let before = names.map(|name| stat(machine, bus, name));
    let began = Instant::now();
    let said = machine.ok(&format!("accel null.anec time {TIMES}"));
    let after = names.map(|name| stat(machine, bus, name));
    let [accesses, jobs, busy] = [0, 1, 2].map(|at| after[at] - before[at]);
    assert_eq!(jobs, u64::from(TIMES) + 1, "the client runs it once before it takes the time");
    assert!(busy > 0 && u128::from(busy) < began.elapsed().as_nanos(), "{busy} ns for {said}");
    println!("null submission {what}: {said}, {:.1} accesses each", accesses as f64 / f64::from(TIMES));
    accesses / u64::from(TIMES)
}

fn arguments(control: &Path) -> Vec<String> {
    ["--control".to_owned(), control.display().to_string()].map(|word| format!("--device-arg={word}")).into()
}

#[test]
fn kernel_module_serves_clients_by_the_virtio_function() {
    let (Some(kernel), Some(files)) = (machine::accel_kernel(), Files::make()) else { return };
    let scratch = files.folder.path();
    let clients = ["accel.c", "requests.c"].map(|source| compiled(source, scratch, &[]));
    let [Some(accel), Some(requests)] = clients else { return };
    let image = machine::accel(scratch, &files.with([accel, requests, scratch.join("raw")]));
    let module = machine::driver(GuestKind::Accel, scratch);
    let control = scratch.join("control.sock");
    let mut machine = Machine::start_accel(&kernel, &image, &module, &arguments(&control));
    files.all_run(&mut machine);
    is_conforming(&mut machine);
    is_monitored(&mut machine, "virtio");
    let batches = is_timed(&mut machine, "virtio", "by virtio on amd64");
    assert_eq!(batches, 1, "a request is one batch, and an event");
    // The tests ask for a reset, and each request that is taken back while it runs takes one.
    let resets = stat(&mut machine, "virtio", "recoveries");
    assert!((1..=6).contains(&resets), "{resets}");
    assert!(stat(&mut machine, "virtio", "contained") >= 4);

    // One that never ends, which only a reset of the engine gets rid of.
    machine.ok("echo 3 >/sys/module/ane/parameters/patience_s");
    Control::connect(&control).ask("inject wedge").unwrap();
    machine.ok("(accel sum.anec once >/tmp/wedged 2>&1 &); sleep 1");
    // A monitor sees that the engine is busy, and waits for no request.
    let (early, jobs) = (stat(&mut machine, "virtio", "busy_ns"), stat(&mut machine, "virtio", "jobs"));
    assert!(stat(&mut machine, "virtio", "busy_ns") > early);
    assert_eq!(machine.ok("until grep . /tmp/wedged; do sleep 1; done"), "Connection timed out");
    assert_eq!(stat(&mut machine, "virtio", "jobs"), jobs + 1);
    assert_eq!(stat(&mut machine, "virtio", "recoveries"), resets + 1);
    machine.ok("echo 60 >/sys/module/ane/parameters/patience_s");
    files.all_run(&mut machine);
    // The file of one is closed: that ends it, long before the driver's patience does.
    Control::connect(&control).ask("inject wedge").unwrap();
    assert_eq!(machine.ok("requests relu.anec leave"), "left");
    assert_eq!(stat(&mut machine, "virtio", "recoveries"), resets + 2);
    files.all_run(&mut machine);

    let (at, device) = (place("virtio"), name(&mut machine, "virtio"));
    stands_still(&mut machine, &format!("{at}/{device}"));
    files.all_run(&mut machine);
    goes_and_comes_back(
        &mut machine,
        &format!("echo {device} >{at}/unbind"),
        &format!("echo {device} >{at}/bind"),
    );
    let port = "/sys/bus/pci/devices/0000:01:00.0";
    goes_and_comes_back(
        &mut machine,
        &format!("echo 1 >{port}/remove"),
        "echo 1 >/sys/bus/pci/rescan; sleep 1",
    );
    sleeps_and_is_loaded_again(&mut machine);

    // The device's process dies, and another takes its place: what waits gets an end.
    is_held(&mut machine);
    kill(Pid::from_raw(machine.device() as i32), Signal::SIGKILL).unwrap();
    machine.wait_for_message("another is ready");
    let recovered = ane(&["vm", "recover", machine.monitor().to_str().unwrap()]);
    assert!(recovered.status.success(), "{}", String::from_utf8_lossy(&recovered.stderr));
    // The client still has the old device, so the new one has the next number. It comes when the old one has gone.
    machine.ok("n=0; until [ -e /dev/accel/accel1 ]; do n=$((n + 1)); [ $n -lt 60 ] || { cat /tmp/held; false; break; }; sleep 1; done");
    machine.ok("touch /tmp/gone");
    machine.ok("n=0; until grep -q 'memory kept' /tmp/held; do n=$((n + 1)); [ $n -lt 40 ] || { cat /tmp/held; false; break; }; sleep 1; done");
    files.all_run(&mut machine);
    assert_eq!(machine.ok("dmesg | grep -E 'BUG|WARNING|Oops' | grep -v lockup || true"), "");
    machine.power_off();
}

/// A device of its own beside the machine's.
struct Second(Child);

impl Second {
    fn start(socket: &Path) -> Self {
        let mut device = Command::new(built("vhost-device-ane"));
        let device = Self(device.arg("--socket-path").arg(socket).spawn().expect("it starts"));
        let end = Instant::now() + machine::LIMIT;
        while !socket.exists() {
            assert!(Instant::now() < end, "it does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        device
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn kernel_module_serves_clients_by_the_engines_registers() {
    let Some(files) = Files::make() else { return };
    let scratch = files.folder.path();
    // Before the clients are built: without the machine there is no compiler for them.
    if machine::apple_like(scratch, &[]).is_none() {
        return;
    }
    let there = scratch.join("arm64");
    std::fs::create_dir(&there).unwrap();
    let clients = ["accel.c", "raw.c", "requests.c"].map(|source| machine::client(source, &there, &[]));
    let Some(image) = machine::apple_like(scratch, &files.with(clients)) else { return };
    let module = machine::driver(GuestKind::AppleLike, scratch);
    let (control, socket) = (scratch.join("control.sock"), scratch.join("second.sock"));
    let second = Second::start(&socket);
    let qemu = [
        "-chardev".to_owned(),
        format!("socket,id=second,path={}", socket.display()),
        "-device".to_owned(),
        "vhost-user-test-device-pci,chardev=second,virtio-id=21,num_vqs=2,vq_size=256,config_size=56"
            .to_owned(),
    ];
    let mut machine = Machine::start_apple_like_with(&image, &[module], &arguments(&control), &qemu);
    // The same kernel, the same module: the virtio function first, then the registers.
    let (virtio, registers) = (name(&mut machine, "virtio"), name(&mut machine, "platform"));
    let (at_virtio, at_registers) = (place("virtio"), place("platform"));
    machine.ok(&format!("echo {registers} >{at_registers}/unbind"));
    files.all_run(&mut machine);
    is_conforming(&mut machine);
    is_timed(&mut machine, "virtio", "by virtio on arm64");
    machine.ok(&format!("echo {virtio} >{at_virtio}/unbind; echo {registers} >{at_registers}/bind"));
    files.all_run(&mut machine);
    is_conforming(&mut machine);
    is_monitored(&mut machine, "platform");
    let accesses = is_timed(&mut machine, "platform", "by registers on arm64, with the interrupt");
    // Six that start it, three looks at DARTs, two of each line, acknowledgement and status; a look may come twice.
    assert!((15..=20).contains(&accesses), "{accesses} accesses for a submission");
    machine.ok("echo 0 >/sys/module/ane/parameters/interrupts");
    is_timed(&mut machine, "platform", "by registers on arm64, polled");
    machine.ok("accel relu.anec; echo 1 >/sys/module/ane/parameters/interrupts");
    assert_ne!(machine.ok("grep -c ' ane$' /proc/interrupts"), "0");

    // As above; and one that never ends costs another cycle of the power.
    let resets = stat(&mut machine, "platform", "recoveries");
    assert!((1..=7).contains(&resets), "{resets}");
    assert!(stat(&mut machine, "platform", "contained") >= 4);
    Control::connect(&control).ask("inject wedge").unwrap();
    assert_eq!(machine.ok("accel sum.anec once"), "Connection timed out");
    assert_eq!(stat(&mut machine, "platform", "recoveries"), resets + 1);
    files.all_run(&mut machine);
    // The power goes by itself, and comes with the next request.
    machine.ok("sleep 3; grep -q '^ane_base *off' /sys/kernel/debug/pm_genpd/pm_genpd_summary");
    files.all_run(&mut machine);
    let (go, come) = (
        format!("echo {registers} >{at_registers}/unbind"),
        format!("echo {registers} >{at_registers}/bind"),
    );
    goes_and_comes_back(&mut machine, &go, &come);
    sleeps_and_is_loaded_again(&mut machine);
    assert_eq!(machine.ok("dmesg | grep -E 'BUG|WARNING|Oops' | grep -v lockup || true"), "");
    machine.power_off();
    drop(second);
}
