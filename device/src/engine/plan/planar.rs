//! Planar tasks: copy, binary, normalise, reduce (docs/execution.md, *Planar tasks*).

use ane_uapi::hw::td::common::{self, Cfg, Channels, GroupConvCfg, PlanarMap, TaskClass};
use ane_uapi::hw::td::l2;
use ane_uapi::hw::td::planar::{
    self, EpsilonPreScale, Operation, PeCfg, PostFunction, Reduction, SecondSource,
};
use ane_uapi::register::Bits;

use super::inferred::Inferred;
use super::operand::{Origin, Shape, Sink, Source};
use super::source::Wanted;
use super::verdict::{Registers, Result};
use super::{sink, source, task};
use crate::engine::numerics::double::ONE;
use crate::engine::planar::{Class, Planar};
use crate::refusal::Category;

/// PaddingMode of maximum tasks; 0 on others.
const PADDING_MODE_MAXIMUM: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanarPass {
    pub source1: Source,
    /// Source 2, where the class has one. Of a normalising pass, its height is 2: the values to subtract, and
    /// those to multiply by.
    pub source2: Option<Source>,
    pub sink: Sink,
    pub shape: Shape,
    /// How often the task is repeated, each time with the group strides added to the bases.
    pub batches: u32,
    pub planar: Planar,
}

impl PlanarPass {
    /// Extents of the result before any transposition.
    pub const fn output(&self) -> Shape {
        if self.sink.is_transposed { self.sink.shape.transposed() } else { self.sink.shape }
    }
}

pub(super) fn plan(task: Registers<'_>, class: TaskClass) -> Result<(PlanarPass, Inferred)> {
    let is_binary =
        matches!(class, TaskClass::PlanarBinary | TaskClass::PlanarNormalise | TaskClass::PlanarBinaryReduce);
    let reduces = matches!(class, TaskClass::PlanarReduce | TaskClass::PlanarBinaryReduce);
    check_source2(task, is_binary)?;
    task::check(task, is_binary)?;
    check_convolution(task)?;
    let transposes = task.get(&common::CFG).transpose();
    task.defined(!transposes, &common::CFG, Cfg::TRANSPOSE, "planar task transposes by PlanarMap")?;
    let shape = shape(task)?;
    let unicast = task.get(&common::GROUP_CONV_CFG).unicast_en();
    task.defined(!unicast, &common::GROUP_CONV_CFG, GroupConvCfg::UNICAST_EN, "no planar task is unicast")?;
    let (repeats, mut inferred) = task::repeats(task, shape)?;
    if repeats.depths > 1 {
        task.defined(
            !reduces,
            &common::IN_DEPTH,
            Bits::ALL,
            "whether a reduction goes over depths is not known",
        )?;
    }
    let planar = operation(task, class, is_binary, reduces)?;
    inferred = inferred.with(task::bytes(task, is_binary)).with(guesses(&planar));
    let map = task.get(&common::PLANAR_MAP);
    for (is_set, field) in
        [(map.src1_depth(), PlanarMap::SRC1_DEPTH), (map.src2_depth() && is_binary, PlanarMap::SRC2_DEPTH)]
    {
        if is_set {
            let why = "that it is a broadcast along depth is a guess, and there are several depths";
            task.defined(repeats.depths == 1, &common::PLANAR_MAP, field, why)?;
            inferred = inferred.with(Inferred::DEPTH_BROADCAST);
        }
    }
    let extents = |column: bool, row: bool, channel: bool| Shape {
        channels: if channel { 1 } else { shape.channels },
        height: if row { 1 } else { shape.height },
        width: if column { 1 } else { shape.width },
    };
    let shape1 = extents(map.src1_column(), map.src1_row(), map.src1_channel());
    let wanted = |shape, is_transposed| Wanted { shape, is_transposed, repeats };
    let source1 = source::source1(task, class, wanted(shape1, map.src1_transposed()))?;
    let source2 = if is_binary {
        let mut shape2 = extents(map.src2_column(), map.src2_row(), map.src2_channel());
        if class == TaskClass::PlanarNormalise {
            let is_one_row = map.src2_row() || map.src2_transposed() || shape.height == 1;
            task.defined(
                is_one_row,
                &common::PLANAR_MAP,
                PlanarMap::SRC2_ROW,
                "the row behind a normalising source 2 is its scale, and there are other rows",
            )?;
            shape2.height = 2;
            if map.src2_transposed() {
                // Each column of the two rows is a channel.
                shape2.width = 1;
            }
        }
        Some(source::source2(task, wanted(shape2, map.src2_transposed()))?)
    } else {
        None
    };
    let result = if reduces { Shape { height: 1, width: 1, ..shape } } else { shape };
    let sink = sink::sink(task, result, map.transpose(), repeats)?;
    check_repeats_on_chip(task, repeats.count(), [Some(source1), source2], sink)?;
    let batches = repeats.count();
    Ok((PlanarPass { source1, source2, sink, shape, batches, planar }, inferred))
}

