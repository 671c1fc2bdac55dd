//! The chapter on programming the engine against the contract: the words that it tells a driver to write and to expect.

use std::path::Path;

use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::pte::{LeafFormat, Seed, T6000, T8020};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tm::{InterruptEnable, LineEnable, QueueEnable, TASK_MANAGER};
use ane_uapi::hw::usage::Protection;

fn chapter() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/programming.md");
    std::fs::read_to_string(path).expect("the chapter is there")
}

#[test]
fn words_of_page_tables_are_what_the_formats_write() {
    let page = PhysAddr(0x8_1234_4000);
    let open = Protection::new().with_device_reads(true).with_device_writes(true);
    let p = page.0;
    assert_eq!(Seed::encode(page, open), Ok(p | 1 << 63));
    assert_eq!(T8020::encode(page, open), Ok(p | 0xfff << 40 | 3));
    assert_eq!(T6000::encode(page, open), Ok(p >> 4 | 0xfff << 40 | 1));
    assert_eq!(Seed::encode_table(page), Ok(p | 1 << 63));
    assert_eq!(T8020::encode_table(page), Ok(p | 1));
    assert_eq!(T6000::encode_table(page), Ok(p >> 4 | 1));
    let forbids = |word: Result<u64, _>, template: u64| word.unwrap() ^ template;
    let (no_write, no_read) = (open.with_device_writes(false), open.with_device_reads(false));
    assert_eq!(forbids(T8020::encode(PhysAddr(0), no_write), 0xfff << 40 | 3), 1 << 7);
    assert_eq!(forbids(T8020::encode(PhysAddr(0), no_read), 0xfff << 40 | 3), 1 << 8);
    assert_eq!(forbids(T6000::encode(PhysAddr(0), no_write), 0xfff << 40 | 1), 1 << 2);
    assert_eq!(forbids(T6000::encode(PhysAddr(0), no_read), 0xfff << 40 | 1), 1 << 3);
    let text = chapter();
    for said in
        ["`p | 1 << 63`", "`p | 0xfff << 40 | 3`", "`p >> 4 | 0xfff << 40 | 1`", "`p | 1`", "`p >> 4 | 1`"]
    {
        assert!(text.contains(said), "{said}");
    }
}

#[test]
fn faults_that_it_provokes_have_the_words_that_it_tells() {
    let text = chapter();
    let cases = [
        ("without a leaf", HwError::NoL3Entry, 0, false),
        ("may not be written", HwError::WriteProtection, 0, true),
        ("which is not enabled", HwError::StreamDisabled, 3, false),
        ("whose tables are empty", HwError::NoL2Entry, 3, false),
    ];
    for (what, error, stream, is_write) in cases {
        let line = text.lines().find(|line| line.starts_with('|') && line.contains(what)).expect(what);
        let status = error.raise(StreamId::ALL[stream], is_write).into_bits();
        let numbers = format!("{}, {}, {}:", error.fault_type() as u64, error.class() as u64, error as u64);
        assert!(line.contains(&format!("`{status:#x}`")) && line.contains(&numbers), "{line}");
    }
}

#[test]
fn registers_and_codes_that_it_names_are_those_of_the_tables() {
    let text = chapter();
    let enable = QueueEnable::new().with_enable(true).into_bits();
    let (events, lines) = (InterruptEnable::new().with_events(true), LineEnable::new().with_lines(3));
    let error = TASK_MANAGER.registers.iter().find(|register| register.name == "Error").unwrap();
    for number in [
        u64::from(enable),
        events.into_bits().into(),
        lines.into_bits().into(),
        TASK_MANAGER.container(error.offset).0.into(),
        ErrorCode::TransferFault as u64,
        ErrorCode::DescriptorFault as u64,
        ErrorCode::Deadline as u64,
        ErrorCode::Aborted as u64,
    ] {
        let said = text.contains(&format!("`{number:#x}`")) || text.contains(&format!("`{number}`"));
        assert!(said, "{number:#x}");
    }
}
