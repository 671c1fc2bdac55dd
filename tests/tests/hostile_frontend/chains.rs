//! Requests, chains and rings that lie: a status or no answer, and the next request is served.

use ane_tests::daemon::Daemon;
use ane_tests::hostile::{
    ANSWER, AVAILABLE, BASE, DESCRIPTORS, Descriptor, FREE, Hostile, INDIRECT, MEMORY, NEXT, REQUEST, SIZE,
    WRITE,
};
use ane_uapi::wire::ctrl::{Header, NO_INDEX, Op, RequestKind, Status};
use vhost::vhost_user::VhostUserFrontend;
use vhost::vhost_user::message::VhostUserConfigFlags;
use zerocopy::IntoBytes;

use super::{OUTSIDE, SHORT, empty_batch};

#[test]
fn bad_chain_comes_back_empty_and_the_next_request_is_served() {
    let mut daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    frontend.put(REQUEST, &empty_batch());
    let mut inner = vec![(FREE + 0x100, 16, INDIRECT, 0)];
    frontend.put_table(FREE, &inner);
    inner = (1..=1024).map(|next| (REQUEST, 1, NEXT, next)).collect();
    frontend.put_table(FREE + 0x1000, &inner);
    let good = (REQUEST, 16, NEXT, 1);
    let cases: Vec<(&str, Vec<Descriptor>)> = vec![
        ("self-reference", vec![(REQUEST, 16, NEXT, 0)]),
        ("loop of two", vec![good, (ANSWER, 24, NEXT | WRITE, 0)]),
        ("loop behind the answer", vec![good, (ANSWER, 24, NEXT | WRITE, 1)]),
        ("next outside the table", vec![(REQUEST, 16, NEXT, SIZE)]),
        ("next far outside the table", vec![(REQUEST, 16, NEXT, u16::MAX)]),
        ("written before read", vec![(ANSWER, 24, NEXT | WRITE, 1), (REQUEST, 16, 0, 0)]),
        ("nothing to write to", vec![(REQUEST, 16, 0, 0)]),
        ("nothing to read", vec![(ANSWER, 0, WRITE, 0)]),
        ("answer of no bytes", vec![good, (ANSWER, 0, WRITE, 0)]),
        ("answer a byte too short", vec![good, (ANSWER, 23, WRITE, 0)]),
        ("request outside memory", vec![(OUTSIDE, 16, NEXT, 1), (ANSWER, 24, WRITE, 0)]),
        ("request across the end of memory", vec![(MEMORY as u64 - 8, 16, NEXT, 1), (ANSWER, 24, WRITE, 0)]),
        ("request that wraps", vec![(0u64.wrapping_sub(BASE + 8), 16, NEXT, 1), (ANSWER, 24, WRITE, 0)]),
        ("answer outside memory", vec![good, (OUTSIDE, 24, WRITE, 0)]),
        ("answer at zero", vec![good, (0u64.wrapping_sub(BASE), 24, WRITE, 0)]),
        ("request of four gigabytes", vec![(REQUEST, u32::MAX, NEXT, 1), (ANSWER, 24, WRITE, 0)]),
        (
            "more than four gigabytes",
            vec![(REQUEST, u32::MAX, NEXT, 1), (REQUEST, u32::MAX, NEXT, 2), (ANSWER, 24, WRITE, 0)],
        ),
        ("table outside memory", vec![(OUTSIDE, 32, INDIRECT, 0)]),
        ("table that wraps", vec![(0u64.wrapping_sub(BASE + 16), 32, INDIRECT, 0)]),
        ("table of no bytes", vec![(FREE, 0, INDIRECT, 0)]),
        ("table of half a descriptor", vec![(FREE, 24, INDIRECT, 0)]),
        ("table in a table", vec![(FREE, 16, INDIRECT, 0)]),
        ("table that is the ring's own", vec![(DESCRIPTORS, 16, INDIRECT, 0)]),
        ("table longer than a queue", vec![(FREE + 0x1000, 0x4000, INDIRECT, 0)]),
        ("table of four gigabytes", vec![(FREE, 0xffff_fff0, INDIRECT, 0)]),
    ];
    for (name, table) in cases {
        assert_eq!(frontend.submit(&table), 0, "{name}");
        assert!(frontend.is_served(), "{name}");
    }
    assert!(daemon.is_running());
}

