"""Programs built from a description, without a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple, Union

from . import _ane
from ._device import Device
from ._program import Program

if TYPE_CHECKING:
    from numpy import float16
    from numpy.typing import NDArray

Shape3 = Tuple[int, int, int]
Pair = Union[int, Tuple[int, int]]
Padding = Union[int, Tuple[int, int, int, int]]


class Tensor:
    """A tensor of a graph: an input, a constant, or what an operation makes of others.

    ``a + b``, ``a - b``, ``a * b``, ``a / b`` are element by element, ``a @ b`` is a matrix product.
    """

    __slots__ = ("_graph", "_number")

    def __init__(self, graph: Graph, number: int) -> None:
        self._graph = graph
        self._number = number

    @property
    def shape(self) -> Shape3:
        """Channels, rows and columns."""
        return self._graph._graph.shape(self._number)

    def __add__(self, other: Tensor) -> Tensor:
        return self._graph.add(self, other)

    def __sub__(self, other: Tensor) -> Tensor:
        return self._graph.subtract(self, other)

    def __mul__(self, other: Tensor) -> Tensor:
        return self._graph.multiply(self, other)

    def __truediv__(self, other: Tensor) -> Tensor:
        return self._graph.divide(self, other)

    def __matmul__(self, other: Tensor) -> Tensor:
        return self._graph.matmul(self, other)

    def __repr__(self) -> str:
        return "<ane.Tensor {}x{}x{}>".format(*self.shape)


class Graph:
    """A program under construction: tensors, and the operations that make them, in the order of their execution.

    Shapes are channels, rows and columns. Operations check shapes and values at once and raise :class:`BuildError`; whether
    everything fits on chip is known when the program is built.

    >>> import ane, numpy
    >>> graph = ane.Graph()
    >>> a, b = graph.input("a", (4, 1, 8)), graph.input("b", (4, 1, 8))
    >>> graph.output("y", graph.relu(a - b))
    >>> program = graph.build()
    >>> ones = numpy.ones((1, 4, 1, 8), numpy.float16)
    >>> float(program.run(a=3 * ones, b=ones)["y"].min())
    2.0
    """

    def __init__(self) -> None:
        self._graph = _ane.Graph()

    def input(self, name: str, shape: Shape3) -> Tensor:
        """A tensor that the client fills."""
        return self._made(self._graph.input(name, shape))

    def constant(self, shape: Shape3, values: NDArray[float16]) -> Tensor:
        """A tensor of constants, which lies with the coefficients. One of shape (1, 1, 1) stretches to any shape."""
        return self._made(self._graph.constant(shape, _flat("values", values)))

    def output(self, name: str, tensor: Tensor) -> None:
        """Makes a computed tensor one that the client reads."""
        self._graph.output(name, self._of(tensor))

    def convolution(
        self,
        x: Tensor,
        weights: NDArray[float16],
        *,
        bias: Optional[NDArray[float16]] = None,
        stride: Pair = 1,
        padding: Padding = 0,
        dilation: Optional[Pair] = None,
        groups: int = 1,
        relu: bool = False,
    ) -> Tensor:
        """A convolution.

        :param weights: of shape (outputs, inputs / groups, rows, columns).
        :param bias: one value for each output.
        :param stride: of rows and columns, or both.
        :param padding: zeros above, below, left and right, or on every side.
        :param dilation: distance of taps along rows and columns. With it, strides and padding have no bounds either; it
            may take several tasks.

        >>> import ane, numpy
        >>> graph = ane.Graph()
        >>> x = graph.input("x", (2, 8, 8))
        >>> y = graph.convolution(x, numpy.ones((3, 2, 3, 3), numpy.float16), padding=1, relu=True)
        >>> y
        <ane.Tensor 3x8x8>
        """
        if getattr(weights, "ndim", None) != 4:
            raise ValueError("weights have four axes: outputs, inputs of a group, rows, columns")
        outputs, reads, rows, columns = weights.shape
        channels = x.shape[0]
        if groups < 1 or reads * groups != channels:
            raise ValueError(f"weights read {reads} channels in {groups} groups, the tensor has {channels}")
        if dilation is not None:
            words = _kernel(rows, columns, stride, padding) + [f"dilation={_across(dilation)}"]
            return self._with_weights("convolution", x, words, outputs, weights, bias, groups, relu)
        down, right = (stride, stride) if isinstance(stride, int) else stride
        top, bottom, left, behind = (padding,) * 4 if isinstance(padding, int) else padding
        return self._made(
            self._graph.convolution(
                self._of(x),
                outputs,
                (columns, rows),
                _flat("weights", weights),
                None if bias is None else _flat("bias", bias),
                (right, down),
                (left, behind, top, bottom),
                groups,
                relu,
            )
        )

    def transposed_convolution(
        self,
        x: Tensor,
        weights: NDArray[float16],
        *,
        bias: Optional[NDArray[float16]] = None,
        stride: Pair = 1,
        padding: Padding = 0,
        dilation: Pair = 1,
        more: Pair = 0,
        groups: int = 1,
        relu: bool = False,
    ) -> Tensor:
        """Each element adds the kernel, times it, to the result.

        :param weights: of shape (inputs, outputs / groups, rows, columns).
        :param padding: what is cut off the result above, below, left and right, or on every side.
        :param more: rows and columns that come behind the result.

        >>> import ane, numpy
        >>> graph = ane.Graph()
        >>> x = graph.input("x", (4, 8, 8))
        >>> graph.transposed_convolution(x, numpy.ones((4, 6, 2, 2), numpy.float16), stride=2)
        <ane.Tensor 6x16x16>
        """
        if getattr(weights, "ndim", None) != 4:
            raise ValueError("weights have four axes: inputs, outputs of a group, rows, columns")
        inputs, each, rows, columns = weights.shape
        channels = x.shape[0]
        if groups < 1 or inputs != channels:
            raise ValueError(f"weights read {inputs} channels, the tensor has {channels}")
        words = _kernel(rows, columns, stride, padding) + [f"dilation={_across(dilation)}", f"more={_across(more)}"]
        return self._with_weights("transposed_convolution", x, words, each * groups, weights, bias, groups, relu)

    def max_pool(self, x: Tensor, kernel: Pair, *, stride: Optional[Pair] = None, padding: Padding = 0, ceil: bool = False) -> Tensor:
        """The largest element of each window. The stride is the kernel unless it is given.

        :param ceil: a last window that is not whole is taken as well.

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.max_pool(graph.input("x", (16, 9, 9)), 3, stride=2, padding=1)
        <ane.Tensor 16x5x5>
        """
        return self._line("max_pool", [x], ["%0", *_window(kernel, stride, padding, ceil)])

    def mean_pool(
        self,
        x: Tensor,
        kernel: Pair,
        *,
        stride: Optional[Pair] = None,
        padding: Padding = 0,
        ceil: bool = False,
        counts_padding: bool = False,
    ) -> Tensor:
        """The mean of each window; the padding counts as zeros, or not at all."""
        counted = ["counts_padding=yes"] if counts_padding else []
        return self._line("mean_pool", [x], ["%0", *_window(kernel, stride, padding, ceil), *counted])

    def batched_matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """For each channel, rows and columns of ``x`` times those of ``y``: [C, M, K] times [C, K, N].

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.batched_matmul(graph.input("x", (4, 5, 8)), graph.input("y", (4, 8, 3)))
        <ane.Tensor 4x5x3>
        """
        return self._line("batched_matmul", [x, y])

    def attention(self, query: Tensor, key: Tensor, value: Tensor, *, mask: Optional[Tensor] = None) -> Tensor:
        """Softmax of ``query`` times ``key`` turned over the root of its columns, plus ``mask``, times ``value``.

        Channels are heads, rows are tokens, and columns are what a token has.

        >>> import ane
        >>> graph = ane.Graph()
        >>> q, k, v = (graph.input(name, (2, 16, 8)) for name in "qkv")
        >>> graph.attention(q, k, v)
        <ane.Tensor 2x16x8>
        """
        return self._line("attention", [query, key, value] + ([] if mask is None else [mask]))

    def linear(self, x: Tensor, weights: NDArray[float16], *, bias: Optional[NDArray[float16]] = None, relu: bool = False) -> Tensor:
        """Constant weights, of shape (outputs, inputs), times the channels of a tensor."""
        if getattr(weights, "ndim", None) != 2:
            raise ValueError("weights have two axes: outputs, inputs")
        return self.convolution(x, weights.reshape(*weights.shape, 1, 1), bias=bias, relu=relu)

    def matmul(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """[M, K] times [K, N]: channels are rows, columns are columns."""
        return self._binary("matmul", x, y, relu)

    def add(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """``x + y``."""
        return self._binary("add", x, y, relu)

    def subtract(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """``x - y``."""
        return self._binary("subtract", x, y, relu)

    def multiply(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """``x * y``."""
        return self._binary("multiply", x, y, relu)

    def maximum(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """The larger, element by element."""
        return self._binary("maximum", x, y, relu)

    def minimum(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """The smaller, element by element."""
        return self._binary("minimum", x, y, relu)

    def divide(self, x: Tensor, y: Tensor) -> Tensor:
        """``x / y``, by a table."""
        return self._line("divide", [x, y])

    def power(self, x: Tensor, y: Union[Tensor, float]) -> Tensor:
        """``x ** y``: of a tensor by tables, where a negative ``x`` needs whole powers; of a whole number by products."""
        if isinstance(y, Tensor):
            return self._line("power", [x, y])
        return self._line("to_power", [x], ["%0", f"exponent={float(y)!r}"])

    def equal(self, x: Tensor, y: Tensor) -> Tensor:
        """1 where ``x`` is ``y``, and 0 elsewhere."""
        return self._line("equal", [x, y])

    def not_equal(self, x: Tensor, y: Tensor) -> Tensor:
        """1 where ``x`` is not ``y``, and 0 elsewhere."""
        return self._line("not_equal", [x, y])

    def less(self, x: Tensor, y: Tensor) -> Tensor:
        """1 where ``x < y``, and 0 elsewhere."""
        return self._line("less", [x, y])

    def less_or_equal(self, x: Tensor, y: Tensor) -> Tensor:
        """1 where ``x <= y``, and 0 elsewhere."""
        return self._line("less_or_equal", [x, y])

    def greater(self, x: Tensor, y: Tensor) -> Tensor:
        """1 where ``x > y``, and 0 elsewhere."""
        return self._line("greater", [x, y])

    def greater_or_equal(self, x: Tensor, y: Tensor) -> Tensor:
        """1 where ``x >= y``, and 0 elsewhere."""
        return self._line("greater_or_equal", [x, y])

    def logical_not(self, x: Tensor) -> Tensor:
        """1 where ``x`` is 0, and 0 elsewhere."""
        return self._line("not", [x])

    def select(self, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """``x`` where ``condition`` is not 0, and ``y`` elsewhere.

        >>> import ane, numpy
        >>> graph = ane.Graph()
        >>> a, b = graph.input("a", (4, 1, 8)), graph.input("b", (4, 1, 8))
        >>> graph.output("y", graph.select(graph.less(a, b), a, b))
        >>> ones = numpy.ones((1, 4, 1, 8), numpy.float16)
        >>> float(graph.build().run(a=3 * ones, b=ones)["y"].max())
        1.0
        """
        return self._line("select", [condition, x, y])

    def abs(self, x: Tensor) -> Tensor:
        """The magnitude of each element."""
        return self._line("abs", [x])

    def sign(self, x: Tensor) -> Tensor:
        """-1, 0 or 1, as each element is below, at or above 0."""
        return self._line("sign", [x])

    def floor(self, x: Tensor) -> Tensor:
        """The largest whole number that is not above each element; exact."""
        return self._line("floor", [x])

    def ceil(self, x: Tensor) -> Tensor:
        """The smallest whole number that is not below each element; exact."""
        return self._line("ceil", [x])

    def round(self, x: Tensor) -> Tensor:
        """The nearest whole number of each element, the even one where two are as near."""
        return self._line("round", [x])

    def clip(self, x: Tensor, low: float, high: float) -> Tensor:
        """Elements no smaller than ``low`` and no larger than ``high``, without a table."""
        return self._line("clip", [x], ["%0", f"low={float(low)!r}", f"high={float(high)!r}"])

    def affine(self, x: Tensor, *, scale: float = 1.0, offset: float = 0.0) -> Tensor:
        """``scale * x + offset``, in one pass."""
        return self._line("affine", [x], ["%0", f"scale={float(scale)!r}", f"offset={float(offset)!r}"])

    def erf(self, x: Tensor) -> Tensor:
        """The error function, by a table."""
        return self._line("erf", [x])

    def softplus(self, x: Tensor) -> Tensor:
        """``ln(1 + e ** x)``, by a table."""
        return self._line("softplus", [x])

    def mish(self, x: Tensor) -> Tensor:
        """``x * tanh(ln(1 + e ** x))``, by a table."""
        return self._line("mish", [x])

    def softsign(self, x: Tensor) -> Tensor:
        """``x / (1 + |x|)``."""
        return self._line("softsign", [x])

    def hard_swish(self, x: Tensor) -> Tensor:
        """``x`` times ``x / 6 + 1 / 2``, which is held between 0 and 1."""
        return self._line("hard_swish", [x])

    def elu(self, x: Tensor, *, alpha: float = 1.0) -> Tensor:
        """Elements below 0 become ``alpha * (e ** x - 1)``."""
        return self._line("elu", [x], ["%0", f"alpha={float(alpha)!r}"])

    def selu(self, x: Tensor) -> Tensor:
        """The self-normalising unit, with its published factors."""
        return self._line("selu", [x])

    def square(self, x: Tensor) -> Tensor:
        """Each element times itself."""
        return self._line("square", [x])

    def relu(self, x: Tensor) -> Tensor:
        """The larger of each element and 0."""
        return self._line("relu", [x])

    def leaky_relu(self, x: Tensor, slope: float) -> Tensor:
        """Elements below 0 times ``slope``."""
        return self._line("leaky_relu", [x], ["%0", f"slope={float(slope)!r}"])

    def clamp(self, x: Tensor, low: float, high: float) -> Tensor:
        """Elements no smaller than ``low`` and no larger than ``high``."""
        return self._line("clamp", [x], ["%0", f"low={float(low)!r}", f"high={float(high)!r}"])

    def sigmoid(self, x: Tensor) -> Tensor:
        """The logistic function, by the engine's table."""
        return self._line("sigmoid", [x])

    def silu(self, x: Tensor) -> Tensor:
        """``x * sigmoid(x)``, by a table."""
        return self._line("silu", [x])

    def gelu(self, x: Tensor) -> Tensor:
        """GELU, by a table."""
        return self._line("gelu", [x])

    def tanh(self, x: Tensor) -> Tensor:
        """The hyperbolic tangent, by a table."""
        return self._line("tanh", [x])

    def exp(self, x: Tensor) -> Tensor:
        """``e`` to each element."""
        return self._line("exp", [x])

    def exp2(self, x: Tensor) -> Tensor:
        """2 to each element, by a table."""
        return self._line("exp2", [x])

    def ln(self, x: Tensor) -> Tensor:
        """The natural logarithm."""
        return self._line("ln", [x])

    def log2(self, x: Tensor) -> Tensor:
        """The logarithm to base 2, by a table."""
        return self._line("log2", [x])

    def sqrt(self, x: Tensor) -> Tensor:
        """The square root, by a table."""
        return self._line("sqrt", [x])

    def rsqrt(self, x: Tensor) -> Tensor:
        """1 over the square root, by a table."""
        return self._line("rsqrt", [x])

    def reciprocal(self, x: Tensor) -> Tensor:
        """1 over each element, by a table."""
        return self._line("reciprocal", [x])

    def transpose(self, x: Tensor) -> Tensor:
        """Channels and columns change places."""
        return self._line("transpose", [x])

    def permute(self, x: Tensor, order: Sequence[str]) -> Tensor:
        """The axes in another order: the first named becomes channels, the second rows, the third columns.

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.permute(graph.input("x", (2, 3, 4)), ["rows", "columns", "channels"])
        <ane.Tensor 3x4x2>
        """
        return self._line("permute", [x], ["%0", f"order={_axes(order)}"])

    def reshape(self, x: Tensor, shape: Shape3) -> Tensor:
        """The same elements with other extents."""
        return self._line("reshape", [x], ["%0", _extents(shape)])

    def expand(self, x: Tensor, shape: Shape3) -> Tensor:
        """Axes of extent 1 repeated, so that the tensor has this shape."""
        return self._line("expand", [x], ["%0", _extents(shape)])

    def tile(self, x: Tensor, *, channels: int = 1, rows: int = 1, columns: int = 1) -> Tensor:
        """The tensor so many times along each axis."""
        return self._line("tile", [x], ["%0", f"channels={channels}", f"rows={rows}", f"columns={columns}"])

    def pad(
        self,
        x: Tensor,
        *,
        channels: Tuple[int, int] = (0, 0),
        rows: Tuple[int, int] = (0, 0),
        columns: Tuple[int, int] = (0, 0),
        edge: Union[float, str] = 0.0,
    ) -> Tensor:
        """So many elements before and behind; below 0, so many are cut off.

        :param edge: the value of those elements, or ``nearest``, ``mirrored`` or ``wrapped``.

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.pad(graph.input("x", (2, 3, 4)), rows=(1, 0), columns=(2, -1), edge="nearest")
        <ane.Tensor 2x4x5>
        """
        sides = [f"{name}={before},{behind}" for name, (before, behind) in zip(_AXES, (channels, rows, columns))]
        return self._line("pad", [x], ["%0", *sides, f"edge={edge}"])

    def take(self, x: Tensor, indices: Sequence[int], *, axis: str) -> Tensor:
        """The elements with these indices along an axis, in this order."""
        return self._line("take", [x], ["%0", axis, "indices=" + ",".join(str(index) for index in indices)])

    def depth_to_space(self, x: Tensor, block: int) -> Tensor:
        """Blocks of channels as squares of ``block`` rows and columns."""
        return self._line("depth_to_space", [x], ["%0", f"block={block}"])

    def space_to_depth(self, x: Tensor, block: int) -> Tensor:
        """Squares of ``block`` rows and columns as channels."""
        return self._line("space_to_depth", [x], ["%0", f"block={block}"])

    def copy(self, x: Tensor) -> Tensor:
        """A part of a tensor as one of its own, which can be an output."""
        return self._line("copy", [x])

    def softmax(self, x: Tensor, *, over: str = "channels") -> Tensor:
        """Softmax over the ``channels`` of each pixel, the ``rows`` of each column, or the ``columns`` of each row."""
        if over == "rows":
            return self._line("softmax_over", [x], ["%0", over])
        return self._line("softmax" if _choice(over, "channels", "columns") else "softmax_columns", [x])

    def log_softmax(self, x: Tensor, *, over: str = "channels") -> Tensor:
        """The natural logarithm of softmax along an axis."""
        return self._line("log_softmax", [x], ["%0", over])

    def sum(self, x: Tensor, *, over: Union[str, Sequence[str]] = "plane") -> Tensor:
        """The sum of each channel's ``plane``, of the ``columns`` of each row, or over any axes.

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.sum(graph.input("x", (2, 3, 4)), over=["channels", "columns"])
        <ane.Tensor 1x3x1>
        """
        return self._over("sum", x, over)

    def mean(self, x: Tensor, *, over: Union[str, Sequence[str]] = "plane") -> Tensor:
        """The mean of each channel's ``plane``, of the ``columns`` of each row, or over any axes."""
        return self._over("mean", x, over)

    def largest(self, x: Tensor, *, over: Union[str, Sequence[str]] = "plane") -> Tensor:
        """The largest element of each channel's ``plane``, of the ``columns`` of each row, or over any axes."""
        return self._over("largest", x, over)

    def smallest(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The smallest element along axes."""
        return self._over("smallest", x, over)

    def product(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The product of at most 256 elements along axes."""
        return self._over("product", x, over)

    def sum_of_squares(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The sum of squares along axes."""
        return self._over("sum_of_squares", x, over)

    def norm1(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The sum of magnitudes along axes."""
        return self._over("norm1", x, over)

    def norm2(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The root of the sum of squares along axes."""
        return self._over("norm2", x, over)

    def log_sum(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The natural logarithm of the sum along axes."""
        return self._over("log_sum", x, over)

    def log_sum_exp(self, x: Tensor, *, over: Sequence[str]) -> Tensor:
        """The natural logarithm of the sum of exponentials along axes."""
        return self._over("log_sum_exp", x, over)

    def layer_norm_over(
        self,
        x: Tensor,
        over: Sequence[str],
        *,
        scale: Optional[Tensor] = None,
        offset: Optional[Tensor] = None,
        epsilon: float = 1e-5,
    ) -> Tensor:
        """Each element less the mean along axes, over the deviation, times ``scale``, plus ``offset``.

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.layer_norm_over(graph.input("x", (64, 1, 16)), ["channels"])
        <ane.Tensor 64x1x16>
        """
        words = [f"over={_axes(over)}", f"epsilon={float(epsilon)!r}"]
        return self._scaled("layer_norm_over", x, scale, offset, words)

    def rms_norm(self, x: Tensor, over: Sequence[str], *, scale: Optional[Tensor] = None, epsilon: float = 1e-5) -> Tensor:
        """Each element over the root of the mean of squares along axes, times ``scale``."""
        return self._scaled("rms_norm", x, scale, None, [f"over={_axes(over)}", f"epsilon={float(epsilon)!r}"])

    def group_norm(
        self,
        x: Tensor,
        groups: int,
        *,
        scale: Optional[Tensor] = None,
        offset: Optional[Tensor] = None,
        epsilon: float = 1e-5,
    ) -> Tensor:
        """Mean and deviation of groups of channels, then times ``scale``, plus ``offset``."""
        return self._scaled("group_norm", x, scale, offset, [f"groups={groups}", f"epsilon={float(epsilon)!r}"])

    def instance_norm(self, x: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """Each channel less its mean, over its deviation."""
        return self._line("instance_norm", [x], ["%0", f"epsilon={float(epsilon)!r}"])

    def layer_norm(self, x: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """The whole tensor less its mean, over its deviation."""
        return self._line("layer_norm", [x], ["%0", f"epsilon={float(epsilon)!r}"])

    def layer_norm_columns(self, x: Tensor, gamma: Tensor, beta: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """The columns of each row less their mean, over their deviation, times ``gamma``, plus ``beta``."""
        made = self._graph.norm_columns(self._of(x), self._of(gamma), self._of(beta), epsilon)
        return self._made(made)

    def concat(self, parts: Sequence[Tensor], *, axis: str = "channels") -> Tensor:
        """The parts one behind the other, along ``channels``, ``rows`` or ``columns``."""
        return self._line("concat", parts, [axis, *(f"%{index}" for index in range(len(parts)))])

    def slice(
        self,
        x: Tensor,
        *,
        channels: Optional[slice] = None,
        rows: Optional[slice] = None,
        columns: Optional[slice] = None,
    ) -> Tensor:
        """A part of a tensor, by any steps. Whole runs of channels and rows are not moved; anything else is a copy.

        >>> import ane
        >>> graph = ane.Graph()
        >>> graph.slice(graph.input("x", (8, 4, 16)), columns=slice(None, None, -2))
        <ane.Tensor 8x4x8>
        """
        parts = [range(extent)[part or slice(None)] for part, extent in zip((channels, rows, columns), x.shape)]
        if any(len(part) == 0 for part in parts):
            raise ValueError("the slice is empty")
        if len(parts[2]) == x.shape[2] and all(part.step == 1 for part in parts):
            words = [f"{name}={part.start}..{part.stop}" for name, part in zip(_AXES[:2], parts)]
            return self._line("slice", [x], ["%0", *words])
        # A run that falls ends, as a range that rises, behind its first element.
        ends = [(min(part[0], part[-1]), max(part[0], part[-1]) + 1, part.step) for part in parts]
        words = [f"{name}={first}..{end}:{step}" for name, (first, end, step) in zip(_AXES, ends)]
        return self._line("cut", [x], ["%0", *words])

    def build(self, *, device: Optional[Device] = None) -> Program:
        """The program.

        :raises BuildError: if there is no output, or a task does not fit on chip.
        """
        return Program(self._graph.build(), device)

    def _binary(self, operation: str, x: Tensor, y: Tensor, relu: bool) -> Tensor:
        return self._line(operation, [x, y], ["%0", "%1"] + (["relu"] if relu else []))

    def _over(self, operation: str, x: Tensor, over: Union[str, Sequence[str]]) -> Tensor:
        return self._line(operation, [x], ["%0", f"over={over if isinstance(over, str) else _axes(over)}"])

    def _scaled(self, operation: str, x: Tensor, scale: Optional[Tensor], offset: Optional[Tensor], words: List[str]) -> Tensor:
        if offset is not None and scale is None:
            raise ValueError("an offset needs a scale in front of it")
        operands = [operand for operand in (x, scale, offset) if operand is not None]
        return self._line(operation, operands, [f"%{index}" for index in range(len(operands))] + words)

    def _with_weights(
        self,
        operation: str,
        x: Tensor,
        words: List[str],
        outputs: int,
        weights: NDArray[float16],
        bias: Optional[NDArray[float16]],
        groups: int,
        relu: bool,
    ) -> Tensor:
        arrays = {"weights": _flat("weights", weights)}
        words = ["%0", *words, f"outputs={outputs}", f"groups={groups}", "weights=weights"]
        if bias is not None:
            arrays["bias"] = _flat("bias", bias)
            words.append("bias=bias")
        return self._line(operation, [x], words + (["relu"] if relu else []), arrays)

    def _line(
        self,
        operation: str,
        operands: Sequence[Tensor],
        words: Optional[List[str]] = None,
        arrays: Optional[Dict[str, NDArray[float16]]] = None,
    ) -> Tensor:
        """What a line of ``ane build`` makes of the operands, which it calls ``%0``, ``%1`` and so on."""
        numbers = [self._of(operand) for operand in operands]
        words = [f"%{index}" for index in range(len(numbers))] if words is None else words
        return self._made(self._graph.line(operation, numbers, words, arrays or {}))

    def _made(self, number: int) -> Tensor:
        return Tensor(self, number)

    def _of(self, tensor: Tensor) -> int:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"wanted is an ane.Tensor, not {type(tensor).__name__}")
        if tensor._graph is not self:
            raise ValueError("the tensor belongs to another graph")
        return tensor._number


_AXES = ("channels", "rows", "columns")


def _axes(axes: Sequence[str]) -> str:
    return axes if isinstance(axes, str) else ",".join(axes)


def _extents(shape: Shape3) -> str:
    return "x".join(str(extent) for extent in shape)


def _across(pair: Pair) -> str:
    """Rows and columns as a line has them: columns first."""
    rows, columns = (pair, pair) if isinstance(pair, int) else pair
    return f"{columns}x{rows}"


def _sides(padding: Padding) -> str:
    return str(padding) if isinstance(padding, int) else ",".join(str(side) for side in padding)


def _kernel(rows: int, columns: int, stride: Pair, padding: Padding) -> List[str]:
    return [f"kernel={columns}x{rows}", f"stride={_across(stride)}", f"padding={_sides(padding)}"]


def _window(kernel: Pair, stride: Optional[Pair], padding: Padding, ceil: bool) -> List[str]:
    words = [f"kernel={_across(kernel)}", f"padding={_sides(padding)}"]
    if stride is not None:
        words.append(f"stride={_across(stride)}")
    return words + (["ceil=yes"] if ceil else [])


def _choice(given: str, first: str, second: str) -> bool:
    if given not in (first, second):
        raise ValueError(f"{given!r} is neither {first!r} nor {second!r}")
    return given == first


def _flat(what: str, values: NDArray[float16]) -> NDArray[float16]:
    import numpy

    if not isinstance(values, numpy.ndarray) or values.dtype != numpy.float16:
        kind = getattr(values, "dtype", type(values).__name__)
        raise TypeError(f"{what} are {kind}; the engine takes a numpy array of float16")
    return numpy.require(values, numpy.float16, ["C", "A"]).reshape(-1)
