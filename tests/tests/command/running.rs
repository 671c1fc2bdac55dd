//! `ane dart`, `regs`, `faults`, `trace` and `explain` of a device that runs: behind `aned`, and at its control socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use ane_tests::aned::Aned;
use ane_tests::client::{Clients, Loaded};
use ane_tests::command::{printed, refused};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::null_task::program;
use ane_tests::remote::Remote;
use serde_json::Value;

use super::scratch::{Scratch, example};

/// A device, `aned` before it, and a client that has run a program of two tasks and keeps it loaded.
struct Running {
    device: Daemon,
    aned: Aned,
    /// Gone before the daemon.
    client: (Clients<Remote>, Loaded),
}

impl Running {
    fn start(options: &[&str]) -> Self {
        let device = Daemon::start(options);
        let aned = Aned::start(&device.socket(), &["--control", &device.control().display().to_string()]);
        let mut clients = aned.clients();
        let file = clients.open();
        let loaded = clients.load(file, &program(2).program());
        clients.run(&loaded);
        Self { device, aned, client: (clients, loaded) }
    }

    /// The output of a command through the daemon.
    fn by_aned(&self, arguments: &[&str]) -> String {
        let device = format!("aned:{}", self.aned.socket().display());
        printed(&[arguments, &["--device", &device]].concat())
    }

    /// The output of a command at its control socket.
    fn by_control(&self, arguments: &[&str]) -> String {
        printed(&[arguments, &["--control", &self.device.control().display().to_string()]].concat())
    }
}

impl Running {
    /// The output of a command at the device while it has its tables: a driver takes them away when nothing runs.
    fn awake(&mut self, arguments: &[&str]) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            let (clients, loaded) = &mut self.client;
            clients.run(loaded);
            let told = self.by_control(arguments);
            if told.contains("mapper-ane0") || end < Instant::now() {
                return told;
            }
        }
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("output is JSON")
}

#[test]
fn tables_of_a_running_device_are_told_with_their_owner_by_aned() {
    let running = Running::start(&[]);
    let page = running.by_aned(&["dart"]);
    assert!(
        page.starts_with(&format!("context mapper-ane0, stream 0, of process {}\n", std::process::id())),
        "{page}"
    );
    assert!(page.contains("dart0, dart1, dart2: table base") && page.contains("  input tensor"), "{page}");
    let tables = json(&running.by_aned(&["dart", "--json"]));
    let context = &tables["contexts"][0];
    assert_eq!(context["processes"][0], std::process::id());
    let roles: Vec<&Value> = context["translations"][0]["runs"].as_array().expect("runs").iter().collect();
    let named: Vec<_> = roles.iter().filter_map(|run| run["role"].as_str()).collect();
    let mappings = context["mappings"].as_array().expect("mappings");
    let usages: Vec<_> = mappings.iter().filter_map(|mapping| mapping["usage"].as_str()).collect();
    assert_eq!(named, usages, "what the driver mapped is what the tables have");
}

#[test]
fn tables_at_the_control_socket_are_those_that_the_daemon_tells_of() {
    let mut running = Running::start(&[]);
    let (device, daemon) = (running.awake(&["dart", "--json"]), running.by_aned(&["dart", "--json"]));
    let (device, daemon) = (json(&device), json(&daemon));
    assert_eq!((&device["has_owners"], &daemon["has_owners"]), (&Value::from(false), &Value::from(true)));
    let pages = |tables: &Value| {
        let mut pages = Vec::new();
        for run in tables["contexts"][0]["translations"][0]["runs"].as_array().expect("runs") {
            let number = |key: &str| run[key].as_u64().expect("a number");
            let each = (0..number("bytes")).step_by(0x4000);
            pages.extend(each.map(|at| (number("address") + at, number("physical") + at)));
        }
        pages
    };
    assert_eq!(pages(&device), pages(&daemon));
    assert!(running.awake(&["dart"]).starts_with("context mapper-ane0, stream 0\n"));
}

