//! Programs as MIL text, by hand.

/// Names and texts; `weights/weight.bin` of a package with constants is wanted beside the first.
pub const MIL_PROGRAMS: &[(&str, &str)] = &[
    ("network", NETWORK),
    ("moving", MOVING),
    ("attention", ATTENTION),
    ("whole", WHOLE),
    ("resized", RESIZED),
    ("placed", PLACED),
];

/// Constants in a file, a convolution, a norm and functions, in the words of the language's first version.
const NETWORK: &str = r#"program(1.0)
[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"coremlc-version", "1436.100.10"}})]
{
    func main<ios15>(tensor<fp16, [1, 3, 8, 8]> x) {
            tensor<string, []> pad_type = const()[name = tensor<string, []>("pad_type"), val = tensor<string, []>("custom")];
            tensor<int32, [4]> pad = const()[name = tensor<string, []>("pad"), val = tensor<int32, [4]>([1, 1, 1, 1])];
            tensor<int32, [2]> strides = const()[name = tensor<string, []>("strides"), val = tensor<int32, [2]>([2, 2])];
            tensor<fp16, [16, 3, 3, 3]> w = const()[name = tensor<string, []>("w"), val = tensor<fp16, [16, 3, 3, 3]>(BLOBFILE(path = tensor<string, []>("@model_path/weights/weight.bin"), offset = tensor<uint64, []>(64)))];
            tensor<fp16, [1, 16, 4, 4]> a = conv(pad = pad, pad_type = pad_type, strides = strides, weight = w, x = x)[name = tensor<string, []>("a")];
            tensor<int32, [1]> axes = const()[name = tensor<string, []>("axes"), val = tensor<int32, [1]>([1])];
            tensor<fp16, [1, 16, 4, 4]> b = layer_norm(axes = axes, x = a)[name = tensor<string, []>("b")];
            tensor<string, []> mode = const()[name = tensor<string, []>("mode"), val = tensor<string, []>("EXACT")];
            tensor<fp16, [1, 16, 4, 4]> c = gelu(mode = mode, x = b)[name = tensor<string, []>("c")];
            tensor<bool, []> keep = const()[name = tensor<string, []>("keep"), val = tensor<bool, []>(false)];
            tensor<int32, [2]> both = const()[name = tensor<string, []>("both"), val = tensor<int32, [2]>([2, 3])];
            tensor<fp16, [1, 16]> y = reduce_mean(axes = both, keep_dims = keep, x = c)[name = tensor<string, []>("y")];
        } -> (y);
}
"#;

/// Parts of tensors and their order, in the words of a later version.
const MOVING: &str = r#"program(1.3)
{
    func main<ios18>(tensor<fp16, [2, 4, 6]> x) {
            int32 axis = const()[name = string("axis"), val = int32(1)];
            tensor<fp16, [2, 2, 6]> a, tensor<fp16, [2, 2, 6]> b = split(axis = axis, num_splits = int32(2), x = x)[name = string("ab")];
            tensor<fp16, [2, 4, 6]> c = concat(axis = axis, interleave = bool(false), values = (b, a))[name = string("c")];
            tensor<fp16, [2, 2, 5]> d = slice_by_index(begin = tensor<int32, [3]>([0, 0, 0]), end = tensor<int32, [3]>([2, 4, -1]), stride = tensor<int32, [3]>([1, 2, 1]), x = c)[name = string("d")];
            tensor<fp16, [5, 2, 2]> e = transpose(perm = tensor<int32, [3]>([2, 0, 1]), x = d)[name = string("e")];
            tensor<fp16, [5, 4]> f = reshape(shape = tensor<int32, [2]>([5, -1]), x = e)[name = string("f")];
            tensor<fp16, [5, 7]> g = pad(mode = string("reflect"), pad = tensor<int32, [2]>([1, 2]), x = f)[name = string("g")];
            tensor<fp16, [5, 3]> h = gather(axis = axis, indices = tensor<int32, [3]>([6, 0, -3]), x = g)[name = string("h")];
            tensor<fp16, [5, 3]> y = clip(alpha = fp16(-0x1p-1), beta = fp16(0.75), x = h)[name = string("y")];
        } -> (y);
}
"#;

