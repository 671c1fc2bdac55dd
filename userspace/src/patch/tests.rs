use super::*;
use crate::build::{Graph, Shape};
use crate::decode::Report;
use crate::diff::programs;

/// A convolution and a ReLU behind it.
fn file() -> Vec<u8> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(4, 4, 8)).unwrap();
    let weights = vec![f16::ONE; 16];
    let convolution = crate::build::Convolution::new(4, (1, 1), crate::build::Weights::Half(&weights));
    let y = graph.convolution(x, &convolution).unwrap();
    let z = graph.relu(y).unwrap();
    graph.output("z", z).unwrap();
    graph.build().unwrap().to_anec().unwrap()
}

fn refused(task: u32, edit: &str) -> String {
    registers(&file(), task, &[edit.parse().unwrap()]).unwrap_err().to_string()
}

#[test]
fn edit_reads_as_it_is_written() {
    for words in ["Cfg=0x10", "Cfg.class=neural", "KernelCfg[3].size=7"] {
        assert_eq!(words.parse::<Edit>().unwrap().to_string(), words);
    }
    for words in ["", "Cfg", "Cfg=", "=1", "Cfg.=1", "Cfg[x]=1", "Cfg[70000]=1"] {
        assert!(words.parse::<Edit>().is_err(), "{words}");
    }
}

#[test]
fn patch_changes_one_field_and_nothing_else() {
    let file = file();
    let patched = registers(&file, 1, &["MACCfg.nonlinear_mode=0".parse().unwrap()]).unwrap();
    assert_eq!(patched.len(), file.len());
    let found = programs::compare(&container::open(&file).unwrap(), &container::open(&patched).unwrap());
    let places: Vec<_> = found.differences.iter().map(|difference| difference.place.as_str()).collect();
    // The summary of the task tells it too.
    assert!(
        places.iter().any(|place| place.contains("MACCfg") && place.ends_with("nonlinear_mode")),
        "{places:?}"
    );
    assert_eq!(places.len(), 2, "{places:?}");
}

#[test]
fn name_of_a_code_and_any_case_of_a_register_are_taken() {
    let by_name = registers(&file(), 0, &["maccfg.nonlinear_mode=ReLU".parse().unwrap()]).unwrap();
    assert_eq!(by_name, registers(&file(), 0, &["MACCfg.nonlinear_mode=1".parse().unwrap()]).unwrap());
    let report = Report::of(&container::open(&by_name).unwrap());
    assert!(report.tasks[0].summary.contains("then relu"), "{}", report.tasks[0].summary);
}

#[test]
fn what_cannot_be_changed_is_named() {
    assert_eq!(refused(9, "Cfg=1"), "program has no task 9; its tasks are 0 to 1");
    assert!(refused(0, "MACfg=1").starts_with("no register or header word is called \"MACfg\""));
    assert!(refused(0, "MACCfg.x=1").contains("has no field \"x\"; its fields are"));
    assert!(refused(0, "MACCfg.nonlinear_mode=9").contains("takes a number up to 3 or one of"));
    assert!(refused(0, "MACCfg=many").contains("a number of 32 bits"));
    assert!(refused(0, "MACCfg[1]=0").contains("index"));
    assert!(refused(0, "Flags[7].tde=1").starts_with("the index of Flags takes a number below 1"));
    assert_eq!(
        refused(0, "Dependence.dtid=4"),
        "the header of task 0 has no word Dependence: Flags.tde is not set"
    );
}

#[test]
fn register_whose_value_lies_behind_the_end_of_its_descriptor_has_no_word_to_change() {
    let file = file();
    let program = container::open(&file).unwrap();
    let [first, last] = [0, 1].map(|index| program.tasks().unwrap().nth(index).unwrap().unwrap());
    let (address, _) = last.records().last().unwrap().writes().last().unwrap();
    let place = td::find(address).unwrap();
    let name = place.register.name;
    let edit = Edit { register: name.to_owned(), index: place.index, field: None, value: "7".to_owned() };
    assert!(registers(&file, 1, std::slice::from_ref(&edit)).is_ok());
    let shorter = format!("Length.next_size={}", first.header.length.next_size() - 1);
    let file = registers(&file, 0, &[shorter.parse().unwrap()]).unwrap();
    let why = registers(&file, 1, &[edit]).unwrap_err();
    assert!(matches!(why, Error::BehindEnd { register, .. } if register == name), "{why}");
}

