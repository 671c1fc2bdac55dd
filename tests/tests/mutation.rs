//! Compiled programs with one bit turned: whatever a bit does, it makes no result that the second engine does not have.
//!
//! Each bit of each register and of each header word of a program is turned, one at a time. The program then runs to
//! the bytes that the interpreter leaves, faults, hangs where the interpreter hangs, or is refused by name. Where a
//! program is too large to do so with every bit, a sample is drawn; `ANE_MUTATION=all` does all of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ane::container;
use ane_device::td::decode::HEADER_AT;
use ane_device::tm::error::ErrorCode;
use ane_tests::data;
use ane_tests::differential::{Case, ProgramEnd, difference};
use ane_tests::random::Random;
use ane_tests::reference::engine::ReferenceMachine;
use ane_tests::runner::Outcome;
use ane_uapi::hw::td::{self, header};

/// Bits of a large program that are turned unless all are asked for.
const SAMPLE: usize = 200;

/// The values that change a register of the compiled ReLU, and not its result (td 10).
const INERT: [(u32, u32); 36] = [
    (0x0c, 4),
    (0x20, 0),
    (0x30, 0x4aa),
    (0x38, 0),
    (0x3c, 5),
    (0x1_3800, 1),
    (0x1_3808, 1),
    (0x1_380c, 0x1000),
    (0x1_3810, 0x1000),
    (0x1_3814, 0),
    (0x1_3818, 0x40),
    (0x1_3840, 0),
    (0x1_7800, 1),
    (0x1_7808, 0x1000),
    (0x1_780c, 0x1000),
    (0x1_7810, 0),
    (0x1_7814, 0x40),
    (0x4800, 0x100),
    (0x4808, 0x4000),
    (0x4810, 0),
    (0x4814, 0x10),
    (0x4818, 0x10),
    (0x481c, 0x4000),
    (0x4834, 0x8000),
    (0x4838, 0x10),
    (0x483c, 0x1000),
    (0x8800, 0xd_2032),
    (0x8804, 0xffff_ffff),
    (0x8808, 0xffff_ffff),
    (0x880c, 0x7fc0_0000),
    (0xc800, 0),
    (0xc800, 0x80),
    (0xc800, 0x82),
    (0xc804, 0x01_000c),
    (0xc808, 0xffff),
    (0xc80c, 0x1f_ffff),
];

/// The values that hang the compiled ReLU (td 10), and the register that is blamed for each.
const HANGS: [(u32, u32, u32); 17] = [
    (0x04, 0, 0x04),
    (0x18, 0, 0x18),
    (0x1c, 0, 0x1c),
    (0x24, 0, 0x24),
    (0x28, 0, 0x28),
    (0x10, 64, 0x10),
    (0x2c, 4, 0x2c),
    (0x34, 0x33, 0x1_383c),
    (0x1_3800, 0x3_3880, 0x1_3800),
    (0x1_3838, 0, 0x1_3838),
    (0x1_7818, 0, 0x1_7818),
    (0x480c, 0, 0x480c),
    (0x480c, 0x10, 0x480c),
    (0x480c, 0x90, 0x480c),
    (0x4830, 0, 0x4830),
    (0xc804, 0, 0x1_f808),
    (0xc804, 0x12_000c, 0x1_f808),
];

/// A program as a case, if the programs are to be had.
fn case(name: &str) -> Option<Case> {
    let sample = data::programs()?.into_iter().find(|sample| sample.name == name)?;
    let program = container::open(&sample.bytes).expect("a real program opens");
    Some(Case::of_program(&program, &mut Random::new(1)))
}

/// True for an error that has a known register to blame.
fn blames_a_register(code: u8) -> bool {
    use ErrorCode::{Undefined, Unexplained, UnknownCode, Unpredictable, Unsupported, WouldHang};
    let codes = [Undefined, Unexplained, UnknownCode, Unpredictable, Unsupported, WouldHang];
    codes.iter().any(|known| *known as u8 == code)
}

