//! The file's record of the model that its program was compiled from, behind the payload.
//!
//! (Chosen) An ANEC says N, C, H, W of a surface, and nothing of layers. A program that was compiled from a model has both
//! behind its payload: names and extents of outputs and inputs, the layer of each task, and the compiler's notes, as JSON;
//! then the number of its bytes as 32 bits, and a mark. Readers that go by the numbers of the header never come so far.
//!
//! A file is untrusted: text that is too long, or that does not fit the program, is ignored with a warning.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::program::{Layer, Surface};
use super::Form;

/// Ends the file.
const MARK: &[u8; 8] = b"ANEMODEL";

/// Bytes behind the text: its length, and the mark.
const FOOTER: usize = size_of::<u32>() + MARK.len();

/// Most bytes of the text. (Chosen) A model of 2^16 layers with names of 60 letters has half of that.
pub(super) const TEXT_MAX: usize = 8 << 20;

/// Most axes of an array: as many as NumPy has.
const RANK_MAX: usize = 64;

/// Names and extents of the operands, layers, notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trailer {
    /// By rising BAR.
    outputs: Vec<Port>,
    inputs: Vec<Port>,
    layers: Vec<Told>,
    notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Port {
    name: String,
    dims: Vec<usize>,
}

/// A layer: operation, name, extents of the result, first task, and the task behind the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told(String, String, Vec<usize>, u32, u32);

