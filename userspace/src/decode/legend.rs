//! The meanings of the registers of a report: each once, however many tasks write it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::task::{RegisterReport, TaskReport};

#[derive(Debug, Serialize)]
pub struct Entry {
    pub meaning: &'static str,
    pub grade: &'static str,
    pub source: &'static str,
    pub fields: BTreeMap<&'static str, FieldEntry>,
}

#[derive(Debug, Serialize)]
pub struct FieldEntry {
    pub bits: String,
    pub meaning: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<&'static str>,
}

pub(super) fn add(legend: &mut BTreeMap<&'static str, Entry>, task: &TaskReport) {
    for register in task.header.iter().chain(task.blocks.iter().flat_map(|block| block.registers.iter())) {
        if let Some(name) = register.name {
            // The last one counts, as its fields may be more.
            legend.insert(name, entry(register));
        }
    }
}

fn entry(register: &RegisterReport) -> Entry {
    Entry {
        meaning: register.meaning,
        grade: register.grade,
        source: register.source,
        fields: register
            .fields
            .iter()
            .map(|field| {
                (
                    field.name,
                    FieldEntry { bits: field.bits.clone(), meaning: field.meaning, grade: field.grade },
                )
            })
            .collect(),
    }
}
