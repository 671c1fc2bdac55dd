//! The companion blocks by their calls: on the files of a driver in this process, and through the daemon.

use ane::build::Built;
use ane_device::Options;
use ane_driver::front::{FileId, Files, Segments};
use ane_tests::client::{Buffer, Clients, Loaded};
use ane_tests::daemon_thread::DaemonThread;
use ane_tests::null_task::program;
use ane_uapi::ioctl::buffer::{BO_INFO, BoInfo};
use ane_uapi::ioctl::companion::{
    MOVER, Mover, PE_MMU_MAP, PE_MMU_UNMAP, PeMmuMap, PeMmuMapEntry, PeMmuUnmap, PeMmuUnmapEntry,
};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{CANCEL, CANCEL_RUNNING, Cancel};
use ane_uapi::ioctl::param::{GET_PARAM, GetParam, Param};
use ane_uapi::ioctl::stats::Counter;
use half::f16;
use zerocopy::{FromZeros, IntoBytes};

use super::rig::{self, counter, inject, result, rig_with};

/// Where a client has its entries.
const AT: u64 = 0x5000;

/// Bytes of a page of the PE_MMU in these tests: one of the DART's.
const PAGE: u64 = 0x4000;

fn options() -> Options {
    let pe_mmu = Some("page=0x4000,overhead-ns=2.5,fabric-ns=40".parse().unwrap());
    Options { pe_mmu, mover: "wormhole,contended".parse().unwrap(), ..Options::default() }
}

fn map<F: Files>(rig: &mut Clients<F>, file: FileId, entries: &[[u64; 3]]) -> Result<(), Errno> {
    let mut memory = Segments::new();
    memory.push(AT, entries.as_bytes().to_vec());
    let entry_size = size_of::<PeMmuMapEntry>() as u32;
    let mut call = PeMmuMap { entries: AT, count: entries.len() as u32, entry_size };
    rig.ioctl_with(file, &PE_MMU_MAP, &mut call, &mut memory)
}

fn unmap<F: Files>(rig: &mut Clients<F>, file: FileId, ranges: &[[u64; 2]]) -> Result<(), Errno> {
    let mut memory = Segments::new();
    memory.push(AT, ranges.as_bytes().to_vec());
    let entry_size = size_of::<PeMmuUnmapEntry>() as u32;
    let mut call = PeMmuUnmap { entries: AT, count: ranges.len() as u32, entry_size };
    rig.ioctl_with(file, &PE_MMU_UNMAP, &mut call, &mut memory)
}

fn transfer<F: Files>(
    rig: &mut Clients<F>,
    file: FileId,
    [direction, size, source, destination]: [u32; 4],
) -> Result<u64, Errno> {
    let mut call = Mover { direction, size, source, destination, ..Mover::new_zeroed() };
    rig.ioctl(file, &MOVER, &mut call)?;
    Ok(call.cycles)
}

fn address<F: Files>(rig: &mut Clients<F>, buffer: Buffer) -> u64 {
    let mut info = BoInfo { handle: buffer.handle, ..BoInfo::new_zeroed() };
    rig.ioctl(buffer.file, &BO_INFO, &mut info).unwrap();
    info.device_address
}

/// Runs a program that passes a number through; what came out.
fn pass<F: Files>(rig: &mut Clients<F>, built: &Built, loaded: &Loaded, number: f32) -> f32 {
    rig.fill(loaded, built.surface("x").unwrap(), &[f16::from_f32(number)]);
    rig.fill(loaded, built.surface("y").unwrap(), &[f16::ZERO]);
    assert_eq!(rig.run(loaded).result, 0);
    rig.take(loaded, built.surface("y").unwrap())[0].to_f32()
}

