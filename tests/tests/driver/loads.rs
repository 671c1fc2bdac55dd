//! Programs, their nine buffers, and the firmware's share; pools, and outputs that go round.

use ane_driver::front::{FileId, Files, Segments};
use ane_tests::client::{Buffer, Loaded};
use ane_uapi::hw::program::Target;
use ane_uapi::hw::rebase::rebase;
use ane_uapi::hw::space::Iova;
use ane_uapi::hw::usage::{MATMUL_LOAD, Usage};
use ane_uapi::ioctl::buffer::{BO_AVAILABLE, BO_CREATE, BO_INFO, BoCreate, BoInfo};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::pool::{
    POOL_CREATE, POOL_DESTROY, POOL_RECYCLE, POOL_TAKE, PoolCreate, PoolDestroy, PoolRecycle, PoolTake,
};
use ane_uapi::ioctl::program::{
    PROGRAM_CREATE, PROGRAM_DESTROY, ProgramBinding, ProgramBuffer, ProgramCreate, ProgramDestroy,
};
use ane_uapi::ioctl::request::{Bar, Chain, REQUEST_RECYCLE, Request, SUBMIT_CHAIN, SUBMIT_REQUEST};
use ane_uapi::ioctl::stats::Counter;
use zerocopy::{FromZeros, IntoBytes};

use super::rig::{EmbeddedClients, assert_sum, counter, result, rig, sum};

const BUFFERS: u64 = 0x1_0000;
const BINDINGS: u64 = 0x2_0000;

/// Makes a program of buffers and of what BARs point at which of them; BAR 0 points at the first.
fn create(
    rig: &mut EmbeddedClients,
    file: FileId,
    buffers: &[ProgramBuffer],
    bindings: &[ProgramBinding],
    stream: (u64, u32, u32),
    pool: u32,
) -> Result<ProgramCreate, Errno> {
    let mut memory = Segments::new();
    memory.push(BUFFERS, buffers.as_bytes().to_vec());
    memory.push(BINDINGS, bindings.as_bytes().to_vec());
    let (stream_size, task_count, first_size) = stream;
    let mut create = ProgramCreate {
        buffers: BUFFERS,
        buffer_count: buffers.len() as u32,
        buffer_size: size_of::<ProgramBuffer>() as u32,
        bindings: BINDINGS,
        binding_count: bindings.len() as u32,
        binding_size: size_of::<ProgramBinding>() as u32,
        stream_size,
        task_count,
        first_size,
        pool,
        ..ProgramCreate::new_zeroed()
    };
    rig.ioctl_with(file, &PROGRAM_CREATE, &mut create, &mut memory).map(|()| create)
}

/// Makes a program of a raw one whose buffers were made for it.
fn program_of(rig: &mut EmbeddedClients, loaded: &Loaded, pool: u32) -> Result<ProgramCreate, Errno> {
    let mut bars = loaded.bars.clone();
    bars.sort_by_key(|(index, _)| *index);
    let usage_of = |rig: &mut EmbeddedClients, buffer: Buffer| {
        let mut info = BoInfo { handle: buffer.handle, ..BoInfo::new_zeroed() };
        rig.ioctl(loaded.file, &BO_INFO, &mut info).unwrap();
        info.usage
    };
    let buffers: Vec<ProgramBuffer> = bars
        .iter()
        .map(|&(_, buffer)| ProgramBuffer {
            handle: buffer.handle,
            usage: usage_of(rig, buffer),
            offset: 0,
            size: buffer.size,
        })
        .collect();
    let bindings: Vec<ProgramBinding> = (0..)
        .zip(&bars)
        .map(|(buffer, (index, _))| ProgramBinding { bar: (*index).into(), buffer, offset: 0 })
        .collect();
    let stream = (loaded.stream_size, loaded.task_count, loaded.first_size);
    create(rig, loaded.file, &buffers, &bindings, stream, pool)
}

