//! Programs of very many tasks, long timelines and large arrays: what the commands that show them take of memory does not grow with the
//! file.

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

/// Holds if a command takes no more for the long file than for the short one, beside `files` of the file itself.
fn takes_little_more(command: &[&str], files: usize, short: &str, long: &str) {
    let bytes = std::fs::metadata(long).expect("is there").len();
    let with = |file: &str, limit| ends_well(&[command, &vec![file; files]].concat(), limit);
    // In steps of 8 MiB: how much the command needs in any case.
    let least = (1..64).map(|step| step << 13).find(|&limit| with(short, limit)).expect("some is enough");
    let most = least + files as u64 * (bytes >> 10) + BEYOND;
    assert!(with(long, most), "{command:?} needs more than {most} KiB, and {least} for the short file");
}

#[test]
fn showing_a_program_of_many_tasks_takes_little_more_memory_than_its_file() {
    let scratch = Scratch::new();
    let (short, long) = (scratch.at("short.anec"), scratch.at("long.anec"));
    for (file, tasks) in [(&short, 1), (&long, TASKS)] {
        std::fs::write(file, program(tasks).to_anec().expect("can be written")).expect("can be written");
    }
    let commands: [(&[&str], usize); 4] =
        [(&["info"], 1), (&["decode"], 1), (&["decode", "--json"], 1), (&["diff"], 2)];
    for (command, files) in commands {
        takes_little_more(command, files, &short, &long);
    }
}

#[test]
fn memory_of_the_chip_is_shown_task_by_task() {
    let scratch = Scratch::new();
    let (short, long) = (scratch.at("short.anec"), scratch.at("long.anec"));
    // A report of a task takes some kilobytes, and its text one.
    for (file, tasks) in [(&short, 1), (&long, 40_000)] {
        std::fs::write(file, program(tasks).to_anec().expect("can be written")).expect("can be written");
    }
    let picture = scratch.at("heat.svg");
    let commands: [&[&str]; 3] = [&["sram"], &["sram", "--json"], &["sram", "--force", "--svg", &picture]];
    for command in commands {
        takes_little_more(command, 1, &short, &long);
    }
}

#[test]
fn comparing_arrays_takes_little_more_memory_than_their_files() {
    let scratch = Scratch::new();
    for order in ["False", "True"] {
        let file = |name: &str, columns: usize| {
            let text = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': (16, {columns}), }}\n");
            let length = (text.len() as u16).to_le_bytes();
            let mut bytes = [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes()].concat();
            bytes.resize(bytes.len() + 16 * 8 * columns, 0);
            scratch.file(name, &bytes)
        };
        takes_little_more(&["diff"], 2, &file("short.npy", 1), &file("long.npy", 1 << 18));
    }
}

#[test]
fn comparing_timelines_takes_little_more_memory_than_their_files() {
    let scratch = Scratch::new();
    let file = |name: &str, events: usize| {
        let event = |at: usize| format!(r#"{{"ph":"i","tid":{},"name":"x"}}"#, at % 7);
        let events: Vec<_> = (0..events).map(event).collect();
        scratch.file(name, format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")).as_bytes())
    };
    takes_little_more(&["diff"], 2, &file("short.json", 1), &file("long.json", 200_000));
}
