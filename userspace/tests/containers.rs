//! Containers: what sound files say, what damaged ones are told, and what conversion does to BAR numbers.

mod support;

use ane::container::anec::{Form, Image, Layout};
use ane::container::{self, Direction, Element, Generation, Program, Role, Warning, convert};
use ane::device::{Device, Location};
use ane::model::Model;
use ane::session::Session;
use ane_uapi::hw::td::header::{KernelBases, OperandBases};
use proptest::prelude::*;
use support::check::check;
use support::hwx::{Bases, LC_BANNER, LINK_BASE, Object, TASK_STRIDE, find, put32, put64, stream};

fn open(file: &[u8]) -> Program<'_> {
    container::open(file).unwrap_or_else(|error| panic!("{error}"))
}

/// Both words with BAR numbers of every task.
fn bases(program: &Program<'_>) -> Vec<(OperandBases, KernelBases)> {
    let tasks = program.tasks().expect("h13");
    tasks
        .map(|task| task.expect("sound chain").header)
        .map(|header| (header.operands, header.kernels))
        .collect()
}

#[test]
fn older_object_is_read_in_full() {
    let file = Object::older().link();
    let program = open(&file);
    assert_eq!(program.generation, Generation::H13);
    assert_eq!((program.first_task_bytes, program.task_count), (0x274, 1));
    assert_eq!(program.stream, Object::older().stream);
    assert_eq!(program.constants.len(), 1);
    assert_eq!((program.constants[0].name.as_ref(), program.constants[0].bar), ("__TEXT,__const", Some(1)));
    assert_eq!(program.banner.as_deref(), Some("synthetic v1\n\t-t h13"));
    assert_eq!(program.scratch_bytes(), 0);
    assert_eq!(program.warnings, []);

    let surfaces: Vec<_> =
        program.surfaces.iter().map(|surface| (surface.name.as_ref(), surface.bar)).collect();
    assert_eq!(surfaces, [("image2", 5), ("image", 6), ("probs@output", 4)]);
    let surface = &program.surfaces[0];
    assert_eq!((surface.direction, surface.element), (Direction::Input, Element::Half));
    assert_eq!((surface.shape.n, surface.shape.c, surface.shape.h, surface.shape.w), (1, 64, 1, 1));
    assert_eq!(
        (surface.strides.n, surface.strides.c, surface.strides.h, surface.strides.w),
        (0x1000, 64, 64, 2)
    );
    assert_eq!((surface.total_bytes, surface.buffer_bytes), (0x1000, 0x1000));
}

#[test]
fn newer_object_has_coefficients_and_scratch_in_their_own_bars() {
    let file = Object::newer().link();
    let program = open(&file);
    let roles: Vec<_> = program.bars.iter().map(|bar| (bar.index, bar.role)).collect();
    assert_eq!(
        roles,
        [
            (0, Role::Tasks),
            (1, Role::Constants(0)),
            (3, Role::Scratch),
            (4, Role::Surface(0)),
            (5, Role::Surface(1)),
            (6, Role::Surface(2)),
            (7, Role::Constants(1)),
        ]
    );
    assert_eq!(program.scratch_bytes(), 0x9000);
    assert_eq!(program.constants[1].name, "__KERN_0,__kern_0");
    assert_eq!(program.constants[1].bytes, (0..0x80).collect::<Vec<u8>>());
}

#[test]
fn section_that_a_bar_names_is_read_whatever_it_is_called() {
    let mut file = Object::newer().link();
    let named: Vec<_> = (0..file.len()).filter(|&at| file[at..].starts_with(b"__KERN_0\0")).collect();
    assert_eq!(named.len(), 2, "the segment, and its section");
    for at in named {
        file[at..at + 8].copy_from_slice(b"__DATA\0\0");
    }
    let program = open(&file);
    assert_eq!(program.constants[1].bytes, (0..0x80).collect::<Vec<u8>>());
    assert_eq!(program.bar(7).map(|bar| bar.role), Some(Role::Constants(1)));
    check(&file);
}

