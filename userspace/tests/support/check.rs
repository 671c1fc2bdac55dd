//! The properties of every file, however damaged: the random tests and the fuzz target check them.

use std::borrow::Cow;

use ane::container::anec::{self, Form, Image};
use ane::container::{self, Container, Program, Role, UnknownBar, convert, lies_inside, limits};

/// Opens `file` and holds the result, whatever it is, to what the reader promises.
///
/// # Panics
///
/// If a promise is broken.
pub(crate) fn check(file: &[u8]) {
    let program = match container::open(file) {
        Ok(program) => program,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    borrows_from_the_file(&program, file);
    is_consistent(&program);
    each_surface_is_found(&program);
    for warning in &program.warnings {
        assert!(!warning.to_string().is_empty());
    }
    if program.container == Container::Anec && is_bound_in_order(&program) {
        written_again_is_the_same(&program);
    }
    if let Ok(image) = convert::image(&program) {
        converted_keeps_the_tasks(&program, &image);
    }
}

fn borrows_from_the_file(program: &Program<'_>, file: &[u8]) {
    // The empty stream of an object that is not understood lies nowhere.
    assert!(
        program.stream.is_empty() || lies_inside(program.stream, file),
        "task stream is outside the file"
    );
    for constants in &program.constants {
        assert!(lies_inside(constants.bytes, file), "{} is outside the file", constants.name);
    }
    let names = program.surfaces.iter().map(|surface| &surface.name);
    for text in names.chain(&program.banner) {
        if let Cow::Borrowed(text) = text {
            assert!(text.is_empty() || lies_inside(text.as_bytes(), file), "{text:?} is outside the file");
        }
    }
}

/// A name means the first surface of that name, whatever the others are called; the empty name, too.
fn each_surface_is_found(program: &Program<'_>) {
    let names = || program.surfaces.iter().map(|surface| surface.name.as_ref());
    for (place, name) in names().enumerate() {
        let found = container::find_operand(names(), name).expect("a surface has this name");
        assert!(found <= place && names().nth(found) == Some(name), "{name:?} means surface {found}");
    }
}

fn is_consistent(program: &Program<'_>) {
    assert!(program.bars.is_sorted_by(|a, b| a.index < b.index), "BARs are out of order");
    for bar in &program.bars {
        assert!(usize::from(bar.index) < limits::BARS);
        assert!(bar.bytes <= limits::BUFFER_BYTES_MAX);
        match bar.role {
            Role::Tasks => assert_eq!(bar.index, 0),
            Role::Surface(index) => assert_eq!(program.surfaces[index].bar, bar.index),
            Role::Constants(index) => assert_eq!(program.constants[index].bar, Some(bar.index)),
            Role::Scratch | Role::Unassigned => {}
        }
    }
    for (index, constants) in program.constants.iter().enumerate() {
        let role = constants.bar.map(|bar| program.bar(bar).expect("a bound section has a BAR").role);
        assert!(role.is_none_or(|role| role == Role::Constants(index)), "{}: {role:?}", constants.name);
    }
    for (index, surface) in program.surfaces.iter().enumerate() {
        let bar = program.bar(surface.bar).expect("a surface has a BAR");
        assert_eq!((bar.role, bar.bytes), (Role::Surface(index), surface.buffer_bytes));
        let (shape, strides) = (surface.shape, surface.strides);
        let last = [(shape.n, strides.n), (shape.c, strides.c), (shape.h, strides.h), (shape.w, strides.w)]
            .iter()
            .map(|&(count, stride)| u128::from(count - 1) * u128::from(stride))
            .sum::<u128>();
        let element = surface.element.bytes().unwrap_or(0);
        assert!(
            last + u128::from(element) <= u128::from(surface.buffer_bytes),
            "{} ends too late",
            surface.name
        );
    }
}

/// Whether outputs lie from BAR 4 on, with inputs behind them.
fn is_bound_in_order(program: &Program<'_>) -> bool {
    (anec::SURFACES_BAR..).zip(&program.surfaces).all(|(bar, surface)| surface.bar == bar)
}

fn written_again_is_the_same(program: &Program<'_>) {
    for form in Form::ALL {
        let file = Image::of_anec(program).write(form).expect("what was read can be written");
        let again = anec::read(&file).expect("what was written can be read");
        assert_eq!(without_warnings(&again), without_warnings(program));
    }
}

fn without_warnings<'a>(program: &Program<'a>) -> Program<'a> {
    Program { warnings: Vec::new(), ..program.clone() }
}

fn converted_keeps_the_tasks(program: &Program<'_>, image: &Image<'_>) {
    let Ok(file) = image.write(Form::Long) else { return };
    let converted = container::open(&file).expect("what was converted can be read");
    is_consistent(&converted);
    assert_eq!(converted.surfaces.len(), program.surfaces.len());
    assert_eq!(converted.first_task_bytes, program.first_task_bytes);

    let before: Vec<_> = program.tasks().expect("h13").map(|task| task.expect("converted")).collect();
    let after: Vec<_> = converted.tasks().expect("h13").map(|task| task.expect("still a chain")).collect();
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.offset, after.offset);
        for (at, (old, new)) in before.words.iter().zip(after.words).enumerate() {
            assert!(old == new || at == 8 || at == 9, "task {} word {at} changed", before.index);
        }
        assert_eq!(before.words.len(), after.words.len());
    }

    match convert::to_anec(&converted, Form::Long) {
        Ok(again) => assert!(again == file, "a second conversion changes the file"),
        // A section of no bytes leaves no trace in an ANEC, though a task may name its BAR.
        Err(convert::Error::UnknownBar(UnknownBar { bar, .. })) => {
            assert!(
                converted.bar(bar).is_none() && image.buffers[usize::from(bar)] == 0,
                "BAR {bar} was lost"
            );
        }
        Err(error) => panic!("what was converted cannot be converted: {error}"),
    }
}
