//! `ane decode`.

use ane::container::{self, Program};
use ane::decode::{Damage, ProgramReport, Streamed, TaskReports, text};
use anyhow::{Context, Result, anyhow};

use crate::failure::{Advise, Exit};
use crate::{args, files};

pub(crate) fn run(args: &args::Decode) -> Result<()> {
    let name = files::name(&args.file);
    let bytes = files::read(&args.file)?;
    let program = container::open(&bytes).with_context(|| name.clone())?;
    let damage = if args.json { json(&program) } else { page(args, &program) }?;
    match damage {
        Some(damage) => Err(anyhow!("{name}: {damage}"))
            .advise(Exit::Refused, "what is sound of it is printed; compile it again"),
        None => Ok(()),
    }
}

fn json(program: &Program<'_>) -> Result<Option<Damage>> {
    files::stream_json(&Streamed(program))?;
    // What the tasks are was printed; how the walk along them ends costs little to find out once more.
    Ok(program
        .tasks()
        .map_or_else(|later| Some(later.into()), |mut tasks| Some(tasks.find_map(Result::err)?.into())))
}

fn page(args: &args::Decode, program: &Program<'_>) -> Result<Option<Damage>> {
    let style = text::Style { all: args.all, explain: args.explain, changes_only: args.changes };
    let whole = ProgramReport::of(program);
    let mut tasks = TaskReports::of(program);
    files::print_with(|out| {
        let mut part = String::new();
        // Writing to a string cannot fail.
        let _ = text::program(&mut part, &whole);
        out.write_all(part.as_bytes())?;
        while let Some(task) = tasks.next(&whole.bars) {
            part.clear();
            let _ = text::task(&mut part, task, style);
            out.write_all(part.as_bytes())?;
        }
        Ok(())
    })?;
    Ok(tasks.damage())
}
