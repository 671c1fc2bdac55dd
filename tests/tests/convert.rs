//! `ane convert`, run as its users run it.

use std::process::Output;

use ane::container::{self, Container};
use ane_tests::command::ane;
use ane_tests::data;

fn convert(arguments: &[&str]) -> Output {
    ane(&[&["convert"], arguments].concat())
}

#[test]
fn real_programs_convert_with_their_tasks_and_constants_unchanged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for sample in data::programs().unwrap_or_default() {
        let to = folder.path().join(&sample.name);
        let output =
            convert(&[sample.path.to_str().expect("a plain path"), to.to_str().expect("a plain path")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

        let bytes = std::fs::read(&to).expect("the file is there");
        let (before, after) = (
            container::open(&sample.bytes).expect("a real program opens"),
            container::open(&bytes).expect("what we wrote opens"),
        );
        assert_eq!(after.container, Container::Anec);
        // These objects come from a compiler that orders BARs as clients of ANEC expect.
        assert_eq!(before.stream, after.stream, "{}", sample.name);
        assert_eq!(before.task_count, after.task_count);
        let operands = |program: &container::Program<'_>| {
            let mut operands: Vec<_> = program
                .surfaces
                .iter()
                .map(|surface| {
                    (surface.bar, surface.direction, surface.shape, surface.buffer_bytes.div_ceil(0x4000))
                })
                .collect();
            operands.sort_by_key(|operand| operand.0);
            operands
        };
        assert_eq!(operands(&before), operands(&after), "{}", sample.name);
        assert!(std::fs::read_dir(folder.path()).expect("readable").count() <= data::KNOWN.len());
    }
}

#[test]
fn file_that_exists_is_kept_unless_forced() {
    let Some(samples) = data::programs() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("out.anec");
    std::fs::write(&to, b"precious").expect("the file can be written");
    let (from, to_name) = (samples[0].path.to_str().expect("plain"), to.to_str().expect("plain"));

    let output = convert(&[from, to_name]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--force"));
    assert_eq!(std::fs::read(&to).expect("still there"), b"precious");

    assert!(convert(&["--force", from, to_name]).status.success());
    assert_ne!(std::fs::read(&to).expect("still there"), b"precious");
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1, "nothing is left behind");
}

#[test]
fn anec_is_not_converted_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("out.anec");
    let example = data::example();
    let output = convert(&[example.to_str().expect("plain"), to.to_str().expect("plain")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is an ANEC already"));
}
