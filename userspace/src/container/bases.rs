//! The BAR numbers in a task's header.
//!
//! Words 8 and 9 hold eight of them: two sources, the destination and the descriptors, then four sets of
//! coefficients. Each is five bits of index followed by an enable bit; an index that is not enabled means nothing.

use std::collections::BTreeMap;

use ane_uapi::hw::td::header::{KERNEL_BASES, KernelBases, OPERAND_BASES, OperandBases};
use ane_uapi::register::{Field, Word};
use thiserror::Error;

use crate::task::{ChainError, Task, Tasks};

/// One enabled BAR number of a header word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) field: &'static str,
    pub(crate) bar: u8,
}

/// A header word with BAR numbers in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseWord {
    /// Byte offset of the word in the descriptor.
    pub(crate) at: u32,
    pub(crate) word: u32,
    fields: &'static [Field],
}

/// Index and enable of the BAR numbers that a word has room for.
const PAIRS: usize = 4;

#[expect(clippy::indexing_slicing, reason = "looked at when the crate is compiled")]
const _: () = {
    let words = [OperandBases::FIELDS, KernelBases::FIELDS];
    let mut i = 0;
    while i < 2 * PAIRS * words.len() {
        let field = &words[i / (2 * PAIRS)][i % (2 * PAIRS)];
        assert!(
            field.bits == if i.is_multiple_of(2) { 5 } else { 1 },
            "a base is an index and an enable bit"
        );
        i += 1;
    }
};

/// The two words of `task` that have BAR numbers in them.
pub(crate) fn words(task: &Task<'_>) -> [BaseWord; 2] {
    let (operands, kernels) = (task.header.operands, task.header.kernels);
    [
        BaseWord { at: OPERAND_BASES.offset(), word: operands.word(), fields: OperandBases::FIELDS },
        BaseWord { at: KERNEL_BASES.offset(), word: kernels.word(), fields: KernelBases::FIELDS },
    ]
}

impl BaseWord {
    fn enabled(&self) -> impl Iterator<Item = &'static Field> + use<> {
        let word = self.word;
        self.fields.chunks_exact(2).take(PAIRS).filter_map(move |pair| match pair {
            [index, enable] if enable.of(word) != 0 => Some(index),
            _ => None,
        })
    }

    pub(crate) fn bases(&self) -> impl Iterator<Item = Base> + use<> {
        let word = self.word;
        // Five bits each.
        self.enabled().map(move |field| Base { field: field.name, bar: field.of(word) as u8 })
    }

    /// The word with each enabled BAR number replaced by what `to` makes of it.
    pub(crate) fn rebound(&self, to: impl Fn(u8) -> u8) -> u32 {
        self.enabled().fold(self.word, |word, field| field.put(word, to(field.of(word) as u8).into()))
    }
}

/// A place that names a BAR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) task: u32,
    pub(crate) offset: u32,
    field: &'static str,
}

/// The first task and field that names each BAR.
pub(crate) type Uses = BTreeMap<u8, Use>;

pub(crate) fn uses(tasks: Tasks<'_>) -> Result<Uses, ChainError> {
    let mut uses = Uses::new();
    for task in tasks {
        let task = task?;
        for base in words(&task).iter().flat_map(BaseWord::bases) {
            let here = Use { task: task.index, offset: task.offset, field: base.field };
            uses.entry(base.bar).or_insert(here);
        }
    }
    Ok(uses)
}

/// A task that reads or writes what nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("task {task} at {offset:#x}: {field} names BAR {bar}, and the object does not say what that carries")]
pub struct UnknownBar {
    pub task: u32,
    pub offset: u32,
    pub field: &'static str,
    pub bar: u8,
}

impl UnknownBar {
    pub(crate) const fn of(bar: u8, used: &Use) -> Self {
        Self { task: used.task, offset: used.offset, field: used.field, bar }
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::header;
    use zerocopy::little_endian::U32;

    use super::*;

    fn task(operands: OperandBases, kernels: KernelBases, check: impl FnOnce(&Task<'_>)) {
        let mut words = [U32::ZERO; header::WORDS];
        words[8] = operands.word().into();
        words[9] = kernels.word().into();
        let header = header::Header::decode(&words).expect("whole header");
        check(&Task { index: 0, offset: 0, words: &words, header });
    }

    #[test]
    fn bar_number_that_is_not_enabled_is_not_listed_and_not_changed() {
        let operands = OperandBases::new().with_rbase0(4).with_rbe0(true).with_rbase1(5);
        let kernels = KernelBases::new().with_kbase3(7).with_kbe3(true).with_kbase0(1);
        task(operands, kernels, |task| {
            let [first, second] = words(task);
            assert_eq!(first.bases().collect::<Vec<_>>(), [Base { field: "rbase0", bar: 4 }]);
            assert_eq!(second.bases().collect::<Vec<_>>(), [Base { field: "kbase3", bar: 7 }]);
            assert_eq!(first.rebound(|_| 31), operands.with_rbase0(31).word());
            assert_eq!(second.rebound(|_| 31), kernels.with_kbase3(31).word());
        });
    }

    #[test]
    fn every_bar_number_is_listed_once_and_rebinds_alone() {
        let operands = OperandBases::from_bits(u32::MAX);
        let kernels = KernelBases::from_bits(u32::MAX);
        task(operands, kernels, |task| {
            let names: Vec<_> = words(task).iter().flat_map(BaseWord::bases).map(|base| base.field).collect();
            assert_eq!(names, ["rbase0", "rbase1", "wbase", "tbase", "kbase0", "kbase1", "kbase2", "kbase3"]);
            let [first, second] = words(task);
            let expected = operands.with_rbase0(9).with_rbase1(9).with_wbase(9).with_tbase(9);
            assert_eq!(first.rebound(|_| 9), expected.word());
            let expected = kernels.with_kbase0(9).with_kbase1(9).with_kbase2(9).with_kbase3(9);
            assert_eq!(second.rebound(|_| 9), expected.word());
        });
    }
}
