//! The Mach-O frame of an HWX: header, load commands, segments, sections.

use std::fmt;

use super::super::bytes::{Outside, Place, Reader, until_nul};
use super::super::program::Generation;
use super::error::{AddressOf, ReadError};

/// `cputype` of the engine (derived, td 2.1).
const CPU_TYPE: u32 = 0x80;

/// `filetype` of a program (derived, td 2.1).
const FILE_TYPE: u32 = 2;

/// Bytes of the file header, behind which the load commands start (Mach-O).
const HEADER_BYTES: u64 = 0x20;

/// Symbol table; names nothing that execution needs.
pub(super) const LC_SYMTAB: u32 = 0x02;
/// Thread: a program or a tensor descriptor, by its flavor.
pub(super) const LC_THREAD: u32 = 0x04;
/// Name and 32-bit link address of an operand (older compilers).
pub(super) const LC_SURFACE_32: u32 = 0x06;
pub(super) const LC_BANNER: u32 = 0x08;
pub(super) const LC_SEGMENT_64: u32 = 0x19;
/// Name and 64-bit link address of an operand (macOS 14 and later).
pub(super) const LC_SURFACE_64: u32 = 0x40;

/// Most load commands that are read (chosen). A program with all 28 operands of BARs has about a hundred.
const COMMANDS_MAX: u32 = 4096;

/// Most sections that are read (chosen): one for each load command would be plenty.
const SECTIONS_MAX: usize = COMMANDS_MAX as usize;

/// A Mach-O in which every load command and section lies where it says.
#[derive(Debug)]
pub(super) struct Object<'a> {
    pub(super) generation: Generation,
    pub(super) commands: Vec<LoadCommand<'a>>,
    pub(super) sections: Vec<Section<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LoadCommand<'a> {
    pub(super) command: u32,
    /// The whole command, its header included.
    pub(super) body: Reader<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    pub(super) index: u32,
    pub(super) at: u64,
}

impl LoadCommand<'_> {
    /// Bytes of a load command's header: what it is and how long.
    pub(super) const HEADER: u64 = 8;

    pub(super) const fn located(&self) -> Located {
        match self.body.place {
            Place::LoadCommand { index, at } => Located { index, at },
            Place::File => Located { index: 0, at: 0 },
        }
    }

    /// The kind of a thread command's contents.
    pub(super) fn flavor(&self) -> Result<u32, Outside> {
        self.body.u32(0x08, "thread flavor")
    }
}

/// Segment and section name, each up to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SectionName {
    segment: [u8; 16],
    section: [u8; 16],
}

impl SectionName {
    pub(super) fn segment(&self) -> &[u8] {
        until_nul(&self.segment)
    }

    pub(super) fn section(&self) -> &[u8] {
        until_nul(&self.section)
    }
}

impl fmt::Display for SectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.segment().escape_ascii(), self.section().escape_ascii())
    }
}

impl fmt::Debug for SectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    pub(super) name: SectionName,
    /// Address at which it was linked.
    pub(super) link: u64,
    pub(super) size: u64,
    file_offset: u64,
    /// Its bytes; `None` if the file holds none for it, as for operands and scratch.
    pub(super) content: Option<&'a [u8]>,
}

impl<'a> Object<'a> {
    pub(super) fn read(file: Reader<'a>) -> Result<Self, ReadError> {
        let cputype = file.u32(0x04, "cputype")?;
        if cputype != CPU_TYPE {
            return Err(ReadError::CpuType { cputype });
        }
        let subtype = file.u32(0x08, "cpusubtype")?;
        let generation = Generation::try_from(subtype).map_err(|_| ReadError::CpuSubtype { subtype })?;
        let filetype = file.u32(0x0c, "filetype")?;
        if filetype != FILE_TYPE {
            return Err(ReadError::FileType { filetype });
        }
        let commands = commands(file)?;
        let sections = sections(file, &commands)?;
        Ok(Self { generation, commands, sections })
    }

    pub(super) fn commands_of(&self, command: u32) -> impl Iterator<Item = &LoadCommand<'a>> {
        self.commands.iter().filter(move |candidate| candidate.command == command)
    }
}

