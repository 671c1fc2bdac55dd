//! F8: the same bytes, whichever way a program takes.
//!
//! Random programs run in this process, and then with more threads, over a vhost-user socket, on processors without the newer
//! vector units (an emulated one, where there is `qemu-x86_64`), in a release build and on an emulated 64-bit ARM processor.
//! The last two are built for it, which takes minutes: `cargo xtask release` asks for them by `ANE_RELEASE_BUILDS`.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use ane_device::engine::madd::Tier;
use ane_device::options::Numerics;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_tests::command::built;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::differential::by_number;
use ane_tests::workspace;

use super::harness::{Figure, Verdict};

const FIGURE: Figure = Figure {
    id: "F8",
    what: "random programs with more threads, over a socket, on emulated processors, in other builds",
    wanted: "the same bytes",
    ci: 200,
    release: 10_000,
};

/// A line for each program.
type Lines = Vec<String>;

/// The lines of a range of programs, taken in as many parts at once as there are processors. `None` if a part has none.
fn in_parts(first: u64, count: u64, part: impl Fn(u64, u64) -> Option<Lines> + Sync) -> Option<Lines> {
    let each = count.div_ceil(thread::available_parallelism().map_or(1, |count| count.get() as u64)).max(1);
    thread::scope(|scope| {
        let starts = (0..count).step_by(each as usize);
        let part = &part;
        let parts: Vec<_> =
            starts.map(|done| scope.spawn(move || part(first + done, each.min(count - done)))).collect();
        let lines = parts.into_iter().map(|part| part.join().expect("it has said why"));
        Some(lines.collect::<Option<Vec<_>>>()?.concat())
    })
}

/// The output of `digests`, perhaps run by an emulator. `None` if there is no such emulator.
fn digests(program: &Path, emulator: &[&str], first: u64, count: u64, threads: u64) -> Option<Lines> {
    let mut command = match emulator {
        [] => Command::new(program),
        [emulator, options @ ..] => {
            let mut command = Command::new(emulator);
            command.args(options).arg(program);
            command
        }
    };
    let output = command.args([first, count, threads].map(|number| number.to_string())).output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
            // One that died has fewer lines, and is wrong for that.
            print!("{}", String::from_utf8_lossy(&output.stderr));
            Some(said)
        }
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => None,
        Err(why) => panic!("{command:?}: {why}"),
    }
}

/// The same over the sockets of two devices, one for each way to compute.
fn over_sockets(first: u64, count: u64) -> Lines {
    let start =
        |numerics: &str| Daemon::start(&["--hang", "report", "--numerics", numerics, "--threads", "2"]);
    let (m1, exact) = (start("m1"), start("exact"));
    let line = |number: u64| {
        let case = by_number::case(number);
        let device = if case.numerics == Numerics::Exact { &exact } else { &m1 };
        let settings = Settings { memory_bytes: case.memory_bytes(), timeout: LIMIT, ..Settings::default() };
        let bus = VhostUser::connect(&device.socket(), settings).expect("the device lets drivers in");
        let (outcome, regions) = case.on_bus(bus);
        let mut digest = DefaultHasher::new();
        (format!("{outcome:?}"), regions).hash(&mut digest);
        format!("{number} {:016x}", digest.finish())
    };
    (first..first + count).map(line).collect()
}

/// Builds `digests` once more, for a target or a profile; none if that cannot be done here.
fn build(arguments: &[&str], place: &str) -> Option<PathBuf> {
    let root = workspace::root();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--locked", "--package", "ane-tests", "--bin", "digests"])
        .args(arguments);
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc").current_dir(&root);
    cargo.status().ok()?.success().then(|| root.join("target").join(place).join("digests"))
}

#[test]
fn f8_programs_leave_the_same_bytes_whichever_way_they_take() {
    FIGURE.run(|plan| {
        let program = built("digests");
        let (first, count) = (plan.seed % 1_000_000_000, plan.count);
        let of = |program: &Path, emulator: &[&str], threads| {
            in_parts(first, count, |first, count| digests(program, emulator, first, count, threads))
        };
        let run = |emulator: &[&str], threads| of(&program, emulator, threads);
        let wanted = run(&[], 1).expect("it was built");
        let mut ways = vec![
            ("4 threads", run(&[], 4)),
            ("vhost-user", in_parts(first, count, |first, count| Some(over_sockets(first, count)))),
            ("AVX2 (emulated)", run(&["qemu-x86_64", "-cpu", "Haswell"], 2)),
            ("no AVX (emulated)", run(&["qemu-x86_64", "-cpu", "Nehalem"], 1)),
        ];
        if std::env::var_os("ANE_RELEASE_BUILDS").is_some() {
            let release = build(&["--release"], "release");
            ways.push(("release build", release.and_then(|program| of(&program, &[], 2))));
            let target = "aarch64-unknown-linux-gnu";
            let arm = build(&["--target", target], &format!("{target}/debug"));
            let qemu = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
            ways.push(("64-bit ARM (emulated)", arm.and_then(|program| of(&program, &qemu, 1))));
        }
        // Each line begins with its program's number; one that died has none.
        let known: HashSet<&String> = wanted.iter().collect();
        let differ = |lines: &Lines| {
            let same = lines.iter().filter(|line| known.contains(line)).count() as u64;
            count - same
        };
        let (mut told, mut wrong, mut not_run) = (Vec::new(), 0, Vec::new());
        // What all are compared with comes from the widest unit that this processor has, and no emulated one is wider.
        if !Tier::Avx512.is_available() {
            not_run.push("AVX-512, which this processor lacks".to_owned());
        }
        for (way, lines) in &ways {
            match lines {
                Some(lines) => {
                    wrong += differ(lines);
                    told.push(format!("{way} {} differ", differ(lines)));
                }
                None => not_run.push((*way).to_owned()),
            }
        }
        let is_whole = wanted.len() as u64 == count;
        let verdict =
            Verdict::counted(format!("{count} programs; {}", told.join(", ")), wrong == 0 && is_whole);
        Verdict { not_run, ..verdict }
    });
}
