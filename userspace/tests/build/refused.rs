//! What cannot be built is refused by name, and nothing of it is left.

use super::*;

#[test]
fn line_that_is_refused_leaves_nothing_in_the_graph() {
    let no_arrays = |_: &str, _: u64| Err(String::new());
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(3, 4, 8)).expect("fits");
    let once = graph.relu(x).expect("fits");
    let mut plain = graph.clone();
    for (operation, operands, words) in [
        ("relu", [once].as_slice(), ["%0", "no=1"].as_slice()),
        ("input", &[], &["3x4x8", "no=1"]),
        ("constant", &[], &["3x4x8", "values=1", "no=1"]),
        // It folds its operand, so that this lies in memory.
        ("layer_norm", &[once], &["%0", "no=1"]),
        ("softmax_over", &[once], &["%0", "rows", "no=1"]),
    ] {
        assert!(script::add(&mut graph, operation, operands, words, no_arrays).is_err(), "{operation}");
    }
    assert_eq!(graph.place(once, Placement::Chip), Ok(()), "it is bound to nothing");
    plain.place(once, Placement::Chip).expect("an intermediate tensor");
    for graph in [&mut graph, &mut plain] {
        let y = graph.unary(once, Element::COPY).expect("fits");
        graph.output("y", y).expect("a computed tensor");
    }
    assert_eq!(built(&graph), built(&plain));
}

#[test]
fn line_keeps_to_the_bound_of_its_graph_and_leaves_it() {
    let no_arrays = |_: &str, _: u64| Err(String::new());
    let mut graph = Graph::new();
    graph.set_values_max(64);
    let words = ["1x3x1", "values=1"];
    assert!(script::add(&mut graph, "constant", &[], &words, no_arrays).is_err());
    script::add(&mut graph, "constant", &[], &["1x2x1", "values=1"], no_arrays).expect("takes 64 values");
    assert!(graph.scalar(f16::ZERO).is_err(), "the bound is that of before");
}

#[test]
fn geometry_beyond_its_registers_is_refused() {
    let shape = Shape::new(4, 40, 40);
    let with = |change: fn(&mut Convolution<'_>)| {
        refusal(shape, move |graph, x| {
            let weights = halves(4 * 4 * 9);
            let mut convolution = Convolution::new(4, (3, 3), Weights::Half(&weights));
            change(&mut convolution);
            graph.convolution(x, &convolution)
        })
    };
    let limit = |limit, value, max| Some(BuildError::Limit { operation: "convolution", limit, value, max });
    assert_eq!(with(|_| {}), None);
    assert_eq!(with(|conv| conv.kernel.0 = 32), limit(Limit::Kernel, 32, 31));
    assert_eq!(with(|conv| conv.stride.1 = 4), limit(Limit::Stride, 4, 3));
    assert_eq!(with(|conv| conv.engines = Some(32)), limit(Limit::Engines, 32, 16));
    assert_eq!(with(|conv| conv.channels = Channels::Grouped(0)), limit(Limit::Groups, 0, 8191));
    let power = BuildError::NotAPowerOfTwo { operation: "convolution", limit: Limit::Lanes, value: 3 };
    assert_eq!(with(|conv| conv.lanes = Some(3)), Some(power));
    let padding = BuildError::Padding { operation: "convolution", padding: 3, kernel: 3 };
    assert_eq!(with(|conv| conv.padding.top = 3), Some(padding));
    let what = "lanes";
    let lanes = BuildError::Divides { operation: "convolution", what, divisor: 8, value: 4 };
    assert_eq!(with(|conv| conv.lanes = Some(8)), Some(lanes));
    assert!(matches!(with(|conv| conv.weights = Weights::Bytes(&[])), Some(BuildError::Length { .. })));
    let table = |conv: &mut Convolution<'_>| conv.tail = Tail::table(activation::tanh());
    assert_eq!(with(table), None);
    let bytes = |conv: &mut Convolution<'_>| {
        (conv.weights, conv.tail) = (Weights::Bytes(&[0; 16]), Tail::table(activation::tanh()));
    };
    assert!(matches!(with(bytes), Some(BuildError::Combination { .. })));
}