fn commands<'a>(file: Reader<'a>) -> Result<Vec<LoadCommand<'a>>, ReadError> {
    let count = file.u32(0x10, "ncmds")?;
    if count > COMMANDS_MAX {
        return Err(ReadError::TooManyCommands { count, max: COMMANDS_MAX });
    }
    let total = u64::from(file.u32(0x14, "sizeofcmds")?);
    let list = file.part(Place::File, 0, HEADER_BYTES.saturating_add(total), "load commands")?;
    let mut commands = Vec::new();
    let mut at = HEADER_BYTES;
    for index in 0..count {
        let place = Place::LoadCommand { index, at };
        let header = list.part(place, at, LoadCommand::HEADER, "load command header");
        let header = header.map_err(|_| ReadError::NoCommand { index, at, end: list.len(), count })?;
        let size = header.u32(4, "cmdsize")?;
        if u64::from(size) < LoadCommand::HEADER {
            return Err(ReadError::CommandTooShort { index, at, size });
        }
        let body = list.part(place, at, size.into(), "load command");
        let body = body.map_err(|_| ReadError::CommandTooLong { index, at, size, end: list.len() })?;
        commands.push(LoadCommand { command: header.u32(0, "cmd")?, body });
        at = at.saturating_add(size.into());
    }
    Ok(commands)
}

fn sections<'a>(file: Reader<'a>, commands: &[LoadCommand<'a>]) -> Result<Vec<Section<'a>>, ReadError> {
    /// Bytes of a segment command in front of its sections (Mach-O).
    const SEGMENT_BYTES: u64 = 0x48;
    /// Bytes of one section's description (Mach-O).
    const SECTION_BYTES: u64 = 0x50;

    let mut sections = Vec::new();
    for segment in commands.iter().filter(|command| command.command == LC_SEGMENT_64) {
        let body = segment.body;
        let count = body.u32(0x40, "nsects")?;
        let room = body.len().saturating_sub(SEGMENT_BYTES) / SECTION_BYTES;
        let left = (SECTIONS_MAX - sections.len()) as u64;
        if u64::from(count) > room.min(left) {
            return Err(ReadError::TooManySections { place: body.place, count, room: room.min(left) });
        }
        for index in 0..u64::from(count) {
            let at = SEGMENT_BYTES + SECTION_BYTES * index;
            sections.push(section(file, body, at)?);
        }
    }
    let by_link = sections.iter().map(|section| (section.link, section)).collect();
    refuse_overlap(by_link, AddressOf::Link)?;
    let with_content = sections.iter().filter(|section| section.content.is_some());
    let by_offset = with_content.map(|section| (section.file_offset, section)).collect();
    refuse_overlap(by_offset, AddressOf::File)?;
    Ok(sections)
}

/// The section described at `at` of the segment command `body`.
fn section<'a>(file: Reader<'a>, body: Reader<'a>, at: u64) -> Result<Section<'a>, ReadError> {
    let name = SectionName {
        section: body.array(at, "section name")?,
        segment: body.array(at + 0x10, "segment name")?,
    };
    let link = body.u64(at + 0x20, "section address")?;
    let size = body.u64(at + 0x28, "section size")?;
    let file_offset = u64::from(body.u32(at + 0x30, "section file offset")?);
    if link.checked_add(size).is_none() {
        return Err(ReadError::SectionWraps { section: name, what: AddressOf::Link, start: link, size });
    }
    // Offset 0 is the file header, which no section starts with: it means that the file holds nothing.
    let content = match file_offset {
        0 => None,
        start => Some(file.slice(start, size, "section").map_err(|_| ReadError::SectionOutsideFile {
            section: name,
            start,
            size,
            file: file.len(),
        })?),
    };
    Ok(Section { name, link, size, file_offset, content })
}

/// Refuses two sections in one place; empty ones take no place.
fn refuse_overlap(mut sections: Vec<(u64, &Section<'_>)>, what: AddressOf) -> Result<(), ReadError> {
    sections.retain(|(_, section)| section.size > 0);
    sections.sort_by_key(|&(start, _)| start);
    for pair in sections.windows(2) {
        let [(first_start, first), (start, second)] = *pair else { continue };
        if start - first_start < first.size {
            let (first, second) = (first.name, second.name);
            return Err(ReadError::SectionsOverlap { first, second, what, start });
        }
    }
    Ok(())
}
