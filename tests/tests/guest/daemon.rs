//! The real driver in the guest: its daemon, and clients of it that are processes of their own.

use std::path::Path;
use std::process::Command;

use ane::device::{Device, Location};
use ane_device::Options;
use ane_tests::command::ane;
use ane_tests::control::Control;
use ane_tests::guest_checks::client;
use ane_tests::machine::{Machine, Setting};

use super::Guest;

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
        let word = word.trim_end_matches([',', ':']);
        let number = word.trim_end_matches(char::is_alphabetic);
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
    let before = machine.run("ane doctor");
    assert!(before.text.contains("give it to VFIO: `ane vm setup`, as root"), "{}", before.text);
    carry_out_the_chapter(&mut machine);
    let doctor = machine.ok("ane doctor");
    for found in [
        "has all of 8",
        "0000:01:00.0 belongs to vfio-pci",
        "is in use",
        "/proc/self/pagemap tells them",
        "of 64 of 2 MiB",
    ] {
        assert!(doctor.contains(found), "{found} in {doctor}");
    }

    // The six programs, by the command, on the same random inputs as here.
    // Another process runs one of them all the while, in a context of its own at the same addresses.
    machine.ok("(ane run /srv/concat.hwx --device aned --repeat 30 -o /tmp/steady > /tmp/steady.log 2>&1 &)");
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
