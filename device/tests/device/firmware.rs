//! The firmware's share, by its registers.

use ane_uapi::hw::firmware::{Answer, BUFFERS, IN_FLIGHT_MAX, Order, OrderWord, POOLS};
use ane_uapi::hw::rebase::ClampedBuffer;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tq::QueueId;

use crate::machine::{Machine, PAGE, RESULT, SOURCE};

const BASE: u32 = 0x1f5_0000;

fn set(machine: &mut Machine, offset: u32, value: u64) {
    machine.write(EngineOffset(BASE + offset), value as u32);
    machine.write(EngineOffset(BASE + offset + 4), (value >> 32) as u32);
}

fn get(machine: &mut Machine, offset: u32) -> u64 {
    let [low, high] = [0, 4].map(|half| u64::from(machine.read(EngineOffset(BASE + offset + half))));
    high << 32 | low
}

fn word(machine: &mut Machine, offset: u32) -> u32 {
    machine.read(EngineOffset(BASE + offset))
}

fn region(machine: &mut Machine, dva_base: u64, size: u64, mapped_base: u64) {
    for (offset, value) in [(0xb98, dva_base), (0xba0, size), (0xba8, mapped_base)] {
        set(machine, offset, value);
        assert_eq!(get(machine, offset), value);
    }
}

/// Gives an order, and takes its answer.
fn order(machine: &mut Machine, word: OrderWord) -> Answer {
    machine.write(EngineOffset(BASE), word.into_bits());
    let answer = machine.read(EngineOffset(BASE + 4)) as u8;
    Answer::try_from(answer).unwrap()
}

fn plain(machine: &mut Machine, what: Order) -> Answer {
    order(machine, OrderWord::new().with_order(what as u8))
}

fn binding(kind: ClampedBuffer, bar: u8, wide: bool) -> OrderWord {
    OrderWord::new()
        .with_order(Order::Bind as u8)
        .with_buffer(kind as u8)
        .with_queue(QueueId::LINUX.number())
        .with_bar(bar)
        .with_wide(wide)
}

fn buffer(machine: &mut Machine, address: u64, size: u64) {
    set(machine, 0x08, address);
    set(machine, 0x10, size);
}

#[test]
fn narrow_bar_gets_the_rebased_address_in_its_register() {
    let mut machine = Machine::new();
    region(&mut machine, 0x10_0000, 0x4000, 0x8000_0100);
    buffer(&mut machine, 0x10_0801, 0x10);
    assert_eq!(order(&mut machine, binding(ClampedBuffer::Output, 7, false)), Answer::Done);
    let register = EngineOffset(0x1c2_5020 + u32::from(QueueId::LINUX.number()) * 0x148 + 7 * 4);
    assert_eq!(machine.read(register), 0x8000_0901);
    assert_eq!(get(&mut machine, 0x20), 0x8000_0901);
}

#[test]
fn buffer_is_held_against_region_and_ceiling_first() {
    let mut machine = Machine::new();
    buffer(&mut machine, 0x10_0000, 0x10);
    let any = binding(ClampedBuffer::Text, 0, false);
    assert_eq!(order(&mut machine, any), Answer::NotMapped);
    region(&mut machine, 0x10_0000, 0x4000, 0x1bc4_0000_0000);
    for (address, size, answer) in [
        (0xf_ffff, 1, Answer::OutsideRegion),
        (0x10_4000, 1, Answer::OutsideRegion),
        (0x10_3fff, 2, Answer::OutsideRegion),
        (0x10_0000, 0, Answer::OutsideRegion),
        (0x10_0000, u64::MAX, Answer::OutsideRegion),
        (0x10_0000, 1, Answer::NeedsWideBar),
    ] {
        buffer(&mut machine, address, size);
        assert_eq!(order(&mut machine, any), answer, "{address:#x}, {size:#x}");
    }
    for kind in 0..6 {
        buffer(&mut machine, 1 << 32 | 0x10_0000, 1);
        let kind = OrderWord::from_bits(any.into_bits()).with_buffer(kind);
        assert_eq!(order(&mut machine, kind), Answer::HighAddress, "{kind:?}");
    }
    assert_eq!(order(&mut machine, any.with_buffer(7)), Answer::Unknown);
    assert_eq!(order(&mut machine, any.with_order(99)), Answer::Unknown);
    region(&mut machine, 0x10_0000, 0x4000, u64::MAX - 5);
    buffer(&mut machine, 0x10_0000, 1);
    assert_eq!(order(&mut machine, any), Answer::Wraps);
}

