//! Results beside the expected ones, and where a difference comes from.
//!
//! A reason is computed: of elements that differ, what is expected there; and of the model in double precision, what its
//! operands and its layers have that halves do not hold.

use ane::model::network::evaluate::evaluate;
use ane::model::network::{Array, Network};
use ane::tensor::nearest_half;

/// An expected result.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) array: Array,
    /// Whether its elements are whole numbers, of which none may be another.
    pub(super) is_whole: bool,
}

/// The largest difference of all elements, as part of the largest expected element or of 1; of whole numbers, as it is.
///
/// Two NaN are the same: what the compiler computes may be one, and what the engine computes never is.
pub(super) fn difference(seen: &[Array], wanted: &[Wanted]) -> f64 {
    let of_result = |(seen, wanted): (&Array, &Wanted)| {
        if seen.values().len() != wanted.array.values().len() {
            return f64::INFINITY;
        }
        apart(seen, wanted).map(|(apart, _)| apart).fold(0.0, f64::max)
    };
    seen.iter().zip(wanted).map(of_result).fold(0.0, f64::max)
}

/// How far each element is off, and what is expected there.
fn apart(seen: &Array, wanted: &Wanted) -> impl Iterator<Item = (f64, f64)> {
    let finite = wanted.array.values().iter().copied().filter(|value| value.is_finite() && !wanted.is_whole);
    let scale = finite.fold(1.0_f64, |scale, value| scale.max(value.abs()));
    seen.values().iter().zip(wanted.array.values()).map(move |(&seen, &wanted)| {
        let is_same = seen == wanted || seen.is_nan() && wanted.is_nan();
        let apart = if is_same { 0.0 } else { (seen - wanted).abs() / scale };
        (if apart.is_nan() { f64::INFINITY } else { apart }, wanted)
    })
}

/// Why results differ by more than is allowed.
pub(super) fn reason(
    network: &Network,
    inputs: &[Array],
    seen: &[Array],
    wanted: &[Wanted],
    allowed: f64,
) -> String {
    let pairs = || seen.iter().zip(wanted);
    if pairs().any(|(seen, wanted)| seen.values().len() != wanted.array.values().len()) {
        return "the result has another number of elements".to_owned();
    }
    let differing: Vec<f64> = pairs()
        .flat_map(|(seen, wanted)| apart(seen, wanted))
        .filter_map(|(apart, wanted)| (apart > allowed).then_some(wanted))
        .collect();
    let mut reasons = Vec::new();
    if differing.iter().any(|value| value.is_nan()) {
        reasons.push("NaN is expected, and leaves the engine as infinity".to_owned());
    }
    let beyond = differing.iter().copied().filter(|&value| is_beyond(value));
    if let Some(largest) = beyond.max_by(|a, b| a.abs().total_cmp(&b.abs())) {
        reasons.push(format!("{largest:.1e} is expected, and halves end at 65504"));
    }
    if differing.iter().any(|&value| !value.is_nan() && !is_beyond(value)) {
        reasons.push(reason_inside(network, inputs, wanted, allowed));
    }
    reasons.join("; ")
}

/// Why elements differ that halves could hold.
fn reason_inside(network: &Network, inputs: &[Array], wanted: &[Wanted], allowed: f64) -> String {
    let differs = |results: &[Option<Array>]| {
        let outputs: Option<Vec<Array>> =
            network.outputs.iter().map(|&(_, value)| results[value].clone()).collect();
        outputs.is_none_or(|outputs| difference(&outputs, wanted) > allowed)
    };
    let exact = in_doubles(network, inputs);
    if differs(&exact) {
        return "the layers differ in double precision too".to_owned();
    }
    let halves: Vec<Array> =
        inputs.iter().map(|array| array.map(|value| nearest_half(value).to_f64())).collect();
    if differs(&in_doubles(network, &halves)) {
        let elements = inputs.iter().flat_map(|array| array.values());
        let changed = elements.map(|&value| (value, nearest_half(value).to_f64()));
        let worst = changed.max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()));
        return worst.map_or_else(String::new, |(value, half)| {
            format!(
                "the input {value} is {half} as a half; double precision differs as much with such inputs"
            )
        });
    }
    for node in &network.nodes {
        let values = exact[node.output].iter().flat_map(|array| array.values());
        let largest = values.copied().filter(|&value| is_beyond(value)).map(f64::abs).fold(0.0, f64::max);
        if largest > 0.0 {
            let operation = node.operation.name();
            return format!(
                "the layer `{operation}` makes {largest:.1e} on the way, and halves end at 65504"
            );
        }
    }
    "not found in the data".to_owned()
}

