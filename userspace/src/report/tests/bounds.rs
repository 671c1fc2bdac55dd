//! How much a page holds, of long programs and of hostile ones.

use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::record::RecordHeader;
use ane_uapi::hw::td::{neural, tile_source};
use zerocopy::little_endian::U32;

use super::*;
use crate::build::Built;
use crate::container::Program;

const PAGE_MAX: usize = 500_000;
const PAGE_OF_TWO_MAX: usize = 900_000;

fn long(tasks: usize) -> Built {
    let mut graph = Graph::new();
    let mut x = graph.input("x", Shape::new(8, 4, 16)).unwrap();
    for _ in 0..tasks {
        x = graph.relu(x).unwrap();
    }
    graph.output("y", x).unwrap();
    graph.build().unwrap()
}

/// A stream of so many tasks, each the first one of `built` after a change.
fn stream(built: &Built, tasks: u32, change: impl Fn(u32, &mut Vec<u32>)) -> (u32, Vec<u8>) {
    let first: Vec<u32> = built.words(0).unwrap().iter().copied().map(U32::get).collect();
    let mut stream = Vec::new();
    let mut first_bytes = 0;
    for index in 0..tasks {
        let mut words = first.clone();
        change(index, &mut words);
        let read: Vec<U32> = words.iter().copied().map(U32::new).collect();
        let mut header = Header::decode(&read).unwrap();
        let bytes = 4 * words.len() as u32;
        header.next = header.next.with_offset(bytes * (index + 1));
        header.length = header.length.with_next_size(words.len() as u16 - 1);
        let header_words = header.words();
        words[..header_words].copy_from_slice(&header.encode()[..header_words]);
        stream.extend(words.into_iter().flat_map(u32::to_le_bytes));
        first_bytes = bytes;
    }
    (first_bytes, stream)
}

fn side(program: &Program<'_>, ended: Option<Ended>) -> (usize, Value) {
    let page = page_of_runs(&[("a", program)], &[ended], Soc::T8103).unwrap();
    let mut data = data(&page);
    (page.len(), data["sides"][0].take())
}

fn both(program: &Program<'_>) -> usize {
    page(&[("a", program), ("b", program)], Soc::T8103).unwrap().len()
}

fn indices(side: &Value) -> Vec<u64> {
    let tasks = side["walk"]["tasks"].as_array().unwrap();
    tasks.iter().map(|task| task["index"].as_u64().unwrap()).collect()
}

