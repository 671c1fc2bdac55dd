//! A second DART walker, written from the facts alone: one address through one stream of one window.
//!
//! It shares no line with the device's walker and imports nothing from the workspace, so that a slip in one is seen
//! as a difference between two. It translates a single byte, keeps nothing between two calls, reads every table
//! word anew and optimises nothing.
//!
//! The path of an address (seed 000; facts B.1 to B.5): the stream has to be enabled; a bypassed stream passes the
//! address as it is; otherwise the translation control has to say "translate", the address has to lie in the
//! aperture, and two tables of 2048 eight-byte entries, L2 and L3, lead from the table base to a 16 KB page.
//!
//! # Where the sources are silent
//!
//! Each of these is the plainest reading, Chosen here. A difference from the device in one of them is a question to
//! settle, not yet a mistake.
//!
//! * Order of the checks: enabled, bypassed, translating, 2^32, aperture, base, L2, L3, protection, sub-page.
//! * A bypassed address is limited neither by the aperture nor by 2^32: memory starts above 2^32 on the chips at hand,
//!   so that a bypassing stream would otherwise reach none of it.
//! * The window's bypass set rules over the translation control. Outside that set, bit 8 alone bypasses too.
//! * Bits of the translation control other than 7 and 8 change nothing here. No source gives a bit that takes reading
//!   or writing away from a stream, so with the seed's leaf a page that is mapped can be read and written.
//! * A table entry of L2 is the frame of the L3 table and the valid bit of the leaf's format, and nothing else.
//! * A valid word with a bit set that its format gives no meaning is malformed. The auxiliary class bits 62, 60 and
//!   59 of the seed's leaf have a meaning, which is not about access: they change nothing. A frame that is not a
//!   multiple of 16 KB is malformed as well. An invalid word is only invalid, whatever else it holds.
//! * A table base is used as it stands, a multiple of 4 KB; it need not be one of 16 KB.
//! * The bounds of a sub-page are in units of four bytes, which is what twelve bits make of 16 KB; both are
//!   inclusive. On T6000 they always hold, on T8020 unless bit 1 switches them off.
//! * Protection is looked at before the sub-page. A read looks at "no read", a write at "no write", each alone.

/// Bytes of a page, and of a table: `0x4000` (seed 000, table 28.1).
const PAGE: u64 = 0x4000;
/// One past the last address that is translated: 3.5 GiB (seed 000, table 28.1).
const APERTURE_END: u64 = 0xE000_0000;
/// One past the last address that the engine can name (seed 000, the clamp).
const ADDRESS_END: u64 = 1 << 32;

/// The state of one stream in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Whether the stream's bit stands in the enabled-streams register.
    pub enabled: bool,
    /// Whether the stream is one of those that pass addresses untranslated.
    pub bypass: bool,
    /// The translation control word.
    pub tcr: u32,
    /// The four table base words.
    pub ttbr: [u32; 4],
}

/// The layout of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeafFormat {
    /// Bit 63 valid, frame in 46:14, unshifted (seed 000, table 28.4).
    Seed,
    /// Bit 0 valid, frame in 35:12, unshifted (facts B.4).
    T8020,
    /// Bit 0 valid, frame shifted right by four in 37:10 (facts B.4).
    T6000,
}

/// Where an access ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkOutcome {
    /// At this physical address.
    Physical(u64),
    Fault(Cause),
}

/// A step of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The table base register.
    Base,
    /// The first table.
    L2,
    /// The second table, which holds the leaves.
    L3,
}

/// Why an access goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The stream is not enabled.
    StreamDisabled,
    /// The translation control asks for neither or for both of translation and bypass.
    TranslationOff,
    /// The address is at or above 3.5 GiB and below 4 GiB.
    OutOfAperture,
    /// The address does not fit in 32 bits.
    HighAddress,
    /// The table base is not valid.
    NoTableBase,
    /// The entry of the first table is not valid.
    NoL2Entry,
    /// The leaf is not valid.
    NoL3Entry,
    /// The entry of this level lies outside memory.
    ReadError(Level),
    /// The entry of this level is valid and sets bits that it must not.
    Malformed(Level),
    /// The leaf forbids reading.
    ReadProtection,
    /// The leaf forbids writing.
    WriteProtection,
    /// The address is in a part of the page that the leaf leaves out.
    SubPage,
}

