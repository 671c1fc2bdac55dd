//! `ane daemon` and `ane exec`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ane_tests::command::{path, printed, refused};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::scratch::{Scratch, deep, example};

/// How long anything may take here.
const LIMIT: Duration = Duration::from_secs(20);

/// A daemon that ends with the test.
pub(crate) struct AneDaemon {
    child: Child,
    /// The argument of `--device` for it.
    pub(crate) device: String,
    socket: PathBuf,
}

impl AneDaemon {
    pub(crate) fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let socket = scratch.path().join("ane.sock");
        let child = Command::new(path())
            .arg("daemon")
            .arg("--socket-path")
            .arg(&socket)
            .args(options)
            .stderr(Stdio::null())
            .spawn()
            .expect("the daemon starts");
        let start = Instant::now();
        while !socket.exists() && start.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(2));
        }
        Self { child, device: format!("aned:{}", socket.display()), socket }
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a process number"));
        kill(pid, signal).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for AneDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn daemon_serves_what_an_embedded_device_does() {
    let scratch = Scratch::new();
    let daemon = AneDaemon::start(&scratch, &[]);
    let (here, there) = (scratch.at("here"), scratch.at("there"));
    printed(&["run", &example(), "-o", &here]);
    printed(&["run", &example(), "-o", &there, "--device", &daemon.device]);
    assert_eq!(printed(&["diff", &here, &there]), "no differences\n");
    assert!(printed(&["demo", "--device", &daemon.device]).contains("ok     convolution and ReLU"));
    let socket = daemon.socket.clone();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert!(!socket.exists(), "the socket is gone");
}

#[test]
fn daemon_tells_what_is_mapped_and_what_faulted() {
    let scratch = Scratch::new();
    let daemon = AneDaemon::start(&scratch, &["--inject", "translation-fault:0x10000"]);
    assert_eq!(printed(&["dart", "--device", &daemon.device]), "no context is in use\n");
    assert!(printed(&["dart", &example(), "--device", &daemon.device]).contains("input tensor"));
    assert!(printed(&["faults", "--device", &daemon.device]).contains("at the last fault"));
    assert!(printed(&["regs", "--device", &daemon.device]).contains("EnabledStreams"));
    assert_eq!(daemon.end(Signal::SIGINT), Some(0));
}

#[test]
fn request_that_fails_behind_a_daemon_says_why_as_it_does_without_one() {
    let scratch = Scratch::new();
    let daemon = AneDaemon::start(&scratch, &[]);
    let model = scratch.file("deep.anec", &deep());
    let here = refused(4, &["run", &model]);
    assert!(here.contains("0x00000001 in OutDepth at 0x18: output is not as deep as the input"), "{here}");
    assert_eq!(refused(4, &["run", &model, "--device", &daemon.device]), here);
    printed(&["run", &example(), "--device", &daemon.device]);
}

#[test]
fn device_whose_file_has_no_context_says_none() {
    let page = printed(&["info"]);
    assert!(page.lines().any(|line| line.split_whitespace().eq(["context", "none"])), "{page}");
}

#[test]
fn script_of_which_every_transfer_is_refused_is_no_success() {
    let scratch = Scratch::new();
    let (good, bad) =
        ("move 0 0x100 0x10 scratch-to-scratch\n", "move 0x10 0x2000000 0xfff scratch-to-configuration\n");
    let all = scratch.file("all", bad.as_bytes());
    assert!(refused(4, &["mover", &all]).contains("every transfer was refused"));
    let some = scratch.file("some", format!("{bad}wait\n{good}wait\n").as_bytes());
    assert!(printed(&["mover", &some]).contains("line 1: refused"));
}

#[test]
fn second_daemon_at_the_same_place_is_refused() {
    let scratch = Scratch::new();
    let daemon = AneDaemon::start(&scratch, &[]);
    let message = refused(3, &["daemon", "--socket-path", &daemon.socket.display().to_string()]);
    assert!(message.contains("give another --socket-path"), "{message}");
    printed(&["info", "--device", &daemon.device]);
}

