//! HWX to ANEC.
//!
//! An HWX says which BAR carries what; an ANEC cannot, and its clients assume one order ([`anec::bar_of`]).
//! So where the object has another order, the BAR numbers in the headers of its tasks are rewritten. Copying the
//! tasks as they are, as the first converter did, is right for the compilers of its time only: of a later
//! object with two inputs it makes a file whose tasks read the output and write over an input (td 5).
//!
//! * Outputs take BAR 4 and up, inputs follow, each in the order of the object's own BARs: what has the expected
//!   order already is not touched.
//! * The constants go to BAR 1. There is room for one section; which, the tasks say that read it.
//! * Scratch goes to BAR 3.
//! * Registers stay as they are: an offset in one is relative to whatever its BAR carries.

use std::borrow::Cow;

use ane_uapi::hw::td::operands::Roles;
use thiserror::Error;

use super::anec::{self, Image, Layout, Trailer};
use super::bases::{self, UnknownBar, Uses};
use super::limits::BARS;
use super::program::{Direction, Element, LaterGeneration, Program, Role, Surface};
use crate::task::ChainError;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    #[error(transparent)]
    LaterGeneration(#[from] LaterGeneration),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    UnknownBar(#[from] UnknownBar),
    #[error(
        "task {first_task} reads constants from {first} (BAR {first_bar}), task {second_task} from {second} \
         (BAR {second_bar}): an ANEC has one section of constants, at BAR 1"
    )]
    TwoConstantSections {
        first: String,
        first_bar: u8,
        first_task: u32,
        second: String,
        second_bar: u8,
        second_task: u32,
    },
    #[error("the object has {count} scratch sections, an ANEC has BARs for {max}")]
    TooMuchScratch { count: usize, max: usize },
    /// Elements that other clients of the format would take for something else.
    #[error("{direction} {name:?} has elements of {element}, an ANEC has fp16 only", direction = direction.name())]
    NotHalf { direction: Direction, name: String, element: Element },
    #[error(
        "{direction} {name:?} has {axis} stride {stride:#x}, which is {expected:#x} in an ANEC",
        direction = direction.name()
    )]
    Stride { direction: Direction, name: String, axis: &'static str, stride: u64, expected: u64 },
    #[error(
        "the tasks write {name:?}, which the object calls an input: an ANEC has nothing to say that with"
    )]
    WrittenInput { name: String },
    #[error(
        "the tasks move {direction} {name:?} as bytes, and the object says that its elements are fp16: an ANEC has nothing to say \
         that with",
        direction = direction.name()
    )]
    MovedAsBytes { direction: Direction, name: String },
    #[error(transparent)]
    Write(#[from] anec::WriteError),
}

/// The ANEC of `program`, as the bytes of the file.
pub fn to_anec(program: &Program<'_>, form: anec::Form) -> Result<Vec<u8>, Error> {
    Ok(image(program)?.write(form)?)
}

