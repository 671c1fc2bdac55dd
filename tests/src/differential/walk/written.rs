//! Descriptors that write what has to change, in records of any length and order.

use std::collections::BTreeMap;

use crate::random::Random;

/// Words of the header.
const HEADER: usize = 10;

/// The register writes of one task, and the header words that go with them.
#[derive(Clone, Debug, Default)]
pub(super) struct Delta {
    pub(super) registers: BTreeMap<u32, u32>,
    /// Operand BARs with their enables: word 8.
    pub(super) operands: u32,
    /// Coefficient BARs: word 9.
    pub(super) kernels: u32,
}

impl Delta {
    pub(super) fn set(&mut self, address: u32, value: u32) {
        self.registers.insert(address, value);
    }

    /// Turns bits of a register on.
    pub(super) fn add(&mut self, address: u32, bits: u32) {
        *self.registers.entry(address).or_default() |= bits;
    }

    /// Leaves out most of what `held` has already, and remembers what is held then.
    pub(super) fn leave_out(mut self, random: &mut Random, held: &mut Self) -> Self {
        self.registers.retain(|address, value| {
            let before = held.registers.insert(*address, *value).unwrap_or(0);
            before != *value || random.below(4) == 0
        });
        self
    }

    /// The words behind the header.
    fn records(&self, random: &mut Random) -> Vec<u32> {
        let mut runs: Vec<(u32, Vec<u32>)> = Vec::new();
        for (&address, &value) in &self.registers {
            match runs.last_mut() {
                Some((start, run))
                    if *start + 4 * run.len() as u32 == address
                        && run.len() < 64
                        && random.below(12) != 0 =>
                {
                    run.push(value);
                }
                _ => runs.push((address, vec![value])),
            }
        }
        for last in (1..runs.len() as u32).rev() {
            runs.swap(last as usize, random.below(last + 1) as usize);
        }
        if random.below(4) == 0
            && let Some((start, run)) = runs.last().cloned()
        {
            // Bytes that are written twice hold the last value.
            runs.insert(0, (start, vec![0; run.len()]));
        }
        let words = runs
            .into_iter()
            .flat_map(|(start, run)| [(run.len() as u32 - 1) << 26 | start].into_iter().chain(run));
        words.collect()
    }
}

/// The stream of a chain, and the words of its first descriptor.
pub(super) fn stream(random: &mut Random, tasks: &[Delta]) -> (Vec<u8>, u32) {
    let mut bodies = Vec::new();
    for (index, task) in (0..).zip(tasks) {
        let mut words = vec![0; HEADER];
        let nid = if index == 0 { 0x40 } else { 0 };
        words[0] = index | nid << 16 | u32::from(index != 0) << 24;
        words[6] = 0x3000_0000;
        words[8] = task.operands;
        words[9] = task.kernels;
        if random.below(4) == 0 {
            // The header has an eleventh word.
            words[6] |= 1 << 24;
            words.push(index.saturating_sub(1));
        }
        words.extend(task.records(random));
        bodies.push(words);
    }
    // The first lies first, where the request points; the others in any order behind it.
    let mut order: Vec<usize> = (1..bodies.len()).collect();
    for last in (1..order.len() as u32).rev() {
        order.swap(last as usize, random.below(last + 1) as usize);
    }
    order.insert(0, 0);
    let (mut offsets, mut end) = (vec![0; bodies.len()], 0);
    for index in order {
        offsets[index] = end;
        end = (end + 4 * bodies[index].len()).next_multiple_of(0x100);
    }
    let lengths: Vec<u32> = bodies.iter().map(|words| words.len() as u32).collect();
    let mut stream = vec![0; super::STREAM.1 as usize];
    for (index, mut words) in bodies.into_iter().enumerate() {
        match lengths.get(index + 1) {
            Some(next) => {
                words[1] = (next - 1) << 16;
                words[7] = offsets[index + 1] as u32;
                words[8] |= 1 << 23;
            }
            None => words[0] |= 1 << 25,
        }
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        stream[offsets[index]..offsets[index] + bytes.len()].copy_from_slice(&bytes);
    }
    (stream, lengths[0])
}
