//! The cost of the driver, and the service that clients of the daemon get: goals S1 to S3 through the whole
//! driver, I1 to I3, and recovery.
//!
//! `cargo bench -p ane-tests --bench aned`. The first three are null tasks from the call that submits to the call that
//! says how they ended, in one process with the driver, whose device is in another; compared, as those of the bare wire
//! are, with two processes that wake each other by eventfd. For the others the device, the daemon and each client are
//! processes of their own, and may use all processors. Clients are this program again (`--client`), and start and stop
//! together. Pairs are measured in turns, and the median of the rounds' ratios is the figure.

mod clients;
#[path = "../common/mod.rs"]
mod common;
mod deaths;
mod driver;
#[path = "../../../device/benches/report/mod.rs"]
mod report;

use common::{echo_if_asked, processors};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    echo_if_asked(&arguments);
    clients::run_if_asked(&arguments);
    let all = processors();
    println!("profile {}, processors {all:?}", if cfg!(debug_assertions) { "debug" } else { "release" });
    driver::null_tasks(&all);
    clients::side_by_side(&all);
    deaths::recovery();
}