/// Runs a case, and compares it with the interpreter where it did not end in a refusal.
fn judge(case: &Case, machine: impl FnOnce() -> ReferenceMachine) -> Result<ProgramEnd, String> {
    let (outcome, seen) = catch_unwind(AssertUnwindSafe(|| case.on_device())).map_err(|_| "panic")?;
    let end = ProgramEnd::of(outcome);
    if let Outcome::Failed { code, register, .. } = outcome {
        let address = u32::from(register) * 4;
        let word = address.checked_sub(HEADER_AT).and_then(|offset| header::HEADER.find(offset));
        let is_known = td::find(address).is_some() || word.is_some();
        if blames_a_register(code) && !is_known {
            return Err(format!("{outcome:x?} names no register"));
        }
        let untouched = seen.iter().zip(&case.regions).all(|(seen, (_, before))| seen == before);
        // A chain leaves what its first tasks have written.
        if case.tasks == 1 && !untouched {
            return Err(format!("{outcome:x?} left a trace in memory"));
        }
    }
    if end == ProgramEnd::Refused {
        return Ok(end);
    }
    let (reference, why, expected) = case.on_reference(machine());
    match (end, reference) {
        (ProgramEnd::Done, ProgramEnd::Done) => difference(&seen, &expected).map_or(Ok(end), Err),
        (ProgramEnd::Hangs, ProgramEnd::Hangs)
        | (ProgramEnd::Fault, ProgramEnd::Fault | ProgramEnd::Refused) => Ok(end),
        _ => Err(format!("device says {outcome:x?}, reference {why}")),
    }
}

/// The outcome of some turned bits: the number of tasks that ended in each way, and the errors.
#[derive(Default)]
struct Tally {
    ends: [usize; 4],
    wrong: Vec<String>,
}

/// Turns bits of a program, `limit` at most.
fn turn(case: &Case, limit: usize) -> Tally {
    let mut flips: Vec<(usize, u32)> =
        case.words().into_iter().flat_map(|(word, _)| (0..32).map(move |bit| (word, bit))).collect();
    let mut random = Random::new(2);
    for index in 0..flips.len().min(limit) {
        let other = index + random.below((flips.len() - index) as u32) as usize;
        flips.swap(index, other);
    }
    flips.truncate(limit);
    let machine = case.machine();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (flips, machine) = (&flips, &machine);
    let part = |thread: usize| {
        let (mut case, mut tally) = (case.clone(), Tally::default());
        for &(word, bit) in flips.iter().skip(thread).step_by(threads) {
            let (before, stream) = (case.word(word), case.regions[0].0);
            let after = before ^ 1 << bit;
            case.set_word(word, after);
            let turned = || {
                let mut machine = machine.clone();
                machine.memory.load(stream + 4 * word as u32, &after.to_le_bytes());
                machine
            };
            match judge(&case, turned) {
                Ok(end) => tally.ends[end as usize] += 1,
                Err(why) => tally.wrong.push(format!("bit {bit} of word {word} ({before:#x}): {why}")),
            }
            case.set_word(word, before);
        }
        tally
    };
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        for thread in threads {
            let Tally { ends, wrong } = thread.join().expect("what panics is caught");
            all.ends = std::array::from_fn(|end| all.ends[end] + ends[end]);
            all.wrong.extend(wrong);
        }
    });
    all
}