impl Cause {
    /// Returns the step that failed, or `None` when the access never came to the tables.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::StreamDisabled | Self::TranslationOff | Self::OutOfAperture | Self::HighAddress => None,
            Self::NoTableBase => Some(Level::Base),
            Self::NoL2Entry => Some(Level::L2),
            Self::NoL3Entry | Self::ReadProtection | Self::WriteProtection | Self::SubPage => Some(Level::L3),
            Self::ReadError(level) | Self::Malformed(level) => Some(level),
        }
    }

    /// Returns the index of the failing entry in its table, or among the bases, for this address.
    pub fn index(self, address: u64) -> Option<u64> {
        let indices = Indices::of(address);
        self.level().map(|level| match level {
            Level::Base => indices.ttbr,
            Level::L2 => indices.l2,
            Level::L3 => indices.l3,
        })
    }
}

/// The three indices that an address is cut into (facts B.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indices {
    /// Among the stream's table bases: the address shifted right by 36.
    pub ttbr: u64,
    /// In the first table: bits 35:25.
    pub l2: u64,
    /// In the second table: bits 24:14.
    pub l3: u64,
}

impl Indices {
    pub fn of(address: u64) -> Self {
        Self { ttbr: address >> 36, l2: (address >> 25) & 0x7FF, l3: (address >> 14) & 0x7FF }
    }
}

/// The meaning of one word of a table.
enum Word {
    /// The valid bit is clear.
    Invalid,
    /// Bits are set that must not be.
    Malformed,
    Frame(u64),
}

/// Translates one address of one stream; `memory` reads the word at a multiple of eight, `None` outside memory.
pub fn translate(
    memory: &dyn Fn(u64) -> Option<u64>,
    stream: &Stream,
    format: LeafFormat,
    address: u64,
    write: bool,
) -> WalkOutcome {
    match walk(memory, stream, format, address, write) {
        Ok(physical) => WalkOutcome::Physical(physical),
        Err(cause) => WalkOutcome::Fault(cause),
    }
}

fn walk(
    memory: &dyn Fn(u64) -> Option<u64>,
    stream: &Stream,
    format: LeafFormat,
    address: u64,
    write: bool,
) -> Result<u64, Cause> {
    if !stream.enabled {
        return Err(Cause::StreamDisabled);
    }
    if stream.bypass {
        return Ok(address);
    }
    match (bit(u64::from(stream.tcr), 7), bit(u64::from(stream.tcr), 8)) {
        (true, false) => {}
        (false, true) => return Ok(address),
        (false, false) | (true, true) => return Err(Cause::TranslationOff),
    }
    if address >= ADDRESS_END {
        return Err(Cause::HighAddress);
    }
    if address >= APERTURE_END {
        return Err(Cause::OutOfAperture);
    }

    // Inside the aperture the index is 0, and the array has four.
    let indices = Indices::of(address);
    let ttbr = u64::from(stream.ttbr[indices.ttbr as usize]);
    if !bit(ttbr, 31) {
        return Err(Cause::NoTableBase);
    }
    let l2_table = (ttbr & 0x7FFF_FFFF) << 12;

    let entry = memory(l2_table + 8 * indices.l2).ok_or(Cause::ReadError(Level::L2))?;
    let l3_table = match read_word(format, entry, plain_bits(format)) {
        Word::Invalid => return Err(Cause::NoL2Entry),
        Word::Malformed => return Err(Cause::Malformed(Level::L2)),
        Word::Frame(frame) => frame,
    };

    let leaf = memory(l3_table + 8 * indices.l3).ok_or(Cause::ReadError(Level::L3))?;
    let page = match read_word(format, leaf, plain_bits(format) | leaf_bits(format)) {
        Word::Invalid => return Err(Cause::NoL3Entry),
        Word::Malformed => return Err(Cause::Malformed(Level::L3)),
        Word::Frame(frame) => frame,
    };

    let offset = address % PAGE;
    check_access(format, leaf, offset, write)?;
    Ok(page + offset)
}