#[test]
fn section_without_bytes_that_a_bar_names_is_scratch_whatever_it_is_called() {
    let mut file = Object::newer().link();
    let roles = |file: &[u8]| open(file).bars.iter().map(|bar| bar.role).collect::<Vec<_>>();
    let before = roles(&file);
    assert!(before.contains(&Role::Scratch));
    let named: Vec<_> = (0..file.len()).filter(|&at| file[at..].starts_with(b"__DATA\0")).collect();
    assert!(!named.is_empty());
    for at in named {
        file[at..at + 6].copy_from_slice(b"__WORK");
    }
    assert_eq!(roles(&file), before);
    check(&file);
}

#[test]
fn object_whose_tasks_read_what_it_does_not_explain_is_not_loaded() {
    let mut file = Object::newer().link();
    let bar = find(&file, 0x04, 0) + 0x10 + 8 * 7;
    file[bar] += 0x40;
    let program = open(&file);
    assert!(matches!(program.warnings[..], [Warning::BarWithoutSection { bar: 7, .. }]));
    let device = Device::open(&Location::Embedded, &ane_device::Options::default()).expect("device");
    let why = Session::load(&device, &Model::of(&program)).expect_err("coefficients would be zeros");
    assert_eq!(
        why.to_string(),
        "task 1 at 0x300: kbase0 names BAR 7, and the object does not say what that carries"
    );
}

#[test]
fn object_whose_symbols_have_no_role_is_read_and_named_by_them() {
    let file = Object::selection().link();
    let program = open(&file);
    let surfaces: Vec<_> = program
        .surfaces
        .iter()
        .map(|surface| (surface.name.as_ref(), surface.bar, surface.element, surface.strides.h))
        .collect();
    let half = Element::Half;
    assert_eq!(
        surfaces,
        [
            ("cond", 6, Element::Byte, 128),
            ("a", 8, half, 256),
            ("b", 5, half, 256),
            ("selected", 7, half, 256),
            ("kept_for_later", 4, half, 256),
        ]
    );
    assert_eq!(program.surfaces[0].buffer_bytes, 8 * 4 * 128);
    assert_eq!(program.warnings, []);
    check(&file);
}

#[test]
fn symbol_command_may_have_any_length_that_its_name_needs() {
    for name in ["a", "sevenxx", "eight_xx", "nine_xxxx", "sixteen_xxxxxxxx", "seventeen_xxxxxxx"] {
        let mut object = Object::newer();
        let long = Box::leak(format!("{name}@output").into_boxed_str());
        (object.operands[2].name, object.operands[2].symbol) = (long, name);
        let file = object.link();
        let symbol = find(&file, 0x40, 2);
        let length = 0x18 + name.len().next_multiple_of(8);
        assert_eq!(file[symbol + 4], length as u8, "{name}");
        assert_eq!(open(&file).surfaces[2].name, name);
    }
}

#[test]
fn role_is_dropped_only_where_the_symbol_has_none() {
    let mut object = Object::newer();
    (object.operands[0].name, object.operands[0].symbol) = ("z@state@input", "z@state");
    let file = object.link();
    let names: Vec<_> = open(&file).surfaces.iter().map(|surface| surface.name.to_string()).collect();
    assert_eq!(names, ["z@state", "y", "z@output"]);
    let found = |asked| container::find_operand(names.iter().map(String::as_str), asked);
    assert_eq!([found("z@state"), found("y"), found("2"), found("9")], [Some(0), Some(1), Some(2), None]);
    // Both z@state and z@output have it in front of an @.
    assert_eq!(found("z"), None);
}

#[test]
fn anec_that_counts_tiles_of_512_bytes_is_read_like_one_that_counts_pages() {
    let object = Object::newer().link();
    for form in Form::ALL {
        let pages = convert::to_anec(&open(&object), form).expect("convertible");
        let mut small = pages.clone();
        // The size of each BAR, in the smaller unit: payload 0x900, scratch 0x9000, surfaces 0x800.
        for (bar, bytes) in [(0, 0x900_u32), (3, 0x9000), (4, 0x800), (5, 0x800), (6, 0x800)] {
            put32(&mut small, 0x28 + 4 * bar, bytes.div_ceil(512));
        }
        let read = open(&small);
        // Ports of the made-up tasks are off: which operands they have is not to be seen.
        let unclear = Warning::OperandsUnclear { inputs: 2, outputs: 1, first: 4 };
        assert_eq!(
            read.warnings,
            [Warning::TileUnit { unit: 512, tiles: 5, payload: 0x900 }, unclear.clone()]
        );
        assert_eq!(Program { warnings: vec![unclear], ..read }, open(&pages));
        check(&small);
    }
}

