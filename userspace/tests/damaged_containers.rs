//! Damaged containers: what a person is told about files that are wrong in one place.

mod support;

use ane::build::{Graph, Shape};
use ane::container::anec::Form;
use ane::container::{self, Program, convert};
use support::check::check;
use support::hwx::{LINK_BASE, Object, Operand, TASK_STRIDE, find, put32, put64};

fn open(file: &[u8]) -> Program<'_> {
    container::open(file).unwrap_or_else(|error| panic!("{error}"))
}

/// A sound file with one thing done to it.
fn damaged(mut file: Vec<u8>, damage: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    damage(&mut file);
    file
}

fn refused(cases: Vec<(&str, Vec<u8>)>) {
    for (expected, file) in cases {
        check(&file);
        match container::open(&file) {
            Ok(_) => panic!("no error, expected: {expected}"),
            Err(error) => assert!(error.to_string().contains(expected), "{error}\nexpected: {expected}"),
        }
    }
}

#[test]
fn file_of_another_kind_is_told_what_is_accepted() {
    let accepted = "accepted are HWX, which starts with 0xbeefface, and ANEC";
    refused(vec![
        (accepted, vec![]),
        ("file is empty", vec![]),
        ("file looks like a zip archive", b"PK\x03\x04 and more".to_vec()),
        ("file looks like a Mach-O for a processor", vec![0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1]),
        ("file of 0x3 bytes is no program; ", b"CBA".to_vec()),
        (accepted, vec![0; 0x2000]),
    ]);
}

#[test]
fn hwx_header_and_load_commands_are_named_with_their_offset() {
    let with = |at: usize, word: u32| damaged(Object::older().link(), |file| put32(file, at, word));
    let first = |at: usize, word: u32| with(0x20 + at, word);
    refused(vec![
        ("0x4 bytes of cputype at 0x4 leave the file, which ends at 0x4", vec![0xce, 0xfa, 0xef, 0xbe]),
        ("cputype at 0x4 is 0x100000c", with(4, 0x0100_000c)),
        ("cpusubtype at 0x8 is 0x3, which is no known engine generation", with(8, 3)),
        ("filetype at 0xc is 0x6", with(0xc, 6)),
        ("ncmds at 0x10 is 4294967295, at most 4096", with(0x10, u32::MAX)),
        ("load command 12 at 0xd50: the load commands end at 0xd50, but ncmds at 0x10 is 14", with(0x10, 14)),
        ("file: 0x10000001f bytes of load commands at 0x0 leave the file", with(0x14, u32::MAX)),
        ("load command 0 at 0x20: cmdsize 0x4 is shorter than its header", first(4, 4)),
        ("load command 0 at 0x20: cmdsize 0x0 is shorter", first(4, 0)),
        (
            "load command 0 at 0x20: cmdsize 0x4000 leaves the load commands, which end at 0xd50",
            first(4, 0x4000),
        ),
        ("load command 0 at 0x20: nsects is 4294967295, 2 sections fit", first(0x40, u32::MAX)),
    ]);
}

#[test]
fn hwx_sections_are_named_with_what_is_wrong_with_their_place() {
    // The first segment's two sections, then the first operand's.
    const TEXT: usize = 0x20 + 0x48;
    const CONST: usize = TEXT + 0x50;
    let text = |at: usize, word: u64| damaged(Object::older().link(), |file| put64(file, TEXT + at, word));
    let constants =
        |at: usize, word: u64| damaged(Object::older().link(), |file| put64(file, CONST + at, word));
    let file_offset =
        |section: usize, word: u32| damaged(Object::older().link(), |file| put32(file, section + 0x30, word));
    refused(vec![
        ("section __TEXT,__text: its 0x8000000000000000 bytes at file offset 0xd80", text(0x28, 1 << 63)),
        (
            "section __TEXT,__text: 0x274 bytes at link address 0xfffffffffffffffe wrap",
            text(0x20, u64::MAX - 1),
        ),
        (
            "section __TEXT,__const: its 0x40 bytes at file offset 0xffffffff leave",
            file_offset(CONST, u32::MAX),
        ),
        (
            "sections __TEXT,__text and __TEXT,__const overlap at link address 0x30000100",
            constants(0x20, 0x3000_0100),
        ),
        ("sections __TEXT,__text and __TEXT,__const overlap at file offset 0xd90", file_offset(CONST, 0xd90)),
        (
            "the task stream's link address 0x30000000 at 0xb48 is in no section with content",
            file_offset(TEXT, 0),
        ),
        ("the task stream's link address 0x30000000 at 0xb48 is in no section", text(0x20, 0x1000)),
    ]);
}

