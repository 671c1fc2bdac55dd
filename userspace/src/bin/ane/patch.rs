//! `ane patch`.

use ane::container;
use ane::diff::programs;
use ane::patch;
use anyhow::{Context, Result};

use crate::failure::{Advise, Exit};
use crate::files::Existing;
use crate::{args, diff, files};

pub(crate) fn run(args: &args::Patch) -> Result<()> {
    let name = files::name(&args.program);
    let before = files::read(&args.program)?;
    let advice = "`ane decode --explain` prints each register that a task writes, with its fields";
    let mut after = patch::registers(&before, args.task, &args.edits)
        .with_context(|| name.clone())
        .advise(Exit::Refused, advice)?;
    if let Some(path) = &args.coefficients {
        let bytes = files::read(path)?;
        after = patch::constants(&after, &bytes)
            .with_context(|| files::name(path))
            .advise(Exit::Refused, "`ane decode` prints how many bytes of constants there are")?;
    }
    files::save(&args.output, &after, Existing::forced(args.force))?;
    let (before, after) = (container::open(&before)?, container::open(&after)?);
    let found = programs::compare(&before, &after);
    if args.json { files::print_json(&found) } else { files::print(diff::page(&found)?.as_bytes()) }
}
