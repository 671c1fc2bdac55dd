//! What operations mean, in double precision: the yardstick for what programs give.
//!
//! A meaning is lines, or parts between semicolons, each of which names an array: `s = softmax x axis=1`. Arrays are the
//! program's inputs by name; its outputs are looked up by their names. A meaning without ` = ` is one operation on all
//! inputs in the order of BARs, such as `add`. All arrays have four axes: N, C, H, W.
//!
//! [`OPERATIONS`] lists the operations. None of them shares anything with the engine, its tables or the program builder.

use std::collections::BTreeMap;

/// An array in double precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Elements along each axis.
    pub shape: [usize; 4],
    /// The elements, the last axis the fastest.
    pub values: Vec<f64>,
}

/// Most elements of an array (Chosen): more halves than the aperture holds no program has.
const ELEMENTS_MAX: usize = 1 << 28;

/// Most steps of a meaning (Chosen).
const STEPS_MAX: usize = 1024;

/// Operations, by what they do with elements and axes.
pub const OPERATIONS: &[(&str, &str)] = &[
    ("add|subtract|multiply|divide|maximum|minimum A B", "element by element; an axis of one is repeated"),
    ("less|greater|equal A B", "1 where it holds, else 0"),
    ("select C A B", "A where C is not 0, else B"),
    (
        "relu|sigmoid|silu|gelu|tanh|exp|exp2|ln|log2|sqrt|rsqrt|reciprocal|abs|square|erf|softplus|floor|ceil|not|same A",
        "of each element",
    ),
    ("leaky_relu A slope=S", "elements below zero times S"),
    ("clamp A low=L high=H", "no smaller than L and no larger than H"),
    ("scale A by=S", "times S"),
    ("offset A by=S", "plus S"),
    ("sum|mean|max|min A axes=I,J", "over axes, which become one"),
    ("softmax A axis=I", "exponentials of an axis that add up to one"),
    ("norm A axes=I,J eps=E", "less the mean, through the root of the variance"),
    ("transpose A order=0,3,2,1", "axes in another order"),
    ("slice A begin=I,J,K,L end=I,J,K,L", "a part"),
    ("concat A B... axis=I", "one behind the other"),
    ("tile A times=I,J,K,L", "repeated along axes"),
    ("matmul A B", "[M, K] times [K, N]: channels are rows, columns are columns"),
];

/// Refuses a text that is no meaning, as far as that can be told without arrays.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(text: &str) -> Result<(), String> {
    for step in steps(text)? {
        let is_known = |forms: &str| {
            let names = forms.split(' ').next().unwrap_or_default();
            names.split('|').any(|name| name == step.operation)
        };
        if !OPERATIONS.iter().any(|(form, _)| is_known(form)) {
            let known: Vec<&str> =
                OPERATIONS.iter().map(|(form, _)| form.split(' ').next().unwrap_or_default()).collect();
            return Err(format!(
                "operation {:?} has no meaning here; known: {}",
                step.operation,
                known.join(", ").replace('|', ", ")
            ));
        }
    }
    Ok(())
}

/// Works a meaning out: the arrays that it names. With one operation and no name, the array's name is empty.
///
/// # Errors
///
/// What is wrong with it, or with the arrays for it.
pub fn evaluate(text: &str, inputs: &[(String, Array)]) -> Result<BTreeMap<String, Array>, String> {
    let mut arrays: BTreeMap<String, Array> = inputs.iter().cloned().collect();
    let mut named = BTreeMap::new();
    for step in steps(text)? {
        let operands = match step.name {
            Some(_) => step
                .operands
                .iter()
                .map(|name| {
                    arrays.get(*name).ok_or_else(|| format!("{:?}: there is no array {name:?}", step.text))
                })
                .collect::<Result<Vec<_>, _>>()?,
            None => inputs.iter().map(|(_, array)| array).collect(),
        };
        let made = step.apply(&operands).map_err(|why| format!("{:?}: {why}", step.text))?;
        let name = step.name.unwrap_or_default().to_owned();
        named.insert(name.clone(), made.clone());
        arrays.insert(name, made);
    }
    Ok(named)
}

/// One operation.
struct Step<'a> {
    text: &'a str,
    name: Option<&'a str>,
    operation: &'a str,
    operands: Vec<&'a str>,
    values: BTreeMap<&'a str, &'a str>,
}

