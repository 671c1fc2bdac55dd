//! The known values of a descriptor's words, laid out for speed.
//!
//! Decoding looks at every bit of every word. The tables that say which bits are explained and which codes exist are
//! the contract's, found by address; here they stand in the order of the register file, so that a task is
//! checked by one pass over its words. One that fails here is looked at again, slowly, to see whether the task uses
//! the word, and to name it.

use std::sync::LazyLock;

use ane_uapi::hw::td::{self, REGISTER_WORDS};
use ane_uapi::register::{Block, Field, Register, Show};

use super::decode::INERT;
use super::register_file::dense_index;

/// For each word of the register file, the bits that have to be zero.
static FORBIDDEN: LazyLock<[u32; REGISTER_WORDS]> = LazyLock::new(|| {
    let mut forbidden = [u32::MAX; REGISTER_WORDS];
    for (register, address) in td::BLOCKS.into_iter().flat_map(words) {
        let inert = INERT.iter().find(|(known, _)| *known == address).map_or(0, |(_, mask)| *mask);
        if let Some(word) = dense_index(address).and_then(|index| forbidden.get_mut(index)) {
            *word = register.unknown & !inert;
        }
    }
    forbidden
});

fn words(block: &'static Block) -> impl Iterator<Item = (&'static Register, u32)> {
    block.registers.iter().flat_map(|register| {
        (0..register.count).filter_map(|instance| register.at(instance)).map(|address| (*register, address))
    })
}

/// An enumerated field of one word.
#[derive(Clone, Copy, Debug)]
struct Coded {
    index: usize,
    field: &'static Field,
    /// A bit for each number that has a meaning.
    known: u64,
}

/// The enumerated fields of all words.
static CODED: LazyLock<Vec<Coded>> = LazyLock::new(|| {
    let coded = td::BLOCKS.into_iter().flat_map(words).flat_map(|(register, address)| {
        register.fields.iter().filter_map(move |field| {
            let Show::Codes(codes) = field.show else { return None };
            let known = codes.iter().filter(|code| code.value < u64::BITS);
            let known = known.fold(0, |known, code| known | 1 << code.value);
            Some(Coded { index: dense_index(address)?, field, known })
        })
    });
    coded.collect()
});

/// True if no word has a bit or a number without a meaning; where one has, the task may not look at it.
pub(super) fn holds(words: &[u32; REGISTER_WORDS]) -> bool {
    let forbidden = words.iter().zip(&*FORBIDDEN).fold(0, |all, (word, forbidden)| all | word & forbidden);
    let has_meaning = |coded: &Coded| {
        let word = words.get(coded.index).copied().unwrap_or_default();
        coded.known.checked_shr(coded.field.of(word)).unwrap_or(0) & 1 == 1
    };
    forbidden == 0 && CODED.iter().all(has_meaning)
}
