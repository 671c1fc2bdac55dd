//! The words that a task uses.
//!
//! Seven blocks hold words for everything that a task may be, and a task is one thing: it has one engine, a source or
//! two, ports that move something or nothing. An M1 was seen to run tasks with ones in all words of the other engine,
//! of a second source that is not there, in strides along extents of one element, and in bases of ports that move
//! nothing (delta 14; measured). So only the words that the task uses are checked.

use ane_uapi::hw::td::common::{self, TaskClass};
use ane_uapi::hw::td::l2::{self, ResultType, SourceType};
use ane_uapi::hw::td::neural::{self, NonlinearMode, OpMode};
use ane_uapi::hw::td::{kernel_dma, planar, tile_destination, tile_source};
use ane_uapi::register::{Block, Field};

use super::register_file::RegisterFile;

/// The parts that a task has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    is_neural: bool,
    has_source2: bool,
    loads1: bool,
    loads2: bool,
    stores: bool,
    has_coefficients: bool,
    brings: bool,
    has_depth: bool,
    has_groups: bool,
    takes_passed: bool,
    passes_on: bool,
}

impl Used {
    /// The parts of the task that these registers describe.
    pub(super) fn by(file: &RegisterFile) -> Self {
        let class = TaskClass::try_from(file.get(&common::CFG).class()).ok();
        let source = file.get(&l2::SOURCE_CFG);
        let result = ResultType::try_from(file.get(&l2::RESULT_CFG).result_type()).ok();
        let mac = file.get(&neural::MAC_CFG);
        let is_neural = class == Some(TaskClass::Neural);
        let has_source2 = matches!(
            class,
            Some(TaskClass::PlanarBinary | TaskClass::PlanarNormalise | TaskClass::PlanarBinaryReduce)
        );
        let has_coefficients =
            is_neural && !mac.unity_kernel() && mac.op_mode() == OpMode::MultiplyAccumulate as u8;
        let has_table = is_neural && mac.nonlinear_mode() == NonlinearMode::Table as u8;
        Self {
            is_neural,
            has_source2,
            loads1: [SourceType::LoadAndKeep as u8, SourceType::Stream as u8].contains(&source.source_type()),
            loads2: has_source2 && source.src2_in_memory(),
            stores: !matches!(result, Some(ResultType::OnChip | ResultType::Passed)),
            has_coefficients,
            brings: has_coefficients || has_table,
            has_depth: file.get(&common::IN_DEPTH).depth() > 1,
            has_groups: file.get(&common::GROUP_CONV_CFG).num_groups() > 1,
            takes_passed: source.source_type() == SourceType::Passed as u8,
            passes_on: result == Some(ResultType::Passed),
        }
    }

    /// Whether tile DMA loads source 1.
    pub(super) const fn loads1(&self) -> bool {
        self.loads1
    }

    /// Whether tile DMA loads source 2.
    pub(super) const fn loads2(&self) -> bool {
        self.loads2
    }

    /// Whether tile DMA writes the result.
    pub(super) const fn stores(&self) -> bool {
        self.stores
    }

    /// Whether kernel DMA loads coefficients or a table.
    pub(super) const fn brings(&self) -> bool {
        self.brings
    }

    /// Whether the task uses the word at record address `address`.
    pub(super) fn looks_at(&self, address: u32) -> bool {
        const DEPTHS: [u32; 3] = [
            l2::SOURCE_DEPTH_STRIDE.info.offset,
            l2::SOURCE2_DEPTH_STRIDE.info.offset,
            l2::RESULT_DEPTH_STRIDE.info.offset,
        ];
        const GROUPS: [u32; 3] = [
            l2::SOURCE_GROUP_STRIDE.info.offset,
            l2::SOURCE2_GROUP_STRIDE.info.offset,
            l2::RESULT_GROUP_STRIDE.info.offset,
        ];
        let is_in = |block: &Block| address.checked_sub(block.start).is_some_and(|inside| inside < block.len);
        let extents =
            (self.has_depth || !DEPTHS.contains(&address)) && (self.has_groups || !GROUPS.contains(&address));
        if address == common::PLANAR_MAP.offset() {
            !self.is_neural
        } else if address == neural::KERNEL_CFG.offset() {
            self.has_coefficients
        } else if (l2::SOURCE_BASE.offset()..l2::SOURCE2_BASE.offset()).contains(&address) {
            // A tensor that goes straight from task to task has no address (delta 14).
            !self.takes_passed && extents
        } else if (l2::SOURCE2_BASE.offset()..l2::RESULT_CFG.offset()).contains(&address) {
            self.has_source2 && extents
        } else if (l2::RESULT_BASE.offset()..=l2::RESULT_GROUP_STRIDE.offset()).contains(&address) {
            !self.passes_on && extents
        } else if is_in(&planar::PLANAR) {
            !self.is_neural
        } else if is_in(&neural::NEURAL) {
            self.is_neural
        } else if is_in(&kernel_dma::KERNEL_DMA) {
            self.brings
        } else if is_in(&tile_source::TILE_SOURCE) {
            self.looks_at_source(address)
        } else if is_in(&tile_destination::TILE_DESTINATION) {
            self.stores
        } else {
            extents
        }
    }

    fn looks_at_source(&self, address: u32) -> bool {
        const FIRST: [u32; 2] = [tile_source::DMA_CONFIG1.info.offset, tile_source::FMT1.info.offset];
        const SECOND: [u32; 2] = [tile_source::DMA_CONFIG2.info.offset, tile_source::FMT2.info.offset];
        if FIRST.contains(&address) {
            // Where only source 2 comes from memory, compilers turn port 1 on in mode 1 without a format (td 4.5).
            self.loads1
        } else if SECOND.contains(&address) {
            self.loads2
        } else {
            self.loads1 || self.loads2
        }
    }

    /// Whether the task uses an enumeration of a word that it uses.
    pub(super) fn looks_at_code(&self, address: u32, field: &Field) -> bool {
        address != common::CH_CFG.offset() || field.name != "second_fmt" || self.has_source2
    }
}
