//! Programs of very many tasks: what the commands that show them take of memory does not grow with the tasks.

use std::process::{Command, Stdio};

use ane_tests::command::path;
use ane_tests::null_task::program;

use super::scratch::Scratch;

/// Tasks of the long program; with a report of each in memory there were some 290 KB for every one.
const TASKS: usize = 2_000;

/// The memory of a command beyond the files it reads, and its memory for a program of one task (KiB).
const BEYOND: u64 = 64 << 10;

/// True if a command ends well that may have so much address space (KiB).
fn ends_well(arguments: &[&str], limit: u64) -> bool {
    let limited = format!("ulimit -v {limit}; exec {} \"$@\"", path().display());
    let mut command = Command::new("bash");
    command.args(["-c", &limited, "bash"]).args(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("there is a shell").success()
}

#[test]
fn showing_a_program_of_many_tasks_takes_little_more_memory_than_its_file() {
    let scratch = Scratch::new();
    let (short, long) = (scratch.at("short.anec"), scratch.at("long.anec"));
    for (file, tasks) in [(&short, 1), (&long, TASKS)] {
        std::fs::write(file, program(tasks).to_anec().expect("can be written")).expect("can be written");
    }
    let bytes = std::fs::metadata(&long).expect("is there").len();
    let commands: [(&[&str], u64); 4] =
        [(&["info"], 1), (&["decode"], 1), (&["decode", "--json"], 1), (&["diff"], 2)];
    for (command, files) in commands {
        let with = |file: &str, limit| ends_well(&[command, &vec![file; files as usize]].concat(), limit);
        // In steps of 8 MiB: how much the command needs in any case.
        let least =
            (1..64).map(|step| step << 13).find(|&limit| with(&short, limit)).expect("some is enough");
        let most = least + files * (bytes >> 10) + BEYOND;
        assert!(with(&long, most), "{command:?} needs more than {most} KiB, and {least} for one task");
    }
}
