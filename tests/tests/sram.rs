//! `ane sram`: the hierarchy, residency and heat of a program, as text, JSON and picture.

use ane::build::{Built, script};
use ane::container;
use ane::patch;
use ane::sram::{Occupancy, Operand};
use ane_tests::command::ane;
use ane_uapi::hw::chip::Soc;
use serde_json::Value;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/add_relu.anec");

/// The output of a command.
fn printed(arguments: &[&str]) -> String {
    let output = ane(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Requirement: MEM-30
#[test]
fn hierarchy_is_printed_with_field_and_value() {
    insta::assert_snapshot!("hierarchy", printed(&["sram"]));
}

#[test]
fn program_is_printed_with_residency_heat_and_time() {
    insta::assert_snapshot!("program", printed(&["sram", PROGRAM]));
}

#[test]
fn json_has_every_level_task_and_bank() {
    let report: Value = serde_json::from_str(&printed(&["sram", "--json", PROGRAM])).expect("JSON");
    let fields: Vec<_> =
        report["levels"].as_array().expect("levels").iter().map(|level| &level["field"]).collect();
    for field in ["0x1b8", "0x1c0", "0x1c8", "0x1f0", "0x1f8", "0x200", "0x210", "0x288", "0x491"] {
        assert!(fields.contains(&&Value::from(field)), "{field}");
    }
    assert_eq!(report["tasks"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["tasks"][0]["operands"][0]["heat"].as_array().map(Vec::len), Some(64));
    assert!(report["nanoseconds"].as_u64() > Some(230_000));
}

fn built(text: &str) -> Built {
    script::build(text, |name, _| Err(format!("there is no array {name}"))).expect("it fits")
}

/// The operands of the first task, by name.
fn operands(file: &[u8]) -> Vec<Operand> {
    let program = container::open(file).expect("a program");
    let mut occupancy = Occupancy::of(&program, Soc::T8103);
    assert_eq!(occupancy.damage, None);
    occupancy.tasks.remove(0).operands
}

#[test]
fn operand_of_several_groups_is_all_of_them() {
    let text = "x = input 64x128x256\ny = convolution x outputs=64 groups=4 weights=1\noutput y";
    let operands = operands(&built(text).to_anec().expect("a file"));
    // 32 of 128 rows.
    for (name, operand) in [("source 1", &operands[0]), ("result", &operands[2])] {
        assert_eq!((operand.name, operand.bytes), (name, 1 << 20));
        let told =
            "32 of 128 rows of 0x400000 bytes, 0x400000 is at the bound of 0x200000 or above: streamed";
        assert!(operand.why.starts_with(told), "{}", operand.why);
    }
}

#[test]
fn operand_of_bytes_is_as_long_as_it_is() {
    let file = built("x = input 1x1x375\ny = copy x\noutput y").to_anec().expect("a file");
    // The source is moved as bytes, and is bytes on chip.
    let edits = ["ChCfg=0x20", "SourceCfg=0x00500132", "SrcFmt1=0x01000000"]
        .map(|edit| edit.parse().expect("an edit"));
    let operands = operands(&patch::registers(&file, 0, &edits).expect("registers of the task"));
    assert_eq!((operands[0].bytes, operands[1].bytes), (375, 750));
    assert!(operands[0].why.starts_with("0x177 is below"), "{}", operands[0].why);
}

#[test]
fn picture_has_a_cell_for_each_bank_of_each_operand() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("heat.svg");
    let path = path.to_str().expect("a plain name");
    printed(&["sram", PROGRAM, "--svg", path]);
    let picture = std::fs::read_to_string(path).expect("it was written");
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    // Three operands through the pool, and their sum.
    assert_eq!(picture.matches("<title>bank 63: ").count(), 4);
    let again = ane(&["sram", PROGRAM, "--svg", path]);
    assert_eq!(again.status.code(), Some(1), "a picture that is there is kept");
}

#[test]
fn later_chip_takes_its_own_column_of_the_table() {
    let report: Value = serde_json::from_str(&printed(&["sram", "--json", "--chip", "t8112"])).expect("JSON");
    assert_eq!((&report["chip"], &report["generation"]), (&"t8112".into(), &"h14".into()));
}

/// Why the coefficients of a convolution go where they go, on a target.
fn coefficients_on(target: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, program) = (folder.path().join("conv.txt"), folder.path().join("conv.anec"));
    let lines = "x = input 64x8x8\ny = convolution x outputs=64 weights=random:1\noutput y\n";
    std::fs::write(&text, lines).expect("it can be written");
    let [text, program] = [&text, &program].map(|path| path.to_str().expect("a plain name"));
    printed(&["build", text, "-o", program]);
    let report: Value =
        serde_json::from_str(&printed(&["sram", "--json", "--target", target, program])).expect("JSON");
    let operands = report["tasks"][0]["operands"].as_array().expect("operands");
    let found = operands.iter().find(|operand| operand["name"] == "coefficients").expect("coefficients");
    found["why"].as_str().expect("text").to_owned()
}

#[test]
fn coefficients_are_explained_by_the_rule_by_which_their_time_is_computed() {
    assert!(coefficients_on("h13").contains("below the split of "));
    let smooth = coefficients_on("h17s");
    assert!(smooth.contains("tiled at every size") && !smooth.contains("split"), "{smooth}");
}

#[test]
fn targets_without_a_device_have_the_rows_of_the_founding_documents_tables() {
    // Operand bound (seed 003, beside listing 21.1), residency threshold (table 21.5).
    let rows = [
        ("m9", 1 << 20, None),
        ("h13", 2 << 20, Some(0)),
        ("h15", 2 << 20, Some(32 << 10)),
        ("h17s", 2 << 20, Some(256 << 10)),
    ];
    for (target, bound, threshold) in rows {
        let report: Value =
            serde_json::from_str(&printed(&["sram", "--json", "--target", target])).expect("JSON");
        let level =
            |name| report["levels"].as_array().unwrap().iter().find(|level| level["name"] == name).unwrap();
        assert_eq!((&report["chip"], &report["generation"]), (&Value::Null, &target.into()));
        assert_eq!(level("operand working set")["value"], bound, "{target}");
        let found = &level("residency threshold")["value"];
        assert!(threshold.is_none_or(|threshold: u32| *found == threshold), "{target}: {found}");
    }
}
