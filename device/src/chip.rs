//! The engine to model: a chip, and one of its circuits.
//!
//! Everything that differs between chips is data in the chip table; a device holds one row of it. The
//! circuits of a chip know nothing of each other, so a chip with four is four devices.

use std::fmt;

use ane_uapi::hw::chip::{Chip, Instance, Soc, Unknown};
use ane_uapi::hw::dart::pte::PteFormat;
use thiserror::Error;

use crate::options::Options;

#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub chip: &'static Chip,
    /// Index of the circuit on the chip, from 0.
    pub number: usize,
    /// The circuit, under the name that drivers bind to.
    pub instance: &'static Instance,
    pub pte_format: PteFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", Unknown::Instance { soc: *soc, number: *number })]
pub struct NoSuchInstance {
    pub soc: Soc,
    pub number: usize,
}

impl Identity {
    pub fn of(options: &Options) -> Result<Self, NoSuchInstance> {
        let (soc, number) = (options.chip, options.instance);
        let instance = soc.chip().instance(number).map_err(|_| NoSuchInstance { soc, number })?;
        Ok(Self { chip: soc.chip(), number, instance, pte_format: options.pte_format })
    }

    /// The word that the version register shows.
    ///
    /// No source gives one. It is the chip's number, as its name writes it (Chosen): `0x8103`.
    pub const fn version(&self) -> u32 {
        match self.chip.soc {
            Soc::T8103 => 0x8103,
            Soc::T6000 => 0x6000,
            Soc::T6001 => 0x6001,
            Soc::T6002 => 0x6002,
            Soc::T8112 => 0x8112,
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.chip.soc, self.instance.node, self.instance.circuit.codename)
    }
}

