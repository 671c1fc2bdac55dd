//! The axes of a tensor.

/// One value for each axis of a surface; width is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axes<T> {
    /// Batch.
    pub n: T,
    /// Channels.
    pub c: T,
    /// Height.
    pub h: T,
    /// Width.
    pub w: T,
}

impl<T> Axes<T> {
    /// The same of each axis.
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> Axes<U> {
        Axes { n: of(self.n), c: of(self.c), h: of(self.h), w: of(self.w) }
    }
}
