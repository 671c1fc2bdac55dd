//! `ane diff`.

use ane::container::{self, Axes};
use ane::tensor::Tensor;
use ane_tests::command::{ane, printed, refused};
use half::f16;

use super::scratch::{Scratch, example};

#[test]
fn program_is_the_same_as_itself_and_differs_by_field() {
    assert_eq!(printed(&["diff", &example(), &example()]), "no differences\n");
    let scratch = Scratch::new();
    let mut bytes = std::fs::read(ane_tests::data::example()).expect("the tree carries its example");
    // The last word of the first task's common block's width: 32 becomes 33.
    let at = bytes.windows(4).position(|word| word == 0x0001_0020_u32.to_le_bytes()).expect("it is there");
    bytes[at] = 33;
    let other = scratch.file("other.anec", &bytes);
    let output = ane(&["diff", &example(), &other]);
    assert_eq!(output.status.code(), Some(5));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("InDim") && page.contains("width: 32 | 33"), "{page}");
}

#[test]
fn outputs_differ_within_what_is_allowed() {
    let scratch = Scratch::new();
    let shape = Axes { n: 1, c: 2, h: 1, w: 4 };
    let one = scratch.array("a.npy", &Tensor::from_fn(shape, |_| f16::ONE));
    let next = f16::from_bits(f16::ONE.to_bits() + 1);
    let other =
        scratch.array("b.npy", &Tensor::from_fn(shape, |place| if place == 5 { next } else { f16::ONE }));
    let message = refused(5, &["diff", &one, &other]);
    assert!(message.contains("1 difference between"), "{message}");
    printed(&["diff", &one, &other, "--ulps", "1"]);
    printed(&["diff", &one, &other, "--tolerance", "0.001"]);
    let output = ane(&["diff", "--json", &one, &other]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("output is JSON");
    assert_eq!(found["differences"][0]["place"], "element [0, 1, 0, 1]");
}

#[test]
fn numbers_that_are_no_halves_are_compared_as_they_are() {
    let scratch = Scratch::new();
    let singles = |name: &str, values: [f32; 2]| {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(118_u16.to_le_bytes());
        file.extend(format!("{header:<117}\n").bytes());
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        scratch.file(name, &file)
    };
    let (one, other) = (singles("a.npy", [1e5, 0.1]), singles("b.npy", [9e5, 0.1]));
    let output = ane(&["diff", &one, &other]);
    assert_eq!(output.status.code(), Some(5));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("element [0]: 100000 | 900000"), "{page}");
    printed(&["diff", &one, &other, "--tolerance", "1e6"]);
    for wrong in ["nan", "-1", "x"] {
        let output = ane(&["diff", &one, &other, &format!("--tolerance={wrong}")]);
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && why.contains("is no distance"), "{why}");
    }
}

#[test]
fn tasks_that_cannot_be_followed_are_compared_byte_by_byte() {
    let scratch = Scratch::new();
    let mut bytes = std::fs::read(ane_tests::data::example()).expect("the tree carries its example");
    let first = container::open(&bytes).expect("it is a program").tasks().expect("it is for H13").next();
    let first = first.expect("it has a task").expect("that is sound");
    let words: Vec<u8> = first.words.iter().flat_map(|word| word.get().to_le_bytes()).collect();
    let at = bytes.windows(words.len()).position(|some| some == words).expect("it is there");
    // Its pointer to the next task, which leads nowhere now.
    let next = 0x1c;
    bytes[at + next..][..4].copy_from_slice(&0x301_u32.to_le_bytes());
    let one = scratch.file("one.anec", &bytes);
    bytes[at + words.len() + 0x40] ^= 0xff;
    let other = scratch.file("other.anec", &bytes);
    printed(&["diff", &one, &one]);
    let output = ane(&["diff", &one, &other]);
    assert_eq!(output.status.code(), Some(5));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("tasks at 0x") && page.contains("note: the second is damaged"), "{page}");
    let why = refused(1, &["report", &one, "-o", &scratch.at("page.html")]);
    assert!(why.contains("one.anec: ") && why.contains("the page shows what is sound"), "{why}");
    assert!(std::fs::exists(scratch.at("page.html")).expect("the folder can be read"));
}

#[test]
fn folders_of_outputs_are_compared_file_by_file() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.at("one"), scratch.at("two"));
    printed(&["run", &example(), "-o", &one]);
    printed(&["run", &example(), "-o", &two, "--seed", "5"]);
    printed(&["diff", &one, &one]);
    refused(5, &["diff", &one, &two]);
    std::fs::remove_file(scratch.path().join("two/output0.npy")).expect("it is there");
    refused(1, &["diff", &one, &two]);
}

#[test]
fn files_that_a_folder_names_are_its_own_and_upset_no_terminal() {
    let scratch = Scratch::new();
    let folder = |name: &str, file: &str| {
        let path = scratch.at(name);
        std::fs::create_dir(&path).expect("it can be made");
        let list = serde_json::json!([{ "file": file }]);
        std::fs::write(format!("{path}/outputs.json"), list.to_string()).expect("it can be written");
        path
    };
    let (one, two) = (folder("one", "f"), folder("two", "f"));
    for path in [&one, &two] {
        std::os::unix::fs::symlink(example(), format!("{path}/f")).expect("it can be linked");
    }
    assert!(refused(1, &["diff", &one, &two]).contains("one/f is no regular file"));
    let (red, blue) = (folder("red", "\u{1b}[31m\nno differences\u{202e}"), folder("blue", "f"));
    let output = ane(&["diff", &red, &blue]);
    let shown = String::from_utf8(output.stdout).expect("it is text");
    assert!(shown.contains(r"\u{1b}[31m\nno differences\u{202e}: there | -"), "{shown:?}");
}

#[test]
fn files_of_two_kinds_are_not_compared() {
    let scratch = Scratch::new();
    let json = scratch.file("t.json", b"{}");
    assert!(refused(1, &["diff", &json, &example()]).contains("compare two of a kind"));
    let timeline = scratch.file("other.json", br#"{"traceEvents": []}"#);
    for pair in [[&json, &timeline], [&timeline, &json]] {
        let why = refused(1, &["diff", pair[0], pair[1]]);
        assert!(
            why.contains("t.json: JSON without a list traceEvents") && !why.contains("other.json"),
            "{why}"
        );
    }
}
