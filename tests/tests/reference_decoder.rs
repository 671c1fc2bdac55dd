//! The decoder against an independent one: on real programs, on the tree's own, and on random streams.

use std::collections::BTreeSet;

use ane::container;
use ane::task::{ChainError, Task, Tasks};
use ane_tests::reference::{self, Refusal};
use ane_tests::{data, random::Random};
use ane_uapi::hw::td;
use ane_uapi::register::{Block, Field};

/// A task as both decoders see it.
#[derive(Debug, PartialEq)]
struct TaskView {
    offset: u32,
    header: Vec<u32>,
    writes: Vec<(u32, u32)>,
    end: u32,
}

/// The tasks by our decoder, or its refusal.
fn ours(stream: &[u8], first: u32, count: u32) -> Result<Vec<TaskView>, String> {
    Tasks::new(stream, first, count).map(|task| seen(&task.map_err(|error| error.to_string())?)).collect()
}

fn seen(task: &Task<'_>) -> Result<TaskView, String> {
    // The reference refuses what runs past the end; ours takes zeros from there on.
    if let Some(record) = task.records().find(|record| record.missing != 0) {
        return Err(format!("record in word {} runs past the end", record.at));
    }
    let mut writes = Vec::new();
    task.for_each_write(|address, value| writes.push((address, value)));
    let header = task.header.rows().map(|(_, word)| word).collect();
    Ok(TaskView { offset: task.offset, header, writes, end: task.offset + task.len_bytes() })
}

/// The tasks by the reference, from the same bytes.
fn theirs(stream: &[u8], first: u32, count: u32) -> Result<Vec<TaskView>, Refusal> {
    let tasks = reference::decode_program(stream, first, count)?;
    Ok(tasks
        .into_iter()
        .map(|task| TaskView {
            offset: task.offset,
            header: task.header,
            writes: task.writes.into_iter().map(|write| (write.address, write.value)).collect(),
            end: task.end,
        })
        .collect())
}

/// The bits of the fields of `block`, as (address, high, low); bits that the engine ignores are no field.
fn spans(block: &Block) -> BTreeSet<(u32, u8, u8)> {
    let named = |field: &&Field| !field.is_unknown() && field.name != "ignored";
    let mut spans = BTreeSet::new();
    for register in block.registers {
        for address in (0..register.count).filter_map(|index| register.at(index)) {
            for field in register.fields.iter().filter(named) {
                let range = field.range();
                spans.insert((address, range.high, range.low));
            }
        }
    }
    spans
}

#[test]
fn every_field_of_the_blocks_covers_the_bits_that_the_specification_gives_it() {
    let ours: BTreeSet<_> = td::BLOCKS.into_iter().flat_map(spans).collect();
    let theirs: BTreeSet<_> =
        reference::fields().iter().map(|field| (field.address, field.high, field.low)).collect();
    let hex = |spans: Vec<&(u32, u8, u8)>| -> Vec<String> {
        spans.iter().map(|(address, high, low)| format!("{address:#x} {high}:{low}")).collect()
    };
    assert_eq!(hex(ours.difference(&theirs).collect()), [""; 0], "fields that the reference does not have");
    assert_eq!(hex(theirs.difference(&ours).collect()), [""; 0], "fields that the tables do not have");
}

