"""The cost of the Python module: goals Y1 to Y3. `python bench_calls.py`.

Prints lines as the benches in Rust do. Goals and verdicts are those of `xtask/src/performance/goals.rs`: `cargo xtask
performance` builds a wheel of the release profile for this and judges the figures. In a wheel of the profile `dev`, such as
`tools/check` builds, the module is not optimised, and Y2 and Y3 are several times as much; a test holds Y1 there too.

Both sides of a figure run in turn, and the median of the rounds counts. Y3 is the time of a run outside of the engine, with an
input of 64 MB and an output of 64 bytes: the input is copied once, to the memory that the engine reads. Beside it is a memcpy of
the input to memory of the same kind: shared, so that its pages are small. "Y3 memory" is what a run adds to the resident memory
of the process at its peak, when the program has its buffers: a copy on the way would add all of the input.
"""

from __future__ import annotations

import json
import mmap
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Callable

import numpy

import ane
from ane.pytest_plugin import command

RUNS = 2000
"""Runs of a small program in a round, on either side; their mean counts."""

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "add_relu.anec"


def line(goal: str, what: str, seen: str, figure: float) -> None:
    print(f"{goal:<9} | {what:<66} | {seen:<32} | {figure:>7.3f} | - | -", flush=True)


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def import_seconds(rounds: int) -> "list[tuple[float, float]]":
    """Seconds of a script that imports the module, and of an empty one."""

    def ran(words: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", words], check=True))

    ran("import ane")
    return [(ran("import ane"), ran("pass")) for _ in range(rounds)]


def imports() -> None:
    rounds = import_seconds(21)
    ours, empty = (median(side) * 1e3 for side in zip(*rounds))
    line("Y1", "import ane, beyond an empty script", f"{ours:.1f} ms / {empty:.1f} ms", median(a - b for a, b in rounds) * 1e3)


def calls() -> None:
    program = ane.load(EXAMPLE)
    arrays = {surface.name: numpy.ones(surface.shape, numpy.float16) for surface in program.inputs}
    words = [command(), "run", EXAMPLE, "--repeat", str(RUNS), "--json", "--constant", "1"]

    def run() -> None:
        for _ in range(RUNS):
            program.run(arrays)

    def ours() -> float:
        return seconds(run) / RUNS * 1e6

    def theirs() -> float:
        told = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        return float(told["average_nanoseconds"]) / 1e3

    assert (program.run(arrays)["output0"] == 2).all()
    rounds = [(ours(), theirs()) for _ in range(9)]
    python, rust = (median(side) for side in zip(*rounds))
    seen = f"{python:.1f} us / {rust:.1f} us"
    line("Y2", f"a run of {EXAMPLE.name} from Python, beyond one from Rust", seen, median(a - b for a, b in rounds))


def resident(field: str) -> int:
    """Bytes of the process that are in memory: now (VmRSS), or at most so far (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return next(int(told.split()[1]) << 10 for told in status.splitlines() if told.startswith(f"{field}:"))


def large_input() -> None:
    graph = ane.Graph()
    graph.output("y", graph.largest(graph.input("x", (32, 1024, 1024))))
    x = numpy.ones((32, 1024, 1024), numpy.float16)
    to = numpy.frombuffer(mmap.mmap(-1, x.nbytes), numpy.float16).reshape(x.shape)
    with ane.Device() as device:
        program = graph.build().on(device)

        def outside() -> float:
            with device.trace() as trace:
                whole = seconds(lambda: program.run(x=x))
            events = [event for event in trace.events if not event.is_virtual]
            engine = max(event.start + event.duration for event in events) - min(event.start for event in events)
            return whole - engine / 1e6

        x.flat[::4096] = 2
        assert (program.run(x=x)["y"] == 2).all()
        outside(), numpy.copyto(to, x)
        rounds = [(outside(), seconds(lambda: numpy.copyto(to, x))) for _ in range(15)]
        ours, copy = (median(side) * 1e3 for side in zip(*rounds))
        what = "a run with an input of 64 MB, outside of the engine / memcpy of it"
        line("Y3", what, f"{ours:.1f} ms / {copy:.1f} ms", median(a / b for a, b in rounds))
        before = resident("VmRSS")
        # The peak is counted anew from here on.
        Path("/proc/self/clear_refs").write_text("5")
        program.run(x=x)
        more = max(resident("VmHWM") - before, 0)
    line("Y3 memory", "the same: resident memory at its peak, beyond before / the input", f"{more >> 10} KiB / {x.nbytes >> 10} KiB", more / x.nbytes)


if __name__ == "__main__":
    imports()
    calls()
    large_input()
