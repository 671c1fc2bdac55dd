//! Built programs: what they hold together, and what is refused.

use ane::build::{
    Across, Axis, BuildError, Built, Channels, Convolution, Element, Graph, Limit, Lines, Over, Padding,
    Placement, Reduce, Shape, Tail, Tensor, Weights, activation, script,
};
use ane::container::{self, Direction, Program, Role};
use ane::task::Task;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::l2::SourceType;
use ane_uapi::hw::td::planar::PostFunction;
use ane_uapi::hw::td::{self, common, kernel_dma, l2, neural, planar, tile_destination, tile_source};
use ane_uapi::register::{Reg, Word};
use half::f16;
use proptest::prelude::*;

const EPSILON: f16 = f16::from_f32_const(1e-5);

/// A graph with one input of this shape and the output that `make` makes of it.
fn of(shape: Shape, make: impl Fn(&mut Graph, Tensor) -> Result<Tensor, BuildError>) -> Graph {
    let mut graph = Graph::new();
    let x = graph.input("x", shape).expect("a shape that fits");
    let y = make(&mut graph, x).expect("an operation that fits");
    graph.output("y", y).expect("a computed tensor");
    graph
}

/// The error of `make`, or of building what it makes.
fn refusal(
    shape: Shape,
    make: impl Fn(&mut Graph, Tensor) -> Result<Tensor, BuildError>,
) -> Option<BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", shape).expect("a shape that fits");
    let y = match make(&mut graph, x) {
        Ok(y) => y,
        Err(error) => return Some(error),
    };
    graph.output("y", y).expect("a computed tensor");
    graph.build().err()
}

fn halves(count: usize) -> Vec<f16> {
    (0..count).map(|index| f16::from_f32((index % 64) as f32 / 64.0)).collect()
}

fn conv3x3(graph: &mut Graph, x: Tensor) -> Result<Tensor, BuildError> {
    let inputs = graph.shape(x)?.c as usize;
    let (weights, bias) = (halves(32 * inputs * 9), halves(32));
    graph.convolution(
        x,
        &Convolution {
            padding: Padding::all(1),
            bias: Some(&bias),
            tail: Tail::RELU,
            ..Convolution::new(32, (3, 3), Weights::Half(&weights))
        },
    )
}

/// 5x4 taps of bytes, stride 2 and 3.
fn convolve(
    graph: &mut Graph,
    x: Tensor,
    outputs: u32,
    channels: Channels,
    engines: Option<u32>,
) -> Result<Tensor, BuildError> {
    let reads = match channels {
        Channels::Grouped(groups) => graph.shape(x)?.c / groups,
        Channels::Unicast(reads) => reads,
        Channels::Dense => graph.shape(x)?.c,
    };
    let weights: Vec<u8> = (0..outputs * reads * 20).map(|index| index as u8).collect();
    let convolution = Convolution {
        channels,
        engines,
        stride: (2, 3),
        ..Convolution::new(outputs, (5, 4), Weights::Bytes(&weights))
    };
    graph.convolution(x, &convolution)
}

fn matmul(rows: u32, inner: u32, columns: u32, heads: u32) -> Graph {
    of(Shape::new(rows, heads, inner), |graph, x| {
        let y = graph.input("weights", Shape::new(inner, heads, columns))?;
        graph.matmul(x, y, Tail::NONE)
    })
}

