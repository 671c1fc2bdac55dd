//! Base addresses: the circuit that adds a BAR to each address register that the header names one for.
//!
//! | register | BAR | enable |
//! |---|---|---|
//! | SrcBaseAddr1 | RBase0 | RBE0 |
//! | SrcBaseAddr2 | RBase1 | RBE1 |
//! | DstBaseAddr | WBase | WBE |
//! | CoeffBaseAddr, all sixteen channels | KBase0 | KBE0; a channel that runs without it takes BAR 1 (td 4.7) |
//!
//! The engine ignores the low six bits of an offset, and so does the sum (td 4.5). Where the enable is clear
//! the register keeps the offset alone. A sum above 32 bits is none that the engine could use: an error of a port that moves
//! something, and nothing of one that does not (delta 14; an M1 was seen to run with a base of ones there).

use ane_uapi::hw::bar::{BarIndex, BarTable};
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::hw::td::{kernel_dma, tile_destination, tile_source};
use ane_uapi::register::{Reg, Word};
use thiserror::Error;

use super::register_file::{BASES, RegisterFile};
use super::used_words::Used;

/// The BAR of the constants, which coefficients are relative to where the header names none.
const CONSTANTS: u8 = 1;

/// A BAR and an offset whose sum has more than 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{register} at {address:#x} with {offset:#x} and bar {bar} with {base} add up to more than 32 bits")]
pub struct TooHigh {
    pub register: &'static str,
    pub address: u32,
    pub offset: u32,
    pub bar: u8,
    pub base: Iova,
}

/// Puts the sums of one task into the registers.
///
/// # Errors
///
/// The first register of a port in use whose sum has more than 32 bits; no sum has changed then.
pub fn substitute(file: &mut RegisterFile, header: &Header, bars: &BarTable) -> Result<(), TooHigh> {
    let (operands, kernels) = (header.operands, header.kernels);
    let used = Used::by(file);
    let singles = [
        (&tile_source::BASE_ADDR1, operands.rbe0(), operands.rbase0(), used.loads1()),
        (&tile_source::BASE_ADDR2, operands.rbe1(), operands.rbase1(), used.loads2()),
        (&tile_destination::BASE_ADDR, operands.wbe(), operands.wbase(), used.stores()),
    ];
    let coefficients = if kernels.kbe0() { kernels.kbase0() } else { CONSTANTS };
    let running = file.instances(&kernel_dma::COEFF_DMA_CONFIG);
    let channels = (0..).zip(running).map(|(channel, config)| {
        let moves = used.brings() && config.en();
        (&kernel_dma::COEFF_BASE_ADDR, channel, kernels.kbe0() || config.en(), coefficients, moves)
    });
    let singles = singles.into_iter().map(|(register, enable, bar, moves)| (register, 0, enable, bar, moves));
    let every = singles.chain(channels);
    // In the order in which the file has them.
    let mut sums = [None; BASES];
    for (kept, (register, instance, enable, bar, moves)) in sums.iter_mut().zip(every) {
        if enable && let Some(address) = register.info.at(instance) {
            match sum(file, register, address, bar, bars) {
                Err(too_high) if moves => return Err(too_high),
                sum => *kept = sum.ok(),
            }
        }
    }
    file.set_sums(sums);
    Ok(())
}

fn sum(
    file: &RegisterFile,
    register: &Reg<DmaBytes>,
    address: u32,
    bar: u8,
    bars: &BarTable,
) -> Result<Iova, TooHigh> {
    let offset = DmaBytes::from_word(file.written(address).unwrap_or_default()).bytes();
    // Five bits name one of 32 slots.
    let base = BarIndex::new(bar.into()).map(|bar| bars.get(bar)).unwrap_or_default();
    base.checked_add(offset).ok_or(TooHigh { register: register.info.name, address, offset, bar, base })
}

