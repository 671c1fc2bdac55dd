//! Every register with its value.

use serde::{Deserialize, Serialize};

use crate::daemon::EmbeddedDriver;
use crate::decode::shown;

/// The registers of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registers {
    /// In the order of the container; those whose reading would change something are left out.
    pub registers: Vec<RegisterValue>,
}

/// A register and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterValue {
    /// Offset in the container.
    pub at: u32,
    /// The range that it is in.
    pub range: String,
    /// The hardware's name.
    pub name: String,
    /// What it holds.
    pub value: u32,
    /// What it holds after a reset.
    pub reset: u32,
    /// The fields that are not zero.
    pub fields: Vec<FieldValue>,
}

/// A field and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldValue {
    /// Its name.
    pub name: String,
    /// What it holds, for people.
    pub shown: String,
}

impl Registers {
    /// As they are now.
    pub fn of(driver: &mut EmbeddedDriver) -> Self {
        let device = driver.bus_mut().device_mut();
        let now = device.now();
        let registers = device.ane().registers_shown(now).into_iter().map(|seen| {
            let fields = seen.register.fields.iter().filter_map(|field| {
                let value = field.of(seen.value);
                (value != 0).then(|| FieldValue { name: field.name.to_owned(), shown: shown(field, value) })
            });
            RegisterValue {
                at: seen.at.0,
                range: seen.range.to_owned(),
                name: seen.register.name.to_owned(),
                value: seen.value,
                reset: seen.register.reset,
                fields: fields.collect(),
            }
        });
        Self { registers: registers.collect() }
    }
}
