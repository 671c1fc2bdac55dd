//! The meaning of each field of the registers in the text of the task descriptor, and the device's reaction:
//! carried out and noted, carried out without an effect, hung, or refused; nothing is passed over in silence.
//!
//! One register at a time is changed in programs of the builder. The lists were written from the text alone.

use ane::build::{
    BuildError, Convolution, Element, Graph, Over, Padding, Placement, Reduce, Shape, Tensor, Weights,
    activation,
};
use ane_device::options::{Hang, Numerics, Options};
use ane_device::tm::error::ErrorCode;
use ane_tests::differential::built::surface::of_graph;
use ane_tests::differential::{Case, ProgramEnd};
use ane_tests::runner::Outcome;
use half::f16;

/// A program of one operation on four channels of three rows of twenty columns.
fn program(operation: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, BuildError>) -> Case {
    let shape = Shape::new(4, 3, 20);
    let values: Vec<u16> = (0..shape.elements()).map(|n| 0x3800 + (n * 37 % 0x400) as u16).collect();
    of_graph(shape, &values, Numerics::M1, operation).1
}

fn pass_through() -> Case {
    program(|graph, input| graph.relu(input))
}

fn convolution() -> Case {
    let weights: Vec<f16> = (0..4 * 4 * 9u8).map(|n| f16::from_f32(f32::from(n % 7) / 4.0 - 0.5)).collect();
    program(|graph, input| graph.convolution(input, &Convolution::new(4, (3, 3), Weights::Half(&weights))))
}

/// One column and one row of padding on each side.
fn padded() -> Case {
    let weights: Vec<f16> = (0..4 * 4 * 9u8).map(|n| f16::from_f32(f32::from(n % 7) / 4.0 - 0.5)).collect();
    let weights = Weights::Half(&weights);
    program(|graph, input| {
        let padding = Padding::all(1);
        graph.convolution(input, &Convolution { padding, ..Convolution::new(4, (3, 3), weights) })
    })
}

fn table() -> Case {
    program(|graph, input| graph.activation(input, activation::sigmoid()))
}

fn sum() -> Case {
    program(|graph, input| {
        let other = graph.input("other", Shape::new(4, 3, 20))?;
        graph.binary(input, other, Element::ADD)
    })
}

fn mean() -> Case {
    program(|graph, input| graph.reduce(input, Element::COPY, Reduce::MEAN, Over::Plane))
}

fn maximum() -> Case {
    program(|graph, input| graph.reduce(input, Element::COPY, Reduce::MAXIMUM, Over::Plane))
}

/// How a change ended: as usual, where only what is established is carried out, and whether the bytes were the same.
type Ends = (ProgramEnd, ProgramEnd, bool);

#[track_caller]
fn each(what: &str, programs: &[(&str, Case)], changes: &[(u32, u32)], wanted: impl Fn(Ends) -> bool) {
    let strict = Options { strict: true, hang: Hang::Report, ..Options::default() };
    let mut others = Vec::new();
    for (name, case) in programs {
        let (_, before) = case.on_device();
        for &(register, value) in changes {
            let mut changed = case.clone();
            changed.set_register(register, value);
            let (outcome, after) = changed.on_device();
            let (strictly, _) = changed.on_device_as(&strict);
            // The stream is where the register was changed.
            let ends = (ProgramEnd::of(outcome), ProgramEnd::of(strictly), after[1..] == before[1..]);
            if !wanted(ends) {
                others.push(format!("{name} with {value:#x} in {register:#x}: {ends:?}, {outcome:x?}"));
            }
        }
    }
    assert!(others.is_empty(), "not {what}:\n{}", others.join("\n"));
}

#[track_caller]
fn refused(programs: &[(&str, Case)], changes: &[(u32, u32)]) {
    each("refused", programs, changes, |ends| matches!(ends, (ProgramEnd::Refused, ProgramEnd::Refused, _)));
}

#[track_caller]
fn hangs(programs: &[(&str, Case)], changes: &[(u32, u32)]) {
    each("hangs", programs, changes, |ends| ends.0 == ProgramEnd::Hangs);
}

#[track_caller]
fn ignored(programs: &[(&str, Case)], changes: &[(u32, u32)]) {
    each("without effect", programs, changes, |ends| ends == (ProgramEnd::Done, ProgramEnd::Done, true));
}

/// Established, and with an effect.
#[track_caller]
fn carried_out(programs: &[(&str, Case)], changes: &[(u32, u32)]) {
    each("carried out", programs, changes, |ends| ends == (ProgramEnd::Done, ProgramEnd::Done, false));
}

