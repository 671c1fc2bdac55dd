//! The rows of the HAL table, by rising offset (facts A.4 and A.5).

use super::Generation::{self, *};
use super::{CORES_OF, Field, FieldBytes, FieldKind, FieldOffset, Stated, Values};
use crate::register::Grade::{Derived, Measured, Predicted};

const KB: u32 = 1 << 10;
const MB: u32 = 1 << 20;

/// Where the numeric rows are from.
const A4: &str = "facts A.4";
/// Where the capability bytes are from.
const A5: &str = "facts A.5";
/// Where the rows of the memory hierarchy are from.
const HIERARCHY: &str = "seed 003, table 21.4; facts A.4";

const fn stated(generation: Generation, number: u32) -> Stated {
    Stated { generation, number, grade: Derived }
}

const fn guess(generation: Generation, number: u32) -> Stated {
    Stated { generation, number, grade: Predicted }
}

/// The number of cores of one target: measured where it was seen to scale, derived elsewhere (facts G.1).
pub(super) const fn cores(generation: Generation, number: u32) -> Stated {
    let grade = if matches!(generation, H13) { Measured } else { Derived };
    Stated { generation, number, grade }
}

/// The columns of facts A.4: M1, A14, A15, A16 and M5.
const fn numbers(m1: u32, a14: u32, a15: u32, a16: u32, m5: u32) -> [Stated; 5] {
    [stated(H13, m1), stated(H14, a14), stated(H15, a15), stated(H16, a16), stated(H17s, m5)]
}

/// The columns of facts A.5: M1, A14, A15, A16 and A18.
const fn bits(m1: u32, a14: u32, a15: u32, a16: u32, a18: u32) -> [Stated; 5] {
    [stated(H13, m1), stated(H14, a14), stated(H15, a15), stated(H16, a16), stated(H18, a18)]
}

