//! F5: contexts of different users reach for each other's memory.
//!
//! Each of the eight contexts, as attacker, runs a program whose input or output is forged to lie at an address of each
//! context, as victim. The address there has one of these: memory that is mapped, nothing, memory whose mapping went
//! after the engine had used it (a stale translation would still lead to it), and memory that was freed so. The victim
//! may be the attacker itself: what it has mapped it has to reach then, or the probe would prove nothing.

use ane::build::{Built, Graph, Shape};
use ane::embedded;
use ane_device::Options;
use ane_driver::bo::{BufferId, Holder, Premap, Use};
use ane_driver::dart::CONTEXT_BYTES;
use ane_driver::front::{FileId, User};
use ane_driver::iso::Seeker;
use ane_tests::driven::{ContextProgram, Driven};
use ane_tests::random::Random;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::context::ContextPolicy;
use half::f16;

use super::harness::{Figure, Verdict};

const FIGURE: Figure = Figure {
    id: "F5",
    what: "isolation: 8 x 8 contexts of different users, memory mapped, unmapped, stale, freed",
    wanted: "no byte crosses",
    ci: 5_120,
    release: 100_000,
};

const CONTEXTS: usize = 8;
const PAGE: u32 = 0x4000;
/// Halves of a row without padding.
const ROW: usize = 32;
/// Probes of one device.
const PROBES: u64 = 10 * 8 * 8 * 4;

/// The state of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Mapped,
    Unmapped,
    Stale,
    Freed,
}

const STATES: [State; 4] = [State::Mapped, State::Unmapped, State::Stale, State::Freed];

struct Party {
    file: u64,
    context: ContextId,
    loaded: ContextProgram,
}

struct Parties {
    driven: Driven<embedded::InProcess>,
    built: Built,
    parties: Vec<Party>,
    random: Random,
    files: u64,
}

/// A value that no buffer has but the secret of this probe.
fn secret(number: u64) -> Vec<f16> {
    (0..ROW as u64).map(|n| f16::from_bits((0x2000 + (number * 37 + n * 11) % 0x4000) as u16)).collect()
}

fn bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

impl Parties {
    fn new(random: Random) -> Self {
        let mut graph = Graph::new();
        let x = graph.input("x", Shape::new(1, 1, ROW as u32)).expect("fits");
        let y = graph.relu(x).expect("is offered");
        graph.output("y", y).expect("computed");
        let bus = embedded::open(&Options::default(), CONTEXTS * CONTEXT_BYTES).expect("a device can be had");
        let built = graph.build().expect("can be built");
        let mut world = Self { driven: Driven::new(bus), built, parties: Vec::new(), random, files: 0 };
        for _ in 0..CONTEXTS {
            let party = world.party();
            world.parties.push(party);
        }
        world
    }

    /// Another user, with a context and a program in it.
    fn party(&mut self) -> Party {
        self.files += 1;
        let user = User { id: 1000 + self.files as u32, is_privileged: false };
        let seeker = Seeker { file: FileId(self.files), user };
        let attached = self.driven.contexts.attach(&mut self.driven.bus, seeker, ContextPolicy::Refuse, None);
        let context = attached.expect("a context is free").context;
        let loaded = self.driven.load(context, &self.built.program(), 0);
        Party { file: self.files, context, loaded }
    }

    /// The victim's memory at an address of its own: its buffer, if there is one.
    fn place(&mut self, victim: usize, state: State, at: Iova, values: &[f16]) -> Option<BufferId> {
        let Party { context, loaded, .. } = &self.parties[victim];
        let (context, loaded) = (*context, loaded.clone());
        if state == State::Unmapped {
            return None;
        }
        let buffer = self.driven.buffer(context, PAGE.into(), Usage::Input, 0);
        let (space, bus) = self.driven.space(context);
        space.write(buffer, 0, &bytes(values)).expect("buffer is as long");
        let premap = Premap { usage: Usage::Input as u32, address: at.0.into(), size: PAGE.into() };
        assert_eq!(space.premap(bus, buffer, &premap).expect("nothing is there"), at);
        // The engine has used it, so that its translation is kept wherever translations are.
        let mut used = loaded;
        let x = self.built.surface("x").expect("input").bar;
        used.bars.insert(x, Use { buffer, mapping: 0 });
        assert!(self.driven.run(&used).0, "the victim reaches its own memory");
        let (space, _) = self.driven.space(context);
        match state {
            State::Stale => space.unmap(buffer, 0, Usage::Input as u32).expect("it is mapped"),
            State::Freed => space.release(buffer, Holder::Handle),
            State::Mapped | State::Unmapped => {}
        }
        (state != State::Freed).then_some(buffer)
    }

