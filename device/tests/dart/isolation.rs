//! Contexts: what keeps clients apart.

use ane_device::dart::{Access, Circuit};
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::Window;
use ane_uapi::hw::space::{Iova, PhysAddr};

use crate::rig::{PAGE, Rig, fault, indices, page, range};

/// The page that all contexts map at one address, each its own.
const SHARED: u64 = 0x10_0000;

/// An address that only one context maps.
fn own(context: ContextId) -> u64 {
    0x400_0000 * (1 + u64::from(context.number())) + PAGE * u64::from(context.number())
}

/// The page of a context at the shared address, and that at its own.
fn pages(context: ContextId) -> (PhysAddr, PhysAddr) {
    let n = u64::from(context.number());
    (page(n), page(32 + n))
}

/// Eight contexts with tables of their own.
fn rig() -> (Rig, Vec<PhysAddr>) {
    let mut rig = Rig::bare();
    let tables: Vec<_> = ContextId::ALL.iter().map(|context| rig.open(context.stream())).collect();
    for (context, &table) in ContextId::ALL.into_iter().zip(&tables) {
        let (shared, private) = pages(context);
        rig.map_in(table, SHARED, shared);
        rig.map_in(table, own(context), private);
        rig.fill(shared, 0x10 | context.number(), PAGE);
        rig.fill(private, 0x80 | context.number(), PAGE);
    }
    (rig, tables)
}

#[test]
fn there_are_eight_contexts() {
    assert_eq!(ContextId::ALL.len(), 8);
}

/// Requirement: ISO-02
#[test]
fn one_address_leads_each_context_to_its_own_page() {
    let (mut rig, _) = rig();
    for context in ContextId::ALL {
        for circuit in Circuit::ALL {
            let read = rig.read_as(context.stream(), circuit, SHARED, 4).unwrap();
            assert_eq!(read, [0x10 | context.number(); 4], "{context}, {circuit}");
        }
    }
}

/// Requirement: ISO-03
#[test]
fn no_context_reaches_what_another_has_mapped() {
    let (mut rig, tables) = rig();
    let mut denials = 0;
    for owner in ContextId::ALL {
        for other in ContextId::ALL {
            for access in [Access::Read, Access::Write] {
                let circuit = if access.is_write() { Circuit::TileSend } else { Circuit::TileFetch1 };
                let address = own(owner) + 0x40;
                let mut bytes = [0; 16];
                let mut dma = rig.dma(other.stream(), circuit);
                let result = match access {
                    Access::Read => dma.read(range(address, 16), &mut bytes),
                    Access::Write => dma.write(range(address, 16), &[0x80 | other.number(); 16]),
                };
                if owner == other {
                    result.unwrap();
                    continue;
                }
                let info = result.unwrap_err();
                denials += 1;
                assert_eq!(info.error(), Ok(HwError::NoL2Entry), "{other} in {owner}");
                assert_eq!(info.stream(), Ok(other.stream()));
                assert_eq!(info.is_write(), Ok(access.is_write()));
                assert_eq!(u64::from(info.address.get()), address);
                let walked = (info.l2_index.get(), info.l3_index.get());
                assert_eq!(walked, indices(Iova(address as u32)));
                assert_eq!(bytes, [0; 16]);
                // The driver clears what it was told.
                rig.set(circuit.window(), 0x40, u32::MAX);
            }
        }
    }
    assert_eq!(denials, 8 * 7 * 2);
    for context in ContextId::ALL {
        assert_eq!(rig.bytes(pages(context).1, PAGE), vec![0x80 | context.number(); PAGE as usize]);
    }
    assert_eq!(tables.len(), 8);
}

#[test]
fn stale_translation_of_one_context_serves_no_other() {
    let (mut rig, tables) = rig();
    for owner in ContextId::ALL {
        rig.read_as(owner.stream(), Circuit::TileFetch1, own(owner), 1).unwrap();
        let leaf = rig.leaf_at(tables[owner.index()], own(owner));
        rig.store(leaf, 0);
        for other in ContextId::ALL {
            let read = rig.read_as(other.stream(), Circuit::TileFetch1, own(owner), 1);
            if other == owner {
                assert_eq!(read.unwrap(), [0x80 | owner.number()], "stale, and its own");
            } else {
                assert!(read.is_err(), "{other} in {owner}");
            }
        }
        // An invalidation by another context leaves this one's entries alone.
        rig.invalidate(!owner.stream().bit());
        rig.read_as(owner.stream(), Circuit::TileFetch1, own(owner), 1).unwrap();
        rig.invalidate(owner.stream().bit());
        let gone = rig.read_as(owner.stream(), Circuit::TileFetch1, own(owner), 1);
        assert_eq!(fault(gone), Err((HwError::NoL3Entry, own(owner) as u32)));
        rig.set(Window::Dart1, 0x40, u32::MAX);
    }
}
