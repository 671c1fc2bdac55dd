//! Seed 003 done by hand, one byte and one candidate at a time: nothing here comes from the crate.

/// Listing 21.2: (addr / 16) mod 64.
pub(crate) fn bank(address: u64) -> usize {
    ((address >> 4) & 63) as usize
}

/// Puts the granule of each address into its bank.
pub(crate) fn loads(addresses: impl Iterator<Item = u64>) -> [u32; 64] {
    let mut waiting = [0; 64];
    for address in addresses {
        waiting[bank(address)] += 1;
    }
    waiting
}

/// The fullest bank's load is the number of turns.
pub(crate) fn turns(addresses: impl Iterator<Item = u64>) -> u32 {
    loads(addresses).into_iter().fold(0, u32::max)
}

/// Numbers without a pattern that matters, the same in every run (xorshift).
pub(crate) fn draws() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    })
}

/// Listing 21.3, word by word: granules of the stride plus those of the candidate, their remainder by division and
/// subtraction, a cost by that index, and a candidate kept only where it costs less than every one before it.
pub(crate) fn stride(least: u32, costs: &[f32; 64], ceiling: u32) -> Option<(u32, f32)> {
    let (granule, banks) = (16_u32, 64_u32);
    let at_least = least.div_ceil(granule);
    let (mut best, mut chosen) = (f32::INFINITY, None);
    let mut more = 0;
    while (at_least + more) * granule <= ceiling {
        let quotient = (at_least + more) / banks;
        let index = (at_least + more) - quotient * banks;
        let cost = costs[index as usize];
        if cost < best {
            best = cost;
            chosen = Some(((at_least + more) * granule, cost));
        }
        more += 1;
    }
    chosen
}
