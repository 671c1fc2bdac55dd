//! Tiling: from dense halves to what the engine reads, and back.
//!
//! [`Layout`] has the copies, of bytes; this is what halves and the surfaces of programs have to do with it.

use half::f16;
use thiserror::Error;
use zerocopy::IntoBytes;

use crate::container::{Element, Surface};

pub use ane_tiling::Layout;

/// A surface that cannot be tiled, or memory and values that do not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    #[error("surface has elements of {0}, only fp16 is known")]
    Element(Element),
    #[error(transparent)]
    Layout(#[from] ane_tiling::Error),
}

pub fn layout(surface: &Surface<'_>) -> Result<Layout, Error> {
    if surface.element != Element::Half {
        return Err(Error::Element(surface.element));
    }
    Ok(Layout::new(surface.shape, surface.strides)?)
}

/// Puts dense values, in the order N, C, H, W, where the engine reads them. The bytes in the gaps stay.
pub fn tile(layout: &Layout, from: &[f16], into: &mut [u8]) -> Result<(), Error> {
    Ok(layout.tile(from.as_bytes(), into)?)
}

/// Takes values from where the engine put them.
pub fn untile(layout: &Layout, from: &[u8], into: &mut [f16]) -> Result<(), Error> {
    Ok(layout.untile(from, into.as_mut_bytes())?)
}
