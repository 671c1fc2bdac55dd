"""The examples of `examples/ci/`: what somebody copies has to work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from conftest import ROOT, halves


@pytest.mark.parametrize(("error", "code"), [(0.0, 0), (0.5, 1)])
def test_package_is_compared_with_its_reference(
    example: Path, tmp_path: Path, rng: numpy.random.Generator, error: float, code: int
) -> None:
    a, b = halves(rng, 1, 16, 1, 32), halves(rng, 1, 16, 1, 32)
    wanted = numpy.maximum(a.astype(float) + b.astype(float), 0) + error
    numpy.savez(tmp_path / "reference.npz", input0=a, input1=b, output0=wanted)
    named = {"ANE_PROGRAM": os.fspath(example), "ANE_REFERENCE": os.fspath(tmp_path / "reference.npz")}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "examples" / "ci" / "test_package.py"]
    ran = subprocess.run(words, env={**os.environ, **named}, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == code, ran.stdout
    assert ("2 failed" if code else "2 passed") in ran.stdout
