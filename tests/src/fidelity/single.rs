//! Sums of a few numbers that M1s printed.

use ane::build::{Shape, Weights};
use ane_device::options::Numerics;
use half::f16;

use super::{Row, shortest};
use crate::differential::built::surface::{of_graph, take};

/// Operands that are repeated, all with the same coefficient; what it is called, and what an M1 printed.
struct Sum {
    what: &'static str,
    operand: u16,
    coefficient: u16,
    count: usize,
    published: &'static str,
    source: &'static str,
}

const SUMS: [Sum; 7] = [
    Sum { what: "2^-24 twice", operand: 0x0001, coefficient: 0x3c00, count: 2, published: "0", source: "e" },
    Sum {
        what: "16000 ones",
        operand: 0x3c00,
        coefficient: 0x3c00,
        count: 16000,
        published: "16000",
        source: "e",
    },
    Sum {
        what: "8188 four times",
        operand: 0x6fff,
        coefficient: 0x3c00,
        count: 4,
        published: "32752",
        source: "b",
    },
    Sum {
        what: "8192 four times",
        operand: 0x7000,
        coefficient: 0x3c00,
        count: 4,
        published: "inf",
        source: "b",
    },
    Sum {
        what: "255.875 128 times",
        operand: 0x5bff,
        coefficient: 0x3c00,
        count: 128,
        published: "32752",
        source: "b",
    },
    Sum {
        what: "256 128 times",
        operand: 0x5c00,
        coefficient: 0x3c00,
        count: 128,
        published: "inf",
        source: "b",
    },
    Sum {
        what: "infinity times zero",
        operand: 0x7c00,
        coefficient: 0,
        count: 1,
        published: "0",
        source: "e",
    },
];

pub(super) fn rows() -> Vec<Row> {
    SUMS.iter()
        .map(|sum| {
            let shape = Shape::new(u32::try_from(sum.count).expect("few operands"), 1, 1);
            let weights = vec![f16::from_bits(sum.coefficient); sum.count];
            let (built, case) =
                of_graph(shape, &vec![sum.operand; sum.count], Numerics::M1, |graph, input| {
                    graph.linear(input, 1, Weights::Half(&weights))
                });
            let output = take(&case, &built, "result", &case.on_device().1);
            let ours = shortest(f16::from_bits(output.first().copied().expect("one output")).to_f64());
            Row { what: sum.what.to_owned(), published: sum.published.to_owned(), ours, source: sum.source }
        })
        .collect()
}
