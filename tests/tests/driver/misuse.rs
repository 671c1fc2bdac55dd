//! One misuse for each field of each call: what it is answered, and that nothing has changed.

use ane_driver::front::{FileId, Segments};
use ane_uapi::abi::AbiStruct;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{
    ADDRESS_ANY, BO_CREATE, BO_FIXED_ADDRESS, BO_INFO, BO_MAP, BO_PREMAP, BO_PREMAPPED, BO_UNMAP, BoCreate,
    BoInfo, BoMap, BoPremap, BoUnmap,
};
use ane_uapi::ioctl::companion::{MOVER, Mover, PE_MMU_MAP, PE_MMU_UNMAP, PeMmuMap, PeMmuUnmap};
use ane_uapi::ioctl::context::{
    CONTEXT_ANY, CONTEXT_ATTACH, CONTEXT_DETACH, ContextAttach, ContextDetach, ContextPolicy,
};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose, VERSION, Version};
use ane_uapi::ioctl::drm_ane::FIFO_NID;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{CANCEL, Cancel, Fence, WAIT, Wait};
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::param::{GET_PARAM, GetParam, Param};
use ane_uapi::ioctl::pool::{
    POOL_CREATE, POOL_DESTROY, POOL_RECYCLE, POOL_TAKE, PoolCreate, PoolDestroy, PoolRecycle, PoolTake,
};
use ane_uapi::ioctl::program::{
    PROGRAM_CREATE, PROGRAM_DESTROY, ProgramBinding, ProgramBuffer, ProgramCreate, ProgramDestroy,
};
use ane_uapi::ioctl::request::{Bar, Chain, Request, SUBMIT_CHAIN, SUBMIT_REQUEST};
use ane_uapi::ioctl::stats::{GET_STATS, GetStats};
use zerocopy::{FromZeros, IntoBytes, KnownLayout};

use super::rig::{EmbeddedClients, rig};

const AT: u64 = 0x5000;
const ELSEWHERE: u64 = 0x9000;

/// A file with a buffer of two pages for intermediates, whose handle is 1, a pool, whose handle is 2, and a handle,
/// 3, whose buffer is gone.
fn prepared() -> (EmbeddedClients, FileId) {
    let mut rig = rig();
    let file = rig.open();
    assert_eq!(rig.buffer(file, 0x8000, Usage::Intermediate).handle, 1);
    let mut pool = PoolCreate { capacity: 1, ..PoolCreate::new_zeroed() };
    rig.ioctl(file, &POOL_CREATE, &mut pool).unwrap();
    assert_eq!(pool.handle, 2);
    let gone = rig.buffer(file, 1, Usage::Input).handle;
    assert_eq!(gone, 3);
    rig.ioctl(file, &GEM_CLOSE, &mut GemClose { handle: gone, padding: 0 }).unwrap();
    (rig, file)
}

/// Asserts that each argument is answered so, and is left as it was.
fn refused<T: AbiStruct + KnownLayout + Copy + PartialEq + std::fmt::Debug>(
    ioctl: &Ioctl,
    memory: &Segments,
    cases: &[(Errno, T)],
) {
    let (mut rig, file) = prepared();
    for (errno, argument) in cases {
        let (mut sent, mut memory) = (*argument, memory.clone());
        let answer = rig.ioctl_with(file, ioctl, &mut sent, &mut memory);
        assert_eq!(answer, Err(*errno), "{} {argument:?}", ioctl.c_name);
        assert_eq!(sent.as_bytes(), argument.as_bytes(), "{}", ioctl.c_name);
        assert_eq!(memory.changed().count(), 0, "{}", ioctl.c_name);
    }
}

fn nowhere() -> Segments {
    Segments::new()
}

#[test]
fn parameters() {
    let get = GetParam { param: Param::CODES.len() as u32, reserved: 0, value: 0 };
    refused(
        &GET_PARAM,
        &nowhere(),
        &[(Errno::EINVAL, get), (Errno::EINVAL, GetParam { param: u32::MAX, ..get })],
    );
}

