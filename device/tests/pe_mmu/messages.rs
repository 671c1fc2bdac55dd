//! The component: messages, their order and their time (pe-mmu 7, vectors 10 to 12, 16, 17, 21).

use ane_device::pe_mmu::node::{INBOX, TransactionRequest};
use ane_device::pe_mmu::{Message, Node, Received, Transaction};

use super::*;

/// A request to another node; PE_MMU does not look into it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Other {
    Read { at: u64, bytes: u32 },
}

type Tx = Transaction<Other>;

const fn sideband(message: Message, done: u64) -> Tx {
    Transaction { request: Some(TransactionRequest::Sideband(message)), done }
}

fn entry(va: u64, pa: u64, size: u64) -> Mapping {
    Mapping { va, pa, size }
}

/// Sends a transaction to a node without a way to it, and takes what becomes of it.
fn handle(mmu: &mut PeMmu, transaction: Tx) -> Received<Other> {
    let mut node = Node::new(0);
    node.send(0, transaction).unwrap();
    node.receive(0, mmu).unwrap()
}

/// Vector 10.
///
/// Requirement: PEMMU-03, PEMMU-16
#[test]
fn entries_of_a_message_apply_in_their_order_and_then_it_is_done() {
    let mut mmu = mmu(0x1000);
    let entries =
        vec![entry(0, 0x10_0000, 0x1000), entry(0x800, 0x20_0000, 0x800), entry(0, 0x30_0000, 0x400)];
    let received = handle(&mut mmu, sideband(Message::Map(entries), 7));
    assert_eq!(received, Received::Done { done: 7, at: 0, outcome: Ok(()) });
    assert_eq!(
        at(&mmu, [0, 0x3ff, 0x400, 0x7ff, 0x800, 0xfff]),
        [0x30_0000, 0x30_03ff, 0x10_0400, 0x10_07ff, 0x20_0000, 0x20_07ff].map(Some)
    );
}

/// Vector 11.
#[test]
fn unmapping_nothing_is_done_and_changes_nothing() {
    let mut mmu = mmu(0x1000);
    let ranges = vec![Range { va: 0x9000, size: 0x1000 }];
    let received = handle(&mut mmu, sideband(Message::Unmap(ranges), 8));
    assert_eq!(received, Received::Done { done: 8, at: 0, outcome: Ok(()) });
    assert_eq!((mmu.mmu().regions(), mmu.counters().unmaps), (0, 1));
}

/// Vector 12.
///
/// Requirement: PEMMU-17, PEMMU-20
#[test]
fn message_is_installed_when_the_fabric_has_brought_it_and_not_before() {
    let mut mmu = mmu(0x1000);
    let mut node: Node<Other> = Node::new(40_000);
    let message = Message::Map(vec![entry(0, 0x7000_0000, 0x1000)]);
    node.send(100_000, sideband(message, 1)).unwrap();
    assert_eq!(node.receive(139_999, &mut mmu), None);
    assert_eq!(at(&mmu, [0]), [None]);
    let received = node.receive(140_000, &mut mmu);
    assert_eq!(received, Some(Received::Done { done: 1, at: 140_000, outcome: Ok(()) }));
    assert_eq!(at(&mmu, [0]), [Some(0x7000_0000)]);
    assert_eq!(node.receive(u64::MAX, &mut mmu), None);
}

#[test]
fn messages_are_taken_in_the_order_of_their_arrival_one_at_a_time() {
    let mut mmu = mmu(0x1000);
    let mut node: Node<Other> = Node::new(10);
    for (done, pa) in [(1, 0x1_0000), (2, 0x2_0000)] {
        node.send(5, sideband(Message::Map(vec![entry(0, pa, 0x1000)]), done)).unwrap();
    }
    assert!(matches!(node.receive(15, &mut mmu), Some(Received::Done { done: 1, .. })));
    assert_eq!(at(&mmu, [0]), [Some(0x1_0000)]);
    assert!(matches!(node.receive(15, &mut mmu), Some(Received::Done { done: 2, .. })));
    assert_eq!(at(&mmu, [0]), [Some(0x2_0000)]);
}

#[test]
fn message_sent_later_does_not_overtake() {
    let mut node: Node<Other> = Node::new(10);
    node.send(100, sideband(Message::Map(Vec::new()), 1)).unwrap();
    node.send(50, sideband(Message::Map(Vec::new()), 2)).unwrap();
    let mut mmu = mmu(0x1000);
    assert_eq!(node.receive(60, &mut mmu), None);
    assert!(matches!(node.receive(110, &mut mmu), Some(Received::Done { done: 1, .. })));
    assert!(matches!(node.receive(110, &mut mmu), Some(Received::Done { done: 2, at: 110, .. })));
}

/// Vectors 16 and 17.
///
/// Requirement: PEMMU-19
#[test]
fn everything_else_is_handed_on_as_it_came() {
    let mut mmu = mmu(0x1000);
    map(&mut mmu, 0, 0x7000, 0x1000);
    let read = Transaction {
        request: Some(TransactionRequest::Other(Other::Read { at: 0x40, bytes: 64 })),
        done: 3,
    };
    let bare = Transaction { request: None, done: 4 };
    for transaction in [read, bare] {
        let received = handle(&mut mmu, transaction.clone());
        assert_eq!(received, Received::Forwarded { transaction, at: 0 });
    }
    assert_eq!((mmu.mmu().regions(), mmu.counters().maps), (1, 1));
}

/// Vector 21.
#[test]
fn empty_message_and_empty_entry_are_done_and_map_nothing() {
    let mut mmu = mmu(0x1000);
    for entries in [vec![], vec![entry(0x1000, 0, 0)], vec![entry(u64::MAX, u64::MAX, 0)]] {
        let received = handle(&mut mmu, sideband(Message::Map(entries), 5));
        assert_eq!(received, Received::Done { done: 5, at: 0, outcome: Ok(()) });
    }
    assert_eq!((mmu.mmu().regions(), at(&mmu, [0x1000])), (0, [None]));
}

#[test]
fn full_inbox_gives_a_transaction_back() {
    let mut node: Node<Other> = Node::new(10);
    let transaction = Transaction { request: None, done: 9 };
    for _ in 0..INBOX {
        node.send(0, transaction.clone()).unwrap();
    }
    assert_eq!(node.send(0, transaction.clone()), Err(transaction));
}
