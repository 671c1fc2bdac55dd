//! The mover's words and formulas against the worked vectors, and PE_MMU's constants.

use ane_uapi::hw::mover::command::{self, BadCommand, Command, CompactMove, SizeTooLarge};
use ane_uapi::hw::mover::profile::{EMULATOR_IDLE_STATUS, Unmapped};
use ane_uapi::hw::mover::regs::{self, Core, InitialPack, MOVER};
use ane_uapi::hw::mover::status::{SeedStatus, State, Status, wait_is_over};
use ane_uapi::hw::mover::transfer::{Contention, cycles};
use ane_uapi::hw::mover::xmov::{self, Descriptor, Instruction, Tensix};
use ane_uapi::hw::mover::{Destination, Direction, Profile, Transfer, Units};
use ane_uapi::hw::pe_mmu::{self, BadPageSize, PageSize};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::register::{Access, word_disagrees};

const fn state(busy: bool, queued: u8, credits: u8) -> State {
    State { busy, queued, credits, error: false }
}

/// Vectors 13 and 14, and the idle value: state, and STATUS by the instruction-set pages.
const STATUS_VECTORS: [(State, u32); 6] = [
    (state(false, 0, 2), 0x428),
    (state(true, 0, 2), 0x429),
    (state(true, 1, 1), 0x301),
    (state(true, 2, 0), 0x211),
    (state(true, 4, 0), 0x015),
    (state(true, 4, 2), 0x025),
];

/// Requirement: MOVER-15
#[test]
fn status_of_the_worked_states_has_the_worked_value() {
    for (state, word) in STATUS_VECTORS {
        assert_eq!(state.word(Profile::Isa), word, "{state:?}");
    }
    assert_eq!(State::IDLE.word(Profile::Isa), Profile::Isa.rules().idle_status);
}

#[test]
fn status_word_reads_back_as_the_state_it_was_made_from() {
    for (state, word) in STATUS_VECTORS {
        let status = Status::from_bits(word);
        assert_eq!(status.mover_busy(), state.busy);
        assert_eq!(status.free_slots(), 4 - state.queued);
        assert_eq!(status.queue_full(), state.queued == 4);
        assert_eq!(status.queue_empty(), state.queued == 0);
        assert_eq!(status.parameters_full(), state.credits == 0);
        assert_eq!(status.parameters_empty(), state.credits == 2);
    }
}

#[test]
fn status_by_the_seed_leaves_out_credits_and_can_tell_of_an_error() {
    for (state, word) in STATUS_VECTORS {
        assert_eq!(state.word(Profile::Seed), word & !0x30, "{state:?}");
    }
    assert_eq!(State::IDLE.word(Profile::Seed), 0x408);
    let failed = State { error: true, ..State::IDLE };
    assert_eq!(failed.word(Profile::Seed), 0x418);
    assert_eq!(failed.word(Profile::Isa), 0x428);
    assert_eq!(word_disagrees::<SeedStatus>(0xa5c3_0f13), None);
}

#[test]
fn wait_loop_ends_exactly_when_queue_is_empty_and_mover_idle() {
    for profile in Profile::ALL {
        for queued in 0..=4 {
            for busy in [false, true] {
                let word = state(busy, queued, 2).word(profile);
                assert_eq!(wait_is_over(word, 1), queued == 0 && !busy, "{word:#x}");
            }
        }
    }
    assert!(wait_is_over(EMULATOR_IDLE_STATUS, 3));
    // One cycle between two commands: the loop on bit 0 alone would end here.
    assert!(!wait_is_over(0x300, 1));
}

#[test]
fn profiles_differ_on_the_listed_points() {
    assert_eq!(Profile::default(), Profile::Seed);
    let (seed, isa) = (Profile::Seed.rules(), Profile::Isa.rules());
    assert_eq!((seed.idle_status, isa.idle_status), (0x408, 0x428));
    assert_eq!((seed.instruction_ram_end, isa.instruction_ram_end), (None, Some(0x5_0000)));
    assert_eq!((seed.unmapped, isa.unmapped), (Unmapped::Returns, Unmapped::RunsAndDiscards));
}

