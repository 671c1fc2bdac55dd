//! Kernels that move along depth as well as rows and columns.
//!
//! The array has two axes. Along depth every tap becomes channels, and each place of the kernel a plane of its own: one
//! of a batch, as images are. So the taps of an output are all added up by one task.

use half::f16;

use super::held::Held;
use super::stack::Shift;
use super::taps::Along;
use super::{Lower, Why};
use crate::model::network::array::elements;
use crate::model::network::operation::Convolution;
use crate::model::network::{Array, Fault};

impl Lower<'_> {
    pub(super) fn volume(
        &mut self,
        x: Held,
        convolution: &Convolution,
        weights: &Array,
        bias: Option<Vec<f16>>,
    ) -> Result<Held, Why> {
        let &[batches, channels, depth, height, width] = x.dims.as_slice() else {
            return Err(Why::Operation);
        };
        let &[outputs, reads, taps, high, wide] = weights.dims() else { return Err(Why::Operation) };
        let (stride, dilation, (before, _)) =
            (convolution.stride[0], convolution.dilation[0], convolution.padding[0]);
        let positions = convolution.positions(0, depth, taps).ok_or(Why::Operation)?;
        if (batches * positions) as u64 > super::TASKS_MAX {
            return Err(Why::Tasks { tasks: (batches * positions) as u64, most: super::TASKS_MAX });
        }
        let all = channels.checked_mul(taps).and_then(|all| all.checked_mul(positions));
        let all = all.ok_or_else(|| Fault::Elements { dims: x.dims.clone() })?;
        elements(&[batches, all, height, width])?;

        let x = self.by_column(&x, Some(4))?;
        let shift = Shift::of(Along::each_tap(taps, dilation, stride), positions, before);
        let x = self.padded(x, 2, shift.sides(depth))?;
        // Batch, place, group, tap, channel of the group, row, column.
        let shifted = x
            .dealt(2, (taps, dilation), (positions, stride))
            .dealt(1, (convolution.groups, reads), (reads, 1))
            .permuted(&[0, 4, 1, 3, 2, 5, 6]);
        let planes = self.reshape(shifted, &[batches * positions, channels * taps, height, width])?;

        let turned = weights.reshaped(vec![outputs, reads, taps, high * wide])?;
        let kernels = Array::from_fn(vec![outputs, taps * reads, high, wide], |at| {
            let (channel, place) = (at / (high * wide), at % (high * wide));
            let (output, tap, read) = (channel / (taps * reads), channel / reads % taps, channel % reads);
            turned.values()[((output * reads + read) * taps + tap) * high * wide + place]
        })?;
        let flat = Convolution {
            stride: convolution.stride[1..].to_vec(),
            dilation: convolution.dilation[1..].to_vec(),
            padding: convolution.padding[1..].to_vec(),
            ..*convolution
        };
        let whole = self.planes(planes, &flat, &kernels, bias)?;
        let &[_, _, rows, columns] = whole.dims.as_slice() else { return Err(Why::Operation) };
        Ok(self.reshape(whole, &[batches, positions, outputs, rows, columns])?.permuted(&[0, 2, 1, 3, 4]))
    }
}
