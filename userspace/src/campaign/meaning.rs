//! The meaning of operations, in double precision: the yardstick for the results of programs.
//!
//! A meaning is lines, or parts between semicolons, each of which names an array: `s = softmax x axis=1`. Arrays are the
//! program's inputs by name; its outputs are looked up by their names, and one output alone is the last array if none has its name.
//! A meaning without ` = ` is one operation on all
//! inputs in the order of BARs, such as `add`. All arrays have four axes: N, C, H, W.
//!
//! [`OPERATIONS`] lists the operations. They are computed as the operations of a model's network are before a run, which
//! shares nothing with the engine, its tables or the program builder.

use std::collections::BTreeMap;

use crate::model::network::Array;
use crate::model::network::evaluate::{both, map, unbounded};
use crate::model::network::operation::{Cut, Map, Operation, Post, Reduce, ReduceKind};

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
/// A description of the error.
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

/// Works a meaning out: the arrays that it names, in the order of its steps. With one operation and no name, the array's name is empty.
///
/// # Errors
///
/// A description of the error in it, or in its arrays.
pub fn evaluate(text: &str, inputs: &[(String, Array)]) -> Result<Vec<(String, Array)>, String> {
    let mut arrays: BTreeMap<String, Array> = inputs.iter().cloned().collect();
    let mut named = Vec::new();
    for step in steps(text)? {
        let operands = match step.name {
            Some(_) => step
                .operands
                .iter()
                .map(|name| {
                    arrays.get(*name).ok_or_else(|| {
                        let known: Vec<&str> = arrays.keys().map(String::as_str).collect();
                        format!("{:?}: there is no array {name:?}, only {}", step.text, known.join(", "))
                    })
                })
                .collect::<Result<Vec<_>, _>>()?,
            None => inputs.iter().map(|(_, array)| array).collect(),
        };
        let made = step.apply(&operands).map_err(|why| format!("{:?}: {why}", step.text))?;
        let name = step.name.unwrap_or_default().to_owned();
        named.push((name.clone(), made.clone()));
        arrays.insert(name, made);
    }
    Ok(named)
}

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
            return pairs(a, b, function);
        }
        if let Some(function) = of_one(self.operation) {
            return Ok(one()?.map(function));
        }
        match self.operation {
            "select" => made(&Operation::Select, operands),
            "leaky_relu" => {
                let slope = self.number("slope")?;
                Ok(one()?.map(|x| if x < 0.0 { slope * x } else { x }))
            }
            "clamp" => {
                let (low, high) = (self.number("low")?, self.number("high")?);
                Ok(one()?.map(|x| x.max(low).min(high)))
            }
            "scale" => {
                let by = self.number("by")?;
                Ok(one()?.map(|x| x * by))
            }
            "offset" => {
                let by = self.number("by")?;
                Ok(one()?.map(|x| x + by))
            }
            "sum" => made(&reduction(ReduceKind::Sum, self.list("axes")?), operands),
            "max" => made(&reduction(ReduceKind::Maximum, self.list("axes")?), operands),
            "min" => made(&reduction(ReduceKind::Minimum, self.list("axes")?), operands),
            "mean" => made(&reduction(ReduceKind::Mean, self.list("axes")?), operands),
            "softmax" => {
                let (x, axes) = (one()?, self.list("axis")?);
                let top = made(&reduction(ReduceKind::Maximum, axes.clone()), &[x])?;
                let raised = pairs(x, &top, |x, top| (x - top).exp())?;
                let sum = made(&reduction(ReduceKind::Sum, axes), &[&raised])?;
                pairs(&raised, &sum, |x, sum| x / sum)
            }
            "norm" => {
                let (x, mean, eps) =
                    (one()?, reduction(ReduceKind::Mean, self.list("axes")?), self.number("eps")?);
                let centred = pairs(x, &made(&mean, &[x])?, |x, mean| x - mean)?;
                let variance = made(&mean, &[&centred.map(|x| x * x)])?;
                pairs(&centred, &variance, |x, variance| x / (variance + eps).sqrt())
            }
            "transpose" => made(&Operation::Permute(self.list("order")?), operands),
            "slice" => slice(one()?, self.four("begin")?, self.four("end")?),
            "tile" => tile(one()?, self.four("times")?),
            "concat" => made(&Operation::Concat(self.list("axis")?.first().copied().unwrap_or(4)), operands),
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
        "gelu" => |x| map(Map::Gelu, x),
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
        "erf" => |x| map(Map::Erf, x),
        "softplus" => |x| map(Map::Softplus, x),
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "not" => |x| f64::from(x == 0.0),
        _ => return None,
    })
}

fn made(operation: &Operation, operands: &[&Array]) -> Result<Array, String> {
    unbounded(operation, operands).map_err(|why| why.to_string())
}

fn pairs(a: &Array, b: &Array, function: impl Fn(f64, f64) -> f64) -> Result<Array, String> {
    both(a, b, function).map_err(|why| why.to_string())
}

const fn reduction(kind: ReduceKind, axes: Vec<usize>) -> Operation {
    Operation::Reduce(Reduce { kind, axes, square: false, epsilon: 0.0, post: Post::None })
}

