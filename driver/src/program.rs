//! Programs: what need not be done for each request is done once.
//!
//! The load of one matrix multiplication with activation has nine buffers: input, output, weights, text, constants,
//! intermediate, working set, and the firmware's two surfaces. Creating a program maps them all, where they stay,
//! asserts that each has an address that fits 32 bits, and does the firmware's share: the region that the buffers
//! span is given a place in the firmware's aperture, and each tile's address there is
//! `mappedBase + (iova - dvaBase)`. A request computes nothing of that again; it copies the base addresses.
//!
//! Where the aperture has a region moves with each load, so that no constant leads from one space to the other. The
//! high half is the one that was seen, `0x1bc4`; what stands below is counted on from load to load (Chosen).

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::program::{ApertureConfig, Record, Target};
use ane_uapi::hw::rebase::{ClampedBuffer, clamp, rebase_range};
use ane_uapi::hw::space::{ApertureAddr, EngineOffset, Iova, IovaRange};
use ane_uapi::hw::td;
use ane_uapi::hw::tm::RequestInfo;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::errno::Errno;

use crate::bo::{BufferId, Use};
use crate::front::FileId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramId(u32);

/// The high half of the firmware's aperture, as it was seen (seed 000; measured).
const APERTURE: u64 = 0x1bc4_0000_0000;

/// A buffer of a program, where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) usage: Usage,
    pub(crate) used: Use,
    /// The mapping was made for the program alone.
    pub(crate) is_own_mapping: bool,
    /// The part of the mapping that the program uses.
    pub(crate) range: IovaRange,
}

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) file: FileId,
    pub(crate) parts: Vec<Part>,
    /// The base addresses of the program.
    pub(crate) bars: [Iova; BarIndex::COUNT as usize],
    /// The text's buffer, and where in it the first descriptor stands.
    pub(crate) text: (BufferId, u64),
    pub(crate) info: RequestInfo,
    pub(crate) nid: Option<Nid>,
    pub(crate) pool: u32,
    /// Buffers of pools that it is bound to: BAR, pool and buffer.
    pub(crate) pooled: Vec<(BarIndex, u32, u32)>,
    /// The firmware's share.
    pub(crate) load: Load,
    /// Requests that have not ended.
    pub(crate) in_flight: u32,
    pub(crate) is_destroyed: bool,
}

/// The firmware's record of a loaded program.
#[derive(Clone, Debug)]
pub struct Load {
    /// The region and where the aperture has it.
    pub config: ApertureConfig,
    /// The register writes of the program's text: which circuit streams from where.
    pub records: Vec<Record>,
}

#[derive(Debug, Default)]
pub(crate) struct Programs {
    places: Vec<Option<Program>>,
    /// Where in the aperture the next load goes.
    next: u64,
}

impl Programs {
    pub(crate) fn insert(&mut self, program: Program) -> ProgramId {
        let index = self.places.iter().position(Option::is_none).unwrap_or_else(|| {
            self.places.push(None);
            self.places.len().saturating_sub(1)
        });
        if let Some(place) = self.places.get_mut(index) {
            *place = Some(program);
        }
        ProgramId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(crate) fn loads(&self) -> impl Iterator<Item = &Load> {
        self.places.iter().flatten().map(|program| &program.load)
    }

    pub(crate) fn get_mut(&mut self, id: ProgramId) -> Option<&mut Program> {
        self.places.get_mut(id.0 as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, id: ProgramId) -> Option<Program> {
        self.places.get_mut(id.0 as usize)?.take()
    }

    /// One request more of a program has not ended.
    pub(crate) fn begin(&mut self, id: ProgramId) -> Option<&Program> {
        let program = self.get_mut(id)?;
        program.in_flight = program.in_flight.saturating_add(1);
        Some(program)
    }

    /// The firmware's share of a load: where its region goes in the aperture, and the records of its text. `EINVAL` if
    /// a part leaves the region or has an address that does not fit 32 bits: what the allocator hands out does neither.
    pub(crate) fn load(&mut self, parts: &[Part]) -> Result<Load, Errno> {
        let first = parts.iter().map(|part| part.range.base().0).min().ok_or(Errno::EINVAL)?;
        let last = parts.iter().map(|part| part.range.end().0).max().ok_or(Errno::EINVAL)?;
        let bytes = u64::from(last.saturating_sub(first));
        let step = bytes.next_multiple_of(PAGE_SIZE.into()).saturating_add(PAGE_SIZE.into());
        if self.next.saturating_add(step) > 1 << 32 {
            self.next = 0;
        }
        let config = ApertureConfig {
            dva_base: u64::from(first).into(),
            region_size: bytes.into(),
            mapped_base: (APERTURE | self.next).into(),
        };
        self.next = self.next.saturating_add(step);
        let mut tiles = Vec::with_capacity(parts.len());
        for part in parts {
            if let Some(kind) = clamped(part.usage) {
                clamp(kind, part.range.base().0.into()).map_err(|_| Errno::EINVAL)?;
            }
            tiles.push((part.usage, rebase_range(&config, part.range).map_err(|_| Errno::EINVAL)?));
        }
        Ok(Load { config, records: records(&tiles) })
    }
}

/// The kind of buffer whose address has to fit 32 bits; the firmware's own are not asserted.
const fn clamped(usage: Usage) -> Option<ClampedBuffer> {
    match usage {
        Usage::Input => Some(ClampedBuffer::Chained),
        Usage::Output => Some(ClampedBuffer::Output),
        Usage::Intermediate => Some(ClampedBuffer::Intermediate),
        Usage::Weights | Usage::Constants => Some(ClampedBuffer::Weights),
        Usage::Program => Some(ClampedBuffer::Text),
        Usage::SharedSurface | Usage::ResidentHeap => None,
    }
}

/// The register by which a circuit is told where its tiles are (Chosen: the first address of each circuit's).
const fn register(target: Target) -> EngineOffset {
    let record = match target {
        Target::Weights => td::kernel_dma::COEFF_BASE_ADDR.offset(),
        Target::TileReader => td::tile_source::BASE_ADDR1.offset(),
        Target::TileWriter => td::tile_destination::BASE_ADDR.offset(),
    };
    EngineOffset(td::BASE.0.saturating_add(record))
}

/// The records of a program's text: of each circuit its tiles, two to a record.
fn records(tiles: &[(Usage, ApertureAddr)]) -> Vec<Record> {
    let circuits: [(Target, &[Usage]); 3] = [
        (Target::Weights, &[Usage::Weights, Usage::Constants]),
        (Target::TileReader, &[Usage::Input]),
        (Target::TileWriter, &[Usage::Output]),
    ];
    let mut records = Vec::new();
    for (target, usages) in circuits {
        let of_circuit: Vec<ApertureAddr> =
            tiles.iter().filter(|(usage, _)| usages.contains(usage)).map(|&(_, tile)| tile).collect();
        for pair in of_circuit.chunks(2) {
            if let Some(&first) = pair.first() {
                records.push(Record::new(register(target), first, pair.get(1).copied()));
            }
        }
    }
    records
}