/// Requirement: MOVER-18
#[test]
fn compact_copy_decodes_as_in_vector_9() {
    let Ok(Command::CompactMove(word)) = Command::decode(0xc230_0540) else { panic!("not a compact move") };
    let expected =
        Transfer { source: Units(0x15), destination: Units(0x30), size: 2, direction: Direction::L1ToL1 };
    assert_eq!(word.transfer(Units(0x10)), expected);
    assert_eq!(word.transfer(Units(0x10)).source.byte_address(), 0x150);
    assert_eq!(CompactMove::encode(5, 0x30, 2, true).map(u32::from), Ok(0xc230_0540));
}

#[test]
fn compact_load_of_a_descriptor_decodes_as_in_vector_10() {
    let Ok(Command::CompactMove(word)) = Command::decode(0x8116_0240) else { panic!("not a compact move") };
    let transfer = word.transfer(Units(0x1000));
    assert_eq!(transfer.source.byte_address(), 0x1_0020);
    assert_eq!((transfer.size, transfer.direction), (1, Direction::L1ToL0));
    let word_index = Tensix::Blackhole.descriptor_word();
    assert_eq!(transfer.target(Profile::Isa), Destination::Configuration { at: 4 * word_index });
    assert_eq!(CompactMove::encode(2, 0x16, 1, false).map(u32::from), Ok(0x8116_0240));
}

#[test]
fn compact_move_of_more_than_63_units_is_refused() {
    assert!(CompactMove::encode(0, 0, 63, false).is_ok());
    assert_eq!(CompactMove::encode(0, 0, 64, false), Err(SizeTooLarge { size: 64 }));
}

#[test]
fn every_opcode_in_either_form_is_a_command_or_a_named_refusal() {
    for opcode in 0..=0xff_u32 {
        for form in [0, 0x8000_0000] {
            let word = form | opcode;
            let known = match (opcode, form) {
                (0x40, 0) => Some(Command::Move),
                (0x40, _) => Some(Command::CompactMove(CompactMove::from_bits(word))),
                (0x46, _) => Some(Command::Wait),
                (0x89, _) => Some(Command::Nothing),
                _ => None,
            };
            assert_eq!(Command::decode(word).ok(), known, "{word:#010x}");
            assert_eq!(command::takes_parameters(word), form == 0);
        }
    }
    assert_eq!(Command::decode(command::NOTHING), Ok(Command::Nothing));
    assert_eq!(Command::decode(command::WAIT), Ok(Command::Wait));
    assert_eq!((command::NOTHING, command::WAIT), (0x8000_0089, 0x8000_0046));
    assert_eq!(
        Command::decode(0x8000_0055).unwrap_err().to_string(),
        "mover command 0x80000055: opcode 0x55 is unknown"
    );
}

#[test]
fn scratch_write_needs_the_parameterised_form_and_both_enable_bits() {
    assert_eq!(Command::decode(0x666), Ok(Command::ScratchWrite { wide: false }));
    assert_eq!(Command::decode(0x766), Ok(Command::ScratchWrite { wide: true }));
    for word in [0x66, 0x266, 0x466] {
        assert_eq!(Command::decode(word), Err(BadCommand::ScratchWriteDisabled { word }));
    }
    for word in [0x8000_0066, 0x8000_0666] {
        assert_eq!(Command::decode(word), Err(BadCommand::CompactScratchWrite { word }));
    }
}

#[test]
fn mover_number_does_not_change_the_command() {
    for mover in 0..=0xff {
        assert_eq!(Command::decode(0x40 | mover << 8), Ok(Command::Move));
    }
}

