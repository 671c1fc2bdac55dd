"""Types: a caller's code is checked, and the stubs say what is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CALLER = '''
from typing import Dict, List, Optional
import numpy as np
from numpy.typing import NDArray
import ane

def use(path: str) -> Dict[str, NDArray[np.float16]]:
    device: ane.Device = ane.Device(chip="t8103", numerics="exact", strict=True, check=True, location="embedded")
    program: ane.Program = ane.load(path, device=device)
    for task in program.tasks:
        for register in task.registers:
            name: Optional[str] = register.name
            values: List[int] = [field.value for field in register.fields]
            grade: str = register.grade
    with device.trace() as trace:
        outputs = program.run(x=np.zeros((1, 2, 3, 4), np.float16))
    durations: List[float] = [event.duration for event in trace.events]
    cycles: int = device.counters().cycles
    try:
        pass
    except ane.RefusedError as error:
        bits: Optional[int] = error.bits
    graph = ane.Graph()
    x: ane.Tensor = graph.relu(graph.input("x", (1, 2, 3)) + graph.input("y", (1, 2, 3)))
    graph.output("z", x)
    built: ane.Program = graph.build(device=device)
    only: Dict[str, NDArray[np.float16]] = built.run(np.zeros((1, 2, 3), np.float16))
    model = ane.load(path, dims={"batch": 4}, bind={"shape": [1, 2]})
    names: List[str] = [layer.name for layer in model.layers] + [note for note in model.notes]
    differences: List[float] = [layer.own for layer in ane.compare(path, {"x": np.zeros(3)}, dims={"batch": 4})]
    try:
        pass
    except ane.ModelError as error:
        reasons: List[str] = [problem.reason for problem in error.problems]
    return outputs
'''

WRONG = '''
import ane
ane.load(3)
ane.Device(chip=8103)
ane.load("x").run(x=[1.0])
ane.load("x").tasks[0].registers[0].grad
'''


def mypy(path: Path, source: str) -> "subprocess.CompletedProcess[str]":
    path.write_text(source)
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={path.parent}/cache", path]
    return subprocess.run(words, capture_output=True, text=True, cwd=path.parent)


def test_caller_is_clean_under_strict_checking_and_its_mistakes_are_found(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    clean = mypy(tmp_path / "caller.py", CALLER)
    assert clean.returncode == 0, clean.stdout
    wrong = mypy(tmp_path / "wrong.py", WRONG)
    assert "Found 4 errors" in wrong.stdout, wrong.stdout


def test_stubs_say_what_the_module_has(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    words = [sys.executable, "-m", "mypy.stubtest", "ane", "--ignore-disjoint-bases"]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
