//! Puts the parts of an HWX together: whatever shares a link address is one thing.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::excerpt::excerpt;
use super::super::limits::{self, BARS, BUFFER_BYTES_MAX, Exceeded};
use super::super::program::{Bar, Constants, Role, Surface, Warning, extent};
use super::descriptor::ProgramDescriptor;
use super::error::ReadError;
use super::macho::{Object, Section};
use super::tensor::{UnresolvedTensor, tensors};

/// The parts of a program that follow from link addresses.
#[derive(Debug, Default)]
pub(super) struct Resolved<'a> {
    pub(super) stream: &'a [u8],
    pub(super) first_task_bytes: u32,
    pub(super) task_count: u32,
    pub(super) constants: Vec<Constants<'a>>,
    pub(super) bars: Vec<Bar>,
    pub(super) surfaces: Vec<Surface<'a>>,
}

/// Link address of each BAR that the hardware has, by index.
type Links = BTreeMap<u8, u64>;

pub(super) fn resolve<'a>(
    object: &Object<'a>,
    warnings: &mut Vec<Warning>,
) -> Result<Resolved<'a>, ReadError> {
    let descriptor = ProgramDescriptor::of(object)?;
    let stream = stream(object, &descriptor)?;
    let links = links(&descriptor, warnings)?;
    let bar_of = |link: u64| links.iter().find(|&(_, &candidate)| candidate == link).map(|(&bar, _)| bar);

    let tensors = tensors(object, warnings)?;
    let operands: BTreeSet<u64> = tensors.iter().map(|tensor| tensor.link).collect();

    let mut constants: Vec<Constants<'a>> = Vec::new();
    let mut roles = BTreeMap::from([(descriptor.stream, (Role::Tasks, stream.len() as u64))]);
    for section in object.sections.iter().filter(|section| section.link != descriptor.stream) {
        // What the table of BARs has, and is no operand, is for the tasks alone, whatever its section is called (td 2.1).
        let is_theirs =
            section.size > 0 && bar_of(section.link).is_some() && !operands.contains(&section.link);
        let role = match section.content {
            Some(bytes) if is_constants(section) || is_theirs => {
                constants.push(Constants { name: Cow::Owned(section.name.to_string()), bar: None, bytes });
                Role::Constants(constants.len() - 1)
            }
            None if section.name.segment() == b"__DATA" || is_theirs => Role::Scratch,
            _ => Role::Unassigned,
        };
        if section.size > BUFFER_BYTES_MAX && bar_of(section.link).is_some() {
            return Err(ReadError::SectionTooLong { section: section.name, size: section.size });
        }
        // An empty section may share its address with the one behind it, which is then the one meant.
        if section.size > 0 || !roles.contains_key(&section.link) {
            roles.insert(section.link, (role, section.size));
        }
    }

    let mut surfaces = Vec::new();
    for tensor in tensors {
        let link = tensor.link;
        let (role, section_bytes) = roles.get(&link).copied().unwrap_or((Role::Unassigned, 0));
        refuse_taken(&tensor, role)?;
        let surface = surface(tensor, section_bytes, bar_of, warnings)?;
        roles.insert(link, (Role::Surface(surfaces.len()), surface.buffer_bytes));
        surfaces.push(surface);
    }

    let bar = |(&index, &link): (&u8, &u64)| {
        let (role, bytes) = roles.get(&link).copied().unwrap_or_else(|| {
            warnings.push(Warning::BarWithoutSection { bar: index, link });
            (Role::Unassigned, 0)
        });
        Bar { index, role, link: Some(link), bytes }
    };
    let bars: Vec<Bar> = links.iter().map(bar).collect();
    for bar in &bars {
        if let Role::Constants(index) = bar.role
            && let Some(section) = constants.get_mut(index)
        {
            section.bar = Some(bar.index);
        }
    }

    Ok(Resolved {
        stream,
        // Checked with the stream: at most 512 words.
        first_task_bytes: (descriptor.first_task_words * 4) as u32,
        task_count: descriptor.tasks,
        constants,
        bars,
        surfaces,
    })
}

