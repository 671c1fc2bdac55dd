//! F2: damaged files of every kind, through every command that reads them.
//!
//! Each run is a process of its own with a limit on its memory. It may refuse the file, and mostly does; it may not panic, die
//! of a signal, take seconds or take gigabytes. A file that does is kept in the tests' scratch folder of the target folder.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ane_tests::command::{ane, path};
use ane_tests::random::Random;
use ane_tests::{data, model, workspace};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::harness::{Figure, Plan, Verdict};

const FIGURE: Figure = Figure {
    id: "F2",
    what: "mutated programs, arrays, models and texts through every command that reads them",
    wanted: "no panic, no signal, at most 20 s and 4 GiB each",
    ci: 20_000,
    release: 1_000_000,
};

/// How long a command may take. A damaged program may be a large one: it is computed then.
const LONGEST: Duration = Duration::from_secs(20);
/// Memory of its own that a command may take: what the readers of models are held to elsewhere, too. Memory that it shares with
/// its device is not among it: its addresses are spoken for as a whole, and few pages of it are touched.
const MEMORY: u64 = 4 << 30;

/// Words of a command line that stand for the damaged file, for a sound one of its kind, and for a file to write.
const DAMAGED: &str = "DAMAGED";
const SOUND: &str = "SOUND";
const OUT: &str = "OUT";
/// A sound program, whatever the kind.
const PROGRAM: &str = "PROGRAM";

/// A model in a folder, beside its constants.
const PACKAGE: &str = "mlpackage";
/// Where it lies there.
const IN_PACKAGE: &str = "Data/com.apple.CoreML";

/// Commands that start processes, measure, or compute twice: a quarter as often as the others.
const SLOW: &[&str] = &["campaign", "bench", "compare"];

/// A kind of file: how it ends, the files of it, and who reads it.
struct Sort {
    ending: &'static str,
    sound: Vec<Vec<u8>>,
    commands: &'static [&'static [&'static str]],
}

const OF_PROGRAMS: &[&[&str]] = &[
    &["info", DAMAGED],
    &["info", "--json", DAMAGED],
    &["decode", DAMAGED],
    &["decode", "--explain", DAMAGED],
    &["decode", "--json", DAMAGED],
    &["dart", DAMAGED],
    &["regs", DAMAGED],
    &["faults", DAMAGED],
    &["trace", DAMAGED],
    &["trace", "--json", DAMAGED],
    &["sram", DAMAGED],
    &["run", DAMAGED],
    &["run", DAMAGED, "--numerics", "exact"],
    &["run", DAMAGED, "-o", OUT],
    &["diff", DAMAGED, SOUND],
    &["convert", DAMAGED, OUT],
    &["patch", DAMAGED, "--task", "0", "--set", "PECfg.operation=1", "-o", OUT],
    &["report", DAMAGED, "-o", OUT],
    &["report", SOUND, DAMAGED, "-o", OUT],
    &["bench", DAMAGED, "--seconds", "0.01"],
    &["explain", "0x8000", DAMAGED],
    &["campaign", DAMAGED, "-o", OUT],
];
const OF_ARRAYS: &[&[&str]] = &[
    &["run", PROGRAM, "-i", "0=DAMAGED"],
    &["run", PROGRAM, "-i", "1=DAMAGED", "--allow-nan"],
    &["diff", DAMAGED, SOUND],
    &["diff", SOUND, DAMAGED, "--json"],
];
const OF_MODELS: &[&[&str]] = &[&["compile", DAMAGED, "-o", OUT], &["compare", DAMAGED]];
const OF_TEXTS: &[&[&str]] =
    &[&["build", DAMAGED, "-o", OUT], &["mover", DAMAGED], &["campaign", "--list", DAMAGED]];
const OF_RESULTS: &[&[&str]] =
    &[&["campaign", "report", DAMAGED], &["campaign", "report", DAMAGED, "--html", OUT]];

fn in_tree(path: &str) -> Vec<u8> {
    std::fs::read(workspace::root().join(path)).expect("it is in the tree")
}

/// What a small campaign writes.
fn results() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(at("sound.anec"), in_tree("examples/add_relu.anec")).expect("the folder is ours");
    let mut cut = in_tree("examples/add_relu.anec");
    cut.truncate(cut.len() / 2);
    std::fs::write(at("cut.anec"), cut).expect("the folder is ours");
    let manifest = "numerics = [\"m1\", \"exact\"]\nseeds = 2\n[[program]]\npath = \"*.anec\"\n";
    std::fs::write(at("campaign.toml"), manifest).expect("the folder is ours");
    ane(&["campaign", "--quiet", &at("campaign.toml"), "-o", &at("results.jsonl")]);
    std::fs::read(at("results.jsonl")).expect("the campaign has results")
}

