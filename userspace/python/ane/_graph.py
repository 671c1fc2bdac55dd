"""Programs built from a description, without a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence, Tuple, Union

from . import _ane
from ._device import Device
from ._program import Program

if TYPE_CHECKING:
    from numpy import float16
    from numpy.typing import NDArray

Shape3 = Tuple[int, int, int]


class Tensor:
    """A tensor of a graph: an input, a constant, or what an operation makes of others.

    ``a + b``, ``a - b``, ``a * b`` are element by element, ``a @ b`` is a matrix product.
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
        stride: Union[int, Tuple[int, int]] = 1,
        padding: Union[int, Tuple[int, int, int, int]] = 0,
        groups: int = 1,
        relu: bool = False,
    ) -> Tensor:
        """A convolution.

        :param weights: of shape (outputs, inputs / groups, rows, columns).
        :param bias: one value for each output.
        :param stride: of rows and columns, or both.
        :param padding: zeros above, below, left and right, or on every side.

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

    def linear(self, x: Tensor, weights: NDArray[float16], *, bias: Optional[NDArray[float16]] = None, relu: bool = False) -> Tensor:
        """Constant weights, of shape (outputs, inputs), times the channels of a tensor."""
        if getattr(weights, "ndim", None) != 2:
            raise ValueError("weights have two axes: outputs, inputs")
        return self.convolution(x, weights.reshape(*weights.shape, 1, 1), bias=bias, relu=relu)

    def matmul(self, x: Tensor, y: Tensor, *, relu: bool = False) -> Tensor:
        """[M, K] times [K, N]: channels are rows, columns are columns."""
        return self._made(self._graph.matmul(self._of(x), self._of(y), relu))

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

    def square(self, x: Tensor) -> Tensor:
        """Each element times itself."""
        return self._unary("square", x)

    def relu(self, x: Tensor) -> Tensor:
        """The larger of each element and 0."""
        return self._unary("relu", x)

    def leaky_relu(self, x: Tensor, slope: float) -> Tensor:
        """Elements below 0 times ``slope``."""
        return self._made(self._graph.leaky_relu(self._of(x), slope))

    def clamp(self, x: Tensor, low: float, high: float) -> Tensor:
        """Elements no smaller than ``low`` and no larger than ``high``."""
        return self._made(self._graph.clamp(self._of(x), low, high))

    def sigmoid(self, x: Tensor) -> Tensor:
        """The logistic function, by the engine's table."""
        return self._unary("sigmoid", x)

    def silu(self, x: Tensor) -> Tensor:
        """``x * sigmoid(x)``, by a table."""
        return self._unary("silu", x)

    def gelu(self, x: Tensor) -> Tensor:
        """GELU, by a table."""
        return self._unary("gelu", x)

    def tanh(self, x: Tensor) -> Tensor:
        """The hyperbolic tangent, by a table."""
        return self._unary("tanh", x)

    def exp(self, x: Tensor) -> Tensor:
        """``e`` to each element."""
        return self._unary("exp", x)

    def exp2(self, x: Tensor) -> Tensor:
        """2 to each element, by a table."""
        return self._unary("exp2", x)

    def ln(self, x: Tensor) -> Tensor:
        """The natural logarithm."""
        return self._unary("ln", x)

    def log2(self, x: Tensor) -> Tensor:
        """The logarithm to base 2, by a table."""
        return self._unary("log2", x)

    def sqrt(self, x: Tensor) -> Tensor:
        """The square root, by a table."""
        return self._unary("sqrt", x)

    def rsqrt(self, x: Tensor) -> Tensor:
        """1 over the square root, by a table."""
        return self._unary("rsqrt", x)

    def reciprocal(self, x: Tensor) -> Tensor:
        """1 over each element, by a table."""
        return self._unary("reciprocal", x)

    def transpose(self, x: Tensor) -> Tensor:
        """Channels and columns change places."""
        return self._unary("transpose", x)

    def softmax(self, x: Tensor, *, over: str = "channels") -> Tensor:
        """Softmax over the ``channels`` of each pixel, or over the ``columns`` of each row."""
        return self._unary("softmax" if _choice(over, "channels", "columns") else "softmax_columns", x)

    def sum(self, x: Tensor, *, over: str = "plane") -> Tensor:
        """The sum of each channel's ``plane``, or of the ``columns`` of each row."""
        return self._reduce("sum", x, over)

    def mean(self, x: Tensor, *, over: str = "plane") -> Tensor:
        """The mean of each channel's ``plane``, or of the ``columns`` of each row."""
        return self._reduce("mean", x, over)

    def largest(self, x: Tensor, *, over: str = "plane") -> Tensor:
        """The largest element of each channel's ``plane``, or of the ``columns`` of each row."""
        return self._reduce("maximum", x, over)

    def instance_norm(self, x: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """Each channel less its mean, over its deviation."""
        return self._made(self._graph.norm(self._of(x), True, epsilon))

    def layer_norm(self, x: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """The whole tensor less its mean, over its deviation."""
        return self._made(self._graph.norm(self._of(x), False, epsilon))

    def layer_norm_columns(self, x: Tensor, gamma: Tensor, beta: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """The columns of each row less their mean, over their deviation, times ``gamma``, plus ``beta``."""
        made = self._graph.norm_columns(self._of(x), self._of(gamma), self._of(beta), epsilon)
        return self._made(made)

    def concat(self, parts: Sequence[Tensor], *, axis: str = "channels") -> Tensor:
        """The parts one behind the other, along ``channels`` or ``rows``."""
        rows = not _choice(axis, "channels", "rows")
        return self._made(self._graph.concat([self._of(part) for part in parts], rows))

    def slice(self, x: Tensor, *, channels: Optional[slice] = None, rows: Optional[slice] = None) -> Tensor:
        """Some channels and rows of a tensor."""

        def bounds(part: Optional[slice], extent: int) -> Tuple[int, int]:
            start, stop, step = (part or slice(None)).indices(extent)
            if step != 1:
                raise ValueError("a slice of a tensor has step 1")
            return start, stop

        count, height, _ = x.shape
        return self._made(self._graph.slice(self._of(x), bounds(channels, count), bounds(rows, height)))

    def build(self, *, device: Optional[Device] = None) -> Program:
        """The program.

        :raises BuildError: if there is no output, or a task does not fit on chip.
        """
        return Program(self._graph.build(), device)

    def _binary(self, operation: str, x: Tensor, y: Tensor, relu: bool) -> Tensor:
        return self._made(self._graph.binary(operation, self._of(x), self._of(y), relu))

    def _unary(self, operation: str, x: Tensor) -> Tensor:
        return self._made(self._graph.unary(operation, self._of(x)))

    def _reduce(self, operation: str, x: Tensor, over: str) -> Tensor:
        return self._made(self._graph.reduce(operation, self._of(x), not _choice(over, "plane", "columns")))

    def _made(self, number: int) -> Tensor:
        return Tensor(self, number)

    def _of(self, tensor: Tensor) -> int:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"wanted is an ane.Tensor, not {type(tensor).__name__}")
        if tensor._graph is not self:
            raise ValueError("the tensor belongs to another graph")
        return tensor._number


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