/// Reads a table word of which only the bits of `known` may be set.
fn read_word(format: LeafFormat, word: u64, known: u64) -> Word {
    let (valid, frame) = match format {
        LeafFormat::Seed => (bit(word, 63), word & bits(46, 14)),
        LeafFormat::T8020 => (bit(word, 0), word & bits(35, 12)),
        LeafFormat::T6000 => (bit(word, 0), (word & bits(37, 10)) << 4),
    };
    if !valid {
        Word::Invalid
    } else if word & !known != 0 || frame % PAGE != 0 {
        Word::Malformed
    } else {
        Word::Frame(frame)
    }
}

/// The bits of valid and frame, which entries of both tables have.
fn plain_bits(format: LeafFormat) -> u64 {
    match format {
        LeafFormat::Seed => bits(63, 63) | bits(46, 14),
        LeafFormat::T8020 => bits(35, 12) | bits(0, 0),
        LeafFormat::T6000 => bits(37, 10) | bits(0, 0),
    }
}

/// The bits that only a leaf has.
fn leaf_bits(format: LeafFormat) -> u64 {
    match format {
        // Auxiliary classes.
        LeafFormat::Seed => bits(62, 62) | bits(60, 59),
        // Sub-page end and start, no read, no write, no sub-page.
        LeafFormat::T8020 => bits(63, 40) | bits(8, 7) | bits(1, 1),
        // Sub-page end and start, no read, no write, no cache.
        LeafFormat::T6000 => bits(63, 40) | bits(3, 1),
    }
}

/// Holds an access to a byte of a page against what its leaf allows.
fn check_access(format: LeafFormat, leaf: u64, offset: u64, write: bool) -> Result<(), Cause> {
    let (no_read, no_write, whole_page) = match format {
        LeafFormat::Seed => (false, false, true),
        LeafFormat::T8020 => (bit(leaf, 8), bit(leaf, 7), bit(leaf, 1)),
        LeafFormat::T6000 => (bit(leaf, 3), bit(leaf, 2), false),
    };
    if write && no_write {
        return Err(Cause::WriteProtection);
    }
    if !write && no_read {
        return Err(Cause::ReadProtection);
    }
    let start = (leaf >> 52) & 0xFFF;
    let end = (leaf >> 40) & 0xFFF;
    let unit = offset / 4;
    if !whole_page && (unit < start || unit > end) {
        return Err(Cause::SubPage);
    }
    Ok(())
}

/// Whether one bit is set.
fn bit(word: u64, number: u32) -> bool {
    (word >> number) & 1 == 1
}

