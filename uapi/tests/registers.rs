//! Every typed register word against its table row: the two come from one declaration, and this holds the
//! macros to that.

use ane_uapi::hw::{self, td};
use ane_uapi::register::Show;

/// Words that reach every field: one bit, all but one bit, and a spread of patterns in between.
fn words() -> impl Iterator<Item = u32> {
    let single = (0..32).map(|bit| 1 << bit);
    let hole = (0..32).map(|bit| !(1 << bit));
    let spread = (0..4096_u32).map(|n| n.wrapping_mul(0x9e37_79b9).rotate_left(n % 32));
    [0, u32::MAX].into_iter().chain(single).chain(hole).chain(spread)
}

#[test]
fn typed_word_read_through_accessor_or_table_gives_the_same_number() {
    for block in hw::blocks() {
        for word in words() {
            assert_eq!((block.check)(word), None, "{} at {word:#010x}", block.name);
        }
    }
}

#[test]
fn registers_of_a_block_rise_and_stay_inside_it() {
    for block in hw::blocks() {
        let mut behind = block.start;
        for register in block.registers {
            assert!(register.offset >= behind, "{} {} is out of order", block.name, register.name);
            for index in 0..register.count {
                let at = register.at(index).expect("instance exists");
                assert!(block.contains(at) && block.contains(at + 3), "{} leaves its block", register.name);
                let (found, instance) = block.find(at).expect("the table finds its own register");
                assert_eq!((found.name, instance), (register.name, index));
            }
            behind = register.offset + 4;
        }
    }
}

#[test]
fn every_word_of_a_descriptor_block_is_a_register() {
    for block in td::BLOCKS {
        for offset in (block.start..block.start + block.len).step_by(4) {
            assert!(block.find(offset).is_some(), "{} has no register at {offset:#x}", block.name);
            assert!(td::find(offset).is_some(), "record address {offset:#x} leads nowhere");
        }
    }
    assert_eq!(td::BLOCKS.iter().map(|block| block.len as usize / 4).sum::<usize>(), td::REGISTER_WORDS);
}

#[test]
fn enumerated_fields_name_only_values_that_fit() {
    for block in hw::blocks() {
        for field in block.registers.iter().flat_map(|register| register.fields) {
            let Show::Codes(codes) = field.show else { continue };
            assert!(!codes.is_empty());
            for code in codes {
                assert!(field.put(0, code.value) >> field.low == code.value, "{}: {}", field.name, code.name);
            }
        }
    }
}

#[test]
fn every_register_and_field_says_what_it_is() {
    for block in hw::blocks() {
        for register in block.registers {
            assert!(!register.doc.trim().is_empty() && !register.source.is_empty(), "{}", register.name);
            for field in register.fields.iter().filter(|field| !field.is_unknown()) {
                assert!(!field.doc.trim().is_empty(), "{}.{}", register.name, field.name);
            }
        }
    }
}
