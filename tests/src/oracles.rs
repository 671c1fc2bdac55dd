//! Programs of Apple's compiler, transcribed as register words: read, and put together again.
//!
//! A record names the words of each descriptor, the surfaces, the operation that was compiled, and how the constant
//! section is made. That section is not part of it: coefficients are made up here and packed as the engine reads them
//! ([`constants`]), and what the program has to give follows from the operation alone ([`meaning`]).
//!
//! The records are not part of the tree. They lie beside the compiled programs ([`crate::data`]).

pub mod constants;
pub mod meaning;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ane::container::anec::{Form, Image, Layout};
use ane::container::{
    Axes, Bar, Constants, Container, Direction, Element, Generation, Program, Role, Surface, convert,
};
use half::f16;
use serde_json::Value;

use self::constants::MadeConstants;
use crate::data;
use crate::random::Random;

#[derive(Clone, Debug)]
pub struct Oracle {
    pub name: String,
    /// The words of each descriptor.
    pub tasks: Vec<Vec<u32>>,
    pub offsets: Vec<usize>,
    pub surfaces: Vec<OracleSurface>,
    /// The operation and its attributes.
    pub mil: BTreeMap<String, String>,
    /// How the constant section is made, word by word.
    pub how: Vec<String>,
    /// Bytes of the constant section.
    pub constant_bytes: usize,
    /// Bytes for intermediate results.
    pub scratch: u64,
}

#[derive(Clone, Debug)]
pub struct OracleSurface {
    pub name: String,
    pub direction: Direction,
    pub bar: u8,
    /// True if elements are bytes, and not halves.
    pub is_bytes: bool,
    /// N, C, H, W.
    pub shape: [usize; 4],
    /// Bytes from one to the next along each.
    pub strides: [u64; 4],
    /// Bytes of one batch.
    pub bytes: u64,
}

impl OracleSurface {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Dense values as the halves of [`surface`](Self::surface): of bytes, two in each half, and zeros behind each row.
    pub fn stored(&self, values: &[f16]) -> Vec<f16> {
        if !self.is_bytes {
            return values.to_vec();
        }
        let rows = values.chunks_exact(self.shape[3]).flat_map(|row| {
            let mut bytes: Vec<u8> = row.iter().map(|value| value.to_f32() as u8).collect();
            bytes.resize(self.strides[2] as usize, 0);
            bytes
        });
        let bytes: Vec<u8> = rows.collect();
        bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])).collect()
    }

    /// The shape of its elements.
    pub fn axes(&self) -> Axes<u32> {
        let [n, c, h, w] = self.shape.map(|extent| extent as u32);
        Axes { n, c, h, w }
    }

    fn layout(&self) -> Layout {
        let Axes { n, c, h, w } = self.axes();
        Layout { n, c, h, w, plane: self.strides[1], row: self.strides[2] }
    }

    /// The surface that a device is given. Rows of bytes are shown as rows of halves, two bytes each, padding included.
    pub fn surface(&self) -> Surface<'_> {
        let Axes { n, c, h, w } = self.axes();
        let w = if self.is_bytes { self.strides[2] as u32 / 2 } else { w };
        let [of_n, of_c, of_h, _] = self.strides;
        let buffer = (of_n * u64::from(n)).max(self.bytes);
        Surface {
            name: Cow::Borrowed(&self.name),
            direction: self.direction,
            bar: self.bar,
            element: Element::Half,
            shape: Axes { n, c, h, w },
            dims: None,
            strides: Axes { n: of_n, c: of_c, h: of_h, w: 2 },
            total_bytes: self.bytes,
            buffer_bytes: buffer,
        }
    }
}

/// All records; `None`, with a line on standard output, where they are not to be had.
///
/// # Panics
///
/// Under `CI=true` where they are not to be had, and on a record that cannot be read.
pub fn all() -> Option<Vec<Oracle>> {
    let folder = data::folder().join("oracles");
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut files: Vec<PathBuf> = inside(&folder).iter().flat_map(|family| inside(family)).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        data::not_run(&format!("transcribed programs are not in {}", folder.display()));
        return None;
    }
    Some(files.iter().map(|file| read(file)).collect())
}

/// One record by its name.
pub fn named(name: &str) -> Option<Oracle> {
    all()?.into_iter().find(|oracle| oracle.name == name)
}

/// A program of the compiler of 2022 that passes a result straight on, or splits numbers; `None`, with a line on standard
/// output, where it is not to be had.
///
/// # Panics
///
/// Under `CI=true` where it is not to be had.
pub fn chained(name: &str) -> Option<Vec<u8>> {
    let path = data::folder().join("chained").join(name).with_extension("anec");
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        data::not_run(&format!("{} is not there", path.display()));
    }
    bytes
}

