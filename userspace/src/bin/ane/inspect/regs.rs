//! `ane regs`.

use std::fmt::Write as _;

use ane::inspect::Registers;
use anyhow::Result;

use super::Seen;
use crate::{args, files};

pub(crate) fn run(args: &args::Regs) -> Result<()> {
    let mut registers = Registers::of(&Seen::of(&args.subject)?.source).map_err(super::untold)?;
    registers.registers.retain(|register| {
        let is_wanted = args.range.as_ref().is_none_or(|range| register.range.contains(range.as_str()));
        is_wanted && (args.all || register.value != register.reset)
    });
    if args.subject.json {
        return files::print_json(&registers);
    }
    let mut page = String::new();
    let mut range = "";
    for register in &registers.registers {
        if register.range != range {
            range = register.range;
            writeln!(page, "{range}")?;
        }
        let fields: Vec<_> =
            register.fields.iter().map(|field| format!("{} {}", field.name, field.shown)).collect();
        writeln!(
            page,
            "  {:#09x}  {:<24} {:#010x}  {}",
            register.at,
            register.name,
            register.value,
            fields.join(", ")
        )?;
    }
    if registers.registers.is_empty() {
        writeln!(page, "every register holds its reset value; --all shows them")?;
    }
    files::print(page.as_bytes())
}