/// The task stream: from its link address to the end of the section there.
fn stream<'a>(object: &Object<'a>, descriptor: &ProgramDescriptor) -> Result<&'a [u8], ReadError> {
    let link = descriptor.stream;
    let inside = |section: &Section<'a>| {
        let start = usize::try_from(link.checked_sub(section.link)?).ok()?;
        section.content?.get(start..).filter(|bytes| !bytes.is_empty())
    };
    let stream = object
        .sections
        .iter()
        .find_map(inside)
        .ok_or(ReadError::NoStream { at: descriptor.stream_at, link })?;
    let words = descriptor.first_task_words;
    let first_bytes =
        u32::try_from(words * 4).map_err(|_| Exceeded::FirstTask { at: descriptor.first_task_at, words })?;
    let at = (descriptor.first_task_at, descriptor.tasks_at);
    limits::check_tasks(stream.len() as u64, first_bytes, descriptor.tasks, at)?;
    Ok(stream)
}

/// The BARs that the hardware has; each link address in one of them.
fn links(descriptor: &ProgramDescriptor, warnings: &mut Vec<Warning>) -> Result<Links, ReadError> {
    let mut links = Links::new();
    let mut bars = BTreeMap::new();
    for &(index, link) in &descriptor.bars {
        let Some(bar) = u8::try_from(index).ok().filter(|&bar| usize::from(bar) < BARS) else {
            warnings.push(Warning::BarBeyondHardware { bar: index, link });
            continue;
        };
        if let Some(first) = bars.insert(link, bar) {
            return Err(ReadError::BarTwice { at: descriptor.bar_at(index), first, second: bar, link });
        }
        links.insert(bar, link);
    }
    let bar = links.get(&0).copied().unwrap_or(0);
    if bar != descriptor.stream {
        return Err(ReadError::StreamIsNotBar0 { at: descriptor.bar_at(0), bar, stream: descriptor.stream });
    }
    Ok(links)
}

fn is_constants(section: &Section<'_>) -> bool {
    let (segment, name) = (section.name.segment(), section.name.section());
    (segment == b"__TEXT" && name == b"__const") || segment.starts_with(b"__KERN_")
}

/// A tensor's link address belongs to an empty section or to none.
fn refuse_taken(tensor: &UnresolvedTensor<'_>, role: Role) -> Result<(), ReadError> {
    let other = match role {
        Role::Unassigned => return Ok(()),
        Role::Tasks => "the task stream",
        Role::Constants(_) => "constants",
        Role::Scratch => "the scratch section",
        Role::Surface(_) => "another tensor",
    };
    let &UnresolvedTensor { place, direction, link, .. } = tensor;
    Err(ReadError::Taken { place, direction, name: excerpt(&tensor.name), link, other })
}

fn surface<'a>(
    tensor: UnresolvedTensor<'a>,
    section_bytes: u64,
    bar_of: impl Fn(u64) -> Option<u8>,
    warnings: &mut Vec<Warning>,
) -> Result<Surface<'a>, ReadError> {
    let UnresolvedTensor { name, direction, element, shape, strides, total_bytes, link, place } = tensor;
    let bar =
        bar_of(link).ok_or_else(|| ReadError::Unbound { place, direction, name: excerpt(&name), link })?;
    let too_long = || ReadError::SurfaceTooLong { place, direction, name: excerpt(&name) };
    let extent = extent(shape, strides, element.bytes().unwrap_or(strides.w)).ok_or_else(too_long)?;
    let buffer_bytes = extent.max(section_bytes);
    if buffer_bytes > BUFFER_BYTES_MAX {
        return Err(too_long());
    }
    if extent > section_bytes {
        warnings.push(Warning::SectionShorterThanSurface {
            direction,
            name: excerpt(&name),
            section: section_bytes,
            extent,
        });
    }
    Ok(Surface { name, direction, bar, element, shape, dims: None, strides, total_bytes, buffer_bytes })
}
