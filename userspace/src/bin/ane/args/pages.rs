//! The manual pages, from the same declaration that parses the arguments.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

/// The page of `ane`, and one for each command: the name of the file, and its text.
pub(crate) fn manual() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut ane = super::Cli::command();
    ane.build();
    let mut pages = Vec::new();
    add(&ane, "ane", &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        add(inner, &format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}
