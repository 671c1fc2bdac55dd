//! Task queues, the task manager, BARs and network ids.

use ane_uapi::hw::bar::{BarIndex, BarTable};
use ane_uapi::hw::nid::{BadNid, Nid};
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::tm::{self, BadRequest, EventCode, EventInfo, Push, RequestInfo};
use ane_uapi::hw::tq::{self, Pairing, QueueId, RequestNid, RequestStream, Slot};
use ane_uapi::register::Block;

/// Name and instance of what lives at an offset of a block.
fn at(block: &Block, offset: u32) -> Option<(&'static str, u16)> {
    block.find(offset).map(|(register, index)| (register.name, index))
}

/// Requirement: TM-01
#[test]
fn queues_are_eight_at_the_published_stride() {
    let bases = QueueId::ALL.map(|queue| queue.base().0);
    assert_eq!(bases[0], 0x1c2_5000);
    assert!(bases.windows(2).all(|pair| pair[1] - pair[0] == 0x148));
    assert_eq!(bases.len(), 8);
    assert!(QueueId::new(8).is_err());
}

#[test]
fn container_offset_of_every_queue_word_finds_queue_and_place() {
    for queue in QueueId::ALL {
        for inside in 0..0x148 {
            let offset = EngineOffset(queue.base().0 + inside);
            assert_eq!(QueueId::containing(offset), Some((queue, inside)));
        }
    }
    for outside in [0, 0x1c2_4fff, 0x1c2_5000 + 8 * 0x148, u32::MAX] {
        assert_eq!(QueueId::containing(EngineOffset(outside)), None);
    }
}

#[test]
fn queue_registers_carry_the_documented_names_at_their_offsets() {
    let names = [
        (0x00, "STATUS"),
        (0x10, "PRTY"),
        (0x14, "FREE_SPACE"),
        (0x1c, "TQINFO"),
        (0x20, "BAR1"),
        (0xa0, "REQ_NID1"),
        (0xa4, "REQ_SIZE2"),
        (0xa8, "REQ_ADDR2"),
        (0xac, "BAR2"),
        (0x12c, "REQ_NID2"),
        (0x130, "REQ_SIZE1"),
        (0x134, "REQ_ADDR1"),
        (0x138, "STREAM"),
        (0x13c, "TAKE_BACK"),
        (0x140, "GIVE_WAY"),
    ];
    for (offset, name) in names {
        assert_eq!(at(&tq::TASK_QUEUE, offset), Some((name, 0)));
    }
    assert_eq!(at(&tq::TASK_QUEUE, 0x9c), Some(("BAR1", 31)));
    assert_eq!(at(&tq::TASK_QUEUE, 0x128), Some(("BAR2", 31)));
    assert_eq!(at(&tq::TASK_QUEUE, 0x144), None);
}

#[test]
fn slots_by_place_and_by_name_differ_in_size_and_address_only() {
    let place = Slot::ALL.map(|slot| slot.registers(Pairing::ByPlace));
    let name = Slot::ALL.map(|slot| slot.registers(Pairing::ByName));
    assert_eq!(place.map(|slot| (slot.bars, slot.nid)), [(0x20, 0xa0), (0xac, 0x12c)]);
    assert_eq!(name.map(|slot| (slot.bars, slot.nid)), [(0x20, 0xa0), (0xac, 0x12c)]);
    assert_eq!(place.map(|slot| (slot.size, slot.address)), [(0xa4, 0xa8), (0x130, 0x134)]);
    assert_eq!(name.map(|slot| (slot.size, slot.address)), [(0x130, 0x134), (0xa4, 0xa8)]);
    assert_eq!(place[1].bar(BarIndex::ALL[31]), 0x128);
}

#[test]
fn manager_registers_lie_where_drivers_use_them() {
    let names = [
        (0x00, "RequestAddress", 0),
        (0x04, "RequestInfo", 0),
        (0x08, "Push", 0),
        (0x0c, "QueueEnable", 0),
        (0x14, "EventCount", 0),
        (0x18, "EventInfo", 0),
        (0x20, "EventTime", 0),
        (0x28, "EventCount", 1),
        (0x2c, "EventInfo", 1),
        (0x34, "EventTime", 1),
        (0x38, "EventWord3", 1),
        (0x44, "Committed", 0),
        (0x54, "Status", 0),
        (0x58, "Error", 0),
        (0x60, "ErrorValue", 0),
        (0x68, "InterruptEnable", 0),
        (0x6c, "InterruptAck", 0),
        (0x70, "LineEnable", 0),
    ];
    for (offset, name, index) in names {
        assert_eq!(at(&tm::TASK_MANAGER, offset), Some((name, index)), "{offset:#x}");
    }
    assert_eq!(tm::TASK_MANAGER.container(8), EngineOffset(0x1c2_4008));
}

