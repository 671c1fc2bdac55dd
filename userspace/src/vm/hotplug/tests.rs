//! A monitor whose machine is a list of functions and a list of sockets.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

use super::*;

#[derive(Default)]
struct Machine {
    version: (u32, u32),
    /// The functions that are plugged in, each with its QEMU device.
    functions: Vec<(String, String)>,
    sockets: Vec<String>,
    /// A socket that cannot be removed.
    busy: Option<String>,
    /// The connection ends once the function is told to go, as it does for a caller that is killed while it waits.
    has_ended_caller: bool,
}

impl Machine {
    /// What the monitor answers, and the event behind it.
    fn answer(&mut self, command: &str, arguments: &Value) -> Result<(Value, Option<Value>), String> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let id = text("id");
        Ok(match command {
            "qmp_capabilities" => (json!({}), None),
            "query-version" => (json!({"qemu": {"major": self.version.0, "minor": self.version.1}}), None),
            "qom-list" => {
                let functions = self.functions.iter();
                let port = json!({"name": PORT, "type": "child<pcie-root-port>"});
                let functions =
                    functions.map(|(id, kind)| json!({"name": id, "type": format!("child<{kind}>")}));
                (std::iter::once(port).chain(functions).collect(), None)
            }
            "query-chardev" => (self.sockets.iter().map(|label| json!({"label": label})).collect(), None),
            "chardev-add" if self.sockets.contains(&id) => return Err(format!("duplicate {id}")),
            "chardev-add" => {
                self.sockets.push(id);
                (json!({}), None)
            }
            "chardev-remove" if self.busy.as_ref() == Some(&id) => return Err(format!("{id} is busy")),
            "chardev-remove" if !self.sockets.contains(&id) => return Err(format!("{id} not found")),
            "chardev-remove" => {
                self.sockets.retain(|socket| *socket != id);
                (json!({}), None)
            }
            "device_del" => {
                self.functions.retain(|(function, _)| *function != id);
                (json!({}), Some(json!({"event": "DEVICE_DELETED", "data": {"device": id}})))
            }
            "device_add" if self.version < (10, 2) && text("driver") == driver(Carrier::Generic) => {
                return Err("no such device".to_owned());
            }
            "device_add" => {
                self.functions.push((id, text("driver")));
                (json!({}), None)
            }
            other => return Err(format!("no command {other}")),
        })
    }
}

fn serve(stream: UnixStream, machine: &Mutex<Machine>) {
    let mut answers = stream.try_clone().unwrap();
    writeln!(answers, "{}", json!({"QMP": {}})).unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap();
        let command = request["execute"].as_str().unwrap();
        let mut machine = machine.lock().unwrap();
        let answer = machine.answer(command, &request["arguments"]);
        if command == "device_del" && machine.has_ended_caller {
            return;
        }
        match answer {
            Ok((answer, event)) => {
                writeln!(answers, "{}", json!({"return": answer})).unwrap();
                if let Some(event) = event {
                    writeln!(answers, "{event}").unwrap();
                }
            }
            Err(why) => writeln!(answers, "{}", json!({"error": {"desc": why}})).unwrap(),
        }
    }
}

/// A monitor that serves one caller after the other, and how to connect.
fn start(machine: Machine) -> (TempDir, Arc<Mutex<Machine>>, impl Fn() -> Monitor) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monitor.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let machine = Arc::new(Mutex::new(machine));
    let served = Arc::clone(&machine);
    thread::spawn(move || {
        listener.incoming().map_while(Result::ok).for_each(|stream| serve(stream, &served))
    });
    (folder, machine, move || Monitor::connect(&path).unwrap())
}

fn with_function(number: &str) -> Machine {
    let function = (format!("{DEVICE}{number}"), driver(Carrier::Generic).to_owned());
    Machine {
        version: (11, 1),
        functions: vec![function],
        sockets: vec![format!("{SOCKET}{number}"), "monitor".to_owned()],
        ..Machine::default()
    }
}

const NEW: &str = "/run/ane.sock";

#[test]
fn functions_count_on() {
    let (_folder, machine, connect) = start(with_function(""));
    for name in ["ane1", "ane2"] {
        assert_eq!(recover(&mut connect(), Path::new(NEW)).unwrap(), name);
    }
    assert_eq!(machine.lock().unwrap().sockets, ["monitor", "ane-socket2"]);
}

#[test]
fn try_that_ended_before_the_socket_was_removed_is_not_in_the_way_of_the_next() {
    let (_folder, machine, connect) = start(Machine { has_ended_caller: true, ..with_function("1") });
    assert!(recover(&mut connect(), Path::new(NEW)).is_err());
    machine.lock().unwrap().has_ended_caller = false;
    assert_eq!(recover(&mut connect(), Path::new(NEW)).unwrap(), "ane1");
    assert_eq!(machine.lock().unwrap().sockets, ["monitor", "ane-socket1"]);
}

#[test]
fn socket_that_cannot_be_removed_keeps_its_number() {
    let sockets = vec!["ane-socket3".to_owned()];
    let busy = Some("ane-socket3".to_owned());
    let (_folder, _, connect) = start(Machine { version: (11, 1), sockets, busy, ..Machine::default() });
    assert_eq!(recover(&mut connect(), Path::new(NEW)).unwrap(), "ane4");
}

#[test]
fn machine_without_a_function_gets_the_one_that_its_version_has() {
    for (version, carrier) in [((11, 1), Carrier::Generic), ((10, 0), Carrier::Block)] {
        let (_folder, machine, connect) = start(Machine { version, ..Machine::default() });
        assert_eq!(recover(&mut connect(), Path::new(NEW)).unwrap(), "ane1");
        let functions = &machine.lock().unwrap().functions;
        assert_eq!(functions[..], [("ane1".to_owned(), driver(carrier).to_owned())]);
    }
    let (_folder, _, connect) = start(Machine { version: (9, 2), ..Machine::default() });
    let why = recover(&mut connect(), Path::new(NEW)).unwrap_err().to_string();
    assert!(why.contains("QEMU 9.2"), "{why}");
}
