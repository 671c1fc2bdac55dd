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
    Ok(())
}