#[test]
fn push_of_each_queue_is_priority_and_queue() {
    let words = QueueId::ALL.map(|queue| Push::of(queue).into_bits());
    assert_eq!(words, [0x001, 0x102, 0x203, 0x304, 0x405, 0x506, 0x61e, 0x71f]);
    for queue in QueueId::ALL {
        assert_eq!(Push::of(queue).queue_id(), queue);
    }
}

#[test]
fn request_info_holds_every_legal_size_and_refuses_the_rest() {
    for words in (1..=512).chain([513, 0x400, 0x8000, 0x1_0000]) {
        let info = RequestInfo::of(4 * words, 7).unwrap();
        assert_eq!(info.into_bits(), (words - 1) << 16 | 7);
        assert_eq!(info.first_bytes(), 4 * words);
    }
    for bytes in [0, 1, 0x273, 0x275, 2049, 0x4_0001, 0x4_0004, u32::MAX] {
        assert_eq!(RequestInfo::of(bytes, 1), Err(BadRequest::Bytes(bytes)));
    }
    for tasks in [0, 0x1_0000, u32::MAX] {
        assert_eq!(RequestInfo::of(0x274, tasks), Err(BadRequest::Tasks(tasks)));
    }
    assert!(RequestInfo::of(0x274, 0xffff).is_ok());
}

#[test]
fn event_words_decode_as_drivers_read_them() {
    let info = EventInfo::from_bits(0x0540_0007);
    assert_eq!((info.task(), info.id(), info.is_done()), (7, Ok(Nid::LINUX), true));
    assert!(!EventInfo::of(EventCode::Failed, 0x40, 7).is_done());
    assert_eq!(EventInfo::from_bits(0).id(), Err(BadNid::Zero));
}

#[test]
fn network_ids_are_1_to_255_and_drivers_stop_at_254() {
    assert_eq!(Nid::new(0), Err(BadNid::Zero));
    for number in 1..=255 {
        let nid = Nid::new(number).unwrap();
        assert_eq!(u32::from(nid.number()), number);
        assert_eq!(nid.is_for_drivers(), number != 255);
        let word = RequestNid::of(nid);
        assert_eq!(word.into_bits(), number << 8 | 1);
        assert_eq!(word.id(), Ok(nid));
    }
    for number in [256, 0x140, u32::MAX] {
        assert_eq!(Nid::new(number), Err(BadNid::TooLarge(number)));
    }
}

/// Requirement: TM-12
#[test]
fn bars_are_32_with_the_conventional_numbers() {
    assert_eq!(BarIndex::ALL.len(), 0x20);
    assert!(BarIndex::new(31).is_ok());
    assert!(BarIndex::new(32).is_err());
    let named = [BarIndex::TASKS, BarIndex::CONSTANTS, BarIndex::SCRATCH, BarIndex::FIRST_SURFACE];
    assert_eq!(named.map(BarIndex::number), [0, 1, 3, 4]);
    assert_eq!(BarIndex::surface(0), Ok(BarIndex::FIRST_SURFACE));
    assert_eq!(BarIndex::surface(27), BarIndex::new(31));
    for beyond in [28, 252, u32::MAX] {
        assert!(BarIndex::surface(beyond).is_err(), "{beyond}");
    }
}

#[test]
fn bar_table_keeps_each_address_in_its_own_slot() {
    let mut table = BarTable::default();
    for bar in BarIndex::ALL {
        table.set(bar, Iova(0x4000 * (u32::from(bar.number()) + 1)));
    }
    for (bar, address) in table.iter() {
        assert_eq!(address, Iova(0x4000 * (u32::from(bar.number()) + 1)));
        assert_eq!(table.get(bar), address);
    }
    assert_eq!(table.iter().count(), 32);
}

#[test]
fn stream_register_of_any_word_names_a_stream_and_resets_to_the_base() {
    assert_eq!(tq::STREAM.info.reset, 0);
    for word in [0, 1, 15, 16, 0xffff_fff3, u32::MAX] {
        assert_eq!(u32::from(RequestStream::from_bits(word).stream_id().number()), word & 0xf);
    }
}
