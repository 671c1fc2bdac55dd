//! The driver in front of a fake device that a test controls. Other tests have the real device.

mod calls;
mod contexts;
pub(crate) mod fake;
mod faults;
mod power;
mod probe;
mod requests;
pub(crate) mod users;

use std::task::Poll;

use ane_uapi::abi::AbiStruct;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::number::Ioctl;

use self::fake::Fake;
use self::users::STRANGER;
use crate::Driver;
use crate::clock::Manual;
use crate::front::{Call, Credentials, FileId, Files, Segments};

/// A driver and its clock.
fn driver() -> (Driver<Fake>, Manual) {
    let clock = Manual::default();
    (Driver::with_clock(Fake::new(64), Box::new(clock.clone())).unwrap(), clock)
}

fn open(driver: &mut Driver<Fake>) -> FileId {
    driver.open(Credentials { process: 1, user: STRANGER }).unwrap()
}

/// Carries out a call that ends at once.
fn ioctl<T: AbiStruct>(
    driver: &mut Driver<Fake>,
    file: FileId,
    ioctl: &Ioctl,
    argument: &mut T,
    memory: &mut Segments,
) -> Result<(), Errno> {
    let mut call = Call::new(ioctl.number, argument.as_bytes().to_vec(), std::mem::take(memory));
    let Poll::Ready(result) = driver.ioctl(file, &mut call) else { panic!("call waits") };
    *argument = T::read_from_bytes(&call.argument).unwrap();
    *memory = call.memory;
    result
}
