//! The verdict on a case.

use ane::campaign::record::Verdict;
use ane_tests::command::{printed, refused};
use ane_tests::data::example;

use super::rig::CampaignFolder;

/// One program for each verdict that a program can bring about.
fn mixed() -> CampaignFolder {
    let rig = CampaignFolder::new(
        r#"
        [[program]]
        path = "relu.anec"
        family = "sound"
        expect.meaning = "relu"
        [[program]]
        path = "add.anec"
        family = "sound"
        [[program]]
        path = "add.anec"
        family = "other"
        expect.meaning = "y = subtract a b"
        [[program]]
        path = "unexplained.anec"
        family = "other"
        [[program]]
        path = "nonsense.anec"
        family = "other"
        [[program]]
        path = "relu.anec"
        family = "hash"
        expect.sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
        [[program]]
        path = "relu.txt"
        family = "described"
        expect.numerics = "exact"
        absolute = 0.0
        relative = 0.0
        [[program]]
        path = "add.anec"
        family = "files"
        inputs = { a = "a.npy", 1 = "a.npy" }
        expect.arrays = "twice.npy"
        [[program]]
        path = "add.anec"
        family = "files"
        inputs = { nobody = "a.npy" }
    "#,
    );
    // PlanarMap's last bit, in the first task of a file with a header of 0x1000 bytes.
    let mut file = std::fs::read(example()).expect("the tree has it");
    file[0x1000 + 0x128 + 0x30 + 3] |= 0x80;
    rig.file("unexplained.anec", &file);
    rig.file("nonsense.anec", b"no program");
    rig.file("relu.txt", b"x = input 3x1x5\ny = relu x\noutput y\n");
    rig.file("a.npy", &array(1.25));
    rig.file("twice.npy", &array(2.5));
    rig
}

/// A `.npy` file of what the additions take.
fn array(value: f32) -> Vec<u8> {
    let shape = ane::container::Axes { n: 1, c: 4, h: 2, w: 8 };
    let tensor = ane::tensor::Tensor::from_fn(shape, |_| half::f16::from_f32(value));
    let mut bytes = Vec::new();
    ane::tensor::npy::write(&mut bytes, &tensor).expect("a vector takes it");
    bytes
}

/// The same of one number in singles: the others are 1.
fn singles(first: f32) -> Vec<u8> {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, 2, 8), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend((0..64).flat_map(|place| if place == 0 { first } else { 1.0 }.to_le_bytes()));
    bytes
}

#[test]
fn arrays_whose_numbers_change_as_halves_are_told_in_the_line_of_their_case() {
    let rig = CampaignFolder::new(
        r#"
        [[program]]
        path = "relu.anec"
        inputs = { x = "x.npy" }
        expect.arrays = "y.npy"
    "#,
    );
    rig.file("x.npy", &singles(f32::INFINITY));
    rig.file("y.npy", &singles(1e6));
    assert!(rig.run("lines", &[]).status.success());
    let report = rig.report(&["lines"]);
    let outcome = &report.records()[0].outcome;
    let told =
        "x.npy: converted from <f4 to fp16; y.npy: converted from <f4 to fp16, 1 beyond the largest half";
    assert_eq!((outcome.verdict, outcome.converted.as_deref()), (Verdict::Passed, Some(told)));
}

#[test]
fn each_case_gets_its_verdict() {
    let rig = mixed();
    rig.file("expected-before", b"");
    // The manifest is refused while a file of it is missing, before anything runs.
    std::fs::rename(rig.path("nonsense.anec"), rig.path("away")).expect("it is there");
    let message = String::from_utf8(rig.run("lines", &[]).stderr).expect("text");
    assert!(message.contains("nonsense.anec") && !rig.path("lines").exists(), "{message}");
    std::fs::rename(rig.path("away"), rig.path("nonsense.anec")).expect("it is there");

    let output = rig.run("lines", &["--jobs", "2"]);
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    let report = rig.report(&["lines"]);
    let verdicts: Vec<_> = report
        .records()
        .iter()
        .map(|record| (record.family.as_str(), record.program.as_str(), record.outcome.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("described", "relu.txt", Verdict::Passed),
            ("files", "add.anec", Verdict::Error),
            ("files", "add.anec", Verdict::Passed),
            ("hash", "relu.anec", Verdict::Wrong),
            ("other", "add.anec", Verdict::Wrong),
            ("other", "nonsense.anec", Verdict::Unreadable),
            ("other", "unexplained.anec", Verdict::Refused),
            ("sound", "add.anec", Verdict::Ran),
            ("sound", "relu.anec", Verdict::Passed),
        ]
    );
    let [refusal, _] = &report.refusals[..] else { panic!("{:?}", report.refusals) };
    assert_eq!((refusal.register.as_str(), refusal.bits.as_str()), ("PlanarMap", "0x80000000"));
    let refused = &report.records()[6].outcome;
    assert_eq!(refused.task, Some(0));
}

