//! Blocks of transformers as exporters write them, of any size.

use super::Attribute::{Integers, Text};
use super::Onnx;
use super::network::{attend, linear, norm};

/// A block of GPT-2: a norm before each half, one product for queries, keys and values, and a mask of what comes later.
pub fn gpt2_block(tokens: i64, width: i64, heads: i64) -> Vec<u8> {
    let mut net = Onnx::new(4);
    let x = net.input("embedded", &[1, tokens, width]);
    let normal = norm(&mut net, &x, width);
    let attended = masked_attention(&mut net, &normal, tokens, width, heads);
    let x = net.node("Add", &[&x, &attended], &[]);
    let normal = norm(&mut net, &x, width);
    let wide = linear(&mut net, &normal, width, 4 * width);
    let wide = net.node("Gelu", &[&wide], &[("approximate", Text("tanh"))]);
    let narrow = linear(&mut net, &wide, 4 * width, width);
    net.node_to("Add", &[&x, &narrow], "block", &[]);
    net.output("block", &[1, tokens, width]);
    net.finish()
}

fn masked_attention(net: &mut Onnx, x: &str, tokens: i64, width: i64, heads: i64) -> String {
    let each = width / heads;
    let all = linear(net, x, width, 3 * width);
    let shape = net.integers(&[1, tokens, heads, each]);
    let part = |net: &mut Onnx, index: i64, order: [i64; 4]| {
        let (starts, ends) = (net.integers(&[index * width]), net.integers(&[(index + 1) * width]));
        let axes = net.integers(&[2]);
        let part = net.node("Slice", &[&all, &starts, &ends, &axes], &[]);
        let part = net.node("Reshape", &[&part, &shape], &[]);
        net.node("Transpose", &[&part], &[("perm", Integers(order.to_vec()))])
    };
    let (queries, keys) = (part(net, 0, [0, 2, 1, 3]), part(net, 1, [0, 2, 3, 1]));
    let values = part(net, 2, [0, 2, 1, 3]);
    let later = |at: i64| if at % tokens > at / tokens { -1e4 } else { 0.0 };
    let mask: Vec<f32> = (0..tokens * tokens).map(later).collect();
    let mask = net.singles(&[1, 1, tokens, tokens], &mask);
    attend(net, [queries, keys, values], (tokens, width), heads, Some(&mask))
}