/// Values that look like noise, the same every time.
fn noise(task: u32, word: u32) -> u32 {
    let mixed = (u64::from(task) << 32 | u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

#[test]
fn pages_of_a_thousand_tasks_are_small() {
    let built = long(1000);
    let (bytes, side) = side(&built.program(), None);
    assert_eq!(indices(&side).len(), TASKS_MAX);
    assert_eq!((side["walk"]["first"].as_u64(), side["task_count"].as_u64()), (Some(256), Some(1000)));
    assert!(bytes < PAGE_MAX, "{bytes}");
    let bytes = both(&built.program());
    assert!(bytes < PAGE_OF_TWO_MAX, "{bytes}");
}

#[test]
fn page_of_twenty_thousand_tasks_is_as_small_and_has_the_time_of_all() {
    let built = long(1);
    let (first_task_bytes, stream) = stream(&built, 20_000, |_, _| ());
    let program = Program { first_task_bytes, stream: &stream, task_count: 20_000, ..built.program() };
    let (bytes, side) = side(&program, None);
    assert!(bytes < PAGE_MAX, "{bytes}");
    assert_eq!(indices(&side).len(), TASKS_MAX);
    let last = &side["walk"]["tasks"][TASKS_MAX - 1];
    let shown = last["start"].as_u64().unwrap() + last["cycles"].as_u64().unwrap();
    assert!(side["walk"]["cycles"].as_u64().unwrap() > shown * 70);
}

#[test]
fn refused_task_far_behind_is_shown_with_its_registers() {
    let mut built = long(1000);
    let address = neural::MAC_CFG.info.offset;
    built.register_mut(500, address).unwrap().set(0xffff_ffff);
    let page = page(&[("a", &built.program())], Soc::T8103).unwrap();
    let data = data(&page);
    let walk = &data["sides"][0]["walk"];
    assert_eq!((walk["refused"].as_u64(), walk["refusals"].as_array().unwrap().len()), (Some(1), 1));
    assert_eq!(walk["not_understood"].as_u64(), Some(500));
    let refusal = &walk["refusals"][0];
    assert_eq!((&refusal["task"], &refusal["register"]), (&500.into(), &"MACCfg".into()));
    let task = &walk["tasks"][TASKS_MAX];
    assert_eq!(task["index"], 500);
    let written = task["registers"].as_array().unwrap();
    let wrong: Vec<_> = written.chunks(2).filter(|pair| pair[1] == 0xffff_ffff_u32).collect();
    assert_eq!(wrong.len(), 1);
    assert_eq!(data["registers"][register_of(&data, wrong[0])]["name"], "MACCfg");
}

#[test]
fn task_far_behind_has_what_hidden_tasks_left_in_registers() {
    let mut built = long(1000);
    // The first of these is not shown. The one that is shown writes the same value, so it changes nothing.
    let stride = tile_source::ROW_STRIDE1.info.offset;
    let before = built.register_mut(400, stride).unwrap().get();
    for task in 400..1000 {
        built.register_mut(task, stride).unwrap().set(before ^ 0x40);
    }
    let why = "transfer faulted".to_owned();
    let (_, side) = side(&built.program(), Some(Ended { task: 900, why }));
    let task = &side["walk"]["tasks"][TASKS_MAX];
    assert_eq!(task["index"], 900);
    let left = task["left"].as_array().unwrap();
    assert!(left.chunks(2).any(|pair| pair[1] == before ^ 0x40), "{left:?}");
    assert!(task["takes"].is_null(), "a task that is not shown made what it takes: {task}");
    assert!(
        task["cycles"].as_u64() > Some(0)
            && task["start"].as_u64() > side["walk"]["tasks"][255]["start"].as_u64()
    );
}

#[test]
fn refusals_of_a_whole_long_program_are_counted_and_the_first_are_shown() {
    let built = long(1);
    let at = word_of(&built, neural::MAC_CFG.info.offset);
    let (first_task_bytes, stream) = stream(&built, 60_000, |index, words| {
        if index >= 300 {
            words[at] |= 0x20;
        }
    });
    let program = Program { first_task_bytes, stream: &stream, task_count: 60_000, ..built.program() };
    let (bytes, side) = side(&program, None);
    assert!(bytes < PAGE_MAX, "{bytes}");
    let walk = &side["walk"];
    assert_eq!(
        (walk["refused"].as_u64(), walk["refusals"].as_array().unwrap().len()),
        (Some(59_700), LATER_MAX)
    );
    let expected: Vec<u64> = (0..256).chain(300..300 + LATER_MAX as u64).collect();
    assert_eq!(indices(&side), expected);
}

/// The place in the first task's words of a register's value.
fn word_of(built: &Built, address: u32) -> usize {
    let mut copy = built.clone();
    let value = copy.register_mut(0, address).unwrap();
    value.set(value.get() ^ 0xffff_ffff);
    let (changed, words) = (copy.words(0).unwrap(), built.words(0).unwrap());
    changed.iter().zip(words).position(|(a, b)| a != b).unwrap()
}

#[test]
fn tasks_that_write_noise_make_no_long_page() {
    let built = long(1);
    let (first_task_bytes, stream) = stream(&built, 1000, |index, words| {
        // Registers that no source knows, others in each task, up to the end of the longest descriptor.
        while words.len() + 65 < 512 {
            let at = words.len() as u32;
            words.push(RecordHeader::of((noise(index, at) >> 6) & 0x3ff_ff00, 64).unwrap().into_bits());
            words.extend((0..64).map(|word| noise(index, at + word)));
        }
    });
    let program = Program { first_task_bytes, stream: &stream, task_count: 1000, ..built.program() };
    let (bytes, side) = side(&program, None);
    assert!(bytes < PAGE_MAX, "{bytes}");
    let shown = indices(&side).len();
    assert!(shown > 10 && shown < TASKS_MAX, "{shown}");
    assert_eq!(side["walk"]["first"].as_u64(), Some(shown as u64));
    let bytes = both(&program);
    assert!(bytes < PAGE_OF_TWO_MAX, "{bytes}");
}

#[test]
fn names_of_megabytes_are_cut_with_a_mark() {
    let built = long(300);
    let name = "<".repeat(1_000_000);
    let mut program = built.program();
    for surface in &mut program.surfaces {
        surface.name = name.clone().into();
    }
    let operation = name.clone();
    program.layers = vec![container::Layer { operation, name: name.clone(), dims: vec![1], tasks: 0..300 }];
    program.notes = vec!["n".repeat(1000); 40];
    program.banner = Some("b\n".repeat(10_000).into());
    let page = page(&[(&name, &program), (&name, &built.program())], Soc::T8103).unwrap();
    assert!(page.len() < PAGE_MAX, "{}", page.len());
    let side = &data(&page)["sides"][0];
    let shown = side["program"]["surfaces"][0]["name"].as_str().unwrap();
    assert!(shown.starts_with("<<<") && shown.ends_with("… (cut, 1000000 bytes)"), "{shown}");
    assert_eq!(
        (&side["program"]["more"]["notes"], &side["program"]["more"]["compiler"]),
        (&8.into(), &9_968.into())
    );
}
