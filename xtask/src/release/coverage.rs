//! How many lines of the parsers the fuzz targets run: what F1 has found so far, run once more by programs that count.
//!
//! The targets are built with rustc's own instrumentation, and each runs its corpus and its regressions once. LLVM's tools of the
//! compiler's version read the counts: those of the toolchain (`rustup component add llvm-tools`), or a distributor's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::output::{cargo, root};

/// The part of the lines that has to be run.
pub(super) const WANTED: f64 = 0.9;

/// Targets that read what strangers wrote.
const TARGETS: &[&str] =
    &["containers", "task_stream", "npy", "script", "onnx", "core_ml", "mil_text", "aned"];

/// The parsers, as files and folders: what takes bytes or text of a stranger apart. What a model's operations become is none.
const PARSERS: &[&str] = &[
    "userspace/src/container",
    "userspace/src/task/chain.rs",
    "userspace/src/tensor/npy",
    "userspace/src/build/script",
    "userspace/src/model/protobuf.rs",
    "userspace/src/model/onnx/message.rs",
    "userspace/src/model/onnx/tensor.rs",
    "userspace/src/model/onnx/import.rs",
    "userspace/src/model/mil/blob.rs",
    "userspace/src/model/mil/message.rs",
    "userspace/src/model/mil/program.rs",
    "userspace/src/model/mil/text.rs",
    "userspace/src/model/mil/text",
    "userspace/src/model/mil/import.rs",
    "uapi/src/hw/td/record.rs",
    "uapi/src/hw/td/words.rs",
    "driver/protocol/src/request.rs",
    "driver/protocol/src/stretches.rs",
];

/// Lines that were run, and all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) run: u64,
    pub(super) all: u64,
    /// Files of which less than the wanted part was run, the worst first: name, lines run, lines.
    pub(super) behind: Vec<(String, u64, u64)>,
}

impl Lines {
    /// The part of the lines that was run.
    pub(super) fn part(&self) -> f64 {
        self.run as f64 / self.all.max(1) as f64
    }

    pub(super) fn text(&self) -> String {
        let worst: Vec<String> =
            self.behind.iter().take(4).map(|(name, run, all)| format!("{name} {run} of {all}")).collect();
        let worst = if worst.is_empty() { String::new() } else { format!("; least: {}", worst.join(", ")) };
        format!("parsers: {} of {} lines run, {:.1} %{worst}", self.run, self.all, 100.0 * self.part())
    }

    /// The lines of `llvm-cov export`'s summary.
    fn of(summary: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(summary).context("the summary of llvm-cov")?;
        let files = value.pointer("/data/0/files").and_then(Value::as_array).context("a list of files")?;
        let mut lines = Self::default();
        for file in files {
            let name = file.get("filename").and_then(Value::as_str).context("a file's name")?;
            let name = Path::new(name).strip_prefix(root()).unwrap_or_else(|_| Path::new(name));
            // Tests are not built into the targets.
            let is_parser = PARSERS.iter().any(|parser| name.starts_with(parser));
            let count = |key: &str| file.pointer(&format!("/summary/lines/{key}")).and_then(Value::as_u64);
            let (Some(all), Some(run)) = (count("count"), count("covered")) else { continue };
            if !is_parser {
                continue;
            }
            lines.all += all;
            lines.run += run;
            if (run as f64) < WANTED * all as f64 {
                lines.behind.push((name.display().to_string(), run, all));
            }
        }
        lines.behind.sort_by(|a, b| (a.1 * b.2).cmp(&(b.1 * a.2)));
        Ok(lines)
    }
}

