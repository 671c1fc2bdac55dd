//! The calls of existing clients: their checks, their addresses, and what a submission means.

use std::time::Duration;

use ane::container::{self, Direction, Program, Role};
use ane::embedded;
use ane_device::Options;
use ane_device::inject::Injection;
use ane_driver::Driver;
use ane_driver::bus::Bus;
use ane_driver::front::{FileId, Files};
use ane_tests::client::{Buffer, Clients, Loaded};
use ane_tests::data;
use ane_tests::runner::surfaces;
use ane_uapi::hw::dart::scan::Run;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tq::{self, QueueId};
use ane_uapi::ioctl::buffer::{BO_INFO, BoInfo};
use ane_uapi::ioctl::drm_ane::{BO_FREE, BO_INIT, BoFree, BoInit, Caps, FIFO_NID, GET_CAPS, SUBMIT, Submit};
use ane_uapi::ioctl::errno::Errno;
use half::f16;
use vm_memory::{Bytes, GuestAddress};
use zerocopy::{FromZeros, IntoBytes};

/// Makes a submission wrong, given the size of its commands' buffer.
type Spoil = fn(&mut Submit, u64);

type Embedded = Clients<Driver<embedded::InProcess>>;

fn clients() -> Embedded {
    Clients::new(Driver::probe(embedded::open(&Options::default(), 32 << 20).unwrap()).unwrap())
}

fn init(clients: &mut Embedded, file: FileId, size: u64) -> Buffer {
    let mut init = BoInit { size, ..BoInit::new_zeroed() };
    clients.ioctl(file, &BO_INIT, &mut init).unwrap();
    let size = size.next_multiple_of(0x4000);
    Buffer { file, handle: init.handle, size, map_offset: init.offset }
}

/// Puts a program into buffers as an existing client does: commands and coefficients in one, and a copy of the first
/// descriptor with the network id in another.
fn load(clients: &mut Embedded, file: FileId, program: &Program<'_>) -> (Loaded, Submit) {
    let stream = program.stream;
    let behind = stream.len().next_multiple_of(16);
    let constants = program.constants.first().map_or(&[][..], |constants| constants.bytes);
    let commands = init(clients, file, (behind + constants.len() + 1) as u64);
    clients.write(commands, 0, stream);
    clients.write(commands, behind as u64, constants);
    let mut submit = Submit {
        tsk_size: stream.len() as u64,
        td_count: program.task_count,
        td_size: program.first_task_bytes,
        ..Submit::new_zeroed()
    };
    submit.handles[0] = commands.handle;
    let mut bars = vec![(0, commands)];
    for bar in program.bars.iter().filter(|bar| bar.index > 1) {
        let bytes = match bar.role {
            Role::Surface(index) => program.surfaces[index].buffer_bytes,
            _ => bar.bytes,
        };
        let buffer = init(clients, file, bytes.max(1));
        submit.handles[usize::from(bar.index)] = buffer.handle;
        bars.push((bar.index, buffer));
    }
    let mut first = stream[..program.first_task_bytes as usize].to_vec();
    first[2] = FIFO_NID as u8;
    let bootstrap = init(clients, file, first.len() as u64);
    clients.write(bootstrap, 0, &first);
    submit.btsp_handle = bootstrap.handle;
    let loaded = Loaded {
        file,
        bars,
        stream_size: stream.len() as u64,
        task_count: program.task_count,
        first_size: program.first_task_bytes,
    };
    (loaded, submit)
}

fn sample(name: &str) -> Option<data::Sample> {
    data::programs()?.into_iter().find(|sample| sample.name == name)
}

#[test]
fn program_runs_and_the_call_returns_when_it_is_done() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (loaded, mut submit) = load(&mut clients, file, &program);
    for (surface, value) in surfaces(&program, Direction::Input).into_iter().zip([3.0, 2.0]) {
        clients.fill(&loaded, surface, &[f16::from_f32(value); 64]);
    }
    assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Ok(()));
    let output = clients.take(&loaded, surfaces(&program, Direction::Output)[0]);
    assert_eq!(output, [f16::from_f32(5.0); 64]);
}

#[test]
fn coefficients_lie_behind_the_commands_in_the_same_buffer() {
    let Some(sample) = sample("conv") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (loaded, mut submit) = load(&mut clients, file, &program);
    clients.fill(&loaded, surfaces(&program, Direction::Input)[0], &[f16::from_f32(3.0); 3]);
    assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Ok(()));
    let output = clients.take(&loaded, surfaces(&program, Direction::Output)[0]);
    assert_eq!(output, [f16::from_f32(18.0); 3]);
}

