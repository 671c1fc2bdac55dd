//! The network once more, in double precision, from the textbook: it knows nothing of the engine.

use ane::tensor::Tensor;

use super::network::{CHANNELS, CLASSES, COLUMNS, FEATURES, ROWS};

pub(super) struct Reference {
    /// After convolution and ReLU: whole numbers.
    pub(super) features: Vec<f64>,
    pub(super) probabilities: Vec<f64>,
}

pub(super) fn compute(image: &Tensor, weights: &[half::f16], projection: &Tensor) -> Reference {
    let (rows, columns) = (ROWS as usize - 2, COLUMNS as usize - 2);
    let (channels, features, classes) = (CHANNELS as usize, FEATURES as usize, CLASSES as usize);
    let image = |c: usize, y: usize, x: usize| {
        image.values()[(c * ROWS as usize + y) * COLUMNS as usize + x].to_f64()
    };
    let mut convolved = Vec::new();
    for feature in 0..features {
        for y in 0..rows {
            for x in 0..columns {
                let mut sum = 0.0;
                for c in 0..channels {
                    for (dy, dx) in (0..9).map(|tap| (tap / 3, tap % 3)) {
                        let weight = weights[((feature * channels + c) * 3 + dy) * 3 + dx].to_f64();
                        sum += weight * image(c, y + dy, x + dx);
                    }
                }
                convolved.push(sum.max(0.0));
            }
        }
    }
    let activated: Vec<f64> = convolved.iter().map(|sum| 1.0 / (1.0 + (-sum / 32.0).exp())).collect();
    let factor = |k: usize, y: usize, n: usize| projection.values()[(k * rows + y) * classes + n].to_f64();
    let mut product = Vec::new();
    for feature in 0..features {
        for y in 0..rows {
            for class in 0..classes {
                let terms =
                    (0..columns).map(|k| activated[(feature * rows + y) * columns + k] * factor(k, y, class));
                product.push(terms.sum::<f64>());
            }
        }
    }
    // Over the channels, for each row and column.
    let plane = rows * classes;
    let sums: Vec<f64> = (0..plane)
        .map(|place| (0..features).map(|feature| product[feature * plane + place].exp()).sum())
        .collect();
    let probabilities = product.iter().enumerate().map(|(index, value)| value.exp() / sums[index % plane]);
    Reference { probabilities: probabilities.collect(), features: convolved }
}
