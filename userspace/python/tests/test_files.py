"""Files that programs are loaded from: what names them, compiled programs, models as text, and hostile models."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import Callable, Union

import numpy
import pytest

import ane
from conftest import compiled

def text(lines: str, extent: int = 2) -> bytes:
    """A model as MIL text, from x to y."""
    return f"program(1.3) {{ func main<ios16>(tensor<fp16, [{extent}]> x) {{ {lines} }} -> (y); }}".encode()


def layer(result: str, operation: str, extent: int = 2, **operands: str) -> str:
    named = ", ".join(f"{name} = {value}" for name, value in operands.items())
    return f'tensor<fp16, [{extent}]> {result} = {operation}({named})[name = string("{result}")];'


def number(value: int) -> bytes:
    """A number of a protocol buffer."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + number(rest) if rest else bytes([low])


def field(at: int, value: Union[bytes, int, str]) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(value, int):
        return number(at << 3) + number(value)
    told = value.encode() if isinstance(value, str) else value
    return number(at << 3 | 2) + number(len(told)) + told


def node(operation: str, *inputs: str, output: str) -> bytes:
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, operation))


def port(at: int, name: str, *extents: int) -> bytes:
    shape = b"".join(field(1, field(1, extent)) for extent in extents)
    return field(at, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def onnx(*graph: bytes) -> bytes:
    """A model of opset 17."""
    return field(1, 8) + field(7, b"".join(graph) + field(2, "g")) + field(8, field(1, "") + field(2, 17))


@pytest.mark.parametrize(
    ("name", "inputs", "wanted"),
    [
        ("relu", [[-3.0, 5.0]], [0.0, 5.0]),
        ("sum", [[3.0, -1.0], [2.0, 4.0]], [5.0, 3.0]),
        ("sigmoid", [[3.0, 0.0]], [0.95263671875, 0.5]),
    ],
)
def test_object_of_apples_compiler_is_loaded_and_run(name: str, inputs: "list[list[float]]", wanted: "list[float]") -> None:
    program = ane.load(compiled(f"{name}.hwx"))
    assert len(program.inputs) == len(inputs) and len(program.tasks) == 1 and not program.refusals
    arrays = {}
    for surface, values in zip(program.inputs, inputs):
        array = numpy.zeros(surface.shape, numpy.float16)
        array.flat[:2] = values
        arrays[surface.name] = array
    (y,) = program.run(arrays).values()
    assert y.flat[:2].tolist() == wanted
    again = ane.loads(program.to_anec())
    (y,) = again.run(dict(zip((surface.name for surface in again.inputs), arrays.values()))).values()
    assert y.flat[:2].tolist() == wanted


def test_model_as_text_is_loaded_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.mil"
    path.write_bytes(text(layer("y", "relu", x="x")))
    assert ane.load(path).run(numpy.array([-3, 4], numpy.float16))["y"].tolist() == [0, 4]


class Named:
    """A path of neither library."""

    def __init__(self, path: Union[str, bytes]) -> None:
        self.path = path

    def __fspath__(self) -> Union[str, bytes]:
        return self.path


@pytest.mark.parametrize("spelled", [os.fspath, os.fsencode, Path, lambda path: Named(os.fspath(path)), lambda path: Named(os.fsencode(path))])
def test_path_is_text_bytes_or_an_object_that_names_either(spelled: Callable[[Path], object], example: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.mil"
    path.write_bytes(text(layer("y", "relu", x="x")))
    assert len(ane.load(spelled(example)).tasks) == 2  # type: ignore[arg-type]
    assert len(ane.compare(spelled(path))) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [None, 3, ["x"]])
def test_what_is_no_path_is_told_which_types_are(path: object) -> None:
    for use in (ane.load, ane.compare):
        with pytest.raises(TypeError, match=r"str, bytes or os\.PathLike"):
            use(path)  # type: ignore[arg-type]


def test_name_that_is_no_text_is_found_and_told(tmp_path: Path, example: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.anec"
    with pytest.raises(FileNotFoundError):
        ane.load(path)
    with open(path, "wb") as file:
        file.write(example.read_bytes())
    assert len(ane.load(path).tasks) == 2


def relu(*extents: int, layers: int = 1) -> bytes:
    """A model of ONNX with this layer, again and again."""
    return onnx(node("Relu", "x", output="y") * layers, port(11, "x", *extents), port(12, "y", *extents))


def circle() -> bytes:
    nodes = node("Add", "x", "b", output="a"), node("Relu", "a", output="b")
    return onnx(*nodes, port(11, "x", 2), port(12, "b", 2))


def weight_at(offset: int) -> bytes:
    """A model of ONNX with two constants in another file."""
    place = {"location": "weights", "offset": str(offset), "length": "8"}
    entries = b"".join(field(13, field(1, key) + field(2, value)) for key, value in place.items())
    weight = field(5, field(1, 2) + field(2, 1) + field(8, "w") + field(14, 1) + entries)
    return onnx(node("Add", "x", "w", output="y"), weight, port(11, "x", 2), port(12, "y", 2))


def text_with_weight_at(offset: int) -> bytes:
    place = f'BLOBFILE(path = string("@model_path/weights"), offset = uint64({offset}))'
    weight = f'tensor<fp16, [2]> w = const()[name = string("w"), val = tensor<fp16, [2]>({place})];'
    return text(weight + layer("y", "add", x="x", y="w"))


HOSTILE = {
    "layers in a circle": (circle, '"b"'),
    "layers in a circle, as text": (lambda: text(layer("a", "add", x="x", y="y") + layer("y", "relu", x="a")), '"y"'),
    "an extent of 2^40": (lambda: relu(2**40), str(2**40)),
    "two extents of 2^40": (lambda: relu(2**40, 2**40), str(2**40)),
    "an extent of 2^40, as text": (lambda: text(layer("y", "relu", 2**40, x="x"), 2**40), str(2**40)),
    "a million layers": (lambda: relu(2, layers=10**6), "1000000 layers, more than the 65536"),
    "a million layers, as text": (lambda: text(layer("y", "relu", x="x") * 10**6), "more than the 65536"),
    "a weight outside of its file": (lambda: weight_at(2**40), str(2**40)),
    "a weight outside of its file, as text": (lambda: text_with_weight_at(2**40), hex(2**40)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_model_is_refused_in_bounded_time(what: str, tmp_path: Path) -> None:
    make, told = HOSTILE[what]
    (tmp_path / "weights").write_bytes(struct.pack("<2I", 1, 2) + bytes(120))
    path = tmp_path / "model"
    path.write_bytes(make())
    begin = time.monotonic()
    with pytest.raises(ane.ModelError) as caught:
        ane.load(path)
    # A module that is not optimised takes several seconds for a million lines.
    assert time.monotonic() - begin < 60
    message = str(caught.value)
    assert told in message and len(message) < 10_000, message[:1000]
    if "million" not in what:
        with pytest.raises(ane.ModelError):
            ane.compare(path)
