use super::*;

const SHAPE: Axes<u32> = Axes { n: 1, c: 2, h: 1, w: 3 };

/// A file of version 1.0.
fn file(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dictionary.len() as u16).to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(data);
    bytes
}

fn dictionary(descr: &str, order: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

fn read(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let array = Array::read(bytes, 6).map_err(|error| error.to_string())?;
    let (tensor, _) = array.to_tensor(SHAPE).map_err(|error| error.to_string())?;
    Ok(tensor.values().iter().map(|value| value.to_f32()).collect())
}

const COUNTED: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn bytes_of<const N: usize>(to_bytes: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    (1..=6).flat_map(to_bytes).collect()
}

#[test]
fn numbers_of_every_kind_and_order_become_halves() {
    let halves = |value: u8| f16::from_f32(value.into());
    for (descr, data) in [
        ("<f2", bytes_of(|value| halves(value).to_le_bytes())),
        (">f2", bytes_of(|value| halves(value).to_be_bytes())),
        ("<f4", bytes_of(|value| f32::from(value).to_le_bytes())),
        (">f4", bytes_of(|value| f32::from(value).to_be_bytes())),
        ("<f8", bytes_of(|value| f64::from(value).to_le_bytes())),
        ("|u1", bytes_of(|value| [value])),
        ("|i1", bytes_of(|value| [value])),
        ("<i2", bytes_of(|value| i16::from(value).to_le_bytes())),
        (">u4", bytes_of(|value| u32::from(value).to_be_bytes())),
        ("=i8", bytes_of(|value| i64::from(value).to_le_bytes())),
    ] {
        let bytes = file(&dictionary(descr, "False", "(1, 2, 1, 3)"), &data);
        assert_eq!(read(&bytes).as_deref(), Ok(&COUNTED[..]), "{descr}");
    }
}

#[test]
fn first_axis_is_the_fastest_in_the_order_of_fortran() {
    let data = bytes_of(|value| [value]);
    let bytes = file(&dictionary("|u1", "True", "(2, 3)"), &data);
    assert_eq!(read(&bytes).as_deref(), Ok(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0][..]));
    assert_eq!(Array::read(&bytes[..], 6).unwrap().doubles(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
}

#[test]
fn empty_array_in_the_order_of_fortran_may_have_axes_of_any_length() {
    let bytes = file(&dictionary("<f2", "True", "(1099511627776, 1099511627776, 0)"), &[]);
    let array = Array::read(&bytes[..], 6).unwrap();
    assert_eq!(array.halves(), (Vec::new(), Conversion::default()));
}

#[test]
fn fortran_order_of_four_axes_agrees_with_the_definition() {
    let shape = [2_u64, 3, 4, 5];
    let fortran: Vec<f16> = (0..120).map(|value| f16::from_f32(value as f32)).collect();
    let dense = in_order_of_c(&shape, &fortran);
    let mut expected = Vec::new();
    for a in 0..2 {
        for b in 0..3 {
            for c in 0..4 {
                for d in 0..5 {
                    expected.push(fortran[a + 2 * (b + 3 * (c + 4 * d))]);
                }
            }
        }
    }
    assert_eq!(dense, expected);
}

#[test]
fn axes_of_length_one_count_for_nothing() {
    let data = bytes_of(|value| [value]);
    for shape in ["(2, 3)", "(2, 3, 1)", "(1, 1, 1, 2, 3)", "(2L, 3L)", "(2,3)"] {
        assert_eq!(read(&file(&dictionary("|u1", "False", shape), &data)).as_deref(), Ok(&COUNTED[..]));
    }
    let message = read(&file(&dictionary("|u1", "False", "(3, 2)"), &data)).unwrap_err();
    assert_eq!(
        message,
        "array has shape [3, 2], wanted is [1, 2, 1, 3] or the same without axes of length 1"
    );
}

#[test]
fn versions_two_and_three_have_longer_lengths() {
    let text = dictionary("|u1", "False", "(6,)");
    for major in [2, 3] {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([major, 0]);
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend([9; 6]);
        assert_eq!(Array::read(&bytes[..], 6).unwrap().header().shape, [6], "version {major}");
    }
}

#[test]
fn conversion_says_what_was_lost() {
    let data: Vec<u8> = [1.0_f32, 1.0e9, 0.1, f32::NAN, f32::INFINITY, -0.0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let array = Array::read(&file(&dictionary("<f4", "False", "(6,)"), &data)[..], 6).unwrap();
    let (values, conversion) = array.halves();
    assert_eq!(conversion, Conversion { rounded: 1, overflowed: 1, nans: 1, first_nan: Some(3) });
    assert_eq!(values[5].to_bits(), 0x8000);
    assert!(values[1].is_infinite());
}

#[test]
fn damaged_files_are_refused_with_what_is_wrong() {
    let good = dictionary("|u1", "False", "(6,)");
    let whole = file(&good, &[1; 6]);
    for (bytes, message) in [
        (
            b"PK\x03\x04zip".to_vec(),
            "not a .npy file: it looks like a zip archive, as .npz files are, and does not begin with \\x93NUMPY",
        ),
        (whole[..4].to_vec(), "file ends inside the header of an array"),
        (whole[..40].to_vec(), "file ends inside the header of an array"),
        (whole[..whole.len() - 2].to_vec(), "file ends 2 bytes before the array of shape [6] does"),
        (file(&good, &[1; 7]), "file goes on behind the array of shape [6]"),
        (b"\x93NUMPY\x04\x00\x00\x00".to_vec(), ".npy version 4.0 is not known, known are 1.0, 2.0 and 3.0"),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
            "header of 4294967295 bytes is longer than the 65536 that are read",
        ),
        (file("[]", &[]), "header has no dictionary at byte 0"),
        (file("{'descr': '<f4'}", &[]), "header has \"fortran_order\" nowhere"),
        (file("{'descr': '<f4', 'descr': '<f4'}", &[]), "header has \"descr\" twice"),
        (file("{'order': 1}", &[]), "header has \"order\" which does not belong there"),
        (
            file(&dictionary("<c8", "False", "(6,)"), &[]),
            "elements are of type \"<c8\"; wanted are floats or integers, such as '<f2' or '<f4'",
        ),
        (
            file("{'descr': [('x', '<f4')], }", &[]),
            "elements are of type \"[('x', '<f4')]\"; wanted are floats or integers, such as '<f2' or '<f4'",
        ),
        (file(&dictionary("|u1", "0", "(6,)"), &[]), "header has no True or False at byte 34"),
        (file(&dictionary("|u1", "False", "(-6,)"), &[]), "header has no length of an axis at byte 51"),
        (
            file(&dictionary("|u1", "False", "(99999999999999999999,)"), &[]),
            "header has no length of an axis at byte 71",
        ),
        (
            file(&dictionary("|u1", "False", "(4294967296, 4294967296)"), &[]),
            "array of shape [4294967296, 4294967296] has more than the 6 elements that are wanted",
        ),
        (
            file(&dictionary("|u1", "False", &format!("({})", "1,".repeat(65))), &[1]),
            "array has more than 64 axes",
        ),
        (
            file(&dictionary("|u1", "False", "(7,)"), &[1; 7]),
            "array of shape [7] has more than the 6 elements that are wanted",
        ),
    ] {
        assert_eq!(read(&bytes).as_ref().map_err(String::as_str), Err(message));
    }
}

#[test]
fn endless_file_is_not_read_to_its_end() {
    let endless = file(&dictionary("|u1", "False", "(6,)"), &[]);
    let from = Read::chain(&endless[..], io::repeat(0));
    assert!(matches!(Array::read(from, 6), Err(Error::Long { .. })));
}

#[test]
fn written_header_is_what_numpy_writes() {
    let tensor = Tensor::from_fn(SHAPE, |_| f16::ONE);
    let mut bytes = Vec::new();
    write(&mut bytes, &tensor).unwrap();
    assert_eq!(bytes.len(), 128 + 12);
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
    let text = std::str::from_utf8(&bytes[10..128]).unwrap();
    assert_eq!(
        text.trim_end_matches(' ').trim_end(),
        "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 1, 3), }"
    );
    assert!(text.ends_with('\n'));
    let one = Header { number: Number::HALF, is_fortran: true, shape: vec![5] };
    assert_eq!(Header::read(&one.encode()[..]).unwrap(), one);
    let none = Header { shape: Vec::new(), ..one };
    assert_eq!(Header::read(&none.encode()[..]).unwrap(), none);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_and_never_panic(bytes in proptest::collection::vec(0_u8.., 0..200), text in "[{}'(), descrfotan_hpe:<f24TrueFalse0-9\\[\\]]{0,80}") {
        let _ = Array::read(&bytes[..], 16);
        let _ = Array::read(&file(&text, &bytes)[..], 16);
    }
}