#[test]
fn version() {
    let ask = Version::new_zeroed();
    let name = Version { name_len: 3, name: AT, ..ask };
    let date = Version { date_len: 3, date: AT, ..ask };
    let description = Version { desc_len: u64::MAX, desc: u64::MAX, ..ask };
    // Without a place, room is of no use, and no error.
    let (mut rig, file) = prepared();
    let mut lengths = Version { name_len: 3, date_len: u64::MAX, ..ask };
    rig.ioctl(file, &VERSION, &mut lengths).unwrap();
    assert_eq!([lengths.name_len, lengths.date_len], [3, 8]);
    refused(&VERSION, &nowhere(), &[name, date, description].map(|version| (Errno::EFAULT, version)));
}

#[test]
fn contexts() {
    let (mut rig, _) = prepared();
    let attach = |policy: u32, context: u32, timeout_ns: i64| ContextAttach {
        policy,
        context,
        timeout_ns,
        ..ContextAttach::new_zeroed()
    };
    let fresh = rig.open();
    let mut bad = [
        attach(3, CONTEXT_ANY, 0),
        attach(u32::MAX, CONTEXT_ANY, 0),
        attach(0, 8, 0),
        attach(0, CONTEXT_ANY - 1, 0),
        attach(0, CONTEXT_ANY, 1),
        attach(ContextPolicy::Share as u32, CONTEXT_ANY, -1),
    ];
    for bad in &mut bad {
        assert_eq!(rig.ioctl(fresh, &CONTEXT_ATTACH, bad), Err(Errno::EINVAL), "{bad:?}");
    }
    let mut taken = attach(0, 0, 0);
    assert_eq!(rig.ioctl(fresh, &CONTEXT_ATTACH, &mut taken), Err(Errno::EBUSY));
    let mut late = attach(ContextPolicy::Wait as u32, 0, 1);
    assert_eq!(rig.ioctl(fresh, &CONTEXT_ATTACH, &mut late), Err(Errno::ETIMEDOUT));
    refused(&CONTEXT_ATTACH, &nowhere(), &[(Errno::EALREADY, attach(0, CONTEXT_ANY, 0))]);
    let detach = ContextDetach { flags: 0, reserved: 0 };
    refused(
        &CONTEXT_DETACH,
        &nowhere(),
        &[(Errno::EBUSY, detach), (Errno::EINVAL, ContextDetach { flags: 1, ..detach })],
    );
    let mut none = detach;
    assert_eq!(rig.ioctl(fresh, &CONTEXT_DETACH, &mut none), Err(Errno::ENOENT));
}

#[test]
fn buffers() {
    let good = BoCreate { size: 0x4000, usage: Usage::Input as u32, ..BoCreate::new_zeroed() };
    let fixed = BoCreate { flags: BO_FIXED_ADDRESS | BO_PREMAPPED, ..good };
    refused(
        &BO_CREATE,
        &nowhere(),
        &[
            (Errno::EINVAL, BoCreate { size: 0, ..good }),
            (Errno::EINVAL, BoCreate { size: u64::MAX, ..good }),
            (Errno::EINVAL, BoCreate { size: 0xe000_0001, ..good }),
            (Errno::EINVAL, BoCreate { flags: 0x10, ..good }),
            (Errno::EINVAL, BoCreate { usage: 0, ..good }),
            (Errno::EINVAL, BoCreate { usage: 0x1019, ..good }),
            (Errno::EINVAL, BoCreate { pool: 1, ..good }),
            (Errno::EINVAL, BoCreate { pool: 2, ..good }),
            (Errno::ENOENT, BoCreate { pool: 99, usage: Usage::Output as u32, ..good }),
            (Errno::ESTALE, BoCreate { pool: 3, usage: Usage::Output as u32, ..good }),
            (Errno::EINVAL, BoCreate { device_address: 0x4000, ..good }),
            (Errno::EINVAL, BoCreate { device_address: 0x4001, ..fixed }),
            (Errno::ERANGE, BoCreate { device_address: 0xe000_0000, ..fixed }),
            (Errno::ERANGE, BoCreate { device_address: 0xdfff_c000, size: 0x8000, ..fixed }),
        ],
    );
    let info = BoInfo { handle: 1, ..BoInfo::new_zeroed() };
    refused(
        &BO_INFO,
        &nowhere(),
        &[
            (Errno::ENOENT, BoInfo { handle: 0, ..info }),
            (Errno::EINVAL, BoInfo { handle: 2, ..info }),
            (Errno::ESTALE, BoInfo { handle: 3, ..info }),
            (Errno::ENOENT, BoInfo { handle: u32::MAX, ..info }),
        ],
    );
    refused(
        &GEM_CLOSE,
        &nowhere(),
        &[0, 2, 3, 99].map(|handle| (Errno::EINVAL, GemClose { handle, padding: 0 })),
    );
}

