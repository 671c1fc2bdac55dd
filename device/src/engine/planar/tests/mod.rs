//! The planar engine against the slow reference, and the facts that were published of it.

mod reference;

use super::*;

const HARD: [u16; 24] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x0401, 0x1000, 0x3555, 0x3bff, 0x3c00, 0xbc00,
    0x3c01, 0x5bff, 0x5c00, 0x6800, 0x7800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xfe01,
];

const ALL_CLASSES: [Class; 5] =
    [Class::Copy, Class::Binary, Class::Normalise, Class::Reduce, Class::BinaryReduce];

const fn has_second_source(class: Class) -> bool {
    matches!(class, Class::Binary | Class::Normalise | Class::BinaryReduce)
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % below
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next(choices.len())]
    }

    fn flag(&mut self) -> bool {
        self.next(2) == 1
    }

    /// Mostly moderate numbers, some hard ones.
    fn half(&mut self) -> u16 {
        let moderate = 0x3000 + self.next(0x1800) as u16 + 0x8000 * self.next(2) as u16;
        let any = self.next(1 << 16) as u16;
        let hard = self.of(&HARD);
        self.of(&[moderate, moderate, moderate, moderate, moderate, moderate, any, hard])
    }

    fn halves(&mut self, count: u32) -> Vec<u16> {
        (0..count).map(|_| self.half()).collect()
    }

    fn constant(&mut self, usual: u16) -> u16 {
        let other = self.half();
        self.of(&[usual, usual, other])
    }

    fn pass(&mut self) -> Planar {
        let class = self.of(&ALL_CLASSES);
        let one_source = [Operation::Add, Operation::SumSquared];
        let operations = if has_second_source(class) { Operation::ALL } else { &one_source };
        Planar {
            class,
            operation: self.of(operations),
            pre_scale: self.constant(double::ONE),
            negates_first: self.flag(),
            negates_second: self.flag(),
            relu_first: self.flag(),
            relu_second: self.flag(),
            magnitude: self.flag() && !class.is_reduction(),
            bias: self.constant(0),
            scale: self.constant(double::ONE),
            final_scale: self.of(&[
                0x3f80_0000,
                0x3f80_0000,
                0x3b2a_aaab,
                0x7fc0_0000,
                0xff80_0000,
                0x0000_0001,
            ]),
            epsilon: self.constant(0),
            relu: self.flag(),
            reduction: self.of(Reduction::ALL),
            post: self.of(PostFunction::ALL),
        }
    }
}

fn shape(channels: u32, height: u32, width: u32) -> Shape {
    Shape { channels, height, width }
}

fn operand(values: &[u16], Shape { channels, height, width }: Shape) -> Operand<'_> {
    Operand { values, channels, height, width }
}

/// The result of a pass over rows of one channel.
fn row(planar: &Planar, a: &[u16], b: Option<&[u16]>) -> Vec<u16> {
    let shape = shape(1, 1, a.len() as u32);
    let mut out = vec![0x5555; if planar.class.is_reduction() { 1 } else { a.len() }];
    planar.run(shape, operand(a, shape), b.map(|b| operand(b, shape)), &mut out).expect("fits");
    out
}

#[test]
fn any_pass_on_any_broadcast_agrees_with_the_reference() {
    let mut numbers = Numbers(1);
    for case in 0..6_000 {
        let planar = numbers.pass();
        let whole = shape(numbers.of(&[1, 2, 5]), numbers.of(&[1, 3, 4]), numbers.of(&[1, 7, 8, 9, 70, 300]));
        let mut extents = || {
            let mut extent = |whole| numbers.of(&[1, whole]);
            shape(extent(whole.channels), extent(whole.height), extent(whole.width))
        };
        let (first, second) = (extents(), extents());
        let rows = if planar.class == Class::Normalise { 2 } else { second.height };
        let second = Shape { height: rows, ..second };
        let a = numbers.halves(first.channels * first.height * first.width);
        let b = numbers.halves(second.channels * second.height * second.width);
        let (a, b) = (operand(&a, first), operand(&b, second));
        let b = has_second_source(planar.class).then_some(b);
        let expected = reference::run(&planar, whole, &a, b.as_ref());
        let mut out = vec![0x5555; expected.len()];
        planar.run(whole, a, b, &mut out).expect("fits");
        assert_eq!(out, expected, "case {case}: {planar:?} on {whole:?}, {first:?}, {second:?}");
    }
}

