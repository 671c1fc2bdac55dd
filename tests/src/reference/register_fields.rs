//! Every field the H13 facts name, as one plain list.
//!
//! A task configures seven blocks: common, on-chip buffer (L2), planar engine, neural engine, tile DMA source, tile DMA
//! destination and kernel DMA. Each row here is a run of equal registers and one bit range inside them; [`fields`]
//! writes the runs out. Where the facts give a register a meaning but no bit range, the row covers the whole word.
//! Sources: td 3.1 for the header, td 4.1 to 4.7 for the blocks. Names are `Register.Field` in the facts' spelling.

use super::task_descriptor::FieldSpec;

/// The bit range of a word that is one field or has no named parts.
const WHOLE: (u8, u8) = (31, 0);
/// Byte addresses and strides in memory: the low six bits are ignored (td 4.5).
const MEMORY: (u8, u8) = (31, 6);
/// Byte addresses and strides on chip: sixteen-byte units, 2 MiB (td 4.2).
const ON_CHIP: (u8, u8) = (20, 4);

/// One row: first address, number of registers four bytes apart, (high, low) bit, name.
type FieldPlace = (u32, u32, (u8, u8), &'static str);

/// Common block, td 4.1.
const COMMON: &[FieldPlace] = &[
    (0x00, 1, (14, 0), "InDim.Win"),
    (0x00, 1, (30, 16), "InDim.Hin"),
    (0x04, 1, WHOLE, "InDepth"),
    (0x08, 1, (1, 0), "ChCfg.InFmt"),
    (0x08, 1, (3, 2), "ChCfg.Source2Fmt"),
    (0x08, 1, (5, 4), "ChCfg.OutFmt"),
    (0x0C, 1, (16, 0), "Cin"),
    (0x10, 1, (16, 0), "Cout"),
    (0x14, 1, (14, 0), "OutDim.Wout"),
    (0x14, 1, (30, 16), "OutDim.Hout"),
    (0x18, 1, WHOLE, "OutDepth"),
    (0x1C, 1, (4, 0), "ConvCfg.Kw"),
    (0x1C, 1, (9, 5), "ConvCfg.Kh"),
    (0x1C, 1, (12, 10), "ConvCfg.OCGSize"),
    (0x1C, 1, (14, 13), "ConvCfg.Sx"),
    (0x1C, 1, (16, 15), "ConvCfg.Sy"),
    (0x1C, 1, (21, 17), "ConvCfg.Px"),
    (0x1C, 1, (26, 22), "ConvCfg.Py"),
    (0x1C, 1, (29, 28), "ConvCfg.Ox"),
    (0x1C, 1, (31, 30), "ConvCfg.Oy"),
    (0x20, 1, WHOLE, "Conv3dCfg"),
    (0x24, 1, (12, 0), "GroupConvCfg.NumGroups"),
    (0x24, 1, (14, 14), "GroupConvCfg.UnicastEn"),
    (0x24, 1, (15, 15), "GroupConvCfg.ElemMultMode"),
    (0x24, 1, (31, 16), "GroupConvCfg.UnicastCin"),
    (0x28, 1, (14, 0), "TileCfg.TileHeight"),
    (0x2C, 1, (3, 0), "PatchCfg.Width"),
    // The facts write "4.." and stop there; the largest value seen is 0x54. Chosen: as wide as the width.
    (0x2C, 1, (7, 4), "PatchCfg.Height"),
    (0x30, 1, (0, 0), "PlanarMap.Source1Column"),
    (0x30, 1, (1, 1), "PlanarMap.Source1Row"),
    (0x30, 1, (2, 2), "PlanarMap.Source1Depth"),
    (0x30, 1, (3, 3), "PlanarMap.Source1Channel"),
    (0x30, 1, (4, 4), "PlanarMap.Source2Column"),
    (0x30, 1, (5, 5), "PlanarMap.Source2Row"),
    (0x30, 1, (6, 6), "PlanarMap.Source2Depth"),
    (0x30, 1, (7, 7), "PlanarMap.Source2Channel"),
    (0x30, 1, (8, 8), "PlanarMap.Source1Transposed"),
    (0x30, 1, (9, 9), "PlanarMap.Source2Transposed"),
    (0x30, 1, (10, 10), "PlanarMap.TransposeOutput"),
    (0x34, 1, (0, 0), "Cfg.Bit0"),
    (0x34, 1, (1, 1), "Cfg.Source2FromMemory"),
    (0x34, 1, (2, 2), "Cfg.SmallSourceMode"),
    (0x34, 1, (6, 4), "Cfg.TaskClass"),
    (0x34, 1, (10, 8), "Cfg.ShPref"),
    (0x34, 1, (14, 12), "Cfg.ShMin"),
    (0x34, 1, (18, 16), "Cfg.ShMax"),
    (0x34, 1, (21, 19), "Cfg.ActiveNE"),
    (0x34, 1, (22, 22), "Cfg.ContextSwitchIn"),
    (0x34, 1, (24, 24), "Cfg.ContextSwitchOut"),
    (0x34, 1, (26, 26), "Cfg.AccDoubleBufEn"),
    (0x34, 1, (28, 28), "Cfg.TransposeOutput"),
    (0x38, 1, (15, 0), "TaskInfo.TaskID"),
    (0x38, 1, (19, 16), "TaskInfo.TaskQ"),
    (0x38, 1, (27, 20), "TaskInfo.NID"),
    (0x3C, 1, (3, 0), "DPE.Category"),
];

/// On-chip buffer block, td 4.2.
const L2: &[FieldPlace] = &[
    (0x4800, 1, (0, 0), "L2Cfg.InputReLU"),
    (0x4800, 1, (3, 2), "L2Cfg.PaddingMode"),
    (0x4800, 1, (4, 4), "L2Cfg.Source2ReLU"),
    (0x4804, 1, (1, 0), "SourceCfg.SourceType"),
    (0x4804, 1, (3, 2), "SourceCfg.Dependent"),
    (0x4804, 1, (4, 4), "SourceCfg.AliasConvSrc"),
    (0x4804, 1, (5, 5), "SourceCfg.AliasConvRslt"),
    (0x4804, 1, (7, 6), "SourceCfg.DMAFmt"),
    (0x4804, 1, (11, 8), "SourceCfg.DMAInterleave"),
    (0x4804, 1, (15, 12), "SourceCfg.DMACmpVec"),
    (0x4804, 1, (18, 16), "SourceCfg.DMAOffsetCh"),
    (0x4804, 1, (20, 20), "SourceCfg.AliasPlanarSrc"),
    (0x4804, 1, (22, 22), "SourceCfg.AliasPlanarRslt"),
    (0x4804, 1, (24, 24), "SourceCfg.Source2FromMemory"),
    (0x4804, 1, (26, 26), "SourceCfg.Source2FromPlanar"),
    (0x4808, 1, ON_CHIP, "SourceBase"),
    (0x480C, 1, ON_CHIP, "SourceChannelStride"),
    (0x4810, 1, ON_CHIP, "SourceRowStride"),
    (0x4814, 1, ON_CHIP, "SourceDepthStride"),
    (0x4818, 1, ON_CHIP, "SourceGroupStride"),
    (0x481C, 1, ON_CHIP, "Source2Base"),
    (0x4820, 1, ON_CHIP, "Source2ChannelStride"),
    (0x4824, 1, ON_CHIP, "Source2RowStride"),
    (0x4828, 1, ON_CHIP, "Source2DepthStride"),
    (0x482C, 1, ON_CHIP, "Source2GroupStride"),
    // "4.. as SourceCfg": the fields from bit 4 on that make sense for a result; its bits 24 and 26 speak of a source.
    (0x4830, 1, (1, 0), "ResultCfg.ResultType"),
    (0x4830, 1, (3, 3), "ResultCfg.L2BfrMode"),
    (0x4830, 1, (4, 4), "ResultCfg.AliasConvSrc"),
    (0x4830, 1, (5, 5), "ResultCfg.AliasConvRslt"),
    (0x4830, 1, (7, 6), "ResultCfg.DMAFmt"),
    (0x4830, 1, (11, 8), "ResultCfg.DMAInterleave"),
    (0x4830, 1, (15, 12), "ResultCfg.DMACmpVec"),
    (0x4830, 1, (18, 16), "ResultCfg.DMAOffsetCh"),
    (0x4830, 1, (20, 20), "ResultCfg.AliasPlanarSrc"),
    (0x4830, 1, (22, 22), "ResultCfg.AliasPlanarRslt"),
    (0x4834, 1, ON_CHIP, "ResultBase"),
    (0x4838, 1, ON_CHIP, "ResultChannelStride"),
    (0x483C, 1, ON_CHIP, "ResultRowStride"),
    (0x4840, 1, ON_CHIP, "ResultDepthStride"),
    (0x4844, 1, ON_CHIP, "ResultGroupStride"),
];

/// Planar engine block, td 4.3.
const PLANAR: &[FieldPlace] = &[
    (0x8800, 1, (1, 0), "PlanarCfg.Reduction"),
    (0x8800, 1, (4, 2), "PlanarCfg.Operation"),
    (0x8800, 1, (5, 5), "PlanarCfg.ReLU"),
    (0x8800, 1, (6, 6), "PlanarCfg.Magnitude"),
    (0x8800, 1, (13, 12), "PlanarCfg.PostFunction"),
    (0x8800, 1, (16, 16), "PlanarCfg.NegateSource1"),
    (0x8800, 1, (19, 18), "PlanarCfg.Source2Selector"),
    (0x8804, 1, (15, 0), "PlanarScale.Bias"),
    (0x8804, 1, (31, 16), "PlanarScale.Scale"),
    (0x8808, 1, (15, 0), "PlanarPreScale.Epsilon"),
    (0x8808, 1, (31, 16), "PlanarPreScale.PreScale"),
    (0x880C, 1, WHOLE, "PlanarFinalScale"),
];

/// Neural engine block, td 4.4.
const NEURAL: &[FieldPlace] = &[
    (0xC800, 1, (1, 0), "KernelCfg.Format"),
    (0xC800, 1, (2, 2), "KernelCfg.Palettised"),
    (0xC800, 1, (7, 4), "KernelCfg.PaletteBits"),
    (0xC800, 1, (8, 8), "KernelCfg.SparseFormat"),
    (0xC800, 1, (10, 10), "KernelCfg.GroupKernelReuse"),
    (0xC800, 1, (12, 12), "KernelCfg.Bit12"),
    (0xC800, 1, (14, 14), "KernelCfg.Bit14"),
    (0xC800, 1, (16, 16), "KernelCfg.RuntimeBuffer"),
    (0xC804, 1, (2, 0), "MACCfg.OpMode"),
    (0xC804, 1, (3, 3), "MACCfg.KernelMode"),
    (0xC804, 1, (4, 4), "MACCfg.BiasMode"),
    (0xC804, 1, (6, 6), "MACCfg.MatrixBiasEn"),
    (0xC804, 1, (12, 8), "MACCfg.BinaryPoint"),
    (0xC804, 1, (14, 14), "MACCfg.PostScaleMode"),
    (0xC804, 1, (17, 16), "MACCfg.NonlinearMode"),
    (0xC804, 1, (20, 20), "MACCfg.Bit20"),
    (0xC808, 1, WHOLE, "MatrixVectorBias"),
    (0xC80C, 1, (15, 0), "AccBias.Value"),
    (0xC80C, 1, (20, 16), "AccBias.Shift"),
    (0xC810, 1, (15, 0), "PostScale.Multiplier"),
    (0xC810, 1, (20, 16), "PostScale.RightShift"),
];

/// Tile DMA source block, td 4.5. The second source's configuration and format words repeat the first's layout.
const TILE_SOURCE: &[FieldPlace] = &[
    (0x13800, 2, (0, 0), "SourceDMAConfig.En"),
    (0x13800, 2, (5, 4), "SourceDMAConfig.CrH"),
    (0x13800, 2, (9, 6), "SourceDMAConfig.CacheHint"),
    (0x13800, 2, (13, 10), "SourceDMAConfig.CacheHintReuse"),
    (0x13800, 2, (17, 14), "SourceDMAConfig.CacheHintNoReuse"),
    (0x13800, 2, (19, 18), "SourceDMAConfig.DependencyMode"),
    (0x13808, 1, MEMORY, "SourceBaseAddr"),
    (0x1380C, 1, MEMORY, "SourceRowStrideDMA"),
    (0x13810, 1, MEMORY, "SourcePlaneStrideDMA"),
    (0x13814, 1, MEMORY, "SourceDepthStrideDMA"),
    (0x13818, 1, MEMORY, "SourceGroupStrideDMA"),
    (0x1381C, 1, MEMORY, "Source2BaseAddr"),
    (0x13820, 1, MEMORY, "Source2RowStrideDMA"),
    (0x13824, 1, MEMORY, "Source2PlaneStrideDMA"),
    (0x13828, 1, MEMORY, "Source2DepthStrideDMA"),
    (0x1382C, 1, MEMORY, "Source2GroupStrideDMA"),
    (0x13838, 2, (1, 0), "SourceFmt.FmtMode"),
    (0x13838, 2, (5, 4), "SourceFmt.Truncate"),
    (0x13838, 2, (8, 8), "SourceFmt.Shift"),
    (0x13838, 2, (13, 12), "SourceFmt.MemFmt"),
    (0x13838, 2, (18, 16), "SourceFmt.OffsetCh"),
    (0x13838, 2, (27, 24), "SourceFmt.Interleave"),
    (0x13838, 2, (31, 28), "SourceFmt.CmpVec"),
    (0x13840, 1, WHOLE, "SourceUnnamed40"),
    (0x13850, 4, WHOLE, "PixelOffset"),
];

/// Tile DMA destination block, td 4.6.
const TILE_DESTINATION: &[FieldPlace] = &[
    (0x17800, 1, (0, 0), "DestinationDMAConfig.En"),
    (0x17800, 1, (5, 4), "DestinationDMAConfig.CrH"),
    (0x17800, 1, (9, 6), "DestinationDMAConfig.CacheHint"),
    (0x17800, 1, (26, 26), "DestinationDMAConfig.L2BfrMode"),
    (0x17800, 1, (27, 27), "DestinationDMAConfig.BypassEOW"),
    (0x17804, 1, MEMORY, "DestinationBaseAddr"),
    (0x17808, 1, MEMORY, "DestinationRowStride"),
    (0x1780C, 1, MEMORY, "DestinationPlaneStride"),
    (0x17810, 1, MEMORY, "DestinationDepthStride"),
    (0x17814, 1, MEMORY, "DestinationGroupStride"),
    (0x17818, 1, (1, 0), "DestinationFmt.FmtMode"),
    (0x17818, 1, (5, 4), "DestinationFmt.Truncate"),
    (0x17818, 1, (8, 8), "DestinationFmt.Shift"),
    (0x17818, 1, (13, 12), "DestinationFmt.MemFmt"),
    (0x17818, 1, (18, 16), "DestinationFmt.OffsetCh"),
    (0x17818, 1, (20, 20), "DestinationFmt.ZeroPadLast"),
    (0x17818, 1, (21, 21), "DestinationFmt.ZeroPadFirst"),
    (0x17818, 1, (22, 22), "DestinationFmt.CmpVecFill"),
    (0x17818, 1, (27, 24), "DestinationFmt.Interleave"),
    (0x17818, 1, (31, 28), "DestinationFmt.CmpVec"),
];

/// Kernel DMA block, td 4.7: sixteen coefficient channels and four further streams.
const KERNEL_DMA: &[FieldPlace] = &[
    (0x1F800, 1, (4, 4), "Master.GroupReuse"),
    (0x1F800, 1, (5, 5), "Master.Sparse"),
    (0x1F800, 1, (6, 6), "Master.Enable"),
    (0x1F800, 1, (13, 11), "Master.PaletteBlock"),
    (0x1F804, 1, WHOLE, "AlignedCoeffSizePerCh"),
    (0x1F808, 16, (0, 0), "CoeffDMAConfig.En"),
    (0x1F808, 16, (5, 4), "CoeffDMAConfig.CrH"),
    (0x1F808, 16, (9, 6), "CoeffDMAConfig.CacheHint"),
    (0x1F808, 16, (28, 28), "CoeffDMAConfig.PrefetchParticipateEn"),
    (0x1F848, 16, MEMORY, "CoeffBaseAddr"),
    (0x1F888, 16, WHOLE, "CoeffBfrSize"),
    (0x1F8C8, 4, WHOLE, "ExtraStreamConfig"),
    (0x1F8D8, 4, WHOLE, "ExtraStreamBase"),
    (0x1F8E8, 4, WHOLE, "ExtraStreamSize"),
];

/// Header words, td 3.1: word, high bit, low bit, name.
const HEADER: &[(u8, u8, u8, &str)] = &[
    (0, 15, 0, "TID"),
    (0, 23, 16, "NID"),
    (0, 24, 24, "LNID"),
    (0, 25, 25, "EON"),
    (1, 15, 0, "ExeCycles"),
    (1, 24, 16, "NextSize"),
    (2, 23, 0, "LogEvents"),
    (3, 23, 0, "Exceptions"),
    (4, 23, 0, "DebugLogEvents"),
    (5, 23, 0, "DebugExceptions"),
    (6, 8, 8, "DisallowAbort"),
    (6, 9, 9, "TDSkip"),
    (6, 10, 10, "KPC"),
    (6, 11, 11, "SPL"),
    (6, 12, 12, "TSR"),
    (6, 13, 13, "SPC"),
    (6, 14, 14, "DPC"),
    (6, 15, 15, "TSE"),
    (6, 21, 16, "NextPriority"),
    (6, 24, 24, "TDE"),
    (6, 28, 28, "SrcLoc"),
    (6, 29, 29, "DstLoc"),
    (6, 31, 31, "TQDis"),
    (7, 31, 0, "NextPointer"),
    (8, 4, 0, "RBase0"),
    (8, 5, 5, "RBE0"),
    (8, 10, 6, "RBase1"),
    (8, 11, 11, "RBE1"),
    (8, 16, 12, "WBase"),
    (8, 17, 17, "WBE"),
    (8, 22, 18, "TBase"),
    (8, 23, 23, "TBE"),
    (8, 26, 24, "ENE"),
    (9, 4, 0, "KBase0"),
    (9, 5, 5, "KBE0"),
    (9, 10, 6, "KBase1"),
    (9, 11, 11, "KBE1"),
    (9, 16, 12, "KBase2"),
    (9, 17, 17, "KBE2"),
    (9, 22, 18, "KBase3"),
    (9, 23, 23, "KBE3"),
    (10, 15, 0, "DTID"),
];

/// Returns every named field of the seven blocks, by record address, arrays written out element by element.
pub fn fields() -> Vec<FieldSpec> {
    let mut fields = Vec::new();
    for block in [COMMON, L2, PLANAR, NEURAL, TILE_SOURCE, TILE_DESTINATION, KERNEL_DMA] {
        for &(first, count, (high, low), name) in block {
            for index in 0..count {
                fields.push(FieldSpec { address: first + 4 * index, high, low, name });
            }
        }
    }
    fields
}

/// Returns every named field of the task header: word, high bit, low bit, name.
pub fn header_fields() -> Vec<(u8, u8, u8, &'static str)> {
    HEADER.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits `high..=low` of a word, set.
    fn mask(high: u8, low: u8) -> u32 {
        u32::MAX >> (31 - high) & u32::MAX << low
    }

    #[test]
    fn fields_of_one_register_never_overlap() {
        let all = fields();
        for (position, first) in all.iter().enumerate() {
            for second in &all[position + 1..] {
                let shared = mask(first.high, first.low) & mask(second.high, second.low);
                assert!(first.address != second.address || shared == 0, "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn header_fields_of_one_word_never_overlap() {
        let mut taken = [0u32; 11];
        for (word, high, low, name) in header_fields() {
            let bits = mask(high, low);
            assert_eq!(taken[usize::from(word)] & bits, 0, "{name}");
            taken[usize::from(word)] |= bits;
        }
    }

    #[test]
    fn fields_stay_inside_the_seven_blocks() {
        // First address and words of each block, td 3.3.
        let blocks = [
            (0x1F800, 62),
            (0x00000, 16),
            (0x13800, 28),
            (0x04800, 18),
            (0x08800, 4),
            (0x0C800, 5),
            (0x17800, 7),
        ];
        for field in fields() {
            assert!(
                field.high >= field.low && field.high <= 31 && field.address.is_multiple_of(4),
                "{field:?}"
            );
            let inside = |&(base, words): &(u32, u32)| (base..base + 4 * words).contains(&field.address);
            assert_eq!(blocks.iter().filter(|block| inside(block)).count(), 1, "{field:?}");
        }
    }

    #[test]
    fn kernel_dma_array_ends_on_the_sixteenth_channel() {
        let size: Vec<u32> =
            fields().iter().filter(|field| field.name == "CoeffBfrSize").map(|field| field.address).collect();
        assert_eq!((size.len(), size.first(), size.last()), (16, Some(&0x1F888), Some(&0x1F8C4)));
    }
}
