//! `ane convert`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use ane::container::{self, Direction, Program, Surface, anec, convert};
use ane::decode::printable;
use anyhow::{Context, Result, bail};

use crate::args;

pub(crate) fn run(args: &args::Convert) -> Result<()> {
    let from = args.from.display();
    let bytes = std::fs::read(&args.from).with_context(|| format!("{from}"))?;
    let program = container::open(&bytes).with_context(|| format!("{from}"))?;
    if program.container != container::Container::Hwx {
        bail!("{from}: is an {} already, there is nothing to convert", program.container.name());
    }
    let form = if args.short_header { anec::Form::Short } else { anec::Form::Long };
    let anec = convert::to_anec(&program, form).with_context(|| format!("{from}"))?;
    for warning in &program.warnings {
        eprintln!("ane: {from}: warning: {warning}");
    }
    let to = args.to.display();
    save(&args.from, &args.to, &anec, args.force).with_context(|| format!("{to}"))?;
    // Names do not survive: an ANEC has none, and its clients go by position.
    let written = container::open(&anec).with_context(|| format!("{to}"))?;
    for (before, after) in by_bar(&program).zip(by_bar(&written)) {
        println!(
            "{} {} -> {}, BAR {}",
            before.direction.name(),
            printable(&before.name),
            after.name,
            after.bar
        );
    }
    Ok(())
}

/// The surfaces in the order of an ANEC: outputs, then inputs, each by rising BAR.
fn by_bar<'a>(program: &'a Program<'_>) -> impl Iterator<Item = &'a Surface<'a>> {
    let mut surfaces: Vec<_> = program.surfaces.iter().collect();
    surfaces.sort_by_key(|surface| (surface.direction == Direction::Input, surface.bar));
    surfaces.into_iter()
}

/// Writes the file whole or not at all: a reader never sees half of it.
fn save(from: &Path, path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    // What a link leads to is replaced, not the link; what is no file is left alone.
    let resolved = path.canonicalize();
    let path = resolved.as_deref().unwrap_or(path);
    let existing = path.metadata().ok();
    if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
        bail!("is not a regular file; name a file to write");
    }
    if resolved.is_ok() && from.canonicalize().ok().as_deref() == Some(path) {
        bail!("is the file that is being converted; name another");
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(partial)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            existing.filter(|_| force).map_or(Ok(()), |existing| file.set_permissions(existing.permissions()))
        })
        .and_then(|()| if force { std::fs::rename(partial, path) } else { publish_new(partial, path) });
    if written.is_err() {
        // Best effort: the error that matters is the one already at hand.
        let _ = std::fs::remove_file(partial);
    }
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("exists already; --force overwrites it")
        }
        other => Ok(other?),
    }
}

/// Gives the finished file its name, unless the name is taken.
fn publish_new(partial: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::hard_link(partial, path)?;
    std::fs::remove_file(partial)
}
