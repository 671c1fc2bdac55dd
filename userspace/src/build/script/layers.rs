//! Lines that become several tasks.

use super::words::{Words, axes, axis, count, extents, list, range, shape, wrong, zeros};
use super::{Script, Why};
use crate::build::{Axis, Comparison, Cut, Edge, Map, Padding, Pool, Sides, Statistic, Tensor};

/// Factors of the self-normalising unit, as they were published.
const SELU: Map = Map::Elu { alpha: 1.673_263_2, beta: 1.0, gamma: 1.050_701 };

impl Script<'_> {
    /// The result of a line of several tasks; `None` if the line is another's.
    pub(super) fn layer(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Option<Tensor>, Why> {
        if let Some(map) = map(operation, words)? {
            let [x] = self.operands(words)?;
            return Ok(Some(self.graph.map(x, map)?));
        }
        if let Some(comparison) = comparison(operation) {
            let [a, b] = self.operands(words)?;
            return Ok(Some(self.graph.compare(a, b, comparison)?));
        }
        if let Some(statistic) = other_statistic(operation) {
            let [x] = self.operands(words)?;
            let axes = axes("over", words.need("over")?)?;
            return Ok(Some(self.graph.statistic(x, statistic, &axes)?));
        }
        Ok(Some(match operation {
            "divide" | "power" | "batched_matmul" => {
                let [a, b] = self.operands(words)?;
                match operation {
                    "divide" => self.graph.divide(a, b)?,
                    "power" => self.graph.power(a, b)?,
                    _ => self.graph.batched_matmul(a, b)?,
                }
            }
            "select" => {
                let [condition, a, b] = self.operands(words)?;
                self.graph.select(condition, a, b)?
            }
            "attention" => {
                let operands = self.several(words, 3, 4)?;
                let &[query, key, value, ref mask @ ..] = operands.as_slice() else {
                    return Err(Why::Form { wanted: "NAME = attention QUERY KEY VALUE [MASK]" });
                };
                self.graph.attention(query, key, value, mask.first().copied())?
            }
            "max_pool" | "mean_pool" => {
                let [x] = self.operands(words)?;
                let pool = pool(words)?;
                if operation == "max_pool" {
                    self.graph.max_pool(x, &pool)?
                } else {
                    self.graph.mean_pool(x, &pool)?
                }
            }
            "layer_norm_over" | "rms_norm" | "group_norm" => self.norm(operation, words)?,
            "softmax_over" | "log_softmax" | "take" => self.along(operation, words)?,
            "reshape" | "expand" => {
                let (x, extents) = self.first_and(words)?;
                let shape = shape("shape", extents)?;
                if operation == "reshape" {
                    self.graph.reshape(x, shape)?
                } else {
                    self.graph.expand(x, shape)?
                }
            }
            "to_power" => {
                let [x] = self.operands(words)?;
                let exponent = words.need("exponent")?;
                self.graph.to_power(x, words.number("exponent", exponent)?)?
            }
            "permute" => {
                let [x] = self.operands(words)?;
                let order = words.need("order")?;
                let order: [Axis; 3] = axes("order", order)?
                    .try_into()
                    .map_err(|_| wrong("order", order, "channels, rows and columns in some order"))?;
                self.graph.permute(x, order)?
            }
            "tile" => {
                let [x] = self.operands(words)?;
                let mut times = |key| words.take(key).map_or(Ok(1), |value| count(key, value));
                let times = [times("channels")?, times("rows")?, times("columns")?];
                self.graph.tile(x, times)?
            }
            "pad" => {
                let [x] = self.operands(words)?;
                let (sides, edge) = padding(words)?;
                self.graph.pad(x, sides, edge)?
            }
            "cut" => {
                let [x] = self.operands(words)?;
                let extents = self.graph.shape(x)?;
                let mut part = |key, extent| {
                    words.take(key).map_or(Ok(Cut::all(extent as usize)), |value| cut(key, value))
                };
                let parts =
                    [part("channels", extents.c)?, part("rows", extents.h)?, part("columns", extents.w)?];
                self.graph.cut(x, parts)?
            }
            "depth_to_space" | "space_to_depth" => {
                let [x] = self.operands(words)?;
                let block = count("block", words.need("block")?)?;
                if operation == "depth_to_space" {
                    self.graph.depth_to_space(x, block)?
                } else {
                    self.graph.space_to_depth(x, block)?
                }
            }
            _ => return Ok(None),
        }))
    }

    fn norm(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Tensor, Why> {
        let most = if operation == "rms_norm" { 2 } else { 3 };
        let operands = self.several(words, 1, most)?;
        let Some((&x, rest)) = operands.split_first() else {
            return Err(Why::Form { wanted: "NAME = NORM X ..." });
        };
        let (scale, offset) = (rest.first().copied(), rest.get(1).copied());
        let epsilon = words.epsilon()?;
        if operation == "group_norm" {
            let groups = count("groups", words.need("groups")?)?;
            return Ok(self.graph.group_norm(x, groups, scale, offset, epsilon)?);
        }
        let axes = axes("over", words.need("over")?)?;
        Ok(if operation == "rms_norm" {
            self.graph.rms_norm(x, &axes, scale, epsilon)?
        } else {
            self.graph.layer_norm_over(x, &axes, scale, offset, epsilon)?
        })
    }

    fn along(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Tensor, Why> {
        let (x, name) = self.first_and(words)?;
        let axis = axis("axis", name)?;
        Ok(match operation {
            "softmax_over" => self.graph.softmax_over(x, axis)?,
            "log_softmax" => self.graph.log_softmax(x, axis)?,
            _ => self.graph.take(x, axis, &list("indices", words.need("indices")?)?)?,
        })
    }

    /// A tensor, and a word that is none.
    fn first_and<'a>(&self, words: &mut Words<'a>) -> Result<(Tensor, &'a str), Why> {
        let given = std::mem::take(&mut words.operands);
        match given[..] {
            [name, other] => Ok((self.tensor(name)?, other)),
            _ => Err(Why::Operands { operation: words.operation.to_owned(), wanted: 2, given: given.len() }),
        }
    }

    /// Operands of which some may be left out.
    fn several(&self, words: &mut Words<'_>, least: usize, most: usize) -> Result<Vec<Tensor>, Why> {
        let names = std::mem::take(&mut words.operands);
        let given = names.len();
        if given < least || given > most {
            let wanted = if given < least { least } else { most };
            return Err(Why::Operands { operation: words.operation.to_owned(), wanted, given });
        }
        names.into_iter().map(|name| self.tensor(name)).collect()
    }
}

fn map(operation: &str, words: &mut Words<'_>) -> Result<Option<Map>, Why> {
    let mut number = |key: &str, otherwise: f64| match words.take(key) {
        Some(value) => words.number(key, value),
        None => Ok(otherwise),
    };
    Ok(Some(match operation {
        "abs" => Map::Abs,
        "sign" => Map::Step { below: -1.0, zero: 0.0, above: 1.0 },
        "floor" => Map::Floor,
        "ceil" => Map::Ceil,
        "round" => Map::Round,
        "softsign" => Map::Softsign,
        "selu" => SELU,
        "elu" => Map::Elu { alpha: number("alpha", 1.0)?, beta: 1.0, gamma: 1.0 },
        "clip" => Map::Clip(words.bound("low")?, words.bound("high")?),
        "affine" => Map::Affine { scale: number("scale", 1.0)?, offset: number("offset", 0.0)? },
        _ => return Ok(None),
    }))
}

fn comparison(operation: &str) -> Option<Comparison> {
    Some(match operation {
        "equal" => Comparison::Equal,
        "not_equal" => Comparison::NotEqual,
        "less" => Comparison::Less,
        "less_or_equal" => Comparison::LessOrEqual,
        "greater" => Comparison::Greater,
        "greater_or_equal" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// Those that have no pass of their own.
fn other_statistic(operation: &str) -> Option<Statistic> {
    Some(match operation {
        "smallest" => Statistic::Smallest,
        "product" => Statistic::Product,
        "sum_of_squares" => Statistic::SumOfSquares,
        "norm1" => Statistic::Norm1,
        "norm2" => Statistic::Norm2,
        "log_sum" => Statistic::LogSum,
        "log_sum_exp" => Statistic::LogSumExp,
        _ => return None,
    })
}

fn pool(words: &mut Words<'_>) -> Result<Pool, Why> {
    let plain = Pool::new(extents("kernel", words.need("kernel")?)?);
    let (ceil, counts_padding) = (words.yes("ceil")?, words.yes("counts_padding")?);
    let stride = words.take("stride").map_or(Ok(plain.stride), |value| extents("stride", value))?;
    let padding = words.take("padding").map_or(Ok(Padding::NONE), |value| zeros("padding", value))?;
    Ok(Pool { stride, padding, ceil, counts_padding, ..plain })
}

fn padding(words: &mut Words<'_>) -> Result<(Sides, Edge), Why> {
    let mut side = |key| match words.take(key) {
        None => Ok((0, 0)),
        Some(value) => match list(key, value)?[..] {
            [before, behind] => Ok((before, behind)),
            _ => Err(wrong(key, value, "two numbers, before and behind")),
        },
    };
    let sides = [side("channels")?, side("rows")?, side("columns")?];
    let edge = match words.take("edge") {
        None => Edge::Value(0.0),
        Some("nearest") => Edge::Nearest,
        Some("mirrored") => Edge::Mirrored,
        Some("wrapped") => Edge::Wrapped,
        Some(value) => Edge::Value(words.number("edge", value)?),
    };
    Ok((sides, edge))
}

/// `A..B`, `A..B:STEP`; by a step below zero from `B - 1` down to `A`.
fn cut(key: &str, value: &str) -> Result<Cut, Why> {
    let bad = || wrong(key, value, "a range such as 0..8, or 0..8:2 by a step");
    let (ends, step) = value.split_once(':').unwrap_or((value, "1"));
    let step: isize = step.parse().ok().filter(|step| *step != 0).ok_or_else(bad)?;
    let ends = range(key, ends)?;
    let count = ends.end.checked_sub(ends.start).ok_or_else(bad)? as usize;
    let start = if step > 0 { ends.start as usize } else { (ends.end as usize).saturating_sub(1) };
    Ok(Cut { start, step, count: count.div_ceil(step.unsigned_abs()) })
}