#[test]
fn number_with_a_point_is_rounded_once_and_not_to_infinity() {
    let field = |show: fn(&Show) -> bool| {
        let registers = td::BLOCKS.iter().flat_map(|block| block.registers.iter().copied());
        registers.flat_map(|register| register.fields).find(|field| show(&field.show)).expect("there is one")
    };
    let half = field(|show| matches!(show, Show::Half));
    assert_eq!(valued(half, "1.5"), Some(0x3e00));
    // Just above the middle between two halves: a single on the way would be the middle, and that goes to the even one.
    assert_eq!(valued(half, "1.00048828126"), Some(0x3c01));
    assert_eq!(
        (valued(half, "65519.9"), valued(half, "65520.0"), valued(half, "1e6")),
        (Some(0x7bff), None, None)
    );
    assert_eq!((valued(half, "1"), valued(half, "0x1")), (Some(0x3c00), Some(1)));
    assert_eq!((valued(half, "-inf"), valued(half, "0x7c00")), (Some(0xfc00), Some(0x7c00)));
    let single = field(|show| matches!(show, Show::Single));
    assert_eq!((valued(single, "1.5"), valued(single, "1e39")), (Some(0x3fc0_0000), None));
    assert_eq!(valued(single, "inf"), Some(0x7f80_0000));
    // Digits that are infinite as a double already.
    assert_eq!((valued(half, "1e400"), valued(half, "-1e400"), valued(single, "1e400")), (None, None, None));
}

#[test]
fn link_to_the_next_task_cannot_be_broken() {
    let names: Vec<_> = HEADER.registers.iter().map(|register| register.name).collect();
    let program = file();
    let mut broken = 0;
    for name in names {
        let edit = Edit { register: name.to_owned(), index: 0, field: None, value: "0xfffffff0".to_owned() };
        if let Ok(patched) = registers(&program, 0, &[edit]) {
            assert!(container::open(&patched).unwrap().tasks().unwrap().all(|task| task.is_ok()));
        } else {
            broken += 1;
        }
    }
    assert!(broken > 0, "some word of the header is the link");
}

#[test]
fn number_that_decode_shows_is_the_one_that_is_set() {
    let file = file();
    let report = Report::of(&container::open(&file).unwrap());
    let mut kinds = [0; 2];
    for task in &report.tasks {
        for register in task.blocks.iter().flat_map(|block| &block.registers) {
            let known = td::find(register.address.0 as u32).unwrap().register;
            for field in &register.fields {
                let show = known.fields.iter().find(|known| known.name == field.name).unwrap().show;
                let value = match show {
                    Show::Log2 | Show::Log2PlusOne => continue,
                    Show::Bytes(_) | Show::SignedBytes(_) => {
                        field.shown.strip_suffix(" bytes").unwrap().to_owned()
                    }
                    _ => field.shown.clone(),
                };
                kinds[usize::from(matches!(show, Show::Bytes(_) | Show::SignedBytes(_)))] += 1;
                let edit = Edit {
                    register: register.name.unwrap().to_owned(),
                    index: register.index.unwrap_or(0),
                    field: Some(field.name.to_owned()),
                    value,
                };
                let patched = registers(&file, task.index, std::slice::from_ref(&edit)).unwrap();
                assert!(patched == file, "{edit}");
            }
        }
    }
    assert!(kinds.iter().all(|&count| count > 0));
    assert!(
        refused(0, "SrcRowStride1.units=0x41").contains("takes bytes, a multiple of 64, up to 0xffffffc0")
    );
    let negative = registers(&file, 0, &["SrcRowStride1.units=-0x40".parse().unwrap()]).unwrap();
    assert!(negative == registers(&file, 0, &["SrcRowStride1=0xffffffc0".parse().unwrap()]).unwrap());
}

#[test]
fn constants_are_replaced_whole() {
    let file = file();
    let program = container::open(&file).unwrap();
    let old: Vec<u8> = program.constants.iter().flat_map(|section| section.bytes).copied().collect();
    let new: Vec<u8> = old.iter().map(|byte| byte ^ 0x55).collect();
    let patched = constants(&file, &new).unwrap();
    assert_eq!(container::open(&patched).unwrap().constants[0].bytes, new);
    assert_eq!(constants(&patched, &old).unwrap(), file);
    assert!(constants(&file, &new[1..]).unwrap_err().to_string().contains("a patch keeps every length"));
}