/// Products of computed tensors, and a constant of few bits.
const ATTENTION: &str = r#"program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 2, 4, 8]> q, tensor<fp16, [1, 2, 4, 8]> k) {
            tensor<fp16, [1, 2, 4, 4]> s = matmul(transpose_x = bool(false), transpose_y = bool(true), x = q, y = k)[name = string("s")];
            tensor<fp16, [1, 2, 4, 4]> p = softmax(axis = int32(-1), x = s)[name = string("p")];
            tensor<fp16, [4, 2]> w = constexpr_affine_dequantize()[axis = int32(0), name = string("w"), quantized_data = tensor<int8, [4, 2]>([[4, -6], [1, 3], [0, 9], [7, 7]]), scale = fp16(0.125), zero_point = int8(2)];
            tensor<fp16, [1, 2, 4, 2]> m = einsum(equation = string("bhqk,kd->bhqd"), values = (p, w))[name = string("m")];
            tensor<fp16, [1, 2, 4, 8]> y = scaled_dot_product_attention(key = k, query = q, value = k)[name = string("y")];
        } -> (y, m);
}
"#;

/// Numbers that become whole ones, and come back.
const WHOLE: &str = r#"program(1.3)
{
    func main<ios17>(tensor<fp16, [1, 2, 4]> x) {
            tensor<int8, [1, 2, 4]> q = quantize(axis = int32(1), input = x, output_dtype = string("int8"), scale = tensor<fp16, [2]>([0.0625, 0.125]), zero_point = tensor<int8, [2]>([3, -4]))[name = string("q")];
            tensor<fp16, [1, 2, 4]> d = dequantize(axis = int32(1), input = q, scale = tensor<fp16, [2]>([0.0625, 0.125]), zero_point = tensor<int8, [2]>([3, -4]))[name = string("d")];
            tensor<fp16, [1, 2, 4]> r = round(x = d)[name = string("r")];
            tensor<fp16, [1, 2, 4]> y = add(x = d, y = r)[name = string("y")];
        } -> (y);
}
"#;

/// Images made larger by lines between their elements, and powers.
const RESIZED: &str = r#"program(1.3)
{
    func main<ios17>(tensor<fp16, [1, 2, 4, 5]> x) {
            tensor<fp16, [1, 2, 8, 15]> a = upsample_bilinear(align_corners = bool(false), half_pixel_centers = bool(true), scale_factor_height = fp32(2), scale_factor_width = fp32(3), x = x)[name = string("a")];
            tensor<fp16, [1, 2, 6, 7]> b = upsample_bilinear(align_corners = bool(true), half_pixel_centers = bool(false), scale_factor_height = fp32(1.5), scale_factor_width = fp32(1.5), x = x)[name = string("b")];
            tensor<fp16, [1, 2, 6, 7]> c = resize_bilinear(sampling_mode = string("UNALIGN_CORNERS"), target_size_height = int32(6), target_size_width = int32(7), x = a)[name = string("c")];
            tensor<fp16, [1, 2, 6, 7]> e = upsample_bilinear(align_corners = bool(false), half_pixel_centers = bool(true), scale_factor_height = fp32(1.5), scale_factor_width = fp32(1.5), x = x)[name = string("e")];
            tensor<fp16, [1, 2, 6, 7]> d = pow(x = b, y = fp16(3))[name = string("d")];
            tensor<fp16, [1, 2, 6, 7]> y = add(x = c, y = d)[name = string("y")];
        } -> (y, e);
}
"#;

/// Weights that the run computes, waves, and parts that known indices pick and put.
const PLACED: &str = r#"program(1.3)
{
    func main<ios17>(tensor<fp16, [1, 4, 3, 5]> x, tensor<fp16, [6, 4, 1, 1]> w) {
            tensor<fp16, [1, 6, 3, 5]> c = conv(pad_type = string("valid"), weight = w, x = x)[name = string("c")];
            tensor<fp16, [1, 6, 3, 5]> s = sin(x = c)[name = string("s")];
            tensor<fp16, [1, 6, 3, 5]> t = cos(x = c)[name = string("t")];
            tensor<fp16, [2, 3, 5]> g = gather_nd(indices = tensor<int32, [2, 2]>([[0, 4], [0, 1]]), x = s)[name = string("g")];
            tensor<fp16, [1, 6, 3, 5]> y = scatter_nd(data = t, indices = tensor<int32, [2, 2]>([[0, 2], [0, 5]]), mode = string("update"), updates = g)[name = string("y")];
        } -> (y);
}
"#;