/// The format of a port that moves halves.
const HALVES: u32 = 0x0100_2031;

/// The addition of `Object::older` as a converter writes it that copies the tasks of a newer object: inputs in BARs 4 and
/// 6, the output in BAR 5.
fn bound_as_it_came(form: Form) -> Vec<u8> {
    let mut file = convert::to_anec(&open(&Object::older().link()), form).expect("convertible");
    let word = |at: usize| form.bytes() as usize + 4 * at;
    put32(&mut file, word(8), Bases::default().source(4).second_source(6).destination(5).0);
    // Behind header, kernel DMA and common block: the ports run, and move halves.
    let (source, destination) = (10 + 63 + 17 + 1, 10 + 63 + 17 + 29 + 19 + 5 + 6 + 1);
    for (at, value) in [(source, 1), (source + 14, HALVES), (source + 15, HALVES)] {
        put32(&mut file, word(at), value);
    }
    put32(&mut file, word(destination), 1);
    put32(&mut file, word(destination + 6), HALVES);
    file
}

#[test]
fn anec_whose_tasks_are_bound_otherwise_is_read_as_they_are_bound() {
    for form in Form::ALL {
        let file = bound_as_it_came(form);
        let program = open(&file);
        let found: Vec<_> = program.surfaces.iter().map(|surface| (surface.direction, surface.bar)).collect();
        assert_eq!(found, [(Direction::Output, 5), (Direction::Input, 4), (Direction::Input, 6)]);
        check(&file);
        // Written again it has the order of the first readers, and the same operands in it.
        let again = convert::to_anec(&program, form).expect("convertible");
        let again = open(&again);
        assert_eq!(
            bases(&again)[0].0.into_bits(),
            Bases::default().source(5).second_source(6).destination(4).0
        );
        assert!(again.surfaces.iter().map(|surface| surface.bar).eq(4..7));
    }
}

#[test]
fn anec_with_more_room_than_its_payload_needs_counts_pages() {
    let mut file = convert::to_anec(&open(&Object::newer().link()), Form::Long).expect("convertible");
    let plain = open(&file);
    let (bars, warnings) = (plain.bars, plain.warnings);
    put32(&mut file, 0x28, 40);
    let program = open(&file);
    assert_eq!(program.bars, bars, "room behind the payload is nobody's");
    assert_eq!(program.warnings, warnings);
}

#[test]
fn sections_are_read_wherever_they_lie_in_the_file() {
    let near = Object::newer();
    let far = Object { text_at: 0xc000, ..near.clone() };
    let (near, far) = (near.link(), far.link());
    let (near, far) = (open(&near), open(&far));
    assert_eq!((near.stream, near.constants), (far.stream, far.constants));
}

#[test]
fn later_generation_is_summarised_but_its_tasks_are_refused() {
    let file = Object { subtype: 9, ..Object::newer() }.link();
    let program = open(&file);
    assert_eq!(program.surfaces.len(), 3);
    let refused = program.tasks().expect_err("tasks are of another layout").to_string();
    assert!(refused.contains("h17"), "{refused}");
    assert_eq!(convert::image(&program).map(|_| ()).expect_err("cannot be converted").to_string(), refused);
}

#[test]
fn later_generation_without_program_descriptor_is_a_warning() {
    let mut file = Object { subtype: 5, ..Object::older() }.link();
    let descriptor = find(&file, 0x04, 0);
    put32(&mut file, descriptor + 8, 7);
    let program = open(&file);
    assert!(program.warnings.iter().any(|warning| matches!(warning, Warning::NotUnderstood { .. })));
    assert_eq!(program.stream, [0_u8; 0]);
}