#[test]
fn shapes_beyond_their_registers_are_refused() {
    let error = |shape| Graph::new().input("x", shape).err().map(|error| error.to_string());
    assert_eq!(
        error(Shape::new(1, 1, 1 << 15)).as_deref(),
        Some("input: number of columns is 32768, which has to be from 1 to 32767")
    );
    assert!(error(Shape::new(0, 1, 1)).is_some());
    assert!(error(Shape::new(1 << 17, 1, 1)).is_some());
    assert!(error(Shape::new((1 << 17) - 1, 32767, 32767)).is_some());
    assert_eq!(error(Shape::new(1, 32767, 32767)), None);
    assert!(error(Shape::new(1 << 16, 1 << 10, 32)).is_some(), "4 GiB are more than an offset reaches");
}

#[test]
fn tensors_as_large_as_memory_are_built_or_refused_without_overflow() {
    for (c, h) in [(8192, 8000), (1, 32767), (16384, 1)] {
        let graph = of(Shape::new(c, h, 32), Graph::relu);
        let built = built(&graph);
        let program = built.program();
        let task = tasks(&program)[0];
        let depth = u64::from(read(&task, &tile_source::DEPTH_STRIDE1).bytes());
        assert_eq!(depth, u64::from(c) * u64::from(h) * 64);
    }
    let interleaved = refusal(Shape::new(1, 32767, 32767), |graph, x| {
        let copy = graph.unary(x, Element::COPY)?;
        graph.interleave(copy, 15)?;
        graph.relu(copy)
    });
    assert!(matches!(interleaved, Some(BuildError::WorkingSet { .. })));
}

#[test]
fn name_that_a_file_cannot_keep_is_refused_where_it_is_given() {
    let shape = Shape::new(4, 4, 4);
    let mut graph = Graph::new();
    let x = graph.input("x", shape).expect("fits");
    let y = graph.relu(x).expect("fits");
    let told = |outcome: Result<(), BuildError>| outcome.map_err(|why| why.to_string());
    for (name, why) in [
        ("x", "input \"x\": another input or output has this name".to_owned()),
        ("a\0b", "input \"a\\0b\": name has a zero (\\0), which ends names in a file".to_owned()),
        (
            &"n".repeat(1_000_000),
            format!(
                "input {:?}: name has 1000000 bytes, and 333 are left for names in a file",
                format!("{}... (1000000 bytes in all)", "n".repeat(96))
            ),
        ),
    ] {
        assert_eq!(told(graph.input(name, shape).map(|_| ())), Err(why.clone()));
        assert_eq!(told(graph.output(name, y)), Err(why.replace("input \"", "output \"")));
    }
    // Nothing of what was refused is left, and the longest name that fits comes back.
    let longest = "n".repeat(333);
    graph.output(&longest, y).expect("fits");
    let file = graph.build().expect("fits").to_anec().expect("fits");
    let read = container::open(&file).expect("is whole");
    let names: Vec<&str> = read.surfaces.iter().map(|surface| &*surface.name).collect();
    assert_eq!(names, [longest.as_str(), "x"]);
}

#[test]
fn surface_without_a_name_has_that_of_its_place_and_leaves_the_others_theirs() {
    let shape = Shape::new(4, 4, 4);
    let mut graph = Graph::new();
    let (a, b) = (graph.input("", shape).expect("fits"), graph.input("", shape).expect("fits"));
    let sum = graph.binary(a, b, Element::ADD).expect("fits");
    graph.output("sum", sum).expect("fits");
    let file = graph.build().expect("fits").to_anec().expect("fits");
    let read = container::open(&file).expect("is whole");
    let names: Vec<&str> = read.surfaces.iter().map(|surface| &*surface.name).collect();
    assert_eq!(names, ["sum", "input0", "input1"]);
}

#[test]
fn graphs_that_make_no_sense_are_refused() {
    let mut graph = Graph::new();
    assert_eq!(graph.build(), Err(BuildError::NoOutput));
    let x = graph.input("x", Shape::new(4, 4, 4)).expect("fits");
    let y = graph.input("y", Shape::new(4, 3, 4)).expect("fits");
    assert!(matches!(graph.output("x", x), Err(BuildError::Place { .. })));
    assert!(matches!(graph.binary(x, y, Element::ADD), Err(BuildError::Shapes { .. })));
    assert!(matches!(graph.unary(x, Element::MULTIPLY), Err(BuildError::Combination { .. })));
    assert!(matches!(graph.slice(x, 2..5, 0..1), Err(BuildError::Slice { .. })));
    assert!(matches!(graph.concat(&[], Axis::Rows), Err(BuildError::Limit { .. })));
    let mut other = Graph::new();
    assert!(matches!(other.relu(y), Err(BuildError::ForeignTensor { .. })));
}