#[test]
fn single_operation_on_every_half_and_hard_ones_agrees_with_the_reference() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let whole = shape(1, 1, 1 << 16);
    for (i, other) in HARD.into_iter().enumerate() {
        let operation = Operation::ALL[i % 4];
        let planar = Planar { relu: i % 5 == 0, ..Planar::plain(Class::Binary, operation) };
        let b = vec![other; 1 << 16];
        let expected = reference::run(&planar, whole, &operand(&all, whole), Some(&operand(&b, whole)));
        assert!(row(&planar, &all, Some(&b)) == expected, "{operation} with {other:#06x}");
    }
}

/// Double rounding is innocuous: all halves with themselves turned round in many ways, so that sums and products fall
/// on every kind of middle between halves.
#[test]
fn single_operation_in_singles_and_in_doubles_gives_the_same_bytes() {
    let whole = shape(1, 1, 1 << 16);
    let a: Vec<u16> = (0..=u16::MAX).collect();
    let first = View::new(whole, operand(&a, whole)).expect("fits");
    for turn in 0..200u16 {
        let factor = turn.wrapping_mul(2 * 617) | 1;
        let b: Vec<u16> = a.iter().map(|a| a.wrapping_mul(factor).wrapping_add(turn << 7)).collect();
        let second = View::new(whole, operand(&b, whole)).expect("fits");
        let operation = Operation::ALL[usize::from(turn % 4)];
        let planar = Planar { negates_second: turn % 3 == 0, ..Planar::plain(Class::Binary, operation) };
        let (mut one, mut two) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        let watch = Watch::idle();
        let mut pace = Pace::new(&watch);
        chain::run(&planar, (&first, Some(&second)), (0, &mut two), &mut pace);
        one.copy_from_slice(&two);
        let pass = single::of(&planar, true);
        pass.iter().for_each(|pass| single::run(pass, [&first, &second], (0, &mut one), &mut pace));
        assert!(one == two, "{operation}, turn {turn}");
    }
}

#[test]
fn sum_of_specials_is_as_published() {
    let add = Planar::plain(Class::Binary, Operation::Add);
    let sums = [
        (0x4200, 0x4000, 0x4500),
        (0x7bff, 0x7bff, 0x7c00),
        (0x7c00, 0xfc00, 0x0000),
        (0xfe00, 0x3c00, 0x7c00),
        (0x8000, 0x8000, 0x0000),
        (0x0001, 0x0000, 0x0001),
    ];
    for (a, b, sum) in sums {
        assert_eq!(row(&add, &[a], Some(&[b])), [sum], "{a:#06x} + {b:#06x}");
    }
}

#[test]
fn product_of_specials_is_as_published() {
    let multiply = Planar::plain(Class::Binary, Operation::Multiply);
    let products = [
        (0x0000, 0x7c00, 0x0000),
        (0x0001, 0x3c00, 0x0001),
        (0x5bff, 0x5c00, 0x7bff),
        (0x5c00, 0x5c00, 0x7c00),
    ];
    for (a, b, product) in products {
        assert_eq!(row(&multiply, &[a], Some(&[b])), [product], "{a:#06x} * {b:#06x}");
    }
}

#[test]
fn square_reaches_infinity_at_256() {
    let square = Planar::plain(Class::Copy, Operation::SumSquared);
    assert_eq!(row(&square, &[0x5bff, 0x5c00, 0xdc00], None), [0x7bfe, 0x7c00, 0x7c00]);
}

