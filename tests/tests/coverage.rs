//! `docs/coverage.md` is what the device makes of programs and of registers today.

use std::path::Path;

use ane::build::script;
use ane::campaign::record::Verdict;
use ane_tests::coverage;

/// With `ANE_WRITE` set, the page is written instead of compared.
#[test]
fn page_is_current_and_every_program_gives_what_it_means() {
    let Some((entries, rows)) = coverage::measure() else { return };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coverage.md");
    let rendered = coverage::render(&entries, &rows);
    if std::env::var_os("ANE_WRITE").is_some() {
        std::fs::write(&page, &rendered).expect("the page can be written");
    }
    for entry in &entries {
        assert_eq!(entry.record.outcome.verdict, Verdict::Passed, "{entry:?}");
    }
    let committed = std::fs::read_to_string(&page).expect("the page is there");
    assert!(committed == rendered, "docs/coverage.md is old: run this test with ANE_WRITE=1");
}

#[test]
fn every_operation_of_the_builder_is_in_the_campaign() {
    let listed = coverage::built_operations();
    for (form, _) in script::OPERATIONS {
        for name in form.split(' ').next().unwrap_or_default().split('|') {
            assert!(listed.contains(name), "{name}");
        }
    }
}
