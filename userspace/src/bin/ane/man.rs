//! `ane man` and `ane completions`.

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::args::{self, pages};
use crate::failure::{Exit, Failure};
use crate::files::{self, Existing, Folder};

pub(crate) fn run(args: &args::Man) -> Result<()> {
    let pages = pages::manual().context("making the pages")?;
    if let Some(output) = &args.output {
        let mut folder = Folder::new(output, Existing::forced(args.force))?;
        pages.into_iter().for_each(|(name, page)| folder.add(name, page));
        return folder.publish().map(drop);
    }
    let wanted = args.command.as_ref().map_or("ane.1".to_owned(), |command| format!("ane-{command}.1"));
    let page = pages.iter().find(|(name, _)| *name == wanted);
    let (_, page) = page.ok_or_else(|| {
        let what = format!("{:?} is no command", args.command.as_deref().unwrap_or_default());
        Failure::new(Exit::CommandLine, what, "`ane --help` lists them")
    })?;
    files::print(page)
}

pub(crate) fn completions(args: &args::Completions) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut args::Cli::command(), "ane", &mut text);
    files::print(&text)
}