/// A source 2 that is needed from memory and has no format hangs, whatever else is wrong with the task.
fn check_source2(task: Registers<'_>, is_binary: bool) -> Result<()> {
    use ane_uapi::hw::td::tile_source::FMT2;
    let is_needed = is_binary && task.get(&common::CFG).src2_in_memory();
    let is_formless = is_needed && task.get(&FMT2).into_bits() == 0;
    task.runs(!is_formless, &FMT2, Bits::ALL, "source is needed and its format is zero")
}

/// Planar tasks of every program have the convolution that does nothing.
fn check_convolution(task: Registers<'_>) -> Result<()> {
    let cfg = task.get(&common::CONV_CFG);
    let is_plain =
        [cfg.kw(), cfg.kh(), cfg.sx(), cfg.sy()] == [1; 4] && [cfg.px(), cfg.py(), cfg.ocg_size()] == [0; 3];
    task.defined(
        is_plain && cfg.ox() == 1,
        &common::CONV_CFG,
        Bits::ALL,
        "planar task with a kernel, stride, padding, lanes or output step",
    )
}

fn shape(task: Registers<'_>) -> Result<Shape> {
    let input = task::input(task)?;
    let output = task::output(task)?;
    task.defined(
        input.channels == output.channels,
        &common::C_OUT,
        Channels::CHANNELS,
        "planar task changes the channels",
    )?;
    task.defined(input == output, &common::OUT_DIM, Bits::ALL, "planar task changes the extents")?;
    Ok(input)
}

/// The parts of a pass that no source establishes.
fn guesses(planar: &Planar) -> Inferred {
    let is_bare = Planar { magnitude: false, ..*planar } == Planar::plain(Class::Copy, Operation::Add);
    let magnitude = if planar.magnitude && !is_bare { Inferred::MAGNITUDE } else { Inferred::NONE };
    let relu = if planar.relu_first { Inferred::SOURCE_RELU } else { Inferred::NONE };
    let second = if planar.relu_second { Inferred::SECOND_RELU } else { Inferred::NONE };
    let has_bias = planar.bias != 0 || planar.scale != ONE || planar.relu;
    let reduces = matches!(planar.class, Class::Reduce | Class::BinaryReduce);
    let bias = if reduces && has_bias { Inferred::REDUCTION_BIAS } else { Inferred::NONE };
    magnitude.with(relu).with(second).with(bias)
}

