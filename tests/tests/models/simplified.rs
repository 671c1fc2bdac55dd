//! Networks that were made simpler: they are smaller, and mean what they meant.

use ane::model::network::operation::{Join, JoinKind, Linear, Map, Post, Reduce, ReduceKind};
use ane::model::network::{Array, Kind, Network, Operation, ValueId};
use ane_tests::random::Random;

use super::exact;

const DIMS: [usize; 3] = [2, 3, 4];

/// A product of `x` with a known matrix on either side, one matrix for each batch, or two products of what is computed.
fn product(random: &mut Random, network: &mut Network, x: ValueId, other: ValueId) -> ValueId {
    let add = |network: &mut Network, operation: Operation, inputs: &[ValueId]| {
        network.add("product", operation, inputs, Kind::Real).unwrap()
    };
    let [batches, rows, columns] = DIMS;
    let (high, wide) = (network.dims(x)[1], network.dims(x)[2]);
    let (dims, is_left) = match random.below(4) {
        0 => (vec![wide, columns], false),
        1 => (vec![rows, high], true),
        2 => (vec![batches, wide, columns], false),
        _ => {
            let other = if network.dims(other)[2] == wide { other } else { x };
            let turned = add(network, Operation::Permute(vec![0, 2, 1]), &[other]);
            let part = add(network, Operation::Map(Map::Sigmoid), &[x]);
            let scores = add(network, Operation::Product, &[part, turned]);
            let scale = Map::Affine { scale: 0.125, offset: 0.0 };
            let scores = add(network, Operation::Map(scale), &[scores]);
            return add(network, Operation::Product, &[scores, other]);
        }
    };
    let matrix = Array::from_fn(dims, |at| 0.25 + (at % 5) as f64 / 8.0).unwrap();
    let matrix = network.constant("matrix", matrix, Kind::Real);
    add(network, Operation::Product, &if is_left { [matrix, x] } else { [x, matrix] })
}

/// A factor or an addend that stretches along some axes.
fn constant(random: &mut Random, network: &mut Network) -> ValueId {
    let first = random.below(3) as usize;
    let dims = DIMS[first..].iter().map(|&extent| if random.below(2) == 0 { 1 } else { extent }).collect();
    let array = Array::from_fn(dims, |at| 0.5 + at as f64 / 8.0).unwrap();
    network.constant("constant", array, Kind::Real)
}

/// A norm as models write it, or one that looks like it: means over other axes, of another tensor, or read twice.
fn norm(random: &mut Random, network: &mut Network, x: ValueId, other: ValueId) -> ValueId {
    let add = |network: &mut Network, operation: Operation, inputs: &[ValueId]| {
        network.add("norm", operation, inputs, Kind::Real).unwrap()
    };
    let axes = [vec![2], vec![1, 2], vec![0, 2]][random.below(3) as usize].clone();
    let wrong = random.below(8);
    let mean = |axes: &[usize]| Reduce {
        kind: ReduceKind::Mean,
        axes: axes.to_vec(),
        square: false,
        epsilon: 0.0,
        post: Post::None,
    };
    let of_mean = if wrong == 0 && network.dims(x) == network.dims(other) { other } else { x };
    let means = add(network, Operation::Reduce(mean(&axes)), &[of_mean]);
    let join = |kind| Operation::Join(Join { kind, relu: false });
    let centred = add(network, join(JoinKind::Subtract), &[x, means]);
    let again = if wrong == 1 { vec![1] } else { axes };
    let deviation = Reduce { square: true, epsilon: 0.25, post: Post::ReciprocalSquareRoot, ..mean(&again) };
    let factor = add(network, Operation::Reduce(deviation), &[centred]);
    let operands = if random.below(2) == 0 { [centred, factor] } else { [factor, centred] };
    let normal = add(network, join(JoinKind::Multiply), &operands);
    // Roots and reciprocals behind it want numbers above zero.
    let normal = add(network, Operation::Map(Map::Square), &[normal]);
    let addend = if wrong == 2 { factor } else { network.constant("one", Array::scalar(1.0), Kind::Real) };
    add(network, join(JoinKind::Add), &[normal, addend])
}

/// The layers around reductions and products in models, and some that look like them.
fn layer(random: &mut Random, network: &mut Network, values: &[ValueId]) -> ValueId {
    // Mostly the newest value, so that chains come about.
    let mut any = |values: &[ValueId]| {
        let back = if random.below(4) == 0 { random.below(values.len() as u32) as usize } else { 0 };
        values[values.len() - 1 - back]
    };
    let (x, other) = (any(values), any(values));
    let join = |kind| Operation::Join(Join { kind, relu: false });
    let maps = [
        Map::Relu,
        Map::Gelu,
        Map::LeakyRelu(0.25),
        Map::Clip(0.5, 2.0),
        Map::Affine { scale: 0.5, offset: 0.25 },
        Map::Affine { scale: 0.125, offset: 0.0 },
    ];
    let (operation, inputs) = match random.below(22) {
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
        20 | 21 => return norm(random, network, x, other),
        12..=14 => return product(random, network, x, other),
        15 | 16 => (Operation::Map(maps[random.below(maps.len() as u32) as usize]), vec![x]),
        17..=19 => {
            let kind = if random.below(2) == 0 { JoinKind::Add } else { JoinKind::Multiply };
            (join(kind), vec![x, constant(random, network)])
        }
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

/// Whether each of the three that a product can take was taken by one.
fn joined_by_products(network: &Network) -> [bool; 3] {
    let has = |is_taken: fn(&Linear, &[ValueId]) -> bool| {
        network.nodes.iter().any(|node| match &node.operation {
            Operation::Linear(linear) => is_taken(linear, &node.inputs),
            _ => false,
        })
    };
    [
        has(|linear, _| linear.scale != 1.0),
        has(|_, inputs| inputs.len() > 2),
        has(|linear, _| linear.activation.is_some()),
    ]
}

#[test]
fn simpler_networks_mean_what_they_meant() {
    let (mut joined, mut norms, mut by_products) = (0, 0, [0; 3]);
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let mut network = Network::default();
        let mut values = vec![network.input("x", DIMS.to_vec(), Kind::Real).unwrap()];
        for _ in 0..2 + random.below(12) {
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
        norms += network.nodes.iter().filter(|node| node.operation.name() == "norm").count();
        for (count, joined) in by_products.iter_mut().zip(joined_by_products(&network)) {
            *count += u32::from(joined);
        }
        for (wanted, seen) in wanted.iter().zip(exact(&network, &[x])) {
            assert_eq!(wanted.dims(), seen.dims(), "seed {seed}");
            for (wanted, seen) in wanted.values().iter().zip(seen.values()) {
                let is_same = wanted == seen || (wanted - seen).abs() <= 1e-9 * wanted.abs();
                assert!(is_same, "seed {seed}: {wanted} became {seen} in {:#?}", network.nodes);
            }
        }
    }
    assert!(joined > 500, "{joined} reductions took others in");
    assert!(norms > 500, "{norms} norms became layers");
    assert!(by_products.iter().all(|&joined| joined > 500), "{by_products:?} networks have a joined product");
}
