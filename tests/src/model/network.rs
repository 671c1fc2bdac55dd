//! Whole networks with random weights, of the forms that people bring.

use super::Attribute::{Integer, Integers, Single, Text};
use super::Onnx;

/// Inverted residuals as MobileNetV2 has them, at a fraction of its width: (expansion, channels, repeats, stride).
const STAGES: [(i64, i64, i64, i64); 7] =
    [(1, 8, 1, 1), (6, 16, 2, 2), (6, 16, 3, 2), (6, 32, 4, 2), (6, 48, 3, 1), (6, 64, 3, 2), (6, 96, 1, 1)];

/// The same at its published width (Sandler and others, 2018).
const STAGES_WHOLE: [(i64, i64, i64, i64); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

/// A network like MobileNetV2, for images of `size` by `size`: convolution, batch norm and ReLU6 fifty times over.
pub fn mobilenet(size: i64, classes: i64) -> Vec<u8> {
    residuals(size, classes, (16, 256), &STAGES)
}

/// MobileNetV2 with random weights: 3.5 million of them, for images of 224 by 224 and 1000 classes.
pub fn mobilenet_whole() -> Vec<u8> {
    residuals(224, 1000, (32, 1280), &STAGES_WHOLE)
}

fn residuals(
    size: i64,
    classes: i64,
    (narrow, features): (i64, i64),
    stages: &[(i64, i64, i64, i64)],
) -> Vec<u8> {
    let mut net = Onnx::new(1);
    let image = net.input("image", &[1, 3, size, size]);
    let mut x = block(&mut net, &image, (3, narrow), 3, 2, 1, true);
    let mut channels = narrow;
    for &(expansion, outputs, repeats, first_stride) in stages {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { first_stride } else { 1 };
            let wide = channels * expansion;
            let inner =
                if expansion == 1 { x.clone() } else { block(&mut net, &x, (channels, wide), 1, 1, 1, true) };
            let inner = block(&mut net, &inner, (wide, wide), 3, stride, wide, true);
            let inner = block(&mut net, &inner, (wide, outputs), 1, 1, 1, false);
            x = if stride == 1 && channels == outputs { net.node("Add", &[&x, &inner], &[]) } else { inner };
            channels = outputs;
        }
    }
    let x = block(&mut net, &x, (channels, features), 1, 1, 1, true);
    let pooled = net.node("GlobalAveragePool", &[&x], &[]);
    let flat = net.node("Flatten", &[&pooled], &[]);
    let weights = net.random(&[classes, features], (3.0 / features as f32).sqrt());
    let bias = net.random(&[classes], 0.1);
    net.node_to("Gemm", &[&flat, &weights, &bias], "scores", &[("transB", Integer(1))]);
    net.output("scores", &[1, classes]);
    net.finish()
}

/// Convolution, batch norm, and ReLU6 if there is one.
fn block(
    net: &mut Onnx,
    x: &str,
    (inputs, outputs): (i64, i64),
    kernel: i64,
    stride: i64,
    groups: i64,
    relu6: bool,
) -> String {
    let each = inputs / groups;
    let weights =
        net.random(&[outputs, each, kernel, kernel], (3.0 / (each * kernel * kernel) as f32).sqrt());
    let attributes = [
        ("kernel_shape", Integers(vec![kernel; 2])),
        ("strides", Integers(vec![stride; 2])),
        ("pads", Integers(vec![kernel / 2; 4])),
        ("group", Integer(groups)),
    ];
    let x = net.node("Conv", &[x, &weights], &attributes);
    let scale = net.singles(&[outputs], &vec![1.2; outputs as usize]);
    let offset = net.random(&[outputs], 0.2);
    let mean = net.random(&[outputs], 0.1);
    let variance = net.singles(&[outputs], &vec![0.7; outputs as usize]);
    let x = net.node("BatchNormalization", &[&x, &scale, &offset, &mean, &variance], &[]);
    if !relu6 {
        return x;
    }
    let (low, high) = (net.singles(&[], &[0.0]), net.singles(&[], &[6.0]));
    net.node("Clip", &[&x, &low, &high], &[])
}

/// An encoder like BERT's smallest: `layers` of attention over `heads` and a feed-forward network, embedded outside.
pub fn bert(tokens: i64, width: i64, heads: i64, layers: i64) -> Vec<u8> {
    let mut net = Onnx::new(2);
    let x = net.input("embedded", &[1, tokens, width]);
    let x = encoder(&mut net, x, (tokens, width), heads, layers, None);
    net.node_to("Identity", &[&x], "encoded", &[]);
    net.output("encoded", &[1, tokens, width]);
    net.finish()
}

