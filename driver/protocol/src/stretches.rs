//! An argument and the stretches of memory that come with it, as a call and its answer both have them.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{MESSAGE_MAX, Malformed, Rest, STRETCHES_MAX, bounded, length, reserved};

/// How long the argument is, and how many stretches there are. Behind it come a table of [`Stretch`], the argument's
/// bytes, and the bytes of each stretch.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Counts {
    argument: U32,
    stretches: U32,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Stretch {
    at: U64,
    bytes: U32,
    reserved: U32,
}

const _: () = assert!(size_of::<Counts>() == 8 && size_of::<Stretch>() == 16);

pub(super) fn write<'a>(
    into: &mut Vec<u8>,
    argument: &[u8],
    stretches: impl Iterator<Item = (u64, &'a [u8])> + Clone,
) {
    let count = length(stretches.clone().count());
    into.extend_from_slice(Counts { argument: length(argument.len()), stretches: count }.as_bytes());
    for (at, bytes) in stretches.clone() {
        let stretch = Stretch { at: U64::new(at), bytes: length(bytes.len()), reserved: U32::ZERO };
        into.extend_from_slice(stretch.as_bytes());
    }
    into.extend_from_slice(argument);
    for (_, bytes) in stretches {
        into.extend_from_slice(bytes);
    }
}

/// Reads them: the argument, and what is to be done with each stretch.
pub(super) fn read<'a>(
    rest: &mut Rest<'a>,
    mut each: impl FnMut(u64, &'a [u8]) -> Result<(), Malformed>,
) -> Result<&'a [u8], Malformed> {
    let counts = *rest.next::<Counts>("its counts")?;
    let stretches = bounded("stretches of memory", counts.stretches, STRETCHES_MAX)?;
    let table = rest.many::<Stretch>(stretches, "its table of stretches")?;
    let argument = rest.take(bounded("bytes of argument", counts.argument, MESSAGE_MAX)?, "its argument")?;
    for stretch in table {
        reserved("reserved field of a stretch", stretch.reserved)?;
        let bytes = bounded("bytes of memory", stretch.bytes, MESSAGE_MAX)?;
        each(stretch.at.get(), rest.take(bytes, "a stretch of memory")?)?;
    }
    Ok(argument)
}