/// A mask of the bits `high..=low`.
fn bits(high: u32, low: u32) -> u64 {
    (u64::MAX >> (63 - high)) & (u64::MAX << low)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The table base that was read on a live machine (seed 000), and where it leads.
    const LIVE_TTBR: u32 = 0x9002_2320;
    const LIVE_TABLE: u64 = 0x100_2232_0000;
    const L3_TABLE: u64 = 0x100_2232_4000;
    const PAGE_FRAME: u64 = 0x100_3333_C000;
    /// Translate, and nothing else (facts B.2).
    const TRANSLATE: u32 = 0x80;
    const BYPASS: u32 = 0x100;
    /// An address whose indices are 0, 3, 5.
    const ADDRESS: u64 = (3 << 25) | (5 << 14) | 0x123;
    const L2_AT: u64 = LIVE_TABLE + 8 * 3;
    const L3_AT: u64 = L3_TABLE + 8 * 5;

    const SEED_VALID: u64 = 0x8000_0000_0000_0000;
    /// Sub-page end of a whole page in both published formats.
    const WHOLE: u64 = 0xFFF << 40;

    fn translating() -> Stream {
        Stream { enabled: true, bypass: false, tcr: TRANSLATE, ttbr: [LIVE_TTBR, 0, 0, 0] }
    }

    /// Walks tables that hold two words: the L2 entry and the leaf of `ADDRESS`.
    fn with_words(format: LeafFormat, l2: u64, leaf: u64, address: u64, write: bool) -> WalkOutcome {
        let words = BTreeMap::from([(L2_AT, l2), (L3_AT, leaf)]);
        let memory = |at: u64| {
            let inside = (LIVE_TABLE..L3_TABLE + PAGE).contains(&at);
            inside.then(|| words.get(&at).copied().unwrap_or(0))
        };
        translate(&memory, &translating(), format, address, write)
    }

    fn with_leaf(format: LeafFormat, leaf: u64, address: u64, write: bool) -> WalkOutcome {
        let l2 = match format {
            LeafFormat::Seed => L3_TABLE | SEED_VALID,
            // 36 bits of frame cannot name the live table, so the T8020 cases keep theirs low.
            LeafFormat::T8020 => return low_leaf(leaf, address, write),
            LeafFormat::T6000 => (L3_TABLE >> 4) | 1,
        };
        with_words(format, l2, leaf, address, write)
    }

    /// As `with_leaf`, in T8020 format with the L2 table at `0x8_0000_0000` and the L3 table behind it.
    fn low_leaf(leaf: u64, address: u64, write: bool) -> WalkOutcome {
        let stream = Stream { ttbr: [0x8080_0000, 0, 0, 0], ..translating() };
        let memory = |at: u64| match at {
            0x8_0000_0018 => Some(0x8_0000_4001),
            0x8_0000_4028 => Some(leaf),
            _ => None,
        };
        translate(&memory, &stream, LeafFormat::T8020, address, write)
    }

    fn nothing(_: u64) -> Option<u64> {
        None
    }

    #[test]
    fn live_table_base_leads_to_the_live_table() {
        let asked = std::cell::Cell::new(None);
        let memory = |at: u64| {
            asked.set(Some(at));
            None
        };
        let outcome = translate(&memory, &translating(), LeafFormat::Seed, 0, false);
        assert_eq!(
            (asked.get(), outcome),
            (Some(0x100_2232_0000), WalkOutcome::Fault(Cause::ReadError(Level::L2)))
        );
    }

    #[test]
    fn seed_leaf_translates_to_its_frame_and_the_offset_in_the_page() {
        let leaf = PAGE_FRAME | SEED_VALID;
        for write in [false, true] {
            let outcome = with_leaf(LeafFormat::Seed, leaf, ADDRESS, write);
            assert_eq!(outcome, WalkOutcome::Physical(0x100_3333_C123));
        }
    }

    #[test]
    fn seed_leaf_with_auxiliary_classes_translates_as_without() {
        for aux in [62, 60, 59] {
            let leaf = PAGE_FRAME | SEED_VALID | 1 << aux;
            assert_eq!(
                with_leaf(LeafFormat::Seed, leaf, ADDRESS, true),
                WalkOutcome::Physical(0x100_3333_C123),
                "bit {aux}"
            );
        }
    }

    #[test]
    fn every_other_bit_of_a_seed_leaf_is_frame_or_malformed() {
        for number in 0..63 {
            let outcome = with_leaf(LeafFormat::Seed, SEED_VALID | 1 << number, ADDRESS, false);
            let expected = match number {
                14..=46 => WalkOutcome::Physical((1 << number) + 0x123),
                59 | 60 | 62 => WalkOutcome::Physical(0x123),
                _ => WalkOutcome::Fault(Cause::Malformed(Level::L3)),
            };
            assert_eq!(outcome, expected, "bit {number}");
        }
    }

    #[test]
    fn every_bit_of_a_seed_table_entry_but_frame_and_valid_is_malformed() {
        for number in (0..14).chain(47..63) {
            let outcome =
                with_words(LeafFormat::Seed, L3_TABLE | SEED_VALID | 1 << number, PAGE_FRAME, ADDRESS, false);
            assert_eq!(outcome, WalkOutcome::Fault(Cause::Malformed(Level::L2)), "bit {number}");
        }
    }

    #[test]
    fn entry_without_its_valid_bit_faults_at_its_own_level() {
        let no_l2 = with_words(LeafFormat::Seed, L3_TABLE, PAGE_FRAME | SEED_VALID, ADDRESS, false);
        assert_eq!(no_l2, WalkOutcome::Fault(Cause::NoL2Entry));
        let no_leaf = with_leaf(LeafFormat::Seed, PAGE_FRAME, ADDRESS, false);
        assert_eq!(no_leaf, WalkOutcome::Fault(Cause::NoL3Entry));
        assert_eq!(Cause::NoL2Entry.index(ADDRESS), Some(3));
        assert_eq!(Cause::NoL3Entry.index(ADDRESS), Some(5));
    }

    #[test]
    fn tables_outside_memory_are_read_errors_of_their_level() {
        assert_eq!(
            translate(&nothing, &translating(), LeafFormat::Seed, ADDRESS, false),
            WalkOutcome::Fault(Cause::ReadError(Level::L2))
        );
        let far = with_words(LeafFormat::Seed, 0x7FFF_FFFF_C000 | SEED_VALID, 0, ADDRESS, false);
        assert_eq!(far, WalkOutcome::Fault(Cause::ReadError(Level::L3)));
    }

    #[test]
    fn last_byte_of_the_aperture_is_walked_and_the_next_is_not() {
        let walked = |address| translate(&nothing, &translating(), LeafFormat::Seed, address, true);
        assert_eq!(walked(0xDFFF_FFFF), WalkOutcome::Fault(Cause::ReadError(Level::L2)));
        assert_eq!(walked(0xE000_0000), WalkOutcome::Fault(Cause::OutOfAperture));
        assert_eq!(walked(0xFFFF_FFFF), WalkOutcome::Fault(Cause::OutOfAperture));
        assert_eq!(walked(0x1_0000_0000), WalkOutcome::Fault(Cause::HighAddress));
        assert_eq!(walked(u64::MAX), WalkOutcome::Fault(Cause::HighAddress));
    }

    #[test]
    fn aperture_needs_112_table_entries_and_229376_leaves() {
        let last = Indices::of(0xDFFF_FFFF);
        assert_eq!(last, Indices { ttbr: 0, l2: 111, l3: 0x7FF });
        assert_eq!((last.l2 + 1) * 2048, 229_376);
    }

    #[test]
    fn address_is_cut_into_its_three_indices() {
        assert_eq!(Indices::of(ADDRESS), Indices { ttbr: 0, l2: 3, l3: 5 });
        assert_eq!(Indices::of(0x3F_FFFF_FFFF), Indices { ttbr: 3, l2: 0x7FF, l3: 0x7FF });
    }

    #[test]
    fn disabled_stream_is_denied_whatever_else_it_says() {
        for bypass in [false, true] {
            let stream = Stream { enabled: false, bypass, ..translating() };
            assert_eq!(
                translate(&nothing, &stream, LeafFormat::Seed, 0, false),
                WalkOutcome::Fault(Cause::StreamDisabled)
            );
        }
    }

    #[test]
    fn bypassed_stream_passes_any_address_as_it_is() {
        let stream = Stream { enabled: true, bypass: true, tcr: 0, ttbr: [0; 4] };
        for address in [0, 0xE000_0000, LIVE_TABLE] {
            assert_eq!(
                translate(&nothing, &stream, LeafFormat::Seed, address, true),
                WalkOutcome::Physical(address)
            );
        }
    }

    #[test]
    fn translation_control_translates_bypasses_or_blocks() {
        let outcome =
            |tcr| translate(&nothing, &Stream { tcr, ..translating() }, LeafFormat::Seed, 0x4000, false);
        assert_eq!(outcome(TRANSLATE), WalkOutcome::Fault(Cause::ReadError(Level::L2)));
        assert_eq!(outcome(BYPASS), WalkOutcome::Physical(0x4000));
        assert_eq!(outcome(0), WalkOutcome::Fault(Cause::TranslationOff));
        assert_eq!(outcome(TRANSLATE | BYPASS), WalkOutcome::Fault(Cause::TranslationOff));
    }

    #[test]
    fn table_base_without_bit_31_is_none() {
        let stream =
            Stream { ttbr: [LIVE_TTBR & 0x7FFF_FFFF, LIVE_TTBR, LIVE_TTBR, LIVE_TTBR], ..translating() };
        let outcome = translate(&nothing, &stream, LeafFormat::Seed, ADDRESS, false);
        assert_eq!(outcome, WalkOutcome::Fault(Cause::NoTableBase));
        assert_eq!(Cause::NoTableBase.index(ADDRESS), Some(0));
    }

    #[test]
    fn t8020_leaf_has_its_frame_unshifted_and_forbids_by_bits_7_and_8() {
        let leaf = 0x8_1234_4001 | WHOLE;
        let outcome = |leaf, write| with_leaf(LeafFormat::T8020, leaf, ADDRESS, write);
        assert_eq!(outcome(leaf, true), WalkOutcome::Physical(0x8_1234_4123));
        assert_eq!(outcome(leaf | 1 << 7, true), WalkOutcome::Fault(Cause::WriteProtection));
        assert_eq!(outcome(leaf | 1 << 7, false), WalkOutcome::Physical(0x8_1234_4123));
        assert_eq!(outcome(leaf | 1 << 8, false), WalkOutcome::Fault(Cause::ReadProtection));
        assert_eq!(outcome(leaf | 1 << 8, true), WalkOutcome::Physical(0x8_1234_4123));
        assert_eq!(outcome(leaf & !1, false), WalkOutcome::Fault(Cause::NoL3Entry));
        assert_eq!(outcome(leaf | 1 << 12, false), WalkOutcome::Fault(Cause::Malformed(Level::L3)));
    }

    #[test]
    fn t6000_leaf_has_its_frame_shifted_and_forbids_by_bits_2_and_3() {
        let leaf = (PAGE_FRAME >> 4) | WHOLE | 1;
        let outcome = |leaf, write| with_leaf(LeafFormat::T6000, leaf, ADDRESS, write);
        assert_eq!(outcome(leaf, true), WalkOutcome::Physical(0x100_3333_C123));
        // No cache says nothing about access.
        assert_eq!(outcome(leaf | 1 << 1, true), WalkOutcome::Physical(0x100_3333_C123));
        assert_eq!(outcome(leaf | 1 << 2, true), WalkOutcome::Fault(Cause::WriteProtection));
        assert_eq!(outcome(leaf | 1 << 3, false), WalkOutcome::Fault(Cause::ReadProtection));
        assert_eq!(outcome(leaf | 1 << 9, false), WalkOutcome::Fault(Cause::Malformed(Level::L3)));
    }

    #[test]
    fn subpage_bounds_are_inclusive_and_count_four_bytes() {
        // Bytes 0x100 to 0x1ff: units 0x40 to 0x7f.
        let bounds = 0x40 << 52 | 0x7F << 40;
        let page = ADDRESS & !0x3FFF;
        for (format, leaf) in
            [(LeafFormat::T6000, (PAGE_FRAME >> 4) | bounds | 1), (LeafFormat::T8020, 0x8_1234_4001 | bounds)]
        {
            let allowed =
                |offset| matches!(with_leaf(format, leaf, page + offset, false), WalkOutcome::Physical(_));
            assert_eq!([0xFF, 0x100, 0x1FF, 0x200].map(allowed), [false, true, true, false], "{format:?}");
            let outside = with_leaf(format, leaf, page, false);
            assert_eq!(outside, WalkOutcome::Fault(Cause::SubPage), "{format:?}");
        }
    }

    #[test]
    fn t8020_leaf_with_subpages_off_covers_its_whole_page() {
        let page = ADDRESS & !0x3FFF;
        let outcome = with_leaf(LeafFormat::T8020, 0x8_1234_4003, page + 0x3FFF, false);
        assert_eq!(outcome, WalkOutcome::Physical(0x8_1234_7FFF));
    }

    #[test]
    fn leaf_of_one_format_is_invalid_or_malformed_in_another() {
        let seed = PAGE_FRAME | SEED_VALID;
        assert_eq!(with_leaf(LeafFormat::T6000, seed, ADDRESS, false), WalkOutcome::Fault(Cause::NoL3Entry));
        let published = (PAGE_FRAME >> 4) | WHOLE | 1;
        assert_eq!(
            with_leaf(LeafFormat::Seed, published, ADDRESS, false),
            WalkOutcome::Fault(Cause::NoL3Entry)
        );
    }
}