/// Address and words of the descriptor that follows.
///
/// The base is the BAR that TBase names, 0 in every known program; with TBE clear it is BAR 0, where the
/// descriptors always are (seed 004). The address is not cut to 32 bits: one above is for the DART to refuse.
pub fn next_descriptor(header: &Header, bars: &BarTable) -> (u64, usize) {
    let number = if header.operands.tbe() { header.operands.tbase() } else { 0 };
    let base = BarIndex::new(number.into()).map(|bar| bars.get(bar)).unwrap_or_default();
    let address = u64::from(base.0).saturating_add(header.next.offset().into());
    (address, usize::from(header.length.next_size()).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::header::{KernelBases, Length, NextPointer, OperandBases};
    use ane_uapi::hw::td::l2;

    use super::*;

    fn bars() -> BarTable {
        let mut bars = BarTable::default();
        for bar in BarIndex::ALL {
            bars.set(bar, Iova(0x10_0000 * u32::from(bar.number())));
        }
        bars
    }

    fn header() -> Header {
        Header {
            operands: OperandBases::new()
                .with_rbase0(5)
                .with_rbe0(true)
                .with_rbase1(6)
                .with_rbe1(true)
                .with_wbase(4)
                .with_wbe(true),
            kernels: KernelBases::new().with_kbase0(1).with_kbe0(true),
            ..Header::default()
        }
    }

    /// Requirement: TM-15
    #[test]
    fn each_base_register_gets_the_bar_that_the_header_names() {
        let mut file = RegisterFile::default();
        file.write(tile_source::BASE_ADDR2.offset(), 0x1c0);
        file.write(kernel_dma::COEFF_BASE_ADDR.info.at(15).unwrap(), 0x4000);
        substitute(&mut file, &header(), &bars()).unwrap();
        assert_eq!(file.shown(tile_source::BASE_ADDR1.offset()), Some(0x50_0000));
        assert_eq!(file.shown(tile_source::BASE_ADDR2.offset()), Some(0x60_01c0));
        assert_eq!(file.shown(tile_destination::BASE_ADDR.offset()), Some(0x40_0000));
        assert_eq!(file.shown(kernel_dma::COEFF_BASE_ADDR.offset()), Some(0x10_0000));
        assert_eq!(file.shown(kernel_dma::COEFF_BASE_ADDR.info.at(15).unwrap()), Some(0x10_4000));
    }

    /// Requirement: TD-11
    #[test]
    fn address_register_left_at_zero_becomes_its_bar_for_every_slot() {
        for bar in BarIndex::ALL {
            let operands = OperandBases::new().with_wbase(bar.number()).with_wbe(true);
            let mut file = RegisterFile::default();
            substitute(&mut file, &Header { operands, ..Header::default() }, &bars()).unwrap();
            assert_eq!(file.sum(tile_destination::BASE_ADDR.offset()), Some(bars().get(bar)));
        }
    }

    /// Requirement: TD-12
    #[test]
    fn offset_and_address_of_what_follows_are_added_to_the_bar_that_the_header_names() {
        let mut file = RegisterFile::default();
        file.write(tile_destination::BASE_ADDR.offset(), 0x2_0040);
        substitute(&mut file, &header(), &bars()).unwrap();
        assert_eq!(file.sum(tile_destination::BASE_ADDR.offset()), Some(Iova(0x42_0040)));

        let next = NextPointer::from_bits(0x300);
        let length = Length::new().with_next_size(156);
        let operands = OperandBases::new().with_tbase(3).with_tbe(true);
        let linked = Header { next, length, operands, ..Header::default() };
        assert_eq!(next_descriptor(&linked, &bars()), (0x30_0300, 157));
        let unnamed = Header { next, length, ..Header::default() };
        assert_eq!(next_descriptor(&unnamed, &bars()), (0x300, 157), "BAR 0 is the descriptors'");
    }

    #[test]
    fn register_whose_enable_is_clear_keeps_its_offset_alone() {
        use tile_source::{BASE_ADDR1, BASE_ADDR2};
        let all = header().operands;
        let cases = [
            (all.with_rbe0(false), BASE_ADDR1.offset()),
            (all.with_rbe1(false), BASE_ADDR2.offset()),
            (all.with_wbe(false), tile_destination::BASE_ADDR.offset()),
        ];
        for (operands, register) in cases {
            let mut file = RegisterFile::default();
            file.write(register, 0x1c0);
            substitute(&mut file, &Header { operands, ..header() }, &bars()).unwrap();
            assert_eq!((file.shown(register), file.sum(register)), (Some(0x1c0), None), "{register:#x}");
        }
    }

    #[test]
    fn channel_that_runs_without_a_bar_of_its_own_takes_that_of_the_constants() {
        let mut file = RegisterFile::default();
        file.write(kernel_dma::COEFF_DMA_CONFIG.info.at(2).unwrap(), 0x81);
        file.write(kernel_dma::COEFF_BASE_ADDR.info.at(2).unwrap(), 0x40);
        substitute(&mut file, &Header::default(), &bars()).unwrap();
        assert_eq!(file.shown(kernel_dma::COEFF_BASE_ADDR.info.at(2).unwrap()), Some(0x10_0040));
        assert_eq!(file.shown(kernel_dma::COEFF_BASE_ADDR.info.at(3).unwrap()), Some(0));
    }

    #[test]
    fn sums_are_made_anew_for_each_task_and_never_pile_up() {
        let mut file = RegisterFile::default();
        file.write(tile_source::BASE_ADDR1.offset(), 0x7f);
        for _ in 0..3 {
            substitute(&mut file, &header(), &bars()).unwrap();
            assert_eq!(file.shown(tile_source::BASE_ADDR1.offset()), Some(0x50_0040));
        }
        substitute(&mut file, &Header::default(), &bars()).unwrap();
        assert_eq!(file.shown(tile_source::BASE_ADDR1.offset()), Some(0x7f));
    }

    #[test]
    fn sum_above_32_bits_of_a_port_that_moves_nothing_leaves_the_offset_alone() {
        let registers = [
            tile_source::BASE_ADDR1.offset(),
            tile_source::BASE_ADDR2.offset(),
            tile_destination::BASE_ADDR.offset(),
            kernel_dma::COEFF_BASE_ADDR.offset(),
        ];
        let mut file = RegisterFile::default();
        for register in registers {
            file.write(register, u32::MAX);
        }
        substitute(&mut file, &header(), &bars()).unwrap();
        for register in registers {
            assert_eq!((file.shown(register), file.sum(register)), (Some(u32::MAX), None), "{register:#x}");
        }
    }

    #[test]
    fn sum_above_32_bits_is_refused_and_changes_nothing() {
        let mut file = RegisterFile::default();
        file.write(tile_destination::BASE_ADDR.offset(), 0xffc0_0000);
        file.write(l2::RESULT_CFG.offset(), 2);
        let before = file.clone();
        assert_eq!(
            substitute(&mut file, &header(), &bars()).unwrap_err().to_string(),
            "DstBaseAddr at 0x17804 with 0xffc00000 and bar 4 with iova 0x400000 add up to more than 32 bits"
        );
        assert_eq!(file, before);
    }
}
