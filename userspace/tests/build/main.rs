//! Built programs: what they hold together, and what is refused.
//!
//! * `places`: tensors on chip, in scratch memory, and those that may not move.
//! * `refused`: what cannot be built, and that nothing of it is left.

mod places;
mod refused;

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
