"""Operations of a graph against numpy in double precision."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import numpy
import pytest

import ane

AXES = {"channels": 0, "rows": 1, "columns": 2}
SHAPE = (6, 4, 20)


def numbers(seed: int, shape: Tuple[int, ...]) -> Any:
    return numpy.random.default_rng(seed).uniform(-2, 2, shape).astype(numpy.float16)


def run(operation: Callable[..., ane.Tensor], *arrays: Any) -> Any:
    graph = ane.Graph()
    operands = [graph.input(f"x{index}", array.shape) for index, array in enumerate(arrays)]
    graph.output("y", operation(graph, *operands))
    inputs = {f"x{index}": array[None] for index, array in enumerate(arrays)}
    return graph.build().run(**inputs)["y"][0].astype(float)


def close(seen: Any, expected: Any, most: float) -> None:
    assert seen.shape == expected.shape
    assert numpy.abs(seen - expected).max() <= most * numpy.abs(expected).max()


FUNCTIONS = [
    ("abs", numpy.abs, 0),
    ("sign", numpy.sign, 0),
    ("floor", numpy.floor, 0),
    ("ceil", numpy.ceil, 0),
    ("round", numpy.round, 0),
    ("softplus", lambda x: numpy.log1p(numpy.exp(x)), 0.005),
    ("softsign", lambda x: x / (1 + abs(x)), 0.003),
    ("elu", lambda x: numpy.where(x < 0, numpy.expm1(x), x), 0.005),
    ("hard_swish", lambda x: x * numpy.clip(x / 6 + 0.5, 0, 1), 0.003),
]


@pytest.mark.parametrize("name, formula, most", FUNCTIONS)
def test_function_of_each_element_is_numpys(name: str, formula: Callable[[Any], Any], most: float) -> None:
    x = numbers(1, SHAPE)
    close(run(lambda graph, x: getattr(graph, name)(x), x), formula(x.astype(float)), most)


def test_pairs_of_elements_are_divided_compared_and_chosen_as_numpy_does() -> None:
    a, b = numbers(1, SHAPE), numbers(2, SHAPE)
    x, y = a.astype(float), b.astype(float)
    close(run(lambda graph, a, b: a / graph.exp(b), a, b), x / numpy.exp(y), 0.004)
    close(run(lambda graph, a, b: graph.power(graph.exp(a), b), a, b), numpy.exp(x) ** y, 0.02)
    close(run(lambda graph, a: graph.power(a, 3), a), x**3, 0.002)
    whole = numpy.floor(a), numpy.floor(b)
    for name in ("equal", "not_equal", "less", "less_or_equal", "greater", "greater_or_equal"):
        expected = getattr(numpy, name if "or_equal" not in name else name.replace("or_", ""))(*whole)
        seen = run(lambda graph, a, b: getattr(graph, name)(a, b), *whole)
        assert (seen == expected).all(), name
    chosen = run(lambda graph, a, b: graph.select(graph.less(a, b), a, b), a, b)
    assert (chosen == numpy.minimum(x, y)).all()


def test_elements_move_as_numpy_moves_them() -> None:
    a, b = numbers(1, SHAPE), numbers(2, (6, 4, 9))
    parts = run(lambda graph, x: graph.slice(x, rows=slice(None, None, -1), columns=slice(1, 20, 3)), a)
    assert (parts == a[:, ::-1, 1:20:3]).all()
    assert (run(lambda graph, x: graph.tile(x, channels=2, columns=3), a) == numpy.tile(a, (2, 1, 3))).all()
    turned = run(lambda graph, x: graph.permute(x, ["columns", "channels", "rows"]), a)
    assert (turned == a.transpose(2, 0, 1)).all()
    assert (run(lambda graph, x: graph.reshape(x, (4, 20, 6)), a) == a.reshape(4, 20, 6)).all()
    assert (run(lambda graph, x, y: graph.concat([x, y], axis="columns"), a, b) == numpy.concatenate([a, b], 2)).all()
    for edge, mode in (("nearest", "edge"), ("mirrored", "reflect"), ("wrapped", "wrap")):
        padded = run(lambda graph, x: graph.pad(x, rows=(1, 2), columns=(3, 0), edge=edge), a)
        assert (padded == numpy.pad(a, ((0, 0), (1, 2), (3, 0)), mode)).all(), edge
    taken = run(lambda graph, x: graph.take(x, [3, 0, 0], axis="rows"), a)
    assert (taken == a[:, [3, 0, 0]]).all()
    folded = run(lambda graph, x: graph.depth_to_space(graph.space_to_depth(x, 2), 2), a)
    assert (folded == a).all()


@pytest.mark.parametrize("axes", [("channels",), ("rows",), ("channels", "columns"), tuple(AXES)])
def test_reductions_over_any_axes_are_numpys(axes: Tuple[str, ...]) -> None:
    a = numbers(1, SHAPE)
    x, places = a.astype(float), tuple(AXES[axis] for axis in axes)
    reductions = [
        ("sum", x.sum(places, keepdims=True), 0.01),
        ("mean", x.mean(places, keepdims=True), 0.01),
        ("largest", x.max(places, keepdims=True), 0),
        ("smallest", x.min(places, keepdims=True), 0),
        ("sum_of_squares", (x * x).sum(places, keepdims=True), 0.004),
        ("norm2", numpy.sqrt((x * x).sum(places, keepdims=True)), 0.004),
    ]
    for name, expected, most in reductions:
        close(run(lambda graph, x: getattr(graph, name)(x, over=axes), a), expected, most)


def test_norms_and_softmax_over_any_axes_are_numpys() -> None:
    a, scale, offset = numbers(1, SHAPE), numbers(2, (6, 1, 1)), numbers(3, (6, 1, 1))
    x = a.astype(float)

    def normal(x: Any, axes: Any) -> Any:
        return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + 1e-5)

    seen = run(lambda graph, x, s, o: graph.layer_norm_over(x, ["channels"], scale=s, offset=o), a, scale, offset)
    close(seen, normal(x, 0) * scale + offset, 0.004)
    seen = run(lambda graph, x, s: graph.rms_norm(x, "columns", scale=s), a, scale)
    close(seen, x / numpy.sqrt((x * x).mean(2, keepdims=True) + 1e-5) * scale, 0.004)
    groups = normal(x.reshape(3, 2, 4, 20), (1, 2, 3)).reshape(SHAPE)
    close(run(lambda graph, x: graph.group_norm(x, 3), a), groups, 0.004)
    for axis, place in AXES.items():
        powers = numpy.exp(x)
        seen = run(lambda graph, x: graph.softmax(x, over=axis), a)
        close(seen, powers / powers.sum(place, keepdims=True), 0.006)


def test_windows_products_and_attention_are_numpys() -> None:
    a = numbers(1, (3, 8, 8))
    blocks = a.astype(float).reshape(3, 4, 2, 4, 2)
    assert (run(lambda graph, x: graph.max_pool(x, 2), a) == blocks.max((2, 4))).all()
    close(run(lambda graph, x: graph.mean_pool(x, (2, 2)), a), blocks.mean((2, 4)), 0.003)
    b = numbers(2, (3, 8, 5))
    close(run(lambda graph, x, y: graph.batched_matmul(x, y), a, b), a.astype(float) @ b.astype(float), 0.004)
    scores = numpy.exp(a.astype(float) @ a.astype(float).transpose(0, 2, 1) / numpy.sqrt(8))
    expected = scores / scores.sum(2, keepdims=True) @ b.astype(float)
    close(run(lambda graph, q, v: graph.attention(q, q, v), a, b), expected, 0.01)


def test_kernels_with_holes_and_turned_ones_are_the_sums() -> None:
    a, weights = numbers(1, (4, 5, 6)), numbers(2, (4, 3, 2, 2))
    x, w = a.astype(float), weights.astype(float)
    # Beside each other, the blocks that each element makes are the result.
    expected = numpy.einsum("chw,copq->ohpwq", x, w).reshape(3, 10, 12)
    close(run(lambda graph, x: graph.transposed_convolution(x, weights, stride=2), a), expected, 0.004)
    turned = numpy.ascontiguousarray(weights.transpose(1, 0, 2, 3))
    windows = numpy.stack([x[:, p : p + 3, q : q + 4] for p in (0, 2) for q in (0, 2)]).reshape(2, 2, 4, 3, 4)
    expected = numpy.einsum("pqchw,copq->ohw", windows, w)
    close(run(lambda graph, x: graph.convolution(x, turned, dilation=2), a), expected, 0.004)


def test_wrong_words_are_value_errors_and_refusals_are_build_errors() -> None:
    graph = ane.Graph()
    x = graph.input("x", SHAPE)
    with pytest.raises(ValueError, match="over=sideways is not channels, rows or columns"):
        graph.sum(x, over="sideways")
    with pytest.raises(ane.BuildError, match="group norm: groups of 4"):
        graph.group_norm(x, 4)
    with pytest.raises(ValueError, match="empty"):
        graph.slice(x, columns=slice(3, 3))
    with pytest.raises(ValueError, match="another graph"):
        ane.Graph().copy(x)
    graph.output("y", graph.copy(x))
    assert len(graph.build().tasks) == 1
