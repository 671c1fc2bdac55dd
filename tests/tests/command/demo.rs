//! `ane demo`.

use ane_tests::command::{printed, refused, without_times};

use super::scratch::Scratch;

#[test]
fn demo_tells_as_recorded() {
    insta::assert_snapshot!("demo", without_times(&printed(&["demo", "--threads", "1"])));
}

#[test]
fn every_arithmetic_agrees_with_the_reference() {
    for numerics in ["m1", "fast", "exact"] {
        let report = printed(&["demo", "--json", "--numerics", numerics, "--strict", "--check"]);
        let report: serde_json::Value = serde_json::from_str(&report).expect("output is JSON");
        let checks = report["checks"].as_array().expect("has checks");
        assert_eq!(checks[0]["difference"], 0.0, "{numerics}");
        assert_eq!(report["engine"]["findings"], serde_json::json!([]), "{numerics}");
        assert_eq!(report["engine"]["inferred"], serde_json::Value::Null, "{numerics}");
        for check in checks {
            let (seen, allowed) = (check["difference"].as_f64(), check["allowed"].as_f64());
            assert!(seen <= allowed, "{numerics}: {check}");
        }
    }
}

#[test]
fn program_of_the_demo_is_kept_if_wanted() {
    let scratch = Scratch::new();
    let program = scratch.at("demo.anec");
    printed(&["demo", "--save", &program]);
    assert!(printed(&["info", &program]).contains("16x4x10"));
}

#[test]
fn program_of_the_demo_overwrites_no_file_unless_forced() {
    let scratch = Scratch::new();
    let program = scratch.file("model.anec", b"mine");
    let message = refused(1, &["demo", "--save", &program]);
    assert!(message.contains("exists already; --force overwrites it"), "{message}");
    assert_eq!(std::fs::read(&program).expect("it is there"), b"mine");
    assert_eq!(scratch.names(), ["model.anec"]);
    printed(&["demo", "--save", &program, "--force"]);
    assert!(printed(&["info", &program]).contains("16x4x10"));
}