#[test]
fn missing_preload_library_is_told() {
    let output =
        Command::new(path()).args(["exec", "--", "true"]).env("ANE_SHIM", "/no/such/shim.so").output();
    let output = output.expect("the command starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("ANE_SHIM: there is no file /no/such/shim.so"), "{message}");
}

#[test]
fn exec_makes_the_names_of_a_real_engine_for_as_long_as_the_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("m1");
    let look = format!(
        "cd {}; readlink sys/class/accel/*/device/driver; cat proc/device-tree/soc/ane@*/compatible; \
         cd sys/class/accel/accel0/device; stat -c '%n %a' ane_stats reset wedged",
        root.display()
    );
    let output = exec(&["--root", root.to_str().unwrap()], &["sh", "-c", &look]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "../../../../bus/platform/drivers/ane\napple,t8103-ane\0\
                    ane_stats 444\nreset 200\nwedged 444\n";
    assert_eq!(said, expected, "{output:?}");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0, "it is taken away again");
    std::fs::write(root.join("precious"), "").unwrap();
    let refused = exec(&["--root", root.to_str().unwrap()], &["true"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("name an empty folder"), "{refused:?}");
}

#[test]
fn exec_counts_in_the_drivers_folder_what_the_engine_did_for_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("m1");
    let stats = root.join("sys/class/accel/accel0/device/ane_stats").display().to_string();
    let show = format!(
        "show() {{ cat {stats}; }}; \
         run() {{ {} run {} --device aned:$ANE_SHIM_SOCKET >/dev/null; }}; \
         told() {{ for _ in $(seq 200); do grep -qx \"jobs $1\" {stats} && return; sleep 0.1; done; }}",
        path().display(),
        example()
    );
    let output = exec(
        &["--root", root.to_str().unwrap()],
        &["sh", "-c", &format!("{show}; show; run; told 1; show; run; run; told 3; show")],
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<_> = said.lines().filter_map(|line| line.split_once(' ')).collect();
    let value = |at: usize| lines[at].1.parse::<u64>().unwrap();
    assert_eq!([0, 2, 4].map(|at| lines[at].0), ["busy_ns"; 3], "{output:?}");
    assert_eq!([1, 3, 5].map(|at| lines[at]), [("jobs", "0"), ("jobs", "1"), ("jobs", "3")]);
    assert!(value(0) == 0 && value(2) > 0 && value(4) > value(2), "{said}");
}

/// The name of a library that every dynamic program has loaded already, so that preloading it does nothing.
pub(super) fn libc() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let libc = maps.split_whitespace().find(|word| word.contains("/libc.so"));
    libc.expect("tests use the C library").to_owned()
}

/// `ane exec` with a preload library that is any library: what is asked about here is the command around it.
fn exec(device: &[&str], command: &[&str]) -> std::process::Output {
    Command::new(path())
        .arg("exec")
        .args(device)
        .arg("--")
        .args(command)
        .env("ANE_SHIM", libc())
        .output()
        .expect("the command starts")
}

