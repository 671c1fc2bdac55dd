//! The cost of PE_MMU and the mover for their callers.
//!
//! `cargo bench -p ane-device --bench companions`, and a word behind `--` for one part of it:
//!
//! * [`memory`]: what a full table of PE_MMU takes;
//! * [`copy`]: the mover;
//! * [`translation`]: what PE_MMU takes for an answer, and how that grows with the table;
//! * [`messages`]: what it takes to map and to unmap.

mod copy;
mod memory;
mod messages;
#[path = "../report/mod.rs"]
mod report;
mod translation;

/// A number that follows from another and looks like none of its neighbours.
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ 0x5851_f42d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 20
}

fn main() {
    let parts = [
        ("memory", memory::print as fn()),
        ("copy", copy::print),
        ("translation", translation::print),
        ("messages", messages::print),
    ];
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let [table, number] = asked.as_slice()
        && table == "table"
    {
        return memory::print_one(number.parse().expect("the number of a table"));
    }
    for (name, print) in parts {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            print();
        }
    }
}