#[test]
fn hwx_program_descriptor_is_named_with_what_is_wrong_in_it() {
    let with = |at: usize, word: u32| {
        damaged(Object::older().link(), |file| {
            let descriptor = find(file, 0x04, 0);
            put32(file, descriptor + at, word);
        })
    };
    let bar = |index: usize, link: u64| with(0x10 + 8 * index, link as u32);
    refused(vec![
        ("none of the 12 load commands from 0x20 on is a program descriptor", with(8, 7)),
        (
            "second program descriptor",
            damaged(Object::older().link(), |file| {
                let tensor = find(file, 0x04, 1);
                put32(file, tensor + 8, 1);
                let descriptor = find(file, 0x04, 0);
                // The second one is found before it is read.
                assert!(descriptor < tensor);
            }),
        ),
        ("bytes of BAR link address at", {
            // Only one descriptor, and that one a tensor's length.
            damaged(Object::older().link(), |file| {
                let descriptor = find(file, 0x04, 0);
                let tensor = find(file, 0x04, 1);
                put32(file, descriptor + 8, 7);
                put32(file, tensor + 8, 1);
            })
        }),
        ("link address 0x30000004, the task stream 0x30000000", bar(0, LINK_BASE + 4)),
        ("BARs 0 and 9 have the same link address 0x30000000", bar(9, LINK_BASE)),
        ("task stream's link address 0x1 at 0xb48 is in no section", with(0x810, 1)),
        ("first task's length at", with(0x818, u32::MAX)),
        ("is 4294967296 words, the task manager takes at most 512", with(0x818, u32::MAX)),
        ("is 513 words, the task manager takes at most 512", with(0x818, 512)),
        ("task stream of 0x274 bytes is shorter than its first task of 0x278", with(0x818, 0x9d)),
        ("is 4294967295, the task manager takes at most 65535", with(0x81c, u32::MAX)),
        ("number of tasks at", with(0x81c, 0)),
    ]);
}

#[test]
fn hwx_operands_are_named_with_what_is_wrong_with_them() {
    let tensor = |at: usize, word: u32| {
        damaged(Object::older().link(), |file| {
            let descriptor = find(file, 0x04, 1);
            put32(file, descriptor + at, word);
        })
    };
    let symbol = |at: usize, word: u32| {
        damaged(Object::older().link(), |file| {
            let symbol = find(file, 0x06, 0);
            put32(file, symbol + at, word);
        })
    };
    refused(vec![
        ("bytes of name at", symbol(0x08, 0x4000)),
        ("the name \"image2\" was used before", {
            damaged(Object::older().link(), |file| {
                let second = find(file, 0x06, 1);
                file[second + 0x19] = b'2';
            })
        }),
        ("no symbol gives the link address of \"net\"", tensor(0x20, 0x88)),
        ("direction at", tensor(0x14, 3)),
        ("is 0x3, 1 is input and 2 is output", tensor(0x14, 3)),
        ("C of \"image2\" at", tensor(0x2c, 0)),
        ("input \"image2\": its buffer has more than 0xe0000000 bytes", tensor(0x5c, 1 << 30)),
        ("input \"image2\": its buffer has more than", tensor(0x28, u32::MAX)),
        ("input \"image2\": no BAR has its link address 0x1", symbol(0x10, 1)),
        ("its link address 0x30000280 is that of constants", symbol(0x10, 0x3000_0280)),
        ("its link address 0x30000000 is that of the task stream", symbol(0x10, 0x3000_0000)),
        ("its link address 0x30008000 is that of another tensor", symbol(0x10, 0x3000_8000)),
    ]);
}

#[test]
fn tensor_whose_symbol_has_another_name_is_named_with_its_offset() {
    let mut object = Object::selection();
    object.operands[3].symbol = "chosen";
    let file = object.link();
    let tensor = find(&file, 0x04, 4);
    let expected = format!(
        "at {tensor:#x}: no symbol gives the link address of \"selected@output\", to which the name offset at {:#x} leads",
        tensor + 0x20
    );
    refused(vec![(&expected, file)]);
}