/// Where a buffer lies.
fn address(clients: &mut Embedded, file: FileId, handle: u32) -> u32 {
    let mut info = BoInfo { handle, ..BoInfo::new_zeroed() };
    clients.ioctl(file, &BO_INFO, &mut info).unwrap();
    info.device_address.try_into().unwrap()
}

/// The first request of a fresh device stands in the first set of queue 4, all of which td 9 lists.
#[test]
fn submission_writes_queue_four_as_the_linux_driver_does() {
    let Some(sample) = sample("conv") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (_, mut submit) = load(&mut clients, file, &program);
    assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Ok(()));
    let mut word = |offset| {
        let at = EngineOffset(QueueId::new(4).unwrap().base().0 + offset);
        clients.driver.bus_mut().read(at).unwrap()
    };
    let bars: Vec<u32> = (0..32).map(|bar| word(tq::BAR1.offset() + 4 * bar)).collect();
    let nid = tq::RequestNid::from_bits(word(tq::REQ_NID1.offset()));
    // Behind the set's 32 addresses and its id (facts F.2).
    let first = word(tq::REQ_ADDR2.offset());
    assert_eq!(nid.nid(), 0x40);
    assert_eq!(first, address(&mut clients, file, submit.btsp_handle));
    let commands = address(&mut clients, file, submit.handles[0]);
    let behind = u32::try_from(submit.tsk_size.next_multiple_of(16)).unwrap();
    assert_eq!(bars[..2], [commands, commands + behind], "BAR 1 is BAR 0 and what the commands take");
    for (bar, &handle) in bars.iter().zip(&submit.handles).skip(2) {
        let expected = if handle == 0 { 0 } else { address(&mut clients, file, handle) };
        assert_eq!(*bar, expected);
    }
}

#[test]
fn first_descriptor_that_the_device_fetches_is_the_copy_with_network_id_0x40() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (_, mut submit) = load(&mut clients, file, &program);
    assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Ok(()));
    let bootstrap = address(&mut clients, file, submit.btsp_handle);
    let ane = clients.driver.bus_mut().device_mut().ane();
    let tables = ane.dart().tables_text(ane.memory());
    let mut runs = tables.lines().filter_map(|line| line.parse::<Run>().ok());
    let run = runs
        .find(|run| (u64::from(run.iova.0)..u64::from(run.iova.0) + run.bytes()).contains(&bootstrap.into()))
        .expect("the buffer is mapped");
    let physical = GuestAddress(run.page.0 + u64::from(bootstrap - run.iova.0));
    let mut seen = vec![0; program.first_task_bytes as usize];
    ane.memory().read_slice(&mut seen, physical).unwrap();
    let mut expected = program.stream[..seen.len()].to_vec();
    expected[2] = 0x40;
    assert_eq!(seen, expected);
}

#[test]
fn buffers_of_a_fresh_file_lie_one_behind_the_other_from_0x4000() {
    let mut clients = clients();
    let file = clients.open();
    let sizes = [1, 0x4000, 0x4001, 0x1_0000];
    let addresses: Vec<u64> = sizes
        .map(|size| {
            let buffer = init(&mut clients, file, size);
            let mut info = BoInfo { handle: buffer.handle, ..BoInfo::new_zeroed() };
            clients.ioctl(file, &BO_INFO, &mut info).unwrap();
            info.device_address
        })
        .to_vec();
    assert_eq!(addresses, [0x4000, 0x8000, 0xc000, 0x1_4000]);
}

#[test]
fn each_field_that_breaks_its_rule_is_refused_and_nothing_runs() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (loaded, good) = load(&mut clients, file, &program);
    let size = loaded.bar(0).size;
    let wrong: [(&str, Spoil); 13] = [
        ("tsk_size of zero", |submit, _| submit.tsk_size = 0),
        ("tsk_size of the buffer's size", |submit, size| submit.tsk_size = size),
        ("tsk_size beyond everything", |submit, _| submit.tsk_size = u64::MAX),
        ("td_count of zero", |submit, _| submit.td_count = 0),
        ("td_count beyond sixteen bits", |submit, _| submit.td_count = 0x1_0000),
        ("td_size of zero", |submit, _| submit.td_size = 0),
        ("td_size of no whole word", |submit, _| submit.td_size += 1),
        ("no commands", |submit, _| submit.handles[0] = 0),
        ("a buffer for BAR 1", |submit, _| submit.handles[1] = submit.handles[0]),
        ("an unknown handle", |submit, _| submit.handles[31] = 999),
        ("no bootstrap", |submit, _| submit.btsp_handle = 0),
        ("an unknown bootstrap", |submit, _| submit.btsp_handle = 999),
        ("pad", |submit, _| submit.pad = 1),
    ];
    for (what, spoil) in wrong {
        let mut submit = good;
        spoil(&mut submit, size);
        assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Err(Errno::EINVAL), "{what}");
    }
    assert_eq!(clients.driver.bus_mut().device_mut().ane().counters().tasks_done, 0);
}

