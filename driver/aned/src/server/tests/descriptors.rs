//! Descriptors that come with messages, and those that had no room.

use std::os::fd::AsFd;

use ane_uapi::ioctl::errno::Errno;

use super::fake::Fake;
use super::hear;
use crate::server::calls::Calls;
use crate::server::connection::Connection;
use crate::server::files::{Shared, identity};
use crate::server::offload::Passed;
use crate::server::shares::Shares;
use crate::tests::OWNER;
use ane_driver::front::{Credentials, Files};
use aned_protocol::answer::Answer;
use aned_protocol::request::{Ask, Request};
use aned_protocol::socket;

fn calls() -> Calls<Fake> {
    let (shared, shares) = (Shared::default(), Shares::new());
    Calls { driver: Fake::default(), shared, shares, report: None, is_closing: false }
}

#[test]
fn descriptor_that_the_daemon_had_no_room_for_fails_its_call_and_no_more() {
    let mut calls = calls();
    let (ours, theirs) = socket::pair().unwrap();
    let mut client = Connection::new(ours, Credentials { user: OWNER, process: 1 });
    client.is_welcome = true;
    let file = calls.driver.open(client.who).unwrap();
    calls.shared.insert(file, OWNER).unwrap();
    let arena = calls.driver.arena(file).unwrap();
    calls.shared.know_arena(file, arena.as_fd()).unwrap();
    let attach = Request { file: 0, id: 2, ask: Ask::AttachArena }.to_bytes();
    let mut result = |passed| {
        calls
            .take(&mut client, &attach, passed)
            .map(|()| Answer::read(&hear(&theirs).unwrap()).unwrap().result)
    };
    let lost = Passed { count: 0, is_short: true, object: None };
    assert_eq!(result(lost).unwrap(), Errno::EAGAIN.as_result());
    let object = identity(arena.as_fd()).ok();
    assert_eq!(result(Passed { count: 1, is_short: false, object }).unwrap(), 0);
    let too_many = result(Passed { count: 1, is_short: true, object: None }).unwrap_err();
    assert_eq!(too_many.text, "2 descriptors came with a message that takes 1");
}
