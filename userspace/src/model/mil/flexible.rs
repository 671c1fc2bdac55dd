//! The shapes that an input may have. They stand in the description of a model, beside its program: a default shape, and
//! a range for each axis or a list of shapes. The program itself leaves these extents open.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fmt;

use crate::model::problem::Why;
use crate::model::protobuf::{Damage, Message};

/// Shapes that an error lists.
const TOLD_MAX: usize = 8;

/// The shapes of one input, as far as its last axes go: all axes of an array, rows and columns of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Flexible {
    /// The shape that is taken if the client chooses none.
    default: Vec<i64>,
    allowed: Allowed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Allowed {
    /// Nothing is said of it.
    #[default]
    Any,
    /// For each axis, the least and the largest extent.
    Ranges(Vec<Range>),
    Shapes(Vec<Vec<i64>>),
}

/// Extents of an axis. A largest one below zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Range {
    least: u64,
    most: i64,
}

impl Range {
    fn has(self, extent: usize) -> bool {
        let extent = extent as u64;
        extent >= self.least && (self.most < 0 || extent <= self.most.unsigned_abs())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.most < 0 {
            write!(f, "{} and more", self.least)
        } else {
            write!(f, "{} to {}", self.least, self.most)
        }
    }
}

impl Flexible {
    /// The shape of an input with `given` extents: those that are known or that the client chose.
    ///
    /// # Errors
    ///
    /// An extent outside of its range, or no single shape of the list that has them.
    pub(super) fn chosen(&self, name: &str, given: &[Option<usize>]) -> Result<Vec<Option<usize>>, Why> {
        // An input with fewer axes than its description is left as it is.
        let Some((outer, given)) =
            given.len().checked_sub(self.default.len()).and_then(|at| given.split_at_checked(at))
        else {
            return Ok(given.to_vec());
        };
        let numbers = |shape: &[i64]| shape.iter().map(|&extent| usize::try_from(extent).ok()).collect();
        let default: Vec<Option<usize>> = numbers(&self.default);
        let completed: Vec<Option<usize>> =
            given.iter().zip(default).map(|(&extent, default)| extent.or(default)).collect();
        let chosen = match &self.allowed {
            Allowed::Any => completed,
            Allowed::Ranges(ranges) => {
                let outside = |((_, extent), range): &((usize, &Option<usize>), &Range)| {
                    extent.is_some_and(|extent| !range.has(extent))
                };
                if let Some(((axis, extent), range)) = completed.iter().enumerate().zip(ranges).find(outside)
                {
                    let (axis, extent) = (outer.len().saturating_add(axis), extent.unwrap_or_default());
                    return Err(Why::Mode(format!(
                        "extent {extent} of {name}.{axis} is not in its range, {range}"
                    )));
                }
                completed
            }
            Allowed::Shapes(shapes) => {
                let same = |(&of, given): (&i64, &Option<usize>)| {
                    given.is_none_or(|given| usize::try_from(of) == Ok(given))
                };
                let fits =
                    |shape: &&Vec<i64>| shape.len() == given.len() && shape.iter().zip(given).all(same);
                let fitting: Vec<&Vec<i64>> = shapes.iter().filter(fits).collect();
                match fitting.as_slice() {
                    [only] => numbers(only),
                    several if several.contains(&&self.default) => numbers(&self.default),
                    _ => return Err(Why::Mode(Self::no_single(name, shapes, fitting.len()))),
                }
            }
        };
        Ok([outer, &chosen].concat())
    }

