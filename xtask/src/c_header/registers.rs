//! `ane_regs.h`: where registers lie, and where their fields do.

use ane_uapi::hw::dart::pte::{LeafFormat, Seed, T6000, T8020};
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::{aperture, walk};
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::hw::usage::Protection;
use ane_uapi::hw::{self, tq};
use ane_uapi::register::{Block, Field, Register, Show};

use super::text::{Comment, macro_name};
use super::{head, tail};

const ABOUT: &str = "Registers of the Apple Neural Engine (H13).\n\n\
    A register's macro is its container offset; for blocks that are there several times (DART windows, task \
    queues), that of the first. Header words of task descriptors are byte offsets in the descriptor. A field \
    has _SHIFT and _MASK; the mask is in place, and so are the values of an enumerated field.\n\n\
    What each register does, and how well that is established, is in docs/registers.md.";

const PAGE_TABLES: &str = "Page tables: an L2 table of entries that name L3 tables, whose leaves name pages. An entry is its \
    template and the address shifted right: docs/programming.md";

fn name(block: &Block, register: &Register) -> String {
    format!("ANE_{}_{}", macro_name(block.name), macro_name(register.name))
}

/// The value that C has to compute for each register's macro, and for each field's mask: expression and value.
pub fn expressions() -> Vec<(String, u64)> {
    let mut expressions: Vec<(String, u64)> =
        page_tables().into_iter().map(|(name, value, _)| (name, value)).collect();
    for block in hw::blocks() {
        for register in block.registers {
            let name = name(block, register);
            for index in 0..register.count {
                let Some(offset) = register.at(index) else { continue };
                let call = if register.count > 1 { format!("{name}({index})") } else { name.clone() };
                expressions.push((call, block.container(offset).0.into()));
            }
            for field in register.fields.iter().filter(|field| has_macro(field)) {
                let field_name = format!("{name}_{}", macro_name(field.name));
                expressions.push((format!("{field_name}_MASK"), field.mask().into()));
                expressions.push((
                    format!("{field_name}_MASK >> {field_name}_SHIFT"),
                    (field.mask() >> field.low).into(),
                ));
                expressions
                    .extend(values(&field_name, field).into_iter().map(|(name, value)| (name, value.into())));
            }
        }
    }
    expressions
}

/// The macros of an enumerated field's values, in place.
fn values(field_name: &str, field: &Field) -> Vec<(String, u32)> {
    let Show::Codes(codes) = field.show else { return Vec::new() };
    codes
        .iter()
        .map(|code| (format!("{field_name}_{}", macro_name(code.ident)), field.put(0, code.value)))
        .collect()
}

/// A field that is the whole word needs no macro, and bits that no source explains get none.
fn has_macro(field: &Field) -> bool {
    !field.is_unknown() && field.bits < 32
}

/// The macros of a page table's geometry and words: name, value, and what it is.
fn page_tables() -> Vec<(String, u64, &'static str)> {
    let mut macros: Vec<(String, u64, &str)> = vec![
        (
            "ANE_PAGE_SHIFT".into(),
            aperture::PAGE_SHIFT.into(),
            "Bytes of a page and of a table, as a power of two.",
        ),
        ("ANE_TABLE_ENTRIES".into(), walk::ENTRIES.into(), "Words of 64 bits in a table."),
        ("ANE_L3_SHIFT".into(), walk::L3_SHIFT.into(), "Lowest bit of an address's index into an L3 table."),
        ("ANE_L2_SHIFT".into(), walk::L2_SHIFT.into(), "Lowest bit of an address's index into the L2 table."),
    ];
    macros.extend(format::<Seed>());
    macros.extend(format::<T8020>());
    macros.extend(format::<T6000>());
    macros
}

/// Those of one format, as it writes them itself.
fn format<F: LeafFormat>() -> Vec<(String, u64, &'static str)> {
    let open = Protection::new().with_device_reads(true).with_device_writes(true);
    let leaf = |page, protection| F::encode(PhysAddr(page), protection).unwrap_or_default();
    let table = |at| F::encode_table(PhysAddr(at)).unwrap_or_default();
    let template = leaf(0, open);
    let page = 1 << aperture::PAGE_SHIFT;
    let shift = aperture::PAGE_SHIFT - (table(page) ^ table(0)).trailing_zeros();
    let name = |what: &str| format!("ANE_PTE_{}_{what}", macro_name(F::FORMAT.name()));
    vec![
        (name("TABLE"), table(0), "Template of an L2 entry."),
        (name("LEAF"), template, "Template of a leaf: the whole page, for reading and writing."),
        (name("SHIFT"), shift.into(), "By how much the address is shifted right."),
        (
            name("NO_WRITE"),
            leaf(0, open.with_device_writes(false)) ^ template,
            "The engine may not write; 0 if no leaf says so.",
        ),
        (
            name("NO_READ"),
            leaf(0, open.with_device_reads(false)) ^ template,
            "The engine may not read; 0 if no leaf says so.",
        ),
    ]
}

pub(super) fn render() -> String {
    let mut out = head("ANE_REGS_H", ABOUT, &[]);
    out.push_str(&Comment::new("Places that repeat").block());
    out.push_str(&Comment::new("Bytes from one task queue to the next.").at(0));
    out.push_str(&format!("#define ANE_TQ_STRIDE {:#x}\n", tq::STRIDE));
    for window in Window::ALL {
        out.push_str(&Comment::new("Container offset of a DART window.").at(0));
        let name = macro_name(window.name());
        out.push_str(&format!("#define ANE_{name} {:#x}\n", window.base().0));
    }
    out.push('\n');
    out.push_str(&Comment::new(PAGE_TABLES).block());
    for (name, value, doc) in page_tables() {
        out.push_str(&Comment::new(doc).at(0));
        let suffix = if value > u32::MAX.into() { "ULL" } else { "" };
        out.push_str(&format!("#define {name} {value:#x}{suffix}\n"));
    }
    out.push('\n');
    for block in hw::blocks() {
        out.push_str(&Comment::new(block.doc).block());
        for register in block.registers {
            self::register(&mut out, block, register);
        }
        out.push('\n');
    }
    out.push_str(&tail("ANE_REGS_H"));
    out
}

fn register(out: &mut String, block: &Block, register: &Register) {
    let name = name(block, register);
    let at = block.container(register.offset).0;
    out.push_str(&Comment::new(register.doc).at(0));
    if register.count > 1 {
        out.push_str(&format!("#define {name}(i) ({at:#x} + {:#x} * (i))\n", register.stride));
        out.push_str(&format!("#define {name}_COUNT {}\n", register.count));
    } else {
        out.push_str(&format!("#define {name} {at:#x}\n"));
    }
    for field in register.fields.iter().filter(|field| has_macro(field)) {
        let field_name = format!("{name}_{}", macro_name(field.name));
        out.push_str(&format!("#define {field_name}_SHIFT {}\n", field.low));
        out.push_str(&format!("#define {field_name}_MASK {:#010x}U\n", field.mask()));
        for (value_name, value) in values(&field_name, field) {
            out.push_str(&format!("#define {value_name} {value:#010x}U\n"));
        }
    }
}