#[test]
fn bad_request_is_answered_with_its_status() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    let batch = |count: u32, ops: &[Op]| {
        [Header::new(RequestKind::Batch, count, 5).as_bytes(), ops.as_bytes()].concat()
    };
    let mut flags = empty_batch();
    flags[3] = 0x80;
    let mut kind = empty_batch();
    kind[..2].copy_from_slice(&0xffffu16.to_le_bytes());
    let odd = Op { access: 7.into(), ..Op::read(0) };
    let cases = [
        (kind, 24, Status::UnknownKind, NO_INDEX, 0xffff),
        (flags, 24, Status::ReservedSet, NO_INDEX, 2),
        (vec![1], 24, Status::TooShort, NO_INDEX, 1),
        (batch(1, &[]), 24, Status::TooShort, NO_INDEX, 16),
        (batch(0, &[Op::read(0)]), 24, Status::TooLong, NO_INDEX, 28),
        (batch(1025, &[]), 24, Status::TooMany, NO_INDEX, 1024),
        (batch(u32::MAX, &[]), 24, Status::TooMany, NO_INDEX, 1024),
        (batch(1025, &[Op::write(0, 0); 1025]), 24, Status::TooMany, NO_INDEX, 1024),
        (batch(1, &[Op::read(0)]), 27, Status::NoRoom, NO_INDEX, 28),
        (batch(1, &[odd]), 28, Status::UnknownAccess, 0, 7),
        (batch(1, &[Op::read(3)]), 28, Status::Misaligned, 0, 3),
        (batch(1, &[Op::write(u32::MAX - 3, 0)]), 28, Status::OutsideContainer, 0, u32::MAX - 3),
        (Header::new(RequestKind::PeMmuMap, 1, 5).as_bytes().to_vec(), 24, Status::Absent, NO_INDEX, 0),
        (Header::new(RequestKind::Reset, 9, 5).as_bytes().to_vec(), 24, Status::TooMany, NO_INDEX, 0),
        (vec![0xff; 0x8000], 24, Status::UnknownKind, NO_INDEX, 0xffff),
    ];
    for (bytes, room, status, index, detail) in cases {
        let response = frontend.ask(&bytes, room);
        let told = (response.status(), response.done.get(), response.index.get(), response.detail.get());
        assert_eq!(told, (Ok(status), 0, index, detail));
        assert!(frontend.is_served());
    }
}

#[test]
fn request_spread_over_bytes_of_memory_is_put_together() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    frontend.put(REQUEST, &empty_batch());
    // Fourteen parts of a byte, one of none in a place that is none, and two of the rest.
    let mut table: Vec<Descriptor> = (0..13).map(|n| (REQUEST + u64::from(n), 1, NEXT, n + 1)).collect();
    table.push((REQUEST + 13, 3, NEXT, 14));
    table.push((OUTSIDE, 0, NEXT, 15));
    table.push((ANSWER, 24, WRITE, 0));
    assert_eq!(frontend.submit(&table), 24);
}

#[test]
fn head_that_is_no_descriptor_is_dropped_and_the_queue_goes_on() {
    let daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    for head in [SIZE, 0x7fff, u16::MAX] {
        frontend.announce(head);
        frontend.kick(0);
        assert_eq!(frontend.used(SHORT), None);
        assert!(frontend.is_served());
    }
}

#[test]
fn available_index_that_runs_away_stops_the_queue_and_nothing_else() {
    let mut daemon = Daemon::start(&[]);
    let mut frontend = Hostile::new(&daemon.socket());
    assert!(frontend.is_served());
    frontend.put(AVAILABLE + 2, &0x8000u16.to_le_bytes());
    for _ in 0..100 {
        frontend.kick(0);
    }
    assert_eq!(frontend.used(SHORT), None);
    // Config space does not depend on the queue.
    let read = frontend.frontend.get_config(0, 56, VhostUserConfigFlags::empty(), &[0; 56]);
    assert!(read.is_ok());
    drop(frontend);
    assert!(Hostile::new(&daemon.socket()).is_served());
    assert!(daemon.is_running());
}

#[test]
fn answer_into_the_rings_themselves_hurts_nobody_else() {
    let mut daemon = Daemon::start(&[]);
    for target in [DESCRIPTORS, AVAILABLE, ane_tests::hostile::USED, ane_tests::hostile::QUEUE] {
        let mut frontend = Hostile::new(&daemon.socket());
        frontend.put(REQUEST, &empty_batch());
        frontend.put_table(DESCRIPTORS, &[(REQUEST, 16, NEXT, 1), (target, 24, WRITE, 0)]);
        for _ in 0..3 {
            frontend.announce(0);
            frontend.kick(0);
            let _ = frontend.used(SHORT);
        }
        drop(frontend);
        assert!(Hostile::new(&daemon.socket()).is_served());
    }
    assert!(daemon.is_running());
}