fn run(
    rig: &mut EmbeddedClients,
    file: FileId,
    program: u32,
    flags: u32,
    bars: &[Bar],
) -> Result<u64, Errno> {
    let mut memory = Segments::new();
    memory.push(BUFFERS, bars.as_bytes().to_vec());
    let mut request = Request {
        program,
        priority: 4,
        flags,
        bars: BUFFERS,
        bar_count: bars.len() as u32,
        bar_size: size_of::<Bar>() as u32,
        ..Request::new_zeroed()
    };
    rig.ioctl_with(file, &SUBMIT_REQUEST, &mut request, &mut memory).map(|()| request.out_fence)
}

/// The nine buffers of one load: those of a client's own, and four that the driver makes.
fn nine(rig: &mut EmbeddedClients, file: FileId) -> Vec<ProgramBuffer> {
    MATMUL_LOAD
        .into_iter()
        .map(|usage| {
            let is_clients = matches!(
                usage,
                Usage::Input | Usage::Output | Usage::Weights | Usage::Constants | Usage::Program
            );
            let handle = if is_clients { rig.buffer(file, 0x4000, usage).handle } else { 0 };
            ProgramBuffer { handle, usage: usage as u32, offset: 0, size: 0x4000 }
        })
        .collect()
}

fn load(rig: &mut EmbeddedClients, file: FileId) -> ProgramCreate {
    let mut buffers = nine(rig, file);
    // The text comes first, as this file has it.
    buffers.swap(0, 3);
    create(rig, file, &buffers, &[ProgramBinding::new_zeroed()], (0x274, 1, 0x274), 0).unwrap()
}

/// Requirement: MAP-18
#[test]
fn load_of_a_matrix_multiplication_maps_nine_buffers_with_their_usages() {
    let mut rig = rig();
    let file = rig.open();
    load(&mut rig, file);
    let mut usages: Vec<u32> =
        rig.driver.contexts()[0].mappings.iter().map(|mapping| mapping.usage as u32).collect();
    usages.sort_unstable();
    assert_eq!(usages, [1, 2, 7, 8, 9, 9, 11, 4121, 4122]);
}

/// Requirement: REBASE-01, REBASE-21
#[test]
fn records_of_a_loaded_program_hold_aperture_addresses_and_name_the_circuits() {
    let mut rig = rig();
    let file = rig.open();
    let created = load(&mut rig, file);
    let mappings = rig.driver.contexts().remove(0).mappings;
    let of = |usage| mappings.iter().find(|mapping| mapping.usage == usage).unwrap().range.base();
    let tool = rig.driver.loads().next().unwrap().clone();
    assert_eq!(tool.config.mapped_base.get(), created.mapped_base);
    let writes: Vec<_> = tool.records.iter().map(|record| record.decode().unwrap()).collect();
    let tile = |iova: Iova| rebase(&tool.config, iova).unwrap();
    let found: Vec<_> = writes.iter().map(|write| (write.target, write.first, write.second)).collect();
    assert_eq!(
        found,
        [
            (Target::Weights, tile(of(Usage::Weights)), Some(tile(of(Usage::Constants)))),
            (Target::TileReader, tile(of(Usage::Input)), None),
            (Target::TileWriter, tile(of(Usage::Output)), None),
        ]
    );
    // A printed address has the name of its space.
    assert_eq!(format!("{}", writes[1].first).split(' ').next(), Some("aperture"));
    assert_eq!(format!("{}", writes[1].register).split(' ').next(), Some("engine"));
    assert_eq!(format!("{}", of(Usage::Input)).split(' ').next(), Some("iova"));
}

/// Requirement: REBASE-02
#[test]
fn aperture_of_two_loads_has_the_same_high_half_and_another_offset() {
    let mut rig = rig();
    let file = rig.open();
    let (first, second) = (load(&mut rig, file), load(&mut rig, file));
    assert_eq!([first, second].map(|load| load.mapped_base >> 32), [0x1bc4; 2]);
    assert_ne!(
        first.mapped_base.wrapping_sub(first.dva_base),
        second.mapped_base.wrapping_sub(second.dva_base)
    );
    assert_eq!(first.region_size, 9 * 0x4000);
}

