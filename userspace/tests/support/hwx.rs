//! A small linker: makes an HWX, sound or wrong in one place.
//!
//! Written from the description of the format alone, so that it shares no mistake with the reader.

use ane::container::Direction;

/// Link address of the first section, as compilers choose it.
pub(crate) const LINK_BASE: u64 = 0x3000_0000;

pub(crate) const LC_SEGMENT_64: u32 = 0x19;
pub(crate) const LC_THREAD: u32 = 0x04;
pub(crate) const LC_BANNER: u32 = 0x08;

/// Bytes of a full descriptor.
pub(crate) const TASK_BYTES: usize = 0x274;

/// Distance from one descriptor to the next.
pub(crate) const TASK_STRIDE: usize = 0x300;

#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) name: &'static str,
    /// Name of the symbol with its link address, which newer compilers give without what follows the `@`.
    pub(crate) symbol: &'static str,
    /// 5 for halves, 3 for bytes.
    pub(crate) element: u32,
    pub(crate) direction: Direction,
    pub(crate) bar: u32,
    /// N, C, H, W.
    pub(crate) shape: [u32; 4],
}

/// A program to be linked.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) subtype: u32,
    /// Where the task stream lies in the file; right behind the load commands if 0.
    pub(crate) text_at: usize,
    /// Link addresses of 64 bits, as since macOS 14.
    pub(crate) wide: bool,
    pub(crate) stream: Vec<u8>,
    pub(crate) tasks: u32,
    pub(crate) constants: Vec<u8>,
    /// Coefficients of newer objects, and their BAR.
    pub(crate) kernels: Option<(u32, Vec<u8>)>,
    /// Bytes of scratch, in BAR 3; none if 0.
    pub(crate) scratch: u64,
    /// In link-address order.
    pub(crate) operands: Vec<Operand>,
}

/// The bases of one task: words 8 and 9 of its header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bases(pub(crate) u32, pub(crate) u32);

impl Bases {
    pub(crate) fn source(self, bar: u32) -> Self {
        Self(self.0 | bar | 1 << 5, self.1)
    }

    pub(crate) fn second_source(self, bar: u32) -> Self {
        Self(self.0 | bar << 6 | 1 << 11, self.1)
    }

    pub(crate) fn destination(self, bar: u32) -> Self {
        Self(self.0 | bar << 12 | 1 << 17, self.1)
    }

    pub(crate) fn coefficients(self, bar: u32) -> Self {
        Self(self.0, self.1 | bar | 1 << 5)
    }
}

