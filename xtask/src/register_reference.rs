//! `docs/registers.md`: every block, register, field and value, from the tables in `ane-uapi`.

use std::fmt::Write;

use ane_uapi::hw;
use ane_uapi::register::{Block, Code, Field, Register, Show};

use crate::output::one_line;

const HEAD: &str = "\
# Registers

Generated from the register tables of `ane-uapi` by `cargo xtask registers`; do not edit.

Offsets are those of the sources: record addresses for the blocks of a task descriptor, offsets in the
descriptor for its header, offsets in the block otherwise; each block says where it lies in the engine's MMIO
container. Access: RO read-only, RW read-write, W1C write one to clear, *trigger* starts something when
written, *pop* takes the next entry when read. Grades: **measured** on silicon, **derived** from binaries,
drivers or executed programs, **predicted** but not established, **chosen** by this project. A field without
a grade has its register's. [`sources.md`](sources.md) says what the abbreviations of the sources stand for.
Bits that are not listed are explained by no source.

";

pub fn render() -> String {
    let mut out = String::from(HEAD);
    for block in hw::blocks() {
        let _ = writeln!(out, "- [{}](#{})", block.name, block.name.replace(' ', "-"));
    }
    for block in hw::blocks() {
        self::block(&mut out, block);
    }
    out
}

fn block(out: &mut String, block: &Block) {
    let _ = writeln!(
        out,
        "\n## {}\n\n{}\n\nContainer offset of address 0: `{:#x}`; the block is `{:#x}` bytes from `{:#x}`.\n",
        block.name,
        one_line(block.doc),
        block.base.0,
        block.len,
        block.start
    );
    let _ = writeln!(out, "| offset | register | access | reset | what it does | grade | source |");
    let _ = writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |");
    for register in block.registers {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | `{:#x}` | {} | {} | {} |",
            place(register),
            register.name,
            register.access.name(),
            register.reset,
            one_line(register.doc),
            register.grade.name(),
            register.source
        );
    }
    let mut layouts: Vec<&Register> = Vec::new();
    for register in block.registers {
        let explained = register.fields.iter().any(|field| !field.is_unknown());
        if explained && layouts.iter().all(|known| known.layout != register.layout) {
            layouts.push(register);
        }
    }
    for register in layouts {
        layout(out, block, register);
    }
}

fn place(register: &Register) -> String {
    if register.count > 1 {
        format!("{:#x} + {:#x}*i, i < {}", register.offset, register.stride, register.count)
    } else {
        format!("{:#x}", register.offset)
    }
}

fn layout(out: &mut String, block: &Block, register: &Register) {
    let users: Vec<&str> = block
        .registers
        .iter()
        .filter(|other| other.layout == register.layout)
        .map(|other| other.name)
        .collect();
    let _ = writeln!(out, "\n**{}** ({})\n", register.layout, users.join(", "));
    let _ = writeln!(out, "| bits | field | meaning | grade |");
    let _ = writeln!(out, "| --- | --- | --- | --- |");
    for field in register.fields.iter().filter(|field| !field.is_unknown()) {
        let _ = writeln!(
            out,
            "| {} | {} | {}{} | {} |",
            field.range(),
            field.name,
            one_line(field.doc),
            values(field),
            field.grade.map_or("", |grade| grade.name())
        );
    }
}

fn values(field: &Field) -> String {
    match field.show {
        Show::Codes(codes) => {
            let list: Vec<String> =
                codes.iter().map(|Code { value, name, .. }| format!("`{value:#x}` {name}")).collect();
            format!(" {}.", list.join(", "))
        }
        Show::Bytes(shift) | Show::SignedBytes(shift) => format!(" In units of {} bytes.", 1_u64 << shift),
        Show::Log2 => " As a power of two.".to_owned(),
        Show::Log2PlusOne => " As a power of two plus one; 0 is none.".to_owned(),
        Show::Half => " fp16.".to_owned(),
        Show::Single => " fp32.".to_owned(),
        Show::Decimal | Show::Hex => String::new(),
    }
}
