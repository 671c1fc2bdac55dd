//! The companion blocks from the driver's side: over the bus of a device in this process and over a socket, by the
//! calls of a client, and by `ane mover`.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use ane::device::{Device, Location};
use ane::model::Model;
use ane::session::Session;
use ane::{container, embedded};
use ane_device::Options;
use ane_driver::bus::Bus;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::companion::{mover, pe_mmu_map, pe_mmu_unmap};
use ane_tests::command::built;
use ane_tests::daemon::Daemon;
use ane_tests::data::example;
use ane_uapi::hw::mmio_map::Region;
use ane_uapi::hw::pe_mmu::{PE_MMU, REGIONS};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::ioctl::companion::{Mover, PeMmuMapEntry, PeMmuUnmapEntry};
use ane_uapi::ioctl::errno::Errno;

const MEMORY: usize = 1 << 20;

fn options(pe_mmu: Option<&str>) -> Options {
    let pe_mmu = pe_mmu.map(|text| text.parse().expect("attributes"));
    Options { pe_mmu, ..Options::default() }
}

const fn entry(va: u64, pa: u64, size: u64) -> PeMmuMapEntry {
    PeMmuMapEntry { va, pa, size }
}

const fn transfer(direction: u32, source: u32, destination: u32, size: u32) -> Mover {
    Mover { direction, size, source, destination, cycles: 0, reserved: 0 }
}

fn scratch(at: u32) -> EngineOffset {
    EngineOffset(Region::TileL2.range().start.0 + at)
}

/// Regions that the block counts.
fn regions(bus: &mut impl Bus) -> u32 {
    bus.read(EngineOffset(PE_MMU.base.0 + REGIONS.offset())).expect("there is a PE_MMU")
}

/// The requests that both buses have to answer alike.
fn both_blocks(bus: &mut impl Bus) {
    let all = [entry(0, 0x4000, 0x4000), entry(0x20_0000, 0, 0x40_0000), entry(7, 7, 0)];
    pe_mmu_map(bus, &all).expect("is installed");
    assert_eq!(regions(bus), 3);
    let wraps = pe_mmu_map(bus, &[entry(0, 0, 1), entry(u64::MAX, 0, 2)]).expect_err("wraps");
    assert_eq!((wraps.errno(), regions(bus)), (Errno::ERANGE, 3));
    let full = pe_mmu_map(bus, &[entry(0, 0, 1 << 50)]).expect_err("is too much");
    assert_eq!((full.errno(), regions(bus)), (Errno::ENOSPC, 3));
    let long = pe_mmu_map(bus, &vec![entry(0, 0, 1); 1025]).expect_err("is too long");
    assert_eq!(long.errno(), Errno::E2BIG);
    pe_mmu_unmap(bus, &[PeMmuUnmapEntry { va: 0, size: 0x40_0000 }]).expect("is taken out");
    assert_eq!(regions(bus), 1);
    pe_mmu_unmap(bus, &[]).expect("nothing is no error");
    bus.write(scratch(0), 0x1234_5678).expect("a word of scratch");
    assert_eq!(mover(bus, &transfer(3, 0, 0x100, 8)).expect("moves"), 11);
    assert_eq!(bus.read(scratch(0x1000)).expect("a word of scratch"), 0x1234_5678);
    assert_eq!(mover(bus, &transfer(0, 0xffff_ffff, 0x100, 1)).expect("fills"), 1);
    assert_eq!(bus.read(scratch(0x1000)).expect("a word of scratch"), 0);
    for (wrong, errno) in [
        (transfer(4, 0, 0, 1), Errno::EINVAL),
        (transfer(3, 0, 0, 0x1_0000), Errno::ERANGE),
        (transfer(3, 0x1_ffff, 0, 2), Errno::ERANGE),
        (transfer(1, 0, 0xfff, 2), Errno::ERANGE),
        (Mover { reserved: 1, ..transfer(3, 0, 0, 1) }, Errno::EINVAL),
    ] {
        assert_eq!(mover(bus, &wrong).expect_err("is refused").errno(), errno, "{wrong:?}");
    }
    assert_eq!(mover(bus, &transfer(2, 0, 0, 0)).expect("nothing to do"), 0);
}

#[test]
fn both_blocks_answer_over_the_bus_of_a_device_in_this_process() {
    both_blocks(&mut embedded::open(&options(Some("")), MEMORY).expect("a device"));
}