/// Requirement: MOVER-05
#[test]
fn parameters_are_masked_as_in_vector_8() {
    let of = |size, direction| Transfer::from_parameters([0x100, 0x200, size, direction]);
    assert_eq!(of(0x1_0003, 0).size, 3);
    assert_eq!(of(0x1_0003, 0).bytes(), 48);
    assert_eq!(of(0x1_0000, 0).size, 0);
    assert_eq!(of(1, 7).direction, Direction::L1ToL1);
    assert_eq!(of(1, 0xffff_fffd).direction, Direction::L1ToL0);
    assert_eq!(of(0xffff, 3).bytes(), 1_048_560);
}

#[test]
fn fills_never_read_and_only_two_directions_write_scratch() {
    let listed = [(0, false, true), (1, true, false), (2, false, false), (3, true, true)];
    for (word, copies, writes_scratch) in listed {
        let direction = Direction::from_word(word);
        assert_eq!(direction as u32, word);
        assert_eq!((direction.copies(), direction.writes_scratch()), (copies, writes_scratch));
    }
}

/// Requirement: MOVER-12
#[test]
fn destination_windows_are_those_of_vector_6() {
    let at = |units| Destination::of(Direction::L1ToL0, Units(units), Profile::Isa);
    assert_eq!(at(0x0000), Destination::Configuration { at: 0 });
    assert_eq!(at(0x0fff), Destination::Configuration { at: 0xfff0 });
    assert_eq!(at(0x1000), Destination::Nowhere);
    assert_eq!(at(0x3fff), Destination::Nowhere);
    assert_eq!(at(0x4000), Destination::InstructionRam { at: 0 });
    assert_eq!(at(0x4fff), Destination::InstructionRam { at: 0xfff0 });
    assert_eq!(at(0x5000), Destination::Nowhere);
    assert_eq!(at(0x0fff_ffff), Destination::Nowhere);
    assert_eq!(Destination::of(Direction::L0ToL0, Units(0x1000), Profile::Isa), Destination::Nowhere);
}

#[test]
fn instruction_ram_of_the_seed_has_no_end_but_no_room_either() {
    let at = |units| Destination::of(Direction::L1ToL0, Units(units), Profile::Seed);
    assert_eq!(at(0x1000), Destination::Nowhere);
    assert_eq!(at(0x4fff).room(), Some(16));
    assert_eq!(at(0x5000), Destination::InstructionRam { at: 0x1_0000 });
    assert_eq!(at(0x5000).room(), Some(0));
    assert_eq!(at(0x0fff_ffff).room(), Some(0));
}

#[test]
fn room_in_a_window_tells_the_overrun_of_vector_7() {
    let transfer = Transfer::from_parameters([0, 0xfff, 2, 1]);
    let room = transfer.target(Profile::Isa).room().expect("configuration space ends");
    assert!(room < transfer.bytes());
    let scratch = Transfer::from_parameters([0, 0x2_0000, 1, 3]).target(Profile::Isa);
    assert_eq!(scratch, Destination::Scratch { at: 0x20_0000 });
    assert_eq!(scratch.room(), None);
}

/// Requirement: MOVER-26, MOVER-27
#[test]
fn cycles_are_those_of_vector_22() {
    use Contention::{Contended, Ideal};
    let listed = [(1, [2, 4, 1, 3]), (8, [11, 32, 8, 24]), (64, [88, 256, 64, 192])];
    for (units, [copy, copy_contended, fill, fill_contended]) in listed {
        for direction in [Direction::L1ToL0, Direction::L1ToL1] {
            assert_eq!(cycles(direction, units, Ideal), copy);
            assert_eq!(cycles(direction, units, Contended), copy_contended);
        }
        assert_eq!(cycles(Direction::L0ToL1, units, Ideal), fill);
        assert_eq!(cycles(Direction::L0ToL1, units, Contended), fill_contended);
        assert_eq!(cycles(Direction::L0ToL0, units, Ideal), fill);
        assert_eq!(cycles(Direction::L0ToL0, units, Contended), fill);
    }
}

