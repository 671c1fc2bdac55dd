//! The executor: one pass after the other, from registers to result.
//!
//! 1. The registers become a plan, or the reason why there is none.
//! 2. Operands come from memory through the DART, or from the chip, into packed staging areas.
//! 3. The neural or the planar engine computes.
//! 4. The result goes to the chip, to memory, or both.
//!
//! A task is checked before anything of it is written to memory: its plan, its sources, and every page that
//! its result will touch. What depends on what is in memory (an activation table) comes before the result too.

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::hw::td::{common, kernel_dma, l2, tile_destination, tile_source};
use ane_uapi::register::{Reg, Register};
use vm_memory::GuestMemory;

use super::kernel_fetcher::{self, Coefficients};
use super::l2::Unknown;
use super::madd::{self, Array};
use super::numerics::Numerics;
use super::plan::cache::PlanCache;
use super::plan::coefficients::Kernel;
use super::plan::neural::{NeuralPass, Nonlinearity, Operation};
use super::plan::operand::{ChipPlace, MemoryPlace, Origin, Shape, Sink, Source, Window};
use super::plan::planar::PlanarPass;
use super::plan::verdict::Verdict;
use super::plan::{Pass, Plan};
use super::planar::Operand;
use super::table::{BadTable, Tables, Why};
use super::tile::{Fault, Tile};
use super::{Done, Engine, EngineError, Ports, TaskContext, l2 as chip};
use crate::dart::{Access, Circuit, Origin as Purpose};
use crate::options::Options;
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::trace::{self, Event, Stamp, What};

/// Executes tasks.
pub struct Executor {
    numerics: Numerics,
    is_strict: bool,
    plans: PlanCache,
    array: Array,
    tables: Tables,
    coefficients: Coefficients,
    staging: Staging,
    unknown: Unknown,
}

/// Packed tensors on their way, kept for the next pass.
#[derive(Default)]
struct Staging {
    source1: Vec<u16>,
    source2: Vec<u16>,
    result: Vec<u16>,
    turned: Vec<u16>,
    row: Vec<u16>,
}

impl From<Fault> for EngineError {
    fn from(fault: Fault) -> Self {
        Self::Fault { address: fault.address.get() }
    }
}

impl From<Verdict> for EngineError {
    fn from(verdict: Verdict) -> Self {
        Self::Refused(verdict)
    }
}

/// A source operand, and by which circuit and base register it comes.
#[derive(Clone, Copy)]
struct Inlet {
    circuit: Circuit,
    base: &'static Reg<DmaBytes>,
    on_chip: &'static Reg<ane_uapi::hw::td::words::ChipBytes>,
}

const SOURCE1: Inlet =
    Inlet { circuit: Circuit::TileFetch1, base: &tile_source::BASE_ADDR1, on_chip: &l2::SOURCE_BASE };
const SOURCE2: Inlet =
    Inlet { circuit: Circuit::TileFetch2, base: &tile_source::BASE_ADDR2, on_chip: &l2::SOURCE2_BASE };

/// What a pass works with: the task, its registers, and the way out.
struct Bench<'t, 'p, M> {
    task: &'t TaskContext<'t>,
    registers: &'t RegisterFile,
    ports: Ports<'p, M>,
}

impl<M: GuestMemory> Bench<'_, '_, M> {
    /// Address of a tensor of batch `batch`.
    fn base(&self, register: &Reg<DmaBytes>, place: &MemoryPlace, batch: u32) -> u64 {
        let base = u64::from(self.registers.base(register, 0).0);
        base.saturating_add(u64::from(place.group_stride).saturating_mul(batch.into()))
    }

