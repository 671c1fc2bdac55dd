//! The block's registers.

use ane_device::dart::Circuit;
use ane_uapi::hw::pe_mmu as regs;
use ane_uapi::register::{Reg, Word};

use super::*;

fn read<T: Word>(mmu: &mut PeMmu, register: &Reg<T>, index: u16) -> u32 {
    let (id, _) = RegisterId::find(register.offset()).unwrap();
    mmu.read(id, index)
}

#[test]
fn registers_show_attributes_and_counters_and_take_the_switch() {
    let attributes = "page=0x1000,overhead-ns=5,fabric-ns=40".parse().unwrap();
    let mut mmu = PeMmu::new(attributes);
    map(&mut mmu, 0, 0x4000, 0x3000);
    unmap(&mut mmu, 0, 0x1000);
    unmap(&mut mmu, 0x9000, 0x1000);
    mmu.ask(Circuit::TileSend, 0x1000, 64);
    mmu.ask(Circuit::TileSend, 0x9000, 64);
    let words = [&regs::MAPS, &regs::UNMAPS, &regs::REGIONS, &regs::TRANSLATIONS, &regs::FALLBACKS];
    assert_eq!(words.map(|register| read(&mut mmu, register, 0)), [1, 2, 2, 2, 1]);
    assert_eq!(read(&mut mmu, &regs::PAGE_SIZE, 0), 0x1000);
    assert_eq!(read(&mut mmu, &regs::OVERHEAD_PS, 0), 5_000);
    assert_eq!(read(&mut mmu, &regs::FABRIC_PS, 0), 40_000);
    mmu.write(RegisterId::CONTROL, u32::MAX);
    assert_eq!(read(&mut mmu, &regs::CONTROL, 0), 1);
    mmu.write(RegisterId::PAGE_SIZE, 0x4000);
    assert_eq!(read(&mut mmu, &regs::PAGE_SIZE, 0), 0x1000);
}

#[test]
fn reset_forgets_everything_but_the_attributes() {
    let mut mmu = PeMmu::new("page=0x1000,overhead-ns=5".parse().unwrap());
    map(&mut mmu, 0, 0x4000, 0x1000);
    mmu.ask(Circuit::TileSend, 0, 64);
    mmu.reset();
    assert_eq!((mmu.mmu().regions(), mmu.take_wait()), (0, None));
    assert_eq!(read(&mut mmu, &regs::TRANSLATIONS, 0), 0);
    assert_eq!(read(&mut mmu, &regs::OVERHEAD_PS, 0), 5_000);
}
