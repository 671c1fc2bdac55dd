//! Any bytes as an array: it is read within a bound, or what is wrong is told, and what is written reads back the same.

#![no_main]

use ane::container::Axes;
use ane::tensor::npy::{Array, write};
use half::f16;

/// Elements that an array may have.
const LIMIT: u64 = 1 << 20;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let array = match Array::read(file, LIMIT) {
        Ok(array) => array,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    assert!(!format!("{:?}", array.header()).is_empty());
    let (halves, conversion) = array.halves();
    assert_eq!(halves.len(), array.doubles().len());
    assert!(conversion.nans <= halves.len() as u64);
    let Ok(count) = u32::try_from(halves.len()) else { return };
    let (tensor, _) = match array.to_tensor(Axes { n: 1, c: 1, h: 1, w: count }) {
        Ok(tensor) => tensor,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    let mut bytes = Vec::new();
    write(&mut bytes, &tensor).expect("memory takes it");
    let (again, _) = Array::read(&*bytes, LIMIT).expect("it was written").halves();
    let is_same = |(a, b): (&f16, &f16)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    assert!(again.iter().zip(tensor.values()).all(is_same));
});
