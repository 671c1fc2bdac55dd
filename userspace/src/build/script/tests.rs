use super::super::{Shape, Tail};
use super::*;

fn no_arrays(name: &str, count: u64) -> Result<Vec<f16>, String> {
    match name {
        "ones.npy" => Ok(vec![f16::ONE; count as usize]),
        _ => Err("no such file".to_owned()),
    }
}

fn refused(text: &str) -> String {
    build(text, no_arrays).unwrap_err().to_string()
}

#[test]
fn every_operation_makes_its_tensor() {
    let text = "
        x = input 8x4x16   # comment
        k = constant 8x4x16 values=random:7
        s = scalar 0.5
        a = add x k relu
        b = multiply a s
        d = subtract b x
        e = maximum d k
        f = minimum e x
        g = convolution f outputs=4 kernel=3x3 stride=1 padding=1 weights=ones.npy relu
        h = linear g outputs=8 weights=0.25 bias=1
        z = convolution h outputs=8 groups=4 weights=0.25 bias=random:3
        i = sigmoid z
        j = leaky_relu i slope=0.1
        l = clamp j low=-1 high=1
        m = square l
        n = concat channels m x
        o = slice n channels=0..8 rows=1..3
        p = largest o over=columns
        q = instance_norm n epsilon=0.001
        r = mean q
        t = softmax r
        v = sum n
        w = layer_norm x
        y = gelu w
        ea = erf w
        eb = softplus ea
        ec = mish eb
        output ec
        output t
        output p
        output v
        output y";
    let built = build(text, no_arrays).unwrap();
    assert_eq!(built.surfaces().len(), 6);
}

#[test]
fn script_and_calls_make_the_same_program() {
    let text = "a = input 64x1x48\nb = input 48x1x80\nproduct = matmul a b\noutput product";
    let mut graph = Graph::new();
    let a = graph.input("a", Shape::new(64, 1, 48)).unwrap();
    let b = graph.input("b", Shape::new(48, 1, 80)).unwrap();
    let product = graph.matmul(a, b, Tail::NONE).unwrap();
    graph.output("product", product).unwrap();
    assert_eq!(build(text, no_arrays).unwrap(), graph.build().unwrap());
}

#[test]
fn relu_is_on_where_the_line_says_yes() {
    let built = |word| build(&format!("x = input 4x1x1\ny = add x x {word}\noutput y"), no_arrays).unwrap();
    assert_eq!(built("relu"), built("relu=yes"));
    assert_eq!(built(""), built("relu=no"));
    assert_ne!(built(""), built("relu"));
}

#[test]
fn line_that_is_wrong_is_named_with_what_is_wrong() {
    for (text, message) in [
        ("x", "line 1: has another form than \"NAME = OPERATION ... or output NAME\""),
        ("\nx = inpt 1x1x1", "line 2: \"inpt\" is no operation"),
        ("x = input 1x1", "line 1: shape=1x1 is not channels x rows x columns, such as 3x32x32"),
        ("x = input 1x1x1\nx = relu x", "line 2: there is a tensor \"x\" already"),
        ("y = relu x", "line 1: there is no tensor \"x\" before it"),
        ("x = input 4x1x1\ny = add x", "line 2: add takes 2 operands, here are 1"),
        ("x = input 4x1x1\ny = relu x size=3", "line 2: relu knows no \"size\""),
        ("x = input 4x1x1\ny = linear x outputs=4", "line 2: linear needs weights="),
        (
            "x = input 4x1x1\ny = linear x outputs=4 weights=1 outputs=8",
            "line 2: linear has \"outputs\" twice",
        ),
        ("x = input 4x1x1\ny = add x x relu relu=no", "line 2: add has \"relu\" twice"),
        ("x = input 4x1x1\ny = add x x relu=never", "line 2: relu=never is not yes or no"),
        (
            "x = input 4x1x1\ny = linear x outputs=4 kernel=3x3 weights=1",
            "line 2: linear knows no \"kernel\"",
        ),
        (
            "x = input 4x1x1\ny = convolution x outputs=4 groups=3 weights=1",
            "line 2: convolution: 3 groups do not divide 4 channels",
        ),
        (
            "x = input 4x1x1\ny = transposed_convolution x outputs=5 groups=2 weights=1",
            "line 2: transposed convolution: 2 groups do not divide 5 channels",
        ),
        (
            "x = input 4x1x1\ny = convolution x outputs=5 groups=2 dilation=2x2 weights=1",
            "line 2: dilated convolution: 2 groups do not divide 5 channels",
        ),
        ("x = input 4x1x1\ny = linear x outputs=4 weights=w.npy", "line 2: w.npy: no such file"),
        (
            "x = input 4x1x1\ny = linear x outputs=4000000000 weights=1",
            "line 2: 16000000000 values are more than the 67108864 that are left of the script's 67108864",
        ),
        ("x = input 4x1x1", "line 2: the graph has no output"),
        (
            &format!("{} = input 4x1x1", "n".repeat(336)),
            &format!(
                "line 1: input {:?}: name has 336 bytes, and 335 are left for names in a file",
                format!("{}... (336 bytes in all)", "n".repeat(96))
            ),
        ),
        ("x\0 = input 4x1x1", "line 1: input \"x\\0\": name has a zero (\\0), which ends names in a file"),
    ] {
        assert_eq!(refused(text), message, "{text}");
    }
    assert_eq!(refused(&"\n".repeat(LINES_MAX + 1)), "line 65537: a script has at most 65536 lines");
}

