//! `ane convert`.

use std::fmt::Write as _;
use std::path::PathBuf;

use ane::container::{self, Direction, Program, Surface, anec, convert};
use ane::decode::printable;
use anyhow::{Context, Result};
use clap::Args;

use crate::failure::{Advise, Exit, Failure};
use crate::files::{self, Existing};

/// Repackage a .hwx program as .anec
///
/// The object's own table of base addresses says which surface is which, so objects of every compiler come out
/// right. Clients of .anec may expect another order than the object has. Then the base-address numbers in the task
/// headers are rewritten; no register is changed. The names go into a part of the header that other clients skip.
/// Those clients bind surfaces by position, and the command prints the position of each surface.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane convert program.hwx program.anec")]
pub(crate) struct Convert {
    /// The .hwx program
    pub(crate) from: PathBuf,
    /// The .anec file to write; a file that exists is not overwritten
    pub(crate) to: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Write a header of 0x800 bytes, as the first libane reads it, instead of 0x1000
    #[arg(long)]
    pub(crate) short_header: bool,
}

pub(crate) fn run(args: &Convert) -> Result<()> {
    let from = files::name(&args.from);
    let bytes = files::read(&args.from)?;
    let program = files::program(&args.from, &bytes)?;
    if program.container != container::Container::Hwx {
        let what = format!("{from}: is an {} already, there is nothing to convert", program.container.name());
        return Err(Failure::new(Exit::Refused, what, "use it as it is").into());
    }
    let form = if args.short_header { anec::Form::Short } else { anec::Form::Long };
    let anec = convert::to_anec(&program, form)
        .with_context(|| from.clone())
        .advise(Exit::Refused, "run it as it is: `ane run` takes .hwx too")?;
    for warning in &program.warnings {
        files::tell(format_args!("{from}: warning: {warning}"));
    }
    files::check_is_other(&args.to, [&args.from])?;
    files::save(&args.to, &anec, Existing::forced(args.force))?;
    // Names are for `ane` alone: other clients go by position.
    let written = container::open(&anec).with_context(|| files::name(&args.to))?;
    let mut page = String::new();
    let outputs = program.surfaces_of(Direction::Output).count();
    for (at, (before, after)) in by_bar(&program).zip(by_bar(&written)).enumerate() {
        let (direction, name) = (before.direction.name(), printable(&before.name));
        let place = at.checked_sub(outputs).unwrap_or(at);
        writeln!(page, "{direction} {name} -> {direction}{place}, BAR {}", after.bar)?;
    }
    files::print(page.as_bytes())
}

/// The surfaces in the order of an ANEC: outputs, then inputs, each by rising BAR.
fn by_bar<'a>(program: &'a Program<'_>) -> impl Iterator<Item = &'a Surface<'a>> {
    let mut surfaces: Vec<_> = program.surfaces.iter().collect();
    surfaces.sort_by_key(|surface| (surface.direction == Direction::Input, surface.bar));
    surfaces.into_iter()
}