fn steps(text: &str) -> Result<Vec<Step<'_>>, String> {
    let lines =
        text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let steps: Vec<Step<'_>> = lines.take(STEPS_MAX + 1).map(step).collect();
    if steps.is_empty() || steps.len() > STEPS_MAX {
        return Err(format!("a meaning has 1 to {STEPS_MAX} operations"));
    }
    if steps.len() > 1 && steps.iter().any(|step| step.name.is_none()) {
        return Err("of several operations each has a name, as in y = relu x".to_owned());
    }
    Ok(steps)
}

fn step(text: &str) -> Step<'_> {
    let (name, rest) = match text.split_once(" = ") {
        Some((name, rest)) => (Some(name.trim()), rest),
        None => (None, text),
    };
    let mut words = rest.split_whitespace();
    let operation = words.next().unwrap_or_default();
    let (mut operands, mut values) = (Vec::new(), BTreeMap::new());
    for word in words {
        match word.split_once('=') {
            Some((key, value)) => drop(values.insert(key, value)),
            None => operands.push(word),
        }
    }
    Step { text, name, operation, operands, values }
}

impl Step<'_> {
    fn number(&self, key: &str) -> Result<f64, String> {
        let text = self.values.get(key).ok_or_else(|| format!("{key}= is missing"))?;
        text.parse().map_err(|_| format!("{key}={text} is no number"))
    }

    fn list(&self, key: &str) -> Result<Vec<usize>, String> {
        let text = self.values.get(key).ok_or_else(|| format!("{key}= is missing"))?;
        text.split(',')
            .map(|word| word.parse().map_err(|_| format!("{key}={text} is no list of numbers")))
            .collect()
    }

    fn four(&self, key: &str) -> Result<[usize; 4], String> {
        self.list(key)?.try_into().map_err(|_| format!("{key}= wants four numbers"))
    }

    fn axes(&self, key: &str) -> Result<[bool; 4], String> {
        let mut axes = [false; 4];
        for axis in self.list(key)? {
            *axes.get_mut(axis).ok_or_else(|| format!("{key}= wants axes from 0 to 3"))? = true;
        }
        Ok(axes)
    }

    fn apply(&self, operands: &[&Array]) -> Result<Array, String> {
        let one = || match operands {
            [one] => Ok(*one),
            _ => Err(format!("wants one array, there are {}", operands.len())),
        };
        let two = || match operands {
            [a, b] => Ok((*a, *b)),
            _ => Err(format!("wants two arrays, there are {}", operands.len())),
        };
        if let Some(function) = of_two(self.operation) {
            let (a, b) = two()?;
            return both(a, b, function);
        }
        if let Some(function) = of_one(self.operation) {
            return Ok(each(one()?, function));
        }
        match self.operation {
            "select" => match operands {
                [condition, a, b] => {
                    let chosen =
                        both(condition, a, |condition, a| if condition != 0.0 { a } else { f64::NAN })?;
                    let other =
                        both(condition, b, |condition, b| if condition != 0.0 { f64::NAN } else { b })?;
                    let is_chosen = both(condition, &chosen, |condition, _| condition)?;
                    let values = is_chosen.values.iter().zip(chosen.values.iter().zip(&other.values));
                    let pick =
                        |(condition, (a, b)): (&f64, (&f64, &f64))| if *condition != 0.0 { *a } else { *b };
                    Ok(Array { shape: chosen.shape, values: values.map(pick).collect() })
                }
                _ => Err("wants three arrays".to_owned()),
            },
            "leaky_relu" => {
                let slope = self.number("slope")?;
                Ok(each(one()?, |x| if x < 0.0 { slope * x } else { x }))
            }
            "clamp" => {
                let (low, high) = (self.number("low")?, self.number("high")?);
                Ok(each(one()?, |x| x.max(low).min(high)))
            }
            "scale" => {
                let by = self.number("by")?;
                Ok(each(one()?, |x| x * by))
            }
            "offset" => {
                let by = self.number("by")?;
                Ok(each(one()?, |x| x + by))
            }
            "sum" => Ok(reduce(one()?, self.axes("axes")?, 0.0, |sum, x| sum + x)),
            "max" => Ok(reduce(one()?, self.axes("axes")?, f64::NEG_INFINITY, f64::max)),
            "min" => Ok(reduce(one()?, self.axes("axes")?, f64::INFINITY, f64::min)),
            "mean" => Ok(mean(one()?, self.axes("axes")?)),
            "softmax" => {
                let (x, axes) = (one()?, self.axes("axis")?);
                let top = reduce(x, axes, f64::NEG_INFINITY, f64::max);
                let raised = both(x, &top, |x, top| (x - top).exp())?;
                let sum = reduce(&raised, axes, 0.0, |sum, x| sum + x);
                both(&raised, &sum, |x, sum| x / sum)
            }
            "norm" => {
                let (x, axes, eps) = (one()?, self.axes("axes")?, self.number("eps")?);
                let centred = both(x, &mean(x, axes), |x, mean| x - mean)?;
                let variance = mean(&each(&centred, |x| x * x), axes);
                both(&centred, &variance, |x, variance| x / (variance + eps).sqrt())
            }
            "transpose" => transpose(one()?, self.four("order")?),
            "slice" => slice(one()?, self.four("begin")?, self.four("end")?),
            "tile" => tile(one()?, self.four("times")?),
            "concat" => concat(operands, self.list("axis")?.first().copied().unwrap_or(4)),
            "matmul" => {
                let (a, b) = two()?;
                matmul(a, b)
            }
            other => Err(format!("operation {other:?} has no meaning here")),
        }
    }
}