/// The ANEC of `program`; borrows the task stream where nothing in it has to change.
pub fn image<'a>(program: &Program<'a>) -> Result<Image<'a>, Error> {
    let uses = bases::uses(program.tasks()?)?;
    let outputs = in_bar_order(program, Direction::Output);
    let inputs = in_bar_order(program, Direction::Input);
    let constants = constants(program, &uses)?;

    let mut binding = Binding::default();
    let mut buffers = [0; BARS];
    binding.bind(0, anec::TASKS_BAR);
    if let Some(bar) = constants.and_then(|index| program.constants.get(index)?.bar) {
        binding.bind(bar, anec::CONSTANTS_BAR);
    }
    for (from, to, bytes) in scratch(program)? {
        binding.bind(from, to);
        put(&mut buffers, to, bytes);
    }
    for (direction, surfaces) in [(Direction::Output, &outputs), (Direction::Input, &inputs)] {
        for (index, surface) in surfaces.iter().enumerate() {
            let too_many = anec::WriteError::TooManySurfaces { inputs: inputs.len(), outputs: outputs.len() };
            let to = anec::bar_of(direction, index, outputs.len()).ok_or(too_many)?;
            binding.bind(surface.bar, to);
            put(&mut buffers, to, surface.buffer_bytes);
        }
    }

    let constants =
        constants.and_then(|index| program.constants.get(index)).map_or(&[][..], |found| found.bytes);
    let stream = with_aligned_end(rebound(program, &uses, &binding)?, constants);
    check_tasks_agree(&stream, program, &outputs, &inputs)?;
    let layouts = |surfaces: &[&Surface<'_>]| -> Result<Vec<_>, Error> {
        surfaces.iter().map(|surface| layout(surface)).collect()
    };
    Ok(Image {
        stream,
        first_task_bytes: program.first_task_bytes,
        task_count: program.task_count,
        constants,
        buffers,
        outputs: layouts(&outputs)?,
        inputs: layouts(&inputs)?,
        trailer: Trailer::of(&outputs, &inputs, &program.layers, &program.notes),
        names: outputs.iter().chain(&inputs).map(|surface| surface.name.to_string()).collect(),
    })
}

/// Refuses tasks that write what the object calls an input, or move as bytes what it calls halves. A reader of the ANEC, which
/// has no table of directions and elements, goes by the tasks: it would give the names to other surfaces, and take two
/// elements for one.
fn check_tasks_agree(
    stream: &[u8],
    program: &Program<'_>,
    outputs: &[&Surface<'_>],
    inputs: &[&Surface<'_>],
) -> Result<(), Error> {
    let (first_task_bytes, tasks, first) = (program.first_task_bytes, program.task_count, anec::SURFACES_BAR);
    let told = Roles::of_tasks(stream, first_task_bytes, tasks, first, outputs.len(), inputs.len());
    let Some(told) = told else { return Ok(()) };
    for (direction, surfaces) in [(Direction::Output, outputs), (Direction::Input, inputs)] {
        for (index, surface) in surfaces.iter().enumerate() {
            let Some(bar) = anec::bar_of(direction, index, outputs.len()) else { continue };
            let name = || super::excerpt::excerpt(&surface.name);
            if direction == Direction::Input && told.outputs.contains(bar) {
                return Err(Error::WrittenInput { name: name() });
            }
            if surface.element == Element::Half && told.bytes.contains(bar) {
                return Err(Error::MovedAsBytes { direction, name: name() });
            }
        }
    }
    Ok(())
}

/// The BAR of the ANEC for each BAR of the object.
#[derive(Clone, Copy, Debug, Default)]
struct Binding([Option<u8>; BARS]);

impl Binding {
    fn bind(&mut self, from: u8, to: u8) {
        if let Some(slot) = self.0.get_mut(usize::from(from)) {
            *slot = Some(to);
        }
    }

    fn get(&self, from: u8) -> Option<u8> {
        self.0.get(usize::from(from)).copied().flatten()
    }
}

fn put(buffers: &mut [u64; BARS], bar: u8, bytes: u64) {
    if let Some(buffer) = buffers.get_mut(usize::from(bar)) {
        *buffer = bytes;
    }
}

fn in_bar_order<'p, 'a>(program: &'p Program<'a>, direction: Direction) -> Vec<&'p Surface<'a>> {
    let mut surfaces: Vec<_> = program.surfaces_of(direction).collect();
    surfaces.sort_by_key(|surface| surface.bar);
    surfaces
}

/// The section that becomes the ANEC's: the one that tasks read, or that of BAR 1 if none is read.
fn constants(program: &Program<'_>, uses: &Uses) -> Result<Option<usize>, Error> {
    let bound = |wanted: u8| program.constants.iter().position(|constants| constants.bar == Some(wanted));
    let mut read = uses.iter().filter_map(|(&bar, used)| Some((bound(bar)?, bar, used)));
    let Some((index, first_bar, first)) = read.next() else { return Ok(bound(anec::CONSTANTS_BAR)) };
    let name =
        |index: usize| program.constants.get(index).map_or_else(String::new, |found| found.name.to_string());
    match read.next() {
        None => Ok(Some(index)),
        Some((other, second_bar, second)) => Err(Error::TwoConstantSections {
            first: name(index),
            first_bar,
            first_task: first.task,
            second: name(other),
            second_bar,
            second_task: second.task,
        }),
    }
}

/// The scratch sections: BAR of the object, BAR of the ANEC, bytes.
fn scratch(program: &Program<'_>) -> Result<Vec<(u8, u8, u64)>, Error> {
    let sections: Vec<_> = program.bars.iter().filter(|bar| bar.role == Role::Scratch).collect();
    let mut free = anec::SCRATCH_BARS.to_vec();
    if sections.len() > free.len() {
        return Err(Error::TooMuchScratch { count: sections.len(), max: free.len() });
    }
    // A section in a scratch BAR stays there; another section takes a free BAR.
    free.sort_by_key(|&bar| sections.iter().any(|section| section.index == bar));
    let mut free = free.into_iter();
    let place = |section: &&super::Bar| {
        let own = anec::SCRATCH_BARS.contains(&section.index).then_some(section.index);
        Some((section.index, own.or_else(|| free.next())?, section.bytes))
    };
    Ok(sections.iter().filter_map(place).collect())
}

/// The task stream with its BAR numbers as `binding` has them.
fn rebound<'a>(program: &Program<'a>, uses: &Uses, binding: &Binding) -> Result<Cow<'a, [u8]>, Error> {
    for (&bar, used) in uses {
        binding.get(bar).ok_or_else(|| UnknownBar::of(bar, used))?;
    }
    if uses.keys().all(|&bar| binding.get(bar) == Some(bar)) {
        return Ok(Cow::Borrowed(program.stream));
    }
    let mut stream = program.stream.to_vec();
    for task in program.tasks()? {
        let task = task?;
        for word in bases::words(&task) {
            let at = (task.offset + word.at) as usize;
            if let Some(bytes) = stream.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *bytes = word.rebound(|bar| binding.get(bar).unwrap_or(bar)).to_le_bytes();
            }
        }
    }
    Ok(Cow::Owned(stream))
}