#[test]
fn command_gets_the_environment_of_the_preload_library_and_ends_as_itself() {
    let output =
        exec(&[], &["sh", "-c", "echo $ANE_SHIM_NODE; test -S $ANE_SHIM_SOCKET && ls $ANE_SHIM_DEV"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "accel0\naccel0\n");
    assert_eq!(exec(&[], &["sh", "-c", "exit 42"]).status.code(), Some(42));
    assert_eq!(exec(&[], &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
    assert_eq!(exec(&[], &["/no/such/program"]).status.code(), Some(127));
    assert_eq!(exec(&[], &["/etc/passwd"]).status.code(), Some(126));
}

#[test]
fn private_daemon_serves_the_command_and_goes_with_it() {
    let ane = path().display().to_string();
    let run = format!("echo $ANE_SHIM_SOCKET; {ane} demo --device aned:$ANE_SHIM_SOCKET");
    let output = exec(&["--check"], &["sh", "-c", &run]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("ok     sigmoid"), "{text}");
    let socket = PathBuf::from(text.lines().next().expect("it was printed"));
    assert!(!socket.exists() && !socket.parent().expect("it has a folder").exists());
}

#[test]
fn signal_is_passed_on_to_the_command() {
    let child = Command::new(path())
        .args(["exec", "--", "sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"])
        .env("ANE_SHIM", libc())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut child = child;
    let mut up = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut up).expect("it says that it is up");
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a number")), Signal::SIGTERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(7));
}

#[test]
fn command_that_takes_too_long_is_ended_even_if_it_does_not_listen() {
    let start = Instant::now();
    let output = exec(&["--timeout", "0.3"], &["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"]);
    assert_eq!(output.status.code(), Some(124));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("ran for longer than 0.3 s") && start.elapsed() < Duration::from_secs(10),
        "{told}"
    );
    assert_eq!(exec(&["--timeout", "20"], &["sh", "-c", "exit 7"]).status.code(), Some(7));
}

#[test]
fn run_that_does_not_end_in_time_is_given_up() {
    let scratch = Scratch::new();
    let model = scratch.at("endless.anec");
    std::fs::write(&model, ane_tests::long_task::endless().to_anec().expect("can be written"))
        .expect("can be written");
    for command in [&["run"][..], &["bench", "--seconds", "1"]] {
        let start = Instant::now();
        let told = refused(4, &[command, &[&model, "--numerics", "exact", "--timeout", "0.5"]].concat());
        assert!(told.contains("did not end within 500ms"), "{told}");
        assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    }
    printed(&["run", &example(), "--timeout", "20"]);
}

/// True once `condition` holds, false if it does not in time.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > LIMIT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Whether a process is gone, or a zombie: the process that adopts it may leave it one for a while.
fn has_ended(process: Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat"));
    state.map_or(true, |state| state.contains(") Z "))
}

/// `ane exec` that runs a shell in a folder, and what is left of it.
struct Killed {
    scratch: Scratch,
    exec: Child,
}

impl Killed {
    /// Starts it, with the names of a real engine in the folder `root`. The lines of `commands` that print to the file
    /// `processes` are `count`.
    fn start(commands: &str, count: usize) -> Self {
        let scratch = Scratch::new();
        let exec = Command::new(path())
            .args(["exec", "--root", "root", "--", "sh", "-c", commands])
            .current_dir(scratch.path())
            .env("TMPDIR", scratch.path())
            .env("ANE_SHIM", libc())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("it starts");
        let killed = Self { scratch, exec };
        assert!(eventually(|| killed.processes().len() == count), "{:?}", killed.processes());
        killed
    }

    /// The processes that the commands wrote down.
    fn processes(&self) -> Vec<Pid> {
        let told = std::fs::read_to_string(self.scratch.path().join("processes")).unwrap_or_default();
        let whole = told.rfind('\n').map_or("", |end| &told[..end]);
        whole.lines().map(|line| Pid::from_raw(line.trim().parse().expect("a number"))).collect()
    }

    /// The second process of `ane exec`, which has the device.
    fn keeper(&self) -> Pid {
        let own = self.exec.id();
        let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).expect("it runs");
        let is_keeper = |process: &&str| {
            let link = |of: &str| std::fs::read_link(format!("/proc/{of}/exe")).ok();
            link(process) == link(&own.to_string())
        };
        let keeper = children.split_whitespace().find(is_keeper).expect("it has one");
        Pid::from_raw(keeper.parse().expect("a number"))
    }

    /// Holds once neither a process nor a name is left.
    fn leaves_nothing(mut self) {
        self.exec.wait().expect("it is a child");
        for process in self.processes() {
            assert!(eventually(|| has_ended(process)), "process {process} is left");
        }
        assert!(eventually(|| self.scratch.names() == ["processes", "root"]), "{:?}", self.scratch.names());
        let root = self.scratch.path().join("root");
        let left = || std::fs::read_dir(&root).expect("it is there").count();
        assert!(eventually(|| left() == 0), "{} names are left in the root", left());
    }
}

