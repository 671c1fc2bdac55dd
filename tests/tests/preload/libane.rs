//! The C libraries used wrongly: errors or nothing, as `ane.h` says, and nothing left behind.

use ane_device::Options;
use ane_tests::data::example;
use ane_tests::preload::Service;

use super::programs::linked;

#[test]
fn library_in_c_answers_misuse_with_errors_and_leaves_nothing_behind() {
    let service = Service::start(&Options::default());
    let Some(mut client) = linked("misused.c", service.scratch()) else { return };
    service.done(client.arg(example()));
}