fn of_two(operation: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match operation {
        "add" => |a, b| a + b,
        "subtract" => |a, b| a - b,
        "multiply" => |a, b| a * b,
        "divide" => |a, b| a / b,
        "maximum" => f64::max,
        "minimum" => f64::min,
        "less" => |a, b| f64::from(a < b),
        "greater" => |a, b| f64::from(a > b),
        "equal" => |a, b| f64::from(a == b),
        _ => return None,
    })
}

fn of_one(operation: &str) -> Option<fn(f64) -> f64> {
    Some(match operation {
        "same" => |x| x,
        "relu" => |x| if x < 0.0 { 0.0 } else { x },
        "sigmoid" => |x| 1.0 / (1.0 + (-x).exp()),
        "silu" => |x| x / (1.0 + (-x).exp()),
        "gelu" => |x| x / 2.0 * (1.0 + erf(x / std::f64::consts::SQRT_2)),
        "tanh" => f64::tanh,
        "exp" => f64::exp,
        "exp2" => f64::exp2,
        "ln" => f64::ln,
        "log2" => f64::log2,
        "sqrt" => f64::sqrt,
        "rsqrt" => |x| 1.0 / x.sqrt(),
        "reciprocal" => |x| 1.0 / x,
        "abs" => f64::abs,
        "square" => |x| x * x,
        "erf" => erf,
        "softplus" => |x| if x > 30.0 { x } else { x.exp().ln_1p() },
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "not" => |x| f64::from(x == 0.0),
        _ => return None,
    })
}

/// The error function: Abramowitz and Stegun 7.1.5 near zero, 7.1.14 (a continued fraction) beyond. Far below what a half
/// can tell.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    let value = if size < 2.5 {
        let mut term = size;
        let mut sum = size;
        for n in 1..60 {
            let n = f64::from(n);
            term *= -size * size / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let fraction = (1..60).rev().fold(size, |below, n| size + f64::from(n) / 2.0 / below);
        1.0 - (-size * size).exp() / fraction / std::f64::consts::PI.sqrt()
    };
    value.copysign(x)
}

fn each(x: &Array, function: impl Fn(f64) -> f64) -> Array {
    Array { shape: x.shape, values: x.values.iter().map(|&x| function(x)).collect() }
}

/// Every place of a shape, the last axis the fastest.
fn places([n, c, h, w]: [usize; 4]) -> impl Iterator<Item = [usize; 4]> {
    let rows = (0..n).flat_map(move |n| (0..c).flat_map(move |c| (0..h).map(move |h| (n, c, h))));
    rows.flat_map(move |(n, c, h)| (0..w).map(move |w| [n, c, h, w]))
}

impl Array {
    /// The element at a place; an axis of one is repeated.
    fn at(&self, place: [usize; 4]) -> f64 {
        let index = self
            .shape
            .iter()
            .zip(place)
            .fold(0, |index, (&extent, at)| index * extent + if extent == 1 { 0 } else { at });
        self.values.get(index).copied().unwrap_or(f64::NAN)
    }

    fn from_fn(shape: [usize; 4], value: impl Fn([usize; 4]) -> f64) -> Result<Self, String> {
        let elements = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        elements
            .filter(|&elements| elements <= ELEMENTS_MAX)
            .ok_or_else(|| format!("shape {shape:?} has more than {ELEMENTS_MAX} elements"))?;
        Ok(Self { shape, values: places(shape).map(value).collect() })
    }
}

fn both(a: &Array, b: &Array, function: impl Fn(f64, f64) -> f64) -> Result<Array, String> {
    let mut shape = a.shape;
    for (extent, &other) in shape.iter_mut().zip(&b.shape) {
        match (*extent, other) {
            (1, other) => *extent = other,
            (_, 1) => {}
            (one, other) if one == other => {}
            _ => return Err(format!("shapes {:?} and {:?} do not go together", a.shape, b.shape)),
        }
    }
    Array::from_fn(shape, |place| function(a.at(place), b.at(place)))
}

