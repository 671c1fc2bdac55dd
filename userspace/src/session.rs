//! A program on a device: buffers bound, ready to run any number of times.
//!
//! Loading gives each BAR of the program a buffer under the usage that its role has, fills in what the file has, and
//! makes a program of them in the driver. A run is then a request without any field of its own.

use std::time::Duration;

use ane_device::tm::error::Failure;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::handle;
use ane_uapi::ioctl::program::{self, ProgramBinding, ProgramBuffer, ProgramCreate, ProgramDestroy};
use ane_uapi::ioctl::request::{self, PRIORITY_DEFAULT, Request};
use half::f16;
use zerocopy::{FromZeros, IntoBytes};

use crate::container::{self, Bar, Container, Direction, Role, Surface, UnknownBar, find_operand};
use crate::device::{self, Buffer, Device, Fault, Fence, Outcome, WaitFor, address};
use crate::model::Model;
use crate::task::Tasks;
use crate::tensor::tile::{self, Layout};
use crate::tensor::{Tensor, bytes};

/// The errors of a program on a device.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Device(#[from] device::Error),
    #[error("{direction} {name:?}: {why}", direction = direction.name())]
    Surface { direction: Direction, name: String, why: tile::Error },
    #[error("{direction} {name:?}: {why}", direction = direction.name())]
    Bytes { direction: Direction, name: String, why: bytes::Error },
    #[error("program has no task")]
    Empty,
    /// A buffer for it would be zeros, and the tasks would compute with them.
    #[error(transparent)]
    UnknownBar(#[from] UnknownBar),
    #[error("program has no {direction} {asked:?}", direction = direction.name())]
    Unknown { direction: Direction, asked: String },
    /// Shapes are N, C, H, W.
    #[error("{direction} {name:?} has shape {wanted:?}, the tensor has {given:?}", direction = direction.name())]
    Shape { direction: Direction, name: String, wanted: [u32; 4], given: [u32; 4] },
    #[error("did not end within {0:?}")]
    TooLong(Duration),
    #[error(
        "request {outcome}{}{}",
        fault.as_ref().map_or(String::new(), |fault| format!(": {fault}")),
        reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"))
    )]
    Failed {
        outcome: Outcome,
        fault: Option<Box<Fault>>,
        reason: Option<String>,
        /// The same as a value, where the device is in this process.
        failure: Option<Box<Failure>>,
    },
}

#[derive(Clone, Debug)]
pub struct Submission<'a> {
    /// From 0, the most urgent, to 7.
    pub priority: u32,
    /// When to abort it, on the driver's clock in nanoseconds.
    pub deadline: Option<u64>,
    /// Requests that have to end well before.
    pub after: &'a [Fence],
}

impl Default for Submission<'_> {
    fn default() -> Self {
        Self { priority: PRIORITY_DEFAULT, deadline: None, after: &[] }
    }
}

/// How the elements of a surface lie in its buffer.
#[derive(Clone, Copy, Debug)]
enum Placed {
    Halves(Layout),
    Bytes(bytes::Layout),
}

impl Placed {
    const fn elements(&self) -> usize {
        match self {
            Self::Halves(layout) => layout.elements(),
            Self::Bytes(layout) => layout.elements(),
        }
    }
}

#[derive(Debug)]
struct Bound {
    surface: Surface<'static>,
    layout: Placed,
    buffer: usize,
}

/// A program on a device.
///
/// # Examples
///
/// ```
/// use ane::build::{Element, Graph, Shape};
/// use ane::container::Axes;
/// use ane::device::{Device, Location};
/// use ane::model::Model;
/// use ane::session::Session;
/// use ane::tensor::Tensor;
/// use half::f16;
///
/// let mut graph = Graph::new();
/// let (a, b) = (graph.input("a", Shape::new(4, 1, 1))?, graph.input("b", Shape::new(4, 1, 1))?);
/// let sum = graph.binary(a, b, Element::ADD)?;
/// graph.output("sum", sum)?;
/// let model = Model::from(&graph.build()?);
///
/// let device = Device::open(&Location::Embedded, &ane_device::Options::default())?;
/// let mut session = Session::load(&device, &model)?;
/// let shape = Axes { n: 1, c: 4, h: 1, w: 1 };
/// session.set("a", &Tensor::from_fn(shape, |_| f16::from_f32(3.0)))?;
/// session.set("b", &Tensor::from_fn(shape, |_| f16::from_f32(2.0)))?;
/// session.run()?;
/// assert_eq!(session.get("sum")?.values(), [f16::from_f32(5.0); 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    device: Device,
    program: u32,
    buffers: Vec<(Bar, Buffer)>,
    inputs: Vec<Bound>,
    outputs: Vec<Bound>,
}

