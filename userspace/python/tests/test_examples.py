"""The examples of `examples/ci/`: what somebody copies has to work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy
import pytest

import ane
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


WORKFLOW = ROOT / "examples" / "ci" / "workflow.yml"


def steps() -> Tuple[Dict[Any, Any], List[Dict[str, Any]]]:
    """The workflow, and the steps of its one job."""
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(WORKFLOW.read_text())
    (job,) = workflow["jobs"].values()
    return workflow, job["steps"]


def test_workflow_has_the_form_that_its_host_takes() -> None:
    workflow, listed = steps()
    # YAML 1.1 reads the word "on" as true.
    assert {"name", "env", "jobs", True} == set(workflow) and workflow[True] == ["push", "pull_request"]
    (job,) = workflow["jobs"].values()
    assert set(job) == {"runs-on", "steps"} and job["runs-on"] == "ubuntu-latest"
    named = set()
    for step in listed:
        assert set(step) <= {"id", "if", "uses", "with", "run", "env"} and ("uses" in step) != ("run" in step), step
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step
        # A step that is asked for comes before.
        assert set(re.findall(r"steps\.(\w+)\.", str(step))) <= named, step
        # A variable is one of the workflow's, of the step's, or of the host's.
        variables = set(re.findall(r"\$\{\{ env\.(\w+) \}\}", str(step))) | set(re.findall(r"\$(\w+)", str(step.get("run", ""))))
        assert variables <= {*workflow["env"], *step.get("env", {})}, step
        named.add(step.get("id"))
    (wanted,) = [step["with"]["python-version"] for step in listed if "python-version" in step.get("with", {})]
    (least,) = re.findall(r'^requires-python = ">=(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert tuple(map(int, wanted.split("."))) >= tuple(map(int, least.split(".")))


def test_workflow_builds_a_wheel_where_it_installs_it_from() -> None:
    _, listed = steps()
    build, install, _ = (shlex.split(step["run"]) for step in listed if "run" in step)
    assert build[:2] == ["pip", "wheel"] and install[:2] == ["pip", "install"]
    # Both need a network, so only their words are looked at.
    told = subprocess.run([sys.executable, "-m", "pip", "wheel", "--help"], capture_output=True, text=True, check=True).stdout
    for option in (word for word in build if word.startswith("-")):
        assert re.search(rf"(^|\s){option}\b", told), option
    folder = build[build.index("--wheel-dir") + 1]
    assert build[-1] == "git+$ANE_SOURCE"
    (cached,) = [step["with"]["path"] for step in listed if "path" in step.get("with", {})]
    assert cached == folder
    # What pip calls the wheel of this project.
    (name,) = re.findall(r'^name = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    wheel = f"{folder}/{name}-{ane.__version__}-cp39-abi3-manylinux_2_17_x86_64.whl"
    assert [word for word in install[2:] if fnmatch(wheel, word)] and "pytest" in install


def test_workflow_tests_a_program_of_the_repository(example: Path, tmp_path: Path, rng: numpy.random.Generator) -> None:
    _, listed = steps()
    last = listed[-1]
    copied = tmp_path / "examples" / "ci"
    copied.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "ci" / "test_package.py", copied)
    shutil.copy(example, tmp_path / last["env"]["ANE_PROGRAM"])
    a, b = halves(rng, 1, 16, 1, 32), halves(rng, 1, 16, 1, 32)
    wanted = numpy.maximum(a.astype(float) + b.astype(float), 0)
    numpy.savez(tmp_path / last["env"]["ANE_REFERENCE"], input0=a, input1=b, output0=wanted)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    ran = subprocess.run(
        ["bash", "-euc", last["run"]],
        env={**os.environ, **last["env"], "PATH": path},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.returncode == 0 and "2 passed" in ran.stdout, ran.stdout + ran.stderr