    /// One direction of tile DMA for this task, which moves so many bytes.
    fn tile(
        &mut self,
        circuit: Circuit,
        register: &Reg<DmaBytes>,
        row: &mut Vec<u16>,
        bytes: u64,
        transfer: impl FnOnce(&mut Tile<'_, '_, M>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.say_purpose(register);
        let start = self.ports.timeline.now();
        let mut dma = self.ports.dart.dma(self.ports.memory, self.task.stream, circuit);
        let outcome = transfer(&mut Tile { dma: &mut dma, row });
        self.note_transfer(start, circuit, bytes, &outcome);
        outcome
    }

    /// Notes a transfer on the timeline, or its fault; what was only looked at is not one.
    fn note_transfer(&mut self, start: Stamp, circuit: Circuit, bytes: u64, outcome: &Result<(), Fault>) {
        match outcome {
            Err(fault) => self.note(start, What::Fault { circuit, address: fault.address.get() }),
            Ok(()) if bytes != 0 => self.note(start, What::Transfer { circuit, bytes }),
            Ok(()) => {}
        }
    }

    fn note(&mut self, start: Stamp, what: What) {
        let TaskContext { queue, nid, index, .. } = *self.task;
        self.ports.timeline.span(start, Event { task: trace::Task { queue, nid, index }, what });
    }

    fn say_purpose(&mut self, register: &Reg<DmaBytes>) {
        let header = self.task.header;
        let bar = match register.offset() {
            at if at == SOURCE1.base.offset() => Some(header.operands.rbase0()),
            at if at == SOURCE2.base.offset() => Some(header.operands.rbase1()),
            at if at == tile_destination::BASE_ADDR.offset() => Some(header.operands.wbase()),
            _ => Some(header.kernels.kbase0()),
        };
        let bar = bar.and_then(|bar| ane_uapi::hw::bar::BarIndex::new(bar.into()).ok());
        self.ports.dart.set_origin(Purpose {
            task: Some(self.task.index.into()),
            register: Some(ane_uapi::hw::space::EngineOffset(
                ane_uapi::hw::td::BASE.0.saturating_add(register.offset()),
            )),
            bar: bar.map(|bar| self.task.bars.get(bar)),
        });
    }
}

impl Executor {
    /// An executor as the options want it.
    pub fn new(options: &Options) -> Self {
        Self {
            numerics: options.numerics,
            is_strict: options.strict,
            plans: PlanCache::default(),
            array: Array::new(options.numerics, options.threads),
            tables: Tables::default(),
            coefficients: Coefficients::default(),
            staging: Staging::default(),
            unknown: Unknown::default(),
        }
    }

    /// How the array computes.
    pub const fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// How many plans were made since the start.
    pub const fn plans_made(&self) -> u64 {
        self.plans.made()
    }

    fn plan(&mut self, task: &TaskContext<'_>, registers: &RegisterFile) -> Result<Plan, Verdict> {
        let plan = self.plans.get(task.header, registers)?;
        if self.is_strict {
            plan.established(registers)?;
        }
        Ok(plan)
    }

    /// Reads a source into packed form, and leaves on chip what passing leaves there.
    fn take<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        source: &Source,
        inlet: Inlet,
        batch: u32,
        into: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        let shape = source.shape;
        into.resize(shape.len(), 0);
        match source.origin {
            Origin::Chip(place) => {
                let place = place.batch(batch);
                self.known(bench.registers, inlet, place, shape)?;
                chip::read(bench.ports.l2, place, shape, into);
            }
            Origin::Memory { from, by, leaves } => {
                let base = bench.base(inlet.base, &from, batch);
                bench.tile(inlet.circuit, inlet.base, &mut self.staging.row, bytes(shape), |tile| {
                    tile.fetch(&from, base, shape, into)
                })?;
                let by = by.batch(batch);
                match leaves {
                    Window::Whole => chip::write(bench.ports.l2, &mut self.unknown, by, shape, into),
                    Window::Unknown(len) => self.unknown.mark(by.base, len),
                }
            }
        }
        Ok(())
    }

    fn known(
        &self,
        registers: &RegisterFile,
        inlet: Inlet,
        place: ChipPlace,
        shape: Shape,
    ) -> Result<(), Verdict> {
        if !chip::is_unknown(&self.unknown, place, shape) {
            return Ok(());
        }
        Err(Verdict {
            category: Category::Unpredictable,
            address: inlet.on_chip.offset(),
            bits: u32::MAX,
            value: registers.written(inlet.on_chip.offset()).unwrap_or_default(),
            why: "source on chip has bytes that an earlier task streamed through in an order that is not known",
        })
    }

