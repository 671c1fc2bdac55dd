use ane_uapi::hw::space::EngineOffset;

use super::*;

const STREAM: StreamId = StreamId::ALL[3];

fn range(base: u64, len: u64) -> IovaRange {
    IovaRange::new(base, len).unwrap()
}

fn checker(mappings: &[(u64, u64, Usage)]) -> Checker {
    let mut checker = Checker::default();
    for &(base, len, usage) in mappings {
        assert!(checker.declare(STREAM, range(base, len), usage));
    }
    checker
}

fn found(checker: &mut Checker, access: Access, span: IovaRange) -> Vec<(Misuse, u32)> {
    checker.observe(Transfer { stream: STREAM, circuit: Circuit::TileSend, access, span });
    checker.take().into_iter().map(|report| (report.misuse, report.address.0)).collect()
}

#[test]
fn transfer_inside_its_mapping_is_silent() {
    let mut checker = checker(&[(0x4000, 0x8000, Usage::Input)]);
    assert_eq!(found(&mut checker, Access::Read, range(0x4000, 0x8000)), []);
}

#[test]
fn write_into_an_input_is_reported() {
    let mut checker = checker(&[(0x4000, 0x8000, Usage::Input)]);
    let mapping = range(0x4000, 0x8000);
    assert_eq!(
        found(&mut checker, Access::Write, range(0x5000, 16)),
        [(Misuse::InputWritten { mapping }, 0x5000)]
    );
}

#[test]
fn page_read_before_it_was_written_is_reported_and_then_no_more() {
    let mut checker = checker(&[(0x4000, 0xc000, Usage::Intermediate)]);
    let mapping = range(0x4000, 0xc000);
    assert_eq!(found(&mut checker, Access::Write, range(0x4000, 0x4000)), []);
    assert_eq!(
        found(&mut checker, Access::Read, range(0x6000, 0x4000)),
        [(Misuse::NeverWritten { mapping }, 0x8000)]
    );
    assert_eq!(found(&mut checker, Access::Write, range(0x8000, 1)), []);
    assert_eq!(found(&mut checker, Access::Read, range(0x6000, 0x4000)), []);
}

#[test]
fn transfer_that_leaves_its_mapping_is_reported_at_the_first_byte_outside() {
    let mut checker = checker(&[(0x4000, 0x100, Usage::Output), (0x8000, 0x4000, Usage::Output)]);
    let mapping = range(0x4000, 0x100);
    assert_eq!(
        found(&mut checker, Access::Write, range(0x40f0, 0x20)),
        [(Misuse::OutsideMapping { mapping: Some(mapping) }, 0x4100)]
    );
    assert_eq!(
        found(&mut checker, Access::Write, range(0x4100, 1)),
        [(Misuse::OutsideMapping { mapping: None }, 0x4100)]
    );
}

#[test]
fn transfer_into_a_neighbour_of_its_bars_mapping_is_reported() {
    let mut checker = checker(&[(0x4000, 0x4000, Usage::Output), (0x8000, 0x4000, Usage::Output)]);
    checker.set_origin(Origin { bar: Some(Iova(0x4000)), task: Some(7), ..Origin::default() });
    let mapping = Some(range(0x4000, 0x4000));
    assert_eq!(
        found(&mut checker, Access::Write, range(0x8000, 16)),
        [(Misuse::OutsideMapping { mapping }, 0x8000)]
    );
}

#[test]
fn stream_of_which_nothing_is_known_is_not_checked() {
    let mut checker = checker(&[(0x4000, 0x4000, Usage::Input)]);
    checker.forget(STREAM, range(0x7fff, 1));
    assert_eq!(found(&mut checker, Access::Write, range(0x4000, 16)), []);
}

#[test]
fn mapping_replaces_all_that_it_overlaps() {
    let mut checker = checker(&[
        (0x4000, 0x100, Usage::Input),
        (0x4800, 0x100, Usage::Input),
        (0x4080, 0x1000, Usage::Output),
    ]);
    assert_eq!(found(&mut checker, Access::Write, range(0x4800, 0x100)), []);
    assert_eq!(
        found(&mut checker, Access::Write, range(0x4000, 1)),
        [(Misuse::OutsideMapping { mapping: None }, 0x4000)]
    );
}

#[test]
fn reports_beyond_the_limit_are_counted_and_not_kept() {
    let mut checker = checker(&[(0x4000, 0x4000, Usage::Input)]);
    let transfer = Transfer {
        stream: STREAM,
        circuit: Circuit::TileSend,
        access: Access::Write,
        span: range(0x4000, 1),
    };
    for _ in 0..MAX_REPORTS + 3 {
        checker.observe(transfer);
    }
    assert_eq!((checker.take().len(), checker.take_lost(), checker.take_lost()), (MAX_REPORTS, 3, 0));
}

#[test]
fn copy_of_the_first_descriptor_may_have_a_mapping_of_its_own() {
    let mut checker = checker(&[
        (0x4000, 0x4000, Usage::Program),
        (0x8000, 0x300, Usage::Program),
        (0xc000, 64, Usage::Output),
    ]);
    let fetch = |checker: &mut Checker, task, bar, at| {
        checker.set_origin(Origin { task: Some(task), register: None, bar: Some(Iova(bar)) });
        let (circuit, access, span) = (Circuit::TdFetch, Access::Read, range(at, 0x274));
        checker.observe(Transfer { stream: STREAM, circuit, access, span });
        checker.take().len()
    };
    assert_eq!(fetch(&mut checker, 0, 0x4000, 0x8000), 0);
    assert_eq!(fetch(&mut checker, 1, 0x4000, 0x8000), 1, "the others lie in the stream");
    assert_eq!(fetch(&mut checker, 0, 0xc000, 0x8000), 1, "the BAR is not that of a stream");
    assert_eq!(fetch(&mut checker, 0, 0x4000, 0x8100), 1, "the copy ends before");
}

#[test]
fn report_reads_as_a_sentence() {
    let mut checker = checker(&[(0x4000, 0x4000, Usage::Input)]);
    let register = Some(EngineOffset(0x1c1_3000));
    checker.set_origin(Origin { task: Some(7), register, bar: None });
    let (access, span) = (Access::Write, range(0x5000, 16));
    checker.observe(Transfer { stream: STREAM, circuit: Circuit::TileSend, access, span });
    assert_eq!(
        checker.take()[0].to_string(),
        "write into the input mapping of 0x4000 bytes at iova 0x4000; tile send at iova 0x5000, \
         iso context 3, task 7, register at engine 0x1c13000"
    );
}
