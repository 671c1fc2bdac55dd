//! A virtual machine that has the device, as `ane vm run` starts it, and a guest that does what it is told.
//!
//! The guest is the one that tools/guest makes: Debian's kernel, a shell, and programs of this tree, static. It is
//! driven over its serial console, a line in, lines out. There is no KVM where tests run, so it is slow: some
//! seconds to boot, and tens of microseconds for what takes one.

mod image;
mod layout;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::command::built;

pub use image::{
    GuestKind, accel, accel_kernel, apple_like, cache, client, driver, image, kernel, module, python,
    small_pages,
};
pub use layout::Layout;

/// How long a guest may take to boot, and a command to end. It is only ever used up by a failure.
pub const LIMIT: Duration = Duration::from_secs(180);

/// How long a silent guest is left alone.
const NUDGE: Duration = Duration::from_millis(500);

/// The guest's message when it has booted.
const READY: &str = "the guest listens";

/// The lines in between which the guest's answer stands.
const MARK: &str = "@@ane";

/// A machine that runs. Dropping it ends it.
pub struct Machine {
    child: Child,
    console: ChildStdin,
    lines: Receiver<String>,
    seen: Arc<Mutex<Vec<String>>>,
    said: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
    /// The guest listens.
    is_up: bool,
    started: Instant,
}

/// The output of a command in the guest, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub code: i32,
}

/// How a machine is started.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The guest's kernel.
    pub kernel: PathBuf,
    pub image: &'a Path,
    /// Huge pages reserved at boot.
    pub pages: usize,
    /// Arguments of `ane vm run`.
    pub arguments: Vec<String>,
    pub qemu: Vec<String>,
}