fn sorts() -> Vec<Sort> {
    let folder = workspace::root().join("examples/probes");
    let mut anec = vec![in_tree("examples/add_relu.anec")];
    let mut probes: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("it is in the tree")
        .map(|entry| entry.expect("a file").path())
        .collect();
    probes.sort_unstable();
    let probes = probes.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "anec"));
    anec.extend(probes.map(|path| std::fs::read(path).expect("it is in the tree")));
    let compiled = data::programs().unwrap_or_default().into_iter().map(|sample| sample.bytes);
    let hwx: Vec<_> = compiled.filter(|bytes| bytes.len() < 1 << 20).collect();
    let array = |name: &str| in_tree(&format!("tests/models/{name}"));
    let arrays = ["attention.x.npy", "unet.y.npy", "block_64.x.npy", "shapes.x.npy"].map(array).to_vec();
    let core_ml = ["attention", "residual", "shapes", "unet", "perceptron"]
        .map(|name| array(&format!("{name}.mlpackage/Data/com.apple.CoreML/model.mlmodel")));
    let texts: [&[u8]; 4] = [
        b"x = input 64x1x1\ny = softmax x\noutput y\n",
        b"a = input 8x4x30\nb = input 8x1x1\nc = multiply a b\nd = relu c\noutput d\n",
        b"scratch 0 = 01 02 03 04\nfill iram 0 32 7\nmove scratch iram 16 0\nwait\nshow iram 0 16\n",
        b"numerics = [\"m1\", \"exact\"]\nseeds = 3\n[[program]]\npath = \"*.anec\"\nexpect.numerics = \"exact\"\n",
    ];
    let all = vec![
        Sort { ending: "anec", sound: anec, commands: OF_PROGRAMS },
        Sort { ending: "hwx", sound: hwx, commands: OF_PROGRAMS },
        Sort { ending: "npy", sound: arrays, commands: OF_ARRAYS },
        Sort {
            ending: "onnx",
            sound: vec![
                model::operators(),
                model::sequence(),
                model::bert(4, 16, 2, 1),
                model::mobilenet(16, 4),
            ],
            commands: OF_MODELS,
        },
        Sort { ending: PACKAGE, sound: core_ml.to_vec(), commands: OF_MODELS },
        Sort { ending: "txt", sound: texts.map(<[u8]>::to_vec).to_vec(), commands: &OF_TEXTS[..2] },
        Sort { ending: "toml", sound: texts.map(<[u8]>::to_vec).to_vec(), commands: &OF_TEXTS[2..] },
        Sort { ending: "jsonl", sound: vec![results()], commands: OF_RESULTS },
    ];
    all.into_iter().filter(|sort| !sort.sound.is_empty()).collect()
}

/// A sound file with something wrong in it, mostly a little.
fn damaged(sort: &Sort, random: &mut Random) -> Vec<u8> {
    let pick = |random: &mut Random| &sort.sound[random.below(sort.sound.len() as u32) as usize];
    let mut bytes = pick(random).clone();
    for _ in 0..1 + random.below(4) {
        let length = bytes.len() as u32;
        if length == 0 {
            break;
        }
        // The beginning says what the rest is.
        let span = if random.below(2) == 0 { length.min(512) } else { length };
        let at = random.below(span) as usize;
        match random.below(8) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = random.word() as u8,
            3 | 4 => {
                let wild = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 1 << random.below(32), random.word()];
                let word = wild[random.below(7) as usize].to_le_bytes();
                let room = bytes.len() - at;
                bytes[at..at + room.min(4)].copy_from_slice(&word[..room.min(4)]);
            }
            5 => bytes.truncate(at),
            6 => {
                let end = (at + 1 + random.below(64) as usize).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let other = pick(random);
                let from = random.below(other.len() as u32) as usize;
                let part = &other[from..(from + 1 + random.below(256) as usize).min(other.len())];
                let end = (at + part.len()).min(bytes.len());
                bytes.splice(at..end, part.iter().copied());
            }
        }
    }
    bytes
}

/// Reads what a command says until it ends; `None` if that takes too long.
fn heard(stderr: &mut ChildStderr) -> Option<String> {
    let end = Instant::now() + LONGEST;
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("a short time");
        let fd = stderr.as_fd();
        if poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout)).ok()? == 0 {
            return None;
        }
        match stderr.read(&mut part) {
            Ok(0) | Err(_) => return Some(String::from_utf8_lossy(&text).into_owned()),
            // Output beyond this is not kept.
            Ok(read) if text.len() < 1 << 16 => text.extend_from_slice(&part[..read]),
            Ok(_) => {}
        }
    }
}

