//! A program as tests/kernel takes it: a file with what a kernel driver puts into memory, and where.

use ane::container::{Direction, Role};
use ane::device::{Device, Location};
use ane::model::Model;
use ane::session::Session;
use ane_device::Options;

use super::NID;

/// BARs of a request.
const BARS: usize = 32;

/// A job, and what has to come of it.
#[derive(Clone, Debug)]
pub struct JobFile {
    /// The file that the module is given.
    pub bytes: Vec<u8>,
    /// The bytes that it gives back: those of the program's first output, as the client library has them.
    pub expected: Vec<u8>,
}

/// Pages of the first input that the engine finds unmapped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hole {
    pub page: u32,
    /// How many follow, itself included.
    pub count: u32,
}

impl JobFile {
    /// The job of a program whose inputs are full of numbers, and what the same program makes of them in this process.
    ///
    /// # Panics
    ///
    /// If it does not run here.
    pub fn new(model: &Model, hole: Hole) -> Self {
        let device = Device::open(&Location::Embedded, &Options::default()).expect("it is in this process");
        let mut session = Session::load(&device, model).expect("program is loaded");
        let (mut bars, mut contents) = ([[0_u32; 4]; BARS], vec![Vec::new(); BARS]);
        let (mut output, mut holes_left) = (None, 1);
        for (bar, buffer) in session.buffers() {
            let mut bytes = vec![0; model.bar_bytes(bar).max(1) as usize];
            let direction = match bar.role {
                Role::Surface(index) => Some(model.surfaces()[index].direction),
                _ => None,
            };
            if direction == Some(Direction::Input) {
                fill(&mut bytes, u32::from(bar.index));
                buffer.write(0, &bytes).expect("input is there");
            }
            buffer.read(0, &mut bytes).expect("buffer is there");
            let index = usize::from(bar.index);
            bars[index][0] = bytes.len() as u32;
            bars[index][1] = bytes.len() as u32;
            if direction == Some(Direction::Input) && holes_left > 0 {
                holes_left -= 1;
                bars[index][2..].copy_from_slice(&[hole.page, hole.count]);
            }
            if direction == Some(Direction::Output) && output.is_none() {
                output = Some(index);
            }
            contents[index] = bytes;
        }
        let output = output.expect("program has an output");
        session.run().expect("program runs here");
        let mut expected = vec![0; contents[output].len()];
        let (_, result) = session
            .buffers()
            .find(|(bar, _)| usize::from(bar.index) == output)
            .expect("the output has a buffer");
        result.read(0, &mut expected).expect("output is there");

        let mut first = model.stream()[..model.first_task_bytes() as usize].to_vec();
        first[2] = NID as u8;
        let words = [model.task_count(), first.len() as u32];
        let words = words.into_iter().chain(bars.into_iter().flatten()).chain([output as u32]);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        bytes.extend(first);
        contents.into_iter().for_each(|content| bytes.extend(content));
        Self { bytes, expected }
    }
}

/// Halves between -2 and 2, another sequence for each seed.
fn fill(bytes: &mut [u8], seed: u32) {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    for two in bytes.chunks_exact_mut(2) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let value = half::f16::from_f32((state >> 16) as f32 / 16_384.0 - 2.0);
        two.copy_from_slice(&value.to_le_bytes());
    }
}
