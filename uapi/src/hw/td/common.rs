//! The common block: shapes, convolution geometry and the task's class.
//!
//! Every engine looks at these sixteen words, which is why the fetcher echoes them `0x800` below each other
//! block. They say how large the operands are, what kind of task this is (neural, or one of five planar
//! kinds), how many neural engines share it and how the work is cut into tiles.

use super::BASE;
use crate::register::Show;
use crate::{codes, layout, registers};

codes! {
    /// Element format of an operand.
    pub enum ElementFormat: u8, "element format" {
        /// Signed 8-bit integer.
        Int8 = 0, "int8";
        /// Unsigned 8-bit integer.
        Uint8 = 1, "uint8";
        /// IEEE 754 half.
        Fp16 = 2, "fp16";
    }
}

codes! {
    /// Element format of source 2, for which 0 also says that there is none.
    pub enum SecondFormat: u8, "second-source format" {
        /// No second source, or signed 8-bit integer.
        NoneOrInt8 = 0, "none or int8";
        /// Unsigned 8-bit integer.
        Uint8 = 1, "uint8";
        /// IEEE 754 half.
        Fp16 = 2, "fp16";
    }
}

codes! {
    /// The unit of the engine that does the task.
    pub enum TaskClass: u8, "task class" {
        /// The neural engine: convolution, matrix product, pass-through with activation.
        Neural = 0, "neural";
        /// The planar engine copies source 1.
        PlanarCopy = 2, "planar copy";
        /// The planar engine combines both sources element by element.
        PlanarBinary = 3, "planar binary";
        /// The planar engine computes `(a - b) * s`.
        PlanarNormalise = 4, "planar normalise";
        /// The planar engine reduces over height and width.
        PlanarReduce = 5, "planar reduce";
        /// The planar engine combines, then reduces.
        PlanarBinaryReduce = 6, "planar binary, then reduce";
    }
}

layout! {
    /// A two-dimensional extent.
    pub struct Extent {
        /// Width, elements.
        #[bits(15)] width: u16,
        #[bits(1)] __: bool,
        /// Height, rows.
        #[bits(15)] height: u16,
        #[bits(1)] __: bool
    }
}

layout! {
    /// An extent in depth.
    pub struct Depth {
        /// Depth; the engine hangs on 0. Above 1 the task is repeated for each depth (inferred).
        #[bits(32)] depth: u32; Measured
    }
}

layout! {
    /// A number of channels: of one group, where there are several.
    pub struct Channels {
        /// Channels.
        #[bits(17)] channels: u32,
        #[bits(15)] __: u16
    }
}

layout! {
    /// Element formats of the operands.
    ///
    /// `0x22` with one source, `0x2a` with two; `0x20`, `0x02` and 0 where the source, the result or both have
    /// one byte an element.
    pub struct ChCfg {
        /// Format of source 1.
        #[bits(2)] in_fmt: u8 => Show::Codes(ElementFormat::CODES),
        /// Format of source 2.
        #[bits(2)] second_fmt: u8 => Show::Codes(SecondFormat::CODES),
        /// Format of the result.
        #[bits(2)] out_fmt: u8 => Show::Codes(ElementFormat::CODES),
        #[bits(26)] __: u32
    }
}

layout! {
    /// Convolution geometry.
    ///
    /// `0x5000a021` is a 1x1 kernel, stride 1, one lane; the word that some notes call an opcode.
    pub struct ConvCfg {
        /// Kernel width.
        #[bits(5)] kw: u8,
        /// Kernel height.
        #[bits(5)] kh: u8,
        /// Lanes per coefficient plane, as a logarithm: output channels that one plane holds.
        #[bits(3)] ocg_size: u8 => Show::Log2,
        /// Horizontal stride.
        #[bits(2)] sx: u8,
        /// Vertical stride.
        #[bits(2)] sy: u8,
        /// Leading padding, columns; the trailing one follows from the output's width.
        #[bits(5)] px: u8,
        /// Leading padding, rows.
        #[bits(5)] py: u8,
        #[bits(1)] __: bool,
        /// Horizontal output step: output columns that lie side by side among the lanes of a plane.
        #[bits(2)] ox: u8; Predicted,
        /// Vertical output step; 1 in every known program.
        #[bits(2)] oy: u8; Predicted
    }
}

