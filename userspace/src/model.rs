//! A program to be run: all of it, without the file that it came in.

pub mod compare;
pub mod compile;
mod cut;
mod einsum;
mod error;
mod execute;
mod format;
mod imported;
mod layers;
pub mod limits;
mod lower;
pub mod mil;
mod neighbour_files;
pub mod network;
pub mod onnx;
mod options;
mod problem;
pub mod protobuf;

pub use compile::{Compiled, compile, compile_file};
pub use error::{ModelError, counted};
pub use execute::execute;
pub use format::Format;
pub use lower::Step;
pub(crate) use lower::onto;
pub use neighbour_files::{Beside, open_inside};
pub use options::Options;
pub use problem::{Problem, Remedy, Why, grouped};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::iter;

use crate::build::Built;
use crate::container::{
    self, Bar, Container, Direction, Generation, LaterGeneration, Program, Role, Surface,
};

/// A program with its task stream and constants, from whichever container or from the builder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    container: Container,
    stream: Vec<u8>,
    first_task_bytes: u32,
    task_count: u32,
    constants: Vec<Vec<u8>>,
    bars: Vec<Bar>,
    surfaces: Vec<Surface<'static>>,
}

impl Model {
    /// The program in a file.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/add_relu.anec");
    /// let model = ane::model::Model::read(&std::fs::read(path)?)?;
    /// let names: Vec<_> = model.inputs().iter().map(|surface| surface.name.as_ref()).collect();
    /// assert_eq!(names, ["input0", "input1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(file: &[u8]) -> Result<Self, container::Error> {
        Ok(Self::of(&container::open(file)?))
    }

    pub fn of(program: &Program<'_>) -> Self {
        Self {
            container: program.container,
            stream: program.stream.to_vec(),
            first_task_bytes: program.first_task_bytes,
            task_count: program.task_count,
            constants: program.constants.iter().map(|constants| constants.bytes.to_vec()).collect(),
            bars: program.bars.clone(),
            surfaces: program.surfaces.iter().map(owned).collect(),
        }
    }

    /// Refuses programs whose descriptors this engine does not understand.
    pub fn check(program: &Program<'_>) -> Result<(), LaterGeneration> {
        match program.generation {
            Generation::H13 => Ok(()),
            generation => Err(LaterGeneration { generation }),
        }
    }

    pub const fn container(&self) -> Container {
        self.container
    }

    /// The task descriptors; the first is at offset 0.
    pub fn stream(&self) -> &[u8] {
        &self.stream
    }

    pub const fn first_task_bytes(&self) -> u32 {
        self.first_task_bytes
    }

    pub const fn task_count(&self) -> u32 {
        self.task_count
    }

    pub fn constants(&self) -> &[Vec<u8>] {
        &self.constants
    }

    /// The BARs in use, by rising index.
    pub fn bars(&self) -> &[Bar] {
        &self.bars
    }

    /// The operands that a client binds, by index as [`Role::Surface`] has it.
    pub fn surfaces(&self) -> &[Surface<'static>] {
        &self.surfaces
    }

    /// The inputs by rising BAR: the order in which people count them.
    pub fn inputs(&self) -> Vec<&Surface<'static>> {
        self.by_bar(Direction::Input)
    }

    /// The outputs by rising BAR.
    pub fn outputs(&self) -> Vec<&Surface<'static>> {
        self.by_bar(Direction::Output)
    }

    /// Bytes that a BAR needs, with those of the surface it carries.
    pub fn bar_bytes(&self, bar: &Bar) -> u64 {
        match bar.role {
            Role::Surface(index) => {
                bar.bytes.max(self.surfaces.get(index).map_or(0, |surface| surface.buffer_bytes))
            }
            Role::Constants(index) => self.constants.get(index).map_or(bar.bytes, |bytes| bytes.len() as u64),
            Role::Tasks => bar.bytes.max(self.stream.len() as u64 + 1),
            Role::Scratch | Role::Unassigned => bar.bytes,
        }
    }

    fn by_bar(&self, direction: Direction) -> Vec<&Surface<'static>> {
        let mut surfaces: Vec<_> =
            self.surfaces.iter().filter(|surface| surface.direction == direction).collect();
        surfaces.sort_by_key(|surface| surface.bar);
        surfaces
    }
}

impl From<&Built> for Model {
    fn from(built: &Built) -> Self {
        Self::of(&built.program())
    }
}

fn owned(surface: &Surface<'_>) -> Surface<'static> {
    Surface { name: Cow::Owned(surface.name.clone().into_owned()), ..surface.clone() }
}

/// Names for files, one for each surface: of its name the letters and digits of ASCII and `._@-`, no dot in front, none
/// twice, and `fallback` with a number where nothing is left.
///
/// A name comes from an untrusted file and may say anything.
///
/// # Examples
///
/// ```
/// let names = ane::model::file_names(["t1@output", "../x", "x", "", "X"], "output");
/// assert_eq!(names, ["t1@output", "x", "x-2", "output3", "X-3"]);
/// ```
pub fn file_names<'a>(names: impl IntoIterator<Item = &'a str>, fallback: &str) -> Vec<String> {
    let is_kept = |c: &char| c.is_ascii_alphanumeric() || "._@-".contains(*c);
    // Some file systems take capitals for small letters.
    let mut taken = BTreeSet::new();
    let mut unique = |name: String| {
        let others = (2..).map(|count| format!("{name}-{count}"));
        let found =
            iter::once(name.clone()).chain(others).find(|name| taken.insert(name.to_ascii_lowercase()));
        found.unwrap_or(name)
    };
    let reduced = names.into_iter().enumerate().map(|(index, name)| {
        let kept: String = name.chars().filter(is_kept).collect();
        // Some file systems end at 255 bytes.
        let kept: String = kept.trim_start_matches('.').chars().take(128).collect();
        if kept.is_empty() { format!("{fallback}{index}") } else { kept }
    });
    reduced.map(&mut unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{Graph, Shape};

    #[test]
    fn file_names_are_plain_and_none_comes_twice() {
        let long = "x".repeat(500);
        let names = ["..", "a-2", "a", "A", "a", "\u{1b}[31m", "/etc/passwd", &long];
        let made = file_names(names, "output");
        assert_eq!(made[..7], ["output0", "a-2", "a", "A-3", "a-4", "31m", "etcpasswd"]);
        assert_eq!(made[7].len(), 128);
    }

    #[test]
    fn built_program_has_the_bars_of_its_surfaces() {
        let mut graph = Graph::new();
        let x = graph.input("x", Shape::new(3, 5, 40)).unwrap();
        let y = graph.relu(x).unwrap();
        graph.output("y", y).unwrap();
        let model = Model::from(&graph.build().unwrap());
        assert_eq!((model.inputs()[0].name.as_ref(), model.outputs()[0].name.as_ref()), ("x", "y"));
        let bytes: Vec<_> = model.bars().iter().map(|bar| (bar.index, model.bar_bytes(bar))).collect();
        assert_eq!(bytes, [(0, 0x4000), (4, 0x4000), (5, 0x4000)]);
    }
}
