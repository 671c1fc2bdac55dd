//! `ane regs`.

use std::fmt::Write as _;

use ane::inspect::Registers;
use anyhow::Result;
use clap::Args;

use super::Seen;
use super::Subject;
use crate::failure::{Exit, Failure};
use crate::files;

/// Show the registers and their values
///
/// Those that hold another value than after a reset, with their fields. Registers whose reading changes something are
/// left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane regs examples/add_relu.anec
  ane regs examples/add_relu.anec --range 'task queues' --all
  ane regs --device aned --json
  ane regs --control control.sock --range dart0")]
pub(crate) struct Regs {
    /// Device to inspect
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Show only ranges whose name contains this
    #[arg(long, value_name = "NAME")]
    pub(crate) range: Option<String>,
    /// Also show registers that hold their reset value
    #[arg(long)]
    pub(crate) all: bool,
}

pub(crate) fn run(args: &Regs) -> Result<()> {
    let mut registers = Registers::of(&Seen::of(&args.subject)?.source).map_err(super::no_report)?;
    if let Some(wanted) = &args.range {
        known(wanted, &registers)?;
    }
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
        let index = register.index.map(|index| format!("[{index}]")).unwrap_or_default();
        let fields: Vec<_> =
            register.fields.iter().map(|field| format!("{} {}", field.name, field.shown)).collect();
        writeln!(
            page,
            "  {:#09x}  {:<24} {:#010x}{}",
            register.at,
            format!("{}{index}", register.name),
            register.value,
            if fields.is_empty() { String::new() } else { format!("  {}", fields.join(", ")) }
        )?;
    }
    if registers.registers.is_empty() {
        writeln!(page, "every register holds its reset value; --all shows them")?;
    }
    files::print(page.as_bytes())
}

/// Refuses a range that the device has not.
fn known(wanted: &str, registers: &Registers) -> Result<()> {
    let mut ranges: Vec<_> = registers.registers.iter().map(|register| register.range).collect();
    ranges.dedup();
    if ranges.iter().any(|range| range.contains(wanted)) {
        return Ok(());
    }
    let what = format!("no range of the device has {wanted:?} in its name");
    Err(Failure::new(Exit::CommandLine, what, format!("there are: {}", ranges.join(", "))).into())
}