#[test]
fn both_blocks_answer_over_the_socket_of_a_daemon() {
    let daemon = Daemon::start(&["--pe-mmu"]);
    both_blocks(&mut VhostUser::connect(&daemon.socket(), Settings::default()).expect("a device"));
}

#[test]
fn device_without_pe_mmu_says_so_and_has_a_mover_all_the_same() {
    let mut bus = embedded::open(&options(None), MEMORY).expect("a device");
    let absent = pe_mmu_map(&mut bus, &[]).expect_err("is absent");
    assert_eq!((absent.errno(), absent.to_string()), (Errno::EOPNOTSUPP, "device has no pe_mmu".to_owned()));
    assert_eq!(mover(&mut bus, &transfer(3, 0, 1, 64)).expect("moves"), 88);
}

/// Runs a script from standard input.
fn script(text: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(built("ane"))
        .args(["mover", "-"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ane starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("ane reads");
    child.wait_with_output().expect("ane ends")
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const SCRIPT: &str = "
scratch 0x1000 = 11 22 33 44            # a unit
config 88 = 0x100 0x200 0xc0000001      # bank 0, for XMOV
move 0x100 0x300 1 scratch-to-scratch
xmov 0
wait
expect scratch 0x2000 = 11 22 33 44
show scratch 0x3000 4
read STATUS
write COMMAND_ADDR 0x80000055
";

#[test]
fn script_moves_shows_and_says_what_was_refused() {
    let shown = "scratch 0x003000  11 22 33 44\nSTATUS = 0x408\nline 10: refused: unknown command\n";
    assert_eq!(said(&script(SCRIPT, &[])), (Some(0), shown.to_owned(), String::new()));
    let (code, shown, _) = said(&script(SCRIPT, &["--mover-profile", "isa"]));
    assert_eq!(code, Some(0));
    assert!(shown.contains("STATUS = 0x428"));
}

#[test]
fn script_reads_what_a_transfer_took_and_why_one_was_refused() {
    let text = "move 0 0x100 8 scratch-to-scratch\nwait\nread last_cycles\nread LAST_OUTCOME";
    let shown = |cycles| format!("last_cycles = {cycles}\nLAST_OUTCOME = 0x0\n");
    assert_eq!(said(&script(text, &[])).1, shown("0xb"));
    assert_eq!(said(&script(text, &["--mover", "contended"])).1, shown("0x20"));
}

#[test]
fn script_ends_with_its_last_transfer_and_names_the_line_of_one_that_is_refused_later() {
    let text = "move 0 0 0xffff zero-scratch\nmove 0x1ffff 0x10 2 scratch-to-scratch\n# the first is at work";
    assert_eq!(said(&script(text, &[])).1, "line 2: refused: outside scratch\n");
    // The wait is not to blame.
    let (code, shown, error) = said(&script(&format!("{text}\nwait\nread TRANSFERS"), &[]));
    let expected = "line 2: refused: outside scratch\nTRANSFERS = 0x1\n";
    assert_eq!((code, shown.as_str(), error.as_str()), (Some(0), expected, ""));
}

#[test]
fn script_is_said_to_have_moved_nothing_only_if_it_has() {
    let refused = "move 0x1ffff 0 2 scratch-to-scratch\n";
    let (code, shown, error) = said(&script(refused, &[]));
    assert_eq!((code, shown.as_str()), (Some(4), "line 1: refused: outside scratch\n"));
    assert!(error.contains("every transfer was refused"), "{error}");
    // One transfer, and as many refusals of what is none.
    let (code, shown, error) =
        said(&script("move 0 1 1 scratch-to-scratch\nwrite COMMAND_ADDR 0x80000055", &[]));
    assert_eq!((code, shown.as_str()), (Some(0), "line 2: refused: unknown command\n"), "{error}");
}

#[test]
fn script_that_expects_something_else_ends_there_and_says_what_it_found() {
    let (code, shown, error) =
        said(&script("scratch 0 = 01\nshow scratch 0 1\nexpect scratch 0 = 02\nwait", &[]));
    assert_eq!((code, shown.as_str()), (Some(5), "scratch 0x000000  01\n"));
    assert!(error.contains("line 3: byte 0x0 of scratch is 0x01, not 0x02"), "{error}");
}

#[test]
fn bad_line_is_named_and_nothing_was_done() {
    for (line, what) in [
        ("fly", "is not understood"),
        ("move 0 1 65536 scratch-to-scratch", "65536 units are more than a transfer moves, 65535"),
        ("move 1 2 3 sideways", "direction \"sideways\" is not known"),
        ("scratch 0x200000 = 00", "do not lie in scratch"),
        ("scratch 0 = 0", "is no byte"),
        ("xmov 3", "there is no thread 3"),
        ("read NOTHING", "is not known"),
        ("write 0x10 0x40 t9", "core \"t9\" is not known"),
        ("fill scratch 0 4294967295 0", "are more than"),
        ("config 0x40000000 = 0", "fewer words"),
    ] {
        let (code, shown, error) = said(&script(&format!("show scratch 0 1\n{line}"), &[]));
        assert_eq!((code, shown.as_str()), (Some(1), ""), "{line}");
        assert!(error.contains("line 2") && error.contains(what), "{line}: {error}");
    }
}

#[test]
fn script_shows_the_same_as_values() {
    let (code, shown, error) = said(&script(SCRIPT, &["--json"]));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("it is json");
    let expected = serde_json::json!({
        "script": "standard input",
        "shown": [
            { "line": 8, "bytes": { "memory": "scratch", "at": 0x3000, "bytes": [0x11, 0x22, 0x33, 0x44] } },
            { "line": 9, "register": { "name": "STATUS", "value": 0x408 } },
            { "line": 10, "refused": { "outcome": "unknown command", "count": 1, "last_line": 10 } },
        ],
        "failed": null,
    });
    assert_eq!(shown, expected);
}

#[test]
fn script_that_ended_early_says_why_among_its_values() {
    let (code, shown, error) = said(&script("read STATUS\nexpect scratch 0 = 02", &["--json"]));
    assert_eq!(code, Some(5));
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("it is json");
    assert_eq!(shown["shown"][0]["register"]["value"], 0x408);
    assert_eq!(shown["failed"], "line 2: byte 0x0 of scratch is 0x00, not 0x02");
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn each_transfer_of_a_program_is_translated_once() {
    let device =
        Device::open(&Location::Embedded, &options(Some("overhead-ns=1000"))).expect("it can be had");
    let file = std::fs::read(example()).expect("the tree has it");
    let program = container::open(&file).expect("it is a program");
    let mut session = Session::load(&device, &Model::of(&program)).expect("it can be loaded");
    session.run().expect("it runs");
    let counted = device.with_embedded(|driver| {
        let dart = driver.bus_mut().device_mut().ane().dart();
        (dart.before().expect("it was asked for").counters().translations, dart.transfers())
    });
    // An addition and a task behind it: descriptors, sources, results.
    assert_eq!(counted, Some((7, 7)));
}

/// The output of `ane info` about a device.
fn info(arguments: &[&str]) -> String {
    let output = Command::new(built("ane")).arg("info").args(arguments).output().expect("ane starts");
    let (code, shown, error) = said(&output);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    shown
}

#[test]
fn info_tells_how_both_blocks_were_made() {
    let made = ["--pe-mmu=page=0x1000,overhead-ns=2.5,fabric-ns=40", "--mover=wormhole,contended"];
    let page = info(&made);
    for line in [
        "PE_MMU  pages of 0x1000 bytes, a translation costs 2.5 ns, a message 40 ns and has at most 1024 entries",
        "mover   as seed describes it, words of wormhole, ports contended, a command without credit is refused",
    ] {
        assert!(page.contains(line), "{page}");
    }
    let report: serde_json::Value =
        serde_json::from_str(&info(&[&made[..], &["--json"]].concat())).expect("it is json");
    let pe_mmu = serde_json::json!({
        "page_bytes": 0x1000, "overhead_ns": 2.5, "fabric_ns": 40.0, "entries_max": 1024
    });
    let mover = serde_json::json!({
        "profile": "seed", "chip": "wormhole", "contended": true, "waits_for_credit": false
    });
    assert_eq!((&report["pe_mmu"], &report["mover"]), (&pe_mmu, &mover));
    let without = info(&[]);
    assert!(!without.contains("PE_MMU") && without.contains("as seed describes it, words of blackhole"));
}
