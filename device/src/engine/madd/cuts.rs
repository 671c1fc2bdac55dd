//! The columns of panels that are pixels, for all groups of a pass.
//!
//! The panels of every group are cut alike. Where groups are many there is little to compute for each of them, and to cut its
//! panels anew would be a good part of that.

use super::layout::Layout;
use super::shape::Shape;
use crate::engine::kernels::Pixels;

/// Cuts that are kept at most; a pass with more of them has larger groups, or rows of few pixels.
const KEPT: usize = 4096;

/// The cuts of a pass, or none if each panel has to be cut where it is needed.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    pixels: Vec<Pixels>,
    /// Where those of each panel end, or those of all in one piece.
    ends: Vec<usize>,
}

impl Cuts {
    /// Cuts the panels of a pass.
    pub(super) fn set(&mut self, layout: &Layout, shape: &Shape) {
        self.pixels.clear();
        self.ends.clear();
        // A cut begins with a panel or with a row.
        if shape.groups == 1 || layout.panels().saturating_add(shape.out_height) > KEPT {
            return;
        }
        if layout.own && layout.is_row() {
            // They are all in one piece.
            self.keep(layout.pixels(shape, &(0..layout.panels())));
        } else if !layout.is_row() {
            for panel in 0..layout.panels() {
                self.keep(layout.pixels(shape, &(panel..panel.saturating_add(1))));
            }
        }
    }

    fn keep(&mut self, cut: impl Iterator<Item = Pixels>) {
        self.pixels.extend(cut);
        self.ends.push(self.pixels.len());
    }

    /// The pixels of the panels from this one on that are cut together, if they are kept.
    pub(super) fn of(&self, panel: usize) -> Option<&[Pixels]> {
        let end = *self.ends.get(panel)?;
        let start =
            panel.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.pixels.get(start..end)
    }
}