#[test]
fn extent_behind_the_four_that_are_read_is_a_warning() {
    let mut file = Object::older().link();
    let at = find(&file, 0x04, 1) + 0x38;
    put32(&mut file, at, 2);
    let program = open(&file);
    let [warning] = &program.warnings[..] else { panic!("{:?}", program.warnings) };
    assert_eq!(
        warning.to_string(),
        format!(
            "tensor \"image2\": the word behind its extents, at {at:#x}, is 0x2; elements of a fifth axis are not read"
        )
    );
}

#[test]
fn unknown_load_command_is_listed_and_ignored() {
    let sound = Object::older().link();
    let mut file = sound.clone();
    let banner = find(&file, LC_BANNER, 0);
    put32(&mut file, banner, 0x7f);
    let program = open(&file);
    let [warning] = &program.warnings[..] else { panic!("{:?}", program.warnings) };
    let expected = format!("at {banner:#x}: command 0x7f is not known");
    assert!(warning.to_string().contains(&expected), "{warning}");
    assert_eq!(program.surfaces, open(&sound).surfaces);
}

#[test]
fn older_object_is_converted_without_touching_its_tasks() {
    let file = Object::older().link();
    let program = open(&file);
    let anec = convert::to_anec(&program, Form::Long).expect("convertible");
    let converted = open(&anec);
    assert_eq!(converted.stream, program.stream);
    assert_eq!(converted.constants[0].bytes, program.constants[0].bytes);
    let bars: Vec<_> = converted.surfaces.iter().map(|surface| (surface.direction, surface.bar)).collect();
    assert_eq!(bars, [(Direction::Output, 4), (Direction::Input, 5), (Direction::Input, 6)]);
}

#[test]
fn newer_object_is_converted_with_its_bar_numbers_rewritten() {
    let file = Object::newer().link();
    let program = open(&file);
    let anec = convert::to_anec(&program, Form::Long).expect("convertible");
    let converted = open(&anec);

    // Inputs were 4 and 5, the output 6, the coefficients 7; clients assume output 4, inputs 5 and 6, coefficients 1.
    let links_on = OperandBases::new().with_tbe(true);
    let source = |word: OperandBases, bar| word.with_rbase0(bar).with_rbe0(true);
    let destination = |word: OperandBases, bar| word.with_wbase(bar).with_wbe(true);
    let expected = [
        (destination(source(links_on, 5), 3), KernelBases::new()),
        (destination(source(links_on, 3), 3), KernelBases::new().with_kbase0(1).with_kbe0(true)),
        (destination(source(OperandBases::new(), 3).with_rbase1(6).with_rbe1(true), 4), KernelBases::new()),
    ];
    assert_eq!(bases(&converted), expected);
    // The first converter wrote tasks as they were; such tasks would read the output and write over an input.
    assert_ne!(bases(&converted), bases(&program));
    assert_eq!(bases(&program)[0].0.rbase0(), 4);
    assert_eq!(bases(&program)[2].0.wbase(), 6);

    assert_eq!(converted.constants[0].bytes, program.constants[1].bytes);
    assert_eq!(converted.bar(3).map(|bar| (bar.role, bar.bytes)), Some((Role::Scratch, 0xc000)));
    check(&file);
}

#[test]
fn bar_numbers_apart_everything_in_the_tasks_survives_conversion() {
    let file = Object::newer().link();
    let program = open(&file);
    let image = convert::image(&program).expect("convertible");
    let differs = |at: &usize| image.stream[*at] != program.stream[*at];
    let changed: Vec<_> = (0..program.stream.len()).filter(differs).collect();
    assert!(!changed.is_empty());
    for at in changed {
        assert!((0x20..0x28).contains(&(at % TASK_STRIDE)), "byte {at:#x} changed");
    }
}

#[test]
fn object_that_reads_two_constant_sections_is_refused() {
    let tasks = [
        Bases::default().source(4).second_source(1).destination(3),
        Bases::default().source(3).coefficients(7).destination(6),
    ];
    let file = Object { stream: stream(&tasks), tasks: 2, ..Object::newer() }.link();
    let error = convert::image(&open(&file)).expect_err("no room").to_string();
    assert_eq!(
        error,
        "task 0 reads constants from __TEXT,__const (BAR 1), task 1 from __KERN_0,__kern_0 (BAR 7): an ANEC has one \
         section of constants, at BAR 1"
    );
}

