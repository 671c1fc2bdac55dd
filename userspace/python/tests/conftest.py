"""What the tests of the Python package share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

import ane

ROOT = Path(__file__).resolve().parents[3]

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def _no_device_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANE_DEVICE", raising=False)


@pytest.fixture
def example() -> Path:
    """The program that the tree carries: y = relu(a + b)."""
    return ROOT / "examples" / "add_relu.anec"


@pytest.fixture
def relu() -> ane.Program:
    """y = relu(x), of 8 channels with 4 rows of 16."""
    graph = ane.Graph()
    graph.output("y", graph.relu(graph.input("x", (8, 4, 16))))
    return graph.build()


@pytest.fixture
def heavy() -> ane.Program:
    """Some tenths of a second of work in several tasks."""
    graph = ane.Graph()
    x = graph.input("x", (64, 32, 32))
    weights = numpy.full((64, 64, 3, 3), 2**-10, numpy.float16)
    for _ in range(12):
        x = graph.convolution(x, weights, padding=1)
    graph.output("y", x)
    return graph.build()


@pytest.fixture
def rng() -> numpy.random.Generator:
    return numpy.random.default_rng(21)


def compiled(name: str) -> Path:
    """A program of Apple's compiler, which is not part of the tree; the test is skipped where there is none."""
    given = os.environ.get("ANE_TEST_DATA")
    path = (Path(given) if given else ROOT.parent / "shared" / "data" / "h13") / name
    if not path.is_file():
        why = f"compiled programs are not in {path.parent}; set ANE_TEST_DATA to their folder"
        if os.environ.get("CI") == "true":
            pytest.fail(f"not run: {why}")
        pytest.skip(why)
    return path


def halves(rng: numpy.random.Generator, *shape: int) -> numpy.ndarray:
    return rng.uniform(-2, 2, shape).astype(numpy.float16)