#[test]
fn mappings() {
    let map = BoMap { handle: 1, usage: Usage::Input as u32, ..BoMap::new_zeroed() };
    refused(
        &BO_MAP,
        &nowhere(),
        &[
            (Errno::ENOENT, BoMap { handle: 9, ..map }),
            (Errno::EINVAL, BoMap { usage: 3, ..map }),
            (Errno::EINVAL, BoMap { usage: 0x101a, ..map }),
            (Errno::EINVAL, BoMap { flags: BO_PREMAPPED, ..map }),
            (Errno::EINVAL, BoMap { offset: 1, ..map }),
            (Errno::EINVAL, BoMap { offset: 0x8000, ..map }),
            (Errno::EINVAL, BoMap { offset: u64::MAX << 14, ..map }),
            (Errno::EINVAL, BoMap { size: 0x8001, ..map }),
            (Errno::EINVAL, BoMap { size: u64::MAX, ..map }),
            (Errno::EINVAL, BoMap { device_address: 0x4000, ..map }),
            (Errno::ERANGE, BoMap { flags: BO_FIXED_ADDRESS, device_address: 1 << 40, ..map }),
        ],
    );
    let unmap = BoUnmap { handle: 1, mapping: 0, usage: Usage::Intermediate as u32, reserved: 0 };
    refused(
        &BO_UNMAP,
        &nowhere(),
        &[
            (Errno::ENODATA, unmap),
            (Errno::ENODATA, BoUnmap { mapping: 1, ..unmap }),
            (Errno::ENODATA, BoUnmap { mapping: u32::MAX, ..unmap }),
            (Errno::ESTALE, BoUnmap { handle: 3, ..unmap }),
        ],
    );
    let premap = BoPremap {
        count: 1,
        handle: 1,
        usage: Usage::Intermediate as u32,
        reserved: 0,
        device_address: ADDRESS_ANY,
        size: 1,
    };
    refused(
        &BO_PREMAP,
        &nowhere(),
        &[
            (Errno::EINVAL, BoPremap { count: 0, ..premap }),
            (Errno::EINVAL, BoPremap { count: 2, ..premap }),
            (Errno::EINVAL, BoPremap { handle: 2, ..premap }),
            (Errno::EINVAL, BoPremap { usage: Usage::Output as u32, ..premap }),
            (Errno::EINVAL, BoPremap { device_address: 0, ..premap }),
            (Errno::EINVAL, BoPremap { device_address: 0x4001, ..premap }),
            (Errno::ERANGE, BoPremap { device_address: 0xe000_0000, ..premap }),
            (Errno::EINVAL, BoPremap { size: 0, ..premap }),
            (Errno::EINVAL, BoPremap { size: 0x8001, ..premap }),
        ],
    );
}