/// Builds the targets, runs what was found so far, and counts.
pub(super) fn run([profdata, cov]: &[PathBuf; 2]) -> Result<Lines> {
    let folder = root().join("target/coverage");
    let mut build =
        cargo(&["build", "--quiet", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    build.arg(&folder);
    for target in TARGETS {
        build.args(["--bin", target]);
    }
    build.env("RUSTFLAGS", "-C instrument-coverage --cfg fuzzing").env("CARGO_INCREMENTAL", "0");
    // Macros of the build are instrumented, too, and would write beside every package.
    build.env("LLVM_PROFILE_FILE", "/dev/null");
    done(build)?;
    let program = |target: &str| folder.join("debug").join(target);
    let profiles = folder.join("profiles");
    let _ = std::fs::remove_dir_all(&profiles);
    for target in TARGETS {
        let mut replay = Command::new(program(target));
        replay.env("LLVM_PROFILE_FILE", profiles.join(format!("{target}.profraw")));
        replay.args(["-runs=0", "-rss_limit_mb=8192"]);
        let corpora = ["corpus", "regressions"].map(|kind| root().join("fuzz").join(kind).join(target));
        replay.args(corpora.iter().filter(|corpus| corpus.is_dir()));
        done(replay)?;
    }
    let merged = folder.join("merged.profdata");
    let mut merge = Command::new(profdata);
    merge.args(["merge", "--sparse", "-o"]).arg(&merged);
    merge.args(TARGETS.iter().map(|target| profiles.join(format!("{target}.profraw"))));
    done(merge)?;
    let mut export = Command::new(cov);
    export.args(["export", "--summary-only", "--instr-profile"]).arg(&merged);
    for (index, target) in TARGETS.iter().enumerate() {
        if index > 0 {
            export.arg("--object");
        }
        export.arg(program(target));
    }
    Lines::of(&String::from_utf8(done(export)?.stdout).context("the summary of llvm-cov")?)
}

/// `llvm-profdata` and `llvm-cov` of the compiler's version.
pub(super) fn tools() -> Result<[PathBuf; 2]> {
    let said = |argument: &[&str]| -> Result<String> {
        let mut rustc = Command::new("rustc");
        rustc.args(argument).current_dir(root());
        Ok(String::from_utf8(done(rustc)?.stdout)?.trim().to_owned())
    };
    let version = said(&["-vV"])?;
    let field =
        |name: &str| version.lines().find_map(|line| line.strip_prefix(name)).context("rustc's version");
    let host = field("host: ")?;
    let major = field("LLVM version: ")?.split('.').next().unwrap_or_default();
    let folders = [
        Path::new(&said(&["--print", "sysroot"])?).join("lib/rustlib").join(host).join("bin"),
        Path::new("/usr/lib").join(format!("llvm-{major}")).join("bin"),
    ];
    let names = ["llvm-profdata", "llvm-cov"];
    for folder in &folders {
        let tools = names.map(|name| folder.join(name));
        if tools.iter().all(|tool| tool.is_file()) {
            return Ok(tools);
        }
    }
    bail!(
        "no {} of LLVM {major}: `rustup component add llvm-tools`, or install llvm-{major}",
        names.join(" and ")
    )
}

fn done(mut command: Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(root()).output().with_context(|| name.clone())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name}: {}: {}", output.status, said.lines().last().unwrap_or_default());
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_parsers_count_and_no_others() {
        let file = |name: &str, count: u64, covered: u64| {
            serde_json::json!({
                "filename": root().join(name),
                "summary": { "lines": { "count": count, "covered": covered } },
            })
        };
        let files = [
            file("userspace/src/container/anec/read.rs", 100, 99),
            file("userspace/src/tensor/npy/header.rs", 50, 10),
            file("userspace/src/model/lower/mod.rs", 1000, 1),
        ];
        let lines = Lines::of(&serde_json::json!({ "data": [{ "files": files }] }).to_string()).unwrap();
        assert_eq!((lines.run, lines.all), (109, 150));
        assert_eq!(
            lines.text(),
            "parsers: 109 of 150 lines run, 72.7 %; least: userspace/src/tensor/npy/header.rs 10 of 50"
        );
        assert!(lines.part() < WANTED);
    }

    #[test]
    fn what_is_named_is_in_the_tree() {
        for parser in PARSERS {
            assert!(root().join(parser).exists(), "{parser}");
        }
        for target in TARGETS {
            assert!(root().join(format!("fuzz/fuzz_targets/{target}.rs")).exists(), "{target}");
        }
    }
}
