//! The client contract: numbers, names and structures.

use ane_uapi::abi;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::{ArgumentDirection, MAX_SIZE, Number};
use ane_uapi::ioctl::{DRM_IOCTLS, FORMER, IOCTLS, OWN, SECTIONS, current, find, unknown};

#[test]
fn numbers_follow_each_other_from_the_first_of_the_existing_driver_and_from_the_first_of_this() {
    for (ioctl, nr) in IOCTLS.iter().zip((0x40..0x44).chain(OWN..)) {
        assert_eq!(ioctl.nr, nr, "{}", ioctl.c_name);
    }
}

#[test]
fn former_number_leads_to_the_call_that_moved() {
    // Calls that came after the move never had another number.
    let moved = OWN..=OWN + (FORMER.end() - FORMER.start());
    for ioctl in IOCTLS.iter().filter(|ioctl| moved.contains(&ioctl.nr)) {
        let former = Number { nr: ioctl.nr - OWN + 0x44, ..ioctl.decoded() }.encode();
        assert_eq!(find(former).map(|found| found.c_name), Some(ioctl.c_name));
        assert_eq!(current(former), ioctl.number);
        let other = Number { size: ioctl.decoded().size + 1, ..Number::decode(former) }.encode();
        assert_eq!((find(other).is_none(), current(other)), (true, other));
    }
    // Nothing of the existing driver moved.
    assert_eq!(current(0xc018_6441), 0xc018_6441);
}

#[test]
fn calls_of_the_second_abi_are_invalid_and_others_are_none() {
    for number in [0xc020_6444, 0xc008_6445, 0xc020_6446, 0xc018_6447, 0x0000_6447] {
        assert!(find(number).is_none(), "{number:#x}");
        assert_eq!(unknown(number), Errno::EINVAL, "{number:#x}");
    }
    for number in [0xc020_6448, 0xc020_64a0, 0xc020_6544, 0xc020_6540] {
        assert_eq!(unknown(number), Errno::ENOTTY, "{number:#x}");
    }
}

#[test]
fn number_names_the_structure_it_passes() {
    for ioctl in IOCTLS.iter().chain(DRM_IOCTLS) {
        let number = ioctl.decoded();
        assert_eq!(usize::from(number.size), ioctl.structure.size, "{}", ioctl.c_name);
        assert_eq!((number.subsystem, number.nr), (b'd', ioctl.nr));
        assert_eq!(number.encode(), ioctl.number);
        assert_eq!(find(ioctl.number).map(|found| found.c_name), Some(ioctl.c_name));
    }
}

#[test]
fn number_with_another_size_or_direction_is_no_ioctl() {
    for ioctl in IOCTLS {
        for bit in 16..32 {
            assert!(find(ioctl.number ^ (1 << bit)).is_none(), "{} with bit {bit} changed", ioctl.c_name);
        }
    }
}

#[test]
fn every_word_decodes_and_encodes_to_itself() {
    let mut word = 0x9e37_79b9_u32;
    for _ in 0..10_000 {
        word = word.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        assert_eq!(Number::decode(word).encode(), word);
    }
    assert_eq!(Number::decode(u32::MAX).direction, ArgumentDirection::ReadWrite);
    assert_eq!(usize::from(Number::decode(u32::MAX).size), MAX_SIZE);
}

#[test]
fn structure_is_a_multiple_of_its_alignment_and_says_what_each_field_is() {
    for layout in abi::structs(SECTIONS) {
        assert!(layout.size.is_multiple_of(layout.align), "{}", layout.c_name);
        assert!(
            layout.c_name.starts_with("drm_ane_") || layout.c_name.starts_with("ane_"),
            "{}",
            layout.c_name
        );
        for field in layout.fields {
            assert!(!field.doc.trim().is_empty(), "{}.{}", layout.c_name, field.name);
        }
    }
}

#[test]
fn argument_of_every_ioctl_is_in_the_header() {
    for ioctl in IOCTLS {
        assert!(
            abi::structs(SECTIONS).any(|layout| layout.c_name == ioctl.structure.c_name),
            "{} is declared nowhere",
            ioctl.structure.c_name
        );
        assert!(!ioctl.doc.trim().is_empty());
    }
}

#[test]
fn reserved_field_that_is_set_is_found_by_its_name() {
    for layout in abi::structs(SECTIONS) {
        let mut bytes = vec![0; layout.size];
        assert!(layout.first_reserved_set(&bytes).is_none(), "{}", layout.c_name);
        for field in layout.fields.iter().filter(|field| field.is_reserved()) {
            for at in field.offset..field.offset + field.size {
                bytes[at] = 0x80;
                let found = layout.first_reserved_set(&bytes).expect("a set byte is found");
                assert_eq!(found.name, field.name, "{}", layout.c_name);
                bytes[at] = 0;
            }
        }
    }
}