impl Session {
    pub fn load(device: &Device, model: &Model) -> Result<Self, Error> {
        if model.task_count() == 0 || model.stream().is_empty() {
            return Err(Error::Empty);
        }
        refuse_unexplained(model)?;
        let mut buffers = Vec::with_capacity(model.bars().len());
        for bar in model.bars() {
            let buffer = Buffer::new(device, model.bar_bytes(bar).max(1), usage(model, bar))?;
            match bar.role {
                Role::Tasks => buffer.write(0, model.stream())?,
                Role::Constants(index) => {
                    buffer.write(0, model.constants().get(index).map_or(&[], |bytes| &bytes[..]))?;
                }
                Role::Scratch | Role::Surface(_) | Role::Unassigned => {}
            }
            buffers.push((*bar, buffer));
        }
        let bind = |surface: &Surface<'static>| {
            let named =
                |why| Error::Surface { direction: surface.direction, name: surface.name.to_string(), why };
            let layout = match bytes::Layout::of(surface) {
                Some(layout) => Placed::Bytes(layout.map_err(|why| byte_error(surface, why))?),
                None => Placed::Halves(tile::layout(surface).map_err(named)?),
            };
            let buffer = buffers.iter().position(|(bar, _)| bar.index == surface.bar);
            let buffer = buffer.ok_or_else(|| named(ane_tiling::Error::Beyond.into()))?;
            Ok(Bound { surface: surface.clone(), layout, buffer })
        };
        let inputs = model.inputs().into_iter().map(bind).collect::<Result<_, Error>>()?;
        let outputs = model.outputs().into_iter().map(bind).collect::<Result<_, Error>>()?;
        let program = create(device, model, &buffers)?;
        Ok(Self { device: device.clone(), program, buffers, inputs, outputs })
    }

    pub const fn device(&self) -> &Device {
        &self.device
    }

    pub fn buffers(&self) -> impl Iterator<Item = (&Bar, &Buffer)> {
        self.buffers.iter().map(|(bar, buffer)| (bar, buffer))
    }

    /// The inputs by rising BAR.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &Surface<'static>> {
        self.inputs.iter().map(|bound| &bound.surface)
    }

    /// The outputs by rising BAR.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = &Surface<'static>> {
        self.outputs.iter().map(|bound| &bound.surface)
    }

    /// Fills an input, by its name or its number in the order of BARs.
    pub fn set(&mut self, input: &str, tensor: &Tensor) -> Result<(), Error> {
        self.put_tensor(find(&self.inputs, Direction::Input, input)?, tensor)
    }

    /// Fills input `index`, in the order of BARs, whatever the inputs are called.
    pub fn set_at(&mut self, index: usize, tensor: &Tensor) -> Result<(), Error> {
        self.put_tensor(numbered(&self.inputs, Direction::Input, index)?, tensor)
    }

    /// Fills input `index`, in the order of BARs, with dense values in the order N, C, H, W.
    ///
    /// The values go from the slice to where the engine reads them, without a copy between.
    pub fn set_values(&mut self, index: usize, values: &[f16]) -> Result<(), Error> {
        let bound = numbered(&self.inputs, Direction::Input, index)?;
        self.put(bound, values)
    }

    /// Takes the values of output `index`, in the order of BARs, into a slice of as many elements.
    pub fn get_values(&self, index: usize, into: &mut [f16]) -> Result<(), Error> {
        let bound = numbered(&self.outputs, Direction::Output, index)?;
        self.take(bound, into)
    }

    /// Takes an output, by its name or its number in the order of BARs.
    pub fn get(&self, output: &str) -> Result<Tensor, Error> {
        self.take_tensor(find(&self.outputs, Direction::Output, output)?)
    }

    /// Takes output `index`, in the order of BARs, whatever the outputs are called.
    pub fn get_at(&self, index: usize) -> Result<Tensor, Error> {
        self.take_tensor(numbered(&self.outputs, Direction::Output, index)?)
    }

    fn put_tensor(&self, bound: &Bound, tensor: &Tensor) -> Result<(), Error> {
        let (wanted, given) = (bound.surface.shape, tensor.shape());
        if wanted != given {
            return Err(Error::Shape {
                direction: Direction::Input,
                name: bound.surface.name.to_string(),
                wanted: [wanted.n, wanted.c, wanted.h, wanted.w],
                given: [given.n, given.c, given.h, given.w],
            });
        }
        self.put(bound, tensor.values())
    }

    fn take_tensor(&self, bound: &Bound) -> Result<Tensor, Error> {
        let mut values = vec![f16::ZERO; bound.layout.elements()];
        self.take(bound, &mut values)?;
        // The layout has as many elements as its shape.
        let tensor = Tensor::new(bound.surface.shape, values);
        let asked = || bound.surface.name.to_string();
        tensor.map_err(|_| Error::Unknown { direction: Direction::Output, asked: asked() })
    }

    fn put(&self, bound: &Bound, values: &[f16]) -> Result<(), Error> {
        let buffer = &self.buffers[bound.buffer].1;
        match &bound.layout {
            Placed::Halves(layout) => Ok(buffer.tile(layout, values)?),
            Placed::Bytes(layout) => {
                let mut memory = vec![0; layout.bytes() as usize];
                buffer.read(0, &mut memory)?;
                layout.tile(values, &mut memory).map_err(|why| byte_error(&bound.surface, why))?;
                Ok(buffer.write(0, &memory)?)
            }
        }
    }

    fn take(&self, bound: &Bound, into: &mut [f16]) -> Result<(), Error> {
        let buffer = &self.buffers[bound.buffer].1;
        match &bound.layout {
            Placed::Halves(layout) => Ok(buffer.untile(layout, into)?),
            Placed::Bytes(layout) => {
                let mut memory = vec![0; layout.bytes() as usize];
                buffer.read(0, &mut memory)?;
                layout.untile(&memory, into).map_err(|why| byte_error(&bound.surface, why))
            }
        }
    }

    pub fn run(&mut self) -> Result<(), Error> {
        let fence = self.submit(&Submission::default())?;
        self.finish(fence, None)
    }

    /// Runs it to its end, or takes it back if that lasts for longer than `limit`.
    pub fn run_within(&mut self, limit: Option<Duration>) -> Result<(), Error> {
        let Some(limit) = limit else { return self.run() };
        let fence = self.submit(&Submission::default())?;
        match self.finish(fence, Some(limit)) {
            Err(Error::Failed { outcome: Outcome::Pending, .. }) => {
                // It may have ended just now; what counts is that it took too long.
                let _ = self.device.cancel(fence, true);
                Err(Error::TooLong(limit))
            }
            ended => ended,
        }
    }

    /// Starts it, and does not wait.
    ///
    /// Requests of one session use the same buffers and run in the order in which they were submitted.
    pub fn submit(&mut self, how: &Submission<'_>) -> Result<Fence, Error> {
        let mut fences: Vec<u64> = how.after.iter().map(|fence| fence.0).collect();
        let memory = fences.as_mut_bytes();
        let mut request = Request::new_zeroed();
        request.program = self.program;
        request.priority = how.priority;
        request.bar_size = size_of::<request::Bar>() as u32;
        request.in_fences = address(memory);
        request.in_fence_count = u32::try_from(how.after.len()).unwrap_or(u32::MAX);
        request.deadline_ns = how.deadline.unwrap_or(0);
        self.device.call(&request::SUBMIT_REQUEST, &mut request, &mut [memory])?;
        Ok(Fence(request.out_fence))
    }

    /// Waits for the end of a request, and says why it did not end well if it did not.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`], also if it has not ended within `limit`; [`Error::Device`].
    pub fn finish(&self, fence: Fence, limit: Option<Duration>) -> Result<(), Error> {
        let outcomes = self.device.wait(&[fence], WaitFor::All, limit)?;
        let outcome = outcomes.first().copied().unwrap_or(Outcome::Forgotten);
        if outcome == Outcome::Done {
            return Ok(());
        }
        let fault = match outcome {
            // How the request ended counts more than a fault that cannot be fetched.
            Outcome::Failed { fault, .. } if fault != 0 => self.device.fault_of(fault).ok().flatten(),
            _ => None,
        };
        let reason = self.device.failure(fence);
        let failure = reason.as_deref().and_then(|reason| self.device.failure_told(reason));
        Err(Error::Failed { outcome, fault: fault.map(Box::new), reason, failure: failure.map(Box::new) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut destroy = ProgramDestroy { handle: self.program, reserved: 0 };
        // If the device is gone, so is the program.
        let _ = self.device.call(&program::PROGRAM_DESTROY, &mut destroy, &mut []);
    }
}

/// Refuses an object whose tasks name a BAR that it does not explain.
///
/// An ANEC explains none of its BARs; what is no operand begins as zeros there.
fn refuse_unexplained(model: &Model) -> Result<(), UnknownBar> {
    let tasks = Tasks::new(model.stream(), model.first_task_bytes(), model.task_count());
    // A damaged chain is for the driver to refuse.
    let (Container::Hwx, Ok(uses)) = (model.container(), container::uses(tasks)) else { return Ok(()) };
    let mut unexplained = model.bars().iter().filter(|bar| bar.role == Role::Unassigned);
    match unexplained.find_map(|bar| Some((bar.index, uses.get(&bar.index)?))) {
        Some((bar, used)) => Err(UnknownBar::of(bar, used)),
        None => Ok(()),
    }
}

/// The usage of a BAR's buffer.
fn usage(model: &Model, bar: &Bar) -> Usage {
    match bar.role {
        Role::Tasks => Usage::Program,
        Role::Constants(_) => Usage::Weights,
        Role::Scratch | Role::Unassigned => Usage::Intermediate,
        Role::Surface(index) => match model.surfaces().get(index).map(|surface| surface.direction) {
            Some(Direction::Input) => Usage::Input,
            _ => Usage::Output,
        },
    }
}

/// Makes a program of a model whose BARs have these buffers.
fn create(device: &Device, model: &Model, buffers: &[(Bar, Buffer)]) -> Result<u32, Error> {
    let mut parts: Vec<ProgramBuffer> = buffers
        .iter()
        .map(|(bar, buffer)| ProgramBuffer {
            handle: buffer.handle(),
            usage: usage(model, bar) as u32,
            offset: 0,
            size: buffer.bytes(),
        })
        .collect();
    let mut bindings: Vec<ProgramBinding> = (0..)
        .zip(buffers)
        .map(|(index, (bar, _))| ProgramBinding { bar: bar.index.into(), buffer: index, offset: 0 })
        .collect();
    let text = buffers.iter().position(|(bar, _)| bar.role == Role::Tasks).ok_or(Error::Empty)?;
    let mut create = ProgramCreate::new_zeroed();
    // Both lists are at most as long as the table of BARs, 32.
    create.buffer_count = parts.len() as u32;
    create.buffer_size = size_of::<ProgramBuffer>() as u32;
    create.binding_count = bindings.len() as u32;
    create.binding_size = size_of::<ProgramBinding>() as u32;
    create.text = text as u32;
    create.stream_size = model.stream().len() as u64;
    create.task_count = model.task_count();
    create.first_size = model.first_task_bytes();
    create.pool = handle::NONE;
    let (parts, bindings) = (parts.as_mut_bytes(), bindings.as_mut_bytes());
    (create.buffers, create.bindings) = (address(parts), address(bindings));
    device.call(&program::PROGRAM_CREATE, &mut create, &mut [parts, bindings])?;
    Ok(create.handle)
}

fn numbered(surfaces: &[Bound], direction: Direction, index: usize) -> Result<&Bound, Error> {
    surfaces.get(index).ok_or_else(|| Error::Unknown { direction, asked: index.to_string() })
}

fn byte_error(surface: &Surface<'_>, why: bytes::Error) -> Error {
    Error::Bytes { direction: surface.direction, name: surface.name.to_string(), why }
}

/// The surface of that name, or of that number if none has the name.
fn find<'a>(surfaces: &'a [Bound], direction: Direction, asked: &str) -> Result<&'a Bound, Error> {
    let found = find_operand(surfaces.iter().map(|bound| &*bound.surface.name), asked);
    let found = found.and_then(|index| surfaces.get(index));
    found.ok_or_else(|| Error::Unknown { direction, asked: asked.to_owned() })
}

