//! Parts, kills, shared files and full disks: the totals are the same.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ane_tests::command::path;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::rig::{CampaignFolder, totals};

#[test]
fn parts_together_are_the_whole() {
    let rig = CampaignFolder::sound();
    assert!(rig.run("whole", &["--jobs", "2"]).status.success());
    for part in 1..=3 {
        let done = rig.run(&format!("part-{part}"), &["--shard", &format!("{part}/3"), "--jobs", "1"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let whole = rig.report(&["whole"]);
    let parts = rig.report(&["part-1", "part-2", "part-3"]);
    assert_eq!((whole.total.cases, totals(&whole)), (40, totals(&parts)));
    // A file more counts nothing twice.
    assert_eq!(totals(&rig.report(&["whole", "part-1", "part-1"])), totals(&whole));
}

#[test]
fn campaign_that_is_killed_goes_on_where_it_stopped() {
    let rig = CampaignFolder::sound();
    let deadline = Instant::now() + Duration::from_secs(300);
    for lines in [1, 12, 25] {
        let mut child =
            rig.command("lines", &["--jobs", "1"]).stdout(Stdio::null()).spawn().expect("it starts");
        let count =
            || std::fs::read_to_string(rig.path("lines")).map_or(0, |text| text.matches("\"id\"").count());
        while count() < lines && child.try_wait().expect("it can be asked").is_none() {
            assert!(Instant::now() < deadline, "nothing happens");
            std::thread::sleep(Duration::from_millis(1));
        }
        // It may have come to its end just now.
        let _ = child.kill();
        child.wait().expect("it ends");
    }
    assert!(rig.run("lines", &["--jobs", "1"]).status.success());
    let report = rig.report(&["lines"]);
    assert_eq!((report.total.cases, report.total.failures(), report.contradictions.len()), (40, 0, 0));
    // Everything is there: nothing is left to do.
    let before = std::fs::read(rig.path("lines")).expect("it is there");
    let said = String::from_utf8(rig.run("lines", &[]).stdout).expect("text");
    assert!(said.contains(" 0 run in "), "{said}");
    assert_eq!(std::fs::read(rig.path("lines")).expect("it is there"), before);
}

#[test]
fn campaign_does_not_go_on_with_the_results_of_programs_that_are_others_now() {
    let rig = CampaignFolder::sound();
    assert!(rig.run("lines", &["--jobs", "2"]).status.success());
    let again = |output: &str| {
        let done = rig.run(output, &["--jobs", "2"]);
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    rig.built("relu.anec", "x = input 4x2x8\ny = sigmoid x\noutput y\n");
    let (code, why) = again("lines");
    assert!(code == Some(1) && why.contains("relu.anec, or an array of its case, has changed"), "{why}");
    assert_eq!(again("other").0, Some(5), "it is no relu");
}

#[test]
fn lines_are_not_appended_to_something_else() {
    let rig = CampaignFolder::sound();
    for other in ["m.toml", "relu.anec"] {
        let before = std::fs::read(rig.path(other)).expect("it is there");
        let done = rig.run(other, &[]);
        let why = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(1) && why.contains("something else than lines"), "{why}");
        assert_eq!(std::fs::read(rig.path(other)).expect("it is there"), before);
    }
}

#[test]
fn two_parts_may_write_one_file() {
    let rig = CampaignFolder::sound();
    let parts: Vec<_> = (1..=2)
        .map(|part| {
            let mut command = rig.command("lines", &["--shard", &format!("{part}/2"), "--jobs", "1"]);
            command.stdout(Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    for mut part in parts {
        assert!(part.wait().expect("it ends").success());
    }
    let report = rig.report(&["lines"]);
    assert_eq!((report.total.cases, report.damaged, report.repeated), (40, 0, 0));
}

/// Lines in the campaign's file.
fn lines(rig: &CampaignFolder) -> usize {
    std::fs::read_to_string(rig.path("lines")).map_or(0, |text| text.matches("\"id\"").count())
}

#[test]
fn full_disk_in_the_middle_of_a_line_ends_the_campaign_and_not_its_lines() {
    let rig = CampaignFolder::sound();
    let deadline = Instant::now() + Duration::from_secs(300);
    for round in 0..3 {
        let before = lines(&rig);
        let run = format!(
            "trap '' XFSZ; exec {} campaign {} -o {} --jobs 1",
            path().display(),
            rig.path("m.toml").display(),
            rig.path("lines").display()
        );
        let child =
            Command::new("bash").args(["-c", &run]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.expect("bash starts");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number"));
        let signal = |signal| kill(pid, signal).expect("it runs");
        // It is looked at while it is stopped: else it may have come to its end when the limit is set.
        loop {
            signal(Signal::SIGSTOP);
            if lines(&rig) > before {
                break;
            }
            signal(Signal::SIGCONT);
            assert!(Instant::now() < deadline, "nothing happens");
            std::thread::sleep(Duration::from_millis(1));
        }
        // A limit on the length of files stands for a disk that is full: a line is cut short by it. The workers, which
        // have files of their own, were there before.
        let room = std::fs::metadata(rig.path("lines")).expect("it is there").len() + 500;
        let limit = rustix::process::Rlimit { current: Some(room), maximum: None };
        let process = rustix::process::Pid::from_raw(pid.as_raw());
        rustix::process::prlimit(process, rustix::process::Resource::Fsize, limit).expect("it is ours");
        signal(Signal::SIGCONT);
        let output = child.wait_with_output().expect("it ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "round {round}: {message}");
        assert!(message.contains("it goes on where it stopped"), "{message}");
    }
    let report = rig.report(&["lines"]);
    assert!(report.total.cases < 40 && report.damaged > 0, "{} {}", report.total.cases, report.damaged);
    assert!(rig.run("lines", &[]).status.success());
    let report = rig.report(&["lines"]);
    assert_eq!((report.total.cases, report.total.failures()), (40, 0));
}
