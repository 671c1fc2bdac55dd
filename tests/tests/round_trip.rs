//! The way back: what was decoded encodes to the bytes that it came from.

use ane::container;
use ane::task::{Task, Tasks};
use ane_tests::data;
use ane_tests::random::Random;
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::record::RecordHeader;
use zerocopy::little_endian::U32;

/// A task put together again from its decoded parts: header fields, record headers, register values.
fn encoded(task: &Task<'_>) -> Vec<u8> {
    let mut words: Vec<u32> = task.header.encode().into_iter().take(task.header.words()).collect();
    for record in task.records() {
        let header = RecordHeader::of(record.header.address(), record.values.len() as u32);
        words.push(header.expect("a record has an address and 1 to 64 values").into_bits());
        words.extend(record.writes().map(|(_, value)| value));
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn real_programs_encode_back_byte_for_byte() {
    for sample in data::programs().unwrap_or_default() {
        let program = container::open(&sample.bytes).expect("a real program opens");
        for task in program.tasks().expect("these are H13 programs") {
            let task = task.expect("a real program decodes");
            let (start, len) = (task.offset as usize, task.len_bytes() as usize);
            assert_eq!(encoded(&task), program.stream[start..start + len], "{}", sample.name);
        }
    }
}

#[test]
fn example_encodes_back_byte_for_byte() {
    let bytes = std::fs::read(data::example()).expect("the tree carries its example");
    let program = container::open(&bytes).expect("the example opens");
    for task in Tasks::new(program.stream, program.first_task_bytes, program.task_count) {
        let task = task.expect("the example decodes");
        let (start, len) = (task.offset as usize, task.len_bytes() as usize);
        assert_eq!(encoded(&task), program.stream[start..start + len]);
    }
}

#[test]
fn random_headers_encode_back_to_the_same_words() {
    let mut random = Random::new(0x5eed_0003);
    for _ in 0..20_000 {
        let words: Vec<u32> = (0..11).map(|_| random.word()).collect();
        let stored: Vec<U32> = words.iter().map(|&word| U32::new(word)).collect();
        let header = Header::decode(&stored).expect("eleven words are enough");
        assert_eq!(header.encode()[..header.words()], words[..header.words()]);
    }
}

#[test]
fn header_that_announces_an_eleventh_word_needs_it() {
    let mut words = [U32::ZERO; 10];
    assert!(Header::decode(&words).is_some());
    assert!(Header::decode(&words[..9]).is_none());
    words[6] = U32::new(1 << 24);
    assert!(Header::decode(&words).is_none());
}

#[test]
fn record_header_of_every_count_and_block_address_says_both_again() {
    for count in 1..=RecordHeader::MAX_COUNT {
        for address in [0, 4, 0x4800, 0x1f800, 0x03ff_fffc] {
            let header = RecordHeader::of(address, count).expect("both fit");
            assert_eq!((header.address(), header.count()), (address, count));
        }
    }
    assert!(RecordHeader::of(0, 0).is_none());
    assert!(RecordHeader::of(0, 65).is_none());
    assert!(RecordHeader::of(2, 1).is_none());
    assert!(RecordHeader::of(0x0400_0000, 1).is_none());
}
