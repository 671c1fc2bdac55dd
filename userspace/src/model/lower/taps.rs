//! Taps of a kernel that become channels, where the array has no room for the kernel or would waste products on it.
//!
//! A kernel reaches 31 elements at most and moves by 3 at most (td 4.1), and a dilated one has a coefficient of zero for
//! each hole. But which of its operands the array adds up makes no difference to it: a tap may as well be a channel.
//! So the operand is copied several times, each time shifted, and the copies become channels (`stack`). Then a shorter
//! kernel that moves by less does the same. All taps of an output are still added up by one task, in one accumulator,
//! so a long kernel loses no bit against a short one.
//!
//! Along an axis, copies are made in one of two ways:
//!
//! * *blocks*: taps that follow each other stay together, and each copy is for the next of them;
//! * *phases*: of a kernel that moves by `s`, each copy has every `s`-th element, and the kernel moves by 1 over them.
//!   A kernel as long as its stride, as vision transformers begin with, then is one tap.

use super::held::COLUMNS_ALIGN;
use crate::build::Limit;
use crate::model::network::array::ELEMENTS_MAX;

/// A kernel along one axis of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) taps: usize,
    /// Distance of the taps.
    pub(super) dilation: usize,
    pub(super) stride: usize,
    /// Elements of the result.
    pub(super) positions: usize,
}

/// How a kernel is done along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Along {
    /// Copies of the operand that become channels.
    pub(super) copies: usize,
    /// Elements from the start of one copy to that of the next.
    pub(super) apart: usize,
    /// Elements from one of a copy to its next.
    pub(super) step: usize,
    /// The kernel that is left for the array, with zeros in its holes.
    pub(super) kernel: usize,
    pub(super) stride: usize,
    /// One of so many results of the array is one of the convolution's.
    pub(super) kept: usize,
}

impl Along {
    /// The operand as it is, with a kernel that reaches so far.
    pub(super) const fn direct(kernel: usize, stride: usize) -> Self {
        Self { copies: 1, apart: 1, step: 1, kernel, stride, kept: 1 }
    }

    /// Each tap a copy, of the elements that it meets alone.
    pub(super) const fn each_tap(taps: usize, dilation: usize, stride: usize) -> Self {
        Self { copies: taps, apart: dilation, step: stride, kernel: 1, stride: 1, kept: 1 }
    }

    /// Whether the array reads the operand itself.
    pub(super) const fn is_direct(&self) -> bool {
        self.copies == 1 && self.step == 1
    }

    /// Elements of each copy that `positions` results are made of.
    pub(super) const fn count(&self, positions: usize) -> usize {
        positions.saturating_sub(1).saturating_mul(self.stride).saturating_add(self.kernel)
    }

    /// The copy and the place in the array's kernel of a tap, by its distance from the first.
    pub(super) const fn place(&self, distance: usize) -> (usize, usize) {
        if self.is_direct() {
            (0, distance)
        } else if self.kernel > 1 && self.step > 1 {
            (distance % self.step, distance / self.step)
        } else {
            (distance / self.apart, distance % self.apart)
        }
    }

    /// The ways there are to do a kernel.
    fn all(kernel: Kernel) -> Vec<Self> {
        let Kernel { taps, dilation, stride, .. } = kernel;
        let (longest, fastest) = (Limit::Kernel.max() as usize, Limit::Stride.max() as usize);
        let reach = |taps: usize| taps.saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        let mut ways = Vec::new();
        if reach(taps) <= longest {
            ways.push(if stride <= fastest {
                Self::direct(reach(taps), stride)
            } else {
                Self { kept: stride, ..Self::direct(reach(taps), 1) }
            });
        }
        ways.push(Self::each_tap(taps, dilation, stride));
        if stride <= fastest {
            for block in (2..taps).take_while(|&block| reach(block) <= longest) {
                let copies = taps.div_ceil(block);
                let apart = block.saturating_mul(dilation);
                ways.push(Self { copies, apart, step: 1, kernel: reach(block), stride, kept: 1 });
            }
        }
        let phases = reach(taps).div_ceil(stride);
        if stride > 1 && (2..=longest).contains(&phases) {
            ways.push(Self { copies: stride, apart: 1, step: stride, kernel: phases, stride: 1, kept: 1 });
        }
        ways
    }
}

/// The cost of a way to compute a convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Output channels of a group, each of which has a product with every operand.
    pub(super) outputs: usize,
    /// Channels of all groups, and how many tensors of them there are.
    pub(super) channels: usize,
    pub(super) batches: usize,
}

/// Products in whose time an element is copied. (Chosen) As measured on the embedded device: 150 to 220 for dense kernels of
/// 64 channels with dilations of 2 and 6.
const COPY_PRODUCTS: u64 = 256;

/// Output channels that a task takes the time of, if it has fewer. (Chosen) As measured for a depthwise kernel with a
/// dilation of 12.
const OUTPUTS_MIN: usize = 16;