    /// One probe; what was wrong.
    fn probe(&mut self, number: u64, attacker: usize, victim: usize, state: State) -> Result<(), String> {
        let values = secret(number);
        let page = 0x1000 + 0x200 * victim as u32 + self.random.below(0x200);
        let at = Iova(page * PAGE);
        let buffer = self.place(victim, state, at, &values);
        let writes = self.random.below(2) == 1;
        let own = vec![f16::from_bits(0x1234); ROW];
        let [x, y] = ["x", "y"].map(|name| self.built.surface(name).expect("is there").clone());
        let mut forged = self.parties[attacker].loaded.clone();
        forged.forged.insert(if writes { y.bar } else { x.bar }, at);
        self.driven.fill(&forged, &x, &own);
        self.driven.fill(&forged, &y, &own);
        let (is_done, _) = self.driven.run(&forged);
        let seen = self.driven.take(&forged, &y, ROW);
        let may_reach = attacker == victim && state == State::Mapped;
        let victims = self.parties[victim].context;
        let there = buffer.map(|buffer| {
            let mut there = vec![0; 2 * ROW];
            self.driven.space(victims).0.read(buffer, 0, &mut there).expect("buffer is as long");
            self.driven.space(victims).0.release(buffer, Holder::Handle);
            there
        });
        let case = format!(
            "{attacker} reaches for {state:?} of {victim}, {}",
            if writes { "writing" } else { "reading" }
        );
        let kept = if may_reach && writes { &own } else { &values };
        if is_done != may_reach {
            return Err(format!("{case}: ended {}", if is_done { "well" } else { "in a fault" }));
        }
        if there.is_some_and(|there| there != bytes(kept)) {
            return Err(format!("{case}: the victim's memory has changed"));
        }
        if seen != if may_reach && !writes { values } else { own } {
            return Err(format!("{case}: the attacker's memory has changed"));
        }
        self.reuse(attacker, number).map_err(|why| format!("{case}: {why}"))
    }

    /// A new buffer of the attacker's has none of the bytes of another client that had its pages
    /// before.
    fn reuse(&mut self, attacker: usize, number: u64) -> Result<(), String> {
        let context = self.parties[attacker].context;
        let fresh = self.driven.buffer(context, PAGE.into(), Usage::Input, 0);
        let mut seen = vec![0; PAGE as usize];
        let (space, _) = self.driven.space(context);
        space.read(fresh, 0, &mut seen).expect("buffer is as long");
        space.write(fresh, 0, &bytes(&secret(number + 1))).expect("buffer is as long");
        space.release(fresh, Holder::Handle);
        if seen.iter().any(|&byte| byte != 0) {
            return Err("a new buffer is not empty".to_owned());
        }
        Ok(())
    }

    /// A user goes, and another has its context.
    fn exchange(&mut self, party: usize) {
        let gone = self.parties[party].file;
        self.driven.close(gone);
        self.parties[party] = self.party();
    }
}

#[test]
fn f5_no_byte_crosses_from_one_context_to_another() {
    FIGURE.run(|plan| {
        let (mut wrong, mut reached) = (Vec::new(), 0);
        for part in 0..plan.count.div_ceil(PROBES) {
            let mut world = Parties::new(plan.random(part));
            for number in part * PROBES..plan.count.min((part + 1) * PROBES) {
                let n = number as usize;
                let (attacker, victim, state) = (n % 8, n / 8 % 8, STATES[n / 64 % 4]);
                match world.probe(number, attacker, victim, state) {
                    Ok(()) => reached += u64::from(attacker == victim && state == State::Mapped),
                    Err(why) => wrong.push(why),
                }
                if number % 61 == 60 {
                    world.exchange(victim);
                }
            }
        }
        let count = wrong.len();
        let mut got = format!(
            "{} probes, {reached} of them of own memory, which was reached; {count} wrong",
            plan.count
        );
        if let Some(first) = wrong.first() {
            got = format!("{got}, the first: {first}");
        }
        Verdict::counted(got, count == 0 && reached > 0)
    });
}