/// Expected arrays are found by the same rules as inputs, and have to have the shape of the output.
#[test]
fn arrays_for_no_operand_for_one_twice_and_of_another_shape_are_errors() {
    let cases = [
        ("expect.arrays = { z = \"y.npy\" }", "program has no output \"z\""),
        ("expect.arrays = { y = \"y.npy\", 0 = \"y.npy\" }", "output \"y\" is given twice"),
        ("inputs = { x = \"y.npy\", 0 = \"y.npy\" }", "input \"x\" is given twice"),
        ("expect.arrays = \"moved.npy\"", "array has shape [4, 1, 2, 8], wanted is [1, 4, 2, 8]"),
    ];
    let entry = |(said, _)| format!("[[program]]\npath = \"relu.anec\"\nfamily = \"f\"\n{said}\n");
    let rig = CampaignFolder::new(&cases.map(entry).concat());
    rig.file("y.npy", &array(1.25));
    let shape = ane::container::Axes { n: 4, c: 1, h: 2, w: 8 };
    let mut moved = Vec::new();
    ane::tensor::npy::write(&mut moved, &ane::tensor::Tensor::random(shape, 1)).expect("a vector takes it");
    rig.file("moved.npy", &moved);
    rig.run("lines", &[]);
    let report = rig.report(&["lines"]);
    let reasons: Vec<_> =
        report.records().iter().map(|record| record.outcome.reason.clone().unwrap_or_default()).collect();
    for (_, wanted) in cases {
        assert!(reasons.iter().any(|reason| reason.contains(wanted)), "{wanted}: {reasons:?}");
    }
    assert!(report.records().iter().all(|record| record.outcome.verdict == Verdict::Error));
}

#[test]
fn report_is_written_in_each_form() {
    let rig = mixed();
    rig.run("lines", &[]);
    let (lines, xml, html) = (rig.path("lines"), rig.path("r.xml"), rig.path("r.html"));
    let arguments = [
        "campaign",
        "report",
        &lines.display().to_string(),
        "--junit",
        &xml.display().to_string(),
        "--html",
        &html.display().to_string(),
    ];
    let message = refused(5, &arguments);
    assert!(message.contains("2 of 9 cases are wrong, 2 did not come to an end"), "{message}");
    let xml = std::fs::read_to_string(xml).expect("it was written");
    assert!(
        xml.contains(
            "<testsuites name=\"ane campaign\" tests=\"9\" failures=\"2\" errors=\"2\" skipped=\"1\""
        ),
        "{xml}"
    );
    assert!(std::fs::read_to_string(html).expect("it was written").contains("<h1>Campaign: 9 cases</h1>"));
    let output = ane_tests::command::ane(&["campaign", "report", "--json", &lines.display().to_string()]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["total"]["cases"], &json["refusals"][0]["register"]), (&9.into(), &"PlanarMap".into()));
}

#[test]
fn cases_are_listed_without_being_run() {
    let rig = CampaignFolder::sound();
    let manifest = rig.path("m.toml").display().to_string();
    let all = printed(&["campaign", &manifest, "--list"]);
    assert_eq!(all.lines().count(), 40);
    let parts =
        [1, 2, 3].map(|part| printed(&["campaign", &manifest, "--list", "--shard", &format!("{part}/3")]));
    let mut together: Vec<&str> = parts.iter().flat_map(|part| part.lines()).collect();
    let mut whole: Vec<&str> = all.lines().collect();
    together.sort_unstable();
    whole.sort_unstable();
    assert_eq!(together, whole);
}

#[test]
fn command_lines_and_manifests_that_are_wrong_are_told_so() {
    let rig = CampaignFolder::new("[[program]]\npath = \"no-such.hwx\"\n");
    let manifest = rig.path("m.toml").display().to_string();
    let output = rig.path("lines").display().to_string();
    assert!(refused(1, &["campaign", &manifest, "-o", &output]).contains("program 1 (no-such.hwx): "));
    assert!(refused(1, &["campaign", "/no/such/file", "-o", &output]).contains("No such file"));
    assert!(refused(1, &["campaign", "report", "/no/such/file"]).contains("No such file"));
    for nothing in ["", "[[program]]\npath = \"relu.anec\"\nseeds = 0\n"] {
        let rig = CampaignFolder::new(nothing);
        let manifest = rig.path("m.toml").display().to_string();
        assert!(refused(1, &["campaign", &manifest, "-o", &output]).contains("has no case"));
    }
    let rig = CampaignFolder::sound();
    let program = rig.path("relu.anec").display().to_string();
    assert!(refused(1, &["campaign", "report", &program]).contains("no line of a campaign"));
    assert!(rig.run("lines", &[]).status.success());
    let lines = rig.path("lines").display().to_string();
    let why = refused(1, &["campaign", "report", &lines, "--html", &lines]);
    assert!(why.contains("is a file that is read"), "{why}");
    let manifest = rig.path("m.toml").display().to_string();
    assert!(refused(2, &["campaign", &manifest, "-o", &output, "--seconds", "0"]).contains("--seconds"));
    let folder = rig.path(".").display().to_string();
    assert!(refused(1, &["campaign", &manifest, "-o", &folder]).contains("is not a regular file"));
    for bad in [&["--shard", "3/2"][..], &["--jobs", "0"], &["--mebibytes", "0"]] {
        let output = rig.run("lines", bad);
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
    }
}
