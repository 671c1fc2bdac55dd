//! Frontends that end, and leave something behind that keeps the device from seeing it: a descriptor of their own connection that
//! the device holds or has yet to read, answers that nobody takes, or a descriptor that takes long to close.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::hostile::Hostile;
use ane_tests::lingering::Lingering;
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

/// Requests of the protocol.
const GET_FEATURES: u32 = 1;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_KICK: u32 = 12;
const SET_VRING_ERR: u32 = 14;

fn message(request: u32, body: &[u8]) -> Vec<u8> {
    [&request.to_le_bytes()[..], &1_u32.to_le_bytes(), &(body.len() as u32).to_le_bytes(), body].concat()
}

fn connect(daemon: &Daemon) -> UnixStream {
    UnixStream::connect(daemon.socket()).expect("the daemon listens")
}

fn send(socket: &UnixStream, bytes: &[u8], descriptor: RawFd) {
    let sent = socket.send_with_fds(&[bytes], &[descriptor]).expect("the daemon has room for it");
    assert_eq!(sent, bytes.len());
}

/// The next frontend is served: the device has seen that the one before is gone.
fn assert_that_the_next_is_served(daemon: &mut Daemon) {
    // A client of the transport's waits without end, so that a time-out is seen here only.
    let mut next = connect(daemon);
    next.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
    next.write_all(&message(GET_FEATURES, &[])).expect("the daemon has room for it");
    next.read_exact(&mut [0; 20]).expect("the next one is heard");
    drop(next);
    assert!(Hostile::new(&daemon.socket()).is_served());
    assert!(daemon.is_running());
}

#[test]
fn message_that_is_cut_off_and_holds_its_senders_socket_ends_with_its_sender() {
    let mut daemon = Daemon::start(&[]);
    let whole = message(SET_VRING_ERR, &[0; 8]);
    for length in [1, 11, 12, 13, 19] {
        let socket = connect(&daemon);
        send(&socket, &whole[..length], socket.as_raw_fd());
        drop(socket);
        assert_that_the_next_is_served(&mut daemon);
    }
}

#[test]
fn socket_that_comes_with_the_second_half_of_a_message_ends_with_its_sender() {
    let mut daemon = Daemon::start(&[]);
    let event = vmm_sys_util::eventfd::EventFd::new(0).expect("eventfds can be had");
    let whole = message(SET_VRING_ERR, &[0; 8]);
    for first in [3, 12] {
        let socket = connect(&daemon);
        send(&socket, &whole[..first], event.as_raw_fd());
        send(&socket, &whole[first..19], socket.as_raw_fd());
        drop(socket);
        assert_that_the_next_is_served(&mut daemon);
    }
}

#[test]
fn message_whose_rest_does_not_come_ends_the_connection_after_a_while() {
    let daemon = Daemon::start(&[]);
    let mut socket = connect(&daemon);
    socket.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
    socket.write_all(&message(SET_VRING_ERR, &[0; 8])[..12]).expect("the daemon has room for it");
    let end = socket.read(&mut [0]).map_err(|why| why.kind());
    // It ends with something unread.
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
}

#[test]
fn message_that_comes_in_pieces_is_carried_out() {
    let daemon = Daemon::start(&[]);
    let mut socket = connect(&daemon);
    socket.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
    let event = vmm_sys_util::eventfd::EventFd::new(0).expect("eventfds can be had");
    let whole = message(SET_VRING_KICK, &[0; 8]);
    send(&socket, &whole[..12], event.as_raw_fd());
    std::thread::sleep(Duration::from_millis(50));
    for byte in [&whole[12..], &message(GET_FEATURES, &[])].concat() {
        socket.write_all(&[byte]).expect("the daemon has room for it");
    }
    let mut answer = [0; 20];
    socket.read_exact(&mut answer).expect("it is answered");
    assert_eq!(answer[..4], GET_FEATURES.to_le_bytes());
}

#[test]
fn frontend_that_takes_no_answers_and_leaves_its_own_socket_unread_ends() {
    let mut daemon = Daemon::start(&[]);
    let socket = connect(&daemon);
    let asked = message(GET_FEATURES, &[]);
    // More than the device has room for answers to, and fewer than the frontend has room for.
    for _ in 0..300 {
        (&socket).write_all(&asked).expect("the daemon has room for it");
    }
    send(&socket, &message(SET_VRING_ERR, &[0; 8]), socket.as_raw_fd());
    drop(socket);
    assert_that_the_next_is_served(&mut daemon);
}

#[test]
fn descriptor_that_takes_long_to_close_keeps_nobody_out() {
    let mut daemon = Daemon::start(&[]);
    let memory = [&1_u32.to_le_bytes()[..], &[0; 4], &[0; 8], &4096_u64.to_le_bytes(), &[0; 16]].concat();
    let mut connections = Vec::new();
    for (request, body) in
        [(SET_VRING_KICK, vec![0; 8]), (SET_VRING_ERR, vec![0; 8]), (SET_MEM_TABLE, memory)]
    {
        let socket = connect(&daemon);
        let mut lingering = Lingering::connect();
        // The daemon closes the last one.
        daemon.while_stopped(|| {
            send(&socket, &message(request, &body), lingering.as_raw_fd());
            drop(socket);
            lingering.close();
        });
        connections.push(lingering);
        assert_that_the_next_is_served(&mut daemon);
    }
}