#[cfg(test)]
mod tests {
    use ane_device::Options;
    use ane_uapi::ioctl::fault;

    use super::*;
    use crate::build::{Element, Graph, Shape};
    use crate::container::Axes;
    use crate::device::Location;

    const SHAPE: Axes<u32> = Axes { n: 1, c: 4, h: 1, w: 1 };

    /// The difference and the sum of two inputs.
    fn difference_and_sum(inputs: [&str; 2], outputs: [&str; 2]) -> Model {
        let mut graph = Graph::new();
        let [first, second] = inputs.map(|name| graph.input(name, Shape::new(4, 1, 1)).unwrap());
        let difference = graph.binary(first, second, Element::SUBTRACT).unwrap();
        let sum = graph.binary(first, second, Element::ADD).unwrap();
        graph.output(outputs[0], difference).unwrap();
        graph.output(outputs[1], sum).unwrap();
        Model::from(&graph.build().unwrap())
    }

    fn loaded(model: &Model) -> Session {
        let device = Device::open(&Location::Embedded, &Options::default()).unwrap();
        Session::load(&device, model).unwrap()
    }

    fn filled(value: f32) -> Tensor {
        Tensor::from_fn(SHAPE, |_| f16::from_f32(value))
    }

    #[test]
    fn numbers_are_places_also_where_operands_are_called_by_numbers() {
        // Each is called by the number of the other.
        let inputs = difference_and_sum(["1", "0"], ["difference", "sum"]);
        let outputs = difference_and_sum(["first", "second"], ["1", "0"]);
        for model in [inputs, outputs] {
            let mut session = loaded(&model);
            session.set_at(0, &filled(5.0)).unwrap();
            session.set_at(1, &filled(2.0)).unwrap();
            session.run().unwrap();
            assert_eq!(session.get_at(0).unwrap(), filled(3.0));
            assert_eq!(session.get_at(1).unwrap(), filled(7.0));
        }
    }

