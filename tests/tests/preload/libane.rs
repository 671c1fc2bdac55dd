//! The C library and the Python module used wrongly: errors or nothing, and nothing left behind.

use std::process::Command;

use ane_device::Options;
use ane_tests::command;
use ane_tests::data::example;
use ane_tests::preload::{Preload, folder, include, numpy};

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
fn module_in_python_takes_arrays_of_any_layout_and_says_what_is_wrong_with_others() {
    let Some(python) = numpy() else { return };
    let preload = Preload::start(&Options::default());
    let library = command::library("libane_python.so");
    let module = include().join("../../libane_python/python");
    let client = folder().join("module.py");
    preload.done(Command::new(python).arg(client).arg(module).arg(library).arg(example()));
}