#[test]
fn one_group_is_a_dense_convolution_and_is_cut_like_one() {
    // 4 MB of coefficients.
    let of = |groups: &str| {
        let line = format!("y = convolution x outputs=2048 {groups} weights=random:1");
        build(&format!("x = input 1024x1x1\n{line}\noutput y"), no_arrays).unwrap()
    };
    assert!(of("").task_count() > 1);
    assert_eq!(of("groups=1"), of(""));
}

#[test]
fn convolution_of_each_channel_by_itself_may_have_more_groups_than_a_register_counts() {
    for words in ["outputs=16384 groups=16384", "outputs=8192 groups=8192 kernel=1x1"] {
        let text = format!("x = input 16384x1x4\ny = convolution x {words} weights=1\noutput y");
        assert!(build(&text, no_arrays).is_ok(), "{words}");
    }
    // Outputs that share the channels of a group are another thing.
    let text = "x = input 16384x1x4\ny = convolution x outputs=16384 groups=8192 weights=1\noutput y";
    assert!(refused(text).contains("number of groups or batches is 8192"), "{}", refused(text));
}

#[test]
fn softmax_of_more_channels_than_columns_is_that_of_any_tensor() {
    let tasks = |channels: u32| {
        build(&format!("x = input {channels}x1x1\ny = softmax x\noutput y"), no_arrays).unwrap().task_count()
    };
    assert_eq!(tasks(512), 5);
    assert!(tasks(40_000) >= 5);
}

