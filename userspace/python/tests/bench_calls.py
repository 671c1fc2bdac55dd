"""What a call from Python costs; printed, and held against nothing. `python bench_calls.py PROGRAM`.

The goal is at most 10 us over the same run from Rust, for a small program and a wheel of the release profile. The wheel that
`tools/check` builds is of the profile `dev`, in which the module is not optimised and takes several times as long.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Callable

import numpy

import ane
from ane.pytest_plugin import command


def best(action: Callable[[], object], seconds: float = 1.0) -> float:
    """The median of many rounds, in seconds."""
    action()
    end, rounds = time.monotonic() + seconds, []
    while time.monotonic() < end:
        begin = time.perf_counter()
        action()
        rounds.append(time.perf_counter() - begin)
    return sorted(rounds)[len(rounds) // 2]


def imports() -> float:
    def ran(words: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", words], check=True)
        return time.perf_counter() - begin

    return min(ran("import ane") for _ in range(10)) - min(ran("pass") for _ in range(10))


def main(path: str) -> None:
    print(f"import ane: {imports() * 1e3:.1f} ms beyond an empty script")
    program = ane.load(path)
    arrays = {surface.name: numpy.ones(surface.shape, numpy.float16) for surface in program.inputs}
    call = best(lambda: program.run(arrays))
    words = [command(), "run", path, "--repeat", "2000", "--json", "--constant", "1"]
    told = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    run = told["average_nanoseconds"] / 1e3
    print(f"{path}: {call * 1e6:.1f} us from Python, arrays included")
    print(f"  {run:.1f} us the run alone from Rust, {told['fastest_nanoseconds'] / 1e3:.1f} the fastest; {call * 1e6 - run:.1f} us beyond it")

    graph = ane.Graph()
    graph.output("y", graph.largest(graph.input("x", (32, 1024, 1024))))
    large = graph.build()
    x = numpy.ones((32, 1024, 1024), numpy.float16)
    to = numpy.empty_like(x)
    with ane.Device() as device:
        on = large.on(device)
        on.run(x=x)
        with device.trace() as trace:
            begin = time.perf_counter()
            on.run(x=x)
            whole = time.perf_counter() - begin
    engine = sum(event.duration for event in trace.events if not event.is_virtual) / 1e6
    copy = best(lambda: numpy.copyto(to, x))
    print(f"64 MB in: {(whole - engine) * 1e3:.1f} ms outside of the engine, memcpy takes {copy * 1e3:.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "examples/add_relu.anec")