#[track_caller]
fn inferred(programs: &[(&str, Case)], changes: &[(u32, u32)]) {
    each("inferred", programs, changes, |ends| matches!(ends, (ProgramEnd::Done, ProgramEnd::Refused, _)));
}

fn all() -> [(&'static str, Case); 5] {
    [
        ("pass-through", pass_through()),
        ("convolution", convolution()),
        ("table", table()),
        ("sum", sum()),
        ("mean", mean()),
    ]
}

fn neural() -> [(&'static str, Case); 3] {
    [("pass-through", pass_through()), ("convolution", convolution()), ("table", table())]
}

/// Tasks that fetch coefficients, or a table.
fn fetching() -> [(&'static str, Case); 2] {
    [("convolution", convolution()), ("table", table())]
}

/// Tasks during which kernel DMA has nothing to do.
fn resting() -> [(&'static str, Case); 3] {
    [("pass-through", pass_through()), ("sum", sum()), ("mean", mean())]
}

/// Tasks without source 2.
fn of_one() -> [(&'static str, Case); 4] {
    [("pass-through", pass_through()), ("convolution", convolution()), ("table", table()), ("mean", mean())]
}

fn planar() -> [(&'static str, Case); 3] {
    [("sum", sum()), ("mean", mean()), ("maximum", maximum())]
}

#[test]
fn word_whose_other_values_nobody_saw_is_refused_with_them() {
    // Depth, output step, the 3-D convolution, the word at 0x13840, what kernel DMA aligns to.
    let changes = [(0x04, 2), (0x18, 2), (0x20, 0x2042), (0x20, 0x4041), (0x1_3840, 0x200)];
    refused(&all(), &changes);
    refused(&fetching(), &[(0x1_f804, 0x40)]);
    ignored(&resting(), &[(0x1_f804, 0x40)]);
    // Pixel offsets and what lies around them.
    ignored(&all(), &[(0x1_3850, 1), (0x1_385c, 1)]);
    refused(&all(), &[(0x1_3830, 1), (0x1_3844, 1), (0x1_3860, 1)]);
}

#[test]
fn further_stream_of_kernel_dma_that_runs_is_refused() {
    let streams = [0x1_f8c8, 0x1_f8cc, 0x1_f8d0, 0x1_f8d4];
    for value in [0x81, 1] {
        refused(&fetching(), &streams.map(|stream| (stream, value)));
        ignored(&resting(), &streams.map(|stream| (stream, value)));
    }
    ignored(&all(), &streams.map(|stream| (stream, 0)));
    // Base and size of a stream that is idle.
    ignored(&all(), &[(0x1_f8d8, 0x40), (0x1_f8e4, 0x40), (0x1_f8e8, 0), (0x1_f8f4, 0x80)]);
}

#[test]
fn format_other_than_halves_is_refused() {
    // Both operands and the result, on the way and in memory; that of source 2 where there is one.
    refused(&all(), &[(0x08, 0x20), (0x08, 0x21), (0x08, 0x02), (0x08, 0x12)]);
    // A source 2 of bytes, whose port says halves.
    refused(&[("sum", sum())], &[(0x08, 0x22), (0x08, 0x26), (0x08, 0x2e)]);
    ignored(&of_one(), &[(0x08, 0x26), (0x08, 0x2e)]);
    refused(&all(), &[(0x1_3838, 0x0100_1031), (0x1_3838, 0x0100_2030), (0x1_3838, 0x0100_2011)]);
    refused(&all(), &[(0x1_7818, 0x0100_1031), (0x1_7818, 0x0100_2131), (0x1_7818, 0x1100_2031)]);
    refused(&[("sum", sum())], &[(0x1_383c, 0x2032), (0x1_383c, 0x1030), (0x1_383c, 0x1000_2030)]);
}

#[test]
fn class_nobody_saw_is_refused() {
    refused(&all(), &[(0x34, 0x0400_0011), (0x34, 0x0400_0071)]);
}

#[test]
fn zero_hangs_where_the_engine_divides_by_it() {
    hangs(&all(), &[(0x04, 0), (0x18, 0), (0x1c, 0), (0x24, 0), (0x28, 0)]);
    hangs(&all(), &[(0x1_3800, 0), (0x1_3838, 0), (0x1_7818, 0), (0x480c, 0), (0x4830, 0x170)]);
    hangs(&[("sum", sum())], &[(0x1_383c, 0)]);
    hangs(&neural(), &[(0x2c, 4), (0x2c, 0x35)]);
    hangs(&[("convolution", convolution()), ("table", table())], &[(0x1_f808, 0x80)]);
    // Outputs that read beyond the last channel.
    hangs(&[("pass-through", pass_through())], &[(0x10, 64)]);
}

#[test]
fn hint_or_number_that_scheduling_alone_reads_has_no_effect() {
    ignored(&all(), &[(0x38, 0x0ff0_ffff), (0x3c, 0xf), (0x28, 1), (0x28, 0x7fff), (0x20, 0), (0x1_3840, 0)]);
    ignored(&all(), &[(0x1_3800, 0x000f_fff1), (0x1_3814, 0xffff_ffc0), (0x1_7810, 0xffff_ffc0)]);
    ignored(&all(), &[(0x4814, 0x10), (0x4828, 0x10), (0x4840, 0x10), (0x4800, 0x100)]);
    // The low bits of addresses and strides.
    ignored(&all(), &[(0x1_3808, 0x3f), (0x1_7804, 0x3f), (0x4808, 0xf)]);
}

#[test]
fn padding_stride_and_bias_row_are_carried_out_and_noted() {
    let convolution = [("convolution", convolution())];
    // 3x3, stride 1, lanes 1: padding to the left or above, and behind by the output's size.
    let plain = 0x5000_a063;
    carried_out(&convolution, &[(0x14, 19 | 1 << 16)]);
    carried_out(&[("padded", padded())], &[(0x1c, plain | 1 << 17), (0x1c, plain | 1 << 22)]);
    // With as many outputs as before, what is added in front is not read behind.
    inferred(&convolution, &[(0x1c, plain | 1 << 17), (0x1c, plain | 1 << 22)]);
    // A larger distance between rows makes no other bytes of one row of outputs; of 3 no program is known.
    ignored(&convolution, &[(0x1c, plain & !(3 << 15) | 2 << 15)]);
    inferred(&convolution, &[(0x1c, plain & !(3 << 15) | 3 << 15)]);
    // Columns that no output reads are padding below zero.
    inferred(&convolution, &[(0x14, 17 | 1 << 16)]);
    // Padding as wide as the kernel, on either side, and a distance of zero say nothing.
    refused(&convolution, &[(0x1c, plain | 3 << 17), (0x1c, plain | 3 << 22), (0x14, 21 | 1 << 16)]);
    refused(&convolution, &[(0x1c, plain & !(3 << 13)), (0x1c, plain & !(3 << 15))]);
    // So do kernels of no taps, other output steps, and more than 32 lanes.
    let changes = [plain & !0x1f, plain & !0x3e0, plain & !(3 << 28), plain | 3 << 30, plain | 6 << 10];
    refused(&convolution, &changes.map(|value| (0x1c, value)));
}

#[test]
fn strict_device_names_the_register_that_asks_for_what_is_inferred() {
    let strict = Options { strict: true, hang: Hang::Report, ..Options::default() };
    let blamed = |case: &Case| match case.on_device_as(&strict).0 {
        Outcome::Failed { code, register, .. } if code == ErrorCode::Unsupported as u8 => 4 * register,
        outcome => panic!("{outcome:x?} is no refusal"),
    };
    let plain = 0x5000_a063;
    let mut cut = convolution();
    cut.set_register(0x14, 17 | 1 << 16);
    assert_eq!(blamed(&cut), 0x14);
    let mut strided = convolution();
    strided.set_register(0x1c, plain & !(3 << 15) | 3 << 15);
    assert_eq!(blamed(&strided), 0x1c);
    let weights = [f16::ONE; 8];
    let mut biased = program(|graph, input| {
        let bias = Some(&[f16::ONE; 2][..]);
        graph
            .convolution(input, &Convolution { bias, ..Convolution::new(2, (1, 1), Weights::Half(&weights)) })
    });
    biased.set_register(0xc810, 0x4000);
    assert_eq!(blamed(&biased), 0xc804);
}

#[test]
fn kernel_without_coefficients_is_refused() {
    let programs = [("pass-through", pass_through()), ("table", table())];
    refused(&programs, &[(0x1c, 0x5000_a022), (0x1c, 0x5000_c021), (0x1c, 0x5002_a021)]);
}

#[test]
fn coefficient_form_that_the_text_does_not_fix_is_refused() {
    let convolution = [("convolution", convolution())];
    // Palettes, zeros left out without the bit that says so, another kernel's coefficients.
    let forms = [0x83, 0x86, 0x42, 0x182, 0x482];
    refused(&convolution, &forms.map(|form| (0xc800, form)));
    // The bits along chains of planar tasks, and the one of runtime kernels.
    ignored(&convolution, &[(0xc800, 0x1082), (0xc800, 0x4082), (0xc800, 0x1_0082), (0xc800, 0x02)]);
    // More than sixteen engines, kernel DMA off, a channel that brings too little.
    refused(&convolution, &[(0x34, 0x0428_0001), (0x1_f800, 0), (0x1_f888, 0x3f)]);
}

#[test]
fn operation_of_the_array_that_nobody_explains_is_refused() {
    // OpModes 1, 2, 5 to 7, and those that want no coefficients with them; matrix bias, post-scale mode, shifts.
    let modes = [1, 2, 3, 4, 5, 6, 7, 9, 0xa, 0xd];
    refused(&neural(), &modes.map(|mode| (0xc804, 0x0010_0000 | mode)));
    refused(&neural(), &[(0xc804, 0x0010_004c), (0xc804, 0x0010_400c), (0xc804, 0x0013_000c)]);
    refused(&neural(), &[(0xc804, 0x0010_040c), (0xc804, 0x0010_001c), (0xc810, 0x0001_3c00)]);
    let pass_through = [("pass-through", pass_through())];
    ignored(&pass_through, &[(0xc808, 0xffff), (0xc80c, 0x1f_ffff), (0xc804, 0x0001_000c)]);
    let convolution = [("convolution", convolution())];
    refused(&convolution, &[(0xc808, 1), (0xc80c, 0x1_0000), (0xc804, 0x0012_0000)]);
    ignored(&convolution, &[(0xc804, 0x1c00)]);
    // The binary point of bytes, and an addend below half a unit of the accumulator.
    inferred(&convolution, &[(0xc804, 0), (0xc80c, 1)]);
    // Without bit 20 the table gives other values, and nobody knows why.
    refused(&[("table", table())], &[(0xc804, 0x0002_000c)]);
}

#[test]
fn channels_that_nobody_explains_are_refused() {
    refused(&all(), &[(0x24, 0x0001_8001), (0x24, 0x0001_2001), (0x0c, 0), (0x10, 0), (0x00, 0), (0x14, 0)]);
    refused(&[("convolution", convolution())], &[(0x24, 3), (0x24, 0x0001_4000), (0x24, 0x0000_4001)]);
    refused(&planar(), &[(0x24, 0x0001_4001), (0x0c, 3), (0x14, 19 | 3 << 16), (0x1c, 0x5000_a022)]);
}

#[test]
fn field_of_the_planar_engine_that_nobody_explains_is_refused() {
    let (sum, mean) = ([("sum", sum())], [("mean", mean())]);
    // Operations 5 to 7, selectors 0 and 1, what only reductions have.
    let two = 2 << 18;
    let changes = [two | 5 << 2, two | 7 << 2, 0, 1 << 18, two | 2, two | 1 << 12, two | 3 << 12];
    refused(&sum, &changes.map(|value| (0x8800, value)));
    refused(&sum, &[(0x8808, 0x3c00_0001)]);
    // Reductions 1 and 3, post function 3, an operation of two sources with one, a selector without a source.
    let changes = [1, 3, 3 << 12, 1 << 2, 2 << 2, 3 << 2, 2 << 18, 3 << 18, 1 << 17, 1 << 20];
    refused(&mean, &changes.map(|value| (0x8800, value)));
    // Broadcast along depth is a guess, without an effect on the one depth that there is.
    inferred(&planar(), &[(0x30, 1 << 2)]);
    inferred(&[("sum", self::sum())], &[(0x30, 1 << 6)]);
    // Fields of source 2 where there is none.
    ignored(&[("mean", self::mean()), ("maximum", maximum())], &[(0x30, 1 << 6), (0x30, 1 << 9)]);
    // Fields of the array's input and result, and the padding mode of another task.
    refused(&planar(), &[(0x34, 0x1000_0051)]);
    refused(&[("maximum", maximum())], &[(0x4800, 1)]);
    inferred(&[("sum", self::sum()), ("mean", self::mean())], &[(0x4800, 1)]);
    // An elementwise task pads nothing, and takes either mode.
    ignored(&[("sum", self::sum())], &[(0x4800, 1 << 2)]);
    refused(&[("sum", self::sum())], &[(0x4800, 2 << 2), (0x4800, 3 << 2)]);
    refused(&[("mean", self::mean())], &[(0x4800, 1 << 2), (0x4800, 2 << 2)]);
    refused(&[("maximum", maximum())], &[(0x4800, 0), (0x4800, 2 << 2), (0x4800, 3 << 2)]);
}

#[test]
fn register_of_the_other_engine_has_no_effect() {
    let changes =
        [(0xc800, 0x82), (0xc804, 0x30), (0xc804, 0x10_0000), (0xc808, 1), (0xc80c, 1), (0xc810, 0)];
    ignored(&planar(), &changes);
    ignored(
        &neural(),
        &[(0x30, 0x4ff), (0x8800, 0xd_2032), (0x8804, !0), (0x8808, !0), (0x880c, 0x7fc0_0000)],
    );
}

#[test]
fn source_and_result_that_contradict_themselves_are_refused() {
    refused(&all(), &[(0x4804, 0x0050_0173), (0x4804, 0x0050_0372)]);
    refused(&[("sum", sum())], &[(0x4804, 0x0050_0132)]);
    // DMAFmt 0 beside halves.
    ignored(&of_one(), &[(0x4804, 0x0050_0132)]);
    refused(&all(), &[(0x4804, 0x0050_1172), (0x4804, 0x0051_0172), (0x4804, 0x0048_0172)]);
    refused(&all(), &[(0x4830, 0x0050_0173), (0x4830, 0x0051_0172)]);
    ignored(&all(), &[(0x4830, 0x0050_0132)]);
    // A source 2 in memory of which only one of two bits speaks.
    refused(&[("sum", sum())], &[(0x34, 0x31), (0x4804, 0x0050_0172)]);
    // It says nothing where there is no source 2.
    ignored(&[("mean", mean()), ("table", table())], &[(0x4804, 0x0150_0172)]);
}

#[test]
fn source_that_is_loaded_stays_on_chip_and_what_was_assembled_there_is_not_known() {
    // The first task's result or source, read by a second one from the chip.
    let chain = program(|graph, input| {
        let kept = graph.relu(input)?;
        graph.place(kept, Placement::Chip)?;
        graph.unary(kept, Element::COPY)
    });
    assert_eq!(chain.compare(), Ok(ProgramEnd::Done));
    let mut assembled = chain.clone();
    // As the second task writes it: format, strides and base of what has room enough.
    for (register, value) in [(0x1_7818, 0x0100_2031), (0x1_7808, 0x40), (0x1_780c, 0xc0), (0x1_7800, 0xc1)] {
        assembled.set_register(register, value);
    }
    assembled.set_register(0x4830, 0x0050_0171);
    assembled.set_word(8, chain.word(8) | 0x24 << 12);
    assert_eq!(assembled.compare(), Ok(ProgramEnd::Refused));
}

#[test]
fn window_of_source_2_is_not_known_to_a_later_task() {
    let chain = program(|graph, input| {
        let other = graph.input("other", Shape::new(4, 3, 20))?;
        let kept = graph.binary(input, other, Element::ADD)?;
        graph.place(kept, Placement::Chip)?;
        graph.unary(kept, Element::COPY)
    });
    assert_eq!(chain.compare(), Ok(ProgramEnd::Done));
    let place = |register, task| {
        let places = chain.words().into_iter().filter(|word| word.1 == Some(register));
        places.map(|word| word.0).nth(task).expect("each task writes every register")
    };
    // The second task looks where the first one's source 2 passed.
    let mut astray = chain.clone();
    astray.set_word(place(0x4808, 1), chain.word(place(0x481c, 0)));
    assert_eq!(ProgramEnd::of(astray.on_device().0), ProgramEnd::Refused);
    assert_eq!(astray.compare(), Ok(ProgramEnd::Refused));
}

/// Requirement: DMA-07
#[test]
fn task_that_names_a_second_output_is_refused() {
    let case = sum();
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
    // Behind the destination of the header.
    for bit in 27..32 {
        let mut named = case.clone();
        named.set_word(8, case.word(8) ^ 1 << bit);
        assert_eq!(ProgramEnd::of(named.on_device().0), ProgramEnd::Refused, "bit {bit}");
    }
    // Behind the destination's registers, which are the last record: one word more.
    let mut longer = case.clone();
    let record = longer.first_words as usize - 8;
    assert_eq!(case.word(record), 6 << 26 | 0x1_7800);
    longer.set_word(record, 7 << 26 | 0x1_7800);
    longer.first_words += 1;
    assert_eq!(ProgramEnd::of(longer.on_device().0), ProgramEnd::Refused);
}