layout! {
    /// The third dimension of a convolution; without numerical effect (0 is accepted).
    ///
    /// `0x2041` in every known program.
    pub struct Conv3dCfg {
        /// As compilers write it.
        #[bits(32)] value: u32 => Show::Hex
    }
}

layout! {
    /// Channel groups.
    pub struct GroupConvCfg {
        /// How often the task is done: once for each group of channels or batch, each time with the group
        /// strides added to every base and with the next coefficient planes.
        #[bits(13)] num_groups: u16,
        #[bits(1)] __: bool,
        /// Output channel `o` reads input channels `o * unicast_cin` and the `unicast_cin - 1` behind it.
        #[bits(1)] unicast_en: bool,
        /// Element-wise multiplication mode.
        #[bits(1)] elem_mult_mode: bool,
        /// Input channels that each output channel reads.
        #[bits(16)] unicast_cin: u16
    }
}

layout! {
    /// How the height is cut into streamed tiles.
    pub struct TileCfg {
        /// Rows of one tile; need not divide the height. The engine hangs on 0.
        #[bits(15)] tile_height: u16; Measured,
        #[bits(17)] __: u32
    }
}

layout! {
    /// The planar engine's patch; 0 on neural tasks, where anything else hangs the engine (measured).
    pub struct PatchCfg {
        /// Patch width, as a logarithm.
        #[bits(4)] width: u8 => Show::Log2,
        /// Patch height, as a logarithm.
        #[bits(4)] height: u8 => Show::Log2; Predicted,
        #[bits(24)] __: u32
    }
}

layout! {
    /// Broadcast of the planar operands, and transposition of operands and result.
    ///
    /// An operand that is broadcast along an axis has extent 1 there.
    pub struct PlanarMap {
        /// Source 1 is one column.
        #[bits(1)] src1_column: bool,
        /// Source 1 is one row.
        #[bits(1)] src1_row: bool,
        /// Source 1 has depth 1.
        #[bits(1)] src1_depth: bool; Predicted,
        /// Source 1 is one channel.
        #[bits(1)] src1_channel: bool,
        /// Source 2 is one column.
        #[bits(1)] src2_column: bool,
        /// Source 2 is one row.
        #[bits(1)] src2_row: bool,
        /// Source 2 has depth 1.
        #[bits(1)] src2_depth: bool; Predicted,
        /// Source 2 is one channel.
        #[bits(1)] src2_channel: bool,
        /// Source 1 lies with channels and columns in each other's place.
        #[bits(1)] src1_transposed: bool,
        /// Source 2 lies with channels and columns in each other's place.
        #[bits(1)] src2_transposed: bool,
        /// The result's channels and columns change places.
        #[bits(1)] transpose: bool,
        #[bits(21)] __: u32
    }
}

layout! {
    /// The task's class and how the engines share it.
    pub struct Cfg {
        /// Set except where only source 2 comes from memory; without numerical effect.
        #[bits(1)] not_src2_only: bool,
        /// Source 2 comes from memory, as bit 24 of SourceCfg says too.
        #[bits(1)] src2_in_memory: bool,
        /// Small-source mode; without numerical effect, but for the lanes of sparse planes of one output.
        #[bits(1)] small_source_mode: bool,
        #[bits(1)] __: bool,
        /// The unit that does the task.
        #[bits(3)] class: u8 => Show::Codes(TaskClass::CODES),
        #[bits(1)] __: bool,
        /// Preferred work-tile shape: shape `k` is `128 >> k` pixels wide.
        #[bits(3)] sh_pref: u8,
        #[bits(1)] __: bool,
        /// Smallest work-tile shape.
        #[bits(3)] sh_min: u8,
        #[bits(1)] __: bool,
        /// Largest work-tile shape.
        #[bits(3)] sh_max: u8,
        /// Neural engines at work, as a logarithm; 0 to 4.
        #[bits(3)] active_ne: u8 => Show::Log2,
        /// A context may be switched in before this task.
        #[bits(1)] context_switch_in: bool,
        #[bits(1)] __: bool,
        /// A context may be switched out after this task.
        #[bits(1)] context_switch_out: bool,
        #[bits(1)] __: bool,
        /// Accumulator double-buffering.
        #[bits(1)] acc_double_buf_en: bool,
        #[bits(1)] __: bool,
        /// The neural result's channels and columns change places.
        #[bits(1)] transpose: bool,
        #[bits(3)] __: u8
    }
}

