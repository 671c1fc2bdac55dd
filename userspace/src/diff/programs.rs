//! Two programs: what each says of itself, and what their tasks write.

use std::collections::{BTreeMap, BTreeSet};

use super::Comparison;
use crate::container::Program;
use crate::count::count;
use crate::decode::{
    BarReport, FieldReport, ProgramReport, RegisterReport, TaskReport, TaskReports, printable,
};

/// The text where the other program has something and this one nothing.
const NOTHING: &str = "-";

/// Compares two programs. The containers may be of different kinds: what only one kind can say is not compared.
pub fn compare(a: &Program<'_>, b: &Program<'_>) -> Comparison {
    let mut found = Comparison::default();
    let (one, other) = (ProgramReport::of(a), ProgramReport::of(b));
    if a.container != b.container {
        found.notes.push(format!("{} against {}", a.container.name(), b.container.name()));
    }
    whole(&mut found, &one, &other, a.container == b.container);
    constants(&mut found, a, b);
    let before = found.count;
    let (mut first, mut second) = (TaskReports::of(a), TaskReports::of(b));
    for index in 0_usize.. {
        // Bases are compared as words of the header, so the names of what they point to are not needed.
        match (first.next(&[]), second.next(&[])) {
            (None, None) => break,
            (Some(a), Some(b)) => task(&mut found, a, b),
            (Some(a), None) => found.differs(format!("task {index}"), &a.summary, NOTHING),
            (None, Some(b)) => found.differs(format!("task {index}"), NOTHING, &b.summary),
        }
    }
    // What is damaged cannot be told by register, and is there all the same.
    if found.count == before && (first.damage().is_some() || second.damage().is_some()) {
        found.compare(|| "bytes of tasks".into(), &a.stream.len(), &b.stream.len());
        bytes(&mut found, "tasks", a.stream.iter().copied(), b.stream.iter().copied());
    }
    for (damage, which) in [(first.damage(), "first"), (second.damage(), "second")] {
        found.notes.extend(damage.map(|damage| format!("the {which} is damaged: {damage}")));
    }
    found
}

/// What the container says. Names, elements, sizes and base addresses have meanings of their own in each kind of container.
fn whole(found: &mut Comparison, a: &ProgramReport, b: &ProgramReport, is_one_kind: bool) {
    found.compare(|| "engine".into(), &a.generation, &b.generation);
    found.compare(|| "tasks".into(), &a.task_count, &b.task_count);
    found.compare(|| "scratch bytes".into(), &a.scratch_bytes, &b.scratch_bytes);
    for direction in ["input", "output"] {
        let side = |report: &ProgramReport| {
            let surfaces = report.surfaces.iter().filter(|surface| surface.direction == direction);
            let mut listed: Vec<_> = surfaces
                .map(|surface| {
                    let mut text = format!("{:?} strides {:?}", surface.shape, surface.strides);
                    let mut name = String::new();
                    if is_one_kind {
                        name = printable(&surface.name);
                        let (total, buffer) = (surface.total_bytes, surface.buffer_bytes);
                        text = format!("{text} of {}, {total:#x} of {buffer:#x} bytes", surface.element);
                        // The same bytes may be an array of another shape in the model.
                        if let Some(array) = &surface.array {
                            text = format!("{text}, an array of {array:?}");
                        }
                    }
                    (surface.bar, name, text)
                })
                .collect();
            listed.sort();
            listed
        };
        let (a, b) = (side(a), side(b));
        for index in 0..a.len().max(b.len()) {
            let told = |side: &[(u8, String, String)]| {
                side.get(index)
                    .map_or(NOTHING.to_owned(), |(bar, name, shape)| format!("BAR {bar} {name} {shape}"))
            };
            found.compare(|| format!("{direction} {index}"), &told(&a), &told(&b));
        }
    }
    if is_one_kind {
        bars(found, a, b);
    }
}

/// The base addresses. Where their objects were linked is not compared: a program runs the same anywhere.
fn bars(found: &mut Comparison, a: &ProgramReport, b: &ProgramReport) {
    let told = |report: &ProgramReport| -> BTreeMap<u8, String> {
        let one = |bar: &BarReport| (bar.index, format!("{}, {:#x} bytes", printable(&bar.role), bar.bytes));
        report.bars.iter().map(one).collect()
    };
    let (a, b) = (told(a), told(b));
    let indices: BTreeSet<u8> = a.keys().chain(b.keys()).copied().collect();
    for index in indices {
        let side =
            |told: &BTreeMap<u8, String>| told.get(&index).cloned().unwrap_or_else(|| NOTHING.to_owned());
        found.compare(|| format!("BAR {index}"), &side(&a), &side(&b));
    }
}

fn constants(found: &mut Comparison, a: &Program<'_>, b: &Program<'_>) {
    // Files may pad a section or split it; what is compared is its bytes, one section behind the other.
    fn joined<'p>(program: &'p Program<'_>) -> impl Iterator<Item = u8> + 'p {
        program.constants.iter().flat_map(|constants| constants.bytes).copied()
    }
    let bytes = |program: &Program<'_>| -> usize {
        program.constants.iter().map(|constants| constants.bytes.len()).sum()
    };
    found.compare(|| "bytes of constants".into(), &bytes(a), &bytes(b));
    self::bytes(found, "constants", joined(a), joined(b));
}