/// Whether a number is finite, and infinite as a half.
fn is_beyond(value: f64) -> bool {
    value.is_finite() && nearest_half(value).is_infinite()
}

/// Every tensor in double precision; none for what a layer makes no sense of.
fn in_doubles(network: &Network, inputs: &[Array]) -> Vec<Option<Array>> {
    let mut values: Vec<Option<Array>> = network.values.iter().map(|value| value.constant.clone()).collect();
    for ((_, value), array) in network.inputs.iter().zip(inputs) {
        values[*value] = Some(array.clone());
    }
    for node in &network.nodes {
        let operands: Option<Vec<&Array>> = node.inputs.iter().map(|&input| values[input].as_ref()).collect();
        values[node.output] = operands.and_then(|operands| evaluate(&node.operation, &operands).ok());
    }
    values
}

#[cfg(test)]
mod tests {
    use ane::model::network::operation::Map;
    use ane::model::network::{Kind, Operation};

    use super::*;

    /// The reason for a result of one layer.
    fn reason_of(map: Map, input: f64, seen: f64, wanted: f64) -> String {
        let mut network = Network::default();
        let x = network.input("x", vec![1], Kind::Real).expect("one element");
        let y = network.add("y", Operation::Map(map), &[x], Kind::Real).expect("a function of it");
        let z = network.add("z", Operation::Map(Map::Ln), &[y], Kind::Real).expect("a function of that");
        network.outputs.push(("z".to_owned(), z));
        let wanted = [Wanted { array: Array::list([wanted]), is_whole: false }];
        reason(&network, &[Array::list([input])], &[Array::list([seen])], &wanted, 0.004)
    }

    #[test]
    fn reason_is_what_halves_do_not_hold() {
        assert!(reason_of(Map::Abs, 1.0, f64::INFINITY, f64::NAN).starts_with("NaN is expected"));
        assert!(reason_of(Map::Abs, 1.0, f64::INFINITY, 1e9).starts_with("1.0e9 is expected"));
        let far = reason_of(Map::Exp, 60.0, f64::INFINITY, 60.0);
        assert!(far.starts_with("the layer `exp` makes 1.1e26"), "{far}");
        let exact = Map::Affine { scale: 1.0, offset: -10_000.0 };
        let rounded = reason_of(exact, 10_001.0, f64::NEG_INFINITY, 0.0);
        assert!(rounded.starts_with("the input 10001 is 10000 as a half"), "{rounded}");
    }

    #[test]
    fn difference_that_halves_do_not_explain_is_said_to_be_unexplained() {
        assert_eq!(reason_of(Map::Abs, 1.0, 0.5, 0.0), "not found in the data");
        assert_eq!(reason_of(Map::Abs, 1.0, 0.0, 0.5), "the layers differ in double precision too");
    }

    #[test]
    fn nan_equals_nan_alone_and_whole_numbers_equal_themselves_alone() {
        let of = |seen: f64, wanted: f64, is_whole| {
            difference(&[Array::list([seen])], &[Wanted { array: Array::list([wanted]), is_whole }])
        };
        assert_eq!(of(f64::NAN, f64::NAN, false), 0.0);
        assert_eq!(of(1.0, f64::NAN, false), f64::INFINITY);
        assert_eq!(of(3.0, 2.0, false), 0.5);
        assert_eq!(of(1001.0, 1000.0, true), 1.0);
    }
}