    /// Says whether the result of a batch may be written.
    fn check_result<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        sink: &Sink,
        batch: u32,
    ) -> Result<(), EngineError> {
        let Some(to) = sink.memory else { return Ok(()) };
        let register = &tile_destination::BASE_ADDR;
        let base = bench.base(register, &to, batch);
        bench.tile(Circuit::TileSend, register, &mut self.staging.row, 0, |tile| {
            tile.check(&to, base, sink.shape, Access::Write)
        })?;
        Ok(())
    }

    /// Puts the result where it belongs.
    fn give<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        sink: &Sink,
        batch: u32,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        if sink.is_transposed {
            transpose(result, sink.shape.transposed(), &mut self.staging.turned);
            std::mem::swap(result, &mut self.staging.turned);
        }
        if let Some((place, len)) = sink.spoils {
            self.unknown.mark(place.batch(batch).base, len);
        }
        if let Some(place) = sink.chip {
            chip::write(bench.ports.l2, &mut self.unknown, place.batch(batch), sink.shape, result);
        }
        if let Some(to) = sink.memory {
            let register = &tile_destination::BASE_ADDR;
            let base = bench.base(register, &to, batch);
            bench.tile(Circuit::TileSend, register, &mut self.staging.row, bytes(sink.shape), |tile| {
                tile.send(&to, base, sink.shape, result)
            })?;
        }
        Ok(())
    }

    fn run_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &NeuralPass,
    ) -> Result<(), EngineError> {
        let mut input = std::mem::take(&mut self.staging.source1);
        let mut result = std::mem::take(&mut self.staging.result);
        let outcome = self.compute_neural(bench, pass, &mut input, &mut result);
        self.staging.source1 = input;
        self.staging.result = result;
        outcome
    }

    fn compute_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &NeuralPass,
        input: &mut Vec<u16>,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        self.take(bench, &pass.source, SOURCE1, 0, input)?;
        if pass.input_relu {
            input.iter_mut().for_each(|half| *half = input_relu(*half));
        }
        if let Operation::Convolve(kernel) = pass.operation {
            self.fetch_kernel(bench, &kernel)?;
        }
        let table = match pass.nonlinearity {
            Nonlinearity::Table => Some(self.fetch_table(bench)?),
            Nonlinearity::None | Nonlinearity::Relu => None,
        };
        self.check_result(bench, &pass.sink, 0)?;
        result.resize(pass.output().len(), 0);
        let convolution = &pass.convolution;
        let start = bench.ports.timeline.now();
        let array = &mut self.array;
        let scale = pass.post_scale;
        let computed = match pass.operation {
            Operation::Convolve(kernel) => {
                let weights = madd::Coefficients::Halves(&self.coefficients.weights);
                let biases = kernel.has_bias.then_some(self.coefficients.biases.as_slice());
                array.convolve(convolution, input, weights, biases, scale, result)
            }
            Operation::Sum => {
                array.convolve(convolution, input, madd::Coefficients::Unity, None, scale, result)
            }
            Operation::Maximum => array.maximum(convolution, input, scale, result),
            Operation::PassThrough => {
                array.scale(input, scale, result);
                Ok(())
            }
        };
        computed.map_err(|_| {
            sizes(bench.registers, &common::CONV_CFG.info, "array does not take a pass of these sizes")
        })?;
        if let Some(bytes) = table {
            self.tables.get(&bytes).map_err(|bad| bad_table(&bad))?.apply(result);
        } else if pass.nonlinearity == Nonlinearity::Relu {
            result.iter_mut().for_each(|half| *half = relu(*half));
        }
        let what = What::Pass {
            class: TaskClass::Neural,
            shape: extents(pass.output()),
            numerics: Some(self.numerics),
            macs: pass.macs(),
        };
        bench.note(start, what);
        self.give(bench, &pass.sink, 0, result)
    }

    fn fetch_kernel<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        kernel: &Kernel,
    ) -> Result<(), EngineError> {
        bench.say_purpose(&kernel_dma::COEFF_BASE_ADDR);
        let start = bench.ports.timeline.now();
        let Ports { memory, dart, kernel: shown, .. } = &mut bench.ports;
        let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
        let outcome = self.coefficients.fetch(&mut dma, bench.registers, kernel);
        self.coefficients.show(kernel, shown);
        let bytes = kernel.slot_bytes().saturating_mul(kernel.planes.into());
        bench.note_transfer(start, Circuit::KernelFetch, bytes, &outcome);
        Ok(outcome?)
    }

    fn fetch_table<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
    ) -> Result<[u8; BYTES], EngineError> {
        bench.say_purpose(&kernel_dma::COEFF_BASE_ADDR);
        let start = bench.ports.timeline.now();
        let Ports { memory, dart, kernel, .. } = &mut bench.ports;
        let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
        let mut bytes = [0; BYTES];
        let outcome = kernel_fetcher::table(&mut dma, bench.registers, kernel, &mut bytes);
        bench.note_transfer(start, Circuit::KernelFetch, BYTES as u64, &outcome);
        outcome?;
        self.tables.get(&bytes).map_err(|bad| bad_table(&bad))?;
        Ok(bytes)
    }

    fn run_planar<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &PlanarPass,
    ) -> Result<(), EngineError> {
        self.check_batches(bench, pass)?;
        for batch in 0..pass.batches {
            let mut source1 = std::mem::take(&mut self.staging.source1);
            let mut source2 = std::mem::take(&mut self.staging.source2);
            let mut result = std::mem::take(&mut self.staging.result);
            let outcome = self.compute_planar(bench, pass, batch, &mut source1, &mut source2, &mut result);
            self.staging.source1 = source1;
            self.staging.source2 = source2;
            self.staging.result = result;
            outcome?;
        }
        Ok(())
    }

    /// Of a task with batches, looks at every transfer of each before the first.
    fn check_batches<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &PlanarPass,
    ) -> Result<(), EngineError> {
        if pass.batches == 1 {
            return Ok(());
        }
        for batch in 0..pass.batches {
            for (source, inlet) in [(Some(&pass.source1), SOURCE1), (pass.source2.as_ref(), SOURCE2)] {
                let Some(Source { shape, origin: Origin::Memory { from, .. } }) = source else { continue };
                let base = bench.base(inlet.base, from, batch);
                bench.tile(inlet.circuit, inlet.base, &mut self.staging.row, 0, |tile| {
                    tile.check(from, base, *shape, Access::Read)
                })?;
            }
            self.check_result(bench, &pass.sink, batch)?;
        }
        Ok(())
    }

    fn compute_planar<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &PlanarPass,
        batch: u32,
        source1: &mut Vec<u16>,
        source2: &mut Vec<u16>,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        self.take(bench, &pass.source1, SOURCE1, batch, source1)?;
        if let Some(source) = &pass.source2 {
            self.take(bench, source, SOURCE2, batch, source2)?;
        }
        if pass.batches == 1 {
            self.check_result(bench, &pass.sink, batch)?;
        }
        result.resize(pass.output().len(), 0);
        let operand = |shape: Shape, values| Operand {
            values,
            channels: shape.channels,
            height: shape.height,
            width: shape.width,
        };
        let a = operand(pass.source1.shape, source1.as_slice());
        let b = pass.source2.map(|source| operand(source.shape, source2.as_slice()));
        let start = bench.ports.timeline.now();
        pass.planar.run(pass.shape, a, b, result).map_err(|_| {
            sizes(bench.registers, &common::IN_DIM.info, "planar engine does not take a pass of these sizes")
        })?;
        let class = pass.planar.class.task_class();
        bench.note(start, What::Pass { class, shape: extents(pass.output()), numerics: None, macs: 0 });
        self.give(bench, &pass.sink, batch, result)
    }
}