#[test]
fn planar_constants_stay_in_bar_1_where_coefficients_are_not_read() {
    let tasks = [Bases::default().source(4).second_source(1).destination(6)];
    let file = Object { stream: stream(&tasks), tasks: 1, ..Object::newer() }.link();
    let program = open(&file);
    let image = convert::image(&program).expect("convertible");
    assert_eq!(image.constants, program.constants[0].bytes);
}

#[test]
fn empty_constant_section_does_not_claim_the_bar_of_the_operand_at_its_address() {
    let mut newer = Object { constants: vec![], ..Object::newer() };
    // The empty section lies where the first operand starts, and the object gives it no BAR.
    newer.stream.resize(0x4000, 0);
    let mut file = newer.link();
    let descriptor = find(&file, 0x04, 0);
    put64(&mut file, descriptor + 0x18, 0);
    let program = open(&file);
    assert_eq!((program.constants[0].bytes, program.constants[0].bar), (&[][..], None));
    assert_eq!(program.bar(4).map(|bar| bar.role), Some(Role::Surface(0)));
    let image = convert::image(&program).expect("only the coefficients are read");
    assert_eq!(image.constants, program.constants[1].bytes);
    check(&file);
}

#[test]
fn task_that_names_a_bar_without_content_is_not_converted() {
    let tasks = [Bases::default().source(4).second_source(9).destination(6)];
    let file = Object { stream: stream(&tasks), tasks: 1, ..Object::newer() }.link();
    let error = convert::image(&open(&file)).expect_err("nothing is there").to_string();
    assert_eq!(error, "task 0 at 0x0: rbase1 names BAR 9, and the object does not say what that carries");
}

#[test]
fn stream_of_odd_length_is_padded_so_that_constants_are_aligned() {
    let mut older = Object::older();
    older.stream.resize(0x284, 0);
    let file = older.link();
    let program = open(&file);
    let image = convert::image(&program).expect("convertible");
    assert_eq!(image.stream.len(), 0x2c0);
    check(&file);
}

#[test]
fn elements_and_strides_that_the_format_cannot_say_are_refused() {
    let tensor = |at: usize, value: u32| {
        let mut file = Object::older().link();
        let descriptor = find(&file, 0x04, 1);
        put32(&mut file, descriptor + at, value);
        convert::image(&open(&file)).map(|_| ()).expect_err("not convertible").to_string()
    };
    assert_eq!(tensor(0x24, 7), "input \"image2\" has elements of code 0x7, an ANEC has fp16 only");
    // Two batch elements, the second not right behind the first.
    let mut file = Object::older().link();
    let descriptor = find(&file, 0x04, 1);
    put32(&mut file, descriptor + 0x28, 2);
    put32(&mut file, descriptor + 0x50, 0x2000);
    let error = convert::image(&open(&file)).expect_err("not convertible").to_string();
    assert_eq!(error, "input \"image2\" has N stride 0x2000, which is 0x1000 in an ANEC");
}

/// A reader of the ANEC goes by the formats of the ports, and would find two elements where the object has one.
#[test]
fn tasks_that_move_bytes_where_the_object_says_halves_are_refused() {
    /// The first registers of the ports for the source and the destination, and how many a full descriptor sets.
    const PORTS: [(u32, u32); 2] = [(0x13800, 28), (0x17800, 7)];
    let mut older = Object::older();
    for (address, count) in PORTS {
        let record = ((count - 1) << 26 | address).to_le_bytes();
        let at = older.stream.windows(4).position(|word| word == record).expect("a record of the port");
        // Without the switch a port moves nothing, and its format says nothing.
        put32(&mut older.stream, at + 4, 1);
    }
    let file = older.link();
    let error = convert::image(&open(&file)).expect_err("not convertible").to_string();
    assert!(error.starts_with("the tasks move output \"probs@output\" as bytes"), "{error}");
    check(&file);
}

