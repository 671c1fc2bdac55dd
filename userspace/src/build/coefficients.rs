//! Coefficients, packed as the engines read them (td 7.1).
//!
//! A *plane* is `L` output channels side by side, the lanes. Plane `p` is held by engine `p mod E`, which has a chunk
//! of the constant section; in it the engine's planes follow each other, each one bias row if there is one, then one
//! row of `L` for each tap, taps in the order input channel, kernel row, kernel column.

use ane_uapi::hw::td::activation::ActivationTable;
use zerocopy::IntoBytes;

use super::pass::{Chunk, ENGINES, engines};

/// Most lanes of a plane in known programs.
const LANES_MAX: u32 = 32;

/// Slots of groups are padded to this.
const PADDED: u32 = 64;

/// How output channels are divided over planes and engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) lanes: u32,
    pub(super) engines: u32,
}

impl Division {
    /// The lanes and engines for `outputs` channels, where none are given.
    ///
    /// (Chosen) The lanes that leave the busiest engine the fewest output channels, among those the most. It gives
    /// what compilers took in every published case: 3 outputs 1 lane, 512 outputs 32, 768 outputs 16, 3072 outputs 32.
    pub(super) fn choose(outputs: u32, lanes: Option<u32>, given: Option<u32>) -> Self {
        let busiest = |lanes: u32| lanes * (outputs / lanes).div_ceil(given.unwrap_or(ENGINES));
        let powers = (0..=LANES_MAX.ilog2()).map(|log2| 1 << log2);
        let fitting = powers.filter(|&lanes| outputs.is_multiple_of(lanes));
        let lanes = lanes.or_else(|| fitting.rev().min_by_key(|&lanes| busiest(lanes))).unwrap_or(1);
        Self { lanes, engines: given.unwrap_or_else(|| engines(outputs / lanes)) }
    }

    /// The same on so many engines that the size of some chunk shows the padding of a group: the device refuses a task whose chunks
    /// could have padded slots as well as padded groups.
    pub(super) fn showing_padding(self, outputs: u32, slot_bytes: u32) -> Self {
        let powers = (1..=self.engines).rev().filter(|engines| engines.is_power_of_two());
        let mut fewer = std::iter::once(self).chain(powers.map(|engines| Self { engines, ..self }));
        fewer.find(|division| division.shows_padding(outputs, slot_bytes)).unwrap_or(self)
    }

    fn shows_padding(self, outputs: u32, slot_bytes: u32) -> bool {
        let padded = slot_bytes.next_multiple_of(PADDED);
        let planes = outputs / self.lanes;
        let held = |engine: u32| planes.saturating_sub(engine).div_ceil(self.engines);
        let differs = |slots: u32| slots * padded != (slots * slot_bytes).next_multiple_of(PADDED);
        padded == slot_bytes || held(0) <= 1 || (0..self.engines).any(|engine| differs(held(engine)))
    }
}

/// Packs rows of coefficients, one for each output channel.
///
/// `bytes` are the coefficients' little-endian bytes, `size` bytes each; `bias` is one more value for each output.
pub(super) fn pack(
    bytes: &[u8],
    size: usize,
    outputs: u32,
    bias: Option<&[u8]>,
    division: Division,
) -> (Vec<u8>, Vec<Chunk>) {
    let lanes = division.lanes as usize;
    let planes = outputs as usize / lanes;
    let taps = bytes.len() / (size * outputs as usize);
    let mut packed = Vec::with_capacity(bytes.len());
    let mut chunks = Vec::new();
    for engine in 0..planes.min(division.engines as usize) {
        let base = packed.len();
        for plane in (engine..planes).step_by(division.engines as usize) {
            let first = plane * lanes;
            if let Some(bias) = bias {
                packed.extend_from_slice(&bias[size * first..size * (first + lanes)]);
            }
            for tap in 0..taps {
                for output in first..first + lanes {
                    let at = size * (output * taps + tap);
                    packed.extend_from_slice(&bytes[at..at + size]);
                }
            }
        }
        packed.resize(packed.len().next_multiple_of(64), 0);
        chunks.push(Chunk { base: base as u64, bytes: (packed.len() - base) as u64 });
    }
    (packed, chunks)
}