impl<M: GuestMemory> Engine<M> for Executor {
    fn run(
        &mut self,
        task: &TaskContext<'_>,
        registers: &RegisterFile,
        ports: Ports<'_, M>,
    ) -> Result<Done, EngineError> {
        let plan = self.plan(task, registers)?;
        let mut bench = Bench { task, registers, ports };
        match &plan.pass {
            Pass::Neural(pass) => self.run_neural(&mut bench, pass)?,
            Pass::Planar(pass) => self.run_planar(&mut bench, pass)?,
        }
        Ok(Done { cost: Ticks::ZERO, inferred: plan.inferred })
    }

    /// Gives back the room that the largest tasks have taken. What is unknown on chip stays so: the chip keeps its
    /// contents.
    fn reset(&mut self) {
        self.staging = Staging::default();
        self.coefficients = Coefficients::default();
    }
}

/// A pass that was planned and that an engine refuses: a mistake of the model, which it says and does not hide.
fn sizes(registers: &RegisterFile, register: &Register, why: &'static str) -> Verdict {
    let value = registers.written(register.offset).unwrap_or_default();
    Verdict { category: Category::Unimplemented, address: register.offset, bits: u32::MAX, value, why }
}

/// An activation table that is refused; the value is that of the halfword to blame.
fn bad_table(bad: &BadTable) -> Verdict {
    let why = match bad.why {
        Why::Mode => "activation table has a mode that is not known",
        Why::Flags => "activation table has flags that are not known together",
        Why::Spacing => "activation table has knots more than 2^64 or less than 2^-64 apart",
        Why::SpacingInMode(_) => "activation table has knots that its mode leaves",
        Why::NegativeInMode(_) => {
            "activation table lets negative values into a mode that has no place for them"
        }
    };
    let address = kernel_dma::COEFF_BASE_ADDR.offset();
    Verdict { category: Category::Undefined, address, bits: u32::MAX, value: bad.value.into(), why }
}

