"""Arrays in, arrays out: what comes out, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

import ane
from ane.pytest_plugin import command
from conftest import halves


def test_outputs_are_those_of_the_command(example: Path, tmp_path: Path, rng: numpy.random.Generator) -> None:
    program = ane.load(example)
    a, b = halves(rng, 1, 16, 1, 32), halves(rng, 1, 16, 1, 32)
    outputs = program.run(input0=a, input1=b)
    numpy.save(tmp_path / "a.npy", a)
    numpy.save(tmp_path / "b.npy", b)
    words = [command(), "run", example, "-i", f"0={tmp_path}/a.npy", "-i", f"1={tmp_path}/b.npy", "-o", tmp_path / "out"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    (written,) = [numpy.load(file) for file in (tmp_path / "out").glob("*.npy")]
    assert outputs["output0"].tobytes() == written.tobytes()


def test_convolution_agrees_with_double_precision(rng: numpy.random.Generator) -> None:
    x, weights = halves(rng, 1, 5, 9, 11), halves(rng, 7, 5, 3, 2)
    graph = ane.Graph()
    given = graph.input("x", (5, 9, 11))
    graph.output("y", graph.convolution(given, weights, stride=(2, 1), padding=(1, 1, 0, 1)))
    found = graph.build().run(x=x)["y"]
    padded = numpy.pad(x[0].astype(float), ((0, 0), (1, 1), (0, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(1, 2))[:, ::2, ::1]
    wanted = numpy.einsum("chwij,ocij->ohw", windows, weights.astype(float))
    assert found.shape == (1, *wanted.shape)
    numpy.testing.assert_allclose(found[0], wanted, rtol=2e-3, atol=2e-2)


def test_arrays_of_any_strides_give_the_same(relu: ane.Program, rng: numpy.random.Generator) -> None:
    x = halves(rng, 1, 8, 4, 16)
    wanted = numpy.maximum(x, 0)
    unaligned = numpy.frombuffer(b"\0" + x.tobytes(), numpy.uint8)[1:].view(numpy.float16).reshape(x.shape)
    wide = numpy.zeros((1, 8, 4, 32), numpy.float16)
    wide[..., ::2] = x
    readonly = x.copy()
    readonly.flags.writeable = False
    for given in (
        x,
        x[0],
        numpy.asfortranarray(x),
        wide[..., ::2],
        x[:, ::-1][:, ::-1],
        unaligned,
        readonly,
        numpy.ascontiguousarray(x.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2),
    ):
        assert relu.run(x=given)["y"].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", ">f2", "u1", "?", "c8", "O", "S2", "M8[s]"])
def test_array_of_another_type_is_refused(relu: ane.Program, dtype: str) -> None:
    with pytest.raises(TypeError, match="input 'x' has dtype .*float16"):
        relu.run(x=numpy.zeros((8, 4, 16), dtype))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 1.0, [[1.0]], "x", object(), memoryview(b"ab")])
def test_what_is_no_array_is_refused(relu: ane.Program, given: object) -> None:
    with pytest.raises(TypeError, match="wanted is a numpy.ndarray of float16"):
        relu.run(x=given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shape", [(), (8,), (0,), (8, 4, 15), (8, 16, 4), (2, 8, 4, 16), (8, 1, 4, 16), (1, 1, 1, 8, 4, 17), (0, 8, 4, 16)]
)
def test_array_of_another_shape_is_refused(relu: ane.Program, shape: "tuple[int, ...]") -> None:
    with pytest.raises(ValueError, match=r"input 'x' has shape .* wants \[1, 8, 4, 16\]"):
        relu.run(x=numpy.zeros(shape, numpy.float16))


def test_inputs_are_named_in_the_message_about_one_that_is_missing_or_unknown(relu: ane.Program) -> None:
    x = numpy.zeros((8, 4, 16), numpy.float16)
    with pytest.raises(TypeError, match=r"input 'x' is missing; its inputs are 'x' \[1, 8, 4, 16\]"):
        relu.run()
    with pytest.raises(TypeError, match="no input 'z'; its inputs are 'x'"):
        relu.run(x=x, z=x)
    with pytest.raises(TypeError, match="no input 3"):
        relu.run({"x": x, 3: x})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="'x' is given twice"):
        relu.run({"x": x}, x=x)


def test_names_that_are_no_python_names_go_into_a_mapping(rng: numpy.random.Generator) -> None:
    graph = ane.Graph()
    graph.output("y <b>", graph.relu(graph.input("x@1", (8, 4, 16))))
    x = halves(rng, 8, 4, 16)
    assert graph.build().run({"x@1": x})["y <b>"][0].tobytes() == numpy.maximum(x, 0).tobytes()


def test_outputs_of_two_runs_are_arrays_of_their_own(relu: ane.Program) -> None:
    x = numpy.ones((8, 4, 16), numpy.float16)
    first = relu.run(x=x)["y"]
    second = relu.run(x=2 * x)["y"]
    assert first.flags.owndata and first.flags.writeable and first.flags.c_contiguous
    assert (float(first.max()), float(second.max())) == (1.0, 2.0)


def test_threads_that_share_a_program_get_each_its_own_result(relu: ane.Program) -> None:
    wrong = []

    def work(seed: int) -> None:
        rng = numpy.random.default_rng(seed)
        for _ in range(50):
            x = halves(rng, 8, 4, 16)
            if relu.run(x=x)["y"][0].tobytes() != numpy.maximum(x, 0).tobytes():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_while_the_engine_does(heavy: ane.Program) -> None:
    x = numpy.ones((64, 32, 32), numpy.float16)
    heavy.run(x=x)
    ended = threading.Event()

    def run() -> None:
        heavy.run(x=x)
        ended.set()

    rounds = 0
    thread = threading.Thread(target=run)
    thread.start()
    while not ended.wait(0.001):
        rounds += 1
    thread.join()
    # With the interpreter's lock held, the loop would not go round once.
    assert rounds > 3


def test_large_input_is_not_copied_on_its_way() -> None:
    # In a process of its own, whose peak of memory is not that of the tests before.
    script = """
import ane, numpy
graph = ane.Graph()
x = graph.input("x", (32, 1024, 1024))
graph.output("y", graph.largest(x))
program = graph.build()
x = numpy.ones((32, 1024, 1024), numpy.float16)
program.run(x=x)
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = peak()
program.run(x=x)
print(peak() - before)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # Kilobytes. A copy of the input would be 65536.
    assert int(ran.stdout) < 16384
