//! Any bytes as a task stream: the walk is bounded by them, and what it decodes encodes back to them.
//!
//! The first eight bytes say how long the first descriptor is and how many tasks there are.

#![no_main]

use ane::decode::{RegisterFile, TaskReport};
use ane::task::Tasks;
use ane_uapi::hw::td::record::RecordHeader;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((head, stream)) = input.split_first_chunk::<8>() else { return };
    let [a, b, c, d, e, f, g, h] = *head;
    let (first, count) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));

    let mut file = RegisterFile::default();
    let mut walked = 0;
    for task in Tasks::new(stream, first, count) {
        let Ok(task) = task else { break };
        walked += task.words.len();
        let mut words: Vec<u32> = task.header.encode().into_iter().take(task.header.words()).collect();
        for record in task.records() {
            let header = RecordHeader::of(record.header.address(), record.header.count());
            words.push(header.map_or(0, RecordHeader::into_bits) | u32::from(record.header.low()));
            words.extend(record.writes().map(|(_, value)| value));
        }
        let _ = TaskReport::of(&task, &mut file, None, &[]);
        // A record that runs past its descriptor has zeros there.
        let mut stored: Vec<u32> = task.words.iter().map(|word| word.get()).collect();
        stored.resize(stored.len().max(words.len()), 0);
        assert_eq!(words, stored);
    }
    // Tasks do not overlap, so together they are no longer than the stream.
    assert!(4 * walked <= stream.len());
});