const fn field(
    place: FieldBytes,
    kind: FieldKind,
    name: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Field {
    Field { place, name, doc, kind, values: Values::Stated(&[]), grade: Derived, source }
}

const fn number(at: u16, name: &'static str, doc: &'static str, source: &'static str) -> Field {
    field(FieldBytes::At(FieldOffset(at)), FieldKind::Number, name, doc, source)
}

const fn capability(at: u16, name: &'static str, doc: &'static str) -> Field {
    field(FieldBytes::At(FieldOffset(at)), FieldKind::Capability, name, doc, A5)
}

const fn structure(at: u16, name: &'static str, doc: &'static str) -> Field {
    field(FieldBytes::At(FieldOffset(at)), FieldKind::Structure, name, doc, A4)
}

const fn dead(at: u16, name: &'static str) -> Field {
    field(
        FieldBytes::At(FieldOffset(at)),
        FieldKind::Dead,
        name,
        "Written by the compiler and never read.",
        A4,
    )
}

impl Field {
    const fn is(mut self, values: &'static [Stated]) -> Self {
        self.values = Values::Stated(values);
        self
    }

    const fn everywhere(mut self, number: u32) -> Self {
        self.values = Values::Everywhere(number);
        self
    }

    const fn from(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    const fn kind(mut self, kind: FieldKind) -> Self {
        self.kind = kind;
        self
    }
}

const fn within(first: u16, last: u16, name: &'static str, doc: &'static str) -> Field {
    field(FieldBytes::Within(FieldOffset(first), FieldOffset(last)), FieldKind::Number, name, doc, A4)
}

const fn each(first: u16, last: u16, name: &'static str, doc: &'static str) -> Field {
    field(FieldBytes::Each(FieldOffset(first), FieldOffset(last)), FieldKind::Capability, name, doc, A5)
}

/// Every field that some source describes, by rising offset.
pub const FIELDS: &[Field] = &[
    number(0x00, "generation tag", "The number of the H-generation.", A4)
        .is(&numbers(0x0d, 0x0e, 0x0f, 0x10, 0x11)),
    number(0x0c, "accumulator budget", "Accumulators of a core, in work units.", A4)
        .is(&numbers(8, 8, 8, 8, 8)),
    dead(0x18, "element cap"),
    within(0x30, 0x50, "kernel width limit", "Widest kernel of the default format.")
        .is(&numbers(29, 32, 32, 32, 32)),
    within(0x30, 0x50, "kernel width limit, fp16", "Widest kernel of fp16 coefficients.")
        .is(&numbers(13, 16, 16, 16, 16)),
    number(0x70, "3-D kernel depth", "Deepest kernel; attests only, every backend rejects one.", A4)
        .is(&numbers(16, 16, 16, 16, 16)),
    dead(0x80, "kernel-depth constant"),
    number(0x138, "max tensor width", "Widest tensor.", A4).is(&numbers(16384, 16384, 16384, 65536, 65536)),
    number(0x158, "max tensor depth", "Deepest tensor; 1 before A13.", A4).is(&[
        stated(H11, 1),
        stated(H12, 1),
        stated(M9, 1),
        stated(T0, 1),
        stated(H13, 16384),
        stated(H14, 16384),
        stated(H15, 16384),
        stated(H16, 65536),
        stated(H17s, 65536),
    ]),
    number(
        0x1b8,
        "max operand bytes",
        "Largest single operand that stays on chip: MemCacheSize, L2Size.",
        HIERARCHY,
    )
    .is(&[
        stated(H13, 2 * MB),
        stated(H14, 2 * MB),
        stated(H15, 2 * MB),
        stated(H16, 2 * MB),
        stated(H17s, 2 * MB),
        stated(M9, MB),
    ]),
    number(
        0x1c0,
        "interleave granule",
        "Bytes: width of DMA and unit of bank interleaving; 1 on small profiles.",
        HIERARCHY,
    )
    .is(&numbers(16, 16, 16, 16, 16)),
    number(0x1c8, "bank count", "Banks of the on-chip buffer.", HIERARCHY).is(&numbers(64, 64, 64, 64, 64)),
    number(
        0x1f0,
        "residency threshold",
        "Output footprint that decides whether a convolution gets a buffer of its own.",
        "seed 003, table 21.5; facts A.4",
    )
    .is(&[
        stated(H13, 0),
        guess(H14, 0),
        guess(H15, 32 * KB),
        guess(H16, 256 * KB),
        guess(H17s, 256 * KB),
    ]),
    number(0x1f8, "max destination stride", "Bytes: upper bound of the search for a stride.", HIERARCHY)
        .is(&[stated(H13, 2 * MB)]),
    number(0x200, "dense kernel cap", "Bytes of coefficients in kernel memory at once.", HIERARCHY)
        .is(&[stated(H13, 64 * KB)]),
    number(
        0x210,
        "streamed kernel cap",
        "Bytes of coefficients that stream through kernel memory.",
        HIERARCHY,
    )
    .is(&[stated(H13, 16 * MB)]),
    number(0x218, "segment alignment", "Bytes to which segments are packed.", "seed 003; facts A.4")
        .is(&numbers(256, 16, 16, 16, 16)),
    number(0x228, "perf cycle divisor", "Divides cycles in the cost model.", A4).is(&[
        stated(H11, 32),
        stated(M9, 16),
        stated(H13, 64),
        stated(H14, 64),
        stated(H15, 64),
        stated(H16, 64),
        stated(H17s, 64),
    ]),
    number(0x230, "accumulator-split granule", "Granule at which accumulators are split.", A4)
        .is(&[stated(H13, 64)]),
    number(0x238, "num_nes", "Cores that output channels are divided over.", "facts A.3, A.4").is(CORES_OF),
    dead(0x260, "dead field"),
    number(
        0x288,
        "kernel memory mode",
        "Extended dual kernel memory: the 16 MB cap in place of 64 KB.",
        HIERARCHY,
    )
    .everywhere(0),
    dead(0x29c, "dead field"),
    dead(0x320, "dead field"),
    number(0x328, "stride channel limit", "Input channels up to which strides and unicast are taken.", A4),
    number(0x338, "tiny-source limit", "Limit of the tiny source-patch mode.", A4).is(&[stated(H13, 4)]),
    number(0x388, "OCG byte cap, first format", "Bytes for each kernel element, by weight format.", A4)
        .is(&[stated(H13, 32)]),
    number(0x390, "OCG byte cap, second format", "Bytes for each kernel element, by weight format.", A4)
        .is(&[stated(H13, 16)]),
    number(0x398, "OCG byte cap, third format", "Bytes for each kernel element, by weight format.", A4)
        .is(&[stated(H13, 8)]),
    number(0x3a8, "channels per accumulator, tiny", "Output channels of one accumulator.", A4)
        .is(&numbers(8, 8, 8, 8, 8)),
    number(0x3b0, "channels per accumulator, small", "Output channels of one accumulator.", A4)
        .is(&numbers(4, 4, 4, 4, 4)),
    number(0x3b8, "channels per accumulator, packed fp16", "Output channels of one accumulator.", A4)
        .is(&numbers(2, 2, 2, 2, 2)),
    number(0x3c0, "channels per accumulator, other", "Output channels of one accumulator.", A4)
        .is(&numbers(1, 1, 1, 1, 1)),
    number(0x3f0, "reduction extent", "Extent of a reduction that is done by way of a transpose.", A4)
        .is(&numbers(192, 192, 384, 384, 384)),
    number(0x3f8, "patch width, max-pool", "Clamp of the patch width in maximum pooling.", A4),
    number(0x400, "patch width, floor", "Logarithm of the least patch width.", A4)
        .is(&[stated(H13, 4), stated(H17s, 4)]),
    number(0x410, "patch width, cap", "Logarithm of the greatest patch width.", A4).is(&[stated(H13, 9)]),
    number(0x468, "transpose height", "Greatest height of a native transpose.", A4),
    number(0x470, "transpose width", "Greatest width of a native transpose.", A4),
    capability(0x48b, "collective", "Several dies may work together.").everywhere(0),
    capability(0x48f, "kernel streaming", "Master switch of kernel streaming.").is(&bits(1, 1, 1, 1, 1)),
    // Not printed in any source: listing 21.4 always takes the shared buffer on the M1, so the gate is open.
    capability(
        0x491,
        "residency gate",
        "The compiler reads the residency threshold; follows from listing 21.4.",
    )
    .is(&[guess(H13, 1)])
    .from("seed 003, listing 21.4"),
    capability(0x494, "square after reduction", "Fuses a square into a reduction.").is(&bits(0, 1, 1, 1, 1)),
    capability(0x4a8, "work-unit shape", "Shape of the planar engine's work unit."),
    capability(0x4a9, "dropout", "Dropout and random numbers.").is(&bits(0, 0, 1, 1, 1)),
    capability(0x4ac, "small-source compression", "Compression of small sources."),
    capability(0x4b0, "odd work-unit width", "Work units whose width is no power of two."),
    // The byte attests; the compiler's operation floor still blocks it on the M1.
    capability(
        0x4f2,
        "global argmin and argmax",
        "Attested on the M1, where the compiler blocks it all the same.",
    )
    .is(&bits(1, 1, 1, 1, 1)),
    each(0x520, 0x539, "palette and affine formats", "One byte for each compressed format of weights.")
        .is(&[stated(H13, 0)]),
    capability(0x529, "palette and affine format, byte 9", "The one byte of its cluster that is set.")
        .is(&[stated(H13, 1)]),
    capability(0x52c, "fp32", "Values of 32-bit floating point."),
    capability(0x52d, "E4M3", "Values of 8-bit floating point, four bits of exponent.")
        .is(&bits(0, 0, 0, 0, 1)),
    capability(0x52e, "E5M2", "Values of 8-bit floating point, five bits of exponent."),
    capability(0x55c, "cross-die addressing", "Addresses that reach another die.").is(&[
        stated(H13, 0),
        stated(H14, 1),
        stated(H15, 1),
        stated(H18, 1),
    ]),
    capability(0x563, "FIFO-mode DMA", "DMA through first-in first-out buffers.").is(&bits(0, 0, 0, 0, 1)),
    capability(0x564, "hazard tracking", "Hazards are tracked across dies.").is(&[
        stated(H13, 0),
        stated(H14, 1),
        stated(H15, 1),
        stated(H18, 0),
    ]),
    structure(0x580, "cost-model policy", "A name: `Simple` on the M1, `None` on older parts."),
    structure(0x658, "interchange-format map", "The image formats; their number is at 0x668."),
    number(0x668, "interchange formats", "Number of image formats.", A4).is(&numbers(3, 13, 16, 14, 14)),
    number(0x680, "Winograd", "Bit 0 enables Winograd convolution.", A4)
        .kind(FieldKind::Capability)
        .is(&[stated(H13, 1)]),
    capability(0x685, "two-byte live formats", "Live values of two bytes."),
    capability(0x687, "remote dependency", "Dependence on work of another die.").is(&[
        stated(H13, 0),
        stated(H14, 0),
        stated(H15, 1),
        stated(H18, 0),
    ]),
    number(0x708, "reflective padding", "Greatest extent of reflective padding.", A4),
    within(0x730, 0x750, "large-stride factors", "The list of large strides that are allowed.")
        .kind(FieldKind::Structure),
    structure(0x7a8, "efficiency curve", "Efficiency by frequency."),
    capability(0x812, "one-by-one upsampling", "A fast path for upsampling by a kernel of one."),
    capability(0x814, "dynamic GOC", "GOC whose parameters are known at run time only.")
        .is(&bits(1, 1, 1, 1, 1)),
    capability(0x815, "softmax", "Softmax.").is(&bits(1, 1, 1, 1, 1)),
    capability(0x816, "instance norm", "Instance normalisation.").is(&bits(1, 1, 1, 1, 1)),
    capability(0x81a, "local-response norm", "Local-response normalisation.").is(&bits(1, 1, 1, 1, 1)),
    capability(0x81d, "texture engine", "The texture engine exists.").is(&bits(0, 1, 1, 1, 1)),
    number(0x8b4, "tile-height erratum", "Tile height from which an erratum is worked around.", A4),
    number(0x8bc, "chaining", "Chaining is enabled.", A4),
    number(0x8e0, "kernel caching", "Kernel caching is enabled.", A4),
];

const _: () = {
    let mut i = 1;
    while i < FIELDS.len() {
        assert!(FIELDS[i - 1].place.first().0 <= FIELDS[i].place.first().0, "fields rise by offset");
        i += 1;
    }
};
