//! The C library's own container, held against that of the client library: they share no line, and a program has to be the
//! same to both.

use ane::container::{self, Direction};
use ane::tensor::tile;
use ane_capi::anec;
use ane_capi::surface::Elements;
use ane_tests::data;
use ane_tests::null_task::program;
use ane_tests::runner::surfaces;
use tempfile::NamedTempFile;

/// Every number of a file, read by either.
fn assert_alike(bytes: &[u8]) {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let image = anec::read(file.path(), None).unwrap();
    let program = container::open(bytes).unwrap();
    let header = &image.anec;
    assert_eq!(
        (header.tsk_size.get(), header.td_count.get(), header.td_size.get()),
        (program.stream.len() as u64, program.task_count, program.first_task_bytes)
    );
    assert_eq!(&image.payload[..program.stream.len()], program.stream);
    let constants: Vec<u8> = program.constants.iter().flat_map(|part| part.bytes.to_vec()).collect();
    assert!(image.payload.ends_with(&constants));
    for (direction, bars) in
        [(Direction::Input, image.roles.inputs), (Direction::Output, image.roles.outputs)]
    {
        let found = surfaces(&program, direction);
        assert_eq!(bars.len(), found.len());
        for (bar, surface) in bars.iter().zip(found) {
            assert_eq!(bar, surface.bar);
            let found = header.surface(surface.bar.into(), image.shift, image.byte_bars);
            let expected = tile::layout(surface).ok().map(Elements::Halves);
            assert_eq!(found.map(|found| found.elements()), expected);
            assert!(header.bytes(surface.bar.into(), image.shift) >= surface.buffer_bytes);
        }
    }
}

#[test]
fn file_says_the_same_to_the_c_library_and_to_the_client_library() {
    assert_alike(&std::fs::read(data::example()).unwrap());
    assert_alike(&program(3).to_anec().unwrap());
}

/// What is left would pass for a file with the shorter header, whose tasks are zeros and then the first part of the real ones.
#[test]
fn file_that_lost_half_a_header_at_its_end_is_refused_by_both() {
    let whole = std::fs::read(data::example()).unwrap();
    let cut = &whole[..whole.len() - 0x800];
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), cut).unwrap();
    assert!(anec::read(file.path(), None).is_err());
    assert!(container::open(cut).is_err());
}
