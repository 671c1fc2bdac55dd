//! The mappings of each context.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::scan::{Heading, Run};
use ane_uapi::hw::dart::stream::StreamId;
use serde::Serialize;

use super::{ReportError, Source};

/// Every context in use, and the regions of the firmware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tables {
    pub contexts: Vec<ContextTables>,
    /// The regions of loaded programs and where the aperture has them.
    pub regions: Vec<Region>,
    /// The driver told what is whose; a device by itself does not know.
    pub has_owners: bool,
    /// Why the tables in memory were not told, if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// The first word on the line of a context whose requests are put off.
const WAITS: &str = "waits ";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextTables {
    /// Its name: base, or iso1 to iso7.
    pub name: String,
    /// The stream of the DART that it is.
    pub stream: u8,
    pub processes: Vec<u32>,
    /// How long the driver lets its requests wait still, and why, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// The mappings that the driver reports, by rising address.
    pub mappings: Vec<Mapping>,
    /// The mappings of the tables in memory, for each window that translates the stream.
    pub translations: Vec<Translation>,
}

/// A mapping, by the driver's books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mapping {
    /// First device address.
    pub address: u32,
    pub bytes: u32,
    pub usage: String,
    /// Its number in its buffer.
    pub mapping: u32,
}

/// The tables of a stream in one window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Translation {
    pub window: &'static str,
    /// The table base, as the register has it.
    pub base: u32,
    /// The mapped pages, those that follow each other on both sides together.
    pub runs: Vec<MappedRun>,
    /// Runs more that were not told, as there are too many.
    pub more: u32,
    /// Entries that are neither empty nor well formed.
    pub malformed: u32,
}

/// Pages that follow each other in both spaces, and are for one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedRun {
    /// First device address.
    pub address: u32,
    /// First physical address.
    pub physical: u64,
    /// Bytes: whole pages, or the part of one page that its entry opens.
    pub bytes: u64,
    pub reads: bool,
    pub writes: bool,
    /// The usage under which the driver mapped it; `None` of what is no client's, such as the driver's own pages.
    pub role: Option<String>,
}

/// A program's region, and where the firmware's aperture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// First device address.
    pub dva_base: u64,
    pub bytes: u64,
    /// First address in the aperture.
    pub mapped_base: u64,
}

impl Tables {
    pub fn of(source: &Source) -> Result<Self, ReportError> {
        let mut tables = Self::read(&source.report("tables")?)?;
        tables.has_owners = matches!(source, Source::Driver(_));
        Ok(tables)
    }

    fn read(text: &str) -> Result<Self, ReportError> {
        let mut tables = Self { contexts: Vec::new(), regions: Vec::new(), has_owners: false, unread: None };
        let mut runs: Vec<Run> = Vec::new();
        let mut open = Open::Nothing;
        for line in text.lines() {
            let nonsense = || ReportError::Nonsense { what: "tables", line: line.to_owned() };
            if let Some(inside) = line.strip_prefix("  ") {
                match open {
                    Open::Context(at) if inside.starts_with(WAITS) => {
                        tables.contexts[at].waits = inside.strip_prefix(WAITS).map(str::to_owned);
                    }
                    Open::Context(at) => {
                        tables.contexts[at].mappings.push(mapping(inside).ok_or_else(nonsense)?)
                    }
                    Open::Window(at) => {
                        let window = tables.contexts[at].translations.last_mut().ok_or_else(nonsense)?;
                        let count = |name| inside.strip_prefix(name).map(|count: &str| count.parse::<u32>());
                        match (count("more "), count("malformed ")) {
                            (Some(more), _) => window.more = more.map_err(|_| nonsense())?,
                            (_, Some(malformed)) => window.malformed = malformed.map_err(|_| nonsense())?,
                            _ => runs.push(inside.parse().map_err(|_| nonsense())?),
                        }
                    }
                    Open::Nothing => return Err(nonsense()),
                }
                continue;
            }
            tables.close(open, &mut runs);
            open = Open::Nothing;
            if let Some(context) = line.strip_prefix("context ") {
                tables.contexts.push(self::context(context).ok_or_else(nonsense)?);
                open = Open::Context(tables.contexts.len() - 1);
            } else if let Some(region) = line.strip_prefix("region ") {
                tables.regions.push(self::region(region).ok_or_else(nonsense)?);
            } else if let Some(why) = line.strip_prefix("error ") {
                tables.unread = Some(why.to_owned());
            } else {
                let heading: Heading = line.parse().map_err(|_| nonsense())?;
                let at = tables.at(heading.stream);
                tables.contexts[at].translations.push(Translation {
                    window: heading.window.name(),
                    base: heading.base.into_bits(),
                    runs: Vec::new(),
                    more: 0,
                    malformed: 0,
                });
                open = Open::Window(at);
            }
        }
        tables.close(open, &mut runs);
        Ok(tables)
    }

