//! `cargo xtask`: generates what the tree keeps committed, or checks that it is current.

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use xtask::output::{root, write_or_check};
use xtask::{c_header, conformance, example, man, performance, register_reference};

/// Generate what the tree keeps committed
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// uapi/include/*.h: the contracts in C
    Headers(Mode),
    /// docs/registers.md: every block, register and field
    Registers(Mode),
    /// examples/add_relu.anec: a small program of our own
    Example(Mode),
    /// docs/conformance.md: which requirement each test shows
    Conformance(Mode),
    /// dist/man and dist/completions: the daemon's command line
    Man(Mode),
    /// docs/performance.md: runs every bench, and shows the figures beside the goals
    Performance,
}

#[derive(Args)]
struct Mode {
    /// Change nothing; fail if a committed file is not current
    #[arg(long)]
    check: bool,
}

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Headers(Mode { check }) => c_header::headers()
            .iter()
            .try_for_each(|header| write_or_check(header.path, &header.text, check, "headers")),
        Task::Registers(Mode { check }) => {
            write_or_check("docs/registers.md", register_reference::render(), check, "registers")
        }
        Task::Example(Mode { check }) => {
            write_or_check("examples/add_relu.anec", example::render()?, check, "example")
        }
        Task::Conformance(Mode { check }) => {
            write_or_check("docs/conformance.md", conformance::render(&root())?, check, "conformance")
        }
        Task::Performance => {
            write_or_check("docs/performance.md", performance::render()?, false, "performance")
        }
        Task::Man(Mode { check }) => {
            man::render()?.into_iter().try_for_each(|(path, text)| write_or_check(path, text, check, "man"))
        }
    }
}