/// The way for rows and for columns that is done soonest; `None` where there is none that fits.
pub(super) fn choose(kernels: [Kernel; 2], work: Work) -> Option<[Along; 2]> {
    let (rows, columns) = (Along::all(kernels[0]), Along::all(kernels[1]));
    let ways = rows.iter().flat_map(|&rows| columns.iter().map(move |&columns| [rows, columns]));
    let costs = ways.filter_map(|way| Some((cost(kernels, way, work)?, way)));
    costs.min_by_key(|(cost, _)| *cost).map(|(_, way)| way)
}

/// The cost of a way for each channel and each element of a result, in products.
fn cost(kernels: [Kernel; 2], ways: [Along; 2], work: Work) -> Option<u64> {
    let both = |of: fn(&Along) -> usize| (of(&ways[0]) as u64).saturating_mul(of(&ways[1]) as u64);
    let times = both(|along| along.copies).saturating_mul(both(|along| along.kept));
    let products =
        both(|along| along.kernel).saturating_mul(times).saturating_mul(work.outputs.max(OUTPUTS_MIN) as u64);
    if ways.iter().all(Along::is_direct) {
        return Some(products);
    }
    let channels = both(|along| along.copies).saturating_mul(work.channels as u64);
    let [rows, columns] = [0, 1].map(|axis: usize| ways[axis].count(kernels[axis].positions));
    let line = columns.checked_next_multiple_of(COLUMNS_ALIGN)?;
    let all =
        [work.batches, rows, line].iter().fold(channels, |all, &extent| all.saturating_mul(extent as u64));
    let fits = channels <= Limit::Channels.max() && all <= ELEMENTS_MAX;
    let copied = both(|along| along.stride).saturating_mul(times);
    fits.then(|| products.saturating_add(copied.saturating_mul(COPY_PRODUCTS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Work = Work { outputs: 64, channels: 64, batches: 1 };

    fn kernel(taps: usize, dilation: usize, stride: usize, positions: usize) -> Kernel {
        Kernel { taps, dilation, stride, positions }
    }

    /// Whether the copies have each tap of each result at the place that the array looks for it.
    fn meets_all(kernel: Kernel, along: Along) -> bool {
        let mut taken = std::collections::BTreeSet::new();
        (0..kernel.taps).all(|tap| {
            let (copy, place) = along.place(tap * kernel.dilation);
            let meets = |position: usize| {
                // The array's results are those that are kept, and more between them.
                let at = position * along.kept * along.stride + place;
                let element = copy * along.apart + at * along.step;
                element == position * kernel.stride + tap * kernel.dilation
                    && (along.kept > 1 || at < along.count(kernel.positions))
            };
            copy < along.copies
                && place < along.kernel
                && taken.insert((copy, place))
                && (0..kernel.positions).all(meets)
        })
    }

    #[test]
    fn every_way_meets_every_tap_once() {
        for (taps, dilation, stride) in
            every(&[1, 2, 3, 7, 16, 31, 33, 101], &[1, 2, 5, 24, 40], &[1, 2, 3, 4, 16])
        {
            let kernel = kernel(taps, dilation, stride, 5);
            let ways = Along::all(kernel);
            assert!(!ways.is_empty());
            for way in ways {
                assert!(meets_all(kernel, way), "{kernel:?} by {way:?}");
                assert!(way.kernel as u64 <= Limit::Kernel.max() && way.stride as u64 <= Limit::Stride.max());
            }
        }
    }

    fn every<'a>(
        taps: &'a [usize],
        dilations: &'a [usize],
        strides: &'a [usize],
    ) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
        taps.iter().flat_map(move |&taps| {
            dilations
                .iter()
                .flat_map(move |&dilation| strides.iter().map(move |&stride| (taps, dilation, stride)))
        })
    }

    #[test]
    fn kernel_that_the_array_has_room_for_is_done_as_it_is() {
        for (taps, dilation, stride) in [(1, 1, 2), (3, 1, 1), (7, 1, 2), (31, 1, 1)] {
            let [rows, columns] = choose([kernel(taps, dilation, stride, 20); 2], WORK).unwrap();
            assert!(rows.is_direct() && columns.is_direct(), "{taps} {dilation} {stride}");
        }
    }

    #[test]
    fn kernel_as_long_as_its_stride_becomes_one_tap() {
        let [rows, columns] = choose([kernel(16, 1, 16, 14); 2], Work { channels: 3, ..WORK }).unwrap();
        assert_eq!(rows, columns);
        assert_eq!((rows.copies, rows.kernel, rows.stride, rows.kept), (16, 1, 1, 1));
    }

    #[test]
    fn long_kernel_is_divided_into_blocks_as_few_as_there_can_be() {
        let [rows, columns] = choose([kernel(1, 1, 1, 1), kernel(101, 1, 1, 400)], WORK).unwrap();
        assert!(rows.is_direct());
        assert!(columns.copies * columns.kernel < 106 && columns.kernel <= 31, "{columns:?}");
    }

    #[test]
    fn kernel_whose_copies_no_tensor_has_room_for_has_no_way() {
        let long = kernel(1 << 14, 1, 1, 1 << 14);
        assert_eq!(choose([long; 2], WORK), None);
        let wide = kernel(3, usize::MAX / 2, usize::MAX, 1);
        assert!(choose([wide; 2], Work { channels: usize::MAX, ..WORK }).is_none());
    }
}