#[test]
fn cycles_of_every_size_agree_with_the_rates_and_none_is_free() {
    for units in 1..=u16::MAX {
        let copy = cycles(Direction::L1ToL1, units, Contention::Ideal);
        // Eight units in eleven cycles: not less, and less than a cycle more.
        assert!(8 * copy >= 11 * u32::from(units) && 8 * copy < 11 * u32::from(units) + 8);
    }
    for direction in Direction::ALL {
        assert_eq!(cycles(*direction, 0, Contention::Contended), 0);
    }
}

/// Requirement: MOVER-03
#[test]
fn xmov_instruction_has_the_encoding_of_vector_17() {
    for selection in [false, true] {
        for last in [false, true] {
            let word = 0x4000_0000 + (u32::from(selection) << 23) + u32::from(last);
            assert_eq!(Instruction::encode(selection, last).into_bits(), word);
            let instruction = Instruction::decode(word).expect("an xmov");
            assert_eq!((instruction.block_selection(), instruction.last()), (selection, last));
        }
    }
    for opcode in (0..=0xff_u32).filter(|&opcode| opcode != 0x40) {
        assert!(Instruction::decode(opcode << 24).is_err());
    }
}

#[test]
fn xmov_words_of_vector_17_describe_its_transfers() {
    let transfer = |size| Descriptor([0x100, 0x200, size, 0]).transfer();
    let copy = Transfer::from_parameters([0x100, 0x200, 2, 3]);
    assert_eq!(transfer(0xc000_0002), copy);
    assert_eq!(transfer(0xc001_0002), copy, "only sixteen bits of size count");
    assert_eq!(transfer(0x0000_0002).direction, Direction::L0ToL1);
    assert_eq!(Descriptor::encode(copy), Descriptor([0x100, 0x200, 0xc000_0002, 0]));
}

#[test]
fn xmov_words_and_wait_condition_lie_where_the_chip_has_them() {
    assert_eq!((Tensix::Blackhole.descriptor_word(), Tensix::Blackhole.mover_busy()), (88, 0x200));
    assert_eq!((Tensix::Wormhole.descriptor_word(), Tensix::Wormhole.mover_busy()), (76, 0x1000));
    assert_eq!(Tensix::default(), Tensix::Blackhole);
}

#[test]
fn stallwait_masks_of_zero_stand_for_others() {
    assert_eq!(Tensix::Blackhole.conditions(0), 0x0f);
    assert_eq!(Tensix::Wormhole.conditions(0), 0x7f);
    for chip in Tensix::ALL {
        assert!(!chip.waits_for_mover(0));
        assert!(chip.waits_for_mover(chip.mover_busy() | 1));
    }
    assert!(!Tensix::Blackhole.waits_for_mover(0x1000));
    let blocking: Vec<_> = (0..=0xff).filter(|&mask| xmov::blocks_xmov(mask)).collect();
    assert!(blocking.iter().all(|mask| mask & 0x11 != 0));
    assert_eq!(blocking.len(), 256 - 64);
}

#[test]
fn bank_is_the_low_bit_of_the_state_word() {
    assert_eq!([0, 1, 2, 3].map(xmov::bank), [0, 1, 0, 1]);
}

#[test]
fn mover_registers_lie_at_the_vendor_offsets() {
    let listed = [
        (0x00, "XMOV_SRC_ADDR"),
        (0x04, "XMOV_DST_ADDR"),
        (0x08, "XMOV_SIZE"),
        (0x0c, "XMOV_DIRECTION"),
        (0x10, "COMMAND_ADDR"),
        (0x14, "STATUS"),
        (0x18, "PACKED_SIZE"),
        (0x1c, "ACC_PACKED_SIZE"),
        (0x24, "CLK_GATE_EN"),
        (0x28, "CLK_GATE_HYST"),
        (0x2c, "XMOV_L1_BASE_ADDR"),
        (0x30, "FIFO_PACKED_TILE_SIZE"),
        (0x34, "FIFO_PACKED_TILE_ZEROMASK"),
        (0x38, "FIFO_PACKED_TILE_STATUS"),
    ];
    for (offset, name) in listed {
        let (register, instance) = MOVER.find(offset).expect("listed");
        assert_eq!((register.name, instance), (name, 0));
    }
    assert_eq!(MOVER.base, EngineOffset(0x1f1_0000));
    for unlisted in [0x40, 0x114, 0x124, 0x138, 0x3fc] {
        assert!(MOVER.find(unlisted).is_none(), "{unlisted:#x}");
    }
}

