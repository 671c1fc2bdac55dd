//! How fast a task stream is decoded, beside a plain copy of the same bytes.
//!
//! Decoding here is all that `ane decode` does with a word before it prints: follow the chain, find the
//! register of each value, take every field out of it, and look for bits that no source explains. Both
//! sides run interleaved in one process, warm, on one thread; the figure to quote is the median.
//!
//! `cargo bench -p ane --bench decode`

#[path = "../../device/benches/report/mod.rs"]
mod report;

use std::hint::black_box;
use std::time::Instant;

use ane::task::Tasks;
use ane_uapi::hw::td::{self, record};
use report::median;

/// Tasks in the stream; 2.6 MB, more than a core's private caches hold.
const TASKS: u32 = 4096;

/// Rounds of which the median is taken.
const ROUNDS: usize = 15;

/// A chain of full descriptors, a multiple of 256 bytes apart as compilers lay them out.
fn stream() -> Vec<u8> {
    let pitch = td::FULL_BYTES.next_multiple_of(td::STREAM_ALIGN);
    let mut stream = vec![0; (pitch * TASKS) as usize];
    for index in 0..TASKS {
        let last = index + 1 == TASKS;
        let mut words = vec![index & 0xffff, (td::FULL_BYTES / 4 - 1) << 16, 0, 0, 0, 0, 0x3000_0000];
        words.extend([if last { 0 } else { pitch * (index + 1) }, 0x0080_0000, 0x21]);
        for (header, block) in record::FULL.into_iter().zip(td::BLOCKS) {
            words.push(header);
            words.extend((0..block.len / 4).map(|word| word.wrapping_mul(0x9e37_79b9) ^ index));
        }
        let at = (pitch * index) as usize;
        for (bytes, word) in stream[at..].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    stream
}

/// Everything that the decoder looks at, folded into one number so that nothing is optimised away.
fn decode(stream: &[u8]) -> u32 {
    let mut digest = 0_u32;
    for task in Tasks::new(stream, td::FULL_BYTES, TASKS) {
        let task = task.expect("the chain is sound");
        digest ^= task.header.rows().fold(0, |digest, (_, word)| digest ^ word);
        task.for_each_write(|address, value| {
            let place = td::find(address).expect("every address is known");
            digest ^= value & place.register.unknown;
            for field in place.register.fields {
                digest = digest.rotate_left(5) ^ field.of(value);
            }
        });
    }
    digest
}

fn main() {
    let stream = stream();
    let mut copy = vec![0; stream.len()];
    let megabytes = f64::from(td::FULL_BYTES * TASKS) / 1e6;
    let (mut decoded, mut copied) = (Vec::new(), Vec::new());
    let expected = decode(&stream);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(decode(black_box(&stream)), expected);
        decoded.push(megabytes / start.elapsed().as_secs_f64());

        let start = Instant::now();
        black_box(&mut copy).copy_from_slice(black_box(&stream));
        copied.push(stream.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
    }
    let (decoded, copied) = (median(decoded), median(copied));
    let what = format!("{megabytes:.1} MB of descriptors, one thread / memcpy");
    report::line("P26", &what, &format!("{decoded:.0} MB/s / {copied:.0} MB/s"), decoded);
}