fn slice(x: &Array, begin: [usize; 4], end: [usize; 4]) -> Result<Array, String> {
    let cut = |(start, end): (usize, usize)| match end.checked_sub(start) {
        Some(count) if count > 0 => Ok(Cut { start, step: 1, count }),
        _ => Err(format!("{start} to {end} is no part of an axis")),
    };
    let cuts = begin.into_iter().zip(end).map(cut).collect::<Result<_, _>>()?;
    made(&Operation::Cut(cuts), &[x])
}

/// Each axis gets another before it, along which it is repeated; both are one then.
fn tile(x: &Array, times: [usize; 4]) -> Result<Array, String> {
    if times.contains(&0) {
        return Err("times= wants numbers above 0".to_owned());
    }
    let interleaved = |times: [usize; 4]| times.into_iter().zip(x.dims()).flat_map(|(n, &axis)| [n, axis]);
    let apart = made(&Operation::Reshape(interleaved([1; 4]).collect()), &[x])?;
    let repeated = made(&Operation::Expand(interleaved(times).collect()), &[&apart])?;
    let whole = times.into_iter().zip(x.dims()).map(|(n, axis)| n.saturating_mul(*axis)).collect();
    made(&Operation::Reshape(whole), &[&repeated])
}

/// Channels of the first are rows, its columns are summed over with the channels of the second.
fn matmul(a: &Array, b: &Array) -> Result<Array, String> {
    let ([n, rows, 1, inner], [batches, channels, 1, columns]) = (a.dims(), b.dims()) else {
        return Err(format!("shapes {:?} and {:?} cannot be multiplied", a.dims(), b.dims()));
    };
    let matrices = |x: &Array, dims: [usize; 3]| made(&Operation::Reshape(dims.to_vec()), &[x]);
    let (a, b) = (matrices(a, [*n, *rows, *inner])?, matrices(b, [*batches, *channels, *columns])?);
    let product = made(&Operation::Product, &[&a, &b])?;
    made(&Operation::Reshape(vec![*n.max(batches), *rows, 1, *columns]), &[&product])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: [usize; 4], values: &[f64]) -> Array {
        Array::new(shape.to_vec(), values.to_vec()).unwrap()
    }

    fn of(text: &str, inputs: &[(&str, Array)]) -> Array {
        let inputs: Vec<_> = inputs.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
        evaluate(text, &inputs).unwrap().pop().unwrap().1
    }

    #[test]
    fn operations_of_elements_repeat_axes_of_one() {
        let x = array([1, 2, 1, 2], &[1.0, -2.0, 3.0, -4.0]);
        let row = array([1, 1, 1, 2], &[10.0, 20.0]);
        assert_eq!(
            of("y = add x r", &[("x", x.clone()), ("r", row.clone())]).values(),
            [11.0, 18.0, 13.0, 16.0]
        );
        assert_eq!(of("relu", &[("x", x.clone())]).values(), [1.0, 0.0, 3.0, 0.0]);
        assert_eq!(of("y = leaky_relu x slope=0.5", &[("x", x.clone())]).values(), [1.0, -1.0, 3.0, -2.0]);
        let inputs = [("c", array([1, 2, 1, 1], &[1.0, 0.0])), ("x", x), ("r", row)];
        assert_eq!(of("y = select c x r", &inputs).values(), [1.0, -2.0, 10.0, 20.0]);
    }

    #[test]
    fn operations_of_axes_agree_with_what_is_worked_out_by_hand() {
        let x = array([1, 2, 2, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let inputs = [("x", x)];
        assert_eq!(of("y = sum x axes=1,3", &inputs), array([1, 1, 2, 1], &[10.0, 18.0]));
        assert_eq!(of("y = mean x axes=0,1,2,3", &inputs).values(), [3.5]);
        assert_eq!(
            of("y = transpose x order=0,3,2,1", &inputs).values(),
            [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0]
        );
        assert_eq!(of("y = slice x begin=0,1,0,1 end=1,2,2,2", &inputs).values(), [5.0, 7.0]);
        assert_eq!(
            of("a = slice x begin=0,0,0,0 end=1,1,1,2; y = concat a a axis=2", &inputs).values(),
            [0.0, 1.0, 0.0, 1.0]
        );
        assert_eq!(
            of("a = slice x begin=0,0,0,0 end=1,1,1,2; y = tile a times=1,2,1,1", &inputs).dims(),
            [1, 2, 1, 2]
        );
        let half = of("y = softmax x axis=1", &inputs);
        assert!(
            half.values().iter().zip(half.values().iter().skip(4)).all(|(a, b)| (a + b - 1.0).abs() < 1e-12)
        );
        let norm = of("y = norm x axes=2,3 eps=0", &inputs);
        assert!(
            (norm.values()[0] + 1.341_640_786_499_874).abs() < 1e-12 && norm.values()[0] == norm.values()[4]
        );
        let (a, b) = (array([1, 1, 1, 2], &[1.0, 2.0]), array([1, 2, 1, 2], &[3.0, 4.0, 5.0, 6.0]));
        assert_eq!(of("y = matmul a b", &[("a", a), ("b", b)]), array([1, 1, 1, 2], &[13.0, 16.0]));
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