impl Machine {
    /// Starts a machine and waits until its guest listens.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn start(setting: &Setting<'_>) -> Self {
        let mut command = Command::new(built("ane"));
        command
            .args(["vm", "run", "--memory", "512", "--kernel"])
            .arg(&setting.kernel)
            .arg("--append")
            .arg(format!("console=ttyS0 quiet no_timer_check ane.lines hugepages={}", setting.pages));
        Self::run_with(command, setting.image, &setting.arguments, &setting.qemu)
    }

    /// The same of a guest that loads a module which drives the virtio function.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    pub fn start_accel(kernel: &Path, image: &Path, module: &Path, arguments: &[String]) -> Self {
        let mut command = Command::new(built("ane"));
        command.args(["vm", "run", "--memory", "512", "--no-iommu", "--kernel"]).arg(kernel);
        command.args(["--append", "console=ttyS0 quiet no_timer_check ane.lines", "--module"]).arg(module);
        Self::run_with(command, image, arguments, &[])
    }

    /// The same of the machine that looks like an M1, whose guest loads `modules`.
    ///
    /// # Panics
    ///
    /// If its guest does not listen.
    pub fn start_apple_like(image: &Path, modules: &[PathBuf], arguments: &[String]) -> Self {
        Self::start_apple_like_with(image, modules, arguments, &[])
    }

    /// The same with arguments of QEMU.
    ///
    /// # Panics
    ///
    /// If its guest does not listen.
    pub fn start_apple_like_with(
        image: &Path,
        modules: &[PathBuf],
        arguments: &[String],
        qemu: &[String],
    ) -> Self {
        let mut command = Command::new(built("ane"));
        command.args(["vm", "run", "--machine", "apple-like", "--append", "console=ttyAMA0 quiet ane.lines"]);
        for module in modules {
            command.arg("--module").arg(module);
        }
        Self::run_with(command, image, arguments, qemu)
    }

    fn run_with(mut command: Command, image: &Path, arguments: &[String], qemu: &[String]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mut child = command
            .args(["--accel", "tcg", "--folder"])
            .arg(folder.path())
            .arg("--device-program")
            .arg(built("vhost-device-ane"))
            .arg("--initrd")
            .arg(image)
            .args(arguments)
            .arg("--")
            .args(qemu)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the machine starts");
        let console = child.stdin.take().expect("its console is piped");
        let (lines, seen) = collect(child.stdout.take().expect("its console is piped"));
        let (_, said) = collect(child.stderr.take().expect("its errors are piped"));
        let mut machine =
            Self { child, console, lines, seen, said, folder, is_up: false, started: Instant::now() };
        machine.wait_for_boot();
        machine
    }

    /// Waits until the guest has booted, at first or again.
    ///
    /// # Panics
    ///
    /// If it does not.
    fn wait_for_boot(&mut self) {
        self.is_up = false;
        self.wait_for(|line| line.contains(READY));
        self.is_up = true;
    }

    /// Waits for a line of the console, and gives it and those before it.
    fn wait_for(&mut self, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let end = Instant::now() + LIMIT;
        let mut all = Vec::new();
        loop {
            match self.lines.recv_timeout(NUDGE) {
                Ok(line) => {
                    let is_last = is_it(&line);
                    all.push(line);
                    if is_last {
                        return all;
                    }
                }
                // Early output can stay in the serial port until more follows: an empty line does nothing else.
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => self.nudge(),
                Err(RecvTimeoutError::Timeout) => panic!("the guest does not answer\n{}", self.story()),
                Err(RecvTimeoutError::Disconnected) => panic!("the machine has ended\n{}", self.story()),
            }
        }
    }

    /// Gives the guest a line, and does not wait.
    ///
    /// # Panics
    ///
    /// If the machine has ended.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.console, "{line}").expect("the machine runs");
    }

    /// Has the guest boot again.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn reboot(&mut self) {
        self.tell("reboot -f");
        self.wait_for(|line| line.contains("Restarting system"));
        self.wait_for_boot();
    }

    fn nudge(&mut self) {
        if self.is_up {
            // The machine may be ending.
            let _ = writeln!(self.console);
        }
    }

    /// Has the guest carry out a command, its errors included in what it printed.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn run(&mut self, command: &str) -> Said {
        self.tell(&format!("{{ {command}; }} </dev/null 2>&1; echo \"{MARK} $?\""));
        let mut lines = self.wait_for(|line| line.starts_with(MARK));
        let last = lines.pop().expect("the mark is there");
        let code = last.trim_start_matches(MARK).trim().parse().expect("the mark has a code");
        Said { text: lines.join("\n"), code }
    }

    /// The same for a command that has to succeed.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn ok(&mut self, command: &str) -> String {
        let said = self.run(command);
        assert_eq!(said.code, 0, "{command} said:\n{}\n{}", said.text, self.story());
        said.text
    }

    /// Ends the guest as its user does, and waits for the machine's end.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn power_off(mut self) -> String {
        self.tell("poweroff -f");
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("its status can be asked") {
                assert!(status.success(), "the machine ended: {status}\n{}", self.story());
                println!("boot to power-off: {:.1} s", self.started.elapsed().as_secs_f64());
                return self.story();
            }
            thread::sleep(NUDGE / 10);
            self.nudge();
        }
        panic!("the machine does not end\n{}", self.story());
    }

    /// Where its monitor listens.
    pub fn monitor(&self) -> PathBuf {
        self.folder.path().join("monitor.sock")
    }

    /// The device's process.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn device(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).expect("the machine runs");
        let is_device = |pid: &&str| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with("vhost-device"))
        };
        let pid = children.split_whitespace().find(is_device).expect("the device runs");
        pid.parse().expect("it is a number")
    }

    /// Waits until the machine or the device has said a line that contains `text`.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub fn wait_for_message(&self, text: &str) -> String {
        self.wait_for_messages(text, 1)
    }

    /// Waits until they have said `count` such lines, and gives the last.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub fn wait_for_messages(&self, text: &str, count: usize) -> String {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            let said = self.messages();
            if let Some(line) = said.lines().filter(|line| line.contains(text)).nth(count - 1) {
                return line.to_owned();
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("nobody said {text:?}\n{}", self.story());
    }

    /// The messages of the machine and the device so far.
    pub fn messages(&self) -> String {
        self.said.lock().map(|lines| lines.join("\n")).unwrap_or_default()
    }

    /// Everything: the console, and what the machine and the device said.
    fn story(&self) -> String {
        let console = self.seen.lock().map(|lines| lines.join("\n")).unwrap_or_default();
        format!("--- console:\n{console}\n--- machine and device:\n{}", self.messages())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It ends QEMU and the device with itself.
            let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        }
        let _ = self.child.wait();
    }
}

/// The lines of a stream as they come, without what terminals make of their ends; and all of them so far.
fn collect(stream: impl Read + Send + 'static) -> (Receiver<String>, Arc<Mutex<Vec<String>>>) {
    let (sender, lines) = channel();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if let Ok(mut kept) = kept.lock() {
                kept.push(line.clone());
            }
            // The test may have lost interest; the pipe is emptied all the same.
            let _ = sender.send(line);
        }
    });
    (lines, seen)
}
