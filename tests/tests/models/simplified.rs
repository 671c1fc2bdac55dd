//! Networks that were made simpler: they are smaller, and mean what they meant.

use ane::model::network::operation::{Join, JoinKind, Map, Post, Reduce, ReduceKind};
use ane::model::network::{Array, Kind, Network, Operation, ValueId};
use ane_tests::random::Random;

use super::exact;

const DIMS: [usize; 3] = [2, 3, 4];

/// The layers around reductions in models, and some that look like them.
fn layer(random: &mut Random, network: &mut Network, values: &[ValueId]) -> ValueId {
    // Mostly the newest value, so that chains come about.
    let mut any = |values: &[ValueId]| {
        let back = if random.below(4) == 0 { random.below(values.len() as u32) as usize } else { 0 };
        values[values.len() - 1 - back]
    };
    let (x, other) = (any(values), any(values));
    let join = |kind| Operation::Join(Join { kind, relu: false });
    let (operation, inputs) = match random.below(12) {
        0 | 1 => {
            let kind = [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Maximum][random.below(3) as usize];
            let axes = vec![random.below(3) as usize];
            (Operation::Reduce(Reduce { kind, axes, square: false, epsilon: 0.0, post: Post::None }), vec![x])
        }
        2 => (Operation::Map(Map::Square), vec![x]),
        3 => (join(JoinKind::Multiply), vec![x, x]),
        4 => (Operation::Map(Map::SquareRoot), vec![x]),
        5 => (Operation::Map(Map::ReciprocalSquareRoot), vec![x]),
        6 => (Operation::Map(Map::Reciprocal), vec![x]),
        7 => (Operation::Map(Map::Affine { scale: 1.0, offset: 0.25 }), vec![x]),
        8 => (join(JoinKind::Divide), vec![other, x]),
        kind => {
            let dims = if kind == 9 { DIMS.to_vec() } else { vec![1] };
            let constant = Array::from_fn(dims, |at| 0.5 + at as f64 / 8.0).unwrap();
            let constant = network.constant("constant", constant, Kind::Real);
            (join(JoinKind::Add), if kind == 10 { vec![constant, x] } else { vec![x, constant] })
        }
    };
    network.add("layer", operation, &inputs, Kind::Real).unwrap()
}

fn has_joined(operation: &Operation) -> bool {
    let Operation::Reduce(reduce) = operation else { return false };
    reduce.square || reduce.epsilon != 0.0 || reduce.post != Post::None
}

#[test]
fn simpler_networks_mean_what_they_meant() {
    let mut joined = 0;
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let mut network = Network::default();
        let mut values = vec![network.input("x", DIMS.to_vec(), Kind::Real).unwrap()];
        for _ in 0..2 + random.below(8) {
            values.push(layer(&mut random, &mut network, &values));
        }
        // The end of the chain, and sometimes a value on the way.
        for (at, &value) in values.iter().enumerate().skip(1) {
            if at + 1 == values.len() || random.below(6) == 0 {
                network.outputs.push((format!("y{at}"), value));
            }
        }
        let x = Array::from_fn(DIMS.to_vec(), |_| 0.5 + f64::from(random.unit().abs())).unwrap();
        let wanted = exact(&network, std::slice::from_ref(&x));
        network.simplify();
        joined += network.nodes.iter().filter(|node| has_joined(&node.operation)).count();
        for (wanted, seen) in wanted.iter().zip(exact(&network, &[x])) {
            assert_eq!(wanted.dims(), seen.dims(), "seed {seed}");
            for (wanted, seen) in wanted.values().iter().zip(seen.values()) {
                let is_same = wanted == seen || (wanted - seen).abs() <= 1e-9 * wanted.abs();
                assert!(is_same, "seed {seed}: {wanted} became {seen} in {:#?}", network.nodes);
            }
        }
    }
    assert!(joined > 1000, "{joined} reductions took others in");
}