/// The behaviour of any front: every answer of both calls, and a program whose input is another buffer's.
fn both_blocks<F: Files>(rig: &mut Clients<F>) {
    let file = rig.open();
    assert_eq!(map(rig, file, &[[0, 0, 1], [u64::MAX, 0, 2]]), Err(Errno::ERANGE));
    assert_eq!(map(rig, file, &[[0, 0, 1 << 50]]), Err(Errno::ENOSPC));
    assert_eq!(map(rig, file, &[[0, 0, 1]; 1025]), Err(Errno::E2BIG));
    assert_eq!(map(rig, file, &[]), Ok(()));
    assert_eq!(unmap(rig, file, &[[u64::MAX, 2]]), Err(Errno::ERANGE));

    let built = program(1);
    let loaded = rig.load(file, &built.program());
    assert_eq!(pass(rig, &built, &loaded, 3.0), 3.0);
    let other = rig.load(file, &built.program());
    assert_eq!(pass(rig, &built, &other, 7.0), 7.0);
    let input = built.program().bars.iter().position(|bar| bar.index == built.surface("x").unwrap().bar);
    let [from, to] = [&loaded, &other].map(|loaded| loaded.bars[input.unwrap()].1);
    let [from, to] = [from, to].map(|buffer| address(rig, buffer));
    assert_eq!(map(rig, file, &[[from, to, PAGE]]), Ok(()));
    assert_eq!(pass(rig, &built, &loaded, 3.0), 7.0, "the other's input");
    assert_eq!(unmap(rig, file, &[[from, PAGE - 1]]), Ok(()));
    assert_eq!(pass(rig, &built, &loaded, 3.0), 7.0, "not all of the region was unmapped");
    assert_eq!(unmap(rig, file, &[[from, PAGE]]), Ok(()));
    assert_eq!(pass(rig, &built, &loaded, 3.0), 3.0);

    assert_eq!(
        transfer(rig, file, [3, 8, 0, 0x100]),
        Ok(32),
        "four cycles a unit where others use the ports"
    );
    assert_eq!(transfer(rig, file, [0, 1, u32::MAX, 0x100]), Ok(3));
    assert_eq!(transfer(rig, file, [4, 1, 0, 0]), Err(Errno::EINVAL));
    assert_eq!(transfer(rig, file, [3, 0x1_0000, 0, 0]), Err(Errno::ERANGE));
    assert_eq!(transfer(rig, file, [3, 2, 0x1_ffff, 0]), Err(Errno::ERANGE));
    // In bytes these have more than 32 bits, and the low ones lie in scratch.
    assert_eq!(transfer(rig, file, [3, 2, 0x1000_0100, 0]), Err(Errno::ERANGE));
    assert_eq!(transfer(rig, file, [0, 2, 0, 0x1000_0100]), Err(Errno::ERANGE));

    let param = |rig: &mut Clients<F>, param: Param| {
        let mut get = GetParam { param: param as u32, ..GetParam::new_zeroed() };
        rig.ioctl(file, &GET_PARAM, &mut get).map(|()| get.value)
    };
    let params = [Param::PeMmuPageSize, Param::PeMmuOverheadPs, Param::PeMmuFabricPs, Param::MoverAttributes];
    assert_eq!(params.map(|name| param(rig, name)), [Ok(PAGE), Ok(2500), Ok(40_000), Ok(0b0110)]);
}

#[test]
fn calls_of_both_blocks_work_on_files_of_this_process_and_are_counted() {
    let mut rig = rig_with(&options());
    both_blocks(&mut rig);
    let file = rig.open();
    let counters = [Counter::PeMmuMaps, Counter::PeMmuUnmaps, Counter::MoverTransfers, Counter::MoverUnits];
    assert_eq!(counters.map(|name| counter(&mut rig, file, true, name)), [1, 2, 2, 9]);
}

#[test]
fn calls_of_both_blocks_work_through_the_daemon() {
    both_blocks(&mut DaemonThread::start(&options()).clients());
}

#[test]
fn device_without_pe_mmu_says_so_in_its_parameters() {
    let mut rig = rig::rig();
    let file = rig.open();
    let params = [Param::PeMmuPageSize, Param::PeMmuOverheadPs, Param::PeMmuFabricPs, Param::MoverAttributes];
    assert_eq!(params.map(|name| rig::param(&mut rig, file, name)), [0; 4]);
    assert_eq!(map(&mut rig, file, &[]), Err(Errno::EOPNOTSUPP));
}

