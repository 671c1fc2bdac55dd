//! Writes the seed corpus: small sound inputs, from which the fuzzers start.
//!
//! `tools/fuzz` builds it as it builds the targets, and runs it before them.

use std::fs;
use std::path::Path;

use ane::container::anec::Form;
use ane::container::{self, convert};
use ane::model::Options;
use ane::model::compile::compile;
use ane_call::Segments;
use ane_tests::differential::random_case;
use ane_tests::model::Onnx;
use ane_uapi::ioctl::companion::PE_MMU_MAP;
use aned_protocol::request::{Ask, Request};

// The code is instrumented as that of the targets, and calls what the fuzzer has for it.
use libfuzzer_sys as _;

#[path = "../../../userspace/tests/support/hwx.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod hwx;

fn write(target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

/// A description that is sound, of operations of every kind of operand.
const SCRIPT: &str = "\
x = input 16x8x8
c = convolution x outputs=32 kernel=3x3 padding=1 weights=random:1 bias=0.5
r = relu c
p = max_pool r kernel=2x2
s = softmax p
a = add p s
m = multiply a 0.5
output m
";

/// A description with a line of this form: every option in it, and something in the place of every word that stands for another.
fn operation(form: &str) -> String {
    let words = form.replace(['[', ']'], "");
    let words = words.split(' ').map(|word| match word.split_once('=') {
        Some((key, "WxH")) => format!("{key}=3x3"),
        Some((key, "CxHxW")) => format!("{key}=16x8x8"),
        Some((key, "P" | "N")) => format!("{key}=1"),
        Some((key, "V")) => format!("{key}=random:1"),
        Some(_) => word.to_owned(),
        None => match word {
            "X" => "a".to_owned(),
            "Y" | "Z" => "b".to_owned(),
            "CxHxW" => "16x8x8".to_owned(),
            "VALUE" => "0.5".to_owned(),
            _ => word.split('|').next().unwrap_or_default().to_owned(),
        },
    });
    let line = words.collect::<Vec<_>>().join(" ");
    format!("a = input 16x8x8\nb = input 16x8x8\nt = {line}\noutput t\n")
}

fn main() -> std::io::Result<()> {
    write("containers", "selection.hwx", &hwx::Object::selection().link())?;
    for (name, object) in [("older", hwx::Object::older()), ("newer", hwx::Object::newer())] {
        let file = object.link();
        write("containers", &format!("{name}.hwx"), &file)?;
        let program = container::open(&file).expect("the object is sound");
        for (form, suffix) in [(Form::Short, "short"), (Form::Long, "long")] {
            let anec = convert::to_anec(&program, form).expect("the object can be converted");
            write("containers", &format!("{name}-{suffix}.anec"), &anec)?;
            // The same with its buffers counted in 512 bytes.
            let mut small = anec;
            for bar in small[0x28..0xa8].chunks_exact_mut(4) {
                let tiles = u32::from_le_bytes([bar[0], bar[1], bar[2], bar[3]]);
                bar.copy_from_slice(&(tiles * 32).to_le_bytes());
            }
            let payload = small.len() as u64 - form.bytes();
            hwx::put32(&mut small, 0x28, payload.div_ceil(512) as u32);
            write("containers", &format!("{name}-{suffix}-512.anec"), &small)?;
        }
        let mut stream = program.first_task_bytes.to_le_bytes().to_vec();
        stream.extend(program.task_count.to_le_bytes());
        stream.extend(program.stream);
        write("task_stream", name, &stream)?;
    }
    // What a compiled model says behind its payload.
    let mut net = Onnx::new(13);
    let x = net.input("x", &[1, 16, 8, 8]);
    let relu = net.node("Relu", &[&x], &[]);
    net.node_to("Softmax", &[&relu], "y", &[]);
    net.output("y", &[1, 16, 8, 8]);
    let compiled = compile(&net.finish(), &Options::default()).expect("the model is sound");
    write("containers", "compiled.anec", &compiled.to_anec().expect("it fits"))?;
    // One push on queue 0: in use, a base address, network id, address, size and count, push, work.
    let steps: [[u32; 3]; 7] = [
        [0, 1, 1],
        [0, 1 | 8 << 5, 0x4000],
        [0, 1 | 0x28 << 5, 0x4001],
        [0, 0, 0x4000],
        [0, 4 << 2, 0x9c_0001],
        [0, 8 << 2, 1],
        [6, 0, 0],
    ];
    let bytes: Vec<u8> = steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    write("registers", "push", &bytes)?;

    // The L2 table in the first page, the L3 table in the second; both lead to themselves as well.
    let mut walk: Vec<u8> =
        [0_u32, 0, 0x8004_0000, 0x0100_4000].iter().flat_map(|word| word.to_le_bytes()).collect();
    for page in [0x4000_4000_u64, 0x4000_0000] {
        let mut table = vec![0; 0x4000];
        for (index, entry) in table.chunks_exact_mut(8).take(4).enumerate() {
            entry.copy_from_slice(&((page + 0x4000 * index as u64) | 1 << 63).to_le_bytes());
        }
        walk.extend(table);
    }
    write("page_walk", "seed", &walk)?;

    write("onnx", "mobilenet", &ane_tests::model::mobilenet(32, 4))?;
    write("onnx", "encoder", &ane_tests::model::bert(4, 8, 2, 1))?;
    write("onnx", "operators", &ane_tests::model::operators())?;
    write("onnx", "sequence", &ane_tests::model::sequence())?;
    // Constants of the file that the target has beside its models.
    let mut net = Onnx::new(13);
    let x = net.input("x", &[4]);
    let part = [("location", "weights/weight.bin"), ("offset", "128"), ("length", "16")];
    let constants = net.external(&[4], &part);
    net.node_to("Add", &[&x, &constants], "y", &[]);
    net.output("y", &[4]);
    write("onnx", "external", &net.finish())?;
    for name in
        ["perceptron", "residual", "attention", "block_64", "unet", "shapes", "compressed", "recurrent"]
    {
        let package = format!("../tests/models/{name}.mlpackage/Data/com.apple.CoreML/model.mlmodel");
        let model = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(package))?;
        write("core_ml", name, &model)?;
    }
    for (name, program) in ane_tests::model::MIL_PROGRAMS {
        write("mil_text", name, program.as_bytes())?;
    }

    for name in ["attention.x", "block_64.x", "shapes.x", "unet.y"] {
        let array = format!("../tests/models/{name}.npy");
        let array = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(array))?;
        write("npy", name, &array)?;
        let (ours, theirs) = (b"'fortran_order': False", b"'fortran_order': True ");
        let at =
            array.windows(ours.len()).position(|window| window == ours).expect("it is in the order of C");
        let fortran = [&array[..at], theirs, &array[at + ours.len()..]].concat();
        write("npy", &format!("{name}.fortran"), &fortran)?;
    }
    for (at, (form, _)) in ane::build::script::OPERATIONS.iter().enumerate() {
        write("script", &format!("operation-{at}"), operation(form).as_bytes())?;
    }
    write("script", "network", SCRIPT.as_bytes())?;

    for (name, steps) in virtqueue() {
        write("virtqueue", name, &steps)?;
    }
    write("vhost_user", "setup", &vhost_user())?;
    write("vfio_user", "setup", &vfio_user())?;
    write("pe_mmu", "messages", &pe_mmu())?;
    for (name, steps) in mover() {
        write("mover", name, &steps)?;
    }
    write("aned", "calls", &aned())?;
    engine()
}

