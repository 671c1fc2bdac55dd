//! Any bytes as an array: it is read within a bound, or what is wrong is told, and what is written reads back the same.

#![no_main]

use ane::container::Axes;
use ane::tensor::npy::{Array, View, write, write_as, write_bytes};
use half::f16;

/// Elements that an array may have.
const LIMIT: u64 = 1 << 20;

fn is_same((a, b): (&f16, &f16)) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let array = match Array::read(file, LIMIT) {
        Ok(array) => array,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    assert!(!format!("{:?}", array.header()).is_empty());
    let (halves, conversion) = array.halves();
    assert_eq!(halves.len(), array.doubles().len());
    assert!(conversion.nans <= halves.len() as u64);
    let view = View::of(file, LIMIT).expect("it is an array");
    assert_eq!(view.header(), array.header());
    // A view of an array of Fortran looks for each element anew.
    if halves.len() < 1 << 10 {
        let seen: Vec<u64> = view.doubles().map(f64::to_bits).collect();
        assert_eq!(seen, array.doubles().into_iter().map(f64::to_bits).collect::<Vec<_>>());
    }
    let Ok(count) = u32::try_from(halves.len()) else { return };
    let (tensor, _) = match array.to_tensor(Axes { n: 1, c: 1, h: 1, w: count }) {
        Ok(tensor) => tensor,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    let written = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("memory takes it");
        Array::read(&*bytes, LIMIT).expect("it was written").halves().0
    };
    assert!(written(&|to| write(to, &tensor)).iter().zip(tensor.values()).all(is_same));
    let extents = [count as usize, 1];
    assert!(written(&|to| write_as(to, &extents, &tensor)).iter().zip(tensor.values()).all(is_same));
    assert_eq!(written(&|to| write_bytes(to, &tensor)).len(), halves.len());
});
