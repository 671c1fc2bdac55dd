//! The device's daemon as its users run it: a process of its own, with a socket in a temporary folder.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::command::built;

/// How long anything may take. It is only ever used up by a failure.
pub const LIMIT: Duration = Duration::from_secs(20);

/// The built daemon.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("vhost-device-ane"))
}

/// The files of a daemon that was killed.
pub struct Remains(TempDir);

impl Remains {
    /// Starts another daemon with the same socket.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub fn again(self, arguments: &[&str]) -> Daemon {
        Daemon::start_in(self.0, "ane.sock", arguments)
    }
}

/// A daemon that runs. Dropping it ends it.
pub struct Daemon {
    child: Child,
    /// Its folder, while it is this daemon's.
    folder: Option<TempDir>,
    lines: Receiver<String>,
    seen: Arc<Mutex<Vec<String>>>,
    /// Reads its log, and ends with it.
    reader: JoinHandle<()>,
}

impl Daemon {
    /// Starts a daemon with a socket of its own, and waits until it listens.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_at("ane.sock", arguments)
    }

    /// The same as a platform device, behind a vfio-user socket.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub fn start_platform(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self::start_behind(folder, "--vfio-user", "ane.sock", arguments, &[])
    }

    /// The same with `name` as socket path in the temporary folder; "." is the folder itself.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub fn start_at(name: &str, arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder can be made"), name, arguments)
    }

    /// The same with an environment.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self::start_behind(folder, "--socket-path", "ane.sock", arguments, environment)
    }

    fn start_in(folder: TempDir, name: &str, arguments: &[&str]) -> Self {
        Self::start_behind(folder, "--socket-path", name, arguments, &[])
    }

    fn start_behind(
        folder: TempDir,
        option: &str,
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut child = Command::new(path())
            .envs(environment.iter().copied())
            .arg(option)
            .arg(folder.path().join(name))
            .arg("--control")
            .arg(folder.path().join("control.sock"))
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let stderr = child.stderr.take().expect("its errors are piped");
        let (sender, lines) = channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().expect("nobody panics with it").push(line.clone());
                // The test may have lost interest; the pipe is emptied all the same.
                let _ = sender.send(line);
            }
        });
        let daemon = Self { child, folder: Some(folder), lines, seen, reader };
        daemon.wait_for("is ready");
        daemon
    }

    /// Ends it without a chance to clean up; what is left is its folder, with its sockets.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn killed(mut self) -> Remains {
        self.signal(Signal::SIGKILL);
        self.wait();
        Remains(self.folder.take().expect("a daemon has a folder"))
    }

    pub fn socket(&self) -> PathBuf {
        self.folder().join("ane.sock")
    }

    pub fn control(&self) -> PathBuf {
        self.folder().join("control.sock")
    }

    /// The folder with its sockets.
    ///
    /// # Panics
    ///
    /// Never: it has one until it is killed.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().expect("a daemon has a folder").path()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of its log that contains `text`, and returns it.
    ///
    /// # Panics
    ///
    /// If none comes in time.
    pub fn wait_for(&self, text: &str) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return line,
                Ok(_) => {}
                Err(_) => panic!("the daemon did not say {text:?}, but:\n{}", self.log()),
            }
        }
    }

    /// Everything that it said.
    pub fn log(&self) -> String {
        self.seen.lock().map(|lines| lines.join("\n")).unwrap_or_default()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("the daemon is there");
    }

    /// Does something of which it sees nothing until all is done.
    ///
    /// # Panics
    ///
    /// If it is gone.
    pub fn while_stopped(&self, act: impl FnOnce()) {
        let process = Pid::from_raw(self.child.id() as i32);
        self.signal(Signal::SIGSTOP);
        let stopped = waitpid(process, Some(WaitPidFlag::WUNTRACED));
        assert_eq!(stopped, Ok(WaitStatus::Stopped(process, Signal::SIGSTOP)));
        act();
        self.signal(Signal::SIGCONT);
    }

    /// Waits for its end, and until all that it said is read.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            let status = self.child.try_wait().expect("its status can be asked");
            if let Some(status) = status
                && self.reader.is_finished()
            {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the daemon did not end, and said:\n{}", self.log());
    }

    /// True if it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let status = self.child.wait();
        if thread::panicking() {
            let signal = status.ok().and_then(|status| status.signal());
            eprintln!("--- the daemon (ended by signal {signal:?}) said:\n{}", self.log());
        }
    }
}

/// Waits until a daemon has made its socket.
///
/// # Panics
///
/// If it ends before, or takes too long.
pub fn wait_for_socket(socket: &Path, daemon: &mut Child) {
    let end = Instant::now() + LIMIT;
    while !socket.exists() {
        let ended = daemon.try_wait().expect("it can be asked");
        assert!(ended.is_none(), "the daemon has ended: {ended:?}");
        assert!(Instant::now() < end, "the daemon makes no socket");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A daemon that is killed and started again with the same socket. Dropping it ends it.
pub struct RestartableDaemon {
    child: Child,
    /// Its socket, while there is a daemon that listens.
    pub socket: PathBuf,
}

impl RestartableDaemon {
    /// Starts a daemon that listens.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn start(socket: &Path) -> Self {
        let mut daemon = Self { child: Self::spawn(socket), socket: socket.to_owned() };
        wait_for_socket(socket, &mut daemon.child);
        daemon
    }

    fn spawn(socket: &Path) -> Child {
        Command::new(path())
            .arg("--socket-path")
            .arg(socket)
            .stderr(Stdio::null())
            .spawn()
            .expect("the device starts")
    }

    /// Kills it.
    ///
    /// # Panics
    ///
    /// If it has ended before.
    pub fn kill(&mut self) {
        self.child.kill().expect("the device is there");
        self.child.wait().expect("it was ours");
    }

    /// Kills it and starts another, which may not listen yet.
    ///
    /// # Panics
    ///
    /// If it has ended before, or another does not start.
    pub fn restart(&mut self) {
        self.kill();
        self.child = Self::spawn(&self.socket);
    }
}

impl Drop for RestartableDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
