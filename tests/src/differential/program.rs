//! Compiled programs as cases: what a client would map for them, and noise in all of it that is not constant.

use ane::container::{Program, Role};
use ane_device::options::Numerics;
use ane_uapi::hw::nid::Nid;

use super::task::halves;
use super::{Case, PAGE};
use crate::random::Random;

/// Device addresses from one region to the next, with room that is not mapped between them.
const REGION: u32 = 0x40_0000;

/// Words of a full descriptor.
const FULL_WORDS: u32 = 157;

/// Words of a header.
const HEADER: usize = 10;

impl Case {
    /// A program whose surfaces and scratch hold noise; the task stream is the first region.
    ///
    /// # Panics
    ///
    /// If its first task does not write every register: those of a case do.
    pub fn of_program(program: &Program<'_>, random: &mut Random) -> Self {
        assert_eq!(program.first_task_bytes, 4 * FULL_WORDS, "a task writes every register");
        let (mut bars, mut regions) = ([0; 32], Vec::new());
        for bar in &program.bars {
            let base = REGION * (u32::from(bar.index) + 1);
            bars[usize::from(bar.index)] = base;
            let pages = (bar.bytes as usize).max(1).div_ceil(PAGE) * PAGE;
            let mut bytes = match bar.role {
                Role::Tasks => program.stream.to_vec(),
                Role::Constants(index) => program.constants[index].bytes.to_vec(),
                _ => halves(random, pages),
            };
            bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
            match bar.role {
                Role::Tasks => regions.insert(0, (base, bytes)),
                _ => regions.push((base, bytes)),
            }
        }
        regions[0].1[2] = Nid::LINUX.number();
        Self {
            regions,
            bars,
            tasks: program.task_count as u16,
            first_words: FULL_WORDS,
            numerics: Numerics::M1,
        }
    }

    /// The region behind a BAR.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn region(&mut self, bar: usize) -> &mut Vec<u8> {
        let base = self.bars[bar];
        let region = self.regions.iter_mut().find(|region| region.0 == base);
        &mut region.expect("program uses the BAR").1
    }

    /// The words of the task stream that are header words or registers, each by its index, and by the register's
    /// address if it is one.
    pub fn words(&self) -> Vec<(usize, Option<u32>)> {
        let mut words = Vec::new();
        for task in 0..usize::from(self.tasks) {
            let start = task * super::STEP as usize / 4;
            words.extend((start..start + HEADER).map(|word| (word, None)));
            let (mut at, end) = (start + HEADER, start + FULL_WORDS as usize);
            while at < end {
                let record = self.word(at);
                let count = (record >> 26) + 1;
                words.extend((0..count).map(|n| (at + 1 + n as usize, Some((record & 0x3ff_ffff) + 4 * n))));
                at += 1 + count as usize;
            }
        }
        words
    }

    /// A word of the task stream.
    pub fn word(&self, index: usize) -> u32 {
        let (words, _) = self.regions[0].1.as_chunks();
        u32::from_le_bytes(words[index])
    }

    /// Changes a word of the task stream.
    pub fn set_word(&mut self, index: usize, value: u32) {
        let (words, _) = self.regions[0].1.as_chunks_mut();
        words[index] = value.to_le_bytes();
    }

    /// Changes a register of the first task.
    ///
    /// # Panics
    ///
    /// If the task does not write it.
    pub fn set_register(&mut self, register: u32, value: u32) {
        let words = self.words();
        let word = words.iter().find(|word| word.1 == Some(register)).expect("task writes the register");
        self.set_word(word.0, value);
    }
}
