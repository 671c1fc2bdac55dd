//! Both ends of a box, in one process and in two threads.

use std::thread;
use std::time::Duration;

use super::*;

const LONG: Duration = Duration::from_secs(60);

fn pair() -> (Serving, Asking) {
    let serving = Serving::new().unwrap();
    let asking = Asking::over(serving.file().try_clone_to_owned().unwrap()).unwrap();
    (serving, asking)
}

#[test]
fn message_and_answer_pass_whole() {
    let (mut serving, asking) = pair();
    assert!(asking.is_answered(), "nothing was asked");
    assert_eq!(asking.ask(b"question"), Some(false), "the daemon looks by itself");
    assert!(!asking.is_answered());
    let mut message = Vec::new();
    assert_eq!(serving.take(&mut message), Ok(true));
    assert_eq!(message, b"question");
    assert_eq!(serving.take(&mut message), Ok(false), "it was taken");
    assert!(serving.answer(b"a longer answer"));
    assert_eq!(asking.wait(Duration::ZERO, LONG), Waited::Answered);
    assert_eq!(asking.answer(&mut [0; 64]), Some(&b"a longer answer"[..]));
}

#[test]
fn daemon_that_rests_has_to_be_told() {
    let (serving, asking) = pair();
    assert!(serving.rest());
    assert_eq!(asking.ask(b"first"), Some(true));
    serving.watch();
    assert!(!serving.rest(), "a message came before it slept");
}

#[test]
fn message_or_answer_too_long_for_the_box_is_not_laid_in() {
    let (serving, asking) = pair();
    assert_eq!(asking.ask(&[0; MESSAGE_MAX + 1]), None);
    assert!(asking.is_answered());
    assert!(!serving.answer(&[0; ANSWER_MAX + 1]));
    assert_eq!(asking.ask(&[7; MESSAGE_MAX]), Some(false));
    assert!(serving.answer(&[7; ANSWER_MAX]));
}

#[test]
fn length_that_no_message_has_is_refused() {
    let (mut serving, asking) = pair();
    asking.ask(b"short");
    for claimed in [MESSAGE_MAX as u32 + 1, u32::MAX] {
        asking.memory.store(ASKED + LENGTH, claimed);
        asking.memory.store(ASKED, asking.memory.load(ASKED).wrapping_add(1));
        assert_eq!(serving.take(&mut Vec::new()), Err(claimed));
    }
    asking.memory.store(ANSWERED + LENGTH, u32::MAX);
    assert_eq!(asking.answer(&mut [0; BYTES]), None);
}

#[test]
fn answer_that_does_not_come_is_not_waited_for_longer_than_said() {
    let (_serving, asking) = pair();
    asking.ask(b"question");
    assert_eq!(asking.wait(Duration::ZERO, Duration::from_millis(1)), Waited::TimedOut);
}

#[test]
fn memory_cannot_be_shortened() {
    let (serving, _) = pair();
    let file = std::fs::File::from(serving.file().try_clone_to_owned().unwrap());
    assert_eq!(file.set_len(0).unwrap_err().raw_os_error(), Some(nix::libc::EPERM));
}

#[test]
fn thousands_of_messages_pass_in_order_whoever_sleeps() {
    const ROUNDS: u32 = 4000;
    let (mut serving, asking) = pair();
    let (told, tell) = nix::unistd::pipe().unwrap();
    let daemon = thread::spawn(move || {
        let (mut message, mut served) = (Vec::new(), 0);
        while served < ROUNDS {
            if !serving.take(&mut message).unwrap() {
                // Every other time it goes to sleep at once, until it is told.
                if served % 2 == 0 && serving.rest() {
                    nix::unistd::read(&told, &mut [0]).unwrap();
                    serving.watch();
                }
                continue;
            }
            assert_eq!(message, served.to_le_bytes());
            served += 1;
            assert!(serving.answer(&served.to_le_bytes()));
        }
    });
    for round in 0..ROUNDS {
        if asking.ask(&round.to_le_bytes()).unwrap() {
            nix::unistd::write(&tell, &[0]).unwrap();
        }
        let look = Duration::from_micros(u64::from(round % 3));
        assert_eq!(asking.wait(look, LONG), Waited::Answered);
        assert_eq!(asking.answer(&mut [0; 4]), Some(&(round + 1).to_le_bytes()[..]));
    }
    daemon.join().unwrap();
}