/// A stream of full descriptors whose registers hold their own index.
pub(crate) fn stream(tasks: &[Bases]) -> Vec<u8> {
    let records: [(u32, u32); 7] = [
        (0x1f800, 62),
        (0x00000, 16),
        (0x13800, 28),
        (0x04800, 18),
        (0x08800, 4),
        (0x0c800, 5),
        (0x17800, 7),
    ];
    let mut stream = Vec::new();
    for (index, bases) in tasks.iter().enumerate() {
        stream.resize(index * TASK_STRIDE, 0);
        let last = index + 1 == tasks.len();
        let links_on = if last { 0 } else { 1 << 23 };
        let mut words = vec![0_u32; 10];
        words[0] = index as u32 | u32::from(index > 0) << 24 | u32::from(last) << 25;
        words[1] = if last { 0 } else { (TASK_BYTES as u32 / 4 - 1) << 16 };
        words[7] = if last { 0 } else { ((index + 1) * TASK_STRIDE) as u32 };
        words[8] = bases.0 | links_on;
        words[9] = bases.1;
        for (address, count) in records {
            words.push((count - 1) << 26 | address);
            words.extend(0..count);
        }
        stream.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    stream
}

impl Object {
    /// An addition as the compilers of macOS 12 link it: output in BAR 4, inputs behind it.
    pub(crate) fn older() -> Self {
        let operand = |name, direction, bar| Operand::new(name, direction, bar, [1, 64, 1, 1]);
        Self {
            subtype: 4,
            text_at: 0,
            wide: false,
            stream: stream(&[Bases::default().source(6).second_source(5).destination(4)]),
            tasks: 1,
            constants: vec![0; 0x40],
            kernels: None,
            scratch: 0,
            operands: vec![
                operand("image2", Direction::Input, 5),
                operand("image", Direction::Input, 6),
                operand("probs@output", Direction::Output, 4),
            ],
        }
    }

    /// Three tasks as later compilers link them: inputs first, coefficients in a section and a BAR of their own.
    pub(crate) fn newer() -> Self {
        let operand = Operand::new;
        Self {
            wide: true,
            stream: stream(&[
                Bases::default().source(4).destination(3),
                Bases::default().source(3).coefficients(7).destination(3),
                Bases::default().source(3).second_source(5).destination(6),
            ]),
            tasks: 3,
            kernels: Some((7, (0..0x80).collect())),
            scratch: 0x9000,
            operands: vec![
                operand("x", Direction::Input, 4, [1, 8, 4, 16]),
                operand("y", Direction::Input, 5, [1, 8, 4, 16]),
                operand("z@output", Direction::Output, 6, [1, 8, 4, 16]),
            ],
            ..Self::older()
        }
    }

    /// A selection as the compilers of macOS 14 and 26 link it: symbols without roles, a condition of one byte an
    /// element, two outputs, and BARs in an order of the object's own.
    pub(crate) fn selection() -> Self {
        let operand = Operand::new;
        let named = |symbol, operand| Operand { symbol, ..operand };
        Self {
            stream: stream(&[
                Bases::default().source(6).destination(3),
                Bases::default().source(3).second_source(8).destination(4),
                Bases::default().source(3).second_source(5).destination(7),
            ]),
            tasks: 3,
            kernels: None,
            scratch: 0x4000,
            operands: vec![
                Operand { element: 3, ..operand("cond", Direction::Input, 6, [1, 8, 4, 100]) },
                operand("a", Direction::Input, 8, [1, 8, 4, 100]),
                operand("b", Direction::Input, 5, [1, 8, 4, 100]),
                // Eight letters fill the symbol's load command, so that no zero follows them.
                named("selected", operand("selected@output", Direction::Output, 7, [1, 8, 4, 100])),
                named(
                    "kept_for_later",
                    operand("kept_for_later@output", Direction::Output, 4, [1, 8, 4, 100]),
                ),
            ],
            ..Self::newer()
        }
    }

    /// The bytes of the file.
    pub(crate) fn link(&self) -> Vec<u8> {
        let mut next = LINK_BASE;
        let mut place = |bytes: u64, align: u64| {
            let at = next.next_multiple_of(align);
            next = at + bytes;
            at
        };
        let text = place(self.stream.len() as u64, 0x4000);
        let constants = place(self.constants.len() as u64, 0x40);
        let operands: Vec<u64> = self.operands.iter().map(|operand| place(bytes(operand), 0x4000)).collect();
        let scratch = place(self.scratch, 0x4000);
        let kernels = place(self.kernels.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64), 0x4000);

        let mut bars = vec![(0, text), (1, constants)];
        bars.extend(self.operands.iter().zip(&operands).map(|(operand, &link)| (operand.bar, link)));
        if self.scratch > 0 {
            bars.push((3, scratch));
        }
        bars.extend(self.kernels.iter().map(|&(bar, _)| (bar, kernels)));

        let commands = |text_at: usize| {
            let constants_at = (text_at + self.stream.len()).next_multiple_of(64);
            let kernels_at = (constants_at + self.constants.len()).next_multiple_of(64);
            let section = |segment, name, link, size: usize, at: usize| {
                segment_command(segment, &[(name, link, size as u64, at)])
            };
            let mut commands = vec![segment_command(
                "__TEXT",
                &[
                    ("__text", text, self.stream.len() as u64, text_at),
                    ("__const", constants, self.constants.len() as u64, constants_at),
                ],
            )];
            for (operand, &link) in self.operands.iter().zip(&operands) {
                let name = if operand.direction == Direction::Input { "__const" } else { "__data" };
                commands.push(section("__FVMLIB", name, link, bytes(operand) as usize, 0));
            }
            if self.scratch > 0 {
                commands.push(section("__DATA", "__bss", scratch, self.scratch as usize, 0));
            }
            if let Some((_, bytes)) = &self.kernels {
                commands.push(section("__KERN_0", "__kern_0", kernels, bytes.len(), kernels_at));
            }
            for (operand, &link) in self.operands.iter().zip(&operands) {
                commands.push(symbol(operand.symbol, link, self.wide));
            }
            commands.push(program(&bars, text, self.tasks));
            commands.extend(self.operands.iter().map(tensor));
            commands.push(command(LC_BANNER, b"synthetic v1\n\t-t h13\0\0\0\0"));
            (commands, constants_at, kernels_at)
        };
        let behind = 0x20 + commands(0).0.concat().len();
        let text_at = if self.text_at == 0 { behind.next_multiple_of(64) } else { self.text_at };
        let (commands, constants_at, kernels_at) = commands(text_at);

        let count = commands.len() as u32;
        let commands = commands.concat();
        let mut file =
            words(&[0xbeef_face, 0x80, self.subtype, 2, count, commands.len() as u32, 0x20_0000, 0]);
        file.extend(commands);
        let contents = [(text_at, &self.stream), (constants_at, &self.constants)];
        let kernels = self.kernels.iter().map(|(_, bytes)| (kernels_at, bytes));
        for (at, bytes) in contents.into_iter().chain(kernels) {
            file.resize(at, 0);
            file.extend(bytes);
        }
        file
    }
}

