//! Tiling against its definition.

use proptest::prelude::*;

use super::*;

fn axes<T>(n: T, c: T, h: T, w: T) -> Axes<T> {
    Axes { n, c, h, w }
}

/// Bytes of which no two neighbours are alike, and none is 0 or 0xee.
fn counted(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 211) as u8 + 1).collect()
}

#[test]
fn surface_with_overlapping_or_endless_elements_is_refused() {
    let shape = axes(1, 2, 2, 40);
    for (strides, error) in [
        (axes(0, 128, 64, 2), Error::Overlap),
        (axes(0, 160, 0, 2), Error::Overlap),
        (axes(0, 100, 80, 2), Error::Overlap),
        (axes(0, 159, 80, 2), Error::Overlap),
        (axes(0, 160, 80, 1), Error::Overlap),
        (axes(0, u64::MAX - 1, 80, 2), Error::Beyond),
        (axes(0, 1 << 63, 80, 2), Error::Beyond),
    ] {
        assert_eq!(Layout::new(shape, strides), Err(error), "{strides:?}");
    }
    assert_eq!(Layout::new(axes(1, 0, 1, 1), axes(64, 64, 64, 2)), Err(Error::Overlap));
    let most = u32::MAX;
    assert_eq!(
        Layout::new(axes(most, most, most, most), axes(1 << 62, 1 << 40, 1 << 34, 2)),
        Err(Error::Beyond)
    );
}

#[test]
fn stride_of_an_axis_of_one_is_not_looked_at() {
    for stride in [0, 1, u64::MAX] {
        let layout = Layout::new(axes(1, 1, 1, 3), axes(stride, stride, stride, 2)).unwrap();
        let mut memory = [0xee; 6];
        layout.tile(&[1, 2, 3, 4, 5, 6], &mut memory[..]).unwrap();
        assert_eq!((layout.bytes(), memory), (6, [1, 2, 3, 4, 5, 6]));
    }
}

#[test]
fn memory_and_values_of_other_sizes_are_refused_and_nothing_is_copied() {
    let layout = Layout::new(axes(1, 2, 1, 3), axes(128, 64, 64, 2)).unwrap();
    assert_eq!((layout.elements(), layout.dense_bytes(), layout.bytes()), (6, 12, 70));
    let mut memory = [0xee; 70];
    let values = |given| Err(Error::Values { expected: 6, given });
    assert_eq!(layout.tile(&[1; 10], &mut memory[..]), values(5));
    assert_eq!(layout.tile_clearing(&[1; 13], &mut memory), values(7));
    assert_eq!(layout.untile(&memory[..], &mut [1; 14]), values(7));
    let short = Err(Error::Memory { needed: 70, given: 69 });
    assert_eq!(layout.tile(&[1; 12], &mut memory[..69]), short);
    assert_eq!(layout.tile_clearing(&[1; 12], &mut memory[..69]), short);
    assert_eq!(layout.untile(&memory[..69], &mut [1; 12]), short);
    assert_eq!(memory, [0xee; 70]);
}

/// The definition of td 6, an element at a time: offset n * batch + c * plane + h * row + w * column.
fn by_definition(layout: &Layout, mut copy: impl FnMut(usize, usize)) {
    let (shape, strides) = (layout.shape, layout.strides);
    let mut dense = 0;
    for n in 0..u64::from(shape.n) {
        for c in 0..u64::from(shape.c) {
            for h in 0..u64::from(shape.h) {
                for w in 0..u64::from(shape.w) {
                    let at = n * strides.n + c * strides.c + h * strides.h + w * strides.w;
                    copy(dense, at as usize);
                    dense += 2;
                }
            }
        }
    }
}

/// The memory that dense bytes make, upon what it holds already.
fn tiled(layout: &Layout, dense: &[u8], mut memory: Vec<u8>) -> Vec<u8> {
    by_definition(layout, |from, into| memory[into..into + 2].copy_from_slice(&dense[from..from + 2]));
    memory
}

/// Memory in two pieces.
struct Cut(Vec<u8>);

#[expect(unsafe_code, reason = "the trait asks for it")]
// SAFETY: it gives no pointers.
unsafe impl Memory for Cut {
    fn bytes(&self) -> usize {
        self.0.len()
    }
    fn start(&self) -> Option<*const u8> {
        None
    }
    fn start_mut(&mut self) -> Option<*mut u8> {
        None
    }
    fn get(&self, at: usize, into: &mut [u8]) {
        Memory::get(&self.0[..], at, into);
    }
    fn put(&mut self, at: usize, from: &[u8]) {
        Memory::put(&mut self.0[..], at, from);
    }
}

/// Layouts of all kinds: rows of one half up to several lines, with and without gaps behind rows, planes and batches, at
/// any byte, and columns apart from each other.
fn layouts() -> impl Strategy<Value = Layout> {
    let shape = (1_u32..4, 1_u32..6, 1_u32..12, prop_oneof![1_u32..40, 40_u32..200]);
    let gap = || prop_oneof![3 => Just(0_u64), 1 => 1_u64..150];
    let column = prop_oneof![8 => Just(2_u64), 1 => 3_u64..9];
    (shape, column, prop::sample::select(vec![1_u64, 16, 64, 64]), (gap(), gap(), gap())).prop_map(
        |((n, c, h, w), column, align, (behind_row, behind_plane, behind_batch))| {
            let row = (column * u64::from(w)).next_multiple_of(align) + behind_row;
            let plane = row * u64::from(h) + behind_plane;
            let batch = plane * u64::from(c) + behind_batch;
            Layout::new(axes(n, c, h, w), axes(batch, plane, row, column)).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn tiling_agrees_with_the_definition_and_untiling_undoes_it(layout in layouts(), offset in 0_usize..64) {
        let dense = counted(layout.dense_bytes());
        // Bytes before and behind, which nothing may change, at any alignment.
        let room = offset..offset + layout.bytes();
        let other = vec![0xee; layout.bytes() + 128];

        let mut memory = other.clone();
        layout.tile(&dense, &mut memory[room.clone()]).unwrap();
        let mut expected = other.clone();
        expected.splice(room.clone(), tiled(&layout, &dense, vec![0xee; layout.bytes()]));
        prop_assert_eq!(&memory, &expected);

        let mut cut = Cut(vec![0xee; layout.bytes()]);
        layout.tile(&dense, &mut cut).unwrap();
        prop_assert_eq!(&cut.0, &expected[room.clone()]);

        let mut cleared = other.clone();
        let longer = offset..room.end + 32;
        layout.tile_clearing(&dense, &mut cleared[longer.clone()]).unwrap();
        let mut expected = other.clone();
        expected.splice(longer.clone(), tiled(&layout, &dense, vec![0; longer.len()]));
        prop_assert_eq!(&cleared, &expected);

        let behind = offset..offset + dense.len();
        let mut back = vec![0xee; dense.len() + 128];
        layout.untile(&memory[room], &mut back[behind.clone()]).unwrap();
        prop_assert_eq!(&back[behind.clone()], &dense);
        prop_assert!(back[..behind.start].iter().chain(&back[behind.end..]).all(|&byte| byte == 0xee));

        let mut back = vec![0xee; dense.len()];
        layout.untile(&cut, &mut back).unwrap();
        prop_assert_eq!(&back, &dense);
    }
}
