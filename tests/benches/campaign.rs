//! The cost of a campaign beside its bare execution: `cargo bench -p ane-tests --bench campaign`.
//!
//! Ten thousand small cases run one after the other in this process, with nothing written, and as a campaign of two jobs, in
//! which each case runs in a process that may be killed, and leaves a line in a file. The ratio of the times is printed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ane::build::script;
use ane::campaign::manifest;
use ane::campaign::record::Verdict;
use ane::campaign::runner::Runner;
use ane_tests::command::path;

/// Cases of the campaign.
const CASES: usize = 10_000;
/// Jobs of the campaign.
const JOBS: usize = 2;
/// Rounds; the shortest of each counts.
const ROUNDS: usize = 3;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let description = "x = input 4x2x8\ny = relu x\noutput y\n";
    let built = script::build(description, |_, _| Err("no arrays".to_owned())).expect("a program");
    let program = built.to_anec().expect("a program");
    std::fs::write(folder.path().join("relu.anec"), program).expect("a file");
    let text = format!("seeds = {CASES}\n[[program]]\npath = \"relu.anec\"\nexpect.meaning = \"relu\"\n");
    let manifest = folder.path().join("m.toml");
    std::fs::write(&manifest, text).expect("a file");
    let cases = manifest::cases(&manifest).expect("cases");
    assert_eq!(cases.len(), CASES);

    let bare = || {
        let start = Instant::now();
        let mut runner = Runner::default();
        for case in &cases {
            assert_eq!(runner.run(case).verdict, Verdict::Passed);
        }
        start.elapsed()
    };
    let mut round = 0;
    let mut campaign = || {
        round += 1;
        let output = folder.path().join(format!("lines-{round}"));
        let start = Instant::now();
        let status = Command::new(path())
            .arg("campaign")
            .arg(&manifest)
            .arg("-o")
            .arg(&output)
            .args(["--jobs", &JOBS.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("the command starts");
        let taken = start.elapsed();
        assert!(status.success(), "every case holds");
        let lines = std::fs::read_to_string(&output).expect("the lines");
        assert_eq!(lines.matches("\"id\"").count(), CASES);
        taken
    };
    let (mut least_bare, mut least_campaign) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        least_bare = least_bare.min(bare());
        least_campaign = least_campaign.min(campaign());
    }
    let ratio = least_campaign.as_secs_f64() / least_bare.as_secs_f64();
    println!(
        "{CASES} cases: {least_bare:.2?} bare, {least_campaign:.2?} as a campaign: ratio {ratio:.2} (at most 1.5)"
    );
}
