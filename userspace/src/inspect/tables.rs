//! What each context has mapped where.

use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::dart::stream::StreamId;
use serde::{Deserialize, Serialize};

use crate::daemon::EmbeddedDriver;

/// Every context in use, and the regions of the firmware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// The contexts.
    pub contexts: Vec<ContextTables>,
    /// The regions of loaded programs and where the aperture has them.
    pub regions: Vec<Region>,
}

/// A context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextTables {
    /// Its name: base, or iso1 to iso7.
    pub name: String,
    /// The stream of the DART that it is.
    pub stream: u8,
    /// The processes whose files have it.
    pub processes: Vec<u32>,
    /// What the driver says is mapped, by rising address.
    pub mappings: Vec<Mapping>,
    /// What the tables in memory say, for each window that translates the stream.
    pub translations: Vec<Translation>,
}

/// A mapping, by the driver's books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First device address.
    pub address: u32,
    /// Bytes.
    pub bytes: u32,
    /// What it is for.
    pub usage: String,
    /// Its number in its buffer.
    pub mapping: u32,
}

/// The tables of a stream in one window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Translation {
    /// The window.
    pub window: String,
    /// The table base, as the register has it.
    pub base: u32,
    /// What is mapped, pages that follow each other on both sides together.
    pub runs: Vec<MappedRun>,
    /// Entries that are neither empty nor well formed.
    pub malformed: u32,
}

/// Pages that follow each other in both spaces, and are for one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedRun {
    /// First device address.
    pub address: u32,
    /// First physical address.
    pub physical: u64,
    /// Bytes: whole pages.
    pub bytes: u64,
    /// The engine may read.
    pub reads: bool,
    /// The engine may write.
    pub writes: bool,
    /// The usage under which the driver mapped it; `None` of what is no client's, such as the driver's own pages.
    pub role: Option<String>,
}

/// A program's region, and where the firmware's aperture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// First device address.
    pub dva_base: u64,
    /// Bytes.
    pub bytes: u64,
    /// First address in the aperture.
    pub mapped_base: u64,
}

impl Tables {
    /// As they are now.
    pub fn of(driver: &mut EmbeddedDriver) -> Self {
        let regions = driver.loads().map(|load| Region {
            dva_base: load.config.dva_base.get(),
            bytes: load.config.region_size.get(),
            mapped_base: load.config.mapped_base.get(),
        });
        let regions = regions.collect();
        let contexts = driver.contexts();
        let ane = driver.bus_mut().device_mut().ane();
        let contexts = contexts.into_iter().map(|info| {
            let mut mappings: Vec<Mapping> = info
                .mappings
                .iter()
                .map(|mapping| Mapping {
                    address: mapping.range.base().0,
                    bytes: mapping.range.len(),
                    usage: mapping.usage.to_string(),
                    mapping: mapping.mapping,
                })
                .collect();
            mappings.sort_by_key(|mapping| mapping.address);
            let stream = info.context.stream();
            let translations = Window::CARRYING_DMA
                .into_iter()
                .filter_map(|window| translation(ane, window, stream, &mappings))
                .collect();
            ContextTables {
                name: info.context.label().to_string(),
                stream: stream.number(),
                processes: info.processes,
                mappings,
                translations,
            }
        });
        Self { contexts: contexts.collect(), regions }
    }
}

fn translation(
    ane: &ane_device::Ane<vm_memory::GuestMemoryMmap>,
    window: Window,
    stream: StreamId,
    mappings: &[Mapping],
) -> Option<Translation> {
    let tables = ane.dart().tables(ane.memory(), window, stream)?;
    let runs = tables.runs.iter().flat_map(|run| {
        let end = u64::from(run.iova.0) + u64::from(run.pages) * u64::from(PAGE_SIZE);
        pieces(u64::from(run.iova.0), end, mappings).into_iter().map(move |(start, bytes, role)| MappedRun {
            // Device addresses have 32 bits, and pieces lie in their run.
            address: start as u32,
            physical: run.page.0 + (start - u64::from(run.iova.0)),
            bytes,
            reads: run.protection.device_reads(),
            writes: run.protection.device_writes(),
            role,
        })
    });
    Some(Translation {
        window: window.name().to_owned(),
        base: tables.base.into_bits(),
        runs: runs.collect(),
        malformed: tables.malformed,
    })
}

/// A run, cut where mappings begin and end: start, bytes, and the usage of the mapping that is there.
fn pieces(start: u64, end: u64, mappings: &[Mapping]) -> Vec<(u64, u64, Option<String>)> {
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
}