/// Turns bits of a program and says what came of it.
#[track_caller]
fn check(name: &str, limit: usize, prepare: impl FnOnce(&mut Case)) {
    let Some(mut case) = case(name) else { return };
    prepare(&mut case);
    assert_eq!(judge(&case, || case.machine()), Ok(ProgramEnd::Done), "the program itself runs");
    let all = std::env::var_os("ANE_MUTATION").is_some_and(|bits| bits == "all");
    let Tally { ends, wrong } = turn(&case, if all { usize::MAX } else { limit });
    let [done, hangs, refused, faults] = ends;
    println!("{name}: {done} the same bytes, {hangs} hang on both, {refused} refused, {faults} fault");
    assert!(wrong.is_empty(), "{} bits: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    // A sample has no room for what is rare.
    let rarest = if all || limit == usize::MAX { ends.iter().min() } else { ends[..1].iter().min() };
    assert!(rarest.is_some_and(|&count| count > 0), "every end occurs: {ends:?}");
}

/// Puts noise in the place of the coefficients, which the compiled programs have all alike.
fn mix_coefficients(case: &mut Case) {
    let mut random = Random::new(3);
    for half in case.region(1).as_chunks_mut().0 {
        let number = random.word() as u16;
        // Between 2^-3 and 2^0, of either sign.
        *half = (number & 0x83ff | 0x3000 | number & 0x0c00).to_le_bytes();
    }
}

#[test]
fn relu_with_a_turned_bit_makes_no_result_of_its_own() {
    check("relu", usize::MAX, |_| {});
}

#[test]
fn sum_with_a_turned_bit_makes_no_result_of_its_own() {
    check("sum", usize::MAX, |_| {});
}

#[test]
fn sigmoid_with_a_turned_bit_makes_no_result_of_its_own() {
    check("sigmoid", usize::MAX, |_| {});
}

#[test]
fn conv_with_a_turned_bit_makes_no_result_of_its_own() {
    check("conv", usize::MAX, mix_coefficients);
}

#[test]
fn gemm_with_a_turned_bit_makes_no_result_of_its_own() {
    check("gemm", SAMPLE, mix_coefficients);
}

#[test]
fn concat_with_a_turned_bit_makes_no_result_of_its_own() {
    check("concat", SAMPLE, |_| {});
}

#[test]
fn register_that_silicon_ignored_changes_no_byte() {
    let Some(case) = case("relu") else { return };
    let (outcome, expected) = case.on_device();
    assert_eq!(outcome, Outcome::Done);
    for (register, value) in INERT {
        let mut changed = case.clone();
        changed.set_register(register, value);
        let (outcome, seen) = changed.on_device();
        assert_eq!(outcome, Outcome::Done, "{register:#x} with {value:#x}");
        // The stream is where the register was changed.
        assert!(seen[1..] == expected[1..], "{register:#x} with {value:#x}");
        assert_eq!(
            judge(&changed, || changed.machine()),
            Ok(ProgramEnd::Done),
            "{register:#x} with {value:#x}"
        );
    }
}

#[test]
fn register_on_which_silicon_hung_is_blamed_and_nothing_is_written() {
    let Some(case) = case("relu") else { return };
    for (register, value, blamed) in HANGS {
        let mut changed = case.clone();
        changed.set_register(register, value);
        let (outcome, seen) = changed.on_device();
        let held = changed.word(changed.words().into_iter().find(|word| word.1 == Some(blamed)).unwrap().0);
        let code = ErrorCode::WouldHang as u8;
        let expected = Outcome::Failed { code, register: (blamed / 4) as u16, task: 0, value: held };
        assert_eq!(outcome, expected, "{register:#x} with {value:#x}");
        assert!(seen.iter().zip(&changed.regions).all(|(seen, (_, before))| seen == before));
    }
}

/// td 4.4: the first byte of the table, 0xf8, as a coefficient.
#[test]
fn sigmoid_with_unsigned_bytes_for_coefficients_gives_744_for_3() {
    let Some(mut case) = case("sigmoid") else { return };
    let three = [0x00, 0x42];
    case.region(5).as_chunks_mut().0.fill(three);
    case.set_register(0xc800, 0);
    case.set_register(0xc804, 0x0010_0000);
    let (outcome, _) = case.on_device();
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(judge(&case, || case.machine()), Ok(ProgramEnd::Done));
    let output = case.bars[4];
    let (_, after) = case.on_device();
    let index = case.regions.iter().position(|region| region.0 == output).expect("program has an output");
    let halves: Vec<u16> = after[index].as_chunks().0[..77].iter().map(|&b| u16::from_le_bytes(b)).collect();
    // 744 as fp16: 1.453125 * 2^9.
    assert_eq!(halves, [0x61d0; 77]);
}