#[test]
fn wide_bar_leaves_its_register_and_serves_the_request_out_of_the_table() {
    let mut machine = Machine::new();
    machine.ane.engine_mut().copies = 0;
    let other = SOURCE.0 + 4 * PAGE;
    region(&mut machine, 0, 0x8_0000, 0x1bc4_1234_0000);
    buffer(&mut machine, other.into(), 0x40);
    assert_eq!(order(&mut machine, binding(ClampedBuffer::Intermediate, 5, true)), Answer::Done);
    assert_eq!(get(&mut machine, 0x20), 0x1bc4_1234_0000 + u64::from(other));
    let bars = machine.ane.firmware().bars(QueueId::LINUX, &Default::default());
    let bar = |number| ane_uapi::hw::bar::BarIndex::new(number).unwrap();
    assert_eq!((bars.get(bar(5)).0, bars.get(bar(4)).0), (other, 0));
    // A narrow binding takes it back.
    region(&mut machine, 0, 0x8_0000, 0);
    buffer(&mut machine, RESULT.0.into(), 0x40);
    assert_eq!(order(&mut machine, binding(ClampedBuffer::Output, 5, false)), Answer::Done);
    let bars = machine.ane.firmware().bars(QueueId::LINUX, &Default::default());
    assert_eq!(bars.get(bar(5)).0, 0);
}

/// A pool, with a buffer that was mapped ahead of its use.
fn pooled(machine: &mut Machine) -> u32 {
    region(machine, 0x10_0000, 0x4000, 0x1bc4_0000_0000);
    assert_eq!(plain(machine, Order::PoolCreate), Answer::Done);
    buffer(machine, 0x10_1000, 0x100);
    let premap = OrderWord::new().with_order(Order::Premap as u8).with_buffer(ClampedBuffer::Output as u8);
    assert_eq!(order(machine, premap), Answer::Done);
    word(machine, 0x1c)
}

#[test]
fn output_buffer_goes_round_and_is_never_taken_twice() {
    let mut machine = Machine::new();
    let id = pooled(&mut machine);
    for _ in 0..3 {
        assert_eq!(plain(&mut machine, Order::Take), Answer::Done);
        assert_eq!((word(&mut machine, 0x1c), get(&mut machine, 0x20)), (id, 0x1bc4_0000_1000));
        assert_eq!(plain(&mut machine, Order::Take), Answer::WrongState);
        assert_eq!(plain(&mut machine, Order::Recycle), Answer::WrongState);
        assert_eq!(plain(&mut machine, Order::PoolDestroy), Answer::WrongState);
        assert_eq!(plain(&mut machine, Order::Return), Answer::Done);
        assert_eq!(plain(&mut machine, Order::Take), Answer::WrongState);
        assert_eq!(plain(&mut machine, Order::Recycle), Answer::Done);
    }
    assert_eq!(plain(&mut machine, Order::PoolDestroy), Answer::Done);
    assert_eq!(plain(&mut machine, Order::PoolDestroy), Answer::Nobody);
    assert_eq!(plain(&mut machine, Order::Return), Answer::Nobody);
}

#[test]
fn pools_and_buffers_are_bounded() {
    let mut machine = Machine::new();
    pooled(&mut machine);
    let premap = OrderWord::new().with_order(Order::Premap as u8);
    for _ in 1..BUFFERS {
        assert_eq!(order(&mut machine, premap), Answer::Done);
    }
    assert_eq!(order(&mut machine, premap), Answer::Full);
    for _ in 1..POOLS {
        assert_eq!(plain(&mut machine, Order::PoolCreate), Answer::Done);
    }
    assert_eq!(plain(&mut machine, Order::PoolCreate), Answer::Full);
}

#[test]
fn requests_in_flight_are_127_at_most() {
    let mut machine = Machine::new();
    assert_eq!(plain(&mut machine, Order::End), Answer::WrongState);
    for _ in 0..127 {
        assert_eq!(plain(&mut machine, Order::Begin), Answer::Done);
    }
    assert_eq!(plain(&mut machine, Order::Begin), Answer::Full);
    assert_eq!(word(&mut machine, 0x28), IN_FLIGHT_MAX);
    assert_eq!(plain(&mut machine, Order::End), Answer::Done);
    assert_eq!(plain(&mut machine, Order::Begin), Answer::Done);
}
