//! The table of pointers in arguments, held against the structures that have them.

use ane_uapi::abi::{self, StructLayout};
use ane_uapi::ioctl::nested::{Client, Pointer, Use, follow, pointers};
use ane_uapi::ioctl::request::{Bar, Chain, Request};
use ane_uapi::ioctl::{DRM_IOCTLS, IOCTLS, SECTIONS, drm, number::Ioctl, request};
use zerocopy::{FromZeros, IntoBytes};

fn every_ioctl() -> impl Iterator<Item = &'static Ioctl> {
    IOCTLS.iter().chain(DRM_IOCTLS).copied()
}

/// Each pointer of the table, with the structure it is in; those of elements with the structure that their field's
/// description names.
fn table() -> Vec<(&'static StructLayout, &'static Pointer)> {
    let mut all = Vec::new();
    for ioctl in every_ioctl() {
        for pointer in pointers(ioctl.number) {
            all.push((ioctl.structure, pointer));
            let element = element_of(ioctl.structure, pointer);
            all.extend(pointer.inner.iter().map(|inner| (element.expect("has a structure"), inner)));
        }
    }
    all
}

fn field(layout: &'static StructLayout, at: usize) -> &'static abi::FieldLayout {
    layout.fields.iter().find(|field| field.offset == at).expect("a field begins there")
}

/// The structure that the description of a pointer says it leads to.
fn element_of(layout: &'static StructLayout, pointer: &Pointer) -> Option<&'static StructLayout> {
    let doc = field(layout, pointer.at).doc;
    let name = doc.split_once("pointer to struct ")?.1.split([',', '.']).next()?;
    abi::structs(SECTIONS).find(|layout| layout.c_name == name)
}

#[test]
fn pointer_and_its_count_are_fields_and_its_elements_those_described() {
    let table = table();
    assert!(table.len() >= 13, "only {} pointers", table.len());
    for (layout, pointer) in table {
        let (at, count) = (field(layout, pointer.at), field(layout, pointer.count_at));
        assert_eq!((at.c_type, at.count), ("__u64", None), "{}.{}", layout.c_name, at.name);
        assert_eq!(count.size, pointer.count_bytes, "{}.{}", layout.c_name, count.name);
        let element = element_of(layout, pointer).map_or(pointer.element, |element| element.size);
        assert_eq!(element, pointer.element, "{}.{}", layout.c_name, at.name);
    }
}

#[test]
fn every_field_that_says_it_is_a_pointer_is_in_the_table() {
    let table = table();
    let structs = abi::structs(SECTIONS).chain(DRM_IOCTLS.iter().map(|ioctl| ioctl.structure));
    let mut found = 0;
    for layout in structs {
        let says =
            |doc: &str| doc.contains("pointer to") || (doc.contains("where the ") && doc.contains(" goes."));
        for field in layout.fields.iter().filter(|field| field.c_type == "__u64" && says(field.doc)) {
            let known =
                table.iter().any(|(of, pointer)| of.c_name == layout.c_name && pointer.at == field.offset);
            assert!(known, "{}.{} is not followed", layout.c_name, field.name);
            found += 1;
        }
    }
    assert!(found >= 12, "only {found} pointers");
}

/// Bytes at address 0x1000 upwards, and what was asked for.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    stretches: Vec<(u64, usize, Use)>,
}

impl Client for Memory {
    fn stretch(&mut self, at: u64, bytes: usize, used: Use) {
        self.stretches.push((at, bytes, used));
    }

    fn peek(&mut self, at: u64, into: &mut [u8]) -> bool {
        let from = at.checked_sub(0x1000).and_then(|from| usize::try_from(from).ok());
        let bytes = from.and_then(|from| self.bytes.get(from..from.checked_add(into.len())?));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

fn chain_of(requests: &[Request], count: u32) -> (Chain, Memory) {
    let chain = Chain { requests: 0x1000, request_count: count, request_size: 0, ..FromZeros::new_zeroed() };
    (chain, Memory { bytes: requests.as_bytes().to_vec(), stretches: Vec::new() })
}

#[test]
fn chain_brings_its_requests_and_what_each_points_at() {
    let first = Request { bars: 0x10, bar_count: 2, ..FromZeros::new_zeroed() };
    let second = Request { in_fences: 0x20, in_fence_count: 3, ..FromZeros::new_zeroed() };
    let (chain, mut memory) = chain_of(&[first, second], 2);
    follow(chain.as_bytes(), pointers(request::SUBMIT_CHAIN.number), &mut memory);
    let bars = 2 * size_of::<Bar>();
    let expected =
        [(0x1000, 2 * size_of::<Request>(), Use::InOut), (0x10, bars, Use::In), (0x20, 24, Use::In)];
    assert_eq!(memory.stretches, expected);
}

#[test]
fn array_longer_than_the_driver_takes_is_not_followed() {
    let request = Request {
        bars: 0x10,
        bar_count: 33,
        in_fences: 0x20,
        in_fence_count: u32::MAX,
        ..FromZeros::new_zeroed()
    };
    let (chain, mut memory) = chain_of(&[request], 1);
    follow(chain.as_bytes(), pointers(request::SUBMIT_CHAIN.number), &mut memory);
    assert_eq!(memory.stretches.len(), 1, "the requests alone");
    let (chain, mut memory) = chain_of(&[request], 129);
    follow(chain.as_bytes(), pointers(request::SUBMIT_CHAIN.number), &mut memory);
    assert_eq!(memory.stretches, []);
}

#[test]
fn elements_that_are_no_memory_end_the_walk() {
    let request = Request { bars: 0x10, bar_count: 1, ..FromZeros::new_zeroed() };
    let (mut chain, mut memory) = chain_of(&[request], 3);
    follow(chain.as_bytes(), pointers(request::SUBMIT_CHAIN.number), &mut memory);
    assert_eq!(memory.stretches.len(), 2, "the array as a whole and the first element's bars");
    chain.requests = u64::MAX - 7;
    memory.stretches.clear();
    follow(chain.as_bytes(), pointers(request::SUBMIT_CHAIN.number), &mut memory);
    assert_eq!(memory.stretches.len(), 1);
}

#[test]
fn version_brings_no_more_of_a_string_than_is_ever_written() {
    let version =
        drm::Version { name_len: u64::MAX, name: 0x40, date_len: 4, date: 0x50, ..FromZeros::new_zeroed() };
    let mut memory = Memory::default();
    follow(version.as_bytes(), pointers(drm::VERSION.number), &mut memory);
    assert_eq!(memory.stretches, [(0x40, 256, Use::Out), (0x50, 4, Use::Out)]);
}

#[test]
fn argument_that_is_cut_short_brings_nothing() {
    let (chain, mut memory) = chain_of(&[], 1);
    for length in 0..12 {
        follow(&chain.as_bytes()[..length], pointers(request::SUBMIT_CHAIN.number), &mut memory);
    }
    assert_eq!(memory.stretches, []);
}