#[test]
fn fault_behind_a_region_ends_the_request_and_names_where_the_region_leads() {
    let mut rig = rig_with(&options());
    let file = rig.open();
    let built = program(1);
    let loaded = rig.load(file, &built.program());
    assert_eq!(pass(&mut rig, &built, &loaded, 3.0), 3.0);
    let input = loaded.bar(built.surface("x").unwrap().bar);
    let from = address(&mut rig, input);
    // An address that the DART of this context does not map.
    map(&mut rig, file, &[[from, 0x7000_0000, PAGE]]).unwrap();
    assert_ne!(rig.run(&loaded).result, 0);
    let fault = rig.driver.last_failure().expect("a failure").to_string();
    assert!(fault.contains("0x70000000"), "{fault}");
}

fn input_of(rig: &mut rig::EmbeddedClients, built: &Built, loaded: &Loaded) -> u64 {
    address(rig, loaded.bar(built.surface("x").unwrap().bar))
}

/// A loaded program of a file whose input has a 3 in it; its address and that of another input, which has a 7 in it. They have
/// them from their first request on.
fn inputs(rig: &mut rig::EmbeddedClients, file: FileId, built: &Built) -> (Loaded, [u64; 2]) {
    let [from, to] = [3.0, 7.0].map(|number| {
        let loaded = rig.load(file, &built.program());
        assert_eq!(pass(rig, built, &loaded, number), number);
        loaded
    });
    let addresses = [&from, &to].map(|loaded| input_of(rig, built, loaded));
    (from, addresses)
}

#[test]
fn region_is_in_force_for_a_request_that_the_driver_sends_again_after_a_reset() {
    let mut rig = rig_with(&options());
    let (file, other) = (rig.open(), rig.open());
    let built = program(1);
    let wedged = rig.load(file, &built.program());
    let (behind, [from, to]) = inputs(&mut rig, other, &built);
    map(&mut rig, other, &[[from, to, PAGE]]).unwrap();
    inject(&mut rig, "stuck-queue");
    inject(&mut rig, "ignored-abort");
    let (stuck, fence) = (rig.submit(&wedged).unwrap(), rig.submit(&behind).unwrap());
    rig.settle();
    let mut hard = Cancel { fence: stuck, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    rig.ioctl(file, &CANCEL, &mut hard).unwrap();
    assert_eq!(result(&rig.wait(file, stuck)), Err(Errno::ECANCELED));
    assert_eq!(result(&rig.wait(other, fence)), Ok(()));
    assert_eq!(rig.take(&behind, built.surface("y").unwrap())[0].to_f32(), 7.0, "the other input");
    assert_eq!(counter(&mut rig, file, true, Counter::Recoveries), 1);
}

#[test]
fn regions_go_with_their_file_and_those_of_others_stay() {
    let mut rig = rig_with(&options());
    let (file, other) = (rig.open(), rig.open());
    let built = program(1);
    let (_, [from, to]) = inputs(&mut rig, file, &built);
    let (mine, addresses) = inputs(&mut rig, other, &built);
    assert_eq!(addresses, [from, to], "both files have the same addresses");
    for file in [file, other] {
        map(&mut rig, file, &[[from, to, PAGE]]).unwrap();
    }
    rig.driver.close(file);
    assert_eq!(pass(&mut rig, &built, &mine, 3.0), 7.0, "its own region still leads elsewhere");
    assert_eq!(unmap(&mut rig, other, &[[from, PAGE]]), Ok(()));
    assert_eq!(pass(&mut rig, &built, &mine, 3.0), 3.0);

    map(&mut rig, other, &[[from, to, PAGE]]).unwrap();
    rig.driver.close(other);
    let next = rig.open();
    let loaded = rig.load(next, &built.program());
    assert_eq!(pass(&mut rig, &built, &loaded, 3.0), 3.0, "no region of a file that is gone is left");
    assert_eq!(input_of(&mut rig, &built, &loaded), from);
}