/// One of each kind.
fn zoo() -> Vec<(&'static str, Graph)> {
    let small = Shape::new(12, 6, 40);
    vec![
        ("square", of(small, |graph, x| graph.unary(x, Element::SQUARE.then(EPSILON, f16::LN_2).relu()))),
        (
            "scalar",
            of(small, |graph, x| {
                let three = graph.scalar(f16::from_f32(3.0))?;
                graph.binary(x, three, Element::MAXIMUM)
            }),
        ),
        ("conv3x3", of(small, conv3x3)),
        ("depthwise", of(small, |graph, x| convolve(graph, x, 12, Channels::Unicast(1), None))),
        ("grouped bytes", of(small, |graph, x| convolve(graph, x, 24, Channels::Grouped(3), Some(2)))),
        ("exp", of(small, Graph::exp)),
        ("ln", of(small, Graph::ln)),
        ("transpose", of(small, Graph::transpose)),
        ("softmax", of(Shape::new(512, 1, 1), Graph::softmax)),
        ("softmax of planes", of(small, Graph::softmax)),
        ("softmax_columns", of(small, Graph::softmax_columns)),
        ("layer_norm", of(small, |graph, x| graph.layer_norm(x, EPSILON))),
        ("instance_norm", of(small, |graph, x| graph.instance_norm(x, EPSILON))),
        (
            "layer_norm_columns",
            of(small, |graph, x| {
                let gamma = graph.constant(Shape::new(1, 1, 40), &halves(40))?;
                let beta = graph.input("beta", Shape::new(1, 1, 40))?;
                graph.layer_norm_columns(x, gamma, beta, EPSILON)
            }),
        ),
        ("matmul", matmul(64, 48, 80, 1)),
        ("wide matmul", matmul(320, 64, 32, 1)),
        ("heads", matmul(32, 64, 32, 4)),
        (
            "transposed sum",
            of(small, |graph, x| graph.reduce(x, Element::ADD.transposed(), Reduce::SUM, Over::Plane)),
        ),
        (
            "concat",
            of(small, |graph, x| {
                let squares = graph.sum_of_squares(x, Over::Columns)?;
                let sums = graph.reduce(x, Element::COPY, Reduce::SUM, Over::Columns)?;
                graph.concat(&[squares, sums], Axis::Rows)
            }),
        ),
        ("channel groups", of(small, |graph, x| graph.across_channels(x, Across::Maximum, 4, Tail::RELU))),
    ]
}

fn built(graph: &Graph) -> Built {
    graph.build().unwrap_or_else(|error| panic!("{error}"))
}

