//! The array job on a real Slurm of one node.
//!
//! Its daemons, those of Debian's packages, run in the foreground as children of the test, with everything they keep in a
//! temporary folder, on ports of their own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ane_tests::command::path;
use ane_tests::data::not_run;

use super::rig::{CampaignFolder, reported, totals};

/// Parts of the campaign.
const PARTS: usize = 6;

/// How long anything of Slurm's may take. It is only used up by a failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// A Slurm of one node.
struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts one; says why it cannot be.
    fn start() -> Result<Self, String> {
        if !nix::unistd::geteuid().is_root() {
            return Err("Slurm's daemons want to be root".to_owned());
        }
        for program in ["slurmctld", "slurmd", "munged", "sbatch"] {
            let is_there = Command::new("sh")
                .args(["-c", &format!("command -v {program}")])
                .stdout(Stdio::null())
                .status();
            if !is_there.is_ok_and(|status| status.success()) {
                return Err(format!("{program} is missing; tools/install has it"));
            }
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut slurm = Self { folder, daemons: Vec::new() };
        slurm.configure();
        let at = |name: &str| slurm.at(name).display().to_string();
        let configuration = at("slurm.conf");
        let munge = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.socket")),
            format!("--pid-file={}", at("munged.pid")),
            format!("--log-file={}", at("munged.log")),
            format!("--seed-file={}", at("munge.seed")),
        ];
        let munged = daemon(Command::new("munged").args(munge));
        slurm.daemons.push(munged);
        slurm.until("munge's socket", |slurm| slurm.at("munge.socket").exists());
        for name in ["slurmctld", "slurmd"] {
            let daemon = daemon(Command::new(name).args(["-D", "-f", &configuration]));
            slurm.daemons.push(daemon);
        }
        slurm.until("an idle node", |slurm| {
            let told = slurm.command("sinfo").args(["-h", "-o", "%T"]).output().expect("sinfo starts");
            String::from_utf8_lossy(&told.stdout).trim() == "idle"
        });
        Ok(slurm)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes what the daemons read.
    fn configure(&self) {
        // The host's name as Slurm takes it: without a domain.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux has it");
        let host = host.trim().split('.').next().expect("a name");
        let folder = self.folder.path().display();
        let ports: Vec<u16> = [(), ()]
            .map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"))
            .iter()
            .map(|listener| listener.local_addr().expect("it has an address").port())
            .collect();
        for name in ["state", "spool"] {
            std::fs::create_dir(self.at(name)).expect("a folder can be made");
        }
        let text = format!(
            "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge.socket\nCredType=cred/munge\nSlurmctldPort={}\nSlurmdPort={}\n\
             SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid\n\
             SlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd.log\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nMpiDefault=none\n\
             ReturnToService=2\nKillWait=1\nSlurmdParameters=config_overrides\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=100000 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            ports[0], ports[1]
        );
        std::fs::write(self.at("slurm.conf"), text).expect("a file can be written");
        let key: Vec<u8> = (0..1024_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(self.at("munge.key"), key).expect("a file can be written");
        let secret = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        std::fs::set_permissions(self.at("munge.key"), secret).expect("they can be changed");
    }

    /// A command of Slurm's that speaks with this one.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.at("slurm.conf"));
        command
    }

    /// Waits until something holds.
    fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            if Instant::now() > deadline {
                let log = |name: &str| std::fs::read_to_string(self.at(name)).unwrap_or_default();
                panic!("no {what}\n{}\n{}\n{}", log("munged.log"), log("slurmctld.log"), log("slurmd.log"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts the job of the tree; gives `sbatch`, which waits for its end.
    fn submit(&self, rig: &CampaignFolder, tasks: &str) -> Child {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/campaign/slurm.sh");
        self.command("sbatch")
            .args(["--wait", "--output=/dev/null", "--no-requeue", &format!("--array={tasks}")])
            .arg(script)
            .args([rig.path("m.toml"), rig.path("results")])
            .env("ANE", path())
            .env("ANE_PARTS", PARTS.to_string())
            .stdout(Stdio::null())
            .spawn()
            .expect("sbatch starts")
    }

    fn cancel(&self, job: &str) -> Output {
        self.command("scancel").args(["--signal=KILL", "--full", job]).output().expect("scancel starts")
    }

    /// The tasks of the job that run now, as Slurm names them.
    fn running(&self) -> Vec<String> {
        let told = self.command("squeue").args(["-h", "-r", "-t", "running", "-o", "%i"]).output();
        let told = told.expect("squeue starts");
        String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect()
    }
}

fn daemon(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a daemon starts")
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The node before the controller, and both before munge.
        for daemon in self.daemons.iter_mut().rev() {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(daemon.id()).expect("a number"));
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            let deadline = Instant::now() + Duration::from_secs(5);
            while daemon.try_wait().is_ok_and(|status| status.is_none()) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Cases that take long enough to be killed in their midst.
fn campaign() -> CampaignFolder {
    let rig = CampaignFolder::new(
        r#"
        numerics = ["m1", "exact"]
        seeds = 12
        [[program]]
        path = "relu.anec"
        family = "activation"
        expect.meaning = "relu"
        [[program]]
        path = "wide.anec"
        family = "convolution"
        seeds = 16
        expect.numerics = "exact"
        absolute = 0.1
    "#,
    );
    rig.built(
        "wide.anec",
        "x = input 32x16x16\ny = convolution x outputs=64 kernel=3x3 padding=1 weights=random:1\noutput y\n",
    );
    rig
}

#[test]
fn array_job_of_which_a_third_was_killed_counts_the_same_when_run_again() {
    let mut slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return not_run(&why),
    };
    let rig = campaign();
    let whole = rig.run("whole", &["--jobs", "2"]);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));

    let mut job = slurm.submit(&rig, &format!("1-{PARTS}"));
    // Two tasks of six, the first two that are seen to have lines of results and to run still.
    let mut killed: Vec<String> = Vec::new();
    slurm.until("tasks to kill", |slurm| {
        for task in slurm.running() {
            let (_, number) = task.split_once('_').expect("a task of an array");
            let has_lines = std::fs::metadata(rig.path(&format!("results/{number}.jsonl")))
                .is_ok_and(|file| file.len() > 0);
            if has_lines && killed.len() < PARTS / 3 && !killed.iter().any(|known| known == number) {
                slurm.cancel(&task);
                killed.push(number.to_owned());
            }
        }
        killed.len() == PARTS / 3
    });
    // Some of its tasks were killed, so that the job did not end well.
    assert!(!job.wait().expect("it ends").success(), "no task was killed");
    let files = || (1..=PARTS).map(|part| rig.path(&format!("results/{part}.jsonl")));
    let before = reported(files());

    assert!(slurm.submit(&rig, &killed.join(",")).wait().expect("it ends").success());
    let (whole, parts) = (rig.report(&["whole"]), reported(files()));
    assert!(before.total.cases < whole.total.cases, "the kills took nothing away");
    assert_eq!((totals(&parts), parts.repeated), (totals(&whole), 0));
    assert_eq!(parts.total.failures() + parts.contradictions.len() as u64, 0);
}
