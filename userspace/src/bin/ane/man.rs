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
    let words = ["ane"].into_iter().chain(args.command.iter().map(String::as_str));
    let wanted = format!("{}.1", words.collect::<Vec<_>>().join("-"));
    let page = pages.iter().find(|(name, _)| *name == wanted);
    let (_, page) = page.ok_or_else(|| {
        let what = format!("{:?} is no command", args.command.join(" "));
        Failure::new(Exit::CommandLine, what, "`ane --help` lists them")
    })?;
    files::print(page)
}

pub(crate) fn completions(args: &args::Completions) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut args::Cli::command(), "ane", &mut text);
    files::print(&text)
}