/// The options of every circuit of a chip: as many devices as it has.
pub fn every_instance(options: &Options) -> impl Iterator<Item = Options> {
    (0..options.chip.chip().instances.len()).map(|instance| Options { instance, ..options.clone() })
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::chip::{BOARDS, CIRCUITS, DART_ANE0, MADDS_PER_ENGINE, Quantity, operations_per_cycle};
    use ane_uapi::hw::hal::Generation;

    use super::*;

    fn nodes(soc: Soc) -> (Vec<&'static str>, u16) {
        let options = Options { chip: soc, ..Options::default() };
        let nodes = every_instance(&options).map(|one| Identity::of(&one).unwrap().instance.node).collect();
        (nodes, soc.chip().ane_type)
    }

    /// Requirement: CHIP-02
    #[test]
    fn each_chip_exposes_the_nodes_and_the_type_of_its_device_tree() {
        assert_eq!(nodes(Soc::T8103), (vec!["ane"], 64));
        assert_eq!(nodes(Soc::T6000), (vec!["ane0"], 96));
        assert_eq!(nodes(Soc::T6001), (vec!["ane0", "ane1"], 96));
        assert_eq!(nodes(Soc::T6002), (vec!["ane0", "ane1", "ane2", "ane3"], 96));
        assert_eq!(nodes(Soc::T8112), (vec!["ane"], 128));
    }

    /// Requirement: CHIP-01
    #[test]
    fn every_board_of_the_table_leads_to_a_device() {
        let rows: Vec<_> = BOARDS.iter().map(|board| (board.product, board.soc.name())).collect();
        assert_eq!(
            rows,
            [
                ("J274AP", "t8103"),
                ("J293AP", "t8103"),
                ("J313AP", "t8103"),
                ("J456AP", "t8103"),
                ("J457AP", "t8103"),
                ("J316sAP", "t6000"),
                ("J316cAP", "t6001"),
                ("J314sAP", "t6000"),
                ("J314cAP", "t6001"),
                ("J375cAP", "t6001"),
                ("J375dAP", "t6002"),
                ("J493AP", "t8112"),
                ("J413AP", "t8112"),
            ]
        );
        for board in &BOARDS {
            assert!(Identity::of(&Options { chip: board.soc, ..Options::default() }).is_ok());
        }
    }

    /// Requirement: CHIP-03
    #[test]
    fn each_circuit_is_mapped_where_seed_004_found_it() {
        let bases: Vec<_> = CIRCUITS.iter().map(|one| (one.codename, one.mmio_base.0)).collect();
        assert_eq!(
            bases,
            [
                ("styx", 0x2_6a00_0000),
                ("eos0", 0x2_8400_0000),
                ("eos1", 0x5_0800_0000),
                ("eos2", 0x22_8400_0000),
                ("eos3", 0x25_0800_0000),
                ("bia", 0x2_6a00_0000),
            ]
        );
    }

    /// Requirement: CHIP-04
    #[test]
    fn each_circuit_names_its_firmware() {
        let names: Vec<_> = CIRCUITS.iter().map(|one| one.firmware).collect();
        assert_eq!(
            names,
            [
                "h13_ane_fw_styx_j5x",
                "t600x_ane0_fw_eos_jc3x",
                "t600x_ane1_fw_eos_jc3x",
                "t600x_ane2_fw_eos_jc3x",
                "t600x_ane3_fw_eos_jc3x",
                "h14_ane_fw_bia_j4xx",
            ]
        );
    }

    /// Requirement: CHIP-05
    #[test]
    fn each_circuit_has_its_power_management_ranges() {
        let ranges: Vec<Vec<_>> =
            CIRCUITS.iter().map(|one| one.pmu.iter().map(|pmu| (pmu.base.0, pmu.len)).collect()).collect();
        assert_eq!(
            ranges,
            [
                vec![(0x2_3b70_0000, 0x8_c000)],
                vec![(0x2_8e08_0000, 0xc02c)],
                vec![(0x2_8e68_0100, 0x3f2c)],
                vec![(0x22_8e08_0000, 0xc02c)],
                vec![(0x22_8e68_0100, 0x3f2c)],
                vec![(0x2_3b70_0000, 0x1_8000), (0x2_3b72_4000, 0x4000)],
            ]
        );
    }

    /// Requirement: CHIP-09
    #[test]
    fn chips_have_one_to_four_circuits_of_eight_or_sixteen_engines_where_known() {
        for soc in Soc::ALL {
            assert!((1..=4).contains(&soc.chip().instances.len()), "{soc}");
            if let Some(engines) = soc.chip().count(Quantity::NeuralEngines) {
                assert!([8, 16].contains(&engines.number), "{soc}");
            }
        }
        assert_eq!(MADDS_PER_ENGINE, 256);
    }

    /// Requirement: CHIP-10
    #[test]
    fn operations_per_cycle_are_known_for_the_m1_only() {
        let engines = |soc: Soc| soc.chip().count(Quantity::NeuralEngines).map(|count| count.number);
        assert_eq!(engines(Soc::T8103).map(|number| operations_per_cycle(1, number)), Some(2048));
        assert_eq!(operations_per_cycle(2, 16), 8192);
        for uncertain in [Soc::T6000, Soc::T6001, Soc::T6002, Soc::T8112] {
            assert_eq!(engines(uncertain), None, "{uncertain}");
        }
    }

    /// Requirement: CHIP-14
    #[test]
    fn profile_of_the_dart_is_the_live_one() {
        let dart = Soc::T6000.chip().dart;
        assert_eq!(dart.driver_class, "dart,t6000");
        assert_eq!((dart.page_size, dart.stream_slots), (0x4000, 16));
        assert_eq!((dart.streams_enabled, dart.streams_bypassed), (0xa001, 0xa000));
        assert_eq!((dart.options, dart.live_config), (0x25, 0x8000_0025));
        assert_eq!(DART_ANE0.node, "dart-ane0");
    }

    #[test]
    fn generation_follows_the_chip() {
        assert_eq!(Soc::T8103.chip().generation, Generation::H13);
        assert_eq!(Soc::T8112.chip().generation, Generation::H14);
    }

    #[test]
    fn instance_that_the_chip_does_not_have_is_refused_by_number() {
        let options = Options { chip: Soc::T6001, instance: 2, ..Options::default() };
        let refused = Identity::of(&options).unwrap_err();
        assert_eq!(refused, NoSuchInstance { soc: Soc::T6001, number: 2 });
        assert_eq!(refused.to_string(), "instance 2 does not exist on t6001, which has 0 to 1");
    }
}
