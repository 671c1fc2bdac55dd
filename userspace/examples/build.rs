//! Builds a sample program and writes it to a file: `cargo run -p ane --example build -- softmax softmax.anec`.

use std::process::ExitCode;

use ane::build::{BuildError, Built, Convolution, Graph, Padding, Shape, Tail, Weights};
use anyhow::Context;
use half::f16;

/// A sample: its name, and what builds it.
type Sample = (&'static str, fn() -> Result<Built, BuildError>);

const SAMPLES: [Sample; 4] =
    [("softmax", softmax), ("layer_norm", layer_norm), ("matmul", matmul), ("conv3x3", conv3x3)];

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sample = match &arguments[..] {
        [name, path] => SAMPLES.iter().find(|(known, _)| known == name).map(|sample| (sample, path)),
        _ => None,
    };
    let Some(((name, build), path)) = sample else {
        let names = SAMPLES.map(|(name, _)| name).join("|");
        eprintln!("usage: build {names} FILE.anec");
        return Ok(ExitCode::FAILURE);
    };
    let built = build().with_context(|| format!("cannot build {name}"))?;
    std::fs::write(path, built.to_anec()?).with_context(|| format!("cannot write {path}"))?;
    println!("{name}: {} tasks, {} bytes of scratch memory", built.task_count(), built.scratch_bytes());
    Ok(ExitCode::SUCCESS)
}

/// Over 512 channels.
fn softmax() -> Result<Built, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(512, 1, 1))?;
    let y = graph.softmax(x)?;
    graph.output("y", y)?;
    graph.build()
}

/// Over everything.
fn layer_norm() -> Result<Built, BuildError> {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(1, 8, 64))?;
    let y = graph.layer_norm(x, f16::from_f32(1e-5))?;
    graph.output("y", y)?;
    graph.build()
}

/// `[64, 48]` times `[48, 80]`, both given at run time.
fn matmul() -> Result<Built, BuildError> {
    let mut graph = Graph::new();
    let a = graph.input("a", Shape::new(64, 1, 48))?;
    let b = graph.input("b", Shape::new(48, 1, 80))?;
    let product = graph.matmul(a, b, Tail::NONE)?;
    graph.output("product", product)?;
    graph.build()
}

/// 16 to 32 channels with ReLU; each output averages the pixels around one of its input's.
fn conv3x3() -> Result<Built, BuildError> {
    let mut graph = Graph::new();
    let image = graph.input("image", Shape::new(16, 32, 32))?;
    let mut weights = vec![f16::ZERO; 32 * 16 * 9];
    for output in 0..32 {
        let own = (output * 16 + output % 16) * 9;
        weights[own..own + 9].fill(f16::from_f32(1.0 / 9.0));
    }
    let convolution = Convolution {
        padding: Padding::all(1),
        tail: Tail::RELU,
        ..Convolution::new(32, (3, 3), Weights::Half(&weights))
    };
    let features = graph.convolution(image, &convolution)?;
    graph.output("features", features)?;
    graph.build()
}
