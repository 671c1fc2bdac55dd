//! Where tensors lie: on chip, in scratch memory, and those that may not move.

use super::*;

#[test]
fn tensors_that_do_not_fit_on_chip_go_to_scratch_memory() {
    let twice = |graph: &mut Graph, x| {
        let once = graph.relu(x)?;
        graph.relu(once)
    };
    let small = built(&of(Shape::new(64, 32, 128), twice));
    assert_eq!(small.scratch_bytes(), 0);
    let large = built(&of(Shape::new(64, 128, 256), twice));
    assert_eq!(large.scratch_bytes(), 64 * 128 * 512);
}

#[test]
fn tensor_that_waits_goes_to_scratch_memory_and_those_at_work_stay_on_chip() {
    // Three tensors of 0.75 MB, of which the first is read again by the last task.
    let shape = Shape::new(64, 48, 128);
    let built = built(&of(shape, |graph, x| {
        let first = graph.relu(x)?;
        let second = graph.relu(first)?;
        let third = graph.relu(second)?;
        graph.binary(third, first, Element::ADD)
    }));
    assert_eq!(built.scratch_bytes(), 64 * 48 * 256);
    let program = built.program();
    let tasks = tasks(&program);
    let sources: Vec<_> = tasks.iter().map(|task| read(task, &l2::SOURCE_CFG)).collect();
    let (stream, on_chip) = (SourceType::Stream as u8, SourceType::OnChip as u8);
    let types: Vec<_> = sources.iter().map(|source| source.source_type()).collect();
    assert_eq!(types, [stream, stream, on_chip, on_chip]);
    assert!(sources[3].src2_in_memory(), "the first, which waited");
}

#[test]
fn of_tensors_that_wait_equally_long_the_largest_goes_to_scratch_memory() {
    // The sums and the first tensor wait for the same task. They do not fit beside two more tensors of 0.75 MB.
    let shape = Shape::new(64, 48, 128);
    let built = built(&of(shape, |graph, x| {
        let sums = graph.reduce(x, Element::COPY, Reduce::SUM, Over::Columns)?;
        let first = graph.relu(x)?;
        let second = graph.relu(x)?;
        let third = graph.relu(second)?;
        let both = graph.binary(first, sums, Element::ADD)?;
        graph.binary(both, third, Element::ADD)
    }));
    assert_eq!(built.scratch_bytes(), 64 * 48 * 256);
}

#[test]
fn working_set_that_does_not_fit_is_named_with_its_task() {
    let error = refusal(Shape::new(64, 128, 256), |graph, x| {
        let once = graph.relu(x)?;
        graph.place(once, Placement::Chip)?;
        graph.relu(once)
    });
    let error = error.expect("4 MB do not fit");
    assert_eq!(
        error.to_string(),
        "task 0 (pass-through): result of 0x400000 bytes does not fit, 0x0 of the working set's 0x200000 bytes \
         are in use"
    );
}

/// What makes another tensor of the rows of one, so that it has to lie in memory.
type Bind = fn(&mut Graph, Tensor) -> Result<Tensor, BuildError>;

#[test]
fn tensor_whose_rows_are_taken_otherwise_stays_in_memory_whatever_is_wished() {
    let lines: Bind = |graph, x| {
        let Lines { base, plane, row } = Lines::of(graph.shape(x)?);
        graph.lines(x, Shape::new(4, 3, 8), Lines { base, plane: row, row: plane })
    };
    let interleave: Bind = |graph, x| graph.interleave(x, 3).map(|()| x);
    for bind in [Graph::fold as Bind, lines, interleave] {
        let with = |wish: Option<Placement>| {
            built(&of(Shape::new(3, 4, 8), |graph, x| {
                let once = graph.relu(x)?;
                let bound = bind(graph, once)?;
                wish.map_or(Ok(()), |wish| graph.place(once, wish))?;
                assert!(matches!(graph.place(once, Placement::Chip), Err(BuildError::Place { .. })));
                graph.unary(bound, Element::COPY)
            }))
        };
        let plain = with(None);
        assert!(plain.scratch_bytes() > 0);
        assert_eq!(plain, with(Some(Placement::Auto)));
        assert_eq!(plain, with(Some(Placement::Scratch)));
    }
}

#[test]
fn tensor_that_is_refused_another_order_of_rows_may_still_lie_on_chip() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(3, 4, 8)).expect("fits");
    let once = graph.relu(x).expect("fits");
    let lines = Lines { base: 32, ..Lines::of(Shape::new(3, 4, 8)) };
    assert!(graph.lines(once, Shape::new(3, 4, 8), lines).is_err());
    let part = graph.slice(once, 0..2, 0..4).expect("is inside");
    assert!(graph.fold(part).is_err());
    assert_eq!(graph.place(once, Placement::Chip), Ok(()));
}