/// The stream, with zeros up to where a constant section may start.
///
/// The format starts the constants at the next multiple of 16 behind the stream. The engine ignores the low six
/// bits of an address (td 4.7), and the compiler starts them at a multiple of 64 (td 2.1). For every descriptor
/// length of known compilers that is the same place; for any other it is made so.
fn with_aligned_end<'a>(stream: Cow<'a, [u8]>, constants: &[u8]) -> Cow<'a, [u8]> {
    /// Chosen; see above.
    const ALIGN: usize = 64;
    let len = stream.len();
    if constants.is_empty() || len.next_multiple_of(16).is_multiple_of(ALIGN) {
        return stream;
    }
    let mut stream = stream.into_owned();
    stream.resize(len.next_multiple_of(ALIGN), 0);
    Cow::Owned(stream)
}

/// The layout of `surface` in an ANEC, or an error if an ANEC cannot describe it.
fn layout(surface: &Surface<'_>) -> Result<Layout, Error> {
    let &Surface { direction, element, shape, strides, .. } = surface;
    let name = || super::excerpt::excerpt(&surface.name);
    if element != Element::Half {
        return Err(Error::NotHalf { direction, name: name(), element });
    }
    if shape.w > 1 && strides.w != Element::HALF_BYTES {
        let (axis, stride, expected) = ("W", strides.w, Element::HALF_BYTES);
        return Err(Error::Stride { direction, name: name(), axis, stride, expected });
    }
    let batch = strides.c.saturating_mul(shape.c.into());
    if shape.n > 1 && strides.n != batch {
        let (axis, stride, expected) = ("N", strides.n, batch);
        return Err(Error::Stride { direction, name: name(), axis, stride, expected });
    }
    Ok(Layout::of(surface))
}