#[test]
fn anec_fields_are_named_with_their_offset() {
    let sound = || {
        let file = Object::newer().link();
        convert::to_anec(&open(&file), Form::Long).expect("convertible")
    };
    let word = |at: usize, word: u32| damaged(sound(), |file| put32(file, at, word));
    let wide = |at: usize, word: u64| damaged(sound(), |file| put64(file, at, word));
    // Shape of BAR 4: N, C, H, W, plane, row.
    let shape = 0xa8 + 4 * 48;
    refused(vec![
        (
            "payload size at 0x0 is 0x900: the file of 0x18ff bytes",
            damaged(sound(), |file| file.truncate(file.len() - 1)),
        ),
        ("payload size at 0x0 is 0x900, but the task stream of 0x874 bytes (at 0x10)", wide(0x18, u64::MAX)),
        ("(at 0x10), rounded up to 16, and the constants of 0x80 (at 0x18)", wide(0x10, u64::MAX)),
        ("payload at 0x800 begins with zeros", damaged(sound(), |file| file.truncate(file.len() - 0x800))),
        ("first task's length at 0x8 is 0x5 bytes", word(8, 5)),
        ("first task's length at 0x8 is 0x0 bytes", word(8, 0)),
        ("first task's length at 0x8 is 1073741823 words", word(8, u32::MAX - 3)),
        ("number of tasks at 0xc is 0", word(0xc, 0)),
        ("number of tasks at 0xc is 4294967295", word(0xc, u32::MAX)),
        ("4294967295 inputs (at 0x20) and 1 outputs (at 0x24)", word(0x20, u32::MAX)),
        ("2 inputs (at 0x20) and 27 outputs", word(0x24, 27)),
        ("buffer of BAR 0 at 0x28 is 0x0 tiles", word(0x28, 0)),
        ("buffer of BAR 6 at 0x40 is 0xffffffff tiles", word(0x28 + 4 * 6, u32::MAX)),
        ("buffer of BAR 20 at 0x78 is 0x38001 tiles", word(0x28 + 4 * 20, 0x38001)),
        ("surface of BAR 4: shape and strides at 0x168 need more than its buffer of 0x0", word(0x28 + 16, 0)),
        ("surface of BAR 4: C at 0x170 is 0x0", wide(shape + 8, 0)),
        ("surface of BAR 4: W at 0x180 is 0x100000000", wide(shape + 24, 1 << 32)),
        ("surface of BAR 4: shape and strides at 0x168", wide(shape + 32, u64::MAX)),
        ("surface of BAR 4: shape and strides at 0x168", wide(shape + 40, 1 << 40)),
    ]);
}

