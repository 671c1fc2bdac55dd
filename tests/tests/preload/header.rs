//! `ane.h` against the library: compiled as C and as C++, and asked for every number.

use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::{offset_of, size_of};
use std::process::{Command, Stdio};

use ane::tensor::nearest_half;
use ane_capi::anec::Anec;
use ane_capi::node::Buffer;
use ane_capi::{Bind, Network};
use ane_tests::preload::{compiled, include};
use half::f16;

/// The questions to C, and the right answers (client-abi).
fn questions() -> Vec<(String, usize)> {
    let offsets = [
        ("ane_nn", "fd", offset_of!(Network, fd)),
        ("ane_nn", "data", offset_of!(Network, data)),
        ("ane_nn", "anec", offset_of!(Network, anec)),
        ("ane_nn", "chans", offset_of!(Network, chans)),
        ("ane_nn", "btsp_chan", offset_of!(Network, btsp_chan)),
        ("ane_nn", "bind", offset_of!(Network, bind)),
        ("ane_nn", "tile_shift", offset_of!(Network, tile_shift)),
        ("ane_nn", "byte_bars", offset_of!(Network, byte_bars)),
        ("ane_bind", "src", offset_of!(Bind, src)),
        ("ane_bind", "dst", offset_of!(Bind, dst)),
        ("ane_bo", "map", offset_of!(Buffer, map)),
        ("ane_bo", "size", offset_of!(Buffer, size)),
        ("ane_bo", "handle", offset_of!(Buffer, handle)),
        ("ane_bo", "offset", offset_of!(Buffer, offset)),
        ("anec", "size", offset_of!(Anec, size)),
        ("anec", "td_size", offset_of!(Anec, td_size)),
        ("anec", "td_count", offset_of!(Anec, td_count)),
        ("anec", "tsk_size", offset_of!(Anec, tsk_size)),
        ("anec", "krn_size", offset_of!(Anec, krn_size)),
        ("anec", "src_count", offset_of!(Anec, src_count)),
        ("anec", "dst_count", offset_of!(Anec, dst_count)),
        ("anec", "tiles", offset_of!(Anec, tiles)),
        ("anec", "nchw", offset_of!(Anec, nchw)),
    ];
    let sizes = [
        ("struct ane_nn", size_of::<Network>()),
        ("struct ane_bo", size_of::<Buffer>()),
        ("struct anec", 0x6a8),
        ("int", size_of::<i32>()),
    ];
    let offsets = offsets.into_iter().map(|(of, field, at)| (format!("offsetof(struct {of}, {field})"), at));
    let sizes = sizes.into_iter().map(|(of, bytes)| (format!("sizeof({of})"), bytes));
    offsets.chain(sizes).chain([("TILE_COUNT".to_owned(), 0x20), ("TILE_SIZE".to_owned(), 1 << 14)]).collect()
}

#[test]
fn c_and_cpp_see_the_structures_that_the_library_has() {
    let questions = questions();
    let mut source =
        String::from("#include <stddef.h>\n#include <stdio.h>\n#include \"ane.h\"\nint main(void)\n{\n");
    for (question, _) in &questions {
        let _ = writeln!(source, "\tprintf(\"%zu\\n\", (size_t)({question}));");
    }
    source.push_str("\treturn 0;\n}\n");
    let folder = tempfile::tempdir().unwrap();
    for extension in ["c", "cpp"] {
        let path = folder.path().join(format!("ask.{extension}"));
        std::fs::write(&path, &source).unwrap();
        let include = format!("-I{}", include().display());
        let Some(program) = compiled(path.to_str().unwrap(), folder.path(), &[&include]) else { continue };
        let said = String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap();
        let answers: Vec<usize> = said.lines().map(|line| line.parse().unwrap()).collect();
        let expected: Vec<usize> = questions.iter().map(|(_, number)| *number).collect();
        assert_eq!(answers, expected, "as {extension} sees it");
    }
}

#[test]
fn halves_of_the_header_are_those_of_the_crate_that_the_library_uses() {
    let folder = tempfile::tempdir().unwrap();
    let include = include();
    let Some(program) = compiled("halves.c", folder.path(), &["-I", include.to_str().unwrap()]) else {
        return;
    };
    // Both sides of every tie, from below the smallest half to beyond the largest.
    let ties = (0..0x7c00_u16).map(|half| f16::from_bits(half).to_f64()).map(|half| {
        let above = nearest_half(half).to_bits() + 1;
        (half + f16::from_bits(above.min(0x7bff)).to_f64()) / 2.0
    });
    let near = |tie: f64| {
        let tie = (tie as f32).to_bits();
        [tie.saturating_sub(1), tie, tie + 1].map(f32::from_bits)
    };
    let special = [0.0, 1e-45, 2.98e-8, 65519.99, 65520.0, 1e30, f32::INFINITY, f32::NAN];
    let floats: Vec<f32> = ties.flat_map(near).chain(special).flat_map(|value| [value, -value]).collect();
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let words: Vec<u32> =
        output.stdout.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words.len(), 0x1_0000 + floats.len());
    let (halves, back) = words.split_at(0x1_0000);
    for (half, &word) in (0..=u16::MAX).map(f16::from_bits).zip(halves) {
        let (ours, theirs) = (f32::from_bits(word), half.to_f32());
        assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{half:?}");
    }
    for (&float, &word) in floats.iter().zip(back) {
        let (ours, theirs) = (f16::from_bits(word as u16), f16::from_f32(float));
        assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{float:e}");
    }
}