/// A process, its child, a grandchild in a session of its own, and one whose parent has ended.
const FAMILY: &str = "echo $$ >> processes; \
    sh -c 'echo $$ >> processes; setsid sh -c \"echo \\$\\$ >> processes; sleep 1000; :\"; :' & \
    sh -c 'setsid sh -c \"echo \\$\\$ >> processes; sleep 1000; :\" &'; \
    wait";

#[test]
fn exec_that_is_killed_leaves_neither_a_folder_nor_a_process_of_its_command() {
    let mut killed = Killed::start(FAMILY, 4);
    killed.exec.kill().expect("it runs");
    killed.leaves_nothing();
}

#[test]
fn exec_whose_process_with_the_device_is_killed_leaves_nothing_either() {
    let killed = Killed::start(FAMILY, 4);
    kill(killed.keeper(), Signal::SIGKILL).expect("it runs");
    killed.leaves_nothing();
}

#[test]
fn exec_whose_processes_are_both_killed_leaves_no_folder_and_no_command() {
    let mut killed = Killed::start("echo $$ >> processes; exec sleep 1000", 1);
    let keeper = killed.keeper();
    killed.exec.kill().expect("it runs");
    // It may be ending already.
    let _ = kill(keeper, Signal::SIGKILL);
    killed.leaves_nothing();
}

#[test]
fn command_that_takes_too_long_is_ended_with_every_process_that_it_started() {
    let scratch = Scratch::new();
    let process = scratch.at("process");
    let commands = format!("sh -c 'echo $$ > {process}; exec sleep 1000' & wait");
    assert_eq!(exec(&["--timeout", "5"], &["sh", "-c", &commands]).status.code(), Some(124));
    let process = std::fs::read_to_string(process).expect("it was told").trim().parse().expect("a number");
    assert!(eventually(|| has_ended(Pid::from_raw(process))));
}

#[test]
fn process_that_outlives_the_command_on_purpose_stays() {
    let output = exec(&[], &["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"]);
    let process = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    kill(Pid::from_raw(process), Signal::SIGKILL).expect("it runs");
}

#[test]
fn command_is_in_the_process_group_of_whoever_started_exec() {
    let commands = "\"$0\" exec -- sh -c 'read -r _ _ _ _ group _ < /proc/$$/stat; echo $group'; echo $$";
    let output = Command::new("setsid")
        .args(["--wait", "sh", "-c", commands])
        .arg(path())
        .env("ANE_SHIM", libc())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<&str> = said.split_whitespace().collect();
    assert!(matches!(numbers[..], [command, starter] if command == starter), "{said}");
}

/// Programs that start others may ignore the end of their children, and what they start inherits that.
#[test]
fn exec_that_inherits_ignored_ends_of_children_learns_how_its_command_ended() {
    let ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
    let mut command = Command::new("python3");
    command.args(["-c", ignoring]).arg(path()).args(["exec", "--", "sh", "-c", "exit 42"]);
    let status = command.env("ANE_SHIM", libc()).status().expect("there is python3");
    assert_eq!(status.code(), Some(42));
}