    #[test]
    fn run_whose_fault_cannot_be_fetched_ends_as_it_ended() {
        let inject = vec!["translation-fault:after=0".parse().unwrap()];
        let device = Device::open(&Location::Embedded, &Options { inject, ..Options::default() });
        let device = device.unwrap().refusing(&fault::GET_FAULT);
        let model = difference_and_sum(["first", "second"], ["difference", "sum"]);
        let why = Session::load(&device, &model).unwrap().run().unwrap_err();
        let Error::Failed { outcome, fault, reason, .. } = &why else { panic!("{why}") };
        assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome}");
        assert!(fault.is_none() && reason.is_some(), "{why}");
    }

    #[test]
    fn place_that_is_not_there_and_tensor_of_another_shape_are_refused() {
        let mut session = loaded(&difference_and_sum(["first", "second"], ["difference", "sum"]));
        let message = session.set_at(2, &filled(1.0)).unwrap_err().to_string();
        assert_eq!(message, "program has no input \"2\"");
        assert_eq!(session.get_at(2).unwrap_err().to_string(), "program has no output \"2\"");
        let long = Tensor::from_fn(Axes { w: 2, ..SHAPE }, |_| f16::ONE);
        let message = session.set_at(0, &long).unwrap_err().to_string();
        assert_eq!(message, "input \"first\" has shape [1, 4, 1, 1], the tensor has [1, 4, 1, 2]");
    }
}