fn tasks<'a>(program: &Program<'a>) -> Vec<Task<'a>> {
    let tasks = program.tasks().expect("h13");
    tasks.map(|task| task.unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn read<T: Word>(task: &Task<'_>, register: &Reg<T>) -> T {
    let mut found = None;
    task.for_each_write(|address, value| {
        if address == register.offset() {
            found = Some(T::from_word(value));
        }
    });
    found.expect("a full descriptor")
}

fn classes(graph: &Graph) -> Vec<u8> {
    let built = built(graph);
    tasks(&built.program()).iter().map(|task| read(task, &common::CFG).class()).collect()
}

#[test]
fn every_kind_decodes_without_unknown_bits() {
    for (name, graph) in zoo() {
        let built = built(&graph);
        for task in tasks(&built.program()) {
            let rows: Vec<_> = task.header.rows().collect();
            let unknown = rows.iter().filter(|(register, word)| register.unknown & word != 0);
            assert_eq!(unknown.count(), 0, "{name} header of task {}", task.index);
            task.for_each_write(|address, value| {
                let register = td::find(address).expect("a known register").register;
                assert_eq!(register.unknown & value, 0, "{name} {}", register.name);
            });
        }
    }
}

#[test]
fn every_kind_comes_back_from_its_file() {
    for (name, graph) in zoo() {
        let built = built(&graph);
        let file = built.to_anec().unwrap_or_else(|error| panic!("{name}: {error}"));
        let read = container::open(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut program = built.program();
        // The fields that the format has no room for, or names otherwise.
        for (ours, theirs) in program.surfaces.iter_mut().zip(&read.surfaces) {
            ours.name = theirs.name.clone();
        }
        for (ours, theirs) in program.constants.iter_mut().zip(&read.constants) {
            ours.name = theirs.name.clone();
        }
        assert_eq!(program, read, "{name}");
    }
}

#[test]
fn every_kind_keeps_its_operands_inside_their_buffers() {
    for (name, graph) in zoo() {
        let built = built(&graph);
        let program = built.program();
        let bytes = |bar: u8| program.bar(bar).unwrap_or_else(|| panic!("{name}: BAR {bar}")).bytes;
        for task in tasks(&program) {
            let bases = task.header.operands;
            let source = read(&task, &tile_source::BASE_ADDR1).bytes();
            let destination = read(&task, &tile_destination::BASE_ADDR).bytes();
            assert!(!bases.rbe0() || u64::from(source) < bytes(bases.rbase0()), "{name}");
            assert!(!bases.wbe() || u64::from(destination) < bytes(bases.wbase()), "{name}");
            let size = read(&task, &kernel_dma::COEFF_BFR_SIZE).bytes();
            let base = read(&task, &kernel_dma::COEFF_BASE_ADDR).bytes();
            let kernels = task.header.kernels;
            assert!(!kernels.kbe0() || u64::from(base + size) <= bytes(kernels.kbase0()), "{name}");
        }
    }
}

#[test]
fn bars_are_tasks_constants_scratch_outputs_inputs() {
    let built = built(&matmul(64, 48, 80, 1));
    let program = built.program();
    let roles: Vec<_> = program.bars.iter().map(|bar| (bar.index, bar.role)).collect();
    let surfaces = [(4, Role::Surface(0)), (5, Role::Surface(1)), (6, Role::Surface(2))];
    assert_eq!(roles[..2], [(0, Role::Tasks), (3, Role::Scratch)]);
    assert_eq!(roles[2..], surfaces);
    assert_eq!(built.surfaces()[0].direction, Direction::Output);
    assert_eq!(built.surface("weights").map(|surface| (surface.bar, surface.strides.h)), Some((6, 192)));
}

#[test]
fn runtime_product_is_a_rewrite_and_a_convolution_that_waits_for_it() {
    let built = built(&matmul(64, 48, 80, 1));
    let program = built.program();
    let [rewrite, product] = tasks(&program)[..] else { panic!("two tasks") };
    // 64 channels of 48 columns, 8 channels to a plane of 48 * 16 bytes.
    assert_eq!(read(&rewrite, &common::CFG).class(), TaskClass::PlanarCopy as u8);
    assert_eq!(read(&rewrite, &tile_destination::FMT).interleave(), 8);
    assert_eq!(read(&rewrite, &tile_destination::PLANE_STRIDE).bytes(), 768);
    assert_eq!(rewrite.header.operands.wbase(), 3);

    assert_eq!((product.header.kernels.kbase0(), product.header.kernels.kbe0()), (3, true));
    assert_eq!(product.header.dependence.map(|word| word.dtid()), Some(0));
    assert_eq!(product.len_bytes(), td::FULL_EXTENDED_BYTES);
    assert!(read(&product, &neural::KERNEL_CFG).runtime());
    let conv = read(&product, &common::CONV_CFG);
    assert_eq!((conv.kw(), conv.kh(), conv.ocg_size()), (1, 1, 3));
    assert_eq!(read(&product, &common::CFG).active_ne(), 3);
    assert_eq!(read(&product, &common::C_IN).channels(), 48);
    assert_eq!(read(&product, &kernel_dma::COEFF_BFR_SIZE).bytes(), 768);
}

#[test]
fn softmax_over_channels_is_the_five_tasks_of_the_compiler() {
    let graph = of(Shape::new(512, 1, 1), Graph::softmax);
    let neural = TaskClass::Neural as u8;
    let binary = TaskClass::PlanarBinary as u8;
    assert_eq!(classes(&graph), [neural, binary, neural, neural, binary]);

    let built = built(&graph);
    let program = built.program();
    let tasks = tasks(&program);
    let operations: Vec<_> =
        [0, 2, 3].map(|index| read(&tasks[index], &neural::MAC_CFG).into_bits() & 0xf).to_vec();
    assert_eq!(operations, [0xb, 0xc, 0x8]);
    assert_eq!(read(&tasks[0], &l2::L2_CFG).padding_mode(), 1);
    assert_eq!(read(&tasks[1], &planar::BIAS_SCALE).scale(), 0x3dc5);
    let map = read(&tasks[1], &common::PLANAR_MAP);
    assert!(map.transpose() && map.src2_channel());
    assert!(read(&tasks[2], &common::CFG).transpose());
    // Between the tasks everything stays on chip.
    let places = tasks.iter().map(|task| (task.header.flags.src_loc(), task.header.flags.dst_loc()));
    assert_eq!(
        places.collect::<Vec<_>>(),
        [(true, false), (true, false), (false, false), (false, false), (false, true)]
    );
}

#[test]
fn layer_norm_takes_its_statistics_from_two_rows_on_chip() {
    let graph = of(Shape::new(12, 6, 40), |graph, x| graph.layer_norm(x, EPSILON));
    let [reduce, both, normalise] =
        [TaskClass::PlanarReduce, TaskClass::PlanarBinaryReduce, TaskClass::PlanarNormalise];
    assert_eq!(classes(&graph), [reduce as u8, both as u8, normalise as u8]);

    let built = built(&graph);
    let program = built.program();
    let tasks = tasks(&program);
    assert_eq!(read(&tasks[0], &common::IN_DIM).height(), 72);
    assert_eq!(read(&tasks[0], &planar::FINAL_SCALE).scale(), (1.0_f32 / 2880.0).to_bits());
    assert_eq!(read(&tasks[1], &planar::PE_CFG).post_function(), PostFunction::ReciprocalSquareRoot as u8);
    let (mean, rstd) = (read(&tasks[0], &l2::RESULT_BASE), read(&tasks[1], &l2::RESULT_BASE));
    let row = read(&tasks[2], &l2::SOURCE2_ROW_STRIDE).bytes();
    assert_eq!(rstd.bytes(), mean.bytes() + row);
    assert_eq!(read(&tasks[2], &l2::SOURCE2_BASE), mean);
    assert!(read(&tasks[2], &common::PLANAR_MAP).src2_row());
}

#[test]
fn reduction_over_columns_is_one_batch_for_each_row() {
    let built = built(&of(Shape::new(3, 5, 40), |graph, x| {
        graph.reduce(x, Element::COPY, Reduce::MAXIMUM, Over::Columns)
    }));
    let program = built.program();
    let task = tasks(&program)[0];
    assert_eq!(read(&task, &common::GROUP_CONV_CFG).num_groups(), 5);
    assert_eq!(read(&task, &common::IN_DIM).height(), 1);
    assert_eq!(read(&task, &tile_source::GROUP_STRIDE1).bytes(), 128);
    assert_eq!(read(&task, &tile_destination::GROUP_STRIDE).bytes(), 64);
}

#[test]
fn outputs_beyond_the_engines_lanes_are_divided_over_tasks() {
    let built = built(&matmul(320, 64, 32, 1));
    let program = built.program();
    let tasks = tasks(&program);
    let outputs: Vec<_> = tasks[1..].iter().map(|task| read(task, &common::C_OUT).channels()).collect();
    assert_eq!(outputs, [128, 128, 64]);
    let places = tasks[1..].iter().map(|task| read(task, &tile_destination::BASE_ADDR).bytes());
    assert_eq!(places.collect::<Vec<_>>(), [0, 128 * 64, 256 * 64]);
    // The first leaves the other operand on chip, where the others find it.
    let sources = tasks[1..].iter().map(|task| read(task, &l2::SOURCE_CFG).source_type());
    assert_eq!(sources.collect::<Vec<_>>(), [1, 0, 0]);
    let bases: Vec<_> = tasks[1..].iter().map(|task| read(task, &l2::SOURCE_BASE)).collect();
    assert_eq!(bases, [bases[0]; 3]);
}

#[test]
fn heads_are_rewritten_and_multiplied_one_by_one_last_first() {
    let built = built(&matmul(32, 64, 32, 4));
    let program = built.program();
    let tasks = tasks(&program);
    assert_eq!(tasks.len(), 8);
    let rows = tasks.iter().skip(1).step_by(2);
    let places = rows.map(|task| read(task, &tile_destination::BASE_ADDR).bytes());
    assert_eq!(places.collect::<Vec<_>>(), [3 * 64, 2 * 64, 64, 0]);
}

#[test]
fn tensors_that_do_not_fit_on_chip_go_to_scratch_memory() {
    let twice = |graph: &mut Graph, x| {
        let once = graph.relu(x)?;
        graph.relu(once)
    };
    let small = built(&of(Shape::new(64, 32, 128), twice));
    assert_eq!(small.scratch_bytes(), 0);
    let large = built(&of(Shape::new(64, 128, 256), twice));
    assert_eq!(large.scratch_bytes(), 64 * 128 * 512);
}

#[test]
fn tensor_that_waits_goes_to_scratch_memory_and_those_at_work_stay_on_chip() {
    // Three tensors of 0.75 MB, of which the first is read again by the last task.
    let shape = Shape::new(64, 48, 128);
    let built = built(&of(shape, |graph, x| {
        let first = graph.relu(x)?;
        let second = graph.relu(first)?;
        let third = graph.relu(second)?;
        graph.binary(third, first, Element::ADD)
    }));
    assert_eq!(built.scratch_bytes(), 64 * 48 * 256);
    let program = built.program();
    let tasks = tasks(&program);
    let sources: Vec<_> = tasks.iter().map(|task| read(task, &l2::SOURCE_CFG)).collect();
    let (stream, on_chip) = (SourceType::Stream as u8, SourceType::OnChip as u8);
    let types: Vec<_> = sources.iter().map(|source| source.source_type()).collect();
    assert_eq!(types, [stream, stream, on_chip, on_chip]);
    assert!(sources[3].src2_in_memory(), "the first, which waited");
}

#[test]
fn of_tensors_that_wait_equally_long_the_largest_goes_to_scratch_memory() {
    // The sums and the first tensor wait for the same task. They do not fit beside two more tensors of 0.75 MB.
    let shape = Shape::new(64, 48, 128);
    let built = built(&of(shape, |graph, x| {
        let sums = graph.reduce(x, Element::COPY, Reduce::SUM, Over::Columns)?;
        let first = graph.relu(x)?;
        let second = graph.relu(x)?;
        let third = graph.relu(second)?;
        let both = graph.binary(first, sums, Element::ADD)?;
        graph.binary(both, third, Element::ADD)
    }));
    assert_eq!(built.scratch_bytes(), 64 * 48 * 256);
}

#[test]
fn working_set_that_does_not_fit_is_named_with_its_task() {
    let error = refusal(Shape::new(64, 128, 256), |graph, x| {
        let once = graph.relu(x)?;
        graph.place(once, Placement::Chip)?;
        graph.relu(once)
    });
    let error = error.expect("4 MB do not fit");
    assert_eq!(
        error.to_string(),
        "task 0 (pass-through): result of 0x400000 bytes does not fit, 0x0 of the working set's 0x200000 bytes \
         are in use"
    );
}

/// What makes another tensor of the rows of one, so that it has to lie in memory.
type Bind = fn(&mut Graph, Tensor) -> Result<Tensor, BuildError>;

#[test]
fn tensor_whose_rows_are_taken_otherwise_stays_in_memory_whatever_is_wished() {
    let lines: Bind = |graph, x| {
        let Lines { base, plane, row } = Lines::of(graph.shape(x)?);
        graph.lines(x, Shape::new(4, 3, 8), Lines { base, plane: row, row: plane })
    };
    let interleave: Bind = |graph, x| graph.interleave(x, 3).map(|()| x);
    for bind in [Graph::fold as Bind, lines, interleave] {
        let with = |wish: Option<Placement>| {
            built(&of(Shape::new(3, 4, 8), |graph, x| {
                let once = graph.relu(x)?;
                let bound = bind(graph, once)?;
                wish.map_or(Ok(()), |wish| graph.place(once, wish))?;
                assert!(matches!(graph.place(once, Placement::Chip), Err(BuildError::Place { .. })));
                graph.unary(bound, Element::COPY)
            }))
        };
        let plain = with(None);
        assert!(plain.scratch_bytes() > 0);
        assert_eq!(plain, with(Some(Placement::Auto)));
        assert_eq!(plain, with(Some(Placement::Scratch)));
    }
}

#[test]
fn tensor_that_is_refused_another_order_of_rows_may_still_lie_on_chip() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(3, 4, 8)).expect("fits");
    let once = graph.relu(x).expect("fits");
    let lines = Lines { base: 32, ..Lines::of(Shape::new(3, 4, 8)) };
    assert!(graph.lines(once, Shape::new(3, 4, 8), lines).is_err());
    let part = graph.slice(once, 0..2, 0..4).expect("is inside");
    assert!(graph.fold(part).is_err());
    assert_eq!(graph.place(once, Placement::Chip), Ok(()));
}

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

