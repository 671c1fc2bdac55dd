//! Messages are read as they were written, and a message from a stranger is an error at worst.

use ane_uapi::ioctl::errno::Errno;
use proptest::collection::vec;
use proptest::prelude::*;
use zerocopy::little_endian::{U32, U64};

use super::answer::{self, Answer, Piece};
use super::request::{Ask, Request};
use super::{CALLS_MAX, FILES_MAX, Kind, MESSAGE_MAX, Malformed, STRETCHES_MAX, TEXT_MAX, Token, VERSION};
use ane_call::Segments;

fn segments() -> impl Strategy<Value = Segments> {
    vec((any::<u64>(), vec(any::<u8>(), 0..64)), 0..8).prop_map(|stretches| {
        let mut segments = Segments::new();
        stretches.into_iter().for_each(|(at, bytes)| segments.push(at, bytes));
        segments
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        any::<u32>().prop_map(|version| Ask::Hello { version }),
        Just(Ask::Open),
        any::<[u8; 16]>().prop_map(|token| Ask::Attach(Token(token))),
        Just(Ask::Close),
        (any::<u32>(), vec(any::<u8>(), 0..200), segments())
            .prop_map(|(number, argument, memory)| Ask::Ioctl { number, argument, memory }),
        any::<(u64, u64, u64)>().prop_map(|(offset, bytes, from)| Ask::Map { offset, bytes, from }),
        any::<(u64, u64)>().prop_map(|(offset, bytes)| Ask::Unmap { offset, bytes }),
        any::<u64>().prop_map(|fence| Ask::Signal { fence }),
        any::<u64>().prop_map(|fence| Ask::Failure { fence }),
        Just(Ask::Arena),
        any::<u64>().prop_map(|call| Ask::Abandon { call }),
        any::<bool>().prop_map(|wait| Ask::Readable { wait }),
        Just(Ask::AttachArena),
        Just(Ask::Mailbox),
        Just(Ask::Kick),
        (any::<u32>(), "[a-z€]{0,40}").prop_map(|(from, what)| Ask::Report { from, what }),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    (any::<u32>(), any::<u64>(), ask()).prop_map(|(file, id, ask)| {
        let file = if ask.kind().has_file() { file } else { 0 };
        Request { file, id, ask }
    })
}

proptest! {
    #[test]
    fn request_that_is_written_is_read_again(request in request()) {
        prop_assert_eq!(Request::read(&request.to_bytes()), Ok(request));
    }

    #[test]
    fn request_cut_or_with_more_behind_it_is_none(request in request(), cut in any::<prop::sample::Index>()) {
        let bytes = request.to_bytes();
        let part = &bytes[..cut.index(bytes.len())];
        let is_short = matches!(Request::read(part), Err(Malformed::Short { .. }));
        prop_assert!(is_short);
        let longer = [&bytes[..], &[0]].concat();
        prop_assert_eq!(Request::read(&longer), Err(Malformed::Long { bytes: 1 }));
    }

    #[test]
    fn request_of_any_bytes_is_read_or_refused(kind in 0_u32..20, bytes in vec(any::<u8>(), 0..300)) {
        let message = [&kind.to_le_bytes()[..], &bytes].concat();
        // A message that is accepted says the same when it is written again.
        if let Ok(request) = Request::read(&message) {
            prop_assert_eq!(request.to_bytes(), message);
        }
    }

    #[test]
    fn answer_of_any_bytes_is_read_or_refused(kind in 0_u32..20, bytes in vec(any::<u8>(), 0..300)) {
        let message = [&(kind | 1 << 31).to_le_bytes()[..], &bytes].concat();
        if let Ok(answer) = Answer::read(&message) {
            let _ = answer.welcome();
            let _ = answer.token();
            let _ = answer.ioctl(&mut [0; 8], &mut Segments::new());
            let _ = answer.pieces(1);
            let _ = answer.report();
            let _ = answer.words();
        }
    }

    #[test]
    fn dismissal_of_any_text_is_cut_between_letters(text in "[a€]{0,600}") {
        let mut message = Vec::new();
        answer::dismissal(&mut message, Errno::EINVAL, &text);
        let told = Answer::read(&message).unwrap().words().unwrap();
        prop_assert!(text.starts_with(told) && told.len() <= TEXT_MAX);
        prop_assert!(told.len() == text.len() || told.len() > TEXT_MAX - 3);
    }
}

#[test]
fn layouts_are_those_of_the_specification() {
    let hello =
        [&b"\x01\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0ane-aned"[..], &VERSION.to_le_bytes(), &[0; 4]].concat();
    assert_eq!(Request::hello(9).to_bytes(), hello);
    let mut memory = Segments::new();
    memory.push(0x1122, vec![0xaa, 0xbb]);
    let ioctl =
        Request { file: 2, id: 3, ask: Ask::Ioctl { number: 0xc018_6441, argument: vec![7], memory } };
    let bytes = [
        &[5, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0][..],
        &[0x41, 0x64, 0x18, 0xc0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0],
        &[0x22, 0x11, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0],
        &[7, 0xaa, 0xbb],
    ];
    assert_eq!(ioctl.to_bytes(), bytes.concat());
    let mut failed = Vec::new();
    answer::begin(&mut failed, Kind::Open, 0, 4, Err(Errno::ENOMEM));
    assert_eq!(failed, b"\x02\0\0\x80\0\0\0\0\x04\0\0\0\0\0\0\0\xf4\xff\xff\xff\0\0\0\0");
}

#[test]
fn extents_of_a_descriptor_that_did_not_come_are_refused() {
    let piece =
        |file| Piece { file: U32::new(file), reserved: U32::ZERO, offset: U64::ZERO, bytes: U64::new(1) };
    let told = |file, files| {
        let mut message = Vec::new();
        answer::begin(&mut message, Kind::Map, 1, 1, Ok(()));
        answer::pieces(&mut message, &[piece(file)], files, 1);
        Answer::read(&message).unwrap().pieces(files).map(|(pieces, total)| (pieces.len(), total))
    };
    assert_eq!(told(1, 2), Ok((1, 1)));
    assert!(told(2, 2).is_err() && told(0, 0).is_err());
}

#[test]
fn message_of_the_largest_size_is_read_and_a_larger_one_is_not() {
    let mut memory = Segments::new();
    memory.push(0, vec![0; MESSAGE_MAX - 16 - 16 - 16]);
    let request = Request { file: 1, id: 1, ask: Ask::Ioctl { number: 0, argument: Vec::new(), memory } };
    let mut bytes = request.to_bytes();
    assert_eq!(bytes.len(), MESSAGE_MAX);
    assert_eq!(Request::read(&bytes), Ok(request));
    bytes.push(0);
    assert_eq!(Request::read(&bytes), Err(Malformed::Huge));
}

#[test]
fn chapter_has_every_kind_with_its_number_and_every_limit() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/aned.md");
    let chapter = std::fs::read_to_string(path).unwrap();
    for kind in Kind::ALL {
        let row = format!("| `{}` | {} |", kind.name(), *kind as u32);
        assert!(chapter.contains(&row), "{row}");
    }
    let limits = [
        format!("{MESSAGE_MAX} bytes (`MESSAGE_MAX`)"),
        format!("stretches, at most {STRETCHES_MAX}"),
        format!("{CALLS_MAX} calls of the connection wait"),
        format!("{FILES_MAX} files of the connection"),
        format!("argument, at most {}", ane_uapi::ioctl::number::MAX_SIZE),
    ];
    for limit in limits {
        assert!(chapter.contains(&limit), "{limit}");
    }
}