layout! {
    /// The task's name in traces; without numerical effect (measured).
    ///
    /// `0x100000` on neural tasks, 0 on planar ones.
    pub struct TaskInfo {
        /// Task.
        #[bits(16)] task_id: u16,
        /// Queue.
        #[bits(4)] task_q: u8,
        /// Network.
        #[bits(8)] nid: u8,
        #[bits(4)] __: u8
    }
}

layout! {
    /// Category of the digital power estimator; without numerical effect (measured).
    pub struct Dpe {
        /// Category.
        #[bits(4)] category: u8,
        #[bits(28)] __: u32
    }
}

registers! {
    /// The common block: shapes, convolution geometry, the task's class. Tasks write it at these addresses. The container answers
    /// not there but where it is repeated, 0x800 below each other block: at 0x4000, 0x8000, 0xc000, 0x13000, 0x17000, 0x1f000.
    pub block COMMON "common", base BASE, 0x00000 + 0x40;

    /// Width and height of the input.
    IN_DIM "InDim" @ 0x00: Extent, ReadWrite, Measured, "td 4.1";
    /// Depth of the input.
    IN_DEPTH "InDepth" @ 0x04: Depth, ReadWrite, Measured, "td 4.1, 10";
    /// Element formats of both sources and the result.
    CH_CFG "ChCfg" @ 0x08: ChCfg, ReadWrite, Derived, "td 4.1, delta 4";
    /// Channels of the input, of one group.
    C_IN "Cin" @ 0x0c: Channels, ReadWrite, Measured, "td 4.1, delta C1";
    /// Channels of the output, of one group.
    C_OUT "Cout" @ 0x10: Channels, ReadWrite, Measured, "td 4.1, delta C1";
    /// Width and height of the output.
    OUT_DIM "OutDim" @ 0x14: Extent, ReadWrite, Measured, "td 4.1";
    /// Depth of the output.
    OUT_DEPTH "OutDepth" @ 0x18: Depth, ReadWrite, Measured, "td 4.1, 10";
    /// Kernel, lanes, stride, padding.
    CONV_CFG "ConvCfg" @ 0x1c: ConvCfg, ReadWrite, Derived, "td 4.1, delta 3.2";
    /// The third dimension of a convolution.
    CONV_3D_CFG "Conv3dCfg" @ 0x20: Conv3dCfg, ReadWrite, Measured, "td 4.1";
    /// Groups, unicast, batches.
    GROUP_CONV_CFG "GroupConvCfg" @ 0x24: GroupConvCfg, ReadWrite, Derived, "td 4.1, 4.3, delta C1";
    /// Height of a streamed tile.
    TILE_CFG "TileCfg" @ 0x28: TileCfg, ReadWrite, Measured, "td 4.1, 10";
    /// Patch of the planar engine.
    PATCH_CFG "PatchCfg" @ 0x2c: PatchCfg, ReadWrite, Derived, "td 4.1, 10";
    /// Broadcast and transposition of planar operands.
    PLANAR_MAP "PlanarMap" @ 0x30: PlanarMap, ReadWrite, Derived, "td 4.1, delta C2";
    /// The task's class, and how the engines share it.
    CFG "Cfg" @ 0x34: Cfg, ReadWrite, Derived, "td 4.1";
    /// The task's name in traces.
    TASK_INFO "TaskInfo" @ 0x38: TaskInfo, ReadWrite, Measured, "td 4.1";
    /// Power-estimator category.
    DPE "DPE" @ 0x3c: Dpe, ReadWrite, Measured, "td 4.1";
}
