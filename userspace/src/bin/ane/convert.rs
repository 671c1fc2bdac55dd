//! `ane convert`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use ane::container::{self, anec, convert};
use anyhow::{Context, Result, bail};

use crate::args;

pub(crate) fn run(args: &args::Convert) -> Result<()> {
    let from = args.from.display();
    let bytes = std::fs::read(&args.from).with_context(|| format!("{from}"))?;
    let program = container::open(&bytes).with_context(|| format!("{from}"))?;
    if program.container != container::Container::Hwx {
        bail!("{from}: is an {} already", program.container.name());
    }
    let form = if args.short_header { anec::Form::Short } else { anec::Form::Long };
    let anec = convert::to_anec(&program, form).with_context(|| format!("{from}"))?;
    for warning in &program.warnings {
        eprintln!("ane: {from}: warning: {warning}");
    }
    save(&args.to, &anec, args.force).with_context(|| format!("{}", args.to.display()))
}

/// Writes the file whole or not at all: a reader never sees half of it.
fn save(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(partial)
        .and_then(|mut file| file.write_all(bytes))
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
