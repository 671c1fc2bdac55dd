//! Writes the seed corpus: small sound inputs, from which the fuzzers start.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --bin seeds`

use std::fs;
use std::path::Path;

use ane::container::anec::Form;
use ane::container::{self, convert};

#[path = "../../../userspace/tests/support/hwx.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod hwx;

fn write(target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

fn main() -> std::io::Result<()> {
    for (name, object) in [("older", hwx::Object::older()), ("newer", hwx::Object::newer())] {
        let file = object.link();
        write("containers", &format!("{name}.hwx"), &file)?;
        let program = container::open(&file).expect("the object is sound");
        for (form, suffix) in [(Form::Short, "short"), (Form::Long, "long")] {
            let anec = convert::to_anec(&program, form).expect("the object can be converted");
            write("containers", &format!("{name}-{suffix}.anec"), &anec)?;
        }
        let mut stream = program.first_task_bytes.to_le_bytes().to_vec();
        stream.extend(program.task_count.to_le_bytes());
        stream.extend(program.stream);
        write("task_stream", name, &stream)?;
    }
    // One push on queue 0: in use, a base address, network id, address, size and count, push, work.
    let steps: [[u32; 3]; 7] = [
        [0, 1, 1],
        [0, 1 | 8 << 5, 0x4000],
        [0, 1 | 0x28 << 5, 0x4001],
        [0, 0, 0x4000],
        [0, 4 << 2, 0x9c_0001],
        [0, 8 << 2, 1],
        [6, 0, 0],
    ];
    let bytes: Vec<u8> = steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    write("registers", "push", &bytes)?;

    // The L2 table in the first page, the L3 table in the second; both lead to themselves as well.
    let mut walk: Vec<u8> =
        [0_u32, 0, 0x8004_0000, 0x0100_4000].iter().flat_map(|word| word.to_le_bytes()).collect();
    for page in [0x4000_4000_u64, 0x4000_0000] {
        let mut table = vec![0; 0x4000];
        for (index, entry) in table.chunks_exact_mut(8).take(4).enumerate() {
            entry.copy_from_slice(&((page + 0x4000 * index as u64) | 1 << 63).to_le_bytes());
        }
        walk.extend(table);
    }
    write("page_walk", "seed", &walk)?;
    Ok(())
}