#[test]
fn chain_of_tasks_that_cannot_be_walked_is_not_converted() {
    let with = |task: usize, word: usize, value: u32| {
        let mut object = Object::newer();
        put32(&mut object.stream, task * TASK_STRIDE + 4 * word, value);
        object.link()
    };
    let cases = [
        ("task 2 at 0x300: overlaps task 1 at 0x300, so the chain loops", with(1, 7, 0x300)),
        ("task 2 at 0xfffffffc: its 0x274 bytes leave the task stream", with(1, 7, u32::MAX - 3)),
        ("task 1 at 0x302: its offset is not a multiple of 4", with(0, 7, 0x302)),
        ("task 0 at 0x0: its next pointer is 0, but the program says it has 3 tasks", with(0, 7, 0)),
        ("task 1 at 0x300: 0x4 bytes are shorter than the header", with(0, 1, 0)),
    ];
    for (expected, file) in cases {
        check(&file);
        let error = convert::image(&open(&file)).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
}

#[test]
fn hwx_with_more_operands_than_any_program_has_is_refused() {
    let mut object = Object::older();
    let last = object.operands[2].clone();
    for n in 3..257 {
        let name = Box::leak(format!("probs{n}@output").into_boxed_str());
        object.operands.push(Operand { name, symbol: name, ..last.clone() });
    }
    refused(vec![("the object has more than 256 tensor descriptors", object.link())]);
}

/// A file with text about a model behind the data.
fn with_text(file: &[u8], text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("a short text");
    [file, text.as_bytes(), &length.to_le_bytes(), b"ANEMODEL"].concat()
}

#[test]
fn text_that_gives_two_outputs_one_name_is_ignored() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(1, 1, 8)).expect("an input");
    for name in ["y", "z"] {
        let relu = graph.relu(x).expect("a task");
        graph.output(name, relu).expect("an output");
    }
    let file = graph.build().expect("a program").to_anec().expect("a file");
    let port = |name: &str| format!(r#"{{"name":"{name}","dims":[8]}}"#);
    let names = |outputs: [&str; 2]| {
        let [first, second] = outputs.map(port);
        let text =
            format!(r#"{{"outputs":[{first},{second}],"inputs":[{}],"layers":[],"notes":[]}}"#, port("x"));
        let file = with_text(&file, &text);
        let program = open(&file);
        let warnings: Vec<_> = program.warnings.iter().map(ToString::to_string).collect();
        (program.surfaces[0].name.to_string(), warnings)
    };
    assert_eq!(names(["a", "b"]), ("a".to_owned(), Vec::new()));
    let (name, warnings) = names(["a", "a"]);
    assert!(name == "y" && warnings.len() == 1 && warnings[0].contains("one name"), "{name} {warnings:?}");
}

#[test]
fn text_about_another_model_is_ignored_with_a_warning() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(12, 4, 8)).expect("an input");
    let y = graph.relu(x).expect("a task");
    graph.output("y", y).expect("an output");
    let file = graph.build().expect("a program").to_anec().expect("a file");
    let text = |outputs: &str, inputs: &str, layers: &str| {
        with_text(
            &file,
            &format!(r#"{{"outputs":[{outputs}],"inputs":[{inputs}],"layers":[{layers}],"notes":["n"]}}"#),
        )
    };
    let port = |name: &str, dims: &str| format!(r#"{{"name":"{name}","dims":[{dims}]}}"#);
    let (y, x) = (port("b", "4,3,32"), port("a\\u0000", "384"));
    let layer = |first: u32, behind: u32| format!(r#"["relu","r",[384],{first},{behind}]"#);

    let good = text(&y, &x, &layer(0, 1));
    check(&good);
    let program = open(&good);
    let told: Vec<_> = program.surfaces.iter().map(|surface| (&*surface.name, surface.extents())).collect();
    assert_eq!(told, [("b", vec![4, 3, 32]), ("a\0", vec![384])]);
    assert_eq!((program.layer_of(0).map(|layer| &*layer.name), program.layer_of(1)), (Some("r"), None));

    let same = text(&y, &port("b", "384"), "");
    let names: Vec<_> = open(&same).surfaces.iter().map(|surface| surface.name.to_string()).collect();
    assert_eq!(names, ["b", "b"], "an output may have the name of an input");

    let huge = format!("{0},{0},{0}", u64::MAX);
    let ones = vec!["1"; 70].join(",");
    let cases = [
        ("it is not as wanted", with_text(&file, "{")),
        ("it is not as wanted", with_text(&file, &"[".repeat(100_000))),
        ("another number of operands", text("", &x, "")),
        ("not those of the operands", text(&y, &port("a", "383"), "")),
        ("not those of the operands", text(&y, &port("a", &huge), "")),
        ("not those of the operands", text(&y, &port("a", &format!("384,{ones}")), "")),
        ("one has none", text(&y, &port("", "384"), "")),
        ("order of the tasks", text(&y, &x, &layer(0, 2))),
        ("order of the tasks", text(&y, &x, &layer(1, 0))),
        ("order of the tasks", text(&y, &x, &[layer(0, 1), layer(0, 1)].join(","))),
    ];
    for (expected, file) in cases {
        check(&file);
        let program = open(&file);
        let warnings: Vec<_> = program.warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.len() == 1 && warnings[0].contains(expected), "{warnings:?}\nexpected: {expected}");
        assert!(program.surfaces.iter().all(|surface| surface.dims.is_none()) && program.layers.is_empty());
    }
    for cut in 1..good.len() - file.len() {
        assert!(container::open(&good[..good.len() - cut]).is_err(), "{cut} bytes are missing");
    }
}
