//! Costs of any work: none wraps, none is nothing, and more work never takes less time.

use ane_device::timing::phases::{Part, Span, TILES_MAX};
use ane_device::timing::usage::Usage;
use ane_device::timing::work::Work;
use ane_device::timing::{Clock, Cost, Machine, Spent};
use ane_uapi::hw::hal::Generation;
use proptest::prelude::*;

fn m1() -> Machine {
    Machine::of(Generation::H13)
}

fn cost(kernel: u64, read: u64, write: u64, cycles: u64, streams: bool) -> Cost {
    let work = Work {
        kernel_bytes: kernel,
        read_bytes: read,
        write_bytes: write,
        streams,
        passes: 1,
        cycles,
        ..Work::default()
    };
    Cost::of_work(&m1(), work)
}

fn spans(cost: &Cost, spent: &Spent) -> Vec<Span> {
    let mut spans = Vec::new();
    cost.spans(spent, |span| spans.push(span));
    spans
}

proptest! {
    #[test]
    fn cost_of_any_work_neither_wraps_nor_vanishes(numbers: [u64; 4], streams: bool, is_first: bool, waits: u64) {
        let [kernel, read, write, cycles] = numbers;
        let cost = cost(kernel, read, write, cycles, streams);
        let mut clock = Clock::new(m1());
        let mut usage = Usage::default();
        for is_first in [true, is_first] {
            let spent = clock.task(&cost, is_first, waits);
            prop_assert!(spent.cycles >= 44);
            prop_assert!(clock.ticks(&cost, &spent).0 >= 1);
            usage.add(&cost, &spent);
            let spans = spans(&cost, &spent);
            prop_assert!(spans.len() as u64 <= 4 * TILES_MAX);
            prop_assert!(spans.iter().all(|span| span.start < span.end));
        }
    }

    #[test]
    fn task_after_its_like_takes_no_less_time_than_its_body_or_its_fill(
        kernel in 0_u64..1 << 26,
        moved in 0_u64..1 << 24,
        cycles in 0_u64..1 << 26,
        passes in 1_u64..100,
        streams: bool,
        generation in prop::sample::select(vec![Generation::H13, Generation::H17s]),
    ) {
        let machine = Machine::of(generation);
        let work =
            Work { kernel_bytes: kernel, read_bytes: moved, streams, passes, cycles, ..Work::default() };
        let cost = Cost::of_work(&machine, work);
        let (mut clock, mut usage) = (Clock::new(machine), Usage::default());
        for is_first in [true, false, false] {
            let spent = clock.task(&cost, is_first, 0);
            prop_assert!(spent.cycles >= cost.body.max(cost.fill) + 44);
            let before = usage.kernel_stalls;
            usage.add(&cost, &spent);
            prop_assert_eq!(usage.kernel_stalls - before, spent.cycles - cost.body - 44);
            let spans = spans(&cost, &spent);
            let array: Vec<_> = spans.iter().filter(|span| span.part == Part::Array).collect();
            prop_assert!(array.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", array);
        }
    }

    #[test]
    fn more_bytes_or_cycles_take_no_less_time_on_one_side_of_the_split(
        kernel in 0_u64..1 << 20,
        read in 0_u64..1 << 24,
        write in 0_u64..1 << 24,
        cycles in 0_u64..1 << 30,
        streams: bool,
    ) {
        let base = cost(kernel, read, write, cycles, streams).alone;
        prop_assert!(cost(kernel + 64, read, write, cycles, streams).alone >= base);
        prop_assert!(cost(kernel, read + 64, write, cycles, streams).alone >= base);
        prop_assert!(cost(kernel, read, write + 64, cycles, streams).alone >= base);
        prop_assert!(cost(kernel, read, write, cycles + 1, streams).alone >= base);
        prop_assert!(cost(kernel, read, write, cycles, true).alone >= base);
    }
}

#[test]
fn next_tile_of_a_layer_hides_its_fill_and_another_layer_does_not() {
    let mut clock = Clock::new(m1());
    let tile = cost(1 << 20, 0, 0, 1 << 20, false);
    let first = clock.task(&tile, true, 0);
    let second = clock.task(&tile, false, 0);
    assert_eq!((first.hidden, second.hidden), (0, tile.fill));
    assert_eq!(first.cycles - second.cycles, tile.fill);
    let other = clock.task(&cost(1 << 19, 0, 0, 1 << 20, false), false, 0);
    assert_eq!(other.hidden, 0);
    let new_request = clock.task(&cost(1 << 19, 0, 0, 1 << 20, false), true, 0);
    assert_eq!(new_request.hidden, 0, "nothing is known of what came before a request");
}

#[test]
fn fill_of_a_task_is_hidden_either_by_its_own_body_or_by_the_task_before() {
    let cost = cost(8 << 20, 0, 0, 1 << 21, false);
    let mut clock = Clock::new(m1());
    let [first, second, third] = [true, false, false].map(|is_first| clock.task(&cost, is_first, 0));
    assert_eq!(first.cycles, cost.body + cost.fill.div_ceil(8) + 44);
    assert_eq!((second.cycles, third.cycles), (cost.body + 44, cost.body + 44));
    let mut usage = Usage::default();
    usage.add(&cost, &second);
    assert_eq!(usage.kernel_stalls, 0, "what a layer takes besides its work is no wait for coefficients");
}

#[test]
fn wait_for_a_translation_stage_is_added_to_the_task() {
    let mut clock = Clock::new(m1());
    let work = cost(0, 4096, 4096, 1000, false);
    let (without, with) = (clock.task(&work, true, 0), clock.task(&work, true, 1_000_000));
    assert_eq!((with.cycles - without.cycles, with.translation), (1_140_000, 1_140_000));
}

#[test]
fn tiles_of_coefficients_beyond_the_split_fill_while_the_array_works() {
    let cost = cost(8 << 20, 0, 0, 1 << 21, false);
    assert_eq!(cost.tiles, 8);
    let (longer, shorter) = (cost.fill.max(cost.array), cost.fill.min(cost.array));
    assert_eq!(cost.alone, longer + shorter.div_ceil(8) + 44);
    let spent = Clock::new(m1()).task(&cost, true, 0);
    let (fill, array): (Vec<_>, Vec<_>) =
        spans(&cost, &spent).into_iter().partition(|span| span.part == Part::KernelFill);
    assert!(array.iter().all(|span| span.part == Part::Array));
    assert!(
        array[0].start >= fill[0].end && array[0].start < fill[1].end,
        "tile 1 fills while tile 0 is used"
    );
    assert!(fill.iter().zip(&array).all(|(fill, array)| array.start >= fill.end));
}
