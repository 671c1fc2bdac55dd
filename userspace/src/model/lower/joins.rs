//! Two or three operands, element by element.

use half::f16;

use super::held::Held;
use super::{Lower, Why};
use crate::build::activation as tables;
use crate::build::{Element, Tail};
use crate::model::network::operation::{Join, JoinKind};
use crate::model::network::{Kind, ValueId};

impl Lower<'_> {
    pub(super) fn join_values(&mut self, join: Join, a: ValueId, b: ValueId) -> Result<Held, Why> {
        let operands = self.same_columns(&[a, b])?;
        self.join(join, &operands[0], &operands[1])
    }

    pub(super) fn join(&mut self, join: Join, a: &Held, b: &Held) -> Result<Held, Why> {
        let element = match join.kind {
            JoinKind::Add => Element::ADD,
            JoinKind::Subtract => Element::SUBTRACT,
            JoinKind::Multiply => Element::MULTIPLY,
            JoinKind::Maximum => Element::MAXIMUM,
            JoinKind::Minimum => Element::MINIMUM,
            JoinKind::Divide => {
                let factors = self.through(b, Tail::table(tables::reciprocal()))?;
                return self.combine(a, &factors, Element::MULTIPLY);
            }
            JoinKind::Power => {
                let logarithm = self.through(a, Tail::table(tables::log2()))?;
                let exponent = self.combine(&logarithm, b, Element::MULTIPLY)?;
                return self.through(&exponent, Tail::table(tables::exp2()));
            }
        };
        self.combine(a, b, if join.relu { element.relu() } else { element })
    }

    /// A mask of the condition times one, the opposite mask times the other, and their sum (delta 4).
    pub(super) fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> Result<Held, Why> {
        let operands = self.same_columns(&[condition, a, b])?;
        let [zero, one] = [f16::ZERO, f16::ONE];
        let is_set = if self.kind(condition) == Kind::Bool {
            operands[0].clone()
        } else {
            self.through(&operands[0], Tail::table(tables::step([one, zero, one])))?
        };
        let is_clear = self.through(&operands[0], Tail::table(tables::step([zero, one, zero])))?;
        let chosen = self.combine(&is_set, &operands[1], Element::MULTIPLY)?;
        let other = self.combine(&is_clear, &operands[2], Element::MULTIPLY)?;
        self.combine(&chosen, &other, Element::ADD)
    }

    /// Values with one rank, and the same axis as columns where they are not of extent 1 there.
    pub(super) fn same_columns(&mut self, values: &[ValueId]) -> Result<Vec<Held>, Why> {
        let rank = values.iter().map(|&value| self.network.dims(value).len()).max().unwrap_or(0);
        let column = self.common_column(values, rank);
        let mut all = Vec::new();
        for &value in values {
            let missing = rank - self.network.dims(value).len();
            let own = column.and_then(|column| column.checked_sub(missing));
            all.push(self.operand_by(value, own)?.with_rank(rank));
        }
        Ok(all)
    }

    /// The axis that most of the elements lie along already.
    fn common_column(&self, values: &[ValueId], rank: usize) -> Option<usize> {
        let computed = values.iter().filter_map(|&value| self.held[value].as_ref());
        let columns = computed.filter_map(|held| {
            let missing = rank - held.dims.len();
            let elements: usize = held.dims.iter().product();
            held.column.map(|column| (elements, column + missing))
        });
        let held = columns.max_by_key(|&(elements, _)| elements).map(|(_, column)| column);
        held.or_else(|| {
            let constants = values.iter().filter(|value| self.held[**value].is_none());
            let longest = constants.filter_map(|&value| {
                let dims = self.network.dims(value);
                Held::last_column(dims).map(|axis| (dims[axis], axis + rank - dims.len()))
            });
            // A computed value has one element in each line, and may still be long along an axis.
            let lines = values.iter().filter_map(|&value| {
                let dims = self.network.dims(value);
                Held::last_column(dims).map(|axis| (dims[axis], axis + rank - dims.len()))
            });
            longest.max().or_else(|| lines.max()).map(|(_, axis)| axis)
        })
    }
}
