//! Element by element: one pass for what channels and rows reach, operands stretched.

use super::held::{Held, Piece, groups, pieces};
use super::{Lower, Why, extent, shape};
use crate::build::{BuildError, Element, Graph, Lines, Tail, Tensor, channels_max};

impl Lower<'_> {
    /// Runs `pass` over all of `result`, with the parts of the operands that go with each part of it.
    ///
    /// Operands have the rank of the result, and the same axis as columns or extent 1 along it. Where `stretches`, an
    /// operand of extent 1 is given so; otherwise its lines are repeated by a stride of 0.
    pub(super) fn each(
        &mut self,
        result: &Held,
        operands: &[&Held],
        stretches: bool,
        mut pass: impl FnMut(&mut Graph, Tensor, &[Tensor]) -> Result<(), BuildError>,
    ) -> Result<(), Why> {
        let mut all = vec![result];
        all.extend(operands);
        let skip: Vec<usize> = result.column.into_iter().collect();
        let groups = groups(&result.dims, &skip, &all);
        let natural = operands.first().map_or(result.whole, |first| first.whole);
        let most = channels_max(all.len(), extent(result.width())) as usize;
        for Piece { c, h, lines } in pieces(&groups, all.len(), natural, most)? {
            let mut views = Vec::new();
            // Two operands make a result of their own extents. Where both stretch, the lines of the first are repeated.
            let both =
                |stride: fn(&Lines) -> u64| all.len() > 2 && lines[1..].iter().all(|of| stride(of) == 0);
            let repeats = [both(|of| of.plane), both(|of| of.row)];
            for (at, (held, &lines)) in all.iter().zip(&lines).enumerate() {
                let one = |stride: u64, extent: usize, repeats: bool| {
                    if stretches && stride == 0 && !(repeats && at == 1) { 1 } else { extent }
                };
                let w = if stretches { held.width() } else { result.width() };
                let (c, h) = (one(lines.plane, c, repeats[0]), one(lines.row, h, repeats[1]));
                views.push(self.view(held, shape(c, h, w), lines)?);
            }
            if let Some((&place, sources)) = views.split_first() {
                pass(self.graph, place, sources)?;
            }
        }
        Ok(())
    }

    /// Copies a tensor into a place of the same extents, and the same axis as columns.
    pub(super) fn copy_into(&mut self, place: &Held, held: &Held) -> Result<(), Why> {
        self.each(place, &[held], false, |graph, place, sources| {
            graph.pass_through_into(place, sources[0], Tail::NONE)
        })
    }

    /// Sends each element through the neural engine.
    pub(super) fn through(&mut self, held: &Held, tail: Tail) -> Result<Held, Why> {
        let result = self.fresh(&held.dims, held.column)?;
        self.each(&result, &[held], false, |graph, place, sources| {
            graph.pass_through_into(place, sources[0], tail)
        })?;
        Ok(result)
    }

    /// Sends each element through the planar engine.
    pub(super) fn planar(&mut self, held: &Held, element: Element) -> Result<Held, Why> {
        let result = self.fresh(&held.dims, held.column)?;
        self.each(&result, &[held], false, |graph, place, sources| {
            graph.unary_into(place, sources[0], element)
        })?;
        Ok(result)
    }

    /// Combines two tensors of one rank that have the same columns, or extent 1 there.
    pub(super) fn combine(&mut self, a: &Held, b: &Held, element: Element) -> Result<Held, Why> {
        let dims: Vec<usize> =
            a.dims.iter().zip(&b.dims).map(|(&a, &b)| if a == 1 { b } else { a }).collect();
        let result = self.fresh(&dims, a.column.or(b.column))?;
        self.each(&result, &[a, b], true, |graph, place, sources| {
            graph.binary_into(place, sources[0], sources[1], element)
        })?;
        Ok(result)
    }
}
