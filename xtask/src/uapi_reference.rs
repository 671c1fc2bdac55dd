//! `docs/uapi.md`: every call with its number, argument and errors, from the tables in `ane-uapi`.

use std::fmt::Write;

use ane_uapi::abi::{Enumeration, FieldLayout, Item, StructLayout};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::{Ioctl, Refusal};
use ane_uapi::ioctl::{ALWAYS, DRM_IOCTLS, IOCTLS, SECTIONS};
use ane_uapi::register::Code;

use crate::output::one_line;

const HEAD: &str = "\
# The calls of `/dev/accel/accelN`

Generated from the tables of `ane-uapi` by `cargo xtask uapi-docs`; do not edit.

A call is an ioctl: a number, in which direction and size of the argument are packed, and the argument. The same
structures stand in `uapi/include/ane_accel.h`. A call that fails has changed nothing and leaves its argument as it was,
unless its description says otherwise. Any of them may fail like this:

";

pub fn render() -> String {
    let mut out = String::from(HEAD);
    refusals(&mut out, ALWAYS);
    let _ = writeln!(out, "\n| number | call | argument | bytes |\n| --- | --- | --- | --- |");
    for ioctl in all() {
        let _ = writeln!(
            out,
            "| `{:#010x}` | [{}](#{}) | `{}` | {} |",
            ioctl.number,
            ioctl.c_name,
            ioctl.c_name.to_lowercase(),
            ioctl.structure.c_name,
            ioctl.structure.size
        );
    }
    for ioctl in all() {
        call(&mut out, ioctl);
    }
    let _ = writeln!(out, "\n# Structures, constants and enumerations that several calls share");
    for section in SECTIONS {
        let _ = writeln!(out, "\n## {}\n\n{}", section.title, one_line(section.doc));
        section.items.iter().for_each(|found| item(&mut out, found));
    }
    let _ = writeln!(out, "\n## Error numbers\n\n| number | name | meaning |\n| --- | --- | --- |");
    for Code { value, name, doc, .. } in Errno::CODES {
        let _ = writeln!(out, "| {value} | {name} | {} |", one_line(doc));
    }
    out
}

fn all() -> impl Iterator<Item = &'static Ioctl> {
    IOCTLS.iter().chain(DRM_IOCTLS).copied()
}

fn call(out: &mut String, ioctl: &Ioctl) {
    let _ = writeln!(
        out,
        "\n## {}\n\n`{}`, `{:#010x}`\n\n{}\n",
        ioctl.c_name,
        ioctl.decoded(),
        ioctl.number,
        paragraphs(ioctl.doc)
    );
    structure(out, ioctl.structure);
    if !ioctl.refusals.is_empty() {
        let _ = writeln!(out);
        refusals(out, ioctl.refusals);
    }
}

fn refusals(out: &mut String, refusals: &[Refusal]) {
    let _ = writeln!(out, "| errno | when |\n| --- | --- |");
    for Refusal { errno, when } in refusals {
        let _ = writeln!(out, "| `{errno}` | {} |", one_line(when));
    }
}

fn structure(out: &mut String, layout: &StructLayout) {
    let _ = writeln!(
        out,
        "| offset | type | field of `struct {}` | what it is |\n| --- | --- | --- | --- |",
        layout.c_name
    );
    for field in layout.fields {
        let FieldLayout { name, c_type, count, offset, doc, .. } = field;
        let count = count.map_or(String::new(), |count| format!("[{count}]"));
        let _ = writeln!(out, "| `{offset:#x}` | `{c_type}` | `{name}{count}` | {} |", one_line(doc));
    }
}

fn item(out: &mut String, item: &Item) {
    match item {
        Item::Constants(constants) => {
            let _ = writeln!(out, "\n| constant | value | meaning |\n| --- | --- | --- |");
            for constant in *constants {
                let value = constant.value;
                let value = if constant.hex { format!("{value:#x}") } else { value.to_string() };
                let _ = writeln!(out, "| `{}` | `{value}` | {} |", constant.c_name, one_line(constant.doc));
            }
        }
        Item::Enumeration(Enumeration { c_prefix, doc, codes }) => {
            let _ = writeln!(
                out,
                "\n{} `{c_prefix}`:\n\n| value | name | meaning |\n| --- | --- | --- |",
                one_line(doc)
            );
            for Code { value, name, doc, .. } in *codes {
                let _ = writeln!(out, "| `{value:#x}` | {name} | {} |", one_line(doc));
            }
        }
        Item::Struct(layout) => {
            // The argument of a call stands with the call.
            if all().all(|ioctl| ioctl.structure.c_name != layout.c_name) {
                let _ = writeln!(out, "\n{}\n", one_line(layout.doc));
                structure(out, layout);
            }
        }
    }
}

/// A doc comment as paragraphs of one line each.
fn paragraphs(doc: &str) -> String {
    doc.split("\n\n").map(one_line).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