#[test]
fn words_can_be_altered_before_they_are_written() {
    let mut built = built(&of(Shape::new(1, 1, 77), Graph::relu));
    built.register_mut(0, common::CFG.offset()).expect("a full descriptor").set(0x33);
    built.words_mut(0).expect("one task")[6].set(0);
    let file = built.to_anec().expect("a file");
    let program = container::open(&file).expect("still a container");
    let task = tasks(&program)[0];
    assert_eq!(read(&task, &common::CFG).into_bits(), 0x33);
    assert!(!task.header.flags.src_loc());
    assert!(built.words(1).is_none());
    assert!(built.register_mut(0, 0x40).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is asked for is built or refused, and what is built can be read.
    #[test]
    fn any_convolution_is_built_or_refused(
        shape in (1..70_u32, 1..40_u32, 1..300_u32),
        outputs in 1..70_u32,
        kernel in (1..7_u32, 1..7_u32),
        stride in (1..5_u32, 1..5_u32),
        padding in 0..4_u32,
        groups in 1..4_u32,
        engines in prop::option::of(1..17_u32),
        lanes in prop::option::of(1..33_u32),
    ) {
        let mut graph = Graph::new();
        let x = graph.input("x", Shape::new(shape.0, shape.1, shape.2)).expect("fits");
        let weights = halves((shape.0 / groups * outputs * kernel.0 * kernel.1) as usize);
        let convolution = Convolution {
            stride,
            padding: Padding::all(padding),
            channels: Channels::Grouped(groups),
            engines,
            lanes,
            ..Convolution::new(outputs, kernel, Weights::Half(&weights))
        };
        let result = graph.convolution(x, &convolution).and_then(|y| {
            graph.output("y", y)?;
            graph.build()
        });
        if let Ok(built) = result {
            let file = built.to_anec().expect("a file");
            prop_assert!(container::open(&file).is_ok());
        }
    }
}

#[test]
fn programs_of_the_size_of_a_language_model_fit() {
    let linear = of(Shape::new(768, 1, 32), |graph, x| {
        let weights = halves(3072 * 768);
        let hidden = graph.linear(x, 3072, Weights::Half(&weights))?;
        let hidden = graph.activation(hidden, activation::gelu())?;
        graph.linear(hidden, 768, Weights::Half(&weights))
    });
    // Each of the two weights has 4.5 MB, and goes in five tiles.
    assert_eq!(built(&linear).task_count(), 5 + 1 + 5);
    let attention = of(Shape::new(512, 12, 64), |graph, queries| {
        let keys = graph.input("keys", Shape::new(64, 12, 512))?;
        let values = graph.input("values", Shape::new(512, 12, 64))?;
        let scores = graph.matmul(queries, keys, Tail::NONE)?;
        let weights = graph.softmax_columns(scores)?;
        graph.matmul(weights, values, Tail::NONE)
    });
    let built = built(&attention);
    // Two products of one rewrite and four tasks for each of twelve heads, and a softmax of five.
    assert_eq!(built.task_count(), 2 * 12 * 5 + 5);
    assert!(built.scratch_bytes() > 0);
}