fn read(path: &Path) -> Oracle {
    let bytes = std::fs::read(path).expect("readable");
    let json: Value = serde_json::from_slice(&bytes).expect("JSON");
    let number = |value: &Value| match value {
        Value::String(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal"),
        value => value.as_u64().expect("a number"),
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let four = |value: &Value| -> [u64; 4] {
        list(value).iter().map(number).collect::<Vec<_>>().try_into().expect("four axes")
    };
    let surfaces = list(&json["surfaces"]);
    let surfaces = surfaces.iter().map(|surface| OracleSurface {
        name: text(&surface["name"]),
        direction: if surface["direction"] == "in" { Direction::Input } else { Direction::Output },
        bar: number(&surface["bar"]) as u8,
        is_bytes: surface["element"] == 3,
        shape: four(&surface["shape"]).map(|extent| extent as usize),
        strides: four(&surface["strides"]),
        bytes: number(&surface["total_bytes"]),
    });
    let mil = json["mil"].as_object().expect("attributes");
    Oracle {
        name: text(&json["name"]),
        tasks: list(&json["tasks"])
            .iter()
            .map(|task| list(task).iter().map(|word| number(word) as u32).collect())
            .collect(),
        offsets: list(&json["task_offsets"]).iter().map(|offset| number(offset) as usize).collect(),
        surfaces: surfaces.collect(),
        mil: mil.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        how: text(&json["constants"]["how"]).split_whitespace().map(str::to_owned).collect(),
        constant_bytes: number(&json["constants"]["size"]) as usize,
        scratch: number(&json["scratch"]),
    }
}

/// Inputs that an operation is compared on.
pub fn inputs(oracle: &Oracle, random: &mut Random) -> Vec<Vec<f16>> {
    let scale = match oracle.mil("op") {
        "reduce_sum" => 0.5,
        "sigmoid" | "silu" | "gelu" | "softmax" | "exp" => 6.0,
        _ => 2.0,
    };
    let number = |random: &mut Random| f16::from_f32((random.below(0x1_0000) as f32 / 32768.0 - 1.0) * scale);
    let values = oracle.inputs().map(|input| {
        let bytes = |random: &mut Random| f16::from_f32(random.below(2) as f32);
        let len = input.len();
        (0..len).map(|_| if input.is_bytes { bytes(random) } else { number(random) }).collect()
    });
    values.collect()
}

/// The registers of each task, as they are when it runs.
pub fn registers(tasks: &[Vec<u32>]) -> Vec<BTreeMap<u32, u32>> {
    let mut file = BTreeMap::new();
    let mut each = Vec::new();
    for words in tasks {
        let mut at = 10 + (words[6] >> 24 & 1) as usize;
        while at < words.len() {
            let (count, address) = ((words[at] >> 26) as usize + 1, words[at] & 0x3ff_fffc);
            for index in 0..count {
                file.insert(address + 4 * index as u32, words.get(at + 1 + index).copied().unwrap_or(0));
            }
            at += 1 + count;
        }
        each.push(file.clone());
    }
    each
}

impl Oracle {
    /// An attribute of the operation.
    pub fn mil(&self, name: &str) -> &str {
        self.mil.get(name).map_or("", String::as_str)
    }

    /// Operands that the client writes.
    pub fn inputs(&self) -> impl Iterator<Item = &OracleSurface> {
        self.surfaces.iter().filter(|surface| surface.direction == Direction::Input)
    }

    /// The result.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn output(&self) -> &OracleSurface {
        self.surfaces.iter().find(|surface| surface.direction == Direction::Output).expect("a result")
    }

    /// The flat file of it, which says of each operand how many elements it has and not what they are.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn anec(&self, program: &Program<'_>) -> Vec<u8> {
        let layouts = |direction| {
            let mut all: Vec<_> =
                self.surfaces.iter().filter(|surface| surface.direction == direction).collect();
            all.sort_by_key(|surface| surface.bar);
            all.into_iter().map(OracleSurface::layout).collect()
        };
        let (outputs, inputs) = (layouts(Direction::Output), layouts(Direction::Input));
        let image = match convert::image(program) {
            // Truth values, of which other clients of the format would take two for one. They are bound as in a flat file.
            Err(convert::Error::MovedAsBytes { .. }) => Image::of_anec(program),
            image => image.expect("it has what a flat file has"),
        };
        Image { outputs, inputs, ..image }.write(Form::default()).expect("it can be written")
    }

    pub fn stream(&self) -> Vec<u8> {
        let mut stream = Vec::new();
        for (offset, task) in self.offsets.iter().zip(&self.tasks) {
            stream.resize(*offset, 0);
            stream.extend(task.iter().flat_map(|word| word.to_le_bytes()));
        }
        stream
    }

    /// The program, of its stream and of constants that were made.
    pub fn program<'a>(&'a self, stream: &'a [u8], made: &'a MadeConstants) -> Program<'a> {
        let bar = |index, role, bytes| Bar { index, role, link: None, bytes };
        let mut bars = vec![
            bar(0, Role::Tasks, stream.len() as u64),
            bar(1, Role::Constants(0), made.section.len() as u64),
        ];
        if self.scratch != 0 {
            bars.push(bar(3, Role::Scratch, self.scratch));
        }
        let surfaces: Vec<Surface<'a>> = self.surfaces.iter().map(OracleSurface::surface).collect();
        for (index, surface) in surfaces.iter().enumerate() {
            bars.push(bar(surface.bar, Role::Surface(index), surface.buffer_bytes));
        }
        Program {
            container: Container::Hwx,
            generation: Generation::H13,
            stream,
            first_task_bytes: 4 * self.tasks[0].len() as u32,
            task_count: self.tasks.len() as u32,
            constants: vec![Constants { name: "__const".into(), bar: Some(1), bytes: &made.section }],
            bars,
            surfaces,
            layers: Vec::new(),
            notes: Vec::new(),
            banner: None,
            warnings: Vec::new(),
        }
    }
}