#[test]
fn pools() {
    let create = PoolCreate { capacity: 1, ..PoolCreate::new_zeroed() };
    refused(
        &POOL_CREATE,
        &nowhere(),
        &[
            (Errno::EINVAL, PoolCreate { capacity: 0, ..create }),
            (Errno::EINVAL, PoolCreate { flags: 1, ..create }),
        ],
    );
    refused(
        &POOL_DESTROY,
        &nowhere(),
        &[
            (Errno::EINVAL, PoolDestroy { handle: 1, reserved: 0 }),
            (Errno::ENOENT, PoolDestroy { handle: 7, reserved: 0 }),
        ],
    );
    refused(
        &POOL_TAKE,
        &nowhere(),
        &[
            (Errno::EAGAIN, PoolTake { pool: 2, handle: 0, size: 0 }),
            (Errno::EINVAL, PoolTake { pool: 1, handle: 0, size: 0 }),
            (Errno::ESTALE, PoolTake { pool: 3, handle: 0, size: 0 }),
        ],
    );
    refused(
        &POOL_RECYCLE,
        &nowhere(),
        &[
            (Errno::EINVAL, PoolRecycle { pool: 2, handle: 1 }),
            (Errno::EINVAL, PoolRecycle { pool: 1, handle: 1 }),
            (Errno::ESTALE, PoolRecycle { pool: 2, handle: 3 }),
            (Errno::EINVAL, PoolRecycle { pool: 2, handle: 2 }),
        ],
    );
}

#[test]
fn fences() {
    let mut memory = Segments::new();
    memory.push(AT, Fence::new_zeroed().as_bytes().to_vec());
    memory.push(ELSEWHERE, Fence { fence: 1, ..Fence::new_zeroed() }.as_bytes().to_vec());
    let size = size_of::<Fence>() as u32;
    let wait = Wait { fences: AT, count: 1, fence_size: size, ..Wait::new_zeroed() };
    refused(
        &WAIT,
        &memory,
        &[
            (Errno::ENODATA, wait),
            (Errno::ENODATA, Wait { fences: ELSEWHERE, ..wait }),
            (Errno::EFAULT, Wait { fences: AT + 1, ..wait }),
            (Errno::EFAULT, Wait { fences: u64::MAX, ..wait }),
            (Errno::EFAULT, Wait { count: 128, ..wait }),
            (Errno::EINVAL, Wait { count: 0, ..wait }),
            (Errno::E2BIG, Wait { count: 129, ..wait }),
            (Errno::E2BIG, Wait { count: u32::MAX, ..wait }),
            (Errno::EINVAL, Wait { fence_size: size - 8, ..wait }),
            (Errno::EINVAL, Wait { flags: 2, ..wait }),
        ],
    );
    let cancel = Cancel { fence: 1, ..Cancel::new_zeroed() };
    refused(
        &CANCEL,
        &nowhere(),
        &[
            (Errno::ENODATA, cancel),
            (Errno::ENODATA, Cancel { fence: u64::MAX, ..cancel }),
            (Errno::EINVAL, Cancel { flags: 2, ..cancel }),
        ],
    );
}

#[test]
fn counters() {
    let get = GetStats { counters: AT, count: 1, scope: 0 };
    refused(
        &GET_STATS,
        &nowhere(),
        &[
            (Errno::EFAULT, get),
            (Errno::E2BIG, GetStats { count: 513, ..get }),
            (Errno::EINVAL, GetStats { scope: 2, ..get }),
        ],
    );
}

#[test]
fn companions() {
    let mover = Mover { size: 1, ..Mover::new_zeroed() };
    refused(
        &MOVER,
        &nowhere(),
        &[
            (Errno::EINVAL, Mover { direction: 99, ..mover }),
            (Errno::ERANGE, Mover { size: 0x1_0000, ..mover }),
            (Errno::ERANGE, Mover { destination: u32::MAX, ..mover }),
        ],
    );
    let mut map = PeMmuMap { entries: AT, count: 1, entry_size: 24 };
    let mut unmap = PeMmuUnmap { entries: AT, count: 1, entry_size: 16 };
    let (mut rig, file) = prepared();
    assert_eq!(rig.ioctl(file, &PE_MMU_MAP, &mut map), Err(Errno::EOPNOTSUPP));
    assert_eq!(rig.ioctl(file, &PE_MMU_UNMAP, &mut unmap), Err(Errno::EOPNOTSUPP), "the device has none");
}