#[test]
fn registers_are_the_same_whoever_is_asked() {
    let running = Running::start(&[]);
    // The common registers of a task keep what the last one wrote, whether or not the driver lets the device sleep.
    let range = ["regs", "--range", "madd"];
    assert_eq!(running.by_control(&range), running.by_aned(&range));
    let places = |text: &str| -> Vec<(Value, Value)> {
        let registers = json(text)["registers"].as_array().expect("a list").clone();
        registers.iter().map(|one| (one["at"].clone(), one["name"].clone())).collect()
    };
    let all = ["regs", "--all", "--json"];
    assert_eq!(places(&running.by_control(&all)), places(&running.by_aned(&all)));
    let registers = json(&running.by_aned(&["regs", "--json"]));
    let names: Vec<_> =
        registers["registers"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&Value::from("TTBR")) && names.contains(&&Value::from("InDim")), "{names:?}");
}

#[test]
fn looking_at_a_device_counts_as_no_refusal() {
    let running = Running::start(&["--strict"]);
    running.by_aned(&["regs"]);
    running.by_control(&["regs"]);
    let counters = Control::connect(&running.device.control()).ask("counters").expect("it tells");
    assert!(counters.iter().filter(|line| line.starts_with("refused-")).all(|line| line.ends_with(" 0")));
}

#[test]
fn faults_of_a_running_device_are_told_by_both() {
    let running = Running::start(&["--inject", "translation-fault:after=0"]);
    let page = running.by_aned(&["faults"]);
    assert!(page.contains("at the last fault:\nfault 1 of mapper-ane0"), "{page}");
    let page = running.by_control(&["faults"]);
    assert!(page.contains("transfer faulted at") && page.contains("HwError   no l3 entry"), "{page}");
    let (daemon, device) =
        (running.by_aned(&["faults", "--json"]), running.by_control(&["faults", "--json"]));
    assert!(json(&daemon)["dump"].is_string() && json(&daemon)["device"].is_null());
    assert!(json(&device)["failure"].is_string() && json(&device)["device"].is_string());
}

#[test]
fn addresses_are_explained_by_what_a_running_device_has_mapped() {
    let mut running = Running::start(&[]);
    let tables = json(&running.by_aned(&["dart", "--json"]));
    let input = tables["contexts"][0]["mappings"].as_array().expect("mappings").iter();
    let input = input.clone().find(|mapping| mapping["usage"] == "input tensor").expect("it has one");
    let address = format!("{:#x}", input["address"].as_u64().expect("a number") + 0x10);
    let by_aned = running.by_aned(&["explain", &address]);
    assert!(by_aned.contains("context mapper-ane0: byte 0x10 of input tensor"), "{by_aned}");
    let by_control = running.awake(&["explain", &address]);
    assert!(by_control.contains("context mapper-ane0: leads to physical address"), "{by_control}");
    assert!(json(&running.by_control(&["explain", "--json", &address])).is_array());
}

#[test]
fn physical_addresses_are_explained_by_the_chip_of_the_device() {
    let running = Running::start(&["--chip", "t6000"]);
    let page = running.by_aned(&["explain", "0x0"]);
    assert!(page.contains("no register of t6000"), "{page}");
    let page = running.by_control(&["explain", "0x0", "--chip", "t6000"]);
    assert!(page.contains("no register of t6000"), "{page}");
    let page = printed(&["explain", "0x0", &example(), "--chip", "t6000"]);
    assert!(page.contains("no register of t6000"), "{page}");
}

