//! A device that died is unplugged, and another plugged in its place.
//!
//! QEMU does not connect again to a device whose process ended: the function stays, and nobody answers. What works
//! is what one would do with hardware. It takes the guest's consent: its driver has to let go of the function. A try that
//! failed may have stopped at any point, and the next one goes on from what the machine has.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::machine::{DEVICE, PORT, SOCKET, driver, properties};
use super::qemu::{Carrier, Version};
use super::qmp::{Monitor, QmpError};

/// How long the guest may take to let go. The kernel waits five seconds after the button is pressed.
pub const UNPLUG: Duration = Duration::from_secs(30);

/// The function that is plugged in: what it is, and the socket behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugged {
    /// QEMU's name of it.
    pub id: String,
    pub chardev: String,
    pub carrier: Carrier,
}

pub fn plugged(monitor: &mut Monitor) -> Result<Option<Plugged>, QmpError> {
    let devices = monitor.ask("qom-list", json!({"path": "/machine/peripheral"}))?;
    let names = devices.as_array().into_iter().flatten();
    let Some((id, kind)) = names
        .filter_map(|device| {
            let text = |field| device.get(field).and_then(Value::as_str);
            let kind = text("type")?.strip_prefix("child<")?.strip_suffix('>')?;
            text("name")?
                .starts_with(DEVICE)
                .then(|| (text("name").unwrap_or_default().to_owned(), kind.to_owned()))
        })
        .find(|(_, kind)| kind.starts_with("vhost-user-"))
    else {
        return Ok(None);
    };
    let carrier = if kind == driver(Carrier::Block) { Carrier::Block } else { Carrier::Generic };
    // Both names count on together.
    let chardev = format!("{SOCKET}{}", id.strip_prefix(DEVICE).unwrap_or_default());
    Ok(Some(Plugged { id, chardev, carrier }))
}

/// Unplugs the function, and waits until the guest has let go.
pub fn unplug(monitor: &mut Monitor, plugged: &Plugged) -> Result<(), QmpError> {
    monitor.ask("device_del", json!({"id": plugged.id}))?;
    monitor.wait_for("DEVICE_DELETED", UNPLUG, |event| {
        event.pointer("/data/device").and_then(Value::as_str) == Some(&plugged.id)
    })?;
    // The function is gone; its socket goes a moment later.
    let mut tries = 0;
    loop {
        match monitor.ask("chardev-remove", json!({"id": plugged.chardev})) {
            Err(QmpError::Refused { .. }) if tries < 50 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other.map(|_| ()),
        }
    }
}

/// Plugs a function whose device listens at `socket`; the number tells it from those before.
///
/// # Errors
///
/// If the machine refuses: nobody listens, or something is plugged in already.
pub fn plug(monitor: &mut Monitor, carrier: Carrier, number: u32, socket: &Path) -> Result<(), QmpError> {
    let (id, chardev) = (format!("{DEVICE}{number}"), format!("{SOCKET}{number}"));
    let address = json!({"type": "unix", "data": {"path": socket}});
    let backend = json!({"type": "socket", "data": {"addr": address, "server": false}});
    monitor.ask("chardev-add", json!({"id": chardev, "backend": backend}))?;
    let mut device = json!({"driver": driver(carrier), "id": id, "bus": PORT});
    for (name, value) in properties(carrier, &chardev) {
        let value = match value.parse::<u32>() {
            Ok(number) => number.into(),
            Err(_) if value == "on" => true.into(),
            Err(_) => Value::from(value),
        };
        device[name] = value;
    }
    monitor.ask("device_add", device).map(|_| ()).inspect_err(|_| {
        // The reason has been said; a socket that is left would be in the way of the next try.
        let _ = monitor.ask("chardev-remove", json!({"id": chardev}));
    })
}

/// Unplugs what is plugged in, and plugs the device that listens at `socket`; gives the new function's name.
pub fn recover(monitor: &mut Monitor, socket: &Path) -> Result<String, QmpError> {
    let before = plugged(monitor)?;
    let (carrier, number) = match &before {
        Some(plugged) => (plugged.carrier, number_of(&plugged.id, DEVICE).unwrap_or(0)),
        None => (carrier(monitor)?, 0),
    };
    if let Some(plugged) = &before {
        unplug(monitor, plugged)?;
    }
    let number = number.max(remove_left(monitor)?).wrapping_add(1);
    plug(monitor, carrier, number, socket)?;
    Ok(format!("{DEVICE}{number}"))
}

/// The number behind a name; the first function and its socket have none.
fn number_of(name: &str, before: &str) -> Option<u32> {
    let number = name.strip_prefix(before)?;
    if number.is_empty() { Some(0) } else { number.parse().ok() }
}

/// What the function is in a machine that has none now.
fn carrier(monitor: &mut Monitor) -> Result<Carrier, QmpError> {
    let said = monitor.ask("query-version", json!({}))?;
    let number =
        |name| said.pointer(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    let (major, minor) = (number("/qemu/major").unwrap_or(0), number("/qemu/minor").unwrap_or(0));
    let version = Version { major, minor };
    version.carrier().ok_or_else(|| {
        let why = format!("QEMU {version} has no device that can carry this one");
        QmpError::Refused { command: "device_add".to_owned(), why }
    })
}

/// Removes the sockets of functions that are gone, which a try that failed has left. Gives the highest number among those
/// that stay.
fn remove_left(monitor: &mut Monitor) -> Result<u32, QmpError> {
    let sockets = monitor.ask("query-chardev", json!({}))?;
    let mut highest = 0;
    for socket in sockets.as_array().into_iter().flatten() {
        let label = socket.get("label").and_then(Value::as_str).unwrap_or_default();
        let Some(number) = number_of(label, SOCKET) else { continue };
        match monitor.ask("chardev-remove", json!({"id": label})) {
            Ok(_) => {}
            // It is in use still, and its name with it.
            Err(QmpError::Refused { .. }) => highest = highest.max(number),
            Err(why) => return Err(why),
        }
    }
    Ok(highest)
}

/// The machine's memory that no other process can map, by name: no device reaches it, and QEMU does not say so.
pub fn unshared(monitor: &mut Monitor) -> Result<Vec<String>, QmpError> {
    let backends = monitor.ask("query-memdev", json!({}))?;
    let is_unshared = |backend: &&Value| backend.get("share").and_then(Value::as_bool) != Some(true);
    let name = |backend: &Value| backend.get("id").and_then(Value::as_str).unwrap_or("memory").to_owned();
    Ok(backends.as_array().into_iter().flatten().filter(is_unshared).map(name).collect())
}

#[cfg(test)]
mod tests;
