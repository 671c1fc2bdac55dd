//! Shows one random program, and what the device and the interpreter make of it.
//!
//! `cargo run -p ane-tests --example differ -- [built|walk] SEED`, with the number that a failed comparison names. With
//! `built` it is a program of the builder, with `walk` a walk; otherwise, odd numbers have a bit turned.

use ane_tests::differential::Case;
use ane_tests::differential::built;
use ane_tests::differential::random_case::program;
use ane_tests::differential::walk;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seed = arguments.last().and_then(|seed| seed.parse().ok());
    match (arguments.first().map(String::as_str), seed) {
        (Some("built"), Some(seed)) => {
            let program = built::program(seed);
            println!("{}", program.steps.join("\n"));
            show(&program.case, &program.case);
        }
        (Some("walk"), Some(seed)) => {
            let walked = walk::case(seed);
            show(&walked, &walked);
        }
        (_, Some(seed)) => show(&program(seed, seed % 2 == 1).case, &program(seed, false).case),
        _ => {
            eprintln!("usage: differ [built|walk] SEED");
            std::process::exit(2);
        }
    }
}

/// Prints a case, with what was `plain` before a bit was turned.
fn show(shown: &Case, plain: &Case) {
    println!("{:?}, {} tasks", shown.numerics, shown.tasks);
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    let (stream, before) = (words(&shown.regions[0].1), words(&plain.regions[0].1));
    let (mut start, mut end) = (0, shown.first_words as usize);
    for task in 0..shown.tasks {
        let header = &stream[start..start + 10];
        println!("task {task}: header {header:x?}");
        // The header has an eleventh word with TDE.
        let mut at = start + 10 + (header[6] >> 24 & 1) as usize;
        while at < end {
            let (first, count) = (stream[at] & 0x03ff_fffc, (stream[at] >> 26) as usize + 1);
            for index in 0..count {
                let (value, old) = (stream[at + 1 + index], before[at + 1 + index]);
                let address = first + 4 * index as u32;
                if value != 0 || old != 0 {
                    let was = if value == old { String::new() } else { format!(" turned, was {old:#010x}") };
                    println!("  {address:#07x} {value:#010x}{was}");
                }
            }
            at += 1 + count;
        }
        start = header[7] as usize / 4;
        end = start + (header[1] >> 16 & 0x1ff) as usize + 1;
    }
    println!("device: {:x?}", shown.on_device().0);
    println!("reference: {}", shown.on_reference(shown.machine()).1);
    println!("{:?}", shown.compare());
}