    fn no_single(name: &str, shapes: &[Vec<i64>], fitting: usize) -> String {
        let told: Vec<String> = shapes.iter().take(TOLD_MAX).map(|shape| format!("{shape:?}")).collect();
        let more = match shapes.len().saturating_sub(TOLD_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = if fitting == 0 { "none".to_owned() } else { fitting.to_string() };
        format!(
            "{count} of the shapes of {name:?} fit the chosen extents; there are {}{more}",
            told.join(", ")
        )
    }
}

/// The inputs of a `ModelDescription` that have more than one shape, for the function of this name.
pub(super) fn read(description: &[u8], function: &str) -> Result<BTreeMap<String, Flexible>, Damage> {
    let mut inputs = BTreeMap::new();
    Message::new("ModelDescription", description).for_each(|number, field| {
        match number {
            1 => inputs.extend(feature(field.bytes())?),
            20 => inputs.extend(of_function(field.bytes(), function)?),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(inputs)
}

/// `FunctionDescription`, of a model with several functions.
fn of_function(bytes: &[u8], function: &str) -> Result<BTreeMap<String, Flexible>, Damage> {
    let (mut name, mut inputs) = (String::new(), BTreeMap::new());
    Message::new("FunctionDescription", bytes).for_each(|number, field| {
        match number {
            1 => name = field.text(),
            2 => inputs.extend(feature(field.bytes())?),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(if name == function { inputs } else { BTreeMap::new() })
}

/// `FeatureDescription` of an array or an image.
fn feature(bytes: &[u8]) -> Result<Option<(String, Flexible)>, Damage> {
    let (mut name, mut of) = (String::new(), None);
    Message::new("FeatureDescription", bytes).for_each(|number, field| {
        match number {
            1 => name = field.text(),
            3 => Message::new("FeatureType", field.bytes()).for_each(|number, field| {
                match number {
                    4 => of = Some(image(field.bytes())?),
                    5 => of = Some(array(field.bytes())?),
                    _ => {}
                }
                Ok::<(), Damage>(())
            })?,
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(of.map(|of| (name, of)))
}

/// `ArrayFeatureType`.
fn array(bytes: &[u8]) -> Result<Flexible, Damage> {
    let mut flexible = Flexible::default();
    Message::new("ArrayFeatureType", bytes).for_each(|number, field| {
        match number {
            1 => field.integers("ArrayFeatureType", &mut flexible.default)?,
            21 => flexible.allowed = Allowed::Shapes(shapes(field.bytes())?),
            31 => flexible.allowed = Allowed::Ranges(ranges(field.bytes())?),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(flexible)
}

fn shapes(bytes: &[u8]) -> Result<Vec<Vec<i64>>, Damage> {
    let mut shapes = Vec::new();
    Message::new("EnumeratedShapes", bytes).for_each(|number, field| {
        if number == 1 {
            let mut shape = Vec::new();
            Message::new("Shape", field.bytes()).for_each(|number, field| {
                if number == 1 {
                    field.integers("Shape", &mut shape)?;
                }
                Ok::<(), Damage>(())
            })?;
            shapes.push(shape);
        }
        Ok::<(), Damage>(())
    })?;
    Ok(shapes)
}

fn ranges(bytes: &[u8]) -> Result<Vec<Range>, Damage> {
    let mut ranges = Vec::new();
    Message::new("ShapeRange", bytes).for_each(|number, field| {
        if number == 1 {
            ranges.push(range(field.bytes())?);
        }
        Ok::<(), Damage>(())
    })?;
    Ok(ranges)
}

fn range(bytes: &[u8]) -> Result<Range, Damage> {
    let mut range = Range::default();
    Message::new("SizeRange", bytes).for_each(|number, field| {
        match number {
            1 => range.least = field.number(),
            2 => range.most = field.signed(),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(range)
}

/// `ImageFeatureType`: everything is said of the width and of the height.
fn image(bytes: &[u8]) -> Result<Flexible, Damage> {
    let (mut default, mut allowed) = ([0; 2], Allowed::Any);
    Message::new("ImageFeatureType", bytes).for_each(|number, field| {
        match number {
            1 => default[1] = field.signed(),
            2 => default[0] = field.signed(),
            21 => allowed = Allowed::Shapes(sizes(field.bytes())?),
            31 => {
                let mut of = [Range::default(); 2];
                Message::new("ImageSizeRange", field.bytes()).for_each(|number, field| {
                    match number {
                        1 => of[1] = range(field.bytes())?,
                        2 => of[0] = range(field.bytes())?,
                        _ => {}
                    }
                    Ok::<(), Damage>(())
                })?;
                allowed = Allowed::Ranges(of.to_vec());
            }
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(Flexible { default: default.to_vec(), allowed })
}

fn sizes(bytes: &[u8]) -> Result<Vec<Vec<i64>>, Damage> {
    let mut sizes = Vec::new();
    Message::new("EnumeratedImageSizes", bytes).for_each(|number, field| {
        if number == 1 {
            let mut size = [0; 2];
            Message::new("ImageSize", field.bytes()).for_each(|number, field| {
                match number {
                    1 => size[1] = field.signed(),
                    2 => size[0] = field.signed(),
                    _ => {}
                }
                Ok::<(), Damage>(())
            })?;
            sizes.push(size.to_vec());
        }
        Ok::<(), Damage>(())
    })?;
    Ok(sizes)
}