/// The steps of a driver, behind the byte that asks for event index.
fn virtqueue() -> [(&'static str, Vec<u8>); 3] {
    let le = u32::to_le_bytes;
    let describe = |index: u8, at: u32, bytes: u32, flags: u8, next: u8| {
        [&[1, 0, index][..], &le(at), &le(bytes), &[flags, next]].concat()
    };
    // A request of no operations at 0x8000, in a chain of two, and in a table of its own at 0x9000.
    let header = [&[0][..], &le(0x8000), &[16, 1, 0, 0, 0], &[0; 12]].concat();
    let chain = [describe(0, 0x8000, 16, 1, 1), describe(1, 0x4_0000, 24, 2, 0), vec![2, 0, 0, 3]].concat();
    let table = [
        &[0][..],
        &le(0x9000),
        &[32],
        &[le(0x8000), le(0), le(16), le(1 | 1 << 16)].concat(),
        &[le(0x4_0000), le(0), le(24), le(2)].concat(),
        &describe(0, 0x9000, 32, 4, 0),
        &[2, 0, 0, 3],
    ]
    .concat();
    // A word written and read; memory taken away; a reset.
    let batch =
        [&[4, 2, 0xff, 0][..], &[1], &le(0x180_0200), &le(0x9002_2320), &[0], &le(0x180_0200)].concat();
    [
        ("chain", [&[0][..], &header, &chain, &[6, 0, 2, 0, 0, 3, 6, 1]].concat()),
        ("table", [&[1][..], &header, &table].concat()),
        ("batch", [&[1][..], &batch, &[7, 0, 3, 7, 2]].concat()),
    ]
}

/// The messages of a monitor to the front of the platform device, behind the byte that asks for a greeting:
/// command, flags, descriptors, bytes of the body, body.
fn vfio_user() -> Vec<u8> {
    let message = |command: u8, descriptors: u8, body: &[u32]| {
        let body: Vec<u8> = body.iter().flat_map(|word| word.to_le_bytes()).collect();
        [&[command, 0, descriptors, body.len() as u8][..], &body].concat()
    };
    let access = |command: u8, region: u32, offset: u32, data: &[u32]| {
        message(command, 0, &[&[offset, 0, region, 4][..], data].concat())
    };
    let mut messages = vec![message(4, 0, &[16, 0, 0, 0])];
    messages.extend((0..9).map(|region| message(5, 0, &[32, 0, region, 0, 0, 0, 0, 0])));
    messages.extend((0..3).map(|kind| message(7, 0, &[16, 0, kind, 0])));
    // 64 KiB of memory at 0x8000_0000; an event for each kind of interrupt.
    messages.push(message(2, 1, &[32, 3, 0, 0, 0x8000_0000, 0, 0x1_0000, 0]));
    messages.extend((0..3).map(|kind| message(8, 2, &[20, 1 << 2 | 1 << 5, kind, 0, 1])));
    // Configuration space, and a word of each BAR read and written.
    messages.push(access(10, 7, 4, &[6]));
    messages.extend((0..6).map(|bar| access(9, bar, 0, &[])));
    messages.extend((0..6).map(|bar| access(10, bar, 0x100, &[0x80])));
    // The memory goes; reset.
    messages.push(message(3, 0, &[24, 0, 0x8000_0000, 0, 0x1_0000, 0]));
    messages.push(message(13, 0, &[]));
    [vec![0], messages.concat()].concat()
}

/// The messages that set a device up: request, flags, descriptors, bytes of the body, body.
fn vhost_user() -> Vec<u8> {
    let message = |request: u8, descriptors: u8, body: &[u64]| {
        let body: Vec<u8> = body.iter().flat_map(|word| word.to_le_bytes()).collect();
        [&[request, 1, descriptors, body.len() as u8][..], &body].concat()
    };
    let state = |index: u64, number: u64| [index | number << 32];
    let features = 1 << 32 | 1 << 30 | 1 << 29 | 1 << 28;
    let mut messages = vec![
        message(3, 0, &[]),
        message(1, 0, &[]),
        message(15, 0, &[]),
        // Multiple queues, acknowledgements, config space, memory slots, reset.
        message(16, 0, &[1 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15]),
        message(17, 0, &[]),
        message(2, 0, &[features]),
        message(24, 0, &[52 << 32, 0, 0, 0, 0, 0, 0, 0]),
        // One region: guest address, size, the frontend's address, offset.
        message(5, 1, &[1, 0, 0x1_0000, 0x10_0000, 0]),
    ];
    for queue in 0..2 {
        let start = 0x10_0000 + 0x3000 * queue;
        messages.extend([
            message(8, 0, &state(queue, 16)),
            message(10, 0, &state(queue, 0)),
            message(9, 0, &[queue, start, start + 0x2000, start + 0x1000, 0]),
            message(13, 3, &[queue]),
            message(12, 2, &[queue]),
            message(18, 0, &state(queue, 1)),
        ]);
    }
    // Another region comes and goes; the queues stop; reset.
    messages.extend([
        message(37, 1, &[0, 0x2_0000, 0x1_0000, 0x20_0000, 0]),
        message(38, 0, &[0, 0x2_0000, 0x1_0000, 0x20_0000, 0]),
        message(11, 0, &state(0, 0)),
        message(11, 0, &state(1, 0)),
        message(34, 0, &[]),
    ]);
    messages.concat()
}

/// Messages to PE_MMU with pages of 4 KiB: one page, pages from the end of a leaf on, a part of a page; a register; all
/// unmapped again.
fn pe_mmu() -> Vec<u8> {
    let whole = [0, 3, 9, 0, 12];
    let many = [9, 0, 70, 5, 0, 20];
    let part = [0x14, 3, 0x80, 0, 0, 1, 1, 0, 30];
    [&[12][..], &[0], &whole, &[1], &many, &[0], &part, &[3], &[0; 2], &[8, 0, 0, 0, 0], &[2, 9, 0, 70]]
        .concat()
}

/// A copy by registers, a compact one, XMOV; and accesses to each window.
fn mover() -> [(&'static str, Vec<u8>); 2] {
    let descriptors = [&[0, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0xc0][..]; 4].concat();
    let copy = [3, 0, 0, 1, 0, 0, 3, 0, 8, 0, 3, 0];
    let compact = [6, 20, 0x40, 0x01, 0x02, 0xc4];
    let xmov = [1, 9, 0, 0, 0];
    let compared = [&[0][..], &descriptors, &[0, 0, 0x40, 0], &copy, &compact, &xmov].concat();
    let accesses = (0..4).flat_map(|window| {
        [16 | window, 0x10, 0, 0x40, 0, 0, 0, window, 0x14, 0, 4 | window, 0, 0, 8, 12 | window, 0, 0, 9, 0]
    });
    [("compared", compared), ("accesses", [1].into_iter().chain(accesses).collect())]
}

/// The messages of a client to its daemon: a greeting too many ends the connection, so it comes last.
fn aned() -> Vec<u8> {
    let packet = |request: Request| {
        let bytes = request.to_bytes();
        [&[0x80][..], &(bytes.len() as u16).to_le_bytes(), &bytes].concat()
    };
    let mut memory = Segments::new();
    // An entry of 24 bytes, to which the argument points.
    memory.push(0x1000, [0u64, 0x1000, 0x1000].into_iter().flat_map(u64::to_le_bytes).collect());
    let argument = [&0x1000_u64.to_le_bytes()[..], &1_u32.to_le_bytes(), &24_u32.to_le_bytes()].concat();
    let asks = [
        (0, Ask::Open),
        (1, Ask::Ioctl { number: PE_MMU_MAP.number, argument, memory }),
        (1, Ask::Map { offset: 0, bytes: 0x4000, from: 0 }),
        (1, Ask::Arena),
        (1, Ask::Readable { wait: true }),
        (1, Ask::Signal { fence: 1 }),
        (0, Ask::Report { from: 0, what: "status".to_owned() }),
        (0, Ask::Abandon { call: 6 }),
        (0, Ask::Mailbox),
        (1, Ask::Unmap { offset: 0, bytes: 0x4000 }),
        (1, Ask::Close),
        (0, Ask::Hello { version: 1 }),
    ];
    asks.into_iter().zip(2..).flat_map(|((file, ask), id)| packet(Request { file, id, ask })).collect()
}

/// Task streams for the engine: the example program, and random cases with what they have for constants.
fn engine() -> std::io::Result<()> {
    let file = fs::read(ane_tests::data::example())?;
    let program = container::open(&file).expect("the example is sound");
    let tasks = u8::try_from(program.task_count).expect("the example is small");
    write("engine", "example", &[&[&[tasks - 1][..], &[0; 15]].concat(), program.stream].concat())?;
    for seed in 0..200 {
        let case = random_case::program(2 * seed, false).case;
        let mut how = [0; 16];
        how[0] = u8::try_from(case.tasks).expect("cases are small") - 1;
        how[2] = case.numerics as u8;
        let mut input = how.to_vec();
        input.extend(&case.regions[0].1);
        // Where BAR 1 leads.
        input.resize(how.len() + 0x1c00, 0);
        input.extend(&case.regions[1].1[..0x400]);
        write("engine", &format!("case-{seed}"), &input)?;
    }
    Ok(())
}