impl Trailer {
    /// The record of a program with these surfaces; `None` if a surface has no extents of a model.
    pub fn of(
        outputs: &[&Surface<'_>],
        inputs: &[&Surface<'_>],
        layers: &[Layer],
        notes: &[String],
    ) -> Option<Self> {
        let ports = |surfaces: &[&Surface<'_>]| -> Option<Vec<Port>> {
            let port = |surface: &&Surface<'_>| {
                Some(Port { name: surface.name.to_string(), dims: surface.dims.clone()? })
            };
            surfaces.iter().map(port).collect()
        };
        let told = |layer: &Layer| {
            let Layer { operation, name, dims, tasks } = layer.clone();
            Told(operation, name, dims, tasks.start, tasks.end)
        };
        let told = layers.iter().map(told).collect();
        Some(Self { outputs: ports(outputs)?, inputs: ports(inputs)?, layers: told, notes: notes.to_vec() })
            .filter(|told| *told != Self::default())
    }

    /// The bytes behind the payload of a file in this form. Layers are left out where all of it would be too long.
    pub(super) fn encode(&self, form: Form) -> Vec<u8> {
        let text = |told: &Self| serde_json::to_vec(told).ok().filter(|text| text.len() < TEXT_MAX);
        let short = || text(&Self { layers: Vec::new(), notes: Vec::new(), ..self.clone() });
        let Some(mut text) = text(self).or_else(short) else { return Vec::new() };
        if form == Form::Short && (text.len() + FOOTER) as u64 == Form::Long.bytes() - Form::Short.bytes() {
            // The file would be as long as one with the longer header.
            text.push(b' ');
        }
        let length = text.len() as u32;
        text.extend(length.to_le_bytes());
        text.extend(MARK);
        text
    }

    /// The text at the end of a file, if there is one, and the file in front of it.
    pub(super) fn split(file: &[u8]) -> Option<(&[u8], &[u8])> {
        let (rest, length) = file.strip_suffix(MARK)?.split_last_chunk()?;
        let length =
            usize::try_from(u32::from_le_bytes(*length)).ok().filter(|&length| length <= TEXT_MAX)?;
        rest.split_at_checked(rest.len().checked_sub(length)?)
    }

    /// Gives the surfaces their names and extents; the layers and the notes.
    ///
    /// # Errors
    ///
    /// Why the text is not about this program, which is left as it is.
    pub(super) fn apply(
        text: &[u8],
        surfaces: &mut [Surface<'_>],
        task_count: u32,
    ) -> Result<(Vec<Layer>, Vec<String>), &'static str> {
        let told: Self = serde_json::from_slice(text).map_err(|_| "it is not as wanted")?;
        let ports = || told.outputs.iter().chain(&told.inputs);
        let counts = |direction| surfaces.iter().filter(|surface| surface.direction == direction).count();
        let wanted = (counts(super::Direction::Output), counts(super::Direction::Input));
        if (told.outputs.len(), told.inputs.len()) != wanted {
            return Err("it has another number of operands");
        }
        if !surfaces.iter().zip(ports()).all(|(surface, port)| port.fits(surface)) {
            return Err("its extents are not those of the operands");
        }
        let are_distinct = |ports: &[Port]| {
            let names: BTreeSet<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            names.len() == ports.len() && !names.contains("")
        };
        if !are_distinct(&told.outputs) || !are_distinct(&told.inputs) {
            return Err("two of its inputs or outputs have one name, or one has none");
        }
        let mut end = 0;
        for &Told(_, _, ref dims, first, behind) in &told.layers {
            if first < end || behind < first || behind > task_count || dims.len() > RANK_MAX {
                return Err("its layers are not in the order of the tasks");
            }
            end = behind;
        }
        for (surface, port) in surfaces.iter_mut().zip(told.outputs.into_iter().chain(told.inputs)) {
            surface.name = port.name.into();
            surface.dims = Some(port.dims);
        }
        let layer = |Told(operation, name, dims, first, behind)| Layer {
            operation,
            name,
            dims,
            tasks: first..behind,
        };
        Ok((told.layers.into_iter().map(layer).collect(), told.notes))
    }
}

impl Port {
    /// Whether an array of these extents has as many elements as the surface.
    fn fits(&self, surface: &Surface<'_>) -> bool {
        let shape = surface.shape;
        let elements = [shape.n, shape.c, shape.h, shape.w].map(u64::from);
        let own = elements.iter().try_fold(1, |product: u64, &extent| product.checked_mul(extent));
        let given = self.dims.iter().try_fold(1, |product: u64, &extent| product.checked_mul(extent as u64));
        self.dims.len() <= RANK_MAX && own.is_some() && own == given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_file_is_text_only_with_mark_and_length() {
        let told = Trailer { notes: vec!["n".to_owned()], ..Trailer::default() };
        let mut file = b"payload".to_vec();
        file.extend(told.encode(Form::Long));
        let (rest, text) = Trailer::split(&file).unwrap();
        assert_eq!((rest, serde_json::from_slice::<Trailer>(text).unwrap()), (&b"payload"[..], told));
        let at = file.len() - FOOTER;
        for length in [u32::MAX, TEXT_MAX as u32 + 1, file.len() as u32] {
            file[at..at + 4].copy_from_slice(&length.to_le_bytes());
            assert_eq!(Trailer::split(&file), None, "{length}");
        }
        assert_eq!(Trailer::split(&file[..file.len() - 1]), None);
        assert_eq!(Trailer::split(MARK), None);
    }

    #[test]
    fn short_file_is_never_as_long_as_one_with_the_long_header() {
        let room = (Form::Long.bytes() - Form::Short.bytes()) as usize;
        let of = |letters| Trailer { notes: vec!["n".repeat(letters)], ..Trailer::default() };
        let empty = of(0).encode(Form::Short).len();
        assert_eq!(of(room - empty).encode(Form::Short).len(), room + 1);
        assert_eq!(of(room - empty).encode(Form::Long).len(), room);
    }

    #[test]
    fn layers_that_are_too_many_are_left_out_and_the_operands_stay() {
        let port = Port { name: "x".to_owned(), dims: vec![2] };
        let layer = Told("o".to_owned(), "n".repeat(TEXT_MAX), Vec::new(), 0, 1);
        let told = Trailer { inputs: vec![port], layers: vec![layer], ..Trailer::default() };
        let bytes = told.encode(Form::Long);
        let read: Trailer = serde_json::from_slice(Trailer::split(&bytes).unwrap().1).unwrap();
        assert_eq!(read, Trailer { layers: Vec::new(), ..told });
    }
}