    /// Where a stream's context is, which nobody may have told of before.
    fn at(&mut self, stream: StreamId) -> usize {
        let known = self.contexts.iter().position(|context| context.stream == stream.number());
        known.unwrap_or_else(|| {
            let label = ContextId::of_stream(stream).map(ContextId::label);
            self.contexts.push(ContextTables {
                name: label.map_or_else(|| format!("of stream {}", stream.number()), str::to_owned),
                stream: stream.number(),
                processes: Vec::new(),
                waits: None,
                mappings: Vec::new(),
                translations: Vec::new(),
            });
            self.contexts.len() - 1
        })
    }

    /// Ends what is open: mappings come in order, and a window's runs are cut along them.
    fn close(&mut self, open: Open, runs: &mut Vec<Run>) {
        match open {
            Open::Context(at) => self.contexts[at].mappings.sort_by_key(|mapping| mapping.address),
            Open::Window(at) => {
                let ContextTables { mappings, translations, .. } = &mut self.contexts[at];
                if let Some(window) = translations.last_mut() {
                    window.runs = runs.drain(..).flat_map(|run| mapped(&run, mappings)).collect();
                }
            }
            Open::Nothing => {}
        }
    }
}

/// The item that indented lines belong to.
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    /// Mappings of the context at this place.
    Context(usize),
    /// Runs of the last window of the context at this place.
    Window(usize),
}

/// The number behind `0x`.
fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// A context such as `base processes 12,13`.
fn context(line: &str) -> Option<ContextTables> {
    let (name, processes) = line.split_once(" processes ")?;
    let context = ContextId::ALL.into_iter().find(|context| context.label() == name)?;
    let processes = processes.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let stream = context.stream().number();
    Some(ContextTables {
        name: name.to_owned(),
        stream,
        processes,
        waits: None,
        mappings: Vec::new(),
        translations: Vec::new(),
    })
}

/// A mapping such as `0x8000 bytes 0x4000 usage input tensor mapping 1`.
fn mapping(line: &str) -> Option<Mapping> {
    let (address, rest) = line.split_once(" bytes ")?;
    let (bytes, rest) = rest.split_once(" usage ")?;
    let (usage, number) = rest.rsplit_once(" mapping ")?;
    let address = u32::try_from(hexadecimal(address)?).ok()?;
    let bytes = u32::try_from(hexadecimal(bytes)?).ok()?;
    Some(Mapping { address, bytes, usage: usage.to_owned(), mapping: number.parse().ok()? })
}

/// A region such as `0x8000 bytes 0x14000 mapped 0x100008000`.
fn region(line: &str) -> Option<Region> {
    let (dva_base, rest) = line.split_once(" bytes ")?;
    let (bytes, mapped_base) = rest.split_once(" mapped ")?;
    let [dva_base, bytes, mapped_base] = [dva_base, bytes, mapped_base].map(hexadecimal);
    let (dva_base, bytes, mapped_base) = (dva_base?, bytes?, mapped_base?);
    // Both ends are addresses.
    let ends = (dva_base.checked_add(bytes), mapped_base.checked_add(bytes));
    matches!(ends, (Some(_), Some(_))).then_some(Region { dva_base, bytes, mapped_base })
}

/// A run with what it is for: in several pieces, if it is for several things.
fn mapped(run: &Run, mappings: &[Mapping]) -> Vec<MappedRun> {
    let page = u64::from(run.iova.0);
    let first = page + u64::from(run.first);
    let pieces = pieces(first, first + run.bytes(), mappings).into_iter();
    let mapped = pieces.map(|(start, bytes, role)| MappedRun {
        // Device addresses have 32 bits, and pieces lie in their run.
        address: start as u32,
        physical: run.page.0.saturating_add(start - page),
        bytes,
        reads: run.protection.device_reads(),
        writes: run.protection.device_writes(),
        role,
    });
    mapped.collect()
}

