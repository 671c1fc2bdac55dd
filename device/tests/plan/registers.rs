//! The registers of tasks as a compiler writes them, to be changed word by word.

use ane_device::engine::plan::verdict::Verdict;
use ane_device::engine::plan::{Plan, plan};
use ane_device::td::register_file::RegisterFile;
use ane_uapi::hw::td::header::Header;

/// Address and value of some words.
pub(crate) type Words<'a> = &'a [(u32, u32)];

/// ReLU of 1x1x77, through the neural engine.
pub(crate) const RELU: Words<'static> = &[
    (0x00, 0x0001_004d),
    (0x04, 1),
    (0x08, 0x22),
    (0x0c, 1),
    (0x10, 1),
    (0x14, 0x0001_004d),
    (0x18, 1),
    (0x1c, 0x5000_a021),
    (0x20, 0x2041),
    (0x24, 0x0001_4001),
    (0x28, 1),
    (0x34, 0x0401_0101),
    (0x38, 0x10_0000),
    (0x1_3800, 0x0003_3881),
    (0x1_380c, 0xc0),
    (0x1_3810, 0xc0),
    (0x1_3838, 0x0100_2031),
    (0x4804, 0x0050_0172),
    (0x480c, 0xa0),
    (0x4810, 0xa0),
    (0x4830, 0x0050_017a),
    (0x4834, 0xa0),
    (0xc800, 0x80),
    (0xc804, 0x0011_000c),
    (0xc810, 0x3c00),
    (0x1_7800, 0x0400_00c1),
    (0x1_7808, 0xc0),
    (0x1_780c, 0xc0),
    (0x1_7818, 0x0130_2031),
];

/// With these words it is a convolution of three channels by three: four engines of one lane.
pub(crate) const CONVOLUTION: Words<'static> = &[
    (0x0c, 3),
    (0x10, 3),
    (0x24, 0x0001_0001),
    (0x34, 0x0414_4405),
    (0x480c, 0x10),
    (0x00, 0x0001_0001),
    (0x14, 0x0001_0001),
    (0xc800, 0x82),
    (0xc804, 0x0010_1c00),
    (0x1_f800, 0x40),
    (0x1_f808, 0x81),
    (0x1_f80c, 0x81),
    (0x1_f810, 0x81),
    (0x1_f84c, 0x40),
    (0x1_f850, 0x80),
    (0x1_f888, 0x40),
    (0x1_f88c, 0x40),
    (0x1_f890, 0x40),
];

/// With these words it is a sum of two operands of 64 channels.
pub(crate) const SUM: Words<'static> = &[
    (0x00, 0x0001_0001),
    (0x08, 0x2a),
    (0x0c, 0x40),
    (0x10, 0x40),
    (0x14, 0x0001_0001),
    (0x24, 0x0001_0001),
    (0x2c, 4),
    (0x34, 0x33),
    (0x1_3820, 0x40),
    (0x1_3824, 0x40),
    (0x1_383c, 0x2030),
    (0x4804, 0x0150_0172),
    (0x480c, 0x10),
    (0x4810, 0x420),
    (0x481c, 0x440),
    (0x4820, 0x10),
    (0x4824, 0x420),
    (0x4834, 0x860),
    (0x8800, 0x0008_0000),
    (0x8804, 0x3c00_0000),
    (0x8808, 0x3c00_0000),
    (0x880c, 0x3f80_0000),
];

/// The registers after all of `layers` were written, the last last.
pub(crate) fn registers(layers: &[Words<'_>]) -> RegisterFile {
    let mut file = RegisterFile::default();
    for &(address, value) in layers.iter().copied().flatten() {
        file.write(address, value).unwrap();
    }
    file
}

/// The plan of the registers after `layers`.
pub(crate) fn planned(layers: &[Words<'_>]) -> Result<Plan, Verdict> {
    plan(&Header::default(), &registers(layers))
}