#[test]
fn every_field_of_the_header_covers_the_bits_that_the_specification_gives_it() {
    let ours: BTreeSet<_> =
        spans(&td::header::HEADER).into_iter().map(|(at, high, low)| ((at / 4) as u8, high, low)).collect();
    let theirs: BTreeSet<_> =
        reference::header_fields().iter().map(|&(word, high, low, _)| (word, high, low)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn real_programs_decode_the_same_in_both() {
    for sample in data::programs().unwrap_or_default() {
        let program = container::open(&sample.bytes).expect("a real program opens");
        let (first, count) = (program.first_task_bytes, program.task_count);
        let ours = ours(program.stream, first, count).expect("a real program decodes");
        assert_eq!(Ok(ours), theirs(program.stream, first, count), "{}", sample.name);
    }
}

#[test]
fn example_decodes_the_same_in_both() {
    let bytes = std::fs::read(data::example()).expect("the tree carries its example");
    let program = container::open(&bytes).expect("the example opens");
    let (first, count) = (program.first_task_bytes, program.task_count);
    let ours = ours(program.stream, first, count).expect("the example decodes");
    assert_eq!(ours.len(), 2);
    assert_eq!(Ok(ours), theirs(program.stream, first, count));
}

/// A chain of a few tasks with random records, sound unless `damage` is set.
fn random_stream(random: &mut Random, damage: bool) -> (Vec<u8>, u32, u32) {
    let count = 1 + random.below(4);
    let mut words: Vec<u32> = Vec::new();
    let mut bodies: Vec<Vec<u32>> = (0..count).map(|_| random_task(random)).collect();
    let mut starts = Vec::new();
    for body in &bodies {
        starts.push(words.len());
        words.resize(words.len() + body.len() + random.below(8) as usize, 0);
    }
    for index in 0..bodies.len().saturating_sub(1) {
        let next_words = bodies[index + 1].len() as u32;
        bodies[index][1] = (bodies[index][1] & 0xfe00_ffff) | ((next_words - 1) << 16);
        bodies[index][7] = 4 * starts[index + 1] as u32;
    }
    for (start, body) in starts.iter().zip(&bodies) {
        words[*start..*start + body.len()].copy_from_slice(body);
    }
    let mut first = 4 * bodies[0].len() as u32;
    if damage {
        for _ in 0..=random.below(3) {
            let at = random.below(words.len() as u32) as usize;
            words[at] = match random.below(3) {
                0 => words[at] ^ (1 << random.below(32)),
                1 => random.below(4 * words.len() as u32 + 8),
                _ => random.word(),
            };
        }
        if random.below(8) == 0 {
            first = random.below(first + 16);
        }
    }
    (words.into_iter().flat_map(u32::to_le_bytes).collect(), first, count)
}

fn random_task(random: &mut Random) -> Vec<u32> {
    let mut words: Vec<u32> = (0..10).map(|_| random.word()).collect();
    words[7] = 0;
    if words[6] & (1 << 24) != 0 {
        words.push(random.word());
    }
    for _ in 0..random.below(6) {
        let count = 1 + random.below(40);
        words.push(((count - 1) << 26) | (random.word() & 0x0001_fffc));
        words.extend((0..count).map(|_| random.word()));
    }
    words
}

#[test]
fn random_sound_chains_decode_the_same_in_both() {
    let mut random = Random::new(0x5eed_0001);
    for round in 0..20_000 {
        let (stream, first, count) = random_stream(&mut random, false);
        let ours = ours(&stream, first, count).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(ours.len() as u32, count);
        assert_eq!(Ok(ours), theirs(&stream, first, count), "round {round}");
    }
}

#[test]
fn random_damaged_chains_are_accepted_or_refused_by_both_alike() {
    let mut random = Random::new(0x5eed_0002);
    let (mut accepted, mut refused, mut overlapping) = (0, 0, 0);
    for round in 0..40_000 {
        let (stream, first, count) = random_stream(&mut random, true);
        match (ours(&stream, first, count), theirs(&stream, first, count)) {
            (Ok(ours), theirs) => {
                assert_eq!(Ok(ours), theirs, "round {round}");
                accepted += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            // The one rule that we have and the specification does not: tasks may not overlap.
            (Err(error), Ok(tasks)) => {
                let overlap = Tasks::new(&stream, first, count).find_map(Result::err);
                assert!(matches!(overlap, Some(ChainError::Overlap { .. })), "round {round}: {error}");
                let mut spans: Vec<_> = tasks.iter().map(|task| (task.offset, task.end)).collect();
                spans.sort_unstable();
                assert!(spans.windows(2).any(|pair| pair[0].1 > pair[1].0), "round {round}: {spans:?}");
                overlapping += 1;
            }
        }
    }
    assert!(accepted > 1000 && refused > 1000 && overlapping > 0, "{accepted} {refused} {overlapping}");
}