/// A run, cut where mappings, which are in order, begin and end: start, bytes, and the usage of the mapping that is there.
fn pieces(start: u64, end: u64, mappings: &[Mapping]) -> Vec<(u64, u64, Option<String>)> {
    let ends_before = |mapping: &Mapping| u64::from(mapping.address) + u64::from(mapping.bytes) <= start;
    let mappings = &mappings[mappings.partition_point(ends_before)..];
    let mappings = &mappings[..mappings.partition_point(|mapping| u64::from(mapping.address) < end)];
    let edges = mappings.iter().flat_map(|mapping| {
        let first = u64::from(mapping.address);
        [first, first + u64::from(mapping.bytes)]
    });
    let mut cuts: Vec<u64> = edges.filter(|&edge| start < edge && edge < end).chain([start, end]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let piece = |pair: &[u64]| {
        let here = |mapping: &&Mapping| {
            let first = u64::from(mapping.address);
            first <= pair[0] && pair[0] < first + u64::from(mapping.bytes)
        };
        (pair[0], pair[1] - pair[0], mappings.iter().find(here).map(|mapping| mapping.usage.clone()))
    };
    cuts.windows(2).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_cut_where_mappings_begin_and_end() {
        let mapping =
            |address, bytes, usage: &str| Mapping { address, bytes, usage: usage.into(), mapping: 0 };
        let mappings = [mapping(0x8000, 0x4000, "weights"), mapping(0xc000, 0x8000, "input tensor")];
        let cut = pieces(0x4000, 0x10000, &mappings);
        assert_eq!(
            cut,
            [
                (0x4000, 0x4000, None),
                (0x8000, 0x4000, Some("weights".to_owned())),
                (0xc000, 0x4000, Some("input tensor".to_owned()))
            ]
        );
    }

    const TOLD: &str = "\
context mapper-ane0-iso1 processes 7,8
  waits 3.5 s: its request hung
  0x8000 bytes 0x4000 usage input tensor mapping 1
  0x4000 bytes 0x4000 usage program mapping 0
region 0x4000 bytes 0x8000 mapped 0x100004000
dart0 stream 1 base 0x80000008
  0x00004000 0x0000000100000000 pages 3 rw
  more 2
  malformed 5
dart1 stream 9 base 0x80000008
";

    #[test]
    fn tables_are_read_with_what_the_driver_mapped_there() {
        let tables = Tables::read(TOLD).unwrap();
        let [context, other] = tables.contexts.as_slice() else { panic!("{tables:?}") };
        assert_eq!(
            (context.name.as_str(), context.stream, context.processes.as_slice()),
            ("mapper-ane0-iso1", 1, &[7, 8][..])
        );
        assert_eq!(context.waits.as_deref(), Some("3.5 s: its request hung"));
        let window = &context.translations[0];
        assert_eq!((window.window, window.more, window.malformed), ("dart0", 2, 5));
        let roles: Vec<_> = window.runs.iter().map(|run| (run.physical, run.role.as_deref())).collect();
        assert_eq!(
            roles,
            [(0x1_0000_0000, Some("program")), (0x1_0000_4000, Some("input tensor")), (0x1_0000_8000, None)]
        );
        assert_eq!((other.name.as_str(), tables.regions.len()), ("of stream 9", 1));
    }

    #[test]
    fn page_that_is_open_in_part_is_mapped_with_its_open_bytes_only() {
        let line = "dart0 stream 0 base 0x80000008\n  0x00004000 0x100000000 pages 1 rw open 0x10..0x20\n";
        let tables = Tables::read(line).unwrap();
        let runs = &tables.contexts[0].translations[0].runs;
        let places: Vec<_> = runs.iter().map(|run| (run.address, run.physical, run.bytes)).collect();
        assert_eq!(places, [(0x4010, 0x1_0000_0010, 0x10)]);
        let told = |address| {
            let meanings =
                super::super::explain::explain(address, ane_uapi::hw::chip::Soc::T8103, Some(&tables));
            meanings.into_iter().any(|meaning| meaning.what.iter().any(|what| what.contains("leads to")))
        };
        assert_eq!([0x400f, 0x4010, 0x401f, 0x4020].map(told), [false, true, true, false]);
    }

    #[test]
    fn line_that_does_not_belong_is_refused() {
        for text in [
            "  0x8000 bytes 0x4000 usage program mapping 1\n",
            "context iso9 processes 1\n",
            "context base processes\n",
            "context base processes 1\n  0x8000 bytes 0x4000\n",
            "dart0 stream 1 base 0x80000008\n  more or less\n",
            "region 0x8000\n",
            "region 0x0 bytes 0xffffffffffffffff mapped 0xffffffffffffffff\n",
            "region 0x1 bytes 0xffffffffffffffff mapped 0x0\n",
            "dart0 stream 1 base 0x80000008\n  0x00004000 0xffffffffffffc000 pages 1 rw\n",
            "table\n",
        ] {
            assert!(Tables::read(text).is_err(), "{text}");
        }
    }
}