/// Sound files of both kinds.
fn sound() -> Vec<Vec<u8>> {
    let mut files = vec![Object::older().link(), Object::newer().link(), Object::selection().link()];
    // A selection's condition has bytes, which an ANEC cannot say.
    for index in 0..2 {
        for form in Form::ALL {
            files.push(convert::to_anec(&open(&files[index]), form).expect("convertible"));
        }
    }
    files
}

#[test]
fn file_truncated_at_any_length_is_refused() {
    for file in sound() {
        check(&file);
        for len in 0..file.len() {
            check(&file[..len]);
            assert!(
                container::open(&file[..len]).is_err(),
                "{len:#x} of {:#x} bytes were accepted",
                file.len()
            );
        }
    }
}

#[test]
fn file_with_one_bit_flipped_keeps_the_promises() {
    for mut file in sound() {
        for at in 0..file.len() {
            // Two of each byte, others in each: all eight take minutes, and the fuzz target turns them, too.
            for bit in [at % 8, (at + 5) % 8] {
                file[at] ^= 1 << bit;
                check(&file);
                file[at] ^= 1 << bit;
            }
        }
    }
}

/// Numbers that readers trip over.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        0_u32..0x100,
        Just(u32::MAX),
        Just(1 << 31),
        (0_u32..0x4000).prop_map(|at| at * 4),
        (0_u32..0x4000).prop_map(|at| LINK_BASE as u32 + at * 4),
    ]
}

fn layout() -> impl Strategy<Value = Layout> {
    (1_u32..3, 1_u32..9, 1_u32..9, 1_u32..100).prop_map(|(n, c, h, w)| {
        let row = (2 * u64::from(w)).next_multiple_of(64);
        Layout { n, c, h, w, plane: row * u64::from(h), row }
    })
}

proptest! {
    #[test]
    fn file_with_random_words_overwritten_keeps_the_promises(
        which in 0_usize..7,
        damage in prop::collection::vec((any::<prop::sample::Index>(), word()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = sound().swap_remove(which);
        for (at, word) in damage {
            let at = at.index(file.len() / 4) * 4;
            put32(&mut file, at, word);
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        check(&file);
    }

    #[test]
    fn image_written_and_read_again_is_the_same(
        stream in prop::collection::vec(any::<u8>(), 40..0x5000),
        first_words in 1_u32..10,
        task_count in 1_u32..=0xffff,
        constants in prop::collection::vec(any::<u8>(), 0..0x5000),
        outputs in prop::collection::vec(layout(), 0..14),
        inputs in prop::collection::vec(layout(), 0..14),
        named in any::<bool>(),
        scratch in 0_u64..0x10_0000,
        long in any::<bool>(),
    ) {
        let mut buffers = [0; 32];
        buffers[3] = scratch.next_multiple_of(0x4000);
        for (buffer, layout) in buffers[4..].iter_mut().zip(outputs.iter().chain(&inputs)) {
            let bytes = u64::from(layout.n) * u64::from(layout.c) * layout.plane;
            *buffer = bytes.next_multiple_of(0x4000);
        }
        let place = |direction: Direction, count| {
            (0..count).map(move |index| format!("{}{}{index}", if named { "n" } else { "" }, direction.name()))
        };
        let names = place(Direction::Output, outputs.len()).chain(place(Direction::Input, inputs.len())).collect();
        let image = Image {
            stream: stream.into(),
            first_task_bytes: 4 * first_words,
            task_count,
            constants: &constants,
            buffers,
            outputs,
            inputs,
            names,
            trailer: None,
        };
        let form = if long { Form::Long } else { Form::Short };
        let file = image.write(form).expect("inside all limits");
        check(&file);
        let mut again = Image::of_anec(&open(&file));
        // The one buffer whose length follows from the rest.
        let payload = image.stream.len().next_multiple_of(16) + image.constants.len();
        let commands = payload.max(image.stream.len() + 1).next_multiple_of(0x4000) as u64;
        prop_assert_eq!(std::mem::replace(&mut again.buffers[0], 0), commands);
        prop_assert_eq!(again, image);
    }
}

/// Files that once broke a promise, found by fuzzing.
#[test]
fn regressions_of_the_fuzz_target_stay_fixed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/regressions/containers");
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    for entry in files {
        let path = entry.expect("readable folder").path();
        check(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
}