/// The same for groups: the slots of a group, each padded to 64 bytes, lie in front of those of the next (delta 5.2).
pub(super) fn pack_groups(
    bytes: &[u8],
    size: usize,
    (outputs, groups): (u32, u32),
    bias: Option<&[u8]>,
    division: Division,
) -> (Vec<u8>, Vec<Chunk>) {
    if groups <= 1 {
        return pack(bytes, size, outputs, bias, division);
    }
    let each = outputs / groups;
    let of = |all: &[u8], group: u32| {
        let len = all.len() / groups as usize;
        all[group as usize * len..][..len].to_vec()
    };
    // One engine's planes at a time, each a slot that is packed, and padded, as if it were alone.
    let lanes = division.lanes;
    let alone = Division { lanes, engines: 1 };
    let (mut packed, mut chunks) = (Vec::with_capacity(bytes.len()), Vec::new());
    for engine in 0..(each / lanes).min(division.engines) {
        let base = packed.len();
        for group in 0..groups {
            let (weights, bias) = (of(bytes, group), bias.map(|bias| of(bias, group)));
            for plane in (engine..each / lanes).step_by(division.engines as usize) {
                let part = |all: &[u8]| {
                    let len = all.len() / each as usize * lanes as usize;
                    all[(plane as usize * len)..][..len].to_vec()
                };
                let (weights, bias) = (part(&weights), bias.as_deref().map(part));
                packed.extend(pack(&weights, size, lanes, bias.as_deref(), alone).0);
            }
        }
        chunks.push(Chunk { base: base as u64, bytes: (packed.len() - base) as u64 });
    }
    (packed, chunks)
}

/// The same chunks with an activation table in front of each (delta 5.5).
pub(super) fn with_table(packed: &[u8], chunks: &mut [Chunk], table: &ActivationTable) -> Vec<u8> {
    let mut all = Vec::with_capacity(packed.len() + chunks.len() * size_of::<ActivationTable>());
    for chunk in chunks {
        let slots = &packed[chunk.base as usize..][..chunk.bytes as usize];
        chunk.base = all.len() as u64;
        all.extend_from_slice(table.as_bytes());
        all.extend_from_slice(slots);
        chunk.bytes = all.len() as u64 - chunk.base;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_the_compilers_in_published_cases() {
        let chosen = [3, 512, 768, 3072].map(|outputs| {
            let division = Division::choose(outputs, None, None);
            (division.lanes, division.engines)
        });
        assert_eq!(chosen, [(1, 4), (32, 16), (16, 16), (32, 16)]);
    }

    #[test]
    fn planes_go_round_the_engines_and_follow_each_other_in_a_chunk() {
        // Eight outputs of two taps, two lanes, two engines: planes 0 and 2 are engine 0's.
        let bytes: Vec<u8> = (0..16).collect();
        let bias: Vec<u8> = (100..108).collect();
        let (packed, chunks) = pack(&bytes, 1, 8, Some(&bias), Division { lanes: 2, engines: 2 });
        assert_eq!(chunks, [Chunk { base: 0, bytes: 64 }, Chunk { base: 64, bytes: 64 }]);
        assert_eq!(packed[..12], [100, 101, 0, 2, 1, 3, 104, 105, 8, 10, 9, 11]);
        assert_eq!(packed[64..76], [102, 103, 4, 6, 5, 7, 106, 107, 12, 14, 13, 15]);
    }

    /// Seventeen slots of 34 bytes on sixteen engines: the engine that holds two has 128 bytes with either padding.
    #[test]
    fn engines_are_as_many_as_show_the_padding_of_groups() {
        let all = Division { lanes: 1, engines: 16 };
        assert_eq!(all.showing_padding(17, 34), Division { engines: 8, ..all });
        assert_eq!(all.showing_padding(17, 64), all, "slots that need no padding");
        assert_eq!(all.showing_padding(16, 34), all, "one slot for each engine");
    }

    #[test]
    fn slots_of_groups_are_padded_each() {
        // Two groups of two outputs with one tap, one lane, two engines.
        let (packed, chunks) = pack_groups(&[1, 2, 3, 4], 1, (4, 2), None, Division { lanes: 1, engines: 2 });
        assert_eq!(chunks, [Chunk { base: 0, bytes: 128 }, Chunk { base: 128, bytes: 128 }]);
        assert_eq!([0, 64, 128, 192].map(|at: usize| packed[at]), [1, 3, 2, 4]);
    }

    #[test]
    fn table_leads_the_chunk_of_each_engine() {
        let table = crate::build::activation::sigmoid();
        let (packed, mut chunks) = pack(&[1, 2, 3, 4], 2, 2, None, Division { lanes: 1, engines: 2 });
        let all = with_table(&packed, &mut chunks, &table);
        assert_eq!(chunks, [Chunk { base: 0, bytes: 192 }, Chunk { base: 192, bytes: 192 }]);
        for (base, slot) in [(0, [1, 2]), (192, [3, 4])] {
            assert_eq!(all[base..][..128], *table.as_bytes());
            assert_eq!(all[base + 128..][..2], slot);
        }
    }

    #[test]
    fn engine_without_a_plane_has_no_chunk() {
        let (_, chunks) = pack(&[0; 18], 2, 3, None, Division { lanes: 1, engines: 4 });
        assert_eq!(chunks.len(), 3);
    }
}
