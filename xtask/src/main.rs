//! `cargo xtask`: generates what the tree keeps committed, or checks that it is current.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use xtask::output::{root, write_or_check};
use xtask::{
    c_header, conformance, coverage_onnx, dist, example, man, performance, probes, register_reference,
    release, timing, uapi_reference,
};

/// Generate what the tree keeps committed
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    after_help = "\
Examples:
  cargo xtask registers            write docs/registers.md
  cargo xtask registers --check    fail if it is not what the sources say
  cargo xtask dist --prefix ~/.local"
)]
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
    /// docs/uapi.md: every call with its argument and errors
    UapiDocs(Mode),
    /// examples/: a small program of our own, and the probes of the arithmetic
    Example(Mode),
    /// docs/conformance.md: which requirement each test shows
    Conformance(Mode),
    /// dist/man and dist/completions: the command lines
    Man(Mode),
    /// Build everything and install it below a folder
    Dist(Dist),
    /// docs/timing.md and docs/timing.svg: the timing model beside what was measured
    Timing(Mode),
    /// docs/coverage-onnx.md: runs ONNX's node tests, which tools/onnx-nodes writes into a folder
    CoverageOnnx(CoverageOnnx),
    /// docs/performance.md, or the page of another vector unit: runs every bench, and shows the figures beside the goals
    Performance,
    /// docs/reliability.md: runs the release figures, which takes hours, and shows what came of them
    Release(release::Options),
}

#[derive(Args)]
struct Dist {
    /// Where to install: bin, lib, include and share go below it
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
    /// The profile to build with; dev builds faster and runs slower
    #[arg(long, default_value = "release")]
    profile: String,
}

#[derive(Args)]
struct CoverageOnnx {
    /// The folder of the tests
    folder: PathBuf,
    /// Change nothing; fail if the page is not what the tests say
    #[arg(long)]
    check: bool,
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
        Task::CoverageOnnx(CoverageOnnx { folder, check }) => {
            let cases = coverage_onnx::run(&folder)?;
            let page = "docs/coverage-onnx.md";
            if check {
                return coverage_onnx::check(&std::fs::read_to_string(root().join(page))?, &cases);
            }
            write_or_check(page, coverage_onnx::render(&cases), false, "coverage-onnx")
        }
        Task::Registers(Mode { check }) => {
            write_or_check("docs/registers.md", register_reference::render(), check, "registers")
        }
        Task::UapiDocs(Mode { check }) => {
            write_or_check("docs/uapi.md", uapi_reference::render(), check, "uapi-docs")
        }
        Task::Example(Mode { check }) => {
            write_or_check("examples/add_relu.anec", example::render()?, check, "example")?;
            probes::render()?
                .iter()
                .try_for_each(|(path, contents)| write_or_check(path, contents, check, "example"))
        }
        Task::Conformance(Mode { check }) => {
            write_or_check("docs/conformance.md", conformance::render(&root())?, check, "conformance")
        }
        Task::Timing(Mode { check }) => {
            let (page, picture) = timing::render()?;
            write_or_check("docs/timing.md", page, check, "timing")?;
            write_or_check("docs/timing.svg", picture, check, "timing")
        }
        Task::Performance => {
            let (path, page) = performance::render()?;
            write_or_check(path, page, false, "performance")
        }
        Task::Release(options) => release::run(&options),
        Task::Dist(Dist { prefix, profile }) => dist::install(&prefix, &profile),
        Task::Man(Mode { check }) => {
            man::render()?.into_iter().try_for_each(|(path, text)| write_or_check(&path, text, check, "man"))
        }
    }
}
