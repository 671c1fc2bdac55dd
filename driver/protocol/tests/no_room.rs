//! A client whose process has no descriptor left. The limit is the process's, so this test has one of its own.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use ane_uapi::ioctl::errno::Errno;
use aned_protocol::answer::{self, Piece, Welcome};
use aned_protocol::client::{Client, ClientError, Settings};
use aned_protocol::request::{Ask, Request};
use aned_protocol::socket::{self, Arrival};
use aned_protocol::{Kind, MESSAGE_MAX, VERSION};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// Answers a client until it is gone, and passes `passed` with every arena and mapping. The kinds of the messages that came.
fn serve(socket: &OwnedFd, passed: BorrowedFd<'_>) -> Vec<Kind> {
    let mut heard = Vec::new();
    let mut room = vec![0; MESSAGE_MAX];
    while let Ok(Arrival::Message { bytes, .. }) = socket::receive(socket, &mut room, RecvFlags::empty()) {
        let Request { file, id, ask } = Request::read(&room[..bytes]).unwrap();
        let kind = ask.kind();
        heard.push(kind);
        let mut message = Vec::new();
        answer::begin(&mut message, kind, file, id, Ok(()));
        let mut descriptors = Vec::new();
        match ask {
            Ask::Hello { .. } => message.extend_from_slice(Welcome::new(VERSION).as_bytes()),
            Ask::Open => message.extend_from_slice(&[0; 16]),
            Ask::Arena => descriptors.push(passed),
            Ask::Map { .. } => {
                let (none, bytes) = (U32::ZERO, U64::new(0x4000));
                let piece = Piece { file: none, reserved: none, offset: U64::ZERO, bytes };
                answer::pieces(&mut message, &[piece], 1, 1);
                descriptors.push(passed);
            }
            _ => {}
        }
        socket::send(socket, &message, &descriptors, SendFlags::empty()).unwrap();
    }
    heard
}

#[test]
fn call_whose_descriptor_has_no_room_fails_and_the_connection_stays() {
    let (here, there) = socket::pair().unwrap();
    let heard = thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&there, there.as_fd()));
        let client = Client::over(here, Settings::default()).unwrap();
        let file = client.open().unwrap().file;
        let before = getrlimit(Resource::Nofile);
        // As many as are open at least, and not none: `poll` takes no more than that.
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..before }).unwrap();
        let refused = [client.arena(file).map(drop), client.map(file, 0, 0x4000).map(drop)];
        setrlimit(Resource::Nofile, before).unwrap();
        for refused in refused {
            assert!(matches!(refused, Err(ClientError::Errno(Errno::EMFILE))), "{refused:?}");
        }
        client.arena(file).unwrap();
        drop(client);
        serving.join().unwrap()
    });
    // What the daemon counts as mapped is not.
    assert_eq!(heard[2..], [Kind::Arena, Kind::Map, Kind::Unmap, Kind::Arena]);
}
