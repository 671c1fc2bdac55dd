//! The Python module in a wheel of the release profile, for goals Y1 to Y3; and a Python with onnxruntime, for M3.
//!
//! `tools/install` has the versions, and says how to get what is missing. Packages come from the index that pip uses, so without a
//! network there may be neither.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::output::root;

/// A Python with the module, in a folder that goes with it.
pub(super) struct Wheel {
    folder: TempDir,
}

impl Wheel {
    /// Builds the wheel and installs it where nothing else is.
    pub(super) fn build() -> Result<Self> {
        let wheel = Self { folder: tempfile::tempdir().context("a folder for the wheel")? };
        let folder = wheel.folder.path();
        shell("need_python")?;
        let mut made = Command::new("python3");
        ran(made.args(["-m", "venv"]).arg(folder.join("venv")))?;
        ran(wheel.pip("install").args(["numpy", "pytest"]))?;
        let place = [OsStr::new("--wheel-dir"), folder.as_os_str()];
        let mut built = wheel.pip("wheel");
        ran(built.args(["--no-deps", "."]).args(place).env("ANE_WHEEL_PROFILE", "release"))?;
        let file = std::fs::read_dir(folder)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|ending| ending == "whl"));
        ran(wheel.pip("install").arg("--no-deps").arg(file.context("pip made no wheel")?))?;
        Ok(wheel)
    }

    /// The bench that prints its figures.
    pub(super) fn bench(&self) -> Command {
        let mut python = self.python();
        python.arg(root().join("userspace/python/tests/bench_calls.py"));
        python
    }

    fn python(&self) -> Command {
        let mut python = Command::new(self.folder.path().join("venv/bin/python"));
        python.current_dir(root());
        python
    }

    fn pip(&self, what: &str) -> Command {
        let mut pip = self.python();
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", what]);
        pip
    }
}

/// A Python with onnxruntime: the one that `PYTHON` or `ANE_ONNXRUNTIME` names, else that of `tools/install`.
pub(super) fn onnxruntime() -> Result<PathBuf> {
    let named = ["PYTHON", "ANE_ONNXRUNTIME"].into_iter().find_map(std::env::var_os);
    let python = match named {
        Some(python) => PathBuf::from(python),
        None => shell("need_onnxruntime >&2 && echo \"$ANE_ONNXRUNTIME\"")?.trim().into(),
    };
    ran(Command::new(&python).args(["-c", "import onnxruntime"]))?;
    Ok(python)
}

/// What words of `tools/install` print.
fn shell(words: &str) -> Result<String> {
    let script = format!("set -eu; source tools/install; {words}");
    let mut bash = Command::new("bash");
    let output =
        bash.args(["-c", &script]).current_dir(root()).stderr(std::process::Stdio::inherit()).output();
    let output = output.context("bash")?;
    if !output.status.success() {
        bail!("`{words}` of tools/install failed, see above");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end; its messages are shown.
fn ran(command: &mut Command) -> Result<()> {
    let ended = command.status().with_context(|| format!("{command:?}"))?;
    if !ended.success() {
        bail!("{command:?} failed, see above; packages of Python come from a network");
    }
    Ok(())
}
