//! A request of as many tasks as one may have, in a program of three.

use ane_driver::front::Files;

use crate::client::{Clients, Loaded};

/// Bytes of a descriptor before the word with the place of the next one (td 1).
const NEXT: u64 = 28;

/// Makes a loaded program of three null tasks ([`null_task`](crate::null_task)) one of `tasks`: its second descriptor is followed
/// by itself.
pub fn lengthen<F: Files>(clients: &mut Clients<F>, loaded: &mut Loaded, tasks: u32) {
    let stream = loaded.bar(0);
    let word = clients.read(stream, NEXT, 4);
    let second = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
    clients.write(stream, u64::from(second) + NEXT, &word);
    loaded.task_count = tasks;
}