/// Requirement: REBASE-04
#[test]
fn pairing_is_made_once_and_requests_make_none_and_map_nothing() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let program = program_of(&mut rig, &loaded, 0).unwrap().handle;
    let counts = [Counter::Rebases, Counter::Maps, Counter::Unmaps, Counter::Invalidations];
    let before = counts.map(|which| counter(&mut rig, file, false, which));
    assert_eq!(before[0], 1);
    for _ in 0..10 {
        let fence = run(&mut rig, file, program, 0, &[]).unwrap();
        assert_eq!(result(&rig.wait(file, fence)), Ok(()));
        assert_sum(&mut rig, &loaded);
    }
    assert_eq!(counts.map(|which| counter(&mut rig, file, false, which)), before);
}

#[test]
fn request_of_a_program_says_only_what_is_different() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let program = program_of(&mut rig, &loaded, 0).unwrap().handle;
    let (index, first) = *loaded.bars.iter().find(|(index, _)| *index == 4).unwrap();
    let other = rig.buffer(file, first.size, Usage::Output);
    let bar = Bar { index: index.into(), handle: other.handle, mapping: 0, reserved: 0, offset: 0 };
    let fence = run(&mut rig, file, program, 0, &[bar]).unwrap();
    assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    let (there, here) = (rig.read(other, 0, 0x40), rig.read(first, 0, 0x40));
    assert!(there.iter().any(|byte| *byte != 0) && here.iter().all(|byte| *byte == 0));
    let text = Bar { index: 0, ..bar };
    assert_eq!(run(&mut rig, file, program, 0, &[text]), Err(Errno::EINVAL));
}

#[test]
fn program_that_is_destroyed_lives_until_its_last_request_has_ended() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let program = program_of(&mut rig, &loaded, 0).unwrap().handle;
    for (_, buffer) in &loaded.bars {
        rig.ioctl(file, &GEM_CLOSE, &mut GemClose { handle: buffer.handle, padding: 0 }).unwrap();
    }
    let fence = run(&mut rig, file, program, 0, &[]).unwrap();
    let mut destroy = ProgramDestroy { handle: program, reserved: 0 };
    rig.ioctl(file, &PROGRAM_DESTROY, &mut destroy).unwrap();
    assert_eq!(run(&mut rig, file, program, 0, &[]), Err(Errno::ESTALE));
    assert_ne!(counter(&mut rig, file, false, Counter::Buffers), 0);
    assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    assert_eq!(counter(&mut rig, file, false, Counter::Buffers), 0);
    assert_eq!(counter(&mut rig, file, false, Counter::MappedBytes), 0);
    assert_eq!(rig.driver.loads().count(), 0);
}

#[test]
fn buffer_under_another_use_than_its_own_gets_a_mapping_for_the_program_alone() {
    let mut rig = rig();
    let file = rig.open();
    let text = rig.buffer(file, 0x4000, Usage::Program);
    let shared = rig.buffer(file, 0x4000, Usage::Output);
    let part = |buffer: Buffer, usage: Usage| ProgramBuffer {
        handle: buffer.handle,
        usage: usage as u32,
        offset: 0,
        size: 0x4000,
    };
    let buffers = [part(text, Usage::Program), part(shared, Usage::Input), part(shared, Usage::Output)];
    let bindings = [ProgramBinding::new_zeroed()];
    let made = create(&mut rig, file, &buffers, &bindings, (0x274, 1, 0x274), 0).unwrap();
    let count = |rig: &mut EmbeddedClients| {
        let mut info = BoInfo { handle: shared.handle, ..BoInfo::new_zeroed() };
        rig.ioctl(file, &BO_INFO, &mut info).unwrap();
        info.mapping_count
    };
    assert_eq!(count(&mut rig), 2);
    rig.ioctl(file, &PROGRAM_DESTROY, &mut ProgramDestroy { handle: made.handle, reserved: 0 }).unwrap();
    assert_eq!(count(&mut rig), 1);
}

