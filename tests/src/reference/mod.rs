//! A second decoder of H13 task descriptors, a second DART walker and a second engine, written from the facts alone.
//!
//! They share no line with the product's and import nothing from the workspace, so that a slip in one is seen as a
//! difference between two. They are slow and plain on purpose. [`task_descriptor`] walks a chain of tasks and reads the
//! records; [`register_fields`] lists every field that the facts name; [`page_walk`] translates one address;
//! [`engine`] executes tasks; [`pe_mmu`] translates byte by byte, [`mover`] moves cycle by cycle.

pub mod engine;
pub mod mover;
pub mod page_walk;
pub mod pe_mmu;
pub mod register_fields;
pub mod task_descriptor;

pub use register_fields::{fields, header_fields};
pub use task_descriptor::{DecodedTask, FieldSpec, Refusal, Write, decode_program};

/// Decodes compiled objects, where there are any, and checks what the facts say of such programs.
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data;

    struct DecodedProgram {
        name: String,
        tasks: Vec<DecodedTask>,
    }

    impl DecodedProgram {
        /// The value of a named field in one of the tasks.
        fn field(&self, task: usize, name: &str) -> u32 {
            let field =
                fields().into_iter().find(|field| field.name == name).expect("the facts name the field");
            field.of(self.tasks[task].register(field.address).expect("a full task writes every register"))
        }

        fn header(&self, task: usize, name: &str) -> u32 {
            self.tasks[task].header_field(name).expect("the facts name the field")
        }

        /// An array of registers of the first task.
        fn words<const N: usize>(&self, first: u32) -> [u32; N] {
            std::array::from_fn(|index| self.tasks[0].register(first + 4 * index as u32).expect("full task"))
        }
    }

    fn u32_at(file: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"))
    }

    fn u64_at(file: &[u8], at: usize) -> usize {
        u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes")) as usize
    }

    /// The simplest possible walk of an object's load commands (td 2.1): the task stream, the first task's words and
    /// the number of tasks.
    fn read_object(file: &[u8]) -> (&[u8], u32, u32) {
        assert_eq!((u32_at(file, 0), u32_at(file, 8)), (0xBEEF_FACE, 4), "an H13 object");
        let (mut text, mut first, mut count) = (None, None, None);
        let mut command = 32;
        for _ in 0..u32_at(file, 16) {
            let kind = u32_at(file, command);
            if kind == 0x19 {
                for index in 0..u32_at(file, command + 64) as usize {
                    let section = command + 72 + 80 * index;
                    if file[section..].starts_with(b"__text\0") {
                        let start = u32_at(file, section + 48) as usize;
                        text = Some(&file[start..start + u64_at(file, section + 40)]);
                    }
                }
            } else if kind == 4 && u32_at(file, command + 8) == 1 {
                first = Some(u32_at(file, command + 0x818) + 1);
                count = Some(u32_at(file, command + 0x81C));
            }
            command += u32_at(file, command + 4) as usize;
        }
        (text.expect("__text"), first.expect("program descriptor"), count.expect("program descriptor"))
    }

    /// The compiled objects, by file name; none where they are not to be had.
    fn programs() -> BTreeMap<String, DecodedProgram> {
        let samples = data::programs().unwrap_or_default();
        let named = samples.iter().map(|sample| {
            let name = format!("{}.hwx", sample.name);
            let (stream, words, count) = read_object(&sample.bytes);
            let tasks =
                decode_program(stream, words * 4, count).unwrap_or_else(|why| panic!("{name}: {why}"));
            (name.clone(), DecodedProgram { name, tasks })
        });
        named.collect()
    }

    /// One object by file name, if the objects are to be had.
    fn program(name: &str) -> Option<DecodedProgram> {
        programs().remove(name)
    }

    #[test]
    fn compiled_objects_are_full_tasks_with_consistent_headers() {
        for program in programs().values() {
            let last = program.tasks.len() - 1;
            for (index, task) in program.tasks.iter().enumerate() {
                let name = &program.name;
                assert_eq!((task.end - task.offset, task.writes.len()), (0x274, 140), "{name}");
                assert_eq!(program.header(index, "TID"), index as u32, "{name}");
                assert_eq!(program.header(index, "NID"), 0, "{name}: a file's network id is 0");
                assert_eq!(program.header(index, "LNID"), u32::from(index > 0), "{name}");
                assert_eq!(program.header(index, "EON"), u32::from(index == last), "{name}");
                assert_eq!(program.header(index, "TBE"), u32::from(index < last), "{name}");
                assert_eq!(task.next == 0, index == last, "{name}");
                assert_eq!(
                    (program.field(index, "InDepth"), program.field(index, "OutDepth")),
                    (1, 1),
                    "{name}"
                );
                let engines = if program.field(index, "Cfg.TaskClass") == 0 {
                    program.field(index, "Cfg.ActiveNE") + 1
                } else {
                    0
                };
                assert_eq!(program.header(index, "ENE"), engines, "{name}");
            }
        }
    }

    #[test]
    fn compiled_objects_set_no_bit_that_has_no_name() {
        let mut named: BTreeMap<u32, u32> = BTreeMap::new();
        for field in fields() {
            *named.entry(field.address).or_default() |=
                (u32::MAX >> (31 - field.high)) & (u32::MAX << field.low);
        }
        for program in programs().values() {
            for write in program.tasks.iter().flat_map(|task| &task.writes) {
                let unnamed = write.value & !named.get(&write.address).copied().unwrap_or(0);
                assert_eq!(unnamed, 0, "{}: {:#x} = {:#x}", program.name, write.address, write.value);
            }
        }
    }

    #[test]
    fn sum_is_a_planar_addition_of_two_surfaces() {
        let Some(program) = program("sum.hwx") else { return };
        assert_eq!((program.tasks.len(), program.field(0, "Cfg.TaskClass")), (1, 3));
        assert_eq!(program.tasks[0].register(0x34), Some(0x33));
        assert_eq!(program.tasks[0].register(0x08), Some(0x2A));
        assert_eq!(
            (program.field(0, "PlanarCfg.Operation"), program.field(0, "PlanarCfg.Source2Selector")),
            (0, 2)
        );
        assert_eq!(
            (program.field(0, "PlanarScale.Scale"), program.field(0, "PlanarScale.Bias")),
            (0x3C00, 0)
        );
        assert_eq!(program.field(0, "SourceCfg.Source2FromMemory"), 1);
        assert_eq!(program.tasks[0].register(0x1383C), Some(0x2030));
        // Source 2 is loaded although its own enable bit is clear (td 4.5).
        assert_eq!(
            (program.tasks[0].register(0x13804).map(|word| word & 1), program.words::<1>(0x13800)[0] & 1),
            (Some(0), 1)
        );
        let bases = ["WBase", "RBase0", "RBase1"].map(|name| program.header(0, name));
        assert_eq!((bases[0], bases[1] + bases[2]), (4, 11), "output 4, inputs 5 and 6 (td 5)");
    }

    #[test]
    fn relu_and_sigmoid_are_passes_through_one_engine_and_a_nonlinearity() {
        for (name, nonlinearity) in [("relu.hwx", 1), ("sigmoid.hwx", 2)] {
            let Some(program) = program(name) else { continue };
            assert_eq!((program.field(0, "InDim.Win"), program.field(0, "InDim.Hin")), (77, 1), "{name}");
            assert_eq!(
                (program.field(0, "MACCfg.OpMode"), program.field(0, "MACCfg.KernelMode")),
                (4, 1),
                "{name}"
            );
            assert_eq!(program.field(0, "MACCfg.NonlinearMode"), nonlinearity, "{name}");
            assert_eq!(
                (program.field(0, "Cfg.ActiveNE"), program.field(0, "MACCfg.Bit20")),
                (0, 1),
                "{name}"
            );
            assert_eq!(program.words::<1>(0x1C), [0x5000_A021], "{name}");
            assert_eq!(program.words::<1>(0x38), [0x10_0000], "{name}");
        }
        let Some(sigmoid) = program("sigmoid.hwx") else { return };
        // The table is the 128-byte chunk of channel 0, in the constant section (td 7.4).
        assert_eq!((sigmoid.words::<1>(0x1F800), sigmoid.words::<1>(0x1F888)), ([0x40], [0x80]));
        assert_eq!(
            (sigmoid.field(0, "CoeffDMAConfig.En"), sigmoid.header(0, "KBase0"), sigmoid.header(0, "KBE0")),
            (1, 1, 1)
        );
    }

    #[test]
    fn conv_spreads_three_one_lane_planes_over_four_engines() {
        let Some(program) = program("conv.hwx") else { return };
        assert_eq!((program.field(0, "Cin"), program.field(0, "Cout")), (3, 3));
        assert_eq!((program.field(0, "ConvCfg.OCGSize"), program.field(0, "Cfg.ActiveNE")), (0, 2));
        assert_eq!((program.field(0, "KernelCfg.Format"), program.field(0, "MACCfg.OpMode")), (2, 0));
        let (enabled, base) = (program.words::<4>(0x1F808), program.words::<3>(0x1F848));
        assert_eq!(enabled.map(|word| word & 1), [1, 1, 1, 0]);
        assert_eq!((base, program.words::<3>(0x1F888)), ([0, 0x40, 0x80], [0x40; 3]));
    }

    #[test]
    fn gemm_spreads_sixteen_chunks_of_thirty_two_lanes() {
        let Some(program) = program("gemm.hwx") else { return };
        assert_eq!((program.field(0, "Cin"), program.field(0, "Cout")), (512, 512));
        assert_eq!((program.field(0, "ConvCfg.OCGSize"), program.field(0, "Cfg.ActiveNE")), (5, 4));
        assert_eq!(program.words::<16>(0x1F848), std::array::from_fn(|engine| engine as u32 * 0x8000));
        assert_eq!(program.words::<16>(0x1F888), [0x8000; 16]);
        assert_eq!(program.words::<16>(0x1F808).map(|word| word & 1), [1; 16]);
    }

    #[test]
    fn concat_is_two_passes_into_one_output() {
        let Some(program) = program("concat.hwx") else { return };
        assert_eq!(program.tasks.len(), 2);
        for task in 0..2 {
            assert_eq!((program.field(task, "MACCfg.OpMode"), program.header(task, "WBase")), (4, 4));
        }
        // The second half starts after 0x4000 channels of one 64-byte row (td 8.1).
        assert_eq!([0, 1].map(|task| program.tasks[task].register(0x17804)), [Some(0), Some(0x10_0000)]);
        assert_eq!(program.tasks[0].next % 0x100, 0);
    }
}
