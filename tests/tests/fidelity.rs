//! `docs/fidelity.md` is what the engine prints, and it is what M1s printed.

use std::path::Path;

use ane_tests::{data, fidelity};

/// With `ANE_WRITE` set, the page is written instead of compared.
#[test]
fn page_is_current_and_every_published_digit_is_reproduced() {
    let Some(groups) = fidelity::rows() else { return data::not_run("compiled programs are missing") };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fidelity.md");
    let open = fidelity::open_rows();
    let rendered = fidelity::render(groups.iter().chain([&open]));
    if std::env::var_os("ANE_WRITE").is_some() {
        std::fs::write(&page, &rendered).expect("the page can be written");
    }
    for row in groups.iter().flat_map(|(_, rows)| rows) {
        assert!(row.agrees(), "{row:?}");
    }
    let committed = std::fs::read_to_string(&page).expect("the page is there");
    assert!(committed == rendered, "docs/fidelity.md is old: run this test with ANE_WRITE=1");
}
