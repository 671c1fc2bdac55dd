//! Calls that nobody ever meant.

use ane_uapi::ioctl::number::Number;
use ane_uapi::ioctl::{DRM_IOCTLS, FORMER, IOCTLS, OWN, find};

use super::*;

fn all() -> impl Iterator<Item = &'static Ioctl> {
    IOCTLS.iter().chain(DRM_IOCTLS).copied()
}

fn attempt(
    driver: &mut Driver<Fake>,
    file: FileId,
    number: u32,
    argument: Vec<u8>,
) -> Poll<Result<(), Errno>> {
    driver.ioctl(file, &mut Call::new(number, argument, Segments::new()))
}

#[test]
fn every_call_of_the_abi_has_a_handler() {
    let (mut driver, _) = driver();
    for ioctl in all() {
        let file = open(&mut driver);
        let answer = attempt(&mut driver, file, ioctl.number, vec![0; ioctl.structure.size]);
        assert_ne!(answer, Poll::Ready(Err(Errno::ENOTTY)), "{}", ioctl.c_name);
    }
}

#[test]
fn number_of_another_size_direction_or_letter_is_no_call() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    let wrong = all().flat_map(|ioctl| {
        let number = ioctl.decoded();
        [
            Number { size: number.size + 1, ..number },
            Number { size: number.size - 1, ..number },
            Number { subsystem: b'e', ..number },
            Number { nr: 0x7f, ..number },
            Number { direction: ane_uapi::ioctl::number::ArgumentDirection::None, ..number },
        ]
    });
    for number in wrong.map(Number::encode).filter(|number| find(*number).is_none()) {
        let argument = vec![0; usize::from(Number::decode(number).size)];
        assert_eq!(
            attempt(&mut driver, file, number, argument),
            Poll::Ready(Err(Errno::ENOTTY)),
            "{number:#x}"
        );
    }
}

#[test]
fn call_is_known_by_its_former_number_and_the_second_abi_is_invalid() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    // Calls that came after the move never had another number.
    let moved = OWN..=OWN + (FORMER.end() - FORMER.start());
    for ioctl in IOCTLS.iter().filter(|ioctl| moved.contains(&ioctl.nr)) {
        let former = Number { nr: ioctl.nr - OWN + 0x44, ..ioctl.decoded() }.encode();
        let argument = vec![0; ioctl.structure.size];
        let answer = attempt(&mut driver, file, former, argument.clone());
        assert_ne!(answer, Poll::Ready(Err(Errno::ENOTTY)), "{}", ioctl.c_name);
    }
    for number in [0xc020_6444_u32, 0xc008_6445, 0xc020_6446, 0xc018_6447] {
        let argument = vec![0; usize::from(Number::decode(number).size)];
        assert_eq!(
            attempt(&mut driver, file, number, argument),
            Poll::Ready(Err(Errno::EINVAL)),
            "{number:#x}"
        );
    }
}

#[test]
fn argument_that_is_not_as_long_as_its_number_says_is_no_call() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    for ioctl in all() {
        for bytes in [0, ioctl.structure.size - 1, ioctl.structure.size + 1] {
            let answer = attempt(&mut driver, file, ioctl.number, vec![0; bytes]);
            assert_eq!(answer, Poll::Ready(Err(Errno::ENOTTY)), "{} {bytes}", ioctl.c_name);
        }
    }
}

#[test]
fn every_reserved_bit_that_is_set_is_einval_before_anything_else() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    for ioctl in all() {
        for field in ioctl.structure.fields.iter().filter(|field| field.is_reserved()) {
            for bit in 0..8 * field.size {
                let mut argument = vec![0; ioctl.structure.size];
                argument[field.offset + bit / 8] = 1 << (bit % 8);
                let answer = attempt(&mut driver, file, ioctl.number, argument);
                assert_eq!(answer, Poll::Ready(Err(Errno::EINVAL)), "{}.{} {bit}", ioctl.c_name, field.name);
            }
        }
    }
}

#[test]
fn call_on_a_file_that_was_closed_or_never_opened_is_enodev() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    driver.close(file);
    for ioctl in all() {
        for file in [file, FileId(99)] {
            let answer = attempt(&mut driver, file, ioctl.number, vec![0; ioctl.structure.size]);
            assert_eq!(answer, Poll::Ready(Err(Errno::ENODEV)), "{}", ioctl.c_name);
        }
    }
}

#[test]
fn no_bytes_of_an_argument_make_the_driver_panic() {
    let (mut driver, _) = driver();
    let extremes = [0, 1, 2, 0x7f, 0x80, 0xff];
    for ioctl in all() {
        for at in 0..ioctl.structure.size {
            for byte in extremes {
                for fill in [0, 0xff, 1] {
                    let file = open(&mut driver);
                    let mut argument = vec![fill; ioctl.structure.size];
                    argument[at] = byte;
                    let _ = attempt(&mut driver, file, ioctl.number, argument);
                    driver.close(file);
                }
            }
        }
    }
}

#[test]
fn file_beyond_the_last_is_refused_and_the_others_stay() {
    let (mut driver, _) = driver();
    let who = Credentials { process: 1, user: STRANGER };
    let files: Vec<FileId> = std::iter::from_fn(|| driver.open(who).ok()).collect();
    assert_eq!(files.len(), 4096);
    assert_eq!(driver.open(who), Err(Errno::ENOMEM));
    driver.close(files[7]);
    assert!(driver.open(who).is_ok_and(|file| !files.contains(&file)));
}
