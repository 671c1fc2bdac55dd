//! Pooling by the means that this engine has: maxima of shifted parts, and depthwise convolutions with ones.

use super::super::convolution::Padding;
use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use super::super::shape::Shape;
use super::{Setting, moving, pads};

/// A window that moves over rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Columns and rows.
    pub kernel: (u32, u32),
    /// Steps along columns and rows.
    pub stride: (u32, u32),
    /// Elements around the tensor that are not there: they are never the largest, and no mean counts them.
    pub padding: Padding,
    /// A mean counts the padding as zeros.
    pub counts_padding: bool,
    /// A last window that is not whole is taken as well.
    pub ceil: bool,
}

impl Pool {
    /// Windows beside each other.
    pub const fn new(kernel: (u32, u32)) -> Self {
        Self { kernel, stride: kernel, padding: Padding::NONE, counts_padding: false, ceil: false }
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        vec![
            ("kernel_shape", moving(self.kernel)),
            ("strides", moving(self.stride)),
            ("pads", pads(self.padding)),
            ("ceil_mode", Setting::Integer(self.ceil.into())),
        ]
    }
}

impl Pool {
    /// At most so many windows, each of which has a factor of its own.
    fn factors(&self, Shape { h, w, .. }: Shape) -> u64 {
        let Padding { left, right, top, bottom } = self.padding;
        let windows = |extent: u32, before: u32, behind: u32, stride: u32| {
            (u64::from(extent) + u64::from(before) + u64::from(behind)) / u64::from(stride.max(1)) + 1
        };
        windows(h, top, bottom, self.stride.1).saturating_mul(windows(w, left, right, self.stride.0))
    }
}

impl Graph {
    /// The largest element of each window.
    ///
    /// # Errors
    ///
    /// Refuses windows without extent and those larger than the padded tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Graph, Padding, Pool, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Shape::new(16, 9, 9))?;
    /// let pool = Pool { stride: (2, 2), padding: Padding::all(1), ..Pool::new((3, 3)) };
    /// let y = graph.max_pool(x, &pool)?;
    /// assert_eq!(graph.shape(y)?, Shape::new(16, 5, 5));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn max_pool(&mut self, x: Tensor, pool: &Pool) -> Result<Tensor> {
        let settings = pool.settings();
        self.layer("max pool", &[x], |layer, values| layer.operator("MaxPool", values, &settings))
    }

    /// The mean of each window.
    ///
    /// # Errors
    ///
    /// As [`max_pool`](Self::max_pool).
    pub fn mean_pool(&mut self, x: Tensor, pool: &Pool) -> Result<Tensor> {
        self.check_room(pool.factors(self.shape(x)?).saturating_mul(size_of::<f64>() as u64))?;
        let mut settings = pool.settings();
        settings.push(("count_include_pad", Setting::Integer(pool.counts_padding.into())));
        self.layer("mean pool", &[x], |layer, values| layer.operator("AveragePool", values, &settings))
    }
}