fn reduce(x: &Array, axes: [bool; 4], start: f64, function: impl Fn(f64, f64) -> f64) -> Array {
    let mut shape = x.shape;
    for (extent, is_reduced) in shape.iter_mut().zip(axes) {
        if is_reduced {
            *extent = 1;
        }
    }
    let mut made = Array { shape, values: vec![start; shape.iter().product()] };
    for (place, &value) in places(x.shape).zip(&x.values) {
        let index = shape
            .iter()
            .zip(place)
            .fold(0, |index, (&extent, at)| index * extent + if extent == 1 { 0 } else { at });
        if let Some(element) = made.values.get_mut(index) {
            *element = function(*element, value);
        }
    }
    made
}

fn mean(x: &Array, axes: [bool; 4]) -> Array {
    let count: usize =
        x.shape.iter().zip(axes).filter(|(_, is_reduced)| *is_reduced).map(|(extent, _)| extent).product();
    each(&reduce(x, axes, 0.0, |sum, x| sum + x), |sum| sum / count as f64)
}

fn transpose(x: &Array, order: [usize; 4]) -> Result<Array, String> {
    let mut sorted = order;
    sorted.sort_unstable();
    if sorted != [0, 1, 2, 3] {
        return Err("order= wants each of 0, 1, 2 and 3".to_owned());
    }
    let shape = order.map(|axis| x.shape.get(axis).copied().unwrap_or(1));
    Array::from_fn(shape, |place| {
        let mut from = [0; 4];
        for (axis, at) in order.into_iter().zip(place) {
            if let Some(slot) = from.get_mut(axis) {
                *slot = at;
            }
        }
        x.at(from)
    })
}

fn slice(x: &Array, begin: [usize; 4], end: [usize; 4]) -> Result<Array, String> {
    let mut shape = [0; 4];
    let ranges = begin.into_iter().zip(end).zip(x.shape);
    for (extent, ((begin, end), whole)) in shape.iter_mut().zip(ranges) {
        if begin >= end || end > whole {
            return Err(format!("{begin} to {end} is no part of {whole}"));
        }
        *extent = end - begin;
    }
    Array::from_fn(shape, |place| {
        let mut from = begin;
        from.iter_mut().zip(place).for_each(|(from, at)| *from += at);
        x.at(from)
    })
}

fn tile(x: &Array, times: [usize; 4]) -> Result<Array, String> {
    let mut shape = x.shape;
    for (extent, times) in shape.iter_mut().zip(times) {
        *extent =
            extent.checked_mul(times).filter(|&extent| extent > 0).ok_or("times= wants numbers above 0")?;
    }
    Array::from_fn(shape, |place| {
        let mut from = place;
        from.iter_mut().zip(x.shape).for_each(|(from, extent)| *from %= extent.max(1));
        x.at(from)
    })
}

fn concat(parts: &[&Array], axis: usize) -> Result<Array, String> {
    let first = parts.first().ok_or("wants an array")?;
    let mut shape = first.shape;
    let mut starts = Vec::new();
    let mut whole = 0_usize;
    for part in parts {
        let others = |shape: [usize; 4]| shape.into_iter().enumerate().filter(move |(at, _)| *at != axis);
        if !others(part.shape).eq(others(first.shape)) {
            return Err("arrays differ along other axes".to_owned());
        }
        starts.push(whole);
        whole += part.shape.get(axis).ok_or("axis= wants an axis from 0 to 3")?;
    }
    if let Some(extent) = shape.get_mut(axis) {
        *extent = whole;
    }
    Array::from_fn(shape, |place| {
        let at = place.get(axis).copied().unwrap_or(0);
        let behind = parts.iter().zip(&starts).rev().find(|(_, start)| **start <= at);
        behind.map_or(f64::NAN, |(part, start)| {
            let mut from = place;
            if let Some(slot) = from.get_mut(axis) {
                *slot = at - start;
            }
            part.at(from)
        })
    })
}

