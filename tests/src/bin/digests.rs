//! Digests of the memory after random programs, one line each: `digests FIRST COUNT THREADS`.
//!
//! The same lines have to come out wherever this runs: on any processor, in any build, with any number of threads.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;

use ane_device::Options;
use ane_device::options::Hang;
use ane_tests::differential::by_number;

fn main() {
    let numbers: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse().expect("arguments are numbers")).collect();
    let [first, count, threads] = numbers[..] else {
        eprintln!("usage: digests FIRST COUNT THREADS");
        std::process::exit(2);
    };
    let threads = NonZero::new(threads as usize).expect("there is a thread");
    let options = Options { hang: Hang::Report, threads, ..Options::default() };
    for number in first..first + count {
        let (outcome, regions) = by_number::case(number).on_device_as(&options);
        let mut digest = DefaultHasher::new();
        (format!("{outcome:?}"), regions).hash(&mut digest);
        println!("{number} {:016x}", digest.finish());
    }
}
