use ane_uapi::hw::mmio_map::RANGES;

use super::*;

fn why(at: u32) -> Why {
    Target::find(EngineOffset(at)).unwrap_err().why
}

/// Requirement: MMIO-01
#[test]
fn access_behind_the_container_is_refused() {
    for at in [0x200_0000, 0x200_0004, 0xffff_fffc, u32::MAX] {
        assert_eq!(why(at), Why::OutsideContainer, "{at:#x}");
    }
    assert_eq!(why(0x1ff_fffc), Why::Hole);
}

/// Requirement: MMIO-09
#[test]
fn range_that_holds_nothing_is_reported() {
    for at in (0x187_4000..0x187_5000).step_by(4) {
        assert_eq!(why(at), Why::Empty, "{at:#x}");
    }
}

#[test]
fn every_hole_of_the_map_would_stop_a_real_machine() {
    let mut behind = 0;
    for range in RANGES {
        for at in [behind, range.start.0.saturating_sub(4)] {
            if at < range.start.0 && at >= behind {
                assert_eq!(why(at), Why::Hole, "{at:#x}");
            }
        }
        behind = range.end.0;
    }
}

/// Requirement: MMIO-13
#[test]
fn parts_of_the_computation_engine_lie_where_seed_004_found_them() {
    let find = |at| Target::find(EngineOffset(at)).unwrap();
    assert!(matches!(find(0x1c0_4800), Target::Configuration { address: 0x4800, .. }));
    assert!(matches!(find(0x1c1_f8f4), Target::Configuration { address: 0x1f8f4, .. }));
    assert!(matches!(find(0x1c2_0000), Target::Stored(Region::DmaConfiguration)));
    assert!(matches!(find(0x1c2_3ffc), Target::Stored(Region::DmaConfiguration)));
    assert!(matches!(find(0x1c2_4000), Target::Manager { register: tm::RegisterId::REQUEST_ADDRESS, .. }));
    assert!(matches!(find(0x1c2_5000), Target::Queue { register: tq::RegisterId::STATUS, .. }));
    let last = QueueId::ALL[7].base().0 + 0x138;
    assert!(matches!(find(last), Target::Queue { register: tq::RegisterId::STREAM, .. }));
}

/// Requirement: MMIO-06
#[test]
fn dart_windows_lie_in_the_order_0_3_and_then_1_and_2() {
    let find = |at| match Target::find(EngineOffset(at)).unwrap() {
        Target::Dart(window, offset) => (window, offset),
        other => panic!("{other:?}"),
    };
    assert_eq!(find(0x180_0000), (Window::Dart0, 0));
    assert_eq!(find(0x180_3ffc), (Window::Dart0, 0x3ffc));
    assert_eq!(find(0x180_4000), (Window::Dart3, 0));
    assert_eq!(find(0x180_7ffc), (Window::Dart3, 0x3ffc));
    assert_eq!(find(0x181_0040), (Window::Dart1, 0x40));
    assert_eq!(find(0x182_0040), (Window::Dart2, 0x40));
    assert_eq!(why(0x180_8000), Why::Hole);
}

/// Requirement: TM-02
#[test]
fn queues_lie_0x148_bytes_apart_from_0x1c25000() {
    for number in 0..8 {
        let at = EngineOffset(0x1c2_5000 + 0x148 * number);
        let Ok(Target::Queue { queue, register, offset: 0 }) = Target::find(at) else { panic!("{at}") };
        assert_eq!((u32::from(queue.number()), register), (number, tq::RegisterId::STATUS));
    }
    assert_eq!(why(0x1c2_5000 + 0x148 * 8), Why::NoRegister { block: "tq" });
}

/// Requirement: TM-03
#[test]
fn queue_begins_with_status_priority_free_space_and_info() {
    let name = |offset| TASK_QUEUE.find(offset).map(|(row, _)| row.name);
    assert_eq!(
        [0x00, 0x10, 0x14, 0x1c].map(name),
        [Some("STATUS"), Some("PRTY"), Some("FREE_SPACE"), Some("TQINFO")]
    );
}

/// Requirement: TM-04
#[test]
fn first_set_of_a_queue_is_where_seed_004_lists_it() {
    let name = |offset| TASK_QUEUE.find(offset).map(|(row, index)| (row.name, index));
    assert_eq!(name(0x20), Some(("BAR1", 0)));
    assert_eq!(name(0x9c), Some(("BAR1", 31)));
    assert_eq!(name(0xa0), Some(("REQ_NID1", 0)));
    assert_eq!(name(0xa4), Some(("REQ_SIZE2", 0)));
    assert_eq!(name(0xa8), Some(("REQ_ADDR2", 0)));
}

/// Requirement: TM-05
#[test]
fn second_set_of_a_queue_is_where_seed_004_lists_it() {
    let name = |offset| TASK_QUEUE.find(offset).map(|(row, index)| (row.name, index));
    assert_eq!(name(0xac), Some(("BAR2", 0)));
    assert_eq!(name(0x128), Some(("BAR2", 31)));
    assert_eq!(name(0x12c), Some(("REQ_NID2", 0)));
    assert_eq!(name(0x130), Some(("REQ_SIZE1", 0)));
    assert_eq!(name(0x134), Some(("REQ_ADDR1", 0)));
}

#[test]
fn widths_other_than_powers_of_two_up_to_eight_are_refused() {
    for bytes in 0..=u8::MAX {
        let span = Span::new(EngineOffset(0x1d0_0000), bytes, false);
        match bytes {
            1 | 2 | 4 | 8 => assert!(span.is_ok()),
            _ => assert_eq!(span.unwrap_err().why, Why::Width { bytes }),
        }
    }
}

#[test]
fn part_of_a_register_that_comes_only_whole_is_refused() {
    let event_info = EngineOffset(0x1c2_4018);
    assert_eq!(Span::new(event_info, 1, false).unwrap_err().why, Why::NotAWord { bytes: 1 });
    let push = EngineOffset(0x1c2_4008);
    assert_eq!(Span::new(push, 2, true).unwrap_err().why, Why::NotAWord { bytes: 2 });
    let status = EngineOffset(0x1c2_4056);
    assert_eq!(
        Span::new(status, 2, false),
        Ok(Span::Part { word: EngineOffset(0x1c2_4054), shift: 16, mask: 0xffff })
    );
}

#[test]
fn pair_with_nothing_at_one_end_touches_neither() {
    let at = EngineOffset(0x1c2_4070);
    assert_eq!(
        Span::new(at, 8, true).unwrap_err(),
        Refusal::new(EngineOffset(0x1c2_4074), Why::NoRegister { block: "tm" })
    );
}
