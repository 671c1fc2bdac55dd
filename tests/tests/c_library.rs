//! The C library's own container and tiling, held against those of the client library: they share no line, so that the C
//! library needs neither, and a program has to be the same to both.

use ane::container::{self, Axes, Direction};
use ane::tensor::tile::{self, Layout};
use ane_capi::anec::{self, Shape};
use ane_capi::tile as c;
use ane_tests::data;
use ane_tests::null_task::program;
use ane_tests::random::Random;
use ane_tests::runner::surfaces;
use half::f16;
use tempfile::NamedTempFile;

/// Every number of a file, read by either.
fn assert_alike(bytes: &[u8]) {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let image = anec::read(file.path()).unwrap();
    let program = container::open(bytes).unwrap();
    let header = &image.anec;
    assert_eq!(
        (header.tsk_size.get(), header.td_count.get(), header.td_size.get()),
        (program.stream.len() as u64, program.task_count, program.first_task_bytes)
    );
    assert_eq!(&image.payload[..program.stream.len()], program.stream);
    let constants: Vec<u8> = program.constants.iter().flat_map(|part| part.bytes.to_vec()).collect();
    assert!(image.payload.ends_with(&constants));
    for (direction, bar) in [
        (Direction::Input, anec::Anec::source as fn(&anec::Anec, usize) -> Option<usize>),
        (Direction::Output, anec::Anec::destination),
    ] {
        let found = surfaces(&program, direction);
        assert_eq!(bar(header, found.len()), None);
        for (index, surface) in found.into_iter().enumerate() {
            assert_eq!(bar(header, index), Some(surface.bar.into()));
            let shape = header.shape(surface.bar.into()).unwrap();
            let Axes { n, c, h, w } = surface.shape.map(|count| count as usize);
            assert_eq!((shape.n, shape.c, shape.h, shape.w), (n, c, h, w));
            assert_eq!((shape.plane as u64, shape.row as u64), (surface.strides.c, surface.strides.h));
            assert!(header.bytes(surface.bar.into()) >= surface.buffer_bytes);
        }
    }
}

#[test]
fn file_says_the_same_to_the_c_library_and_to_the_client_library() {
    assert_alike(&std::fs::read(data::example()).unwrap());
    assert_alike(&program(3).to_anec().unwrap());
}

#[test]
fn tensor_lies_in_memory_alike_for_the_c_library_and_the_client_library() {
    let mut random = Random::new(0x5eed_00c1);
    let mut up_to = |most: u32| 1 + random.word() % most;
    for _ in 0..2000 {
        let (channels, rows, columns) = (up_to(9), up_to(9), up_to(70));
        let row = (columns as usize * 2).next_multiple_of(64) + 64 * (up_to(3) as usize - 1);
        let plane = row * rows as usize + 64 * (up_to(3) as usize - 1);
        let batches = up_to(3);
        let shape = Axes { n: batches, c: channels, h: rows, w: columns };
        let ours = Shape {
            n: shape.n as usize,
            c: shape.c as usize,
            h: shape.h as usize,
            w: shape.w as usize,
            plane,
            row,
        };
        let strides = Axes { n: (plane * shape.c as usize) as u64, c: plane as u64, h: row as u64, w: 2 };
        let layout = Layout::new(shape, strides, 1).unwrap();
        let values: Vec<f16> = (0..layout.elements()).map(|_| f16::from_bits(up_to(0xffff) as u16)).collect();
        let dense: Vec<u8> = values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
        let bytes = plane * (shape.n * shape.c) as usize;
        let (mut by_c, mut by_client) = (vec![0; bytes], vec![0; bytes]);
        assert!(c::tile(&dense, &mut by_c, &ours));
        tile::tile(&layout, &values, &mut by_client).unwrap();
        assert_eq!(by_c, by_client, "{ours:?}");
        let (mut back, mut halves) = (vec![0; dense.len()], vec![f16::ZERO; values.len()]);
        assert!(c::untile(&by_client, &mut back, &ours));
        tile::untile(&layout, &by_c, &mut halves).unwrap();
        assert_eq!(back, dense);
        assert!(halves.iter().map(|half| half.to_bits()).eq(values.iter().map(|half| half.to_bits())));
    }
}