#[test]
fn timeline_of_a_running_device_is_kept_from_on_to_off() {
    let mut running = Running::start(&[]);
    let device = format!("aned:{}", running.aned.socket().display());
    let message = refused(3, &["trace", "--device", &device]);
    assert!(message.contains("no timeline is kept"), "{message}");
    assert_eq!(running.by_aned(&["trace", "--on"]), "");
    let (clients, loaded) = &mut running.client;
    assert_eq!(clients.run(loaded).result, 0);
    let page = running.by_aned(&["trace"]);
    assert!(page.contains("request begins, 2 tasks") && page.contains("request ends"), "{page}");
    assert_eq!(running.by_control(&["trace"]), page, "aned names its device's control socket");
    assert!(json(&running.by_control(&["trace", "--json"]))["traceEvents"].is_array());
    assert_eq!(running.by_control(&["trace", "--off"]), "");
    assert!(refused(3, &["trace", "--device", &device]).contains("no timeline is kept"));
}

#[test]
fn program_is_traced_on_a_running_device_which_forgets_it() {
    let running = Running::start(&[]);
    let page = running.by_aned(&["trace", &example()]);
    assert!(page.contains("planar binary pass, 16x1x32"), "{page}");
    let device = format!("aned:{}", running.aned.socket().display());
    assert!(refused(3, &["trace", "--device", &device]).contains("no timeline is kept"));
}

#[test]
fn aned_that_knows_no_control_socket_says_where_to_ask() {
    let device = Daemon::start(&[]);
    let aned = Aned::start(&device.socket(), &[]);
    let message = refused(3, &["trace", "--device", &format!("aned:{}", aned.socket().display())]);
    assert!(
        message.contains("does not tell about its timeline") && message.contains("--control"),
        "{message}"
    );
    assert_eq!(
        printed(&["dart", "--device", &format!("aned:{}", aned.socket().display())]),
        "no context is in use\n"
    );
}

#[test]
fn one_of_several_engines_is_asked_by_its_name() {
    let device = Daemon::start_at(".", &["--chip", "t6002"]);
    let control = device.control().display().to_string();
    let message = refused(3, &["regs", "--control", &control]);
    assert!(message.contains("there are several engines") && message.contains("@ane2"), "{message}");
    assert!(printed(&["regs", "--control", &control, "--engine", "ane2", "--all"]).contains("dart0"));
    assert!(
        refused(3, &["regs", "--control", &control, "--engine", "ane9"]).contains("\"ane9\" is not known")
    );
}

/// A control socket whose every client gets these bytes.
fn impostor(scratch: &Scratch, says: &'static [u8]) -> (String, JoinHandle<()>) {
    let socket = scratch.at("control.sock");
    let listener = UnixListener::bind(&socket).expect("nobody else listens");
    let serving = thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client comes");
        let mut line = String::new();
        BufReader::new(&client).read_line(&mut line).expect("it asks");
        // One that has heard enough is gone before the end.
        let _ = client.write_all(says);
    });
    (socket, serving)
}

#[test]
fn who_answers_nonsense_at_a_control_socket_is_found_out() {
    let cases: [(&[u8], &str); 5] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no control socket of a device"),
        (b"  0x1c24000 0x1\n", "the answer has no end"),
        (b"  0x1c24000 1\nok\n", "device's report of registers has line"),
        (b"  \xff\xfe\nok\n", "valid UTF-8"),
        (b"error \x1b[2Jgone\n", "gone"),
    ];
    for (says, expected) in cases {
        let scratch = Scratch::new();
        let (socket, serving) = impostor(&scratch, says);
        let message = refused(3, &["regs", "--control", &socket]);
        assert!(message.contains(expected) && !message.contains('\x1b'), "{message}");
        serving.join().expect("it served");
    }
}

#[test]
fn control_socket_that_is_not_there_is_told() {
    let message = refused(3, &["dart", "--control", "/no/such/control.sock"]);
    assert!(message.contains("control socket /no/such/control.sock: No such file"), "{message}");
    assert!(message.contains("start a device with `vhost-device-ane --control SOCKET`"), "{message}");
    let message = refused(2, &["dart", &example(), "--control", "/no/such/control.sock"]);
    assert!(message.contains("give the --device that the socket belongs to"), "{message}");
}
