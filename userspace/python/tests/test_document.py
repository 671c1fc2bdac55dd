"""Blocks of docs/python.md that are no doctests: the tests of the pytest plugin, and commands of a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import numpy
import pytest

import ane
from ane.pytest_plugin import command
from conftest import ROOT

CLIENT = f"""#!{sys.executable}
import os
os.close(os.open("/dev/accel/accel0", os.O_RDWR))
"""


def blocks(language: str) -> List[str]:
    """The blocks of the document in this language."""
    text = (ROOT / "docs" / "python.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def network(tmp_path: Path) -> ane.Program:
    """The files that the blocks name: a program of some tasks, an input and its output, and the examples."""
    graph = ane.Graph()
    y = graph.input("x", (8, 8, 8))
    for _ in range(5):
        y = graph.convolution(y, numpy.full((8, 8, 3, 3), 1 / 64, numpy.float16), padding=1, relu=True)
    graph.output("y", y)
    program = graph.build()
    # A program is known by its content, and not by its name.
    program.save(tmp_path / "network.hwx")
    x = numpy.ones((1, 8, 8, 8), numpy.float16)
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "y.npy", program.run(x=x)["y"])
    client = tmp_path / "client"
    client.write_text(CLIENT)
    client.chmod(0o755)
    # Its commands are run in a checkout.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return program


def test_tests_of_the_document_pass(network: ane.Program, tmp_path: Path) -> None:
    (block,) = [block for block in blocks("python") if "def test_" in block]
    (tmp_path / "test_document.py").write_text(block)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "test_document.py"]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    # The first one runs once for each chip.
    assert ran.returncode == 0 and "3 passed" in ran.stdout, ran.stdout + ran.stderr


def test_tests_of_the_document_fail_with_another_result(network: ane.Program, tmp_path: Path) -> None:
    numpy.save(tmp_path / "y.npy", numpy.load(tmp_path / "y.npy") + numpy.float16(0.5))
    (tmp_path / "client").write_text(f"#!{sys.executable}\nraise SystemExit(1)\n")
    (block,) = [block for block in blocks("python") if "def test_" in block]
    (tmp_path / "test_document.py").write_text(block)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_document.py"]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1 and "3 failed" in ran.stdout, ran.stdout + ran.stderr


def test_commands_of_the_document_run(network: ane.Program, tmp_path: Path) -> None:
    commands = [block for block in blocks("sh") if all(line.startswith("ane ") for line in block.splitlines())]
    assert commands, "the document has commands"
    path = os.pathsep.join([os.fspath(command().parent), os.environ["PATH"]])
    for block in commands:
        ran = subprocess.run(
            ["bash", "-euc", block], env={**os.environ, "PATH": path}, capture_output=True, text=True, cwd=tmp_path
        )
        assert ran.returncode == 0, f"{block}{ran.stderr}"
    # What they say that they do: pages of one program and of two, and a task without its ReLU.
    assert all((tmp_path / name).read_text().startswith("<!") for name in ("network.html", "both.html"))
    whole, without = (ane.load(tmp_path / name).tasks[1]["MACCfg"] for name in ("examples/add_relu.anec", "without.anec"))
    shown = [next(field.shown for field in word.fields if field.name == "nonlinear_mode") for word in (whole, without)]
    assert shown[0] != shown[1] and "none" in shown[1], shown