/// Channels of the first are rows, its columns are summed over with the channels of the second.
fn matmul(a: &Array, b: &Array) -> Result<Array, String> {
    let ([n, rows, height, inner], [_, channels, _, columns]) = (a.shape, b.shape);
    if inner != channels || height != 1 {
        return Err(format!("shapes {:?} and {:?} cannot be multiplied", a.shape, b.shape));
    }
    Array::from_fn([n, rows, 1, columns], |[n, row, _, column]| {
        (0..inner).map(|at| a.at([n, row, 0, at]) * b.at([n, at, 0, column])).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: [usize; 4], values: &[f64]) -> Array {
        Array { shape, values: values.to_vec() }
    }

    fn of(text: &str, inputs: &[(&str, Array)]) -> Array {
        let inputs: Vec<_> = inputs.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
        evaluate(text, &inputs).unwrap().into_values().next_back().unwrap()
    }

    #[test]
    fn operations_of_elements_repeat_axes_of_one() {
        let x = array([1, 2, 1, 2], &[1.0, -2.0, 3.0, -4.0]);
        let row = array([1, 1, 1, 2], &[10.0, 20.0]);
        assert_eq!(
            of("y = add x r", &[("x", x.clone()), ("r", row.clone())]).values,
            [11.0, 18.0, 13.0, 16.0]
        );
        assert_eq!(of("relu", &[("x", x.clone())]).values, [1.0, 0.0, 3.0, 0.0]);
        assert_eq!(of("y = leaky_relu x slope=0.5", &[("x", x.clone())]).values, [1.0, -1.0, 3.0, -2.0]);
        let inputs = [("c", array([1, 2, 1, 1], &[1.0, 0.0])), ("x", x), ("r", row)];
        assert_eq!(of("y = select c x r", &inputs).values, [1.0, -2.0, 10.0, 20.0]);
    }

    #[test]
    fn operations_of_axes_agree_with_what_is_worked_out_by_hand() {
        let x = array([1, 2, 2, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let inputs = [("x", x)];
        assert_eq!(of("y = sum x axes=1,3", &inputs), array([1, 1, 2, 1], &[10.0, 18.0]));
        assert_eq!(of("y = mean x axes=0,1,2,3", &inputs).values, [3.5]);
        assert_eq!(
            of("y = transpose x order=0,3,2,1", &inputs).values,
            [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0]
        );
        assert_eq!(of("y = slice x begin=0,1,0,1 end=1,2,2,2", &inputs).values, [5.0, 7.0]);
        assert_eq!(
            of("a = slice x begin=0,0,0,0 end=1,1,1,2; y = concat a a axis=2", &inputs).values,
            [0.0, 1.0, 0.0, 1.0]
        );
        assert_eq!(
            of("a = slice x begin=0,0,0,0 end=1,1,1,2; y = tile a times=1,2,1,1", &inputs).shape,
            [1, 2, 1, 2]
        );
        let half = of("y = softmax x axis=1", &inputs);
        assert!(half.values.iter().zip(half.values.iter().skip(4)).all(|(a, b)| (a + b - 1.0).abs() < 1e-12));
        let norm = of("y = norm x axes=2,3 eps=0", &inputs);
        assert!((norm.values[0] + 1.341_640_786_499_874).abs() < 1e-12 && norm.values[0] == norm.values[4]);
        let (a, b) = (array([1, 1, 1, 2], &[1.0, 2.0]), array([1, 2, 1, 2], &[3.0, 4.0, 5.0, 6.0]));
        assert_eq!(of("y = matmul a b", &[("a", a), ("b", b)]), array([1, 1, 1, 2], &[13.0, 16.0]));
    }

    /// Values of the error function by a table (Abramowitz and Stegun, 7.1).
    #[test]
    fn error_function_agrees_with_tables() {
        for (x, value) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_8),
            (1.0, 0.842_700_792_9),
            (2.0, 0.995_322_265_0),
            (2.6, 0.999_763_965_6),
        ] {
            assert!((erf(x) - value).abs() < 1e-9 && erf(-x) == -erf(x), "{x}: {}", erf(x));
        }
        assert_eq!(erf(40.0), 1.0);
    }

    #[test]
    fn text_that_means_nothing_is_refused() {
        for bad in ["", "# nothing", "frobnicate", "y = ", "relu\nrelu"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        let inputs = [
            ("x".to_owned(), array([1, 1, 1, 2], &[1.0, 2.0])),
            ("z".to_owned(), array([1, 1, 1, 3], &[1.0; 3])),
        ];
        for bad in [
            "y = relu q",
            "y = add x z",
            "y = relu x z",
            "y = clamp x low=1",
            "y = clamp x low=a high=2",
            "y = sum x axes=4",
            "y = transpose x order=0,0,1,2",
            "y = slice x begin=0,0,0,0 end=1,1,1,9",
            "y = tile x times=9999999,9999999,9999999,1",
            "y = concat x z axis=1",
            "y = concat x z axis=9",
            "y = matmul x z",
        ] {
            assert!(evaluate(bad, &inputs).is_err(), "{bad:?}");
        }
    }
}