/// Bytes of a tensor.
const fn bytes(shape: Shape) -> u64 {
    shape.elements().saturating_mul(2)
}

/// A shape as the timeline shows it.
const fn extents(shape: Shape) -> [u32; 3] {
    [shape.channels, shape.height, shape.width]
}

/// A half as InputReLU passes it on.
const fn input_relu(half: u16) -> u16 {
    const INFINITY: u16 = 0x7c00;
    if half & 0x7fff > INFINITY { INFINITY } else { relu(half) }
}

/// The larger of a half and +0.
const fn relu(half: u16) -> u16 {
    if half & 0x8000 == 0 { half } else { 0 }
}

/// Puts channels and columns in each other's place; `shape` is that of `from`.
fn transpose(from: &[u16], shape: Shape, into: &mut Vec<u16>) {
    let (channels, height, width) = (shape.channels as usize, shape.height as usize, shape.width as usize);
    into.resize(from.len(), 0);
    let plane = height.saturating_mul(width);
    let rows = into.chunks_exact_mut(channels.max(1));
    for (index, row) in rows.enumerate() {
        // Row `y` of what was column `x`.
        let (x, y) = (index.checked_div(height).unwrap_or(0), index.checked_rem(height).unwrap_or(0));
        let start = y.saturating_mul(width).saturating_add(x);
        let elements = from.iter().skip(start).step_by(plane.max(1));
        row.iter_mut().zip(elements).for_each(|(to, from)| *to = *from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_element_lies_where_channel_and_column_have_changed_places() {
        let shape = Shape { channels: 3, height: 2, width: 4 };
        let from: Vec<u16> = (0..24).collect();
        let mut into = Vec::new();
        transpose(&from, shape, &mut into);
        // Element (c, y, x) of `from` is element (x, y, c) of `into`.
        let (c, y, x) = (2, 1, 3);
        assert_eq!(into[(x * 2 + y) * 3 + c], from[(c * 2 + y) * 4 + x]);
        let mut back = Vec::new();
        transpose(&into, shape.transposed(), &mut back);
        assert_eq!(back, from);
    }

    #[test]
    fn reset_gives_back_staging_and_knows_no_more_of_the_chip() {
        let mut executor = Executor::new(&Options::default());
        executor.staging.source1.resize(1 << 20, 0);
        executor.coefficients.weights.resize(1 << 20, 0);
        executor.unknown.mark(0x40, 0x10);
        Engine::<vm_memory::GuestMemoryMmap>::reset(&mut executor);
        assert_eq!((executor.staging.source1.capacity(), executor.coefficients.weights.capacity()), (0, 0));
        let place = ChipPlace { base: 0x40, ..ChipPlace::default() };
        assert!(chip::is_unknown(&executor.unknown, place, Shape { channels: 1, height: 1, width: 1 }));
    }

    #[test]
    fn relu_on_the_input_takes_what_is_no_number_for_infinity() {
        assert_eq!([0xfe00, 0x7e01, 0x8000, 0xbc00, 0x3c00].map(input_relu), [0x7c00, 0x7c00, 0, 0, 0x3c00]);
    }
}