#[test]
fn pads_and_unknown_handles_of_buffers_are_refused() {
    let mut clients = clients();
    let file = clients.open();
    let bad = [
        BoInit { pad: 1, size: 1, ..BoInit::new_zeroed() },
        BoInit { size: 0, ..BoInit::new_zeroed() },
        BoInit { size: u64::MAX, ..BoInit::new_zeroed() },
        BoInit { size: 0xe000_0001, ..BoInit::new_zeroed() },
    ];
    for mut bad in bad {
        assert_eq!(clients.ioctl(file, &BO_INIT, &mut bad), Err(Errno::EINVAL), "{bad:?}");
    }
    let buffer = init(&mut clients, file, 1);
    let mut padded = BoFree { handle: buffer.handle, pad: 1 };
    assert_eq!(clients.ioctl(file, &BO_FREE, &mut padded), Err(Errno::EINVAL));
    let mut free = BoFree { handle: buffer.handle, pad: 0 };
    assert_eq!(clients.ioctl(file, &BO_FREE, &mut free), Ok(()));
    assert_eq!(clients.ioctl(file, &BO_FREE, &mut free), Err(Errno::EINVAL), "it is gone");
    let mut never = BoFree { handle: 77, pad: 0 };
    assert_eq!(clients.ioctl(file, &BO_FREE, &mut never), Err(Errno::EINVAL));
}

#[test]
fn capabilities_are_those_of_the_first_abi_on_an_m1() {
    let mut clients = clients();
    let file = clients.open();
    let mut caps = Caps { flags: 9, ..Caps::default() };
    assert_eq!(clients.ioctl(file, &GET_CAPS, &mut caps), Ok(()));
    let words: Vec<u32> =
        caps.as_bytes().chunks_exact(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect();
    assert_eq!(words, [0, 32, 1, 13, 0, 0, 0, 0]);
}

#[test]
fn first_descriptor_is_as_long_as_its_buffer_allows_and_longer_than_a_linked_one_can_be() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (_, submit) = load(&mut clients, file, &program);
    let mut ends = |bytes| clients.ioctl(file, &SUBMIT, &mut Submit { td_size: bytes, ..submit });
    assert_eq!([0x4004, 0x1002].map(&mut ends), [Err(Errno::EINVAL); 2]);
    // A descriptor of this length goes to the device; what stands behind its records is none.
    assert!(ends(0x1000).is_err_and(|errno| errno != Errno::EINVAL));
    assert_eq!(ends(submit.td_size), Ok(()));
}

#[test]
fn engine_that_gets_nowhere_for_two_seconds_is_taken_back_and_the_next_submission_runs() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let file = clients.open();
    let (_, mut submit) = load(&mut clients, file, &program);
    clients.driver.bus_mut().device_mut().ane().inject(Injection::StuckQueue(None));
    let start = std::time::Instant::now();
    assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Err(Errno::ETIMEDOUT));
    assert!(start.elapsed() >= Duration::from_secs(2));
    assert_eq!(clients.ioctl(file, &SUBMIT, &mut submit), Ok(()));
}

#[test]
fn file_that_is_closed_while_its_call_waits_leaves_the_device_to_others() {
    let Some(sample) = sample("sum") else { return };
    let program = container::open(&sample.bytes).unwrap();
    let mut clients = clients();
    let (first, second) = (clients.open(), clients.open());
    let (_, submit) = load(&mut clients, first, &program);
    let (_, mut other) = load(&mut clients, second, &program);
    clients.driver.bus_mut().device_mut().ane().inject(Injection::StuckQueue(None));
    let bytes = submit.as_bytes().to_vec();
    let mut call = ane_driver::front::Call::new(SUBMIT.number, bytes, ane_driver::front::Segments::new());
    assert!(clients.attempt(first, &mut call).is_pending());
    clients.driver.progress(Duration::ZERO);
    clients.driver.close(first);
    assert_eq!(clients.ioctl(second, &SUBMIT, &mut other), Ok(()));
}
