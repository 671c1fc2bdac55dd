//! Tiling against its definition.

use proptest::prelude::*;

use super::*;

fn axes<T>(n: T, c: T, h: T, w: T) -> Axes<T> {
    Axes { n, c, h, w }
}

fn counted(elements: usize) -> Vec<f16> {
    (0..elements).map(|value| f16::from_bits(value as u16 + 1)).collect()
}

#[test]
fn surface_with_overlapping_or_endless_elements_is_refused() {
    let shape = axes(1, 2, 2, 40);
    for (strides, error) in [
        (axes(0, 128, 64, 2), Error::Overlap),
        (axes(0, 160, 0, 2), Error::Overlap),
        (axes(0, 100, 80, 2), Error::Overlap),
        (axes(0, u64::MAX - 1, 80, 2), Error::Beyond),
    ] {
        assert_eq!(Layout::new(shape, strides, 1), Err(error), "{strides:?}");
    }
    assert_eq!(Layout::new(axes(1, 0, 1, 1), axes(64, 64, 64, 2), 1), Err(Error::Overlap));
}

#[test]
fn memory_and_values_of_other_sizes_are_refused() {
    let layout = Layout::new(axes(1, 2, 1, 3), axes(128, 64, 64, 2), 1).unwrap();
    assert_eq!((layout.elements(), layout.bytes()), (6, 70));
    let mut memory = [0; 70];
    assert_eq!(tile(&layout, &counted(5), &mut memory), Err(Error::Values { expected: 6, given: 5 }));
    let short = Error::Memory { needed: 70, given: 69 };
    assert_eq!(tile(&layout, &counted(6), &mut memory[..69]), Err(short));
    assert_eq!(tile(&layout, &counted(6), &mut memory), Ok(()));
}

#[test]
fn gaps_between_rows_keep_what_they_hold() {
    let layout = Layout::new(axes(1, 1, 2, 3), axes(128, 128, 64, 2), 1).unwrap();
    let mut memory = [0xee; 128];
    tile(&layout, &counted(6), &mut memory).unwrap();
    assert!(memory[6..64].iter().chain(&memory[70..]).all(|&byte| byte == 0xee));
}

/// What td 6 says, an element at a time.
fn by_definition(layout: &Layout, values: &[f16], memory: &mut [u8], row: u64, plane: u64, batch: u64) {
    let Axes { n: batches, c: channels, h: rows, w: columns } = layout.shape;
    let interleave = layout.interleave;
    let mut values = values.iter();
    for n in 0..batches {
        for c in 0..channels {
            for h in 0..rows {
                for w in 0..columns {
                    let group = u64::from(c / interleave);
                    let element = u64::from(w * interleave + c % interleave);
                    let at = u64::from(n) * batch + group * plane + u64::from(h) * row + 2 * element;
                    memory[at as usize..][..2].copy_from_slice(&values.next().unwrap().to_le_bytes());
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn tiling_agrees_with_the_definition_and_untiling_undoes_it(
        n in 1_u32..3, c in 1_u32..10, h in 1_u32..5, w in 1_u32..70,
        interleave in 1_u32..9, align in prop::sample::select(vec![2_u64, 16, 64]), gap in 0_u64..3,
    ) {
        let row = (2 * u64::from(w * interleave)).next_multiple_of(align);
        let plane = row * u64::from(h) + 64 * gap;
        let batch = plane * u64::from(c.div_ceil(interleave)) + 64 * gap;
        let layout = Layout::new(axes(n, c, h, w), axes(batch, plane, row, 2), interleave).unwrap();
        let values = counted(layout.elements());
        let bytes = (batch * u64::from(n)) as usize;
        let (mut memory, mut expected) = (vec![0xee; bytes], vec![0xee; bytes]);
        by_definition(&layout, &values, &mut expected, row, plane, batch);
        tile(&layout, &values, &mut memory).unwrap();
        prop_assert_eq!(&memory, &expected);
        let end = expected.iter().rposition(|&byte| byte != 0xee).unwrap() + 1;
        prop_assert!(layout.bytes() >= end && layout.bytes() <= bytes, "{} {}", layout.bytes(), end);
        let mut back = vec![f16::ZERO; values.len()];
        untile(&layout, &memory[..layout.bytes()], &mut back).unwrap();
        prop_assert_eq!(back, values);
    }
}
