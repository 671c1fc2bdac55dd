//! Strided rows against a byte-by-byte reference.

use ane_device::dart::{Alone, Circuit, Rows};
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::stream::StreamId;
use proptest::prelude::*;
use vm_memory::{Bytes, GuestAddress};

use crate::rig::{PAGE, Rig, fault, page, random};

/// Twelve pages, of which some are neighbours, with different bytes.
fn rig() -> Rig {
    let mut rig = Rig::new();
    for (n, at) in [3, 4, 5, 20, 1, 9, 10, 0, 30, 31, 7, 6].into_iter().enumerate() {
        rig.map(n as u64 * PAGE, page(at));
        let bytes: Vec<_> = random(at).take(PAGE as usize).map(|word| word as u8).collect();
        rig.memory.write_slice(&bytes, GuestAddress(page(at).0)).unwrap();
    }
    rig
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn rows_are_what_reading_each_row_gives(
        base in 0u64..4 * PAGE, len in 1u32..40_000, stride in 0u32..40_000, count in 1u32..40,
    ) {
        let mut rig = rig();
        let rows = Rows::new(base, len, stride, count).unwrap();
        prop_assume!(u64::from(rows.span().end().0) <= 12 * PAGE);
        let mut expected = Vec::new();
        for n in 0..u64::from(count) {
            expected.extend(rig.read(base + n * u64::from(stride), len.into()).unwrap());
        }
        let mut into = vec![0; expected.len()];
        rig.dma(StreamId::BASE, Circuit::TileFetch2).read_rows(rows, &mut into, &mut Alone).unwrap();
        prop_assert!(into == expected);
    }

    #[test]
    fn rows_written_are_read_back_and_nothing_else_changes(
        base in 0u64..4 * PAGE, len in 1u32..20_000, gap in 0u32..20_000, count in 1u32..40,
    ) {
        let mut rig = rig();
        let rows = Rows::new(base, len, len + gap, count).unwrap();
        prop_assume!(u64::from(rows.span().end().0) <= 12 * PAGE);
        let mut expected = rig.read(0, 12 * PAGE).unwrap();
        let bytes: Vec<_> = random(99).take(rows.bytes() as usize).map(|word| word as u8).collect();
        for (n, row) in bytes.chunks(len as usize).enumerate() {
            expected[base as usize + n * (len + gap) as usize..][..len as usize].copy_from_slice(row);
        }
        rig.dma(StreamId::BASE, Circuit::TileSend).write_rows(rows, &bytes, &mut Alone).unwrap();
        prop_assert!(rig.read(0, 12 * PAGE).unwrap() == expected);
    }
}

#[test]
fn row_in_an_unmapped_page_faults_at_its_first_byte_and_no_row_moves() {
    let mut rig = rig();
    rig.unmap(5 * PAGE);
    let mut into = vec![1; 128 * 200];
    let rows = Rows::new(64, 128, 512, 200).unwrap();
    let read = rig.dma(StreamId::BASE, Circuit::TileFetch1).read_rows(rows, &mut into, &mut Alone);
    assert_eq!(fault(read), Err((HwError::NoL3Entry, (5 * PAGE) as u32 + 64)));
    assert!(into.iter().all(|&byte| byte == 1));
}

#[test]
fn row_that_ends_in_an_unmapped_page_faults_at_that_page() {
    let mut rig = rig();
    rig.unmap(PAGE);
    let rows = Rows::new(PAGE - 100, 128, 4096, 2).unwrap();
    let read = rig.dma(StreamId::BASE, Circuit::TileFetch1).read_rows(rows, &mut [0; 256], &mut Alone);
    assert_eq!(fault(read), Err((HwError::NoL3Entry, PAGE as u32)));
}

#[test]
fn unmapped_page_between_rows_does_not_matter() {
    let mut rig = rig();
    rig.unmap(PAGE);
    let rows = Rows::new(0, 16, 2 * PAGE as u32, 3).unwrap();
    rig.dma(StreamId::BASE, Circuit::TileFetch1).read_rows(rows, &mut [0; 48], &mut Alone).unwrap();
}

#[test]
fn one_row_again_and_again_fills_the_buffer() {
    let mut rig = rig();
    let once = rig.read(100, 4).unwrap();
    let mut into = [0; 4 * 1000];
    let rows = Rows::new(100, 4, 0, 1000).unwrap();
    rig.dma(StreamId::BASE, Circuit::TileFetch1).read_rows(rows, &mut into, &mut Alone).unwrap();
    assert!(into.chunks(4).all(|row| row == once));
}
