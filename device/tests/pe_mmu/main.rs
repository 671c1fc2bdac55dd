//! PE_MMU: the worked vectors of its specification, and what stands behind them.

mod caller;
mod hostile;
mod messages;
mod registers;
mod vectors;

use ane_device::pe_mmu::{Attributes, Mapping, PeMmu, Range};
use ane_uapi::hw::pe_mmu::{PageSize, RegisterId};

/// A block with pages of `bytes` bytes.
fn mmu(bytes: u64) -> PeMmu {
    PeMmu::new(Attributes { page_size: PageSize::new(bytes).unwrap(), ..Attributes::default() })
}

fn map(mmu: &mut PeMmu, va: u64, pa: u64, size: u64) {
    mmu.map(&[Mapping { va, pa, size }]).unwrap();
}

fn unmap(mmu: &mut PeMmu, va: u64, size: u64) {
    mmu.unmap(&[Range { va, size }]).unwrap();
}

/// Where each address leads; `None` is a page fault.
fn at<const N: usize>(mmu: &PeMmu, addresses: [u64; N]) -> [Option<u64>; N] {
    addresses.map(|va| mmu.mmu().translate(va).ok())
}

/// The pieces of a transfer: physical address and length.
fn pieces(mmu: &PeMmu, va: u64, size: u64) -> Vec<(u64, u64)> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < size {
        let stretch = mmu.mmu().stretch(va + done, size - done);
        pieces.push((stretch.to.unwrap_or(va + done), stretch.len));
        done += stretch.len;
    }
    pieces
}