/// The exit code of a command, or the fault in the way that it ended.
fn judge(mut child: Child) -> Result<i32, String> {
    let said = heard(child.stderr.as_mut().expect("it is piped"));
    if said.is_none() {
        child.kill().expect("it is ours");
    }
    let status = child.wait().expect("it is ours");
    let Some(said) = said else { return Err(format!("takes more than {LONGEST:?}")) };
    match status.code() {
        // The parser of command lines: the command is not run at all.
        Some(2) if said.starts_with("error: ") => Err(format!("is no command line: {said}")),
        Some(code @ 0..=5) if !said.contains("panicked") => Ok(code),
        Some(code) => Err(format!("exit code {code}: {said}")),
        None => Err(format!("signal {:?}: {said}", status.signal())),
    }
}

/// One command on one file; how it was called, and how that ended.
fn run(sorts: &[Sort], folder: &Path, random: &mut Random) -> Result<i32, String> {
    // Programs are what most commands read.
    let sort = &sorts
        [if random.below(2) == 0 { random.below(2) } else { random.below(sorts.len() as u32) } as usize];
    let file = folder.join(format!("damaged.{}", sort.ending));
    let content =
        if sort.ending == PACKAGE { file.join(IN_PACKAGE).join("model.mlmodel") } else { file.clone() };
    std::fs::write(&content, damaged(sort, random)).expect("the scratch folder can be written");
    let sound = folder.join(format!("sound.{}", sort.ending));
    std::fs::write(&sound, &sort.sound[0]).expect("the scratch folder can be written");
    let (out, program) = (folder.join("out"), folder.join("program.anec"));
    let names = [(DAMAGED, &file), (SOUND, &sound), (OUT, &out), (PROGRAM, &program)];
    let mut template = sort.commands[random.below(sort.commands.len() as u32) as usize];
    if SLOW.contains(&template[0]) && random.below(4) != 0 {
        template = sort.commands[0];
    }
    let named = |word: &&str| {
        names
            .iter()
            .fold((*word).to_owned(), |word, (name, path)| word.replace(name, &path.to_string_lossy()))
    };
    let mut command = Command::new(path());
    command.args(template.iter().map(named)).current_dir(folder).env_remove("ANE_DEVICE");
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the command starts");
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    let _ = prlimit(Pid::from_raw(child.id() as i32), Resource::Data, limit);
    let ended = judge(child);
    let _ = std::fs::remove_file(&out).or_else(|_| std::fs::remove_dir_all(&out));
    ended.map_err(|why| {
        let why: String = why.chars().take(300).collect();
        let kept = format!("mutated-{}.{}", random.next(), sort.ending);
        let _ = std::fs::copy(&content, Path::new(env!("CARGO_TARGET_TMPDIR")).join(&kept));
        format!("ane {} ({kept}): {why}", template.join(" "))
    })
}

/// The runs of one thread: how often each exit code was seen, and what was wrong.
fn part(plan: Plan, thread: u64, left: &AtomicU64) -> ([u64; 6], Vec<String>) {
    let (sorts, mut random) = (sorts(), plan.random(thread));
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("program.anec"), &sorts[0].sound[0]).expect("the folder is ours");
    let package = folder.path().join("damaged.mlpackage");
    std::fs::create_dir_all(package.join(IN_PACKAGE).join("weights")).expect("the folder is ours");
    for name in ["Manifest.json", "Data/com.apple.CoreML/weights/weight.bin"] {
        let content = in_tree(&format!("tests/models/residual.mlpackage/{name}"));
        std::fs::write(package.join(name), content).expect("the folder is ours");
    }
    let (mut codes, mut wrong) = ([0; 6], Vec::new());
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        match run(&sorts, folder.path(), &mut random) {
            Ok(code) => codes[code as usize] += 1,
            Err(why) => wrong.push(why),
        }
    }
    (codes, wrong)
}

#[test]
fn f2_damaged_file_is_refused_or_read_by_every_command() {
    path();
    // The memory of cargo, which built the command, is not the command's.
    let before = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    FIGURE.run(|plan| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let left = AtomicU64::new(plan.count);
        let (codes, wrong) = std::thread::scope(|scope| {
            let left = &left;
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(plan, thread, left))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).fold(
                ([0; 6], Vec::new()),
                |(codes, wrong), (more, why)| {
                    (std::array::from_fn(|code| codes[code] + more[code]), [wrong, why].concat())
                },
            )
        });
        let most = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
        let most = if most > before { format!("{} MiB at most", most >> 10) } else { "little memory".to_owned() };
        let [done, refused, usage, _, not_run, differ] = codes;
        let mut got = format!(
            "{} runs: {done} done, {} refused, {not_run} not run to the end, {differ} differ; {most}; {} wrong",
            plan.count,
            refused + usage,
            wrong.len()
        );
        for why in wrong.iter().take(5) {
            got = format!("{got}; {}", why.replace(['\n', '|'], " "));
        }
        // Files that all are refused, or none, were not damaged as they should be.
        Verdict::counted(got, wrong.is_empty() && done > 0 && refused > 0)
    });
}
