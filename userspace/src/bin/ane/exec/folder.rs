//! The folder of one `ane exec`: its socket, and the nodes that its command is shown. It is gone when `ane exec` is gone,
//! however that ends.
//!
//! A process that SIGKILL ends removes nothing. So a shell waits in a process group of its own for the end of a pipe that only
//! this process holds open, and then removes the folder.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Waits until the pipe ends, which nobody writes to, and removes what it was told to.
const WAIT_AND_REMOVE: &str = "read -r _; rm -rf -- \"$0\"";

/// A folder that does not outlive this process.
pub(super) struct Folder {
    folder: Option<TempDir>,
    /// Without a shell the folder is removed by this process alone.
    watcher: Option<Child>,
}

impl Folder {
    pub(super) fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ane-").tempdir()?;
        let watcher = Command::new("/bin/sh")
            .args(["-c", WAIT_AND_REMOVE])
            .arg(folder.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What a terminal sends to the group of this process does not end it.
            .process_group(0)
            .spawn()
            .ok();
        Ok(Self { folder: Some(folder), watcher })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new("/"), TempDir::path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.folder.take());
        if let Some(mut watcher) = self.watcher.take() {
            // The pipe ends, and with it the shell; what it removes is gone already.
            drop(watcher.stdin.take());
            let _ = watcher.wait();
        }
    }
}
