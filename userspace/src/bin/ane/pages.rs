//! Manual pages, from the same declaration that parses the arguments. `xtask` compiles this file, too, for the other programs.

use std::io;

use clap::Command;
use clap_mangen::Man;

/// The page of a program, and one for each of its commands.
pub(crate) fn of(mut program: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    program.build();
    let name = program.get_name().to_owned();
    let mut pages = Vec::new();
    add(&program, &name, &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone()).source(concat!("ane ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        add(inner, &format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}
