//! The limits of a case.

use ane::campaign::record::Verdict;

use super::rig::CampaignFolder;

/// A product that takes seconds, among programs that take none.
fn slow() -> CampaignFolder {
    let rig = CampaignFolder::new(
        r#"
        [[program]]
        path = "relu.anec"
        seeds = 3
        [[program]]
        path = "slow.anec"
        numerics = ["exact"]
    "#,
    );
    rig.built(
        "slow.anec",
        "x = input 512x64x64\ny = convolution x outputs=512 kernel=5x5 padding=2 weights=random:1\noutput y\n",
    );
    rig
}

#[test]
fn case_that_takes_too_long_is_ended_and_the_others_run() {
    let rig = slow();
    let output = rig.run("lines", &["--seconds", "5", "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(5));
    let report = rig.report(&["lines"]);
    assert_eq!((report.total.count(Verdict::Ran), report.total.count(Verdict::Timeout)), (3, 1));
}

#[test]
fn case_that_takes_too_much_memory_is_ended() {
    let rig = slow();
    let output = rig.run("lines", &["--mebibytes", "30", "--seconds", "60", "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(5));
    let report = rig.report(&["lines"]);
    assert_eq!((report.total.cases, report.total.count(Verdict::Memory)), (4, 1), "{:?}", report.total);
}
