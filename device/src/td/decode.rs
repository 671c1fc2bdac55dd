//! The decoder: a descriptor's words become register values, or one error that names the word.
//!
//! Nothing is ignored that a task uses. A bit that no source explains has to be zero, and a number that an
//! enumeration does not have is refused, where the task looks at the word at all (`used_words`): an M1 runs a neural task
//! with anything in the planar engine's words, and with ports full of ones that move nothing (delta 14; measured).
//! Values in words that a task does not use stay there, and the first task that uses the words checks them. A
//! record that runs past the descriptor's end writes zeros from there on (delta 14; measured). A refused
//! descriptor writes no register.

use ane_uapi::hw::td::header::{self, Header, KernelBases};
use ane_uapi::hw::td::record::{Record, RecordHeader, Records};
use ane_uapi::hw::td::{self, common, l2, neural, tile_destination, tile_source};
use ane_uapi::register::{Field, Register, Show, Word};

use super::error::DescriptorError;
use super::fetch::Descriptor;
use super::known_values;
use super::register_file::RegisterFile;
use super::used_words::Used;

/// Where header words stand among record addresses in errors, which have no place of their own there (Chosen).
pub const HEADER_AT: u32 = 0x2_0000;

/// Bits that no source explains and that were measured to do nothing: record address, mask.
///
/// L2Cfg 0x33881, on a ReLU task, and its bit 8 (td 10, delta 14; measured). Bit 5 of MACCfg, on a planar
/// multiplication (td 4.3; measured); planning refuses it on neural tasks. Bits 20 and 21 of a source's format (delta 14;
/// measured). Bits 18, 19 and 22 of DstDMAConfig and bit 23 of Cfg, in programs that were executed with and without (delta 14;
/// derived).
pub(super) const INERT: [(u32, u32); 6] = [
    (l2::L2_CFG.info.offset, 0x3_3980),
    (neural::MAC_CFG.info.offset, 0x20),
    (tile_source::FMT1.info.offset, 0x30_0000),
    (tile_source::FMT2.info.offset, 0x30_0000),
    (tile_destination::DMA_CONFIG.info.offset, 0x4c_0000),
    (common::CFG.info.offset, 0x80_0000),
];

/// Decodes a descriptor on top of what the tasks before left in the registers.
pub fn decode(
    descriptor: &Descriptor,
    before: &RegisterFile,
) -> Result<(Header, RegisterFile), DescriptorError> {
    let words = descriptor.words();
    let header = Header::decode(words).ok_or(DescriptorError::Header { words: words.len() })?;
    check_header(&header)?;
    let mut after = before.clone();
    for record in Records::new(words, header.words()) {
        check_record(record.header)?;
        write(&mut after, &record)?;
    }
    check_words(&after)?;
    Ok((header, after))
}

fn write(file: &mut RegisterFile, record: &Record<'_>) -> Result<(), DescriptorError> {
    if record.missing == 0
        && let Some(words) = file.run(record.header.address(), record.values.len())
    {
        words.iter_mut().zip(record.values).for_each(|(word, value)| *word = value.get());
        return Ok(());
    }
    for (index, (address, value)) in record.writes().enumerate() {
        let word = record.at.saturating_add(1).saturating_add(index);
        file.write(address, value).ok_or(DescriptorError::NoRegister { word, address, value })?;
    }
    Ok(())
}

/// A header word whose unexplained bits are set, or that names a coefficient base which no known program
/// uses and of which nobody knows what it applies to.
fn check_header(header: &Header) -> Result<(), DescriptorError> {
    for (register, value) in header.rows() {
        check_unexplained(register, HEADER_AT | register.offset, value)?;
    }
    let further = KernelBases::new().with_kbe1(true).with_kbe2(true).with_kbe3(true);
    let bits = header.kernels.word() & further.word();
    if bits != 0 {
        return Err(DescriptorError::Unexplained {
            register: header::KERNEL_BASES.info.name,
            address: HEADER_AT | header::KERNEL_BASES.offset(),
            bits,
            value: header.kernels.word(),
        });
    }
    Ok(())
}

