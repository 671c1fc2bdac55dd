//! The axes of a tensor.

/// One value for each axis of a surface; width is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axes<T> {
    pub n: T,
    pub c: T,
    pub h: T,
    pub w: T,
}

impl<T> Axes<T> {
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> Axes<U> {
        Axes { n: of(self.n), c: of(self.c), h: of(self.h), w: of(self.w) }
    }
}