/// Requirement: MOVER-25
#[test]
fn metadata_repeats_for_each_packer_and_thread() {
    for packer in 0..4_u16 {
        let at =
            |offset: u32| MOVER.find(u32::from(packer) * 0x100 + offset).map(|(r, index)| (r.name, index));
        assert_eq!(at(0x30), Some(("FIFO_PACKED_TILE_SIZE", packer)));
        assert_eq!(at(0x34), Some(("FIFO_PACKED_TILE_ZEROMASK", packer)));
        assert_eq!(at(0x18), Some(("PACKED_SIZE", packer)));
        assert_eq!(at(0x58), Some(("PACKED_SIZE_1", packer)));
        assert_eq!(at(0x9c), Some(("ACC_PACKED_SIZE_2", packer)));
    }
    assert_eq!(regs::FIFO_PACKED_TILE_SIZE.info.access, Access::ReadOnly);
    assert_eq!(regs::FIFO_PACKED_TILE_ZEROMASK.info.access, Access::Pop);
}

#[test]
fn clock_gates_keep_all_but_bit_7() {
    assert_eq!(0xff & regs::CLK_GATE_EN_STORED, 0x7f);
    assert_eq!(regs::CLK_GATE_HYST_STORED, 0x01ff_007f);
}

#[test]
fn write_that_clears_accumulators_names_packers_and_offset() {
    let word = InitialPack::from_bits(0x0001_0000);
    assert_eq!((word.packers(), word.offset()), (1, 0));
    assert_eq!(word_disagrees::<InitialPack>(0xdead_beef), None);
}

#[test]
fn cores_have_windows_of_their_own_and_share_the_base_of_t0_where_they_have_none() {
    assert_eq!(Core::ALL.iter().map(|core| core.base()).collect::<Vec<_>>(), [0, 1, 2, 3, 1]);
    for &core in Core::ALL {
        let offset = EngineOffset(core.window().0 + 0x2c);
        assert_eq!(Core::at(offset), Some((core, 0x2c)));
    }
    assert_eq!(Core::at(EngineOffset(0x1f1_5000)), None);
    assert_eq!(Core::at(EngineOffset(0x1f0_ffff)), None);
}

/// Requirement: PEMMU-01
#[test]
fn pe_mmu_defaults_are_two_mebibytes_and_no_overhead() {
    assert_eq!(PageSize::default().bytes(), 0x20_0000);
    assert_eq!(pe_mmu::PAGE_SIZE.reset().bytes(), 0x20_0000);
    assert_eq!(pe_mmu::OVERHEAD_PS.reset().picoseconds(), 0);
    assert!(!pe_mmu::CONTROL.reset().pipeline_exempt());
    assert_eq!(pe_mmu::PE_MMU.base, EngineOffset(0x1f4_0000));
}

#[test]
fn pe_mmu_page_size_is_a_power_of_two() {
    assert_eq!(PageSize::new(0), Err(BadPageSize::Zero));
    assert_eq!(PageSize::new(3), Err(BadPageSize::NotAPowerOfTwo { bytes: 3 }));
    assert_eq!(PageSize::new(1 << 32), Err(BadPageSize::TooLarge { bytes: 1 << 32 }));
    assert_eq!(PageSize::new(u64::MAX), Err(BadPageSize::NotAPowerOfTwo { bytes: u64::MAX }));
    for shift in 0..=31 {
        let page = PageSize::new(1 << shift).expect("a power of two");
        let va = 0xfedc_ba98_7654_3210_u64;
        assert_eq!(page.page(va) * u64::from(page.bytes()) + u64::from(page.offset(va)), va);
    }
}