/// The published BERT-tiny, two layers of 128 wide, from ids of tokens to a vector for each and one for all of them.
///
/// Like exports it has the ids, the mask of the tokens that count, and the kind of each token as whole numbers.
pub fn bert_tiny(tokens: i64, vocabulary: i64) -> Vec<u8> {
    let (width, heads, layers) = (128, 2, 2);
    let mut net = Onnx::new(6);
    let [ids, mask, kinds] =
        ["input_ids", "attention_mask", "token_type_ids"].map(|name| net.whole_input(name, &[1, tokens]));
    let mut embedded = |indices: &str, rows: i64| {
        let table = net.random(&[rows, width], 1.0);
        net.node("Gather", &[&table, indices], &[])
    };
    let (words, kinds) = (embedded(&ids, vocabulary), embedded(&kinds, 2));
    let places = net.random(&[1, tokens, width], 1.0);
    let sum = net.node("Add", &[&words, &kinds], &[]);
    let sum = net.node("Add", &[&sum, &places], &[]);
    let x = norm(&mut net, &sum, width);
    // Positions that do not count are far below everything else.
    let axes = net.integers(&[1, 2]);
    let mask = net.node("Unsqueeze", &[&mask, &axes], &[]);
    let mask = net.node("Cast", &[&mask], &[("to", Integer(1))]);
    let (one, far) = (net.singles(&[], &[1.0]), net.singles(&[], &[-1e4]));
    let mask = net.node("Sub", &[&one, &mask], &[]);
    let mask = net.node("Mul", &[&mask, &far], &[]);
    let x = encoder(&mut net, x, (tokens, width), heads, layers, Some(&mask));
    net.node_to("Identity", &[&x], "last_hidden_state", &[]);
    net.output("last_hidden_state", &[1, tokens, width]);
    let (zero, axis) = (net.integers(&[0]), net.integers(&[1]));
    let first = net.node("Gather", &[&x, &zero], &[("axis", Integer(1))]);
    let first = net.node("Squeeze", &[&first, &axis], &[]);
    let pooled = linear(&mut net, &first, width, width);
    net.node_to("Tanh", &[&pooled], "pooler_output", &[]);
    net.output("pooler_output", &[1, width]);
    net.finish()
}

fn encoder(
    net: &mut Onnx,
    mut x: String,
    (tokens, width): (i64, i64),
    heads: i64,
    layers: i64,
    mask: Option<&str>,
) -> String {
    for _ in 0..layers {
        let attended = attention(net, &x, (tokens, width), heads, mask);
        let sum = net.node("Add", &[&x, &attended], &[]);
        x = norm(net, &sum, width);
        let wide = linear(net, &x, width, 4 * width);
        let wide = net.node("Gelu", &[&wide], &[]);
        let narrow = linear(net, &wide, 4 * width, width);
        let sum = net.node("Add", &[&x, &narrow], &[]);
        x = norm(net, &sum, width);
    }
    x
}

fn attention(net: &mut Onnx, x: &str, (tokens, width): (i64, i64), heads: i64, mask: Option<&str>) -> String {
    let each = width / heads;
    let split = |net: &mut Onnx, order: [i64; 4]| {
        let all = linear(net, x, width, width);
        let shape = net.integers(&[1, tokens, heads, each]);
        let parts = net.node("Reshape", &[&all, &shape], &[]);
        net.node("Transpose", &[&parts], &[("perm", Integers(order.to_vec()))])
    };
    let (queries, keys) = (split(net, [0, 2, 1, 3]), split(net, [0, 2, 3, 1]));
    let values = split(net, [0, 2, 1, 3]);
    attend(net, [queries, keys, values], (tokens, width), heads, mask)
}

/// Attention of heads that are split already, up to the product behind it.
pub(super) fn attend(
    net: &mut Onnx,
    [queries, keys, values]: [String; 3],
    (tokens, width): (i64, i64),
    heads: i64,
    mask: Option<&str>,
) -> String {
    let scores = net.node("MatMul", &[&queries, &keys], &[]);
    let root = net.singles(&[], &[((width / heads) as f32).sqrt()]);
    let scores = net.node("Div", &[&scores, &root], &[]);
    let scores = mask.map_or(scores.clone(), |mask| net.node("Add", &[&scores, mask], &[]));
    let weights = net.node("Softmax", &[&scores], &[("axis", Integer(-1))]);
    let mixed = net.node("MatMul", &[&weights, &values], &[]);
    let mixed = net.node("Transpose", &[&mixed], &[("perm", Integers(vec![0, 2, 1, 3]))]);
    let shape = net.integers(&[1, tokens, width]);
    let joined = net.node("Reshape", &[&mixed, &shape], &[]);
    linear(net, &joined, width, width)
}

