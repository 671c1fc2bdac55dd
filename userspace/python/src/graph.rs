//! The builder of programs: [`ane::build::Graph`], with tensors as numbers.
//!
//! `ane/_graph.py` has the types and the documentation. Tensors are numbers here, and each graph keeps what they stand for.

use std::collections::BTreeMap;

use ane::build::{
    BuildError, Channels, Convolution, Graph as Builder, Padding, Shape, Tail, Tensor, Weights, script,
};
use ane::tensor::Conversion;
use half::f16;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::program::Program;
use crate::raise;

/// Values, dense.
type Values<'py> = PyReadonlyArray1<'py, f16>;

/// A graph under construction.
#[pyclass(module = "ane._ane")]
pub(crate) struct Graph {
    builder: Builder,
    tensors: Vec<Tensor>,
}

#[pymethods]
impl Graph {
    #[new]
    fn new() -> Self {
        Self { builder: Builder::new(), tensors: Vec::new() }
    }

    fn input(&mut self, py: Python<'_>, name: &str, shape: (u32, u32, u32)) -> PyResult<usize> {
        let made = self.builder.input(name, shape_of(shape));
        self.keep(py, made)
    }

    fn constant(&mut self, py: Python<'_>, shape: (u32, u32, u32), values: Values<'_>) -> PyResult<usize> {
        let made = self.builder.constant(shape_of(shape), slice(&values)?);
        self.keep(py, made)
    }

    fn output(&mut self, py: Python<'_>, name: &str, tensor: usize) -> PyResult<()> {
        let tensor = self.tensor(tensor)?;
        self.builder.output(name, tensor).map_err(|why| raise::build(py, &why))
    }

    /// Channels, rows and columns.
    fn shape(&self, py: Python<'_>, tensor: usize) -> PyResult<(u32, u32, u32)> {
        let shape = self.builder.shape(self.tensor(tensor)?).map_err(|why| raise::build(py, &why))?;
        Ok((shape.c, shape.h, shape.w))
    }

    #[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
    fn convolution(
        &mut self,
        py: Python<'_>,
        x: usize,
        outputs: u32,
        kernel: (u32, u32),
        weights: Values<'_>,
        bias: Option<Values<'_>>,
        stride: (u32, u32),
        padding: (u32, u32, u32, u32),
        groups: u32,
        relu: bool,
    ) -> PyResult<usize> {
        let x = self.tensor(x)?;
        let (left, right, top, bottom) = padding;
        let bias = bias.as_ref().map(slice).transpose()?;
        let inputs = self.builder.shape(x).map_err(|why| raise::build(py, &why))?.c;
        let convolution = Convolution {
            stride,
            padding: Padding { left, right, top, bottom },
            channels: Channels::of_groups(groups, inputs, outputs),
            bias,
            tail: if relu { Tail::RELU } else { Tail::NONE },
            ..Convolution::new(outputs, kernel, Weights::Half(slice(&weights)?))
        };
        let made = self.builder.convolution(x, &convolution);
        self.keep(py, made)
    }

    fn norm_columns(
        &mut self,
        py: Python<'_>,
        x: usize,
        gamma: usize,
        beta: usize,
        epsilon: f64,
    ) -> PyResult<usize> {
        let (x, gamma, beta) = (self.tensor(x)?, self.tensor(gamma)?, self.tensor(beta)?);
        let epsilon = Conversion::default()
            .epsilon(epsilon)
            .map_err(|why| raise::wrong_value(format!("epsilon={epsilon} {why}")))?;
        let made = self.builder.layer_norm_columns(x, gamma, beta, epsilon);
        self.keep(py, made)
    }

    /// Adds a layer as a line of `ane build` describes it: operands are `%0`, `%1` and so on, and arrays go by
    /// their names.
    fn line(
        &mut self,
        py: Python<'_>,
        operation: &str,
        operands: Vec<usize>,
        words: Vec<String>,
        arrays: BTreeMap<String, Values<'_>>,
    ) -> PyResult<usize> {
        let operands =
            operands.into_iter().map(|operand| self.tensor(operand)).collect::<PyResult<Vec<_>>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let array = |name: &str, count: u64| {
            let values = arrays.get(name).ok_or("is no array that was given")?;
            let values = values.as_slice().map_err(|why| why.to_string())?;
            if values.len() as u64 == count {
                Ok(values.to_vec())
            } else {
                Err(format!("has {} values, wanted are {count}", values.len()))
            }
        };
        let made = script::add(&mut self.builder, operation, &operands, &words, array);
        match made {
            Ok(tensor) => self.keep(py, Ok(tensor)),
            Err(script::Why::Build(why)) => Err(raise::build(py, &why)),
            Err(why) => Err(raise::wrong_value(why.to_string())),
        }
    }

    fn build(&self, py: Python<'_>) -> PyResult<Program> {
        let built = py.detach(|| self.builder.build()).map_err(|why| raise::build(py, &why))?;
        Program::of_built(py, &built)
    }
}

impl Graph {
    fn tensor(&self, number: usize) -> PyResult<Tensor> {
        let known = self.tensors.get(number).copied();
        known.ok_or_else(|| raise::wrong_value(format!("the graph has no tensor {number}")))
    }

    fn keep(&mut self, py: Python<'_>, made: Result<Tensor, BuildError>) -> PyResult<usize> {
        self.tensors.push(made.map_err(|why| raise::build(py, &why))?);
        Ok(self.tensors.len() - 1)
    }
}

fn shape_of((channels, rows, columns): (u32, u32, u32)) -> Shape {
    Shape::new(channels, rows, columns)
}

fn slice<'a>(values: &'a Values<'_>) -> PyResult<&'a [f16]> {
    values.as_slice().map_err(raise::wrong_value)
}