impl Operand {
    pub(crate) fn new(name: &'static str, direction: Direction, bar: u32, shape: [u32; 4]) -> Self {
        Self { name, symbol: name, element: 5, direction, bar, shape }
    }

    fn element_bytes(&self) -> u64 {
        if self.element == 3 { 1 } else { 2 }
    }
}

fn row(operand: &Operand) -> u64 {
    (operand.element_bytes() * u64::from(operand.shape[3])).next_multiple_of(64)
}

fn bytes(operand: &Operand) -> u64 {
    let [n, c, h, _] = operand.shape.map(u64::from);
    n * c * h * row(operand)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn command(number: u32, body: &[u8]) -> Vec<u8> {
    let size = (8 + body.len()).next_multiple_of(8);
    let mut command = words(&[number, size as u32]);
    command.extend(body);
    command.resize(size, 0);
    command
}

fn padded(name: &str) -> [u8; 16] {
    let mut padded = [0; 16];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    padded
}

fn segment_command(segment: &str, sections: &[(&str, u64, u64, usize)]) -> Vec<u8> {
    let (first, size) = sections.first().map_or((0, 0), |&(_, link, size, _)| (link, size));
    let mut body = padded(segment).to_vec();
    body.extend([first, size, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
    body.extend(words(&[1, 1, sections.len() as u32, 0]));
    for &(name, link, size, at) in sections {
        body.extend(padded(name));
        body.extend(padded(segment));
        body.extend([link, size].iter().flat_map(|word| word.to_le_bytes()));
        body.extend(words(&[at as u32, 0, 0, 0, 0, 0, 0, 0]));
    }
    command(LC_SEGMENT_64, &body)
}

fn symbol(name: &str, link: u64, wide: bool) -> Vec<u8> {
    let mut body = words(&[if wide { 0x18 } else { 0x14 }, 0]);
    match wide {
        true => body.extend(link.to_le_bytes()),
        false => body.extend((link as u32).to_le_bytes()),
    }
    body.extend(name.as_bytes());
    // A zero where there is room for it: the command ends at a multiple of 8.
    if !wide || !name.len().is_multiple_of(8) {
        body.push(0);
    }
    command(if wide { 0x40 } else { 0x06 }, &body)
}

fn program(bars: &[(u32, u64)], text: u64, tasks: u32) -> Vec<u8> {
    let mut body = words(&[1, 0x214]);
    let mut table = [0_u64; 256];
    for &(bar, link) in bars {
        table[bar as usize] = link;
    }
    body.extend(table.iter().flat_map(|link| link.to_le_bytes()));
    body.extend(text.to_le_bytes());
    body.extend(words(&[TASK_BYTES as u32 / 4 - 1, tasks, 0, 0xffff]));
    command(LC_THREAD, &body)
}

fn tensor(operand: &Operand) -> Vec<u8> {
    let [n, c, h, w] = operand.shape;
    let plane = row(operand) * u64::from(h);
    let batch = plane * u64::from(c);
    let direction = if operand.direction == Direction::Input { 1 } else { 2 };
    let mut body =
        words(&[3, 0x1e, 3, direction, 0x88, 0, 0x8c, operand.element, n, c, h, w, 1, 0, 0, 0, 0, 0]);
    body.extend(
        [batch, plane, row(operand), operand.element_bytes(), batch]
            .iter()
            .flat_map(|word| word.to_le_bytes()),
    );
    body.extend(words(&[1, 0, 0, 0]));
    body.extend(b"net\0");
    body.extend(operand.name.as_bytes());
    body.push(0);
    command(LC_THREAD, &body)
}

/// File offset of load command `nth` of kind `number`.
pub(crate) fn find(file: &[u8], number: u32, nth: usize) -> usize {
    let word = |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
    let mut at = 0x20;
    let mut seen = 0;
    loop {
        if word(at) == number {
            if seen == nth {
                return at;
            }
            seen += 1;
        }
        at += word(at + 4) as usize;
    }
}

/// Overwrites the 32-bit word at `at`.
pub(crate) fn put32(file: &mut [u8], at: usize, word: u32) {
    file[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

/// Overwrites the 64-bit word at `at`.
pub(crate) fn put64(file: &mut [u8], at: usize, word: u64) {
    file[at..at + 8].copy_from_slice(&word.to_le_bytes());
}
