//! A driver of the real engine in a guest that takes our device for one: Debian's kernel with 16 KB pages, the kernel's own
//! apple-dart, and tests/kernel in the place of the driver.

use std::path::{Path, PathBuf};

use ane::model::Model;
use ane_tests::control::Control;
use ane_tests::data;
use ane_tests::linux::job_file::{Hole, JobFile};
use ane_tests::linux::rig;
use ane_tests::machine::{self, GuestKind, Machine};
use tempfile::TempDir;

/// Where the driver tells what it has seen.
const COUNTERS: &str = "cat /sys/bus/platform/drivers/ane-contract/*.ane/counters";

/// Jobs in a folder, for the guest's /srv: each with what has to come of it.
fn jobs(folder: &TempDir) -> Option<(Vec<String>, Vec<PathBuf>)> {
    let mut jobs = Vec::new();
    for sample in data::programs()? {
        jobs.push((sample.name, JobFile::new(&Model::read(&sample.bytes).unwrap(), Hole::default())));
    }
    let relu = Model::from(&rig::program(40));
    for (name, count) in [("whole", 0), ("two", 2), ("many", 17)] {
        jobs.push((name.to_owned(), JobFile::new(&relu, Hole { page: 1, count })));
    }
    let mut files = Vec::new();
    for (name, job) in &jobs {
        for (end, bytes) in [("job", &job.bytes), ("out", &job.expected)] {
            let file = folder.path().join(format!("{name}.{end}"));
            std::fs::write(&file, bytes).unwrap();
            files.push(file);
        }
    }
    Some((jobs.into_iter().map(|(name, _)| name).collect(), files))
}

/// Has the guest run a job.
fn run(name: &str) -> String {
    format!("{{ exec 3<>/dev/ane-contract; cat /srv/{name}.job >&3; cat <&3 >/tmp/out; }} && exec 3>&-")
}

fn is_good(machine: &mut Machine, name: &str) {
    machine.ok(&format!("{} && cmp /tmp/out /srv/{name}.out", run(name)));
}

/// Accesses so far that a real machine does not survive.
///
/// Only requests without faults are judged by this: a fault may arise between a driver's look at the DART and its next read
/// of the engine, and no driver can prevent it.
fn hazards(control: &Path) -> Vec<String> {
    let mut counters = Control::connect(control).ask("counters").unwrap();
    counters.retain(|line| line.trim().starts_with("hazards "));
    assert_eq!(counters.len(), 1, "{counters:?}");
    counters
}

/// The message of a job that fails, the number of pages that were contained, and the number of power cycles for it.
fn failure(machine: &mut Machine, name: &str) -> (String, u32, u32) {
    let count = |machine: &mut Machine| {
        let said = machine.ok(COUNTERS);
        let words: Vec<&str> = said.split_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|&word| word == name).unwrap();
            words[at + 1].parse::<u32>().unwrap()
        };
        assert_eq!(after("wedged"), 0, "{said}");
        (after("contained"), after("cycles"))
    };
    let before = count(machine);
    let said = machine.run(&run(name));
    assert_ne!(said.code, 0, "{name} has to fail");
    let after = count(machine);
    (said.text, after.0 - before.0, after.1 - before.1)
}

#[test]
fn kernel_driver_runs_programs_contains_faults_and_gets_a_wedged_engine_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some((names, files)) = jobs(&folder) else { return };
    let Some(image) = machine::apple_like(folder.path(), &files) else { return };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel");
    let module = machine::module(GuestKind::AppleLike, &sources, folder.path(), "ane-contract");
    let control = folder.path().join("control.sock");
    let arguments = ["--check".to_owned(), "--control".to_owned(), control.display().to_string()];
    let arguments = arguments.map(|argument| format!("--device-arg={argument}"));
    let mut machine = Machine::start_apple_like(&image, &[module], &arguments);
    let darts = machine.ok("dmesg | grep 'apple-dart .*pagesize 4000.* initialized'");
    assert_eq!(darts.lines().count(), 3, "{darts}");

    // Where the M1 has its power words there is memory: today's driver asks for them by that address, and goes on without
    // them if it cannot map them. It would stop at an address where nothing answers.
    let ram = machine.ok("grep 'System RAM' /proc/iomem");
    let power_words = 0x2_3b70_c000_u64;
    let range = |line: &str| {
        let (first, last) = line.split_once(' ')?.0.split_once('-')?;
        Some(u64::from_str_radix(first, 16).ok()?..=u64::from_str_radix(last, 16).ok()?)
    };
    assert!(ram.lines().filter_map(range).any(|range| range.contains(&power_words)), "{ram}");

    // The bits of this process, of every program.
    for name in names.iter().filter(|name| !["two", "many"].contains(&name.as_str())) {
        is_good(&mut machine, name);
    }
    assert_eq!(hazards(&control), ["hazards 0"]);
    // Pages that are not there: a request that ends in an error, and nothing else.
    let (said, contained, cycles) = failure(&mut machine, "two");
    assert!(said.contains("Input/output error"), "{said}");
    assert_eq!((contained, cycles), (2, 0));
    is_good(&mut machine, "whole");
    // One page more than are contained, and a request that never ends: the power is cycled.
    let (said, _, cycles) = failure(&mut machine, "many");
    assert!(said.contains("Input/output error") && cycles == 1, "{said}");
    is_good(&mut machine, "whole");
    let before = hazards(&control);
    Control::connect(&control).ask("inject wedge").unwrap();
    let (said, contained, cycles) = failure(&mut machine, "whole");
    assert!(said.contains("timed out"), "{said}");
    assert_eq!((contained, cycles), (0, 1));
    is_good(&mut machine, "whole");
    // The power goes by itself after a while, and comes with the next request.
    machine.ok("sleep 3; grep -q '^ane_base *off' /sys/kernel/debug/pm_genpd/pm_genpd_summary");
    is_good(&mut machine, "whole");
    // The power is cycled as well after it has gone by itself once.
    Control::connect(&control).ask("inject wedge").unwrap();
    let (_, _, cycles) = failure(&mut machine, "whole");
    assert_eq!(cycles, 1);
    is_good(&mut machine, "whole");
    machine.ok("cd /sys/bus/platform/drivers/ane-contract; echo *.ane >/tmp/node; cat /tmp/node >unbind; [ ! -e /dev/ane-contract ]");
    machine.ok("cat /tmp/node >/sys/bus/platform/drivers/ane-contract/bind");
    is_good(&mut machine, "whole");

    assert_eq!(hazards(&control), before);
    machine.power_off();
}
