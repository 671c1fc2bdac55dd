//! The bound of nearly all of many measurements.

/// The smallest value that 99 of 100 do not exceed, of values in rising order. Of a hundred it is the one below the largest.
pub fn p99<T: Copy + Default>(sorted: &[T]) -> T {
    let rank = (sorted.len() * 99).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_hundred_may_be_larger() {
        let of = |count: u32| p99(&(1..=count).collect::<Vec<_>>());
        assert_eq!([0, 1, 2, 99, 100, 101, 200, 1000].map(of), [0, 1, 2, 99, 99, 100, 198, 990]);
    }
}
