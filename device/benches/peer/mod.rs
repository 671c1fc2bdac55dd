//! The best product of matrices in pure Rust, of those that were tried: what dense problems are measured beside.

/// `product[o][p] = sum coefficients[o][t] * columns[t][p]`, by faer; sizes are outputs, taps and pixels.
pub(crate) fn by_faer(
    sizes: [usize; 3],
    coefficients: &[f32],
    columns: &[f32],
    product: &mut [f32],
    threads: usize,
) {
    let [outputs, taps, pixels] = sizes;
    let parallelism = if threads > 1 { faer::Par::rayon(threads) } else { faer::Par::Seq };
    faer::linalg::matmul::matmul(
        faer::MatMut::from_row_major_slice_mut(product, outputs, pixels),
        faer::Accum::Replace,
        faer::MatRef::from_row_major_slice(coefficients, outputs, taps),
        faer::MatRef::from_row_major_slice(columns, taps, pixels),
        1.0,
        parallelism,
    );
}