#[test]
fn no_number_counts_as_infinity_in_maximum_and_under_relu() {
    let maximum = Planar::plain(Class::Binary, Operation::Maximum);
    assert_eq!(row(&maximum, &[0x7e00, 0x3c00], Some(&[0x3c00, 0xffff])), [0x7c00, 0x7c00]);
    let relu = Planar { relu: true, ..Planar::plain(Class::Copy, Operation::Add) };
    assert_eq!(row(&relu, &[0xfe00, 0x8001, 0x8000], None), [0x7c00, 0, 0]);
}

#[test]
fn reciprocal_of_either_zero_is_infinity_and_root_of_a_negative_is_zero() {
    let reduce = |post| Planar { post, epsilon: 0x8000, ..Planar::plain(Class::Reduce, Operation::Add) };
    let negative = |post| Planar { final_scale: (-1f32).to_bits(), ..reduce(post) };
    for post in [PostFunction::Reciprocal, PostFunction::ReciprocalSquareRoot] {
        assert_eq!(row(&reduce(post), &[0], None), [0x7c00]);
        assert_eq!(row(&negative(post), &[0], None), [0x7c00], "one over -0");
    }
    assert_eq!(row(&negative(PostFunction::ReciprocalSquareRoot), &[0x3c00], None), [0]);
    let kept = Planar { bias: 0x8000, ..reduce(PostFunction::Reciprocal) };
    assert_eq!(row(&kept, &[0xfc00], None), [0x8000], "a bias of -0 keeps the sign that +0 takes");
}

#[test]
fn sum_beyond_what_is_exact_in_any_order_keeps_the_order() {
    // 2^48 + 1 + .. as squares: the order decides which small ones are lost.
    let square_sum = Planar {
        final_scale: 2f32.powi(-40).to_bits(),
        ..Planar::plain(Class::Reduce, Operation::SumSquared)
    };
    let values: Vec<u16> = (0..3000).map(|i| if i % 500 == 0 { 0x7bff } else { 0x0001 + i }).collect();
    let whole = shape(1, 1, 3000);
    assert_eq!(
        row(&square_sum, &values, None),
        reference::run(&square_sum, whole, &operand(&values, whole), None)
    );
}

#[test]
fn infinities_that_meet_in_a_sum_give_zero_there_and_then() {
    let sum = Planar::plain(Class::Reduce, Operation::Add);
    assert_eq!(row(&sum, &[0x3c00, 0x7c00, 0xfc00, 0x4000, 0x4000], None), [0x4400]);
}

#[test]
fn operands_that_do_not_fit_are_refused_and_nothing_is_computed() {
    let whole = shape(2, 3, 4);
    let values = [0x3c00; 24];
    let good = operand(&values, whole);
    let add = Planar::plain(Class::Binary, Operation::Add);
    let copy = Planar::plain(Class::Copy, Operation::Add);
    let normalise = Planar::plain(Class::Normalise, Operation::Add);
    let reduce = Planar::plain(Class::Reduce, Operation::Add);
    let short = Operand { values: &values[1..], ..good };
    let wide = Operand { width: 5, ..good };
    let huge = Operand { channels: u32::MAX, height: u32::MAX, width: u32::MAX, ..good };
    let refused = [
        (copy, whole, short, None, 24),
        (copy, whole, wide, None, 24),
        (copy, whole, huge, None, 24),
        (copy, whole, good, Some(good), 24),
        (copy, whole, good, None, 23),
        (copy, shape(0, 3, 4), good, None, 0),
        (copy, shape(2, 0, 4), good, None, 0),
        (reduce, shape(2, 3, 0), good, None, 2),
        (copy, shape(u32::MAX, u32::MAX, u32::MAX), huge, None, 24),
        (add, whole, good, None, 24),
        (add, whole, good, Some(short), 24),
        (normalise, whole, good, Some(good), 24),
        (normalise, whole, good, None, 24),
        (reduce, whole, good, None, 24),
        (Planar { operation: Operation::Maximum, ..copy }, whole, good, None, 24),
    ];
    for (i, (planar, shape, a, b, room)) in refused.into_iter().enumerate() {
        let mut out = vec![0x5555; room];
        planar.run(shape, a, b, &mut out).expect_err("does not fit");
        assert!(out.iter().all(|&bits| bits == 0x5555), "{i}");
    }
}