fn operation(task: Registers<'_>, class: TaskClass, is_binary: bool, reduces: bool) -> Result<Planar> {
    let register = &planar::PE_CFG;
    let cfg = task.get(register);
    // The decoder has refused the numbers that these enumerations do not have.
    let operation = Operation::try_from(cfg.operation()).unwrap_or(Operation::Add);
    let reduction = Reduction::try_from(cfg.reduction()).unwrap_or(Reduction::Sum);
    let post_function = PostFunction::try_from(cfg.post_function()).unwrap_or(PostFunction::None);
    let second = SecondSource::try_from(cfg.second_source()).unwrap_or(SecondSource::Absent);
    task.defined(
        (second == SecondSource::Absent) != is_binary,
        register,
        PeCfg::SECOND_SOURCE,
        "selector and class disagree on whether there is a source 2",
    )?;
    let is_known = match class {
        TaskClass::PlanarNormalise => operation == Operation::Add,
        _ => is_binary || matches!(operation, Operation::Add | Operation::SumSquared),
    };
    task.defined(is_known, register, PeCfg::OPERATION, "class is not known with this operation")?;
    let constants = task.get(&planar::EPSILON_PRE_SCALE);
    if !reduces {
        task.defined(reduction == Reduction::Sum, register, PeCfg::REDUCTION, "class reduces nothing")?;
        task.defined(
            post_function == PostFunction::None,
            register,
            PeCfg::POST_FUNCTION,
            "class reduces nothing",
        )?;
        task.defined(
            constants.epsilon() == 0,
            &planar::EPSILON_PRE_SCALE,
            EpsilonPreScale::EPSILON,
            "class reduces nothing",
        )?;
    }
    let l2_cfg = task.get(&l2::L2_CFG);
    let is_there = is_binary || !l2_cfg.src2_relu();
    task.defined(is_there, &l2::L2_CFG, l2::L2Cfg::SRC2_RELU, "task has no source 2")?;
    // An elementwise task pads nothing, so either mode is taken (delta 14). Whether a sum of elementwise maxima counts as
    // a maximum task is not known: there either is taken too (Chosen).
    let is_known = match l2_cfg.padding_mode() {
        0 => reduction != Reduction::Maximum,
        PADDING_MODE_MAXIMUM => {
            !reduces || reduction == Reduction::Maximum || operation == Operation::Maximum
        }
        _ => false,
    };
    task.defined(
        is_known,
        &l2::L2_CFG,
        l2::L2Cfg::PADDING_MODE,
        "it is 1 on maximum tasks and 0 on other reductions",
    )?;
    let scales = task.get(&planar::BIAS_SCALE);
    let Some(class) = Class::of(class) else {
        return Err(task.verdict(&common::CFG, Cfg::CLASS, Category::Undefined, "class is not planar"));
    };
    task.defined(
        !cfg.magnitude() || !reduces,
        register,
        PeCfg::MAGNITUDE,
        "whether a reduction takes it before or behind the sum is not known",
    )?;
    Ok(Planar {
        class,
        operation,
        relu_first: l2_cfg.input_relu(),
        relu_second: l2_cfg.src2_relu(),
        magnitude: cfg.magnitude(),
        negates_first: cfg.negate_src1(),
        negates_second: second == SecondSource::Negated,
        pre_scale: constants.pre_scale(),
        bias: scales.bias(),
        scale: scales.scale(),
        final_scale: task.get(&planar::FINAL_SCALE).scale(),
        reduction,
        epsilon: constants.epsilon(),
        post: post_function,
        relu: cfg.relu(),
    })
}

/// Repetitions behind the first have to lie on chip too.
pub(super) fn check_repeats_on_chip(
    task: Registers<'_>,
    repeats: u32,
    [source1, source2]: [Option<Source>; 2],
    sink: Sink,
) -> Result<()> {
    let last = repeats.saturating_sub(1);
    let mut places = Vec::new();
    for (source, register) in [(source1, &l2::SOURCE_GROUP_STRIDE), (source2, &l2::SOURCE2_GROUP_STRIDE)] {
        let Some(source) = source else { continue };
        match source.origin {
            Origin::Chip(place) => places.push((place, source.stored(), register)),
            Origin::Memory { by, leaves, .. } if leaves.is_its_place() => {
                places.push((by, source.stored(), register));
            }
            Origin::Memory { .. } | Origin::Passed => {}
        }
    }
    if let Some(place) = sink.chip {
        places.push((place, sink.shape, &l2::RESULT_GROUP_STRIDE));
    }
    places
        .into_iter()
        .try_for_each(|(place, shape, register)| super::chip_fits(task, place.batch(last), shape, register))
}