#[test]
fn exec_removes_nothing_of_a_folder_that_took_the_name_of_its_root() {
    for ending in ["true", "kill -9 $PPID; sleep 1000"] {
        let scratch = Scratch::new();
        let commands = format!("mkdir -p home/dev; mv root other; ln -s home root; {ending}");
        Command::new(path())
            .args(["exec", "--root", "root", "--", "sh", "-c", &commands])
            .current_dir(scratch.path())
            .env("TMPDIR", scratch.path())
            .env("ANE_SHIM", libc())
            .output()
            .expect("it starts");
        assert!(eventually(|| scratch.names() == ["home", "other", "root"]), "{:?}", scratch.names());
        assert!(scratch.path().join("home/dev").is_dir(), "{ending}");
    }
}

#[test]
fn exec_refuses_a_root_that_others_may_change() {
    let scratch = Scratch::new();
    let root = scratch.path().join("root");
    std::fs::create_dir(&root).expect("can be made");
    std::fs::set_permissions(&root, Permissions::from_mode(0o777)).expect("it is ours");
    let output = exec(&["--root", root.to_str().expect("text")], &["true"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("every user may write there"), "{told}");
    assert_eq!(std::fs::read_dir(&root).expect("it is there").count(), 0);
}

#[test]
fn exec_whose_temporary_folder_is_relative_shows_the_command_where_its_socket_is() {
    let scratch = Scratch::new();
    let status = Command::new(path())
        .args(["exec", "--", "sh", "-c", "cd / && test -S $ANE_SHIM_SOCKET && test -d $ANE_SHIM_DEV"])
        .current_dir(scratch.path())
        .env("TMPDIR", ".")
        .env("ANE_SHIM", libc())
        .status()
        .expect("it starts");
    assert!(status.success());
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

/// Numbers of processes that sleep for so long.
fn sleeping(seconds: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux has it").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let wanted = format!("sleep\0{seconds}\0");
    lines.filter(|line| line == wanted.as_bytes()).count()
}

#[test]
fn exec_that_is_killed_ends_processes_that_start_others_all_the_time() {
    let seconds = format!("1000.{}", std::process::id());
    let bomb = format!(
        "echo $$ >> processes; setsid sh -c 'for _ in $(seq 5000); do (sleep {seconds} &); sleep 0.001; done'"
    );
    let mut killed = Killed::start(&bomb, 1);
    assert!(eventually(|| sleeping(&seconds) > 20));
    killed.exec.kill().expect("it runs");
    killed.leaves_nothing();
    assert!(eventually(|| sleeping(&seconds) == 0), "{} are left", sleeping(&seconds));
}

#[test]
fn exec_whose_whole_process_group_is_killed_leaves_nothing() {
    for _ in 0..10 {
        let mut killed = Killed::start(FAMILY, 4);
        killpg(Pid::from_raw(i32::try_from(killed.exec.id()).expect("a number")), Signal::SIGKILL)
            .expect("it runs");
        killed.exec.wait().expect("it is a child");
        killed.leaves_nothing();
    }
}

#[test]
fn exec_that_has_few_descriptors_leaves_no_root() {
    // From as few as a shell needs to as many as everything needs: each step of the work fails once.
    for most in 6..40 {
        let scratch = Scratch::new();
        let commands = format!("ulimit -n {most}; exec {} exec --root root -- true", path().display());
        Command::new("bash")
            .args(["-c", &commands])
            .current_dir(scratch.path())
            .env("TMPDIR", scratch.path())
            .env("ANE_SHIM", libc())
            .output()
            .expect("there is a shell");
        let root = scratch.path().join("root");
        let left = std::fs::read_dir(&root).map_or(0, Iterator::count);
        assert!(
            left == 0 && scratch.names().iter().all(|name| name == "root"),
            "{most}: {left} {:?}",
            scratch.names()
        );
    }
}

#[test]
fn command_has_the_limit_of_descriptors_of_whoever_started_exec() {
    let commands = format!("ulimit -Sn 77; exec {} exec -- sh -c 'ulimit -Sn'", path().display());
    let mut command = Command::new("bash");
    let output = command.args(["-c", &commands]).env("ANE_SHIM", libc()).output().expect("there is a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "77\n");
}