fn check_record(record: RecordHeader) -> Result<(), DescriptorError> {
    match record.low() {
        0 => Ok(()),
        low => Err(DescriptorError::Unexplained {
            register: "record",
            address: record.address(),
            bits: low.into(),
            value: record.into_bits(),
        }),
    }
}

fn check_unexplained(register: &Register, address: u32, value: u32) -> Result<(), DescriptorError> {
    let inert = INERT.iter().find(|(known, _)| *known == address).map_or(0, |(_, mask)| *mask);
    match value & register.unknown & !inert {
        0 => Ok(()),
        bits => Err(DescriptorError::Unexplained { register: register.name, address, bits, value }),
    }
}

fn check_words(file: &RegisterFile) -> Result<(), DescriptorError> {
    if known_values::holds(file.words()) {
        return Ok(());
    }
    let used = Used::by(file);
    for register in td::BLOCKS.into_iter().flat_map(|block| block.registers).copied() {
        let addresses = (0..register.count).filter_map(|instance| register.at(instance));
        for address in addresses.filter(|&address| used.looks_at(address)) {
            let value = file.written(address).unwrap_or_default();
            check_unexplained(register, address, value)?;
            check_codes(register, address, value, &used)?;
        }
    }
    Ok(())
}

fn check_codes(register: &Register, address: u32, value: u32, used: &Used) -> Result<(), DescriptorError> {
    let enumerated = |field: &&Field| matches!(field.show, Show::Codes(_));
    for field in register.fields.iter().filter(enumerated) {
        if field.code(field.of(value)).is_none() && used.looks_at_code(address, field) {
            return Err(DescriptorError::UnknownCode {
                register: register.name,
                address,
                field: field.name,
                bits: field.mask(),
                value,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::header::Identity;
    use ane_uapi::hw::td::{kernel_dma, planar, record};

    use super::*;

    const HEADER: [u32; 10] = [0x0240_0000, 0, 0, 0, 0, 0, 0x3000_9800, 0, 0x0002_4025, 0];

    fn with_records(records: &[u32]) -> Vec<u32> {
        [&HEADER[..], records].concat()
    }

    fn decoded(words: &[u32]) -> Result<(Header, RegisterFile), DescriptorError> {
        decode(&Descriptor::of(words.iter().copied()), &RegisterFile::default())
    }

    /// A full descriptor of zeroes.
    fn full() -> Vec<u32> {
        let records = record::FULL.into_iter().flat_map(|word| {
            let count = RecordHeader::from_bits(word).count() as usize;
            std::iter::once(word).chain(std::iter::repeat_n(0, count))
        });
        HEADER.into_iter().chain(records).collect()
    }

    /// Requirement: TD-05
    #[test]
    fn full_descriptor_has_0x274_bytes_and_decodes() {
        let words = full();
        assert_eq!(4 * words.len(), 0x274);
        assert!(decoded(&words).is_ok());
    }

    /// Requirement: TD-02
    #[test]
    fn extended_descriptor_has_0x278_bytes_and_its_records_begin_one_word_later() {
        let mut words = full();
        words[6] |= 1 << 24;
        words.insert(10, 3);
        assert_eq!(4 * words.len(), 0x278);
        let (header, _) = decoded(&words).unwrap();
        assert_eq!(header.dependence.map(|word| word.dtid()), Some(3));
    }

    /// Requirement: TD-03
    #[test]
    fn seven_block_words_lead_to_the_blocks_of_their_addresses() {
        let names: Vec<_> = record::FULL
            .into_iter()
            .map(|word| td::block_at(RecordHeader::from_bits(word).address()).unwrap().name)
            .collect();
        assert_eq!(
            names,
            ["kernel dma", "common", "tile source", "l2", "planar", "neural", "tile destination"]
        );
    }

    /// Requirement: TD-04
    #[test]
    fn seven_block_words_count_the_registers_of_their_blocks() {
        let counts = record::FULL.map(|word| RecordHeader::from_bits(word).count());
        assert_eq!(counts, [62, 16, 28, 18, 4, 5, 7]);
        assert_eq!(counts, td::BLOCKS.map(|block| block.len / 4));
    }

    /// Requirement: DMA-09
    #[test]
    fn upper_bits_of_a_record_count_and_lower_bits_place() {
        let (_, file) = decoded(&with_records(&[(1 << 26) | 0x1f888, 0x40, 0x80])).unwrap();
        assert_eq!((file.written(0x1f888), file.written(0x1f88c)), (Some(0x40), Some(0x80)));
        assert_eq!(file.written(0x1f890), Some(0));
    }

    #[test]
    fn registers_that_a_descriptor_leaves_out_keep_their_values() {
        let (_, first) = decoded(&with_records(&[0x0c, 64, 0x10, 32])).unwrap();
        let (_, second) = decode(&Descriptor::of(with_records(&[0x10, 16])), &first).unwrap();
        assert_eq!((second.get(&common::C_IN).channels(), second.get(&common::C_OUT).channels()), (64, 16));
    }

    /// Requirement: DMA-11
    #[test]
    fn each_misencoded_descriptor_is_refused_with_place_and_value() {
        let cases: [(&[u32], &str); 9] = [
            (&[0x0000_0040, 7], "word 11 writes 0x00000007 to 0x40, where no register is known"),
            (&[0x0400_003c, 1, 2], "word 12 writes 0x00000002 to 0x40, where no register is known"),
            (&[0xfc01_f800, 1], "word 73 writes 0x00000000 to 0x1f8f8, where no register is known"),
            (&[0x0000_0001, 0], "bits 0x00000001 of 0x00000001 in record at 0x0 are not explained"),
            (&[0x0000_0000, 0x8000], "bits 0x00008000 of 0x00008000 in InDim at 0x0 are not explained"),
            (
                &[0x4804, 2, 0x0001_3844, 5],
                "bits 0x00000005 of 0x00000005 in Src13844 at 0x13844 are not explained",
            ),
            (
                &[0x0000_0008, 0x3],
                "field in_fmt, bits 0x00000003 of 0x00000003 in ChCfg at 0x8, holds no known code",
            ),
            (
                &[0x0000_0034, 0x10],
                "field class, bits 0x00000070 of 0x00000010 in Cfg at 0x34, holds no known code",
            ),
            (
                &[0x4830, 2, 0x0001_7818, 0x1001],
                "field mem_fmt, bits 0x00003000 of 0x00001001 in DstFmt at 0x17818, holds no known code",
            ),
        ];
        for (records, message) in cases {
            assert_eq!(decoded(&with_records(records)).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn header_that_is_cut_short_or_has_unexplained_bits_is_refused() {
        let refusal = |words: &[u32]| decoded(words).unwrap_err().to_string();
        assert_eq!(refusal(&HEADER[..9]), "descriptor of 9 words ends inside its header");
        let mut extended = HEADER;
        extended[6] |= 1 << 24;
        assert_eq!(refusal(&extended), "descriptor of 10 words ends inside its header");
        let mut odd = HEADER;
        odd[0] |= 1 << 31;
        assert_eq!(refusal(&odd), "bits 0x80000000 of 0x82400000 in Identity at 0x20000 are not explained");
        let mut further = HEADER;
        further[9] = 1 << 11;
        assert_eq!(
            refusal(&further),
            "bits 0x00000800 of 0x00000800 in KernelBases at 0x20024 are not explained"
        );
    }

    #[test]
    fn words_of_the_other_engine_and_of_unused_ports_do_not_matter() {
        let planar_junk = [planar::PE_CFG.offset(), 1];
        assert!(decoded(&with_records(&planar_junk)).is_ok());
        let planar_task = [&planar_junk[..], &[common::CFG.offset(), 2 << 4]].concat();
        assert!(matches!(
            decoded(&with_records(&planar_task)),
            Err(DescriptorError::UnknownCode { register: "PECfg", .. })
        ));
        assert!(decoded(&with_records(&[tile_source::FMT2.offset(), 0x0100_0000])).is_ok());
    }

    /// An M1 accepted this: ones in everything that a neural task with one source from chip does not use.
    #[test]
    fn words_that_a_task_does_not_use_may_hold_anything() {
        let unused = [
            [planar::PE_CFG.offset(), u32::MAX],
            [common::PLANAR_MAP.offset(), u32::MAX],
            [l2::SOURCE2_BASE.offset(), u32::MAX],
            [l2::SOURCE_GROUP_STRIDE.offset(), u32::MAX],
            [l2::RESULT_DEPTH_STRIDE.offset(), u32::MAX],
            [tile_source::FMT1.offset(), u32::MAX],
            [tile_destination::FMT.offset(), u32::MAX],
            [neural::KERNEL_CFG.offset(), 0x7f],
            [neural::MAC_CFG.offset(), 0x0c],
            [kernel_dma::MASTER.offset(), u32::MAX],
            [l2::L2_CFG.offset(), 0x3_3881],
        ];
        assert!(decoded(&with_records(&unused.concat())).is_ok());
        for (uses, register) in [
            ([common::CFG.offset(), 2 << 4], "PlanarMap"),
            ([common::GROUP_CONV_CFG.offset(), 2], "SourceGroupStride"),
            ([common::IN_DEPTH.offset(), 2], "ResultDepthStride"),
            ([l2::SOURCE_CFG.offset(), 2], "SrcFmt1"),
            ([l2::RESULT_CFG.offset(), 2], "DstFmt"),
        ] {
            let words = with_records(&[&unused.concat()[..], &uses].concat());
            let refused = decoded(&words).unwrap_err().to_string();
            assert!(refused.contains(register), "{refused}");
        }
    }

    #[test]
    fn word_that_was_left_by_a_task_that_does_not_use_it_is_refused_by_one_that_does() {
        let (_, left) = decoded(&with_records(&[planar::PE_CFG.offset(), u32::MAX])).unwrap();
        let planar = Descriptor::of(with_records(&[common::CFG.offset(), 2 << 4]));
        let refused = decode(&planar, &left).unwrap_err();
        assert!(matches!(refused, DescriptorError::Unexplained { register: "PECfg", .. }), "{refused}");
    }

    #[test]
    fn record_that_runs_past_its_descriptor_writes_zeros_from_there_on() {
        let (_, before) = decoded(&with_records(&[0x10, 32])).unwrap();
        let cut = with_records(&[0x0400_000c, 64]);
        let (_, file) = decode(&Descriptor::of(cut), &before).unwrap();
        assert_eq!((file.get(&common::C_IN).channels(), file.get(&common::C_OUT).channels()), (64, 0));
    }

    #[test]
    fn bit_that_was_measured_to_do_nothing_is_let_pass() {
        assert!(decoded(&with_records(&[l2::L2_CFG.offset(), 0x100])).is_ok());
        assert!(decoded(&with_records(&[l2::L2_CFG.offset(), 0x200])).is_err());
    }

    #[test]
    fn refused_descriptor_writes_no_register() {
        let before = RegisterFile::default();
        let words = with_records(&[0x0c, 64, 0x40, 1]);
        assert!(decode(&Descriptor::of(words), &before).is_err());
        assert_eq!(before, RegisterFile::default());
    }

    /// Requirement: TD-01
    #[test]
    fn descriptor_describes_one_task_and_says_where_it_stands() {
        let mut words = full();
        words[0] = Identity::new().with_tid(7).with_nid(0x40).with_eon(true).word();
        let (header, file) = decoded(&words).unwrap();
        assert_eq!((header.identity.tid(), header.identity.eon()), (7, true));
        assert_eq!(file.get(&kernel_dma::MASTER).word(), 0);
    }
}
