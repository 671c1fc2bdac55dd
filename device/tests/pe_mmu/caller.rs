//! A circuit's cost of translations, and a circuit without PE_MMU (pe-mmu 7, vectors 13 to 15).

use ane_device::dart::Circuit;
use ane_device::pe_mmu::{Found, Note};
use ane_uapi::hw::pe_mmu::Control;

use super::*;

fn costing(overhead_ps: u32) -> PeMmu {
    PeMmu::new(Attributes { overhead_ps, ..Attributes::default() })
}

/// Three translations by a circuit; what they cost in picoseconds.
fn three(mmu: &mut PeMmu, circuit: Circuit) -> Option<u64> {
    for va in [0, 64, 128] {
        mmu.ask(circuit, va, 64);
    }
    mmu.take_wait()
}

/// Vector 13.
///
/// Requirement: PEMMU-06, PEMMU-07
#[test]
fn pipeline_and_command_pay_alike_for_each_translation() {
    let mut mmu = costing(5_000);
    for circuit in Circuit::ALL {
        assert_eq!(three(&mut mmu, circuit), Some(15_000), "{circuit}");
    }
    assert_eq!(mmu.take_wait(), None);
}

/// Vector 13, second line.
#[test]
fn pipeline_goes_free_only_where_the_switch_says_so_and_the_trace_shows_it() {
    let mut mmu = costing(5_000);
    mmu.write(RegisterId::CONTROL, Control::new().with_pipeline_exempt(true).into_bits());
    assert_eq!(three(&mut mmu, Circuit::TdFetch), Some(15_000));
    mmu.take_notes();
    assert_eq!(three(&mut mmu, Circuit::TileFetch1), None);
    assert!(mmu.take_notes().contains(&Note::Exempt { circuit: Circuit::TileFetch1 }));
}

/// Vector 14.
///
/// Requirement: PEMMU-08
#[test]
fn nobody_waits_where_a_translation_costs_nothing_whatever_the_switch_says() {
    for pipeline_exempt in [false, true] {
        let mut mmu = costing(0);
        mmu.write(RegisterId::CONTROL, Control::new().with_pipeline_exempt(pipeline_exempt).into_bits());
        map(&mut mmu, 0, 0x4000, 0x1000);
        for circuit in Circuit::ALL {
            assert_eq!(three(&mut mmu, circuit), None, "{circuit}");
        }
        assert_eq!(mmu.take_notes(), []);
    }
}

/// Vector 15.
#[test]
fn address_without_a_region_is_used_as_it_is_and_costs_the_same() {
    let mut mmu = costing(5_000);
    let found = mmu.ask(Circuit::TileFetch1, 0x1234_5678, 64);
    assert_eq!(found, Found { pa: 0x1234_5678, len: 64 });
    assert_eq!(mmu.take_wait(), Some(5_000));
    assert_eq!((mmu.counters().translations, mmu.counters().fallbacks), (1, 1));
    let fallback = Note::Fallback { circuit: Circuit::TileFetch1, va: 0x1234_5678, len: 64 };
    assert_eq!(mmu.take_notes(), [fallback]);
}

#[test]
fn notes_and_debts_of_a_long_run_stay_bounded() {
    let mut mmu = costing(u32::MAX);
    for n in 0..100_000 {
        mmu.ask(Circuit::TileSend, n * 64, 64);
    }
    assert!(mmu.take_notes().len() <= 64);
    assert_eq!(mmu.take_wait(), Some(100_000 * u64::from(u32::MAX)));
}
