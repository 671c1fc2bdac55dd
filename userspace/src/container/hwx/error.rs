//! How an HWX can be wrong.

use thiserror::Error;

use super::super::bytes::{Outside, Place};
use super::super::limits::{BUFFER_BYTES_MAX, Exceeded};
use super::super::program::Direction;
use super::macho::SectionName;

/// The address that two parts of an HWX share, and must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOf {
    Link,
    File,
}

impl AddressOf {
    const fn noun(self) -> &'static str {
        match self {
            Self::Link => "link address",
            Self::File => "file offset",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    #[error(transparent)]
    Outside(#[from] Outside),
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    #[error("cputype at 0x4 is {cputype:#x}, a program for the engine has 0x80")]
    CpuType { cputype: u32 },
    #[error(
        "cpusubtype at 0x8 is {subtype:#x}, which is no known engine generation: \
         4 is h13, and 5, 6, 7, 9, 10 and 11 are h14 to h18g"
    )]
    CpuSubtype { subtype: u32 },
    #[error("filetype at 0xc is {filetype:#x}, a program has 2")]
    FileType { filetype: u32 },
    #[error("ncmds at 0x10 is {count}, at most {max} load commands are read")]
    TooManyCommands { count: u32, max: u32 },
    #[error(
        "load command {index} at {at:#x}: the load commands end at {end:#x}, but ncmds at 0x10 is {count}"
    )]
    NoCommand { index: u32, at: u64, end: u64, count: u32 },
    #[error("load command {index} at {at:#x}: cmdsize {size:#x} is shorter than its header")]
    CommandTooShort { index: u32, at: u64, size: u32 },
    #[error(
        "load command {index} at {at:#x}: cmdsize {size:#x} leaves the load commands, which end at {end:#x}"
    )]
    CommandTooLong { index: u32, at: u64, size: u32, end: u64 },
    #[error("{place}: nsects is {count}, {room} sections fit")]
    TooManySections { place: Place, count: u32, room: u64 },
    #[error("section {section}: {size:#x} bytes at {what} {start:#x} wrap around", what = what.noun())]
    SectionWraps { section: SectionName, what: AddressOf, start: u64, size: u64 },
    #[error(
        "section {section}: its {size:#x} bytes at file offset {start:#x} leave the file of {file:#x} bytes"
    )]
    SectionOutsideFile { section: SectionName, start: u64, size: u64, file: u64 },
    #[error("sections {first} and {second} overlap at {what} {start:#x}", what = what.noun())]
    SectionsOverlap { first: SectionName, second: SectionName, what: AddressOf, start: u64 },
    #[error(
        "none of the {commands} load commands from 0x20 on is a program descriptor (a thread command of flavor 1)"
    )]
    NoProgram { commands: usize },
    #[error("{place}: second program descriptor; objects with several procedures are not read")]
    SecondProgram { place: Place },
    #[error(
        "program descriptor: the task stream's link address {link:#x} at {at:#x} is in no section with content"
    )]
    NoStream { at: u64, link: u64 },
    /// Next pointers would be relative to something else than the task stream.
    #[error("program descriptor: BAR 0 at {at:#x} has link address {bar:#x}, the task stream {stream:#x}")]
    StreamIsNotBar0 { at: u64, bar: u64, stream: u64 },
    #[error(
        "program descriptor: BARs {first} and {second} have the same link address {link:#x}, the second at {at:#x}"
    )]
    BarTwice { at: u64, first: u8, second: u8, link: u64 },
    #[error("{place}: the name {name:?} was used before")]
    NameTwice { place: Place, name: String },
    #[error("{place}: the object has more than {max} tensor descriptors")]
    TooManyTensors { place: Place, max: usize },
    #[error(
        "{place}: no symbol gives the link address of {name:?}, to which the name offset at {at:#x} leads, nor of the \
         part of it in front of an @"
    )]
    NoSymbol { place: Place, at: u64, name: String },
    #[error("{place}: direction at {at:#x} is {code:#x}, 1 is input and 2 is output")]
    Direction { place: Place, at: u64, code: u32 },
    #[error("{place}: {axis} of {name:?} at {at:#x} is 0")]
    EmptyAxis { place: Place, name: String, axis: &'static str, at: u64 },
    #[error("{place}: {direction} {name:?}: no BAR has its link address {link:#x}", direction = direction.name())]
    Unbound { place: Place, direction: Direction, name: String, link: u64 },
    #[error("{place}: {direction} {name:?}: its link address {link:#x} is that of {other}", direction = direction.name())]
    Taken { place: Place, direction: Direction, name: String, link: u64, other: &'static str },
    #[error(
        "{place}: {direction} {name:?}: its buffer has more than {BUFFER_BYTES_MAX:#x} bytes, all that the engine can address",
        direction = direction.name()
    )]
    SurfaceTooLong { place: Place, direction: Direction, name: String },
    #[error(
        "section {section}: {size:#x} bytes are more than {BUFFER_BYTES_MAX:#x}, all that the engine can address"
    )]
    SectionTooLong { section: SectionName, size: u64 },
}