/// A request of one task whose stream is buffer 1, with a BAR array at `AT`.
fn request() -> Request {
    Request {
        priority: 4,
        bars: AT,
        bar_count: 1,
        bar_size: size_of::<Bar>() as u32,
        stream_size: 0x274,
        task_count: 1,
        first_size: 0x274,
        ..Request::new_zeroed()
    }
}

fn bar(index: u32, handle: u32) -> Bar {
    Bar { index, handle, mapping: 0, reserved: 0, offset: 0 }
}

fn bars(bars: &[Bar]) -> Segments {
    let mut memory = Segments::new();
    memory.push(AT, bars.as_bytes().to_vec());
    memory.push(ELSEWHERE, [7_u64, 0].as_bytes().to_vec());
    memory
}

#[test]
fn requests() {
    let good = request();
    let many = Request { bar_count: 33, ..good };
    refused(
        &SUBMIT_REQUEST,
        &bars(&[bar(0, 1)]),
        &[
            (Errno::ENOENT, Request { program: 9, stream_size: 0, task_count: 0, first_size: 0, ..good }),
            (Errno::EINVAL, Request { program: 1, stream_size: 0, task_count: 0, first_size: 0, ..good }),
            (Errno::EINVAL, Request { program: 1, ..good }),
            (Errno::EINVAL, Request { priority: 8, ..good }),
            (Errno::EPERM, Request { priority: 0, ..good }),
            (Errno::EPERM, Request { priority: 1, ..good }),
            (Errno::EINVAL, Request { flags: 4, ..good }),
            (Errno::EINVAL, Request { network_id: 255, ..good }),
            (Errno::EINVAL, Request { network_id: FIFO_NID, ..good }),
            (Errno::EFAULT, Request { bars: 0, ..good }),
            (Errno::EINVAL, Request { bar_count: 0, ..good }),
            (Errno::E2BIG, many),
            (Errno::EINVAL, Request { bar_size: 8, ..good }),
            (Errno::ENODATA, Request { in_fences: ELSEWHERE, in_fence_count: 1, ..good }),
            (Errno::EFAULT, Request { in_fences: AT - 8, in_fence_count: 1, ..good }),
            (Errno::E2BIG, Request { in_fences: ELSEWHERE, in_fence_count: 17, ..good }),
            (Errno::EINVAL, Request { stream_size: 0, ..good }),
            (Errno::EINVAL, Request { stream_size: 0x8001, ..good }),
            (Errno::EINVAL, Request { stream_size: u64::MAX, ..good }),
            (Errno::EINVAL, Request { task_count: 0, ..good }),
            (Errno::EINVAL, Request { task_count: 0x1_0000, ..good }),
            (Errno::EINVAL, Request { first_size: 0, ..good }),
            (Errno::EINVAL, Request { first_size: 0x275, ..good }),
            (Errno::EINVAL, Request { first_size: 0x278, ..good }),
        ],
    );
}

#[test]
fn base_addresses_of_requests() {
    let wrong: [(Errno, &[Bar]); 9] = [
        (Errno::EINVAL, &[bar(32, 1)]),
        (Errno::EINVAL, &[bar(1, 1)]),
        (Errno::ENOENT, &[bar(0, 0)]),
        (Errno::EINVAL, &[bar(0, 2)]),
        (Errno::ESTALE, &[bar(0, 3)]),
        (Errno::EINVAL, &[Bar { mapping: 1, ..bar(0, 1) }]),
        (Errno::EINVAL, &[Bar { reserved: 1, ..bar(0, 1) }]),
        (Errno::EINVAL, &[Bar { offset: 0x8000, ..bar(0, 1) }]),
        (Errno::EINVAL, &[Bar { offset: u64::MAX, ..bar(0, 1) }]),
    ];
    for (errno, entries) in wrong {
        refused(&SUBMIT_REQUEST, &bars(entries), &[(errno, request())]);
    }
    let twice = Request { bar_count: 2, ..request() };
    refused(&SUBMIT_REQUEST, &bars(&[bar(0, 1), bar(0, 1)]), &[(Errno::EINVAL, twice)]);
}

