//! Programs of the builder, one for each of its operations, and what they mean.

/// An operation, a program of it as `ane build` takes it, and its meaning; without one, the program is compared with the
/// exact numerics.
pub(super) type Built = (&'static str, &'static str, Option<&'static str>);

/// What tables of these curves are off, at most; of others it is a fraction of that (fidelity of the tables, not of the
/// engine: 33 knots have to do).
pub(super) const LOOSE: &[(&str, f64)] =
    &[("SiLU", 0.017), ("GELU", 0.017), ("mish", 0.02), ("softplus", 0.01)];

/// Every operation that `ane build` knows is in one of them.
pub(super) const PROGRAMS: &[Built] = &[
    ("add", "x = input 4x2x8\nb = input 4x2x8\ny = add x b", Some("add")),
    ("subtract", "x = input 4x2x8\nb = input 4x2x8\ny = subtract x b", Some("subtract")),
    ("multiply", "x = input 4x2x8\nb = input 4x2x8\ny = multiply x b", Some("multiply")),
    ("maximum", "x = input 4x2x8\nb = input 4x2x8\ny = maximum x b", Some("maximum")),
    ("minimum", "x = input 4x2x8\nb = input 4x2x8\ny = minimum x b", Some("minimum")),
    ("add a constant", "x = input 4x2x8\nb = scalar 0.5\ny = add x b", Some("offset by=0.5")),
    (
        "multiply by a constant",
        "x = input 4x2x8\nb = constant 4x2x8 values=0.5\ny = multiply x b",
        Some("scale by=0.5"),
    ),
    ("square", "x = input 4x2x8\ny = square x", Some("square")),
    ("ReLU", "x = input 4x2x8\ny = relu x", Some("relu")),
    ("leaky ReLU", "x = input 4x2x8\ny = leaky_relu x slope=0.25", Some("leaky_relu slope=0.25")),
    ("clamp", "x = input 4x2x8\ny = clamp x low=-0.5 high=0.75", Some("clamp low=-0.5 high=0.75")),
    ("sigmoid", "x = input 4x2x8\ny = sigmoid x", Some("sigmoid")),
    ("SiLU", "x = input 4x2x8\ny = silu x", Some("silu")),
    ("GELU", "x = input 4x2x8\ny = gelu x", Some("gelu")),
    ("tanh", "x = input 4x2x8\ny = tanh x", Some("tanh")),
    ("erf", "x = input 4x2x8\ny = erf x", Some("erf")),
    ("softplus", "x = input 4x2x8\ny = softplus x", Some("softplus")),
    ("mish", "x = input 4x2x8\ny = mish x", Some("s = softplus x; t = tanh s; y = multiply x t")),
    ("exponential", "x = input 4x2x8\ny = exp x", Some("exp")),
    ("exponential of two", "x = input 4x2x8\ny = exp2 x", Some("exp2")),
    ("logarithm", "x = input 4x2x8\ns = square x\ny = ln s", Some("s = square x; y = ln s")),
    ("logarithm to two", "x = input 4x2x8\ns = square x\ny = log2 s", Some("s = square x; y = log2 s")),
    ("square root", "x = input 4x2x8\ns = square x\ny = sqrt s", Some("s = square x; y = sqrt s")),
    ("reciprocal square root", "x = input 4x2x8\ns = exp x\ny = rsqrt s", Some("s = exp x; y = rsqrt s")),
    ("reciprocal", "x = input 4x2x8\ns = exp x\ny = reciprocal s", Some("s = exp x; y = reciprocal s")),
    ("transpose", "x = input 4x2x8\ny = transpose x", Some("transpose order=0,3,2,1")),
    (
        "concatenation",
        "x = input 4x2x8\nb = input 3x2x8\nr = relu b\nq = relu x\ny = concat channels q r",
        Some("r = relu b; q = relu x; y = concat q r axis=1"),
    ),
    (
        "slice",
        "x = input 4x2x8\ns = slice x channels=1..3 rows=1..2\ny = relu s",
        Some("s = slice x begin=0,1,1,0 end=1,3,2,8; y = relu s"),
    ),
    ("sum", "x = input 4x2x8\ny = sum x", Some("sum axes=2,3")),
    ("sum", "x = input 4x2x8\ny = sum x over=columns", Some("sum axes=3")),
    ("mean", "x = input 4x2x8\ny = mean x", Some("mean axes=2,3")),
    ("largest", "x = input 4x2x8\ny = largest x", Some("max axes=2,3")),
    ("softmax", "x = input 32x2x8\ny = softmax x", Some("softmax axis=1")),
    ("softmax", "x = input 4x2x16\ny = softmax_columns x", Some("softmax axis=3")),
    ("layer norm", "x = input 4x2x8\ny = layer_norm x", Some("norm axes=1,2,3 eps=0.00001")),
    ("instance norm", "x = input 4x2x8\ny = instance_norm x", Some("norm axes=2,3 eps=0.00001")),
    ("matrix product of inputs", "x = input 8x1x16\nb = input 16x1x8\ny = matmul x b", Some("matmul")),
    ("linear", "x = input 64x1x4\ny = linear x outputs=32 weights=random:1 bias=random:2 relu", None),
    ("convolution", "x = input 16x8x8\ny = convolution x outputs=32 kernel=3x3 weights=random:1", None),
    (
        "convolution, padded",
        "x = input 16x8x8\ny = convolution x outputs=32 kernel=3x3 padding=1 weights=random:1 relu",
        None,
    ),
    (
        "convolution with a bias",
        "x = input 16x8x8\ny = convolution x outputs=32 weights=random:1 bias=random:2",
        None,
    ),
    (
        "convolution, stride 2",
        "x = input 16x9x9\ny = convolution x outputs=32 kernel=3x3 stride=2x2 weights=random:1",
        None,
    ),
    (
        "convolution in groups",
        "x = input 16x8x8\ny = convolution x outputs=32 kernel=3x3 groups=4 weights=random:1",
        None,
    ),
];
