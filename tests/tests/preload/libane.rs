//! The C library and the Python module used wrongly: errors or nothing, and nothing left behind.

use std::path::{Path, PathBuf};
use std::process::Command;

use ane::build::script;
use ane_device::Options;
use ane_tests::command;
use ane_tests::data::example;
use ane_tests::oracles;
use ane_tests::preload::{Preload, folder, include, numpy};
use ane_tests::random::Random;
use ane_uapi::hw::td::header::OperandBases;
use ane_uapi::register::Word;

use super::programs::linked;

#[test]
fn library_in_c_answers_misuse_with_errors_and_leaves_nothing_behind() {
    let preload = Preload::start(&Options::default());
    let Some(mut client) = linked("misused.c", preload.scratch()) else { return };
    preload.done(client.arg(example()));
}

#[test]
fn library_in_c_has_the_calls_of_the_newest_header() {
    let preload = Preload::start(&Options::default());
    let Some(mut client) = linked("newer.c", preload.scratch()) else { return };
    preload.done(client.arg(example()).arg(preload.scratch()));
}

#[test]
fn library_in_c_takes_and_gives_the_bytes_of_a_program_that_moves_bytes() {
    let Some(oracle) = oracles::named("logical_not_1x1x64x64") else { return };
    let preload = Preload::start(&Options::default());
    let Some(mut client) = linked("bytes.c", preload.scratch()) else { return };
    let made = oracles::constants::make(&oracle, &mut Random::new(7));
    let stream = oracle.stream();
    let path = preload.scratch().join("not.anec");
    std::fs::write(&path, oracle.anec(&oracle.program(&stream, &made))).unwrap();
    preload.done(client.arg(path));
}

#[test]
fn module_in_python_takes_arrays_of_any_layout_and_says_what_is_wrong_with_others() {
    let Some(python) = numpy() else { return };
    let preload = Preload::start(&Options::default());
    let library = command::library("libane_python.so");
    let module = include().join("../../libane_python/python");
    let client = folder().join("module.py");
    let crossed = crossed(preload.scratch());
    preload.done(Command::new(python).arg(client).arg(module).arg(library).arg(example()).arg(crossed));
}

/// A program of one task that reads BAR 4 and writes BAR 5, where most write BAR 4 and read BAR 5. Their shapes differ.
fn crossed(scratch: &Path) -> PathBuf {
    let nothing = |name: &str, _| Err(format!("no array {name}"));
    let built = script::build("x = input 4x8x8\ny = mean x\noutput y", nothing).unwrap();
    assert_eq!(built.task_count(), 1);
    let mut anec = built.to_anec().unwrap();
    // Places in the header: the tiles of each BAR, and its shape and strides.
    let (tiles, shapes) = (0x28, 0xa8);
    swap(&mut anec, tiles + 4 * 4, tiles + 4 * 5, 4);
    swap(&mut anec, shapes + 48 * 4, shapes + 48 * 5, 48);
    // The task's word of operands, behind the header.
    let word = &mut anec[0x1000 + 4 * 8..][..4];
    let operands = OperandBases::from_bits(u32::from_le_bytes((&*word).try_into().unwrap()));
    assert_eq!((operands.rbase0(), operands.wbase()), (5, 4));
    word.copy_from_slice(&operands.with_rbase0(4).with_wbase(5).word().to_le_bytes());
    let path = scratch.join("crossed.anec");
    std::fs::write(&path, anec).unwrap();
    path
}

fn swap(bytes: &mut [u8], one: usize, other: usize, count: usize) {
    let (front, back) = bytes.split_at_mut(other);
    front[one..][..count].swap_with_slice(&mut back[..count]);
}