/// The driver has the bytes that came with a call, under the client's addresses, and nothing else of the client's.
#[test]
fn pointer_to_bytes_that_did_not_come_with_the_call_is_refused() {
    let at = |bars| (Errno::EFAULT, Request { bars, ..request() });
    let size = size_of::<Bar>() as u64;
    let wrong = [0, 1, AT - 1, AT + 1, AT + size, ELSEWHERE - 1, u64::MAX, u64::MAX - size + 1];
    refused(&SUBMIT_REQUEST, &bars(&[bar(0, 1)]), &wrong.map(at));
    refused(&SUBMIT_REQUEST, &nowhere(), &[at(AT)]);
    // Two stretches that follow each other are not one.
    let mut torn = Segments::new();
    let whole = [bar(0, 1)];
    let (front, end) = whole.as_bytes().split_at(8);
    torn.push(AT, front.to_vec());
    torn.push(AT + 8, end.to_vec());
    refused(&SUBMIT_REQUEST, &torn, &[at(AT)]);
}

#[test]
fn chains() {
    let mut memory = bars(&[bar(0, 1)]);
    let bad = Request { priority: 9, ..request() };
    let flagged = Request { flags: 1, ..request() };
    memory.push(0x1_0000, [request(), bad, flagged].as_bytes().to_vec());
    let size = size_of::<Request>() as u32;
    let chain = Chain { requests: 0x1_0000, request_count: 1, request_size: size, ..Chain::new_zeroed() };
    refused(
        &SUBMIT_CHAIN,
        &memory,
        &[
            (Errno::EINVAL, Chain { request_count: 0, ..chain }),
            (Errno::E2BIG, Chain { request_count: 129, ..chain }),
            (Errno::EFAULT, Chain { request_count: 4, ..chain }),
            (Errno::EFAULT, Chain { requests: 0x2_0000, ..chain }),
            (Errno::EINVAL, Chain { request_size: size + 8, ..chain }),
            (Errno::EINVAL, Chain { flags: 2, ..chain }),
        ],
    );
    let (mut rig, file) = prepared();
    let mut two = Chain { request_count: 2, ..chain };
    assert_eq!(rig.ioctl_with(file, &SUBMIT_CHAIN, &mut two, &mut memory.clone()), Err(Errno::EINVAL));
    assert_eq!((two.failed, two.out_fence), (1, 0), "says which, and takes none");
    let mut third = Chain { requests: chain.requests + 2 * u64::from(size), ..chain };
    assert_eq!(rig.ioctl_with(file, &SUBMIT_CHAIN, &mut third, &mut memory.clone()), Err(Errno::EINVAL));
}

