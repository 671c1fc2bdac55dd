//! The task decoder: header words, a stream of register writes, and the link to the next task.
//!
//! A task is ten header words, or eleven when bit 24 of word 6 is set, and then records up to its end (td 3.1, 3.2). A
//! record's first word carries the number of registers and the address of the first; the values follow. The task does
//! not say how long it is: the length of the first comes from the container, that of each later one from its
//! predecessor. This file follows those sentences one by one and optimises nothing.

use std::fmt;

use super::register_fields::header_fields;

/// Words of a plain header, td 3.1.
const HEADER_WORDS: u32 = 10;
/// The most tasks a program can have: the task manager's count field is sixteen bits wide (td 9, register INFO).
const MAX_TASKS: u32 = 0xFFFF;

/// One register write of a task, in stream order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The record address of the register, a multiple of four.
    pub address: u32,
    /// The word written to it.
    pub value: u32,
}

/// One named field: bits `high..=low` of the register at `address`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSpec {
    /// The record address of the register.
    pub address: u32,
    /// The highest bit of the field.
    pub high: u8,
    /// The lowest bit of the field.
    pub low: u8,
    /// `Register.Field`, or the register alone where it has no parts.
    pub name: &'static str,
}

impl FieldSpec {
    /// Returns the field's value in a word of its register.
    pub fn of(&self, word: u32) -> u32 {
        bits(word, self.high, self.low)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedTask {
    /// Where the task starts in the stream, in bytes.
    pub offset: u32,
    /// The header's ten or eleven words.
    pub header: Vec<u32>,
    /// The header's fields: word, high bit, low bit, name, value.
    pub header_fields: Vec<(u8, u8, u8, &'static str, u32)>,
    /// Every register write, in stream order.
    pub writes: Vec<Write>,
    /// The byte offset of the next task, 0 on the last.
    pub next: u32,
    /// Where the task ends in the stream, in bytes.
    pub end: u32,
}

impl DecodedTask {
    /// Returns what the task leaves in a register, or `None` when it does not write it.
    pub fn register(&self, address: u32) -> Option<u32> {
        self.writes.iter().rev().find(|write| write.address == address).map(|write| write.value)
    }

    /// Returns the value of a header field by its name.
    pub fn header_field(&self, name: &str) -> Option<u32> {
        self.header_fields.iter().find(|field| field.3 == name).map(|field| field.4)
    }

    /// Returns the length of the next task in bytes, as this one states it.
    fn next_bytes(&self) -> u32 {
        (bits(self.header[1], 24, 16) + 1) * 4
    }
}

/// Why a stream is not a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A program of no tasks.
    NoTasks,
    /// More tasks than the task manager can be told of.
    TooManyTasks { count: u32 },
    /// A task whose length is not a number of words.
    LengthUnaligned {
        /// Where the task starts.
        task: u32,
        /// Its length in bytes.
        bytes: u32,
    },
    /// A task, or the stream, that ends inside the header.
    HeaderCut {
        /// Where the task starts.
        task: u32,
        /// The header's length in bytes.
        wanted: u32,
        /// The bytes there are.
        found: u32,
    },
    /// A task that runs past the end of the stream.
    TaskCut {
        /// Where the task starts.
        task: u32,
        /// Where it should end.
        end: u64,
        /// Where the stream ends.
        stream: u64,
    },
    /// A record that runs past the end of its task.
    RecordOverrun {
        /// Where the task starts.
        task: u32,
        /// Where the record's first word stands.
        record: u32,
        /// The address of its first register.
        address: u32,
        /// Where the record would end.
        record_end: u32,
        /// Where the task ends.
        end: u32,
    },
    /// A chain that ends before the last task.
    ChainEnded {
        /// Where the task without a successor starts.
        task: u32,
        /// The tasks found up to there.
        found: u32,
        /// The tasks the program should have.
        wanted: u32,
    },
    /// A next pointer that is not a multiple of four.
    NextUnaligned {
        /// Where the task that holds it starts.
        task: u32,
        next: u32,
    },
    /// A next pointer past the end of the stream.
    NextOutside {
        /// Where the task that holds it starts.
        task: u32,
        next: u32,
        /// Where the stream ends.
        stream: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoTasks => write!(out, "program has no tasks"),
            Self::TooManyTasks { count } => write!(out, "program of {count} tasks, {MAX_TASKS} at most"),
            Self::LengthUnaligned { task, bytes } => {
                write!(out, "task at {task:#x}: length of {bytes:#x} bytes is not a number of words")
            }
            Self::HeaderCut { task, wanted, found } => {
                write!(out, "task at {task:#x}: header of {wanted:#x} bytes has {found:#x}")
            }
            Self::TaskCut { task, end, stream } => {
                write!(out, "task at {task:#x}: end {end:#x} is past the stream's end {stream:#x}")
            }
            Self::RecordOverrun { task, record, address, record_end, end } => write!(
                out,
                "task at {task:#x}: record at {record:#x} for {address:#x} ends at {record_end:#x}, the task at {end:#x}"
            ),
            Self::ChainEnded { task, found, wanted } => {
                write!(out, "task at {task:#x}: chain ends after {found} of {wanted} tasks")
            }
            Self::NextUnaligned { task, next } => {
                write!(out, "task at {task:#x}: next pointer {next:#x} is not a multiple of 4")
            }
            Self::NextOutside { task, next, stream } => {
                write!(out, "task at {task:#x}: next pointer {next:#x} is past the stream's end {stream:#x}")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Walks a chain of tasks from offset 0 and decodes each.
///
/// The link of the last counted task is not followed, so it may point anywhere: a program can be run short (td 8.1).
///
/// # Errors
///
/// Returns the first [`Refusal`] met in walking order.
pub fn decode_program(
    stream: &[u8],
    first_task_bytes: u32,
    task_count: u32,
) -> Result<Vec<DecodedTask>, Refusal> {
    if task_count == 0 {
        return Err(Refusal::NoTasks);
    }
    if task_count > MAX_TASKS {
        return Err(Refusal::TooManyTasks { count: task_count });
    }
    let mut tasks = vec![decode_task(stream, 0, first_task_bytes)?];
    for found in 1..task_count {
        let last = &tasks[tasks.len() - 1];
        let (task, next) = (last.offset, last.next);
        if next == 0 {
            return Err(Refusal::ChainEnded { task, found, wanted: task_count });
        }
        if !next.is_multiple_of(4) {
            return Err(Refusal::NextUnaligned { task, next });
        }
        if u64::from(next) >= stream.len() as u64 {
            return Err(Refusal::NextOutside { task, next, stream: stream.len() as u64 });
        }
        let next_task = decode_task(stream, next, last.next_bytes())?;
        tasks.push(next_task);
    }
    Ok(tasks)
}

/// Decodes the one task of `bytes` bytes at `offset`.
fn decode_task(stream: &[u8], offset: u32, bytes: u32) -> Result<DecodedTask, Refusal> {
    if !bytes.is_multiple_of(4) {
        return Err(Refusal::LengthUnaligned { task: offset, bytes });
    }
    let stream_end = stream.len() as u64;
    let end = u64::from(offset) + u64::from(bytes);
    let present = (end.min(stream_end) - u64::from(offset)) as u32;
    let header_cut = |wanted| Refusal::HeaderCut { task: offset, wanted, found: present };

    if present < HEADER_WORDS * 4 {
        return Err(header_cut(HEADER_WORDS * 4));
    }
    let extended = bits(word_at(stream, offset, 6 * 4), 24, 24);
    let header_bytes = (HEADER_WORDS + extended) * 4;
    if present < header_bytes {
        return Err(header_cut(header_bytes));
    }
    // From here on the whole task is inside the stream, and its end can be written as a 32-bit offset.
    let Some(end) = u32::try_from(end).ok().filter(|_| end <= stream_end) else {
        return Err(Refusal::TaskCut { task: offset, end, stream: stream_end });
    };

    let header: Vec<u32> =
        (0..HEADER_WORDS + extended).map(|index| word_at(stream, offset, 4 * index)).collect();
    let header_fields = header_fields()
        .into_iter()
        .filter(|&(word, ..)| usize::from(word) < header.len())
        .map(|(word, high, low, name)| (word, high, low, name, bits(header[usize::from(word)], high, low)))
        .collect();

    let mut writes = Vec::new();
    let mut position = offset + header_bytes;
    while position < end {
        let record = word_at(stream, position, 0);
        let count = (record >> 26) + 1;
        let address = record & 0x03FF_FFFC;
        if count > (end - position) / 4 - 1 {
            let record_end = position.saturating_add(4 + 4 * count);
            return Err(Refusal::RecordOverrun { task: offset, record: position, address, record_end, end });
        }
        for index in 0..count {
            let value = word_at(stream, position, 4 + 4 * index);
            writes.push(Write { address: address + 4 * index, value });
        }
        position += 4 + 4 * count;
    }
    let next = header[7];
    Ok(DecodedTask { offset, header, header_fields, writes, next, end })
}

/// The little-endian word `plus` bytes after `base`, which the caller knows to be inside the stream.
fn word_at(stream: &[u8], base: u32, plus: u32) -> u32 {
    let at = base as usize + plus as usize;
    u32::from_le_bytes([stream[at], stream[at + 1], stream[at + 2], stream[at + 3]])
}

/// Bits `high..=low` of a word, shifted down.
fn bits(word: u32, high: u8, low: u8) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

#[cfg(test)]
mod tests {
    use super::super::register_fields::fields;
    use super::*;

    /// Record header, words and first byte of the values in a full task, td 3.3, in the compiler's order.
    const BLOCKS: [(u32, u32, u32); 7] = [
        (0xF401_F800, 62, 0x02C),
        (0x3C00_0000, 16, 0x128),
        (0x6C01_3800, 28, 0x16C),
        (0x4400_4800, 18, 0x1E0),
        (0x0C00_8800, 4, 0x22C),
        (0x1000_C800, 5, 0x240),
        (0x1801_7800, 7, 0x258),
    ];

    /// A task of the given header length whose every value is its own byte offset in the plain form.
    fn full_task(header_words: usize) -> Vec<u32> {
        let mut words = vec![0; header_words];
        for (record, count, first) in BLOCKS {
            words.push(record);
            words.extend((0..count).map(|index| first + 4 * index));
        }
        words
    }

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn decode(words: &[u32], count: u32) -> Result<Vec<DecodedTask>, Refusal> {
        decode_program(&bytes(words), 4 * words.len() as u32, count)
    }

    /// The value of one field in a word, by the field's name.
    fn field(name: &str, word: u32) -> u32 {
        fields().iter().find(|field| field.name == name).expect("the facts name the field").of(word)
    }

    /// Two tasks of a header and one record each, the second at 0x40.
    fn chain() -> Vec<u32> {
        let mut words = vec![0; 0x40 / 4 + 12];
        words[1] = 11 << 16;
        words[7] = 0x40;
        words[10] = 0x0000_0024;
        words[11] = 0x0001_4001;
        words[16] = 0x0300_0001;
        words[26] = 0x0000_001C;
        words[27] = 0x5000_A021;
        words
    }

    #[test]
    fn full_task_is_0x274_bytes_with_the_seven_blocks_in_place() {
        let words = full_task(10);
        assert_eq!(words.len() * 4, 0x274);
        let tasks = decode(&words, 1).unwrap();
        assert_eq!((tasks[0].end, tasks[0].writes.len(), tasks[0].header.len()), (0x274, 140, 10));
        for (record, count, first) in BLOCKS {
            let address = record & 0xF_FFFF;
            for index in 0..count {
                assert_eq!(tasks[0].register(address + 4 * index), Some(first + 4 * index));
            }
        }
    }

    #[test]
    fn task_with_extended_header_starts_its_records_a_word_later() {
        let mut words = full_task(11);
        words[6] = 1 << 24;
        words[10] = 7;
        let task = decode(&words, 1).unwrap().remove(0);
        assert_eq!((task.end, task.header.len(), task.header_field("DTID")), (0x278, 11, Some(7)));
        assert_eq!(task.register(0x1F800), Some(0x02C));
        assert_eq!(task.writes.len(), 140);
    }

    #[test]
    fn plain_header_has_no_dtid_even_when_its_bases_look_extended() {
        let mut words = full_task(10);
        // The rule that td 3.1 warns against looks at the low two bits of word 9.
        words[9] = 0x23;
        let task = decode(&words, 1).unwrap().remove(0);
        assert_eq!((task.header.len(), task.header_field("DTID")), (10, None));
        assert_eq!((task.header_field("KBase0"), task.header_field("KBE0")), (Some(3), Some(1)));
    }

    #[test]
    fn compact_task_omits_the_middle_of_kernel_dma() {
        let mut words = vec![0; 10];
        for (address, count) in [(0x1F800, 18u32), (0x1F8C8, 12)] {
            words.push((count - 1) << 26 | address);
            words.extend(0..count);
        }
        for (record, count, _) in &BLOCKS[1..] {
            words.push(*record);
            words.extend(0..*count);
        }
        assert_eq!(words.len() * 4, 0x1F8);
        let task = decode(&words, 1).unwrap().remove(0);
        assert_eq!(task.writes.len(), 108);
        assert_eq!((task.register(0x1F844), task.register(0x1F848)), (Some(17), None));
        assert_eq!((task.register(0x1F8C4), task.register(0x1F8F4)), (None, Some(11)));
    }

    #[test]
    fn convolution_word_reads_as_its_kernel_stride_and_pad() {
        let names = ["Kw", "Kh", "OCGSize", "Sx", "Sy", "Px", "Py", "Ox", "Oy"];
        let read = |word| names.map(|name| field(&format!("ConvCfg.{name}"), word));
        assert_eq!(read(0x5000_A021), [1, 1, 0, 1, 1, 0, 0, 1, 1]);
        // facts F.4: a 3x3 convolution with pad 1, and a product with sixteen lanes.
        assert_eq!(read(0x5042_A063), [3, 3, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(read(0x5000_B021), [1, 1, 4, 1, 1, 0, 0, 1, 1]);
    }

    #[test]
    fn base_word_reads_as_three_surfaces() {
        let mut words = full_task(10);
        words[8] = 0x0302_4966;
        let task = decode(&words, 1).unwrap().remove(0);
        let read = |name| task.header_field(name).unwrap();
        assert_eq!([read("RBase0"), read("RBE0"), read("RBase1"), read("RBE1")], [6, 1, 5, 1]);
        assert_eq!([read("WBase"), read("WBE"), read("TBE"), read("ENE")], [4, 1, 0, 3]);
    }

    #[test]
    fn chain_of_two_takes_the_second_length_from_the_first() {
        let tasks = decode_program(&bytes(&chain()), 48, 2).unwrap();
        assert_eq!((tasks[0].offset, tasks[0].next, tasks[0].end), (0, 0x40, 0x30));
        assert_eq!((tasks[1].offset, tasks[1].next, tasks[1].end), (0x40, 0, 0x70));
        assert_eq!(tasks[1].header_field("EON"), Some(1));
        assert_eq!(tasks[1].writes, [Write { address: 0x1C, value: 0x5000_A021 }]);
    }

    #[test]
    fn chain_counted_short_ignores_the_tasks_beyond() {
        assert_eq!(decode_program(&bytes(&chain()), 48, 1).unwrap().len(), 1);
    }

    #[test]
    fn chain_counted_long_is_refused_where_it_ends() {
        let refusal = Refusal::ChainEnded { task: 0x40, found: 2, wanted: 3 };
        assert_eq!(decode_program(&bytes(&chain()), 48, 3), Err(refusal));
    }

    #[test]
    fn next_pointer_inside_a_word_is_refused() {
        let mut words = chain();
        words[7] = 0x42;
        let refusal = Refusal::NextUnaligned { task: 0, next: 0x42 };
        assert_eq!(decode_program(&bytes(&words), 48, 2), Err(refusal));
    }

    #[test]
    fn next_pointer_at_the_end_of_the_stream_is_refused() {
        let mut words = chain();
        words[7] = 0x70;
        let refusal = Refusal::NextOutside { task: 0, next: 0x70, stream: 0x70 };
        assert_eq!(decode_program(&bytes(&words), 48, 2), Err(refusal));
    }

    #[test]
    fn task_that_points_at_itself_is_decoded_as_often_as_counted() {
        let mut words = chain();
        words[17] = 11 << 16;
        words[23] = 0x40;
        let tasks = decode_program(&bytes(&words), 48, 5).unwrap();
        assert_eq!(tasks.iter().map(|task| task.offset).collect::<Vec<_>>(), [0, 0x40, 0x40, 0x40, 0x40]);
    }

    #[test]
    fn task_longer_than_the_stream_is_refused() {
        let refusal = Refusal::TaskCut { task: 0, end: 0x278, stream: 0x274 };
        assert_eq!(decode_program(&bytes(&full_task(10)), 0x278, 1), Err(refusal));
        let refusal = Refusal::TaskCut { task: 0, end: 0xFFFF_FFFC, stream: 0x274 };
        assert_eq!(decode_program(&bytes(&full_task(10)), 0xFFFF_FFFC, 1), Err(refusal));
    }

    #[test]
    fn every_prefix_of_a_header_is_refused() {
        let stream = bytes(&full_task(10));
        for found in 0..40 {
            let refusal = Refusal::HeaderCut { task: 0, wanted: 40, found };
            assert_eq!(decode_program(&stream[..found as usize], 0x274, 1), Err(refusal));
        }
    }

    #[test]
    fn extended_header_in_a_task_of_ten_words_is_refused() {
        let mut words = full_task(10);
        words[6] = 1 << 24;
        let refusal = Refusal::HeaderCut { task: 0, wanted: 44, found: 40 };
        assert_eq!(decode_program(&bytes(&words), 40, 1), Err(refusal));
    }

    #[test]
    fn length_of_half_a_word_is_refused() {
        let refusal = Refusal::LengthUnaligned { task: 0, bytes: 0x272 };
        assert_eq!(decode_program(&bytes(&full_task(10)), 0x272, 1), Err(refusal));
    }

    #[test]
    fn record_that_runs_over_its_task_is_refused_though_the_stream_goes_on() {
        let refusal = Refusal::RecordOverrun {
            task: 0,
            record: 0x254,
            address: 0x17800,
            record_end: 0x274,
            end: 0x270,
        };
        assert_eq!(decode_program(&bytes(&full_task(10)), 0x270, 1), Err(refusal));
    }

    #[test]
    fn record_header_without_values_is_refused() {
        let mut words = full_task(10);
        words.push(0x0000_0024);
        let refusal =
            Refusal::RecordOverrun { task: 0, record: 0x274, address: 0x24, record_end: 0x27C, end: 0x278 };
        assert_eq!(decode(&words, 1), Err(refusal));
    }

    #[test]
    fn record_for_an_unknown_address_is_reported() {
        let mut words = vec![0; 10];
        words.extend([0x07FF_FFFF, 1, 2]);
        let task = decode(&words, 1).unwrap().remove(0);
        let expected = [Write { address: 0x03FF_FFFC, value: 1 }, Write { address: 0x0400_0000, value: 2 }];
        assert_eq!(task.writes, expected);
    }

    #[test]
    fn task_without_records_is_a_task() {
        assert_eq!(decode(&[0; 10], 1).unwrap()[0].writes, []);
    }

    #[test]
    fn count_outside_the_managers_field_is_refused() {
        assert_eq!(decode(&full_task(10), 0), Err(Refusal::NoTasks));
        assert_eq!(decode(&full_task(10), 0x1_0000), Err(Refusal::TooManyTasks { count: 0x1_0000 }));
    }

    #[test]
    fn repeated_register_keeps_its_last_value() {
        let mut words = vec![0; 10];
        words.extend([0x24, 1, 0x24, 2]);
        assert_eq!(decode(&words, 1).unwrap()[0].register(0x24), Some(2));
    }

    #[test]
    fn refusal_names_the_task_and_the_value() {
        let text = Refusal::NextOutside { task: 0x300, next: 0x9000, stream: 0x574 }.to_string();
        assert_eq!(text, "task at 0x300: next pointer 0x9000 is past the stream's end 0x574");
    }
}
