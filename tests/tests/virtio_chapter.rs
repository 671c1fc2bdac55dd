//! The chapter on the virtio device against the contract: every name, number and offset of the one stands in
//! the other.

use std::path::Path;

use ane_uapi::abi::{Constant, Enumeration, Item, StructLayout};
use ane_uapi::wire::SECTIONS;

fn chapter() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/virtio-ane.md");
    std::fs::read_to_string(path).expect("the chapter is there")
}

/// True if `line` has `number` as a word, in either notation.
fn has_number(line: &str, number: u64) -> bool {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().any(|word| word == number.to_string() || word == format!("{number:#x}"))
}

/// True if `line` has `name` as a whole word.
fn has_name(line: &str, name: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
}

fn assert_numbered(chapter: &str, name: &str, number: u64) {
    let found = chapter.lines().any(|line| has_name(line, name) && has_number(line, number));
    assert!(found, "no line of the chapter says that {name} is {number}");
}

/// The name of a value in C, as the header spells it.
fn c_name(prefix: &str, name: &str) -> String {
    format!("{prefix}{}", name.to_uppercase().replace([' ', '-'], "_"))
}

fn assert_struct(chapter: &str, layout: &StructLayout) {
    let start = chapter.find(&format!("struct {} {{", layout.c_name));
    let body = &chapter[start.unwrap_or_else(|| panic!("struct {} is not in the chapter", layout.c_name))..];
    let body = &body[..body.find("\n};").expect("structure ends")];
    let lines: Vec<&str> = body.lines().skip(1).collect();
    assert_eq!(lines.len(), layout.fields.len(), "fields of {}", layout.c_name);
    for (line, field) in lines.iter().zip(layout.fields) {
        let (declaration, remark) = line.split_once("/*").expect("each field has a remark");
        assert!(has_name(declaration, field.name), "{}: {line}", field.name);
        assert_eq!(
            remark.split_whitespace().next(),
            Some(format!("{:#04x}", field.offset).as_str()),
            "offset of {}.{}",
            layout.c_name,
            field.name
        );
        let size = match field.c_type.trim_start_matches('_') {
            "u8" => "u8 ",
            "le16" => "le16 ",
            "le32" => "le32 ",
            "le64" => "le64 ",
            other => other,
        };
        assert!(declaration.contains(size), "type of {}.{}: {line}", layout.c_name, field.name);
        if let Some(count) = field.count {
            assert!(declaration.contains(&format!("[{count}]")), "count of {}.{}", layout.c_name, field.name);
        }
    }
}

#[test]
fn chapter_has_every_name_number_and_offset_of_the_contract() {
    let chapter = chapter();
    for item in SECTIONS.iter().flat_map(|section| section.items) {
        match item {
            Item::Constants(constants) => {
                for Constant { c_name, value, .. } in *constants {
                    assert_numbered(&chapter, c_name, *value);
                }
            }
            Item::Enumeration(Enumeration { c_prefix, codes, .. }) => {
                for code in *codes {
                    let name = match code.name.split_once(", ") {
                        Some((first, _)) => first,
                        None => code.name,
                    };
                    assert_numbered(&chapter, &c_name(c_prefix, name), code.value.into());
                }
            }
            Item::Struct(layout) => assert_struct(&chapter, layout),
        }
    }
}

#[test]
fn chapter_names_nothing_that_the_contract_does_not_have() {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../uapi/include/virtio_ane.h");
    let header = std::fs::read_to_string(header).expect("the header is there");
    for line in chapter().lines() {
        for word in line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if word.starts_with("VIRTIO_ANE_") || word.starts_with("ANE_FAULT_") {
                assert!(header.lines().any(|line| has_name(line, word)), "{word} is not in the header");
            }
        }
    }
}
