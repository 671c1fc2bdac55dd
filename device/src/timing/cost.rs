//! Costs: how long the work of a pass takes on a machine.
//!
//! With `fill` for the coefficients, `move` for the activations and `array` for the array with what it waits for banks:
//!
//! * a pass over activations that fit: `body = max(array, move)`, tiles come and go while the array works;
//! * a pass over an activation that is streamed: `body = array + move`, one tile after the other is brought, used, sent;
//! * coefficients below the tiler's split: `fill + body`, the array starts when they are there;
//! * coefficients above it, in `n` tiles: `max(fill, body) + min(fill, body) / n`, tile by tile both at once;
//! * where all is tiled at every size (M5), the last holds for each pass over the outputs.
//!
//! A layer that was cut into several tasks shows as tasks of the same work one behind the other: the coefficients of
//! each fill while the array works on the one before. So a task hides of the next one's fill at most the time in which it
//! brings no coefficients itself, and only what nothing but coefficients would take.

use ane_uapi::hw::sram::Crossing;

use super::machine::{LAYER_OVERHEAD, Machine};
use super::work::Work;
use crate::engine::plan::Pass;
use crate::time::Ticks;

/// The time of a task, in cycles of the engine's clock unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub work: Work,
    /// Coefficients come in.
    pub fill: u64,
    /// Activations come in.
    pub read: u64,
    /// The result goes out.
    pub write: u64,
    /// The array, with its waits for banks.
    pub array: u64,
    /// Tiles of the coefficients, each of which fills while the array works on the one before; 1 if they come whole.
    pub tiles: u64,
    /// Everything but the coefficients.
    pub body: u64,
    /// The task by itself.
    pub alone: u64,
    /// The same in the device's ticks.
    pub ticks: Ticks,
}

impl Cost {
    pub fn of(machine: &Machine, pass: &Pass) -> Self {
        Self::of_work(machine, Work::of(machine, pass))
    }

    pub fn of_work(machine: &Machine, work: Work) -> Self {
        let hierarchy = &machine.hierarchy;
        let tiles = match hierarchy.crossing {
            Crossing::Smooth => work.passes,
            Crossing::Step if work.kernel_bytes < hierarchy.split_bytes().into() => 1,
            Crossing::Step => work.kernel_bytes.div_ceil(hierarchy.tile_bytes().into()),
        };
        let cost = Self {
            work,
            fill: machine.transfer(work.kernel_bytes),
            read: machine.transfer(work.read_bytes),
            write: machine.transfer(work.write_bytes),
            array: work.cycles.saturating_add(work.banks.stalls),
            tiles: tiles.max(1),
            body: 0,
            alone: 0,
            ticks: Ticks::ZERO,
        };
        let cost = Self { body: cost.body(), ..cost };
        let alone = cost.alone();
        Self { alone, ticks: machine.ticks(alone), ..cost }
    }

    const fn body(&self) -> u64 {
        let moves = self.read.saturating_add(self.write);
        if self.work.streams {
            self.array.saturating_add(moves)
        } else if self.array > moves {
            self.array
        } else {
            moves
        }
    }

    const fn alone(&self) -> u64 {
        let (body, fill) = (self.body, self.fill);
        let (longer, shorter) = if fill > body { (fill, body) } else { (body, fill) };
        let both = match self.tiles {
            0 | 1 => fill.saturating_add(body),
            tiles => longer.saturating_add(shorter.div_ceil(tiles)),
        };
        both.saturating_add(LAYER_OVERHEAD)
    }

    /// Cycles of the task by itself in which nothing but coefficients comes in.
    const fn fill_alone(&self) -> u64 {
        self.alone.saturating_sub(self.body).saturating_sub(LAYER_OVERHEAD)
    }

    /// Cycles of the task by itself in which no coefficients come in.
    const fn body_alone(&self) -> u64 {
        self.alone.saturating_sub(self.fill).saturating_sub(LAYER_OVERHEAD)
    }
}

/// Virtual time that a task took, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// All of it, translation included.
    pub cycles: u64,
    /// Cycles of the fill that the task before hid.
    pub hidden: u64,
    /// Cycles that transfers waited for a translation stage.
    pub translation: u64,
}

/// The facts about a task that the next one uses: whether that is the next tile of the same layer, and how much time it hides.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    fill: u64,
    cycles: u64,
    passes: u64,
    /// Cycles in which the next coefficients may come in.
    body_alone: u64,
}

impl Before {
    /// The part of the fill of `next` that this task hides.
    ///
    /// Deviation: inferred. A descriptor does not say that its task is part of a layer; the same size of coefficients and
    /// the same work of the array are taken for it.
    const fn hides(&self, next: &Cost) -> u64 {
        let goes_on =
            next.fill == self.fill && next.work.cycles == self.cycles && next.work.passes == self.passes;
        let fill_alone = next.fill_alone();
        match goes_on {
            true if fill_alone < self.body_alone => fill_alone,
            true => self.body_alone,
            false => 0,
        }
    }
}

/// The model at work: it knows which task came before.
#[derive(Clone, Debug)]
pub struct Clock {
    machine: Machine,
    before: Option<Before>,
}

impl Clock {
    pub const fn new(machine: Machine) -> Self {
        Self { machine, before: None }
    }

    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The next task, whose transfers waited so long for a translation stage; the first of its request if `is_first`.
    pub fn task(&mut self, cost: &Cost, is_first: bool, translation_nanoseconds: u64) -> Spent {
        let hidden = match &self.before {
            Some(before) if !is_first => before.hides(cost),
            _ => 0,
        };
        // Only coefficients are ever hidden.
        self.before = (cost.fill != 0).then_some(Before {
            fill: cost.fill,
            cycles: cost.work.cycles,
            passes: cost.work.passes,
            body_alone: cost.body_alone(),
        });
        let translation =
            if translation_nanoseconds == 0 { 0 } else { self.machine.cycles(translation_nanoseconds) };
        let cycles = cost.alone.saturating_sub(hidden).saturating_add(translation);
        Spent { cycles, hidden, translation }
    }

    /// Forgets the task before, and gives away what it knew of it.
    pub(crate) const fn take_before(&mut self) -> Option<Before> {
        self.before.take()
    }

    /// The task before was this one.
    pub(crate) const fn put_before(&mut self, before: Option<Before>) {
        self.before = before;
    }

    /// The time of a task, in the device's ticks, at least one.
    pub fn ticks(&self, cost: &Cost, spent: &Spent) -> Ticks {
        // Most tasks take what was worked out with their plan.
        if spent.cycles == cost.alone { cost.ticks } else { self.machine.ticks(spent.cycles) }
    }

    pub fn dispatch_cycles(&self) -> u64 {
        self.machine.cycles(self.machine.dispatch_nanoseconds)
    }

    /// The time of a request besides its tasks.
    pub const fn dispatch(&self) -> Ticks {
        Ticks::from_nanoseconds(self.machine.dispatch_nanoseconds)
    }
}