#[test]
fn programs() {
    let part =
        |handle: u32, usage: Usage| ProgramBuffer { handle, usage: usage as u32, offset: 0, size: 0x8000 };
    let memory_of = |buffers: &[ProgramBuffer], bindings: &[ProgramBinding]| {
        let mut memory = Segments::new();
        memory.push(AT, buffers.as_bytes().to_vec());
        memory.push(ELSEWHERE, bindings.as_bytes().to_vec());
        memory
    };
    let bind = |bar: u32, buffer: u32| ProgramBinding { bar, buffer, offset: 0 };
    let good = ProgramCreate {
        buffers: AT,
        buffer_count: 1,
        buffer_size: size_of::<ProgramBuffer>() as u32,
        bindings: ELSEWHERE,
        binding_count: 1,
        binding_size: size_of::<ProgramBinding>() as u32,
        stream_size: 0x274,
        task_count: 1,
        first_size: 0x274,
        ..ProgramCreate::new_zeroed()
    };
    let text = [part(1, Usage::Program)];
    refused(
        &PROGRAM_CREATE,
        &memory_of(&text, &[bind(0, 0)]),
        &[
            (Errno::EFAULT, ProgramCreate { buffers: 0, ..good }),
            (Errno::EINVAL, ProgramCreate { buffer_count: 0, ..good }),
            (Errno::E2BIG, ProgramCreate { buffer_count: 65, ..good }),
            (Errno::EINVAL, ProgramCreate { buffer_size: 1, ..good }),
            (Errno::EFAULT, ProgramCreate { bindings: 0, ..good }),
            (Errno::EINVAL, ProgramCreate { binding_count: 0, ..good }),
            (Errno::E2BIG, ProgramCreate { binding_count: 33, ..good }),
            (Errno::EINVAL, ProgramCreate { binding_size: 1, ..good }),
            (Errno::EINVAL, ProgramCreate { text: 1, ..good }),
            (Errno::EINVAL, ProgramCreate { flags: 1, ..good }),
            (Errno::EINVAL, ProgramCreate { stream_size: 0, ..good }),
            (Errno::EINVAL, ProgramCreate { stream_size: 0x8001, ..good }),
            (Errno::EINVAL, ProgramCreate { task_count: 0, ..good }),
            (Errno::EINVAL, ProgramCreate { first_size: 0, ..good }),
            (Errno::EINVAL, ProgramCreate { first_size: 0x278, ..good }),
            (Errno::EINVAL, ProgramCreate { network_id: 255, ..good }),
            (Errno::EINVAL, ProgramCreate { network_id: FIFO_NID, ..good }),
            (Errno::EINVAL, ProgramCreate { pool: 1, ..good }),
            (Errno::ENOENT, ProgramCreate { pool: 50, ..good }),
        ],
    );
    let wrong_parts = [
        (Errno::ENOENT, part(9, Usage::Program)),
        (Errno::EINVAL, part(2, Usage::Program)),
        (Errno::EINVAL, part(1, Usage::Input)),
        (Errno::EINVAL, ProgramBuffer { usage: 3, ..text[0] }),
        (Errno::EINVAL, ProgramBuffer { size: 0, ..text[0] }),
        (Errno::EINVAL, ProgramBuffer { size: 0x8001, ..text[0] }),
        (Errno::EINVAL, ProgramBuffer { offset: u64::MAX, ..text[0] }),
        (Errno::EINVAL, ProgramBuffer { handle: 0, usage: Usage::Input as u32, ..text[0] }),
    ];
    for (errno, wrong) in wrong_parts {
        refused(&PROGRAM_CREATE, &memory_of(&[wrong], &[bind(0, 0)]), &[(errno, good)]);
    }
    let wrong_bindings =
        [bind(1, 0), bind(32, 0), bind(0, 1), ProgramBinding { offset: 0x8000, ..bind(0, 0) }];
    for wrong in wrong_bindings {
        refused(&PROGRAM_CREATE, &memory_of(&text, &[wrong]), &[(Errno::EINVAL, good)]);
    }
    let twice = ProgramCreate { binding_count: 2, ..good };
    refused(&PROGRAM_CREATE, &memory_of(&text, &[bind(0, 0), bind(0, 0)]), &[(Errno::EINVAL, twice)]);
    refused(
        &PROGRAM_DESTROY,
        &nowhere(),
        &[
            (Errno::EINVAL, ProgramDestroy { handle: 1, reserved: 0 }),
            (Errno::ENOENT, ProgramDestroy { handle: 9, reserved: 0 }),
            (Errno::ESTALE, ProgramDestroy { handle: 3, reserved: 0 }),
        ],
    );
}
