//! The container's description of the program as a whole, as a report.

use serde::Serialize;

use super::value::Address;
use crate::container::{Axes, Bar, Constants, Layer, Program, Role, Surface};

#[derive(Debug, Serialize)]
pub struct ProgramReport {
    pub container: &'static str,
    pub generation: &'static str,
    /// The compiler's own description, line by line.
    pub compiler: Vec<String>,
    /// Number of tasks that the container announces.
    pub task_count: u32,
    pub stream_bytes: usize,
    pub first_task_bytes: u32,
    /// Bytes of intermediate results.
    pub scratch_bytes: u64,
    pub surfaces: Vec<SurfaceReport>,
    pub bars: Vec<BarReport>,
    pub constants: Vec<ConstantsReport>,
    /// The layers of the model that it was compiled from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerReport>,
    /// The messages of the compiler of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct LayerReport {
    pub operation: String,
    pub name: String,
    /// Extents of its result.
    pub shape: Vec<usize>,
    /// The first task, and the one behind the last.
    pub tasks: [u32; 2],
}

#[derive(Debug, Serialize)]
pub struct SurfaceReport {
    pub name: String,
    /// `input` or `output`.
    pub direction: &'static str,
    pub bar: u8,
    pub element: String,
    /// Elements along batch, channel, height, width.
    pub shape: [u32; 4],
    /// Extents in the model that the program was compiled from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Vec<usize>>,
    /// Bytes from one element to the next along the same axes.
    pub strides: [u64; 4],
    /// Bytes of one batch element.
    pub total_bytes: u64,
    pub buffer_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct BarReport {
    pub index: u8,
    pub role: String,
    /// Address at which the object was linked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Address>,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct ConstantsReport {
    pub name: String,
    pub bar: Option<u8>,
    pub bytes: usize,
}

impl ProgramReport {
    pub fn of(program: &Program<'_>) -> Self {
        Self {
            container: program.container.name(),
            generation: program.generation.name(),
            compiler: program
                .banner
                .iter()
                .flat_map(|banner| banner.lines())
                .map(|line| printable(line.trim()))
                .collect(),
            task_count: program.task_count,
            stream_bytes: program.stream.len(),
            first_task_bytes: program.first_task_bytes,
            scratch_bytes: program.scratch_bytes(),
            surfaces: program.surfaces.iter().map(SurfaceReport::of).collect(),
            bars: program.bars.iter().map(|bar| BarReport::of(bar, program)).collect(),
            constants: program.constants.iter().map(ConstantsReport::of).collect(),
            layers: program.layers.iter().map(LayerReport::of).collect(),
            notes: program.notes.iter().map(|note| printable(note)).collect(),
            warnings: program.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

impl SurfaceReport {
    fn of(surface: &Surface<'_>) -> Self {
        let Axes { n, c, h, w } = surface.shape;
        let strides = surface.strides;
        Self {
            name: printable(&surface.name),
            direction: surface.direction.name(),
            bar: surface.bar,
            element: surface.element.to_string(),
            shape: [n, c, h, w],
            array: surface.dims.clone(),
            strides: [strides.n, strides.c, strides.h, strides.w],
            total_bytes: surface.total_bytes,
            buffer_bytes: surface.buffer_bytes,
        }
    }
}

impl LayerReport {
    fn of(layer: &Layer) -> Self {
        Self {
            operation: printable(&layer.operation),
            name: printable(&layer.name),
            shape: layer.dims.clone(),
            tasks: [layer.tasks.start, layer.tasks.end],
        }
    }
}

impl BarReport {
    fn of(bar: &Bar, program: &Program<'_>) -> Self {
        let role = match bar.role {
            Role::Tasks => "task descriptors".to_owned(),
            Role::Constants(index) => {
                // An ANEC has no names; its one section is called what it is.
                match program.constants.get(index).map(|constants| printable(&constants.name)) {
                    Some(name) if name != "constants" => format!("constants {name}"),
                    _ => "constants".to_owned(),
                }
            }
            Role::Scratch => "scratch".to_owned(),
            Role::Surface(index) => program.surfaces.get(index).map_or_else(
                || "surface".to_owned(),
                |surface| format!("{} {}", surface.direction.name(), printable(&surface.name)),
            ),
            Role::Unassigned => "not explained by the file".to_owned(),
        };
        Self { index: bar.index, role, link: bar.link.map(Address), bytes: bar.bytes }
    }
}

impl ConstantsReport {
    fn of(constants: &Constants<'_>) -> Self {
        Self { name: printable(&constants.name), bar: constants.bar, bytes: constants.bytes.len() }
    }
}

/// Whether a character would upset a terminal, or turn the order of what it shows.
pub fn is_upsetting(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text of a file, without such characters.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if is_upsetting(c) { c.escape_default().collect() } else { vec![c] }).collect()
}