pub(super) fn linear(net: &mut Onnx, x: &str, inputs: i64, outputs: i64) -> String {
    let weights = net.random(&[inputs, outputs], (3.0 / inputs as f32).sqrt());
    let bias = net.random(&[outputs], 0.1);
    let product = net.node("MatMul", &[x, &weights], &[]);
    net.node("Add", &[&product, &bias], &[])
}

pub(super) fn norm(net: &mut Onnx, x: &str, width: i64) -> String {
    let (scale, offset) = (net.singles(&[width], &vec![1.0; width as usize]), net.random(&[width], 0.1));
    net.node("LayerNormalization", &[x, &scale, &offset], &[("epsilon", Single(1e-5))])
}

/// Operators that move, pad, resize and compare: what the networks above do not have.
pub fn operators() -> Vec<u8> {
    let mut net = Onnx::new(3);
    let x = net.input("x", &[1, 4, 6, 6]);
    let pads = net.integers(&[0, 0, 1, 1, 0, 0, 1, 1]);
    let padded = net.node("Pad", &[&x, &pads], &[("mode", Text("reflect"))]);
    let window = [("kernel_shape", Integers(vec![2, 2])), ("strides", Integers(vec![2, 2]))];
    let pooled = net.node("MaxPool", &[&padded], &window);
    let scales = net.singles(&[4], &[1.0, 1.0, 2.0, 2.0]);
    let larger = net.node("Resize", &[&pooled, "", &scales], &[("mode", Text("linear"))]);
    let kernel = net.random(&[4, 2, 3, 3], 0.3);
    let strides = [("strides", Integers(vec![2, 2])), ("group", Integer(2))];
    let transposed = net.node("ConvTranspose", &[&larger, &kernel], &strides);
    let (starts, ends) = (net.integers(&[1, -1]), net.integers(&[9, 2]));
    let (axes, steps) = (net.integers(&[2, 3]), net.integers(&[2, -3]));
    let part = net.node("Slice", &[&transposed, &starts, &ends, &axes, &steps], &[]);
    let limit = net.singles(&[], &[0.25]);
    let mask = net.node("Greater", &[&part, &limit], &[]);
    let chosen = net.node("Where", &[&mask, &part, &limit], &[]);
    net.node_to("ReduceLogSumExp", &[&chosen], "y", &[("keepdims", Integer(0))]);
    net.output("y", &[]);
    net.finish()
}

/// A layer that remembers, places turned into angles, attention, and sums of products.
pub fn sequence() -> Vec<u8> {
    let (steps, width, hidden) = (3, 4, 8);
    let mut net = Onnx::new(11);
    let x = net.input("x", &[steps, 1, width]);
    let weights = [net.random(&[1, 4 * hidden, width], 1.0), net.random(&[1, 4 * hidden, hidden], 1.0)];
    let bias = net.random(&[1, 8 * hidden], 0.2);
    let size = [("hidden_size", Integer(hidden))];
    let remembered = net.node("LSTM", &[&x, &weights[0], &weights[1], &bias], &size);
    let dims = net.integers(&[1, steps, hidden]);
    let flat = net.node("Reshape", &[&remembered, &dims], &[]);
    let angles = [net.random(&[1, steps, 2], 1.0), net.random(&[1, steps, 2], 1.0)];
    let heads = [("num_heads", Integer(2)), ("interleaved", Integer(1))];
    let turned = net.node("RotaryEmbedding", &[&flat, &angles[0], &angles[1]], &heads);
    let heads = [("q_num_heads", Integer(2)), ("kv_num_heads", Integer(1)), ("is_causal", Integer(1))];
    let half = net.random(&[hidden, hidden / 2], 1.0);
    let key = net.node("MatMul", &[&flat, &half], &[]);
    let mixed = net.node("Attention", &[&turned, &key, &key], &heads);
    let last = net.random(&[hidden, 3], 1.0);
    net.node_to("Einsum", &[&mixed, &last], "y", &[("equation", Text("bsd,de->eb"))]);
    net.output("y", &[3, 1]);
    net.finish()
}
