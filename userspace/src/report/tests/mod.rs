//! What a page holds, of programs as the builder makes them.

mod bounds;

use serde_json::Value;

use super::*;
use crate::build::{Element, Graph, Shape};
use crate::container;

fn built(input: &str, output: &str) -> Vec<u8> {
    let mut graph = Graph::new();
    let x = graph.input(input, Shape::new(8, 4, 16)).unwrap();
    let y = graph.relu(x).unwrap();
    let z = graph.softmax(y).unwrap();
    graph.output(output, z).unwrap();
    graph.build().unwrap().to_anec().unwrap()
}

fn data(page: &str) -> Value {
    let from = page.split_once("id=\"data\">").unwrap().1;
    serde_json::from_str(from.split_once("</script>").unwrap().0).unwrap()
}

fn page_of(file: &[u8]) -> String {
    page(&[("a.anec", &container::open(file).unwrap())], Soc::T8103).unwrap()
}

/// The number of the register that a pair of a task is about.
fn register_of(data: &Value, written: &[Value]) -> usize {
    let slot = &data["slots"][written[0].as_u64().unwrap() as usize];
    slot.as_u64().unwrap_or_else(|| slot[0].as_u64().unwrap()) as usize
}

#[test]
fn page_holds_every_task_with_its_time_its_memory_and_its_registers() {
    let page = page_of(&built("x", "y"));
    let data = data(&page);
    let walk = &data["sides"][0]["walk"];
    let tasks = walk["tasks"].as_array().unwrap();
    assert!(tasks.len() > 2);
    let mut end = 0;
    for task in tasks {
        assert_eq!(task["start"].as_u64(), Some(end));
        end += task["cycles"].as_u64().unwrap();
        assert!(task["cycles"].as_u64() > Some(0) && !task["spans"].as_array().unwrap().is_empty());
        let heat = task["heat"].as_array().unwrap();
        assert_eq!(heat.chunks(2).map(|run| run[1].as_u64().unwrap()).sum::<u64>(), 64);
        for written in task["registers"].as_array().unwrap().chunks(2) {
            assert!(data["registers"][register_of(&data, written)]["meaning"].is_string(), "{written:?}");
        }
    }
    assert_eq!(walk["cycles"].as_u64(), Some(end));
    // A task leaves something on chip, and another takes it.
    assert!(tasks.iter().any(|task| task["takes"].is_array()));
}

/// Granules by bank of the first task, of all operands that `ane sram` shows together.
fn heat_by_operands(program: &Program<'_>) -> Vec<u64> {
    let occupancy = crate::sram::Occupancy::of(program, Soc::T8103);
    let heats: Vec<_> = occupancy.tasks[0].operands.iter().filter_map(|operand| operand.heat).collect();
    (0..64).map(|bank| heats.iter().map(|heat| heat[bank]).sum()).collect()
}

#[test]
fn source_that_is_turned_heats_the_banks_in_which_it_lies() {
    let mut graph = Graph::new();
    let [a, b] = ["a", "b"].map(|name| graph.input(name, Shape::new(8, 4, 64)).unwrap());
    let sum = graph.binary(a, b, Element::ADD).unwrap();
    graph.output("sum", sum).unwrap();
    let file = graph.build().unwrap().to_anec().unwrap();
    let turned =
        crate::patch::registers(&file, 0, &["PlanarMap.src1_transposed=1".parse().unwrap()]).unwrap();
    for file in [file, turned] {
        let shown = data(&page_of(&file))["sides"][0]["walk"]["tasks"][0]["heat"].clone();
        let numbers: Vec<u64> = serde_json::from_value(shown).unwrap();
        let shown: Vec<u64> = numbers.chunks(2).flat_map(|run| vec![run[0]; run[1] as usize]).collect();
        assert_eq!(shown, heat_by_operands(&container::open(&file).unwrap()));
    }
}

#[test]
fn names_that_are_markup_stay_names() {
    let evil = "</script><img src=x onerror=alert(1)><!--{{data}}";
    let file = built(evil, "<b>y</b>");
    let page = page(&[(evil, &container::open(&file).unwrap())], Soc::T8103).unwrap();
    assert!(!page.contains("<img") && !page.contains("<b>") && !page.contains("</script><"));
    assert_eq!(page.matches("</script>").count(), 2, "one for the data, one for the script");
    let surfaces = data(&page)["sides"][0]["program"]["surfaces"].clone();
    assert!(surfaces.as_array().unwrap().iter().any(|surface| surface["name"] == evil));
}

#[test]
fn page_loads_nothing() {
    let page = page_of(&built("x", "y")).replace("http://www.w3.org/2000/svg", "");
    for needs in ["http:", "https:", "src=", "@import", "url(", "fetch("] {
        assert!(!page.contains(needs), "{needs}");
    }
}

#[test]
fn refused_task_is_shown_in_its_place() {
    let file = built("x", "y");
    let edit = "MACCfg=0xffffffff".parse().unwrap();
    let patched = crate::patch::registers(&file, 0, &[edit]).unwrap();
    let data = data(&page_of(&patched));
    let refusals = data["sides"][0]["walk"]["refusals"].as_array().unwrap().clone();
    assert_eq!(
        (refusals.len(), &refusals[0]["register"], &refusals[0]["task"]),
        (1, &"MACCfg".into(), &0.into())
    );
    assert!(data["texts"][refusals[0]["hint"].as_u64().unwrap() as usize].is_string());
}

#[test]
fn fault_of_a_run_is_shown_at_its_task() {
    let file = built("x", "y");
    let sound = container::open(&file).unwrap();
    assert_eq!(ended(&sound, Soc::T8103).unwrap(), None);
    // Planes so far apart that the second one lies behind every buffer.
    let patched = crate::patch::registers(&file, 0, &["SrcPlaneStride1=0x4000000".parse().unwrap()]).unwrap();
    let program = container::open(&patched).unwrap();
    let ended = ended(&program, Soc::T8103).unwrap().expect("a fault");
    assert!(ended.task == 0 && ended.why.contains("faulted at 0x"), "{ended:?}");
    let page = page_of_runs(&[("a", &program)], &[Some(ended.clone())], Soc::T8103).unwrap();
    let shown = &data(&page)["sides"][0];
    assert_eq!((&shown["ended"]["task"], &shown["ended"]["why"]), (&0.into(), &ended.why.as_str().into()));
    assert!(shown["walk"]["refusals"].as_array().unwrap().is_empty());
}

#[test]
fn two_programs_have_their_differences() {
    let file = built("x", "y");
    let other = crate::patch::registers(&file, 0, &["MACCfg.nonlinear_mode=0".parse().unwrap()]).unwrap();
    let (a, b) = (container::open(&file).unwrap(), container::open(&other).unwrap());
    let data = data(&page(&[("a", &a), ("b", &b)], Soc::T8103).unwrap());
    assert!(data["differences"]["count"].as_u64() > Some(0));
    assert_eq!(data["sides"].as_array().unwrap().len(), 2);
}
