//! Tasks that the engine does not execute, found without running anything.
//!
//! Each task is decoded and planned as the device does before it moves the first byte. A refusal for its registers is
//! refused here with the same register, bits and value. A refusal that depends on memory (an address that is not
//! mapped) only shows when the program runs.

use ane_device::engine::EngineError;
use ane_device::engine::plan::plan;
use ane_device::engine::plan::verdict::Verdict;
use ane_device::td::decode::{HEADER_AT, decode};
use ane_device::td::error::DescriptorError;
use ane_device::td::fetch::Descriptor;
use ane_device::td::register_file::RegisterFile;
use ane_device::tm::error::{Failure, RequestError};
use ane_uapi::hw::td::{self, header::HEADER};
use ane_uapi::register::Register;
use serde::Serialize;

use crate::container::Program;

/// A task that is not executed, and the register to blame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub task: u32,
    /// The register's name; `None` where no source knows a register, or where none is to blame.
    pub register: Option<&'static str>,
    /// The field that holds the bits, where one field holds all of them.
    pub field: Option<&'static str>,
    /// Record address of the register; of a header word, 0x20000 and its offset in the descriptor.
    pub address: u32,
    /// The bits to blame.
    pub bits: u32,
    pub value: u32,
    /// The category of the refusal, such as `undefined` or `unsupported`.
    pub category: &'static str,
    pub why: String,
}

impl Refusal {
    /// The refusal that ended a request, if it was ended by one.
    pub fn of(failure: &Failure) -> Option<Self> {
        match &failure.error {
            RequestError::Engine(EngineError::Refused(verdict)) => {
                Some(Self::of_verdict(failure.task.into(), verdict))
            }
            RequestError::Descriptor(error) => Some(Self::of_descriptor(failure.task.into(), error)),
            _ => None,
        }
    }

    pub fn of_descriptor(task: u32, error: &DescriptorError) -> Self {
        let (address, bits, value) = error.place();
        // Register, bits and value are told beside it.
        let why = match error {
            DescriptorError::Unexplained { .. } => "no source explains these bits".to_owned(),
            DescriptorError::NoRegister { .. } => "no source knows a register here".to_owned(),
            DescriptorError::UnknownCode { field, .. } => format!("{field} has no such code"),
            DescriptorError::Header { .. } => error.to_string(),
        };
        Self::new(task, (address, bits, value), error.category().name(), why)
    }

    pub fn of_verdict(task: u32, verdict: &Verdict) -> Self {
        let Verdict { category, address, bits, value, why } = *verdict;
        Self::new(task, (address, bits, value), category.name(), why.to_owned())
    }

    fn new(task: u32, place: (u32, u32, u32), category: &'static str, why: String) -> Self {
        let (address, bits, value) = place;
        // Damage of a whole descriptor has no bits, and no register is to blame for it.
        let register = register_at(address).filter(|_| bits != 0);
        let field = register.and_then(|register| {
            register.fields.iter().find(|field| field.mask() == bits).map(|field| field.name)
        });
        Self {
            task,
            register: register.map(|register| register.name),
            field,
            address,
            bits,
            value,
            category,
            why,
        }
    }

    /// Advice for a user who wants the task to run.
    pub fn advice(&self) -> &'static str {
        match self.category {
            "would hang" => {
                "real silicon hangs on it too: set the register to a value that compilers write (`ane patch`)"
            }
            "undefined" => {
                "no source says what these bits do: `ane decode --explain` prints the register, docs/coverage.md what is known"
            }
            "unpredictable" => "the descriptor is damaged: compile or convert the program again",
            _ => "docs/coverage.md lists what is executed and what to avoid; `ane patch` changes a register",
        }
    }
}

/// The register at a record address, or the header word at [`HEADER_AT`] and its offset.
pub fn register_at(address: u32) -> Option<&'static Register> {
    let in_header = || HEADER.find(address.checked_sub(HEADER_AT)?).map(|(register, _)| register);
    td::find(address).map(|place| place.register).or_else(in_header)
}

/// The refused tasks of `program`, in their order, and what ended the walk if the chain is damaged.
///
/// A task whose plan is refused does not end the walk: its registers are known, and the tasks behind it are looked at too.
/// A descriptor that is not understood ends it.
pub fn refusals(program: &Program<'_>) -> (Vec<Refusal>, Option<String>) {
    let mut found = Vec::new();
    let mut registers = RegisterFile::default();
    let tasks = match program.tasks() {
        Ok(tasks) => tasks,
        Err(later) => return (found, Some(later.to_string())),
    };
    for task in tasks {
        let task = match task {
            Ok(task) => task,
            Err(damage) => return (found, Some(damage.to_string())),
        };
        let descriptor = Descriptor::of(task.words.iter().map(|word| word.get()));
        match decode(&descriptor, &registers) {
            Ok((header, after)) => {
                registers = after;
                if let Err(verdict) = plan(&header, &registers) {
                    found.push(Refusal::of_verdict(task.index, &verdict));
                }
            }
            Err(error) => {
                found.push(Refusal::of_descriptor(task.index, &error));
                return (found, None);
            }
        }
    }
    (found, None)
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::common;
    use ane_uapi::hw::td::neural;

    use super::*;
    use crate::build::{Graph, Shape};

    /// Two passes over a tensor.
    fn built() -> crate::build::Built {
        let mut graph = Graph::new();
        let x = graph.input("x", Shape::new(8, 4, 16)).unwrap();
        let y = graph.relu(x).unwrap();
        let z = graph.relu(y).unwrap();
        graph.output("z", z).unwrap();
        graph.build().unwrap()
    }

    #[test]
    fn program_of_the_builder_has_no_refusals() {
        assert_eq!(refusals(&built().program()), (Vec::new(), None));
    }

    #[test]
    fn refused_task_is_named_with_register_bits_and_value() {
        let mut built = built();
        let address = neural::MAC_CFG.info.offset;
        let word = built.register_mut(0, address).unwrap();
        let value = word.get() | 0x20;
        word.set(value);
        let (found, damage) = refusals(&built.program());
        assert_eq!((found.len(), damage), (1, None), "{found:?}");
        assert_eq!((found[0].task, found[0].register), (0, Some("MACCfg")));
        assert_eq!((found[0].address, found[0].bits & 0x20, found[0].value), (address, 0x20, value));
        assert!(!found[0].why.is_empty() && !found[0].advice().is_empty());
    }

    #[test]
    fn descriptor_that_is_not_understood_ends_the_walk() {
        let mut built = built();
        built.register_mut(1, common::CFG.info.offset).unwrap().set(0xffff_ffff);
        let (found, _) = refusals(&built.program());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].task, found[0].register, found[0].value), (1, Some("Cfg"), 0xffff_ffff));
    }
}