/// Compares the bytes that both have; the first that differs stands for all.
fn bytes(found: &mut Comparison, of: &str, a: impl Iterator<Item = u8>, b: impl Iterator<Item = u8>) {
    let mut different = a.zip(b).enumerate().filter(|(_, (a, b))| a != b);
    if let Some((at, (first, second))) = different.next() {
        let more = different.count();
        found.differs(
            format!("{of} at {at:#x}, and {} more", count(more, "byte")),
            format!("{first:#04x}"),
            format!("{second:#04x}"),
        );
    }
}

fn task(found: &mut Comparison, a: &TaskReport, b: &TaskReport) {
    let index = a.index;
    found.compare(|| format!("task {index}"), &a.summary, &b.summary);
    registers(found, &format!("task {index} header"), a.header.iter(), b.header.iter());
    let place = || format!("task {index} unknown bits of records");
    found.compare(place, &unknown_bits(a), &unknown_bits(b));
    let blocks = |task: &'_ TaskReport| -> BTreeMap<u64, &'static str> {
        let registers = task
            .blocks
            .iter()
            .flat_map(|block| block.registers.iter().map(|register| (register.address.0, block.name)));
        registers.collect()
    };
    let names: BTreeMap<u64, &'static str> = blocks(a).into_iter().chain(blocks(b)).collect();
    let writes = |task| -> BTreeMap<u64, &RegisterReport> { writes_of(task) };
    let (a, b) = (writes(a), writes(b));
    for (&address, block) in &names {
        let place = format!("task {index} {block}");
        registers(found, &place, a.get(&address).copied().into_iter(), b.get(&address).copied().into_iter());
    }
}

/// The records whose first words have bits that no source explains, with those bits.
fn unknown_bits(task: &TaskReport) -> String {
    let told = task.blocks.iter().filter_map(|block| {
        block.unknown_bits.map(|bits| format!("{bits} in the record at {}", block.address))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { NOTHING.to_owned() } else { told.join(", ") }
}

fn writes_of(task: &TaskReport) -> BTreeMap<u64, &RegisterReport> {
    let registers = task.blocks.iter().flat_map(|block| &block.registers);
    registers.map(|register| (register.address.0, register)).collect()
}

fn registers<'a>(
    found: &mut Comparison,
    place: &str,
    mut a: impl Iterator<Item = &'a RegisterReport>,
    mut b: impl Iterator<Item = &'a RegisterReport>,
) {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return,
            (Some(a), Some(b)) => register(found, place, a, b),
            (Some(only), None) => found.differs(name(place, only), only.value, NOTHING),
            (None, Some(only)) => found.differs(name(place, only), NOTHING, only.value),
        }
    }
}

fn name(place: &str, register: &RegisterReport) -> String {
    let index = register.index.map_or(String::new(), |index| format!("[{index}]"));
    format!("{place} {}{index} at {}", register.name.unwrap_or("unknown register"), register.address)
}

/// By field where the word has fields, and by word where it has none that differs.
fn register(found: &mut Comparison, place: &str, a: &RegisterReport, b: &RegisterReport) {
    if a.value == b.value {
        return;
    }
    let before = found.count;
    let mut b_fields: BTreeMap<_, &FieldReport> = b.fields.iter().map(|field| (field.name, field)).collect();
    for field in &a.fields {
        let other = b_fields.remove(field.name);
        let shown = other.map_or_else(|| "0".to_owned(), |other| other.shown.clone());
        if other.map_or(0, |other| other.value) != field.value {
            found.differs(format!("{} {}", name(place, a), field.name), &field.shown, shown);
        }
    }
    for field in b_fields.into_values().filter(|field| field.value != 0) {
        found.differs(format!("{} {}", name(place, b), field.name), "0", &field.shown);
    }
    if found.count == before {
        found.differs(name(place, a), a.value, b.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container;
    use crate::container::Element;

    /// Where an altered program differs from itself.
    fn places(alter: impl FnOnce(&mut Program<'_>)) -> Vec<String> {
        let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/add_relu.anec"));
        let program = container::open(bytes).unwrap();
        let mut other = program.clone();
        alter(&mut other);
        compare(&program, &other).differences.into_iter().map(|difference| difference.place).collect()
    }

    #[test]
    fn programs_differ_by_elements_sizes_and_base_addresses_of_what_clients_bind() {
        assert!(places(|_| {}).is_empty());
        assert_eq!(places(|program| program.surfaces[0].element = Element::Other(77)), ["output 0"]);
        assert_eq!(places(|program| program.surfaces[0].total_bytes *= 2), ["output 0"]);
        assert_eq!(places(|program| program.surfaces[0].dims = Some(vec![5, 15])), ["output 0"]);
        let moved = places(|program| program.bars.iter_mut().for_each(|bar| bar.index += 9));
        assert!(moved.len() >= 2 && moved.iter().all(|place| place.starts_with("BAR ")), "{moved:?}");
        // Where something was linked makes no difference.
        assert!(places(|program| program.bars.iter_mut().for_each(|bar| bar.link = Some(0x4000))).is_empty());
    }
}
