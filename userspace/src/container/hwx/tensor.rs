//! Operands as an HWX describes them: the tensor descriptor and the symbol.
//!
//! The tensor descriptor, a thread command of flavor 3, has name, direction, shape and strides but no address. A
//! symbol command has the link address. Older compilers give both the same name, such as `probs@output`. Newer ones
//! call the symbol `probs` only: what follows the `@` is the role of the tensor (delta C13, derived). So a tensor
//! belongs to the symbol of its whole name, else to that of the part in front of the `@`, and is called like it.
//!
//! Offsets are from the start of the load command (td 2.1, derived). A command is as long as its name needs, in
//! steps of 8 bytes; a name that fills it to the last byte has no zero behind it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::bytes::{Place, Reader, until_nul};
use super::super::excerpt::excerpt;
use super::super::program::{Axes, Direction, Element, Warning};
use super::error::ReadError;
use super::macho::{LC_SURFACE_32, LC_SURFACE_64, LC_THREAD, Object};

/// Thread flavor of a tensor descriptor.
pub(super) const FLAVOR: u32 = 3;

/// Most tensor descriptors that are read (derived): the BAR table has no more entries.
const TENSORS_MAX: usize = 256;

/// One operand, before it is known which BAR carries it.
#[derive(Clone, Debug)]
pub(super) struct UnresolvedTensor<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) direction: Direction,
    pub(super) element: Element,
    pub(super) shape: Axes<u32>,
    pub(super) strides: Axes<u64>,
    pub(super) total_bytes: u64,
    /// Address at which its section was linked.
    pub(super) link: u64,
    /// The tensor descriptor, for messages.
    pub(super) place: Place,
}

pub(super) fn tensors<'a>(
    object: &Object<'a>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<UnresolvedTensor<'a>>, ReadError> {
    let symbols = symbols(object)?;
    let mut names = BTreeSet::new();
    let mut tensors = Vec::new();
    for command in object.commands_of(LC_THREAD) {
        if command.flavor()? != FLAVOR {
            continue;
        }
        let place = command.body.place;
        if tensors.len() == TENSORS_MAX {
            return Err(ReadError::TooManyTensors { place, max: TENSORS_MAX });
        }
        let raw = name(&command.body, 0x20)?;
        let found =
            [raw, in_front_of_role(raw)].into_iter().find_map(|name| Some((name, *symbols.get(name)?)));
        let (raw, link) = found.ok_or_else(|| {
            let name = excerpt(&String::from_utf8_lossy(raw));
            ReadError::NoSymbol { place, at: command.body.offset(0x20), name }
        })?;
        let text = String::from_utf8_lossy(raw);
        if !names.insert(raw) {
            return Err(ReadError::NameTwice { place, name: excerpt(&text) });
        }
        warnings.extend(fifth_extent(&command.body, &text)?);
        tensors.push(tensor(&command.body, text, link)?);
    }
    Ok(tensors)
}

fn symbols<'a>(object: &Object<'a>) -> Result<BTreeMap<&'a [u8], u64>, ReadError> {
    /// The same place for either width.
    const LINK_AT: u64 = 0x10;

    let mut symbols = BTreeMap::new();
    for command in &object.commands {
        let body = &command.body;
        let link = match command.command {
            LC_SURFACE_32 => body.u32(LINK_AT, "link address")?.into(),
            LC_SURFACE_64 => body.u64(LINK_AT, "link address")?,
            _ => continue,
        };
        let raw = name(body, 0x08)?;
        if symbols.insert(raw, link).is_some() {
            let name = excerpt(&String::from_utf8_lossy(raw));
            return Err(ReadError::NameTwice { place: body.place, name });
        }
    }
    Ok(symbols)
}

/// The name whose offset from the start of the load command is at `at`.
fn name<'a>(body: &Reader<'a>, at: u64) -> Result<&'a [u8], ReadError> {
    let start = u64::from(body.u32(at, "name offset")?);
    Ok(until_nul(body.rest(start, "name")?))
}

/// The name without its role: `probs` of `probs@output`. A name that begins with an `@` is whole.
fn in_front_of_role(name: &[u8]) -> &[u8] {
    let at = name.iter().rposition(|&byte| byte == b'@').filter(|&at| at > 0);
    at.and_then(|at| name.get(..at)).unwrap_or(name)
}

fn tensor<'a>(body: &Reader<'a>, name: Cow<'a, str>, link: u64) -> Result<UnresolvedTensor<'a>, ReadError> {
    Ok(UnresolvedTensor {
        direction: direction(body)?,
        element: Element::from_code(body.u32(0x24, "element code")?),
        shape: Axes {
            n: axis(body, &name, 0x28, "N")?,
            c: axis(body, &name, 0x2c, "C")?,
            h: axis(body, &name, 0x30, "H")?,
            w: axis(body, &name, 0x34, "W")?,
        },
        strides: Axes {
            n: body.u64(0x50, "N stride")?,
            c: body.u64(0x58, "C stride")?,
            h: body.u64(0x60, "H stride")?,
            w: body.u64(0x68, "W stride")?,
        },
        total_bytes: body.u64(0x70, "total bytes")?,
        name,
        link,
        place: body.place,
    })
}

/// The word behind N, C, H and W. It is 1 in all objects of the compiler; an axis of more elements would not be seen.
fn fifth_extent(body: &Reader<'_>, name: &str) -> Result<Option<Warning>, ReadError> {
    const AT: u64 = 0x38;
    let count = body.u32(AT, "word behind the extents")?;
    let warning = || Warning::FifthExtent { name: excerpt(name), at: body.offset(AT), count };
    Ok((count > 1).then(warning))
}

fn direction(body: &Reader<'_>) -> Result<Direction, ReadError> {
    const AT: u64 = 0x14;
    let place: Place = body.place;
    match body.u32(AT, "direction")? {
        1 => Ok(Direction::Input),
        2 => Ok(Direction::Output),
        code => Err(ReadError::Direction { place, at: body.offset(AT), code }),
    }
}

fn axis(body: &Reader<'_>, name: &str, at: u64, axis: &'static str) -> Result<u32, ReadError> {
    match body.u32(at, axis)? {
        0 => Err(ReadError::EmptyAxis { place: body.place, name: excerpt(name), axis, at: body.offset(at) }),
        count => Ok(count),
    }
}
