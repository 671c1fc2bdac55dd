//! The folder of one `ane exec`: its socket, and the nodes that its command is shown. It is gone when `ane exec` is gone,
//! however that ends.
//!
//! A process that SIGKILL ends removes nothing. So a shell waits in a process group of its own for the end of a pipe that only
//! the two processes of `ane exec` hold open, and then removes the folder. A link in the folder leads to the folder of
//! `--root`, once there is one, and the shell removes the names there too.

use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ane::root::{self, Root};
use nix::unistd::Pid;

/// Waits until the pipe ends, which nobody writes to, and removes the folder. The words behind the folder are the names in the
/// folder of `--root`, which is known by its number: another folder may have taken its name.
const WAIT_AND_REMOVE: &str = r#"
read -r _
if cd -P "$0/root" && read -r wanted < "$0/number" && ls -di . | { read -r number _; test "$number" = "$wanted"; }; then
    rm -rf -- "$@"
    cd /
fi
rm -rf -- "$0"
"#;

/// A folder that does not outlive this process.
pub(super) struct Folder {
    path: PathBuf,
    /// It is left to the first process, and to the shell.
    is_left: bool,
    /// Without a shell the folder is removed by this process alone.
    watcher: Option<Child>,
}

impl Folder {
    pub(super) fn new() -> io::Result<Self> {
        // The command, and the shell below, work in other folders.
        let all = std::path::absolute(std::env::temp_dir())?;
        // Random, so that nobody knows it before.
        let path = all.join(format!("ane-{:016x}", RandomState::new().build_hasher().finish()));
        // Before there is a folder: this process may be killed right after it has made one.
        let mut watcher = Command::new("/bin/sh")
            .args(["-c", WAIT_AND_REMOVE])
            .arg(&path)
            .args(root::NAMES)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal that a terminal sends to the group of this process does not end it.
            .process_group(0)
            .spawn()
            .ok();
        if let Err(why) = DirBuilder::new().mode(0o700).create(&path) {
            // Something else lies there, which is not ours to remove.
            if let Some(watcher) = &mut watcher {
                watcher.kill().and_then(|()| watcher.wait())?;
            }
            return Err(io::Error::new(why.kind(), format!("{}: {why}", path.display())));
        }
        Ok(Self { path, is_left: false, watcher })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The shell.
    pub(super) fn watcher(&self) -> Option<Pid> {
        self.watcher.as_ref().and_then(|watcher| i32::try_from(watcher.id()).ok()).map(Pid::from_raw)
    }

    /// Has the names in the folder of `--root` go with this folder.
    ///
    /// # Errors
    ///
    /// The system's, if the link cannot be made.
    pub(super) fn include(&self, root: &Root) -> io::Result<()> {
        fs::write(self.path().join("number"), format!("{}\n", fs::metadata(root.path())?.ino()))?;
        symlink(root.path().read_link()?, self.path().join("root"))
    }

    /// Leaves the folder to the first process, and to the shell: they remove what this process cannot.
    pub(super) fn leave(&mut self) {
        self.is_left = true;
    }

    /// The names are removed: what lies there from now on is somebody else's.
    pub(super) fn exclude(&self) {
        let _ = fs::remove_file(self.path().join("root"));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            // The pipe ends, and with it the shell, which removes everything. In the keeper neither is so: the first process
            // holds the pipe, and the shell is its child.
            drop(watcher.stdin.take());
            let _ = watcher.wait();
        }
        // In the keeper, and where there is no shell.
        if !self.is_left {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
