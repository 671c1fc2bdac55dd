//! Reductions: the planar engine's, over columns or over rows and columns.

use ane_uapi::hw::td::planar::PostFunction;

use super::held::{Group, Held, fewest_rows, groups, looped};
use super::{Lower, Why, shape};
use crate::build::{Element, Limit, Lines, Over, Reduce as Pass, channels_max};
use crate::model::network::operation::{Post, Reduce, ReduceKind};

impl Lower<'_> {
    pub(super) fn reduce(&mut self, reduce: &Reduce, x: Held) -> Result<Held, Why> {
        let long: Vec<usize> = reduce.axes.iter().copied().filter(|&axis| x.dims[axis] > 1).collect();
        let mut dims = x.dims.clone();
        long.iter().for_each(|&axis| dims[axis] = 1);
        let x = match x.column {
            Some(column) if long.contains(&column) => x,
            _ => self.by_column(&x, long.iter().copied().max_by_key(|&axis| x.dims[axis]))?,
        };
        // Where nothing is reduced, each element is a plane of its own.
        let x = if long.is_empty() { self.by_column(&x, None)? } else { x };
        let (element, pass) = self.passes(reduce);
        let rest: Vec<usize> = long.iter().copied().filter(|&axis| Some(axis) != x.column).collect();
        let x = if groups_of(&x, &rest).len() > 1 { self.reduced_last(&x, &rest)? } else { x };
        let result = self.fresh(&dims, None)?;
        let inner = groups_of(&x, &rest).first().map_or((1, 0), |group| (group.extent, group.strides[0]));
        let mut skip = rest.clone();
        skip.extend(x.column);
        let kept = groups(&x.dims, &skip, &[&x, &result]);
        let over = if rest.is_empty() { Over::Columns } else { Over::Plane };
        // The window of the result is as wide as the operand.
        let most = channels_max(2, super::extent(x.width())) as usize;
        let (channels, rows, others) = shared(&kept, over, most);
        for places in looped(&others, 2)? {
            let (extent, stride) = if rest.is_empty() { (rows.extent, rows.strides[0]) } else { inner };
            let source = Lines { base: places[0], plane: channels.strides[0], row: stride };
            let place = Lines { base: places[1], plane: channels.strides[1], row: rows.strides[1] };
            let source = self.view(&x, shape(channels.extent, extent, x.width()), source)?;
            let place = self.view(&result, shape(channels.extent, rows.extent, 1), place)?;
            self.graph.reduce_into(place, (source, None), element, pass, over)?;
        }
        Ok(result)
    }

    /// The settings of the planar engine.
    fn passes(&mut self, reduce: &Reduce) -> (Element, Pass) {
        let element = if reduce.square { Element::SQUARE } else { Element::COPY };
        let post = match reduce.post {
            Post::None => PostFunction::None,
            Post::Reciprocal => PostFunction::Reciprocal,
            Post::ReciprocalSquareRoot => PostFunction::ReciprocalSquareRoot,
        };
        let epsilon = self.halves(&[reduce.epsilon])[0];
        match reduce.kind {
            ReduceKind::Sum => (element, Pass::SUM.then(epsilon, post)),
            ReduceKind::Mean => (element, Pass::MEAN.then(epsilon, post)),
            ReduceKind::Maximum => (element, Pass::MAXIMUM.then(epsilon, post)),
            // The smallest is what is left of the largest of the opposites.
            ReduceKind::Minimum => (
                Element { negate_first: true, final_scale: -1.0, ..element },
                Pass::MAXIMUM.then(epsilon, post),
            ),
        }
    }

    /// A copy in which the axes that are reduced follow each other.
    fn reduced_last(&mut self, x: &Held, axes: &[usize]) -> Result<Held, Why> {
        let mut order: Vec<usize> = (0..x.dims.len()).filter(|axis| !axes.contains(axis)).collect();
        order.extend(axes);
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
        let turned = x.permuted(&order);
        let copy = self.fresh(&turned.dims, turned.column)?;
        self.copy_into(&copy, &turned)?;
        Ok(copy.permuted(&back))
    }
}

/// The lines that are kept as channels, as rows, and those that are gone through.
///
/// Over columns alone, rows are batches. There are at most `channels_max` channels, where rows can take the rest.
fn shared(kept: &[Group], over: Over, channels_max: usize) -> (Group, Group, Vec<&Group>) {
    let none = Group { extent: 1, strides: vec![0; 2] };
    let longest = |but: Option<usize>, most: usize| {
        let all = (0..kept.len()).filter(|&at| Some(at) != but && kept[at].extent <= most);
        all.max_by_key(|&at| kept[at].extent)
    };
    let batches_max = Limit::Groups.max();
    let mut channels = longest(None, usize::MAX);
    let mut rows = longest(channels, batches_max as usize).filter(|_| over == Over::Columns);
    let group = |at: Option<usize>| at.map_or(none.clone(), |at| kept[at].clone());
    if group(channels).extent > channels_max && over == Over::Columns {
        let all = group(channels);
        if rows.is_some() && all.extent as u64 <= batches_max {
            (channels, rows) = (rows, channels);
        } else if rows.is_none()
            && let Some(rows) = fewest_rows(all.extent, channels_max, batches_max)
        {
            let (channels, rows) = all.dealt(rows);
            return (channels, rows, Vec::new());
        }
    }
    let others = (0..kept.len()).filter(|&at| Some(at) != channels && Some(at) != rows);
    (group(channels), group(rows), others.map(|at| &kept[at]).collect())
}

/// The axes that are reduced beside the columns, as few as there can be.
fn groups_of(x: &Held, axes: &[usize]) -> Vec<Group> {
    let skip: Vec<usize> = (0..x.dims.len()).filter(|axis| !axes.contains(axis)).collect();
    groups(&x.dims, &skip, &[x])
}
