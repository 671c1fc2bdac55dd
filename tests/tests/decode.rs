//! `ane decode`, run as its users run it: on the tree's own program, on real ones, and on damaged ones.

use std::path::Path;

use ane::container;
use ane::decode::{Report, text};
use ane_tests::command::ane;
use ane_tests::data;
use ane_tests::oracles;
use ane_tests::oracles::constants::MadeConstants;
use serde_json::Value;

/// Standard output of a run that has to succeed.
fn printed(arguments: &[&str]) -> String {
    let output = ane(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

/// Standard error of a run that has to fail.
fn refused(arguments: &[&str]) -> String {
    let output = ane(arguments);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("messages are text")
}

fn example() -> String {
    data::example().display().to_string()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the file can be written");
    path.display().to_string()
}

#[test]
fn example_prints_as_recorded() {
    insta::assert_snapshot!("example", printed(&["decode", &example()]));
}

#[test]
fn example_prints_only_changes_as_recorded() {
    insta::assert_snapshot!("example_changes", printed(&["decode", "--changes", &example()]));
}

#[test]
fn example_explains_itself_as_recorded() {
    insta::assert_snapshot!("example_explain", printed(&["decode", "--explain", &example()]));
}

/// The output of `ane decode --json` about a program.
fn json(path: &str) -> Value {
    serde_json::from_str(&printed(&["decode", "--json", path])).expect("output is JSON")
}

/// The first of each kind of thing, and of a list how many there are: what a reader of a recorded report would look at.
fn outline(value: &Value) -> Value {
    const ENTRIES: usize = 2;
    match value {
        Value::Array(all) if all.iter().any(Value::is_object) => {
            let first = all.first().map(outline);
            let more = (all.len() > 1).then(|| format!("{} in all", all.len()).into());
            Value::Array(first.into_iter().chain(more).collect())
        }
        // Names of registers, of which any two show how each looks.
        Value::Object(all) if all.len() > ENTRIES && all.values().all(Value::is_object) => {
            all.iter().take(ENTRIES).map(|(name, value)| (name.clone(), outline(value))).collect()
        }
        Value::Object(all) => all.iter().map(|(name, value)| (name.clone(), outline(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn example_serialises_as_recorded() {
    let outline = serde_json::to_string_pretty(&outline(&json(&example()))).expect("a value serialises");
    insta::assert_snapshot!("example_json", outline);
}

/// The number that `of[name]` is in hexadecimal.
fn hex(of: &Value, name: &str) -> usize {
    let text = of[name].as_str().unwrap_or_else(|| panic!("{name} in {of}"));
    usize::from_str_radix(text.strip_prefix("0x").expect("is hexadecimal"), 16).expect("is a number")
}

#[test]
fn json_gives_every_word_of_the_stream() {
    let example = std::fs::read(data::example()).expect("the tree carries its example");
    let samples = data::programs().unwrap_or_default().into_iter();
    let real = samples.map(|sample| (sample.path.display().to_string(), sample.bytes));
    for (path, bytes) in real.chain([(self::example(), example)]) {
        let program = container::open(&bytes).expect("a real program opens");
        for task in json(&path)["tasks"].as_array().expect("has tasks") {
            let (offset, length) = (hex(task, "offset"), task["bytes"].as_u64().expect("has a length"));
            let words = program.stream[offset..][..length as usize].as_chunks().0;
            let said = |list: &Value| -> Vec<u32> {
                list.as_array()
                    .expect("is a list")
                    .iter()
                    .map(|register| hex(register, "value") as u32)
                    .collect()
            };
            let mut found = said(&task["header"]);
            for block in task["blocks"].as_array().expect("has blocks") {
                assert_eq!(hex(block, "offset"), offset + 4 * found.len(), "{path}");
                // The record's own word, which says where the block is and how long.
                found.push(u32::from_le_bytes(words[found.len()]));
                found.extend(said(&block["registers"]));
            }
            assert_eq!(found, words.iter().copied().map(u32::from_le_bytes).collect::<Vec<_>>(), "{path}");
        }
    }
}

#[test]
fn real_programs_print_as_recorded() {
    for sample in data::programs().unwrap_or_default() {
        let path = sample.path.display().to_string();
        insta::assert_snapshot!(sample.name.clone(), printed(&["decode", &path]));
    }
}

/// The values in the specification for the six programs, register by register (the facts' sections 4 and 7).
#[test]
fn real_programs_say_what_the_specification_says() {
    let expected = [
        ("concat", "neural pass-through; 16384x1x1 -> 16384x1x1 (CxHxW)"),
        ("conv", "neural 1x1 convolution; 3x1x1 -> 3x1x1 (CxHxW)"),
        ("gemm", "neural 1x1 convolution; 512x1x1 -> 512x1x1 (CxHxW)"),
        ("relu", "neural pass-through, then relu; 1x1x77 -> 1x1x77 (CxHxW)"),
        ("sigmoid", "neural pass-through, then an activation table; 1x1x77 -> 1x1x77 (CxHxW)"),
        ("sum", "planar a + b; 64x1x1 -> 64x1x1 (CxHxW)"),
    ];
    for (sample, (name, summary)) in data::programs().unwrap_or_default().iter().zip(expected) {
        assert_eq!(sample.name, name);
        let report = Report::of(&container::open(&sample.bytes).expect("a real program opens"));
        assert_eq!(report.damage, None);
        assert_eq!(report.program.warnings, [""; 0], "{name}");
        assert_eq!(report.tasks[0].summary, summary, "{name}");
        assert_eq!(report.tasks.len(), if name == "concat" { 2 } else { 1 });
    }
}

/// The last task of programs whose registers are transcribed, by what they were compiled from.
#[test]
fn summary_tells_the_operation_that_was_compiled() {
    for (name, wanted) in [
        ("unary_abs_1x512x1x1", "planar |a|"),
        ("binary_mul_c64_constant_scalar", "planar a * 0.5"),
        ("binary_sub_c512_constant_scalar", "planar a - 0.5"),
        ("tile_r_1x1x375_reps_1_375_1", "planar copy, then relu"),
        ("reduce_sum_ax2_3_1x64x8x8_flat", "planar sum over rows and columns"),
        ("conv_k3_c64_n64_s16_st1_g4_bias0", "neural 3x3 convolution, 4 times"),
        ("unary_exp_1x64x1x1", "neural pass-through, times 1.4423828, then an activation table"),
        ("bcast_mul_2x64x1x1", "planar a * b, 2 times"),
    ] {
        let Some(oracle) = oracles::named(name) else { return };
        let (stream, made) = (oracle.stream(), MadeConstants::default());
        let report = Report::of(&oracle.program(&stream, &made));
        let summary = &report.tasks.last().expect("a task").summary;
        assert_eq!(summary.split_once(';').map(|(what, _)| what), Some(wanted), "{name}");
    }
}

#[test]
fn real_programs_set_no_register_bit_that_no_source_explains() {
    for sample in data::programs().unwrap_or_default() {
        let report = Report::of(&container::open(&sample.bytes).expect("a real program opens"));
        for register in report.tasks.iter().flat_map(|task| &task.blocks).flat_map(|block| &block.registers) {
            assert_eq!(register.unknown_bits, None, "{}: {:?}", sample.name, register.name);
        }
    }
}

/// The device refuses such a record.
#[test]
fn bit_of_a_record_that_no_source_explains_is_shown_and_compared() {
    let sound = std::fs::read(example()).expect("readable");
    let program = container::open(&sound).expect("a program");
    let stream = program.stream.as_ptr().addr() - sound.as_ptr().addr();
    let task = program.tasks().expect("h13").next().expect("a task").expect("sound");
    let record = task.records().next().expect("a record");
    let mut odd = sound.clone();
    odd[stream + task.offset_of_word(record.at) as usize] |= 1;
    let folder = tempfile::tempdir().expect("folder");
    let odd = write(folder.path(), "odd.anec", &odd);
    assert!(printed(&["decode", &odd]).contains("[unknown bits 0x00000001 in the record's first word]"));
    let found = ane(&["diff", &example(), &odd]);
    assert!(String::from_utf8_lossy(&found.stdout).contains("task 0 unknown bits of records"));
}

#[test]
fn file_that_is_missing_is_named() {
    let message = refused(&["decode", "no/such/file.hwx"]);
    assert_eq!(message, "ane: no/such/file.hwx: No such file or directory (os error 2); check the path\n");
}

#[test]
fn file_of_another_kind_is_refused_with_what_is_accepted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = write(folder.path(), "array.npy", b"\x93NUMPY\x01\x00 and so on");
    let message = refused(&["decode", &path]);
    assert!(
        message.contains("array.npy") && message.contains("NumPy") && message.contains("HWX"),
        "{message}"
    );
}

#[test]
fn truncated_program_is_refused_with_the_field_that_lies() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let whole = std::fs::read(data::example()).expect("the tree carries its example");
    let path = write(folder.path(), "short.anec", &whole[..whole.len() - 4]);
    let message = refused(&["decode", &path]);
    assert!(message.starts_with("ane: ") && message.contains("short.anec"), "{message}");
}

#[test]
fn looping_chain_prints_the_sound_tasks_and_names_the_loop() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut bytes = std::fs::read(data::example()).expect("the tree carries its example");
    // The header announces three tasks, and the second task, at 0x300 of the stream, links to itself.
    bytes[0x0c] = 3;
    bytes[0x1000 + 0x300 + 4..][..4].copy_from_slice(&0x009c_0000_u32.to_le_bytes());
    bytes[0x1000 + 0x300 + 28..][..4].copy_from_slice(&0x300_u32.to_le_bytes());
    let output = ane(&["decode", &write(folder.path(), "loop.anec", &bytes)]);
    let (page, message) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    assert!(page.contains("\ntask 0 at 0x0") && page.contains("\ntask 1 at 0x300"), "{page}");
    assert!(message.contains("task 2 at 0x300: overlaps task 1 at 0x300"), "{message}");
}

#[test]
fn text_of_the_file_cannot_drive_a_terminal() {
    for sample in data::programs().unwrap_or_default() {
        let mut bytes = sample.bytes;
        // Surface names and the compiler's banner are text of the file.
        for at in 0..bytes.len().saturating_sub(5) {
            if bytes[at..].starts_with(b"image") || bytes[at..].starts_with(b"zin_a") {
                bytes[at..at + 3].copy_from_slice(b"\x1b[3");
            }
        }
        let program = container::open(&bytes).expect("names may be any bytes");
        let mut page = String::new();
        text::write(&mut page, &Report::of(&program), text::Style::default()).expect("a string takes it");
        assert!(!page.contains('\u{1b}'), "{}", sample.name);
    }
}

#[test]
fn report_of_more_tasks_than_it_holds_says_so() {
    let built = ane_tests::null_task::program(ane::decode::TASKS_MAX + 1);
    let report = Report::of(&built.program());
    assert_eq!(report.tasks.len(), ane::decode::TASKS_MAX);
    assert_eq!(report.damage, Some(ane::decode::Damage::Long));
}