fn pool(rig: &mut EmbeddedClients, file: FileId, capacity: u32) -> u32 {
    let mut create = PoolCreate { capacity, ..PoolCreate::new_zeroed() };
    rig.ioctl(file, &POOL_CREATE, &mut create).unwrap();
    create.handle
}

/// A buffer of a pool in the place of a program's output.
fn pooled_output(rig: &mut EmbeddedClients, loaded: &mut Loaded, pool: u32) -> Buffer {
    let file = loaded.file;
    let size = loaded.bar(4).size;
    let mut create = BoCreate { size, usage: Usage::Output as u32, pool, ..BoCreate::new_zeroed() };
    rig.ioctl(file, &BO_CREATE, &mut create).unwrap();
    let buffer = Buffer { file, handle: create.handle, size, map_offset: create.map_offset };
    loaded.bars.iter_mut().filter(|(index, _)| *index == 4).for_each(|(_, output)| *output = buffer);
    buffer
}

#[test]
fn output_of_a_pool_is_in_execution_while_its_request_is_in_flight_and_recycled_with_its_end() {
    let mut rig = rig();
    let file = rig.open();
    let Some(mut loaded) = sum(&mut rig, file) else { return };
    let pool = pool(&mut rig, file, 1);
    let output = pooled_output(&mut rig, &mut loaded, pool);
    let (mut request, mut memory) = loaded.request();
    request.flags = REQUEST_RECYCLE;
    rig.ioctl_with(file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
    let mut recycle = PoolRecycle { pool, handle: output.handle };
    assert_eq!(rig.ioctl(file, &POOL_RECYCLE, &mut recycle), Err(Errno::EBUSY));
    let mut destroy = PoolDestroy { handle: pool, reserved: 0 };
    assert_eq!(rig.ioctl(file, &POOL_DESTROY, &mut destroy), Err(Errno::EBUSY));
    let mut take = PoolTake { pool, handle: 0, size: 1 };
    assert_eq!(rig.ioctl(file, &POOL_TAKE, &mut take), Err(Errno::EAGAIN));
    rig.wait(file, request.out_fence);
    let mut info = BoInfo { handle: output.handle, ..BoInfo::new_zeroed() };
    rig.ioctl(file, &BO_INFO, &mut info).unwrap();
    assert_eq!((info.state & BO_AVAILABLE, info.pool), (BO_AVAILABLE, pool));
    assert_eq!(rig.ioctl(file, &POOL_RECYCLE, &mut recycle), Err(Errno::EALREADY));
    assert_eq!(rig.ioctl(file, &POOL_TAKE, &mut take), Ok(()));
    assert_eq!(take.handle, output.handle);
    assert_sum(&mut rig, &loaded);
    let counts = [Counter::PoolTakes, Counter::PoolRecycles];
    assert_eq!(counts.map(|which| counter(&mut rig, file, false, which)), [1, 1]);
    assert_eq!(rig.ioctl(file, &POOL_DESTROY, &mut destroy), Ok(()));
    rig.ioctl(file, &BO_INFO, &mut info).unwrap();
    assert_eq!(info.pool, 0, "buffers stay, without a pool");
}

#[test]
fn request_that_is_refused_does_not_end_the_use_of_an_output_by_another_one() {
    let mut rig = rig();
    let file = rig.open();
    let Some(mut loaded) = sum(&mut rig, file) else { return };
    let pool = pool(&mut rig, file, 1);
    let output = pooled_output(&mut rig, &mut loaded, pool);
    let fence = rig.submit(&loaded).unwrap();
    let (mut refused, mut memory) = loaded.request();
    let mut bars = loaded.entries();
    bars.push(Bar { index: 20, handle: u32::MAX, ..Bar::new_zeroed() });
    memory.push(BUFFERS, bars.as_bytes().to_vec());
    (refused.bars, refused.bar_count, refused.flags) = (BUFFERS, bars.len() as u32, REQUEST_RECYCLE);
    rig.ioctl_with(file, &SUBMIT_REQUEST, &mut refused, &mut memory).unwrap_err();
    let mut recycle = PoolRecycle { pool, handle: output.handle };
    assert_eq!(rig.ioctl(file, &POOL_RECYCLE, &mut recycle), Err(Errno::EBUSY));
    let mut take = PoolTake { pool, handle: 0, size: 1 };
    assert_eq!(rig.ioctl(file, &POOL_TAKE, &mut take), Err(Errno::EAGAIN));
    assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    assert_eq!(rig.ioctl(file, &POOL_RECYCLE, &mut recycle), Ok(()));
}

#[test]
fn chain_that_is_refused_gives_no_output_back_to_its_pool() {
    let mut rig = rig();
    let file = rig.open();
    let Some(mut loaded) = sum(&mut rig, file) else { return };
    let pool = pool(&mut rig, file, 1);
    pooled_output(&mut rig, &mut loaded, pool);
    let (mut request, mut memory) = loaded.request();
    request.flags = REQUEST_RECYCLE;
    let refused = Request { stream_size: u64::MAX, ..request };
    memory.push(BUFFERS, [request, refused].as_bytes().to_vec());
    let mut chain = Chain {
        requests: BUFFERS,
        request_count: 2,
        request_size: size_of::<Request>() as u32,
        ..Chain::new_zeroed()
    };
    assert_eq!(rig.ioctl_with(file, &SUBMIT_CHAIN, &mut chain, &mut memory), Err(Errno::EINVAL));
    let mut take = PoolTake { pool, handle: 0, size: 1 };
    assert_eq!(rig.ioctl(file, &POOL_TAKE, &mut take), Err(Errno::EAGAIN), "the client still has it");
    assert_eq!(counter(&mut rig, file, false, Counter::PoolRecycles), 0);
}

#[test]
fn pool_that_a_program_gives_its_outputs_back_to_stays_until_the_program_is_gone() {
    let mut rig = rig();
    let file = rig.open();
    let Some(mut loaded) = sum(&mut rig, file) else { return };
    let (pool, other) = (pool(&mut rig, file, 1), pool(&mut rig, file, 1));
    let output = pooled_output(&mut rig, &mut loaded, pool);
    assert_eq!(program_of(&mut rig, &loaded, other).err(), Some(Errno::EINVAL), "the output is of another");
    let program = program_of(&mut rig, &loaded, pool).unwrap().handle;
    let mut destroy = PoolDestroy { handle: pool, reserved: 0 };
    assert_eq!(rig.ioctl(file, &POOL_DESTROY, &mut destroy), Err(Errno::EBUSY));
    for _ in 0..3 {
        let fence = run(&mut rig, file, program, REQUEST_RECYCLE, &[]).unwrap();
        assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    }
    let mut take = PoolTake { pool, handle: 0, size: output.size };
    assert_eq!(rig.ioctl(file, &POOL_TAKE, &mut take), Ok(()));
    rig.ioctl(file, &PROGRAM_DESTROY, &mut ProgramDestroy { handle: program, reserved: 0 }).unwrap();
    assert_eq!(rig.ioctl(file, &POOL_DESTROY, &mut destroy), Ok(()));
}

#[test]
fn pool_takes_as_many_buffers_as_it_was_made_for() {
    let mut rig = rig();
    let file = rig.open();
    let pool = pool(&mut rig, file, 1);
    let create = BoCreate { size: 1, usage: Usage::Output as u32, pool, ..BoCreate::new_zeroed() };
    let (mut first, mut second) = (create, create);
    assert_eq!(rig.ioctl(file, &BO_CREATE, &mut first), Ok(()));
    assert_eq!(rig.ioctl(file, &BO_CREATE, &mut second), Err(Errno::ENOSPC));
    rig.ioctl(file, &GEM_CLOSE, &mut GemClose { handle: first.handle, padding: 0 }).unwrap();
    assert_eq!(rig.ioctl(file, &BO_CREATE, &mut second), Ok(()));
    rig.driver.close(file);
}
