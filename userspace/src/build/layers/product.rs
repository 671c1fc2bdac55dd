//! Matrix products for each channel, and attention, which is a chain of them.

use super::super::error::Result;
use super::super::graph::{Graph, Tensor};
use crate::model::network::Operation;

impl Graph {
    /// For each channel, rows and columns of `a` times rows and columns of `b`: `[C, M, K]` times `[C, K, N]`.
    ///
    /// # Errors
    ///
    /// Refuses shapes that do not go together; one channel stretches to many.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let a = graph.input("a", Shape::new(4, 16, 32))?;
    /// let b = graph.input("b", Shape::new(4, 32, 8))?;
    /// let y = graph.batched_matmul(a, b)?;
    /// assert_eq!(graph.shape(y)?, Shape::new(4, 16, 8));
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn batched_matmul(&mut self, a: Tensor, b: Tensor) -> Result<Tensor> {
        self.layer("matrix product", &[a, b], |layer, values| layer.add(Operation::Product, values))
    }

    /// Attention as one chain: softmax of `query * key^T / sqrt(columns) + mask`, times `value`.
    ///
    /// Channels are heads, rows are tokens, and columns are what a token has.
    ///
    /// # Errors
    ///
    /// Refuses shapes that do not go together.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::build::{Graph, Shape};
    ///
    /// let mut graph = Graph::new();
    /// let head = Shape::new(4, 64, 32);
    /// let query = graph.input("query", head)?;
    /// let key = graph.input("key", head)?;
    /// let value = graph.input("value", head)?;
    /// let y = graph.attention(query, key, value, None)?;
    /// graph.output("y", y)?;
    /// graph.build()?;
    /// # Ok::<(), ane::build::BuildError>(())
    /// ```
    pub fn attention(
        &mut self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Option<Tensor>,
    ) -> Result<Tensor> {
        let operands: Vec<Tensor> = [query, key, value].into_iter().chain(mask).collect();
        self.layer("attention", &operands, |layer, values| {
            let mask = values.get(3).copied();
            Ok(layer.compose().attention([values[0], values[1], values[2]], mask)?)
        })
    }
}
