//! The way of a request through the driver takes no memory from the host: what it needs is there from requests before.

use ane_driver::Driver;
use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::front::{Call, Segments};
use ane_tests::client::Clients;
use ane_tests::counting::{self, Counting};
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::null_task::program;
use ane_uapi::ioctl::fence::{Fence, TIME_NEVER, WAIT, Wait};
use ane_uapi::ioctl::param::FENCE_HISTORY;
use ane_uapi::ioctl::request::{Request, SUBMIT_REQUEST};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Where the fence lies in the client's memory.
const FENCE: u64 = 0x7100_0000_0000;

/// The call that waits for a fence.
fn waiting() -> Call {
    let wait = Wait {
        fences: FENCE,
        count: 1,
        fence_size: size_of::<Fence>() as u32,
        timeout_ns: TIME_NEVER as i64,
        ..Wait::new_zeroed()
    };
    let mut memory = Segments::new();
    memory.push(FENCE, vec![0; size_of::<Fence>()]);
    Call::new(WAIT.number, wait.as_bytes().to_vec(), memory)
}

/// The device is in another process, so that only the driver is counted.
#[test]
fn request_takes_no_memory_from_its_submission_to_its_end() {
    let daemon = Daemon::start(&[]);
    let settings = Settings { memory_bytes: 32 << 20, timeout: LIMIT, ..Settings::default() };
    let bus = VhostUser::connect(&daemon.socket(), settings).unwrap();
    let mut clients = Clients::new(Driver::probe(bus).unwrap());
    let file = clients.open();
    let loaded = clients.load(file, &program(1).program());
    let (request, memory) = loaded.request();
    let mut submit = Call::new(SUBMIT_REQUEST.number, request.as_bytes().to_vec(), memory);
    let mut wait = waiting();
    let mut trip = || {
        clients.call(file, &mut submit).unwrap();
        let fence = Request::ref_from_bytes(&submit.argument).unwrap().out_fence;
        wait.memory.write(FENCE, Fence { fence, ..Fence::new_zeroed() }.as_bytes()).unwrap();
        clients.call(file, &mut wait).unwrap();
    };
    // Until as many fences are kept as ever are.
    (0..FENCE_HISTORY + 64).for_each(|_| trip());
    let before = counting::asked();
    (0..256).for_each(|_| trip());
    assert_eq!(counting::asked() - before, 0);
}
