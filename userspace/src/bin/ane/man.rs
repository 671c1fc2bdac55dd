//! `ane man` and `ane completions`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::{Exit, Failure};
use crate::files::{self, Existing, Folder};
use crate::pages;

/// Print a manual page, or write all of them to a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane man | man -l -
  ane man run | man -l -
  ane man vm setup | man -l -
  ane man -o man1")]
pub(crate) struct Man {
    /// The command whose page to print; without it, the page of `ane`
    pub(crate) command: Vec<String>,
    /// Write every page to this folder, which is created if it does not exist
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite pages that exist
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane completions bash > ~/.local/share/bash-completion/completions/ane
  ane completions fish > ~/.config/fish/completions/ane.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

pub(crate) fn run(args: &Man) -> Result<()> {
    let pages = pages::of(Cli::command()).context("making the pages")?;
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

pub(crate) fn completions(args: &Completions) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ane", &mut text);
    files::print(&text)
}