#[test]
fn bounds_of_elements_are_numbers() {
    for operation in ["clamp", "clip"] {
        for (bounds, told) in [("low=nan high=1", "low=nan"), ("low=0 high=-nan", "high=-nan")] {
            let text = format!("x = input 4x4x8\ny = {operation} x {bounds}\noutput y");
            assert_eq!(refused(&text), format!("line 2: {told} is not a number"));
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_built_or_refused_and_never_panics(
        text in "(([xyz] = (input|relu|add|softmax|concat|slice|convolution|linear|constant|scalar)( ([xyz]|[0-9]{1,2}x[0-9]x[0-9]|channels=[0-9]..[0-9]|outputs=[0-9]|kernel=[0-9]x[0-9]|weights=1|values=2|-?[0-9])){0,4}|output [xyz])\n){0,8}",
    ) {
        let _ = build(&text, no_arrays);
    }
}

#[test]
fn values_beyond_any_number_are_refused_like_too_many() {
    let largest = u32::MAX;
    let constant = format!("x = constant {largest}x{largest}x{largest} values=1");
    assert!(refused(&constant).contains("18446744073709551615"), "{}", refused(&constant));
    let taps = format!("x = input 64x8x8\ny = convolution x outputs=9 kernel={largest}x{largest} weights=1");
    assert!(refused(&taps).contains("18446744073709551615"), "{}", refused(&taps));
}

#[test]
fn lines_share_one_budget_of_values() {
    let lines: String = (0..40).map(|line| format!("k{line} = constant 16x8x32 values={line}\n")).collect();
    let text = format!("{lines}x = input 16x8x32\ny = add x k0\noutput y");
    assert!(build_within(&text, 40 * 4096, no_arrays).is_ok());
    let refused = build_within(&text, 40 * 4096 - 1, no_arrays).unwrap_err().to_string();
    assert_eq!(refused, "line 40: 4096 values are more than the 4095 that are left of the script's 163839");
}

#[test]
fn constants_that_are_the_same_lie_in_the_program_once() {
    let text = "x = input 16x8x32\nk = constant 16x8x32 values=1\nl = constant 16x8x32 values=1\n\
                y = add x k\nz = add y l\noutput z";
    let built = build_within(text, 2 * 4096, no_arrays).unwrap();
    assert_eq!(built.constants().len(), 2 * 4096);
}

#[test]
fn values_that_a_line_makes_by_itself_are_counted_like_those_that_it_is_given() {
    for (line, what) in [
        ("y = constant 64x1000x1 values=1", "rows of one value are padded"),
        ("y = mean_pool x kernel=3x3 stride=1x1 padding=1", "a factor of each window"),
        ("y = mean_pool x kernel=31x31 stride=1x1", "ones as coefficients"),
        ("y = transposed_convolution x outputs=64 kernel=8x8 weights=1", "coefficients as doubles"),
        ("y = convolution x outputs=64 kernel=3x3 dilation=2x2 weights=1", "coefficients as doubles"),
        ("y = convolution x outputs=64 groups=64 kernel=25x25 weights=1", "slots are padded"),
    ] {
        let refused = build_within(&format!("x = input 64x200x200\n{line}\noutput y"), 40_000, no_arrays);
        let told = refused.unwrap_err().to_string();
        assert!(
            told.starts_with("line 2: ") && told.contains("left of the script's 40000"),
            "{what}: {told}"
        );
    }
}

#[test]
fn line_whose_task_is_one_too_many_is_named() {
    // Each is two tasks for each of the 1000 channels.
    let lines: String = (0..100).map(|line| format!("y{line} = batched_matmul x x\n")).collect();
    let told = refused(&format!("x = input 1000x2x2\n{lines}output y0"));
    assert!(told.contains("number of tasks is 65536, which has to be from 1 to 65535"), "{told}");
    assert!(!told.starts_with("line 103"), "{told}");
}

#[test]
fn number_that_would_be_infinite_is_refused_and_infinity_is_not() {
    for line in [
        "s = scalar VALUE",
        "s = constant 1x1x2 values=VALUE",
        "s = leaky_relu x slope=VALUE",
        "s = clamp x low=0 high=VALUE",
        "s = clip x low=0 high=VALUE",
        "s = affine x scale=VALUE",
        "s = linear x outputs=4 weights=1 bias=VALUE",
        "s = pad x rows=1,1 edge=VALUE",
        "s = layer_norm x epsilon=VALUE",
        "s = rms_norm x over=channels epsilon=VALUE",
    ] {
        let text =
            |value| format!("x = input 4x4x8\n{}\ny = multiply x s\noutput y", line.replace("VALUE", value));
        for value in ["1e6", "-65520", "1e39", "1e400"] {
            let why = refused(&text(value));
            assert!(why.contains(&format!("={value} is beyond 65504, the largest half")), "{line}: {why}");
        }
        for meant in ["inf", "-infinity", "nan", "65504"] {
            let why = build(&text(meant), no_arrays).err().map_or(String::new(), |why| why.to_string());
            assert!(!why.contains("half"), "{line} with {meant}: {why}");
        }
    }
}

#[test]
fn epsilon_that_would_be_zero_is_refused_and_zero_is_not() {
    for line in [
        "y = layer_norm x epsilon=",
        "y = instance_norm x epsilon=",
        "y = layer_norm_over x over=channels epsilon=",
        "y = rms_norm x over=channels epsilon=",
        "y = group_norm x groups=2 epsilon=",
    ] {
        let text = |value: &str| format!("x = input 4x4x8\n{line}{value}\noutput y");
        let why = refused(&text("1e-12"));
        assert!(why.starts_with("line 2: epsilon=1e-12 is so small that a half of it is 0"), "{why}");
        assert!(build(&text("0"), no_arrays).is_ok() && build(&text("1e-7"), no_arrays).is_ok(), "{line}");
    }
}

#[test]
fn numbers_that_are_rounded_are_told() {
    let text = "x = input 4x4x8\ny = affine x scale=0.1 offset=0.5\nz = leaky_relu y slope=0.3\noutput z";
    let (_, conversion) = build_and_tell(text, VALUES_MAX, no_arrays).unwrap();
    assert_eq!(conversion.words().as_deref(), Some("2 rounded"));
}
