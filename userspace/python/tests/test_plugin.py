"""The pytest plugin, as somebody's own tests use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ane.pytest_plugin import command

TESTS = """
import subprocess, sys
import numpy, pytest
import ane

def program():
    graph = ane.Graph()
    graph.output("y", graph.relu(graph.input("x", (8, 4, 16))))
    return graph.build()

X = numpy.ones((8, 4, 16), numpy.float16)
"""


def outcomes(pytester: pytest.Pytester, source: str, *words: str) -> pytest.RunResult:
    pytester.makepyfile(TESTS + source)
    return pytester.runpytest_subprocess("--strict-markers", *words)


def test_device_is_made_as_its_marks_say(pytester: pytest.Pytester) -> None:
    result = outcomes(
        pytester,
        """
@pytest.mark.ane_chip("t6000")
@pytest.mark.ane_numerics("m1", "exact")
def test_it(ane_device, request):
    assert ane_device.chip == "t6000"
    assert ane_device.numerics in request.node.name
    assert program().on(ane_device).run(x=X)["y"].max() == 1

def test_default(ane_device):
    assert (ane_device.chip, ane_device.numerics) == ("t8103", "m1")
""",
    )
    result.assert_outcomes(passed=3)


def test_refusal_is_the_reason_of_the_failure(pytester: pytest.Pytester) -> None:
    result = outcomes(
        pytester,
        """
@pytest.mark.ane_options(strict=True)
def test_it(ane_device):
    graph = ane.Graph()
    x = graph.input("x", (4, 8, 8))
    graph.output("y", graph.convolution(x, numpy.ones((4, 4, 3, 3), numpy.float16), stride=3, padding=1))
    graph.build().on(ane_device).run(x=numpy.ones((4, 8, 8), numpy.float16))
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*virtual Neural Engine*", "task: 0", "try: *"])


def test_client_of_the_device_node_sees_an_engine(pytester: pytest.Pytester) -> None:
    result = outcomes(
        pytester,
        """
CLIENT = '''
import array, fcntl, os
node = os.open("/dev/accel/accel0", os.O_RDWR)
# DRM_IOCTL_VERSION, with no room for any of the texts: lengths come back.
version = array.array("Q", [0] * 8)
fcntl.ioctl(node, 0xC0406400, version, True)
assert version[2] > 0, version
'''

def test_it(ane_client_env):
    subprocess.run([sys.executable, "-c", CLIENT], env=ane_client_env, check=True)

def test_without():
    assert subprocess.run([sys.executable, "-c", CLIENT], capture_output=True).returncode != 0
""",
    )
    result.assert_outcomes(passed=2)


def test_mistake_of_a_client_fails_its_test_in_checking_mode(pytester: pytest.Pytester, example: Path) -> None:
    # Planes of the output so far apart that the last are written behind its buffer, into that of an input.
    words = [command(), "patch", example, "--task", "1", "--set", "DstPlaneStride=0x800"]
    subprocess.run([*words, "-o", pytester.path / "bad.anec"], check=True, stdout=subprocess.DEVNULL)
    result = outcomes(
        pytester,
        """
from ane.pytest_plugin import command

def run(environment):
    device = "aned:" + environment["ANE_SHIM_SOCKET"]
    subprocess.run([command(), "run", "bad.anec", "--device", device], check=True)

@pytest.mark.ane_options(check=True)
def test_it(ane_client_env):
    run(ane_client_env)

def test_without(ane_client_env):
    run(ane_client_env)
""",
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["checking mode found:", "transfer leaves mapping of *task 1*"])


def test_mistake_of_a_test_that_closes_its_device_fails_it_in_checking_mode(
    pytester: pytest.Pytester, example: Path
) -> None:
    words = [command(), "patch", example, "--task", "1", "--set", "DstPlaneStride=0x800"]
    subprocess.run([*words, "-o", pytester.path / "bad.anec"], check=True, stdout=subprocess.DEVNULL)
    result = outcomes(
        pytester,
        """
def run(device):
    x = numpy.ones((16, 1, 32), numpy.float16)
    device.load("bad.anec").run(input0=x, input1=x)

@pytest.mark.ane_options(check=True)
def test_block(ane_device):
    with ane_device as device:
        run(device)

@pytest.mark.ane_options(check=True)
def test_close(ane_device):
    run(ane_device)
    ane_device.close()

def test_without(ane_device):
    with ane_device as device:
        run(device)
""",
    )
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["checking mode found:", "transfer leaves mapping of *task 1*"])


def test_daemon_that_dies_fails_the_test(pytester: pytest.Pytester) -> None:
    result = outcomes(
        pytester,
        """
import os, signal

def test_it(ane_client_env):
    [daemon] = map(int, open(f"/proc/self/task/{os.getpid()}/children").read().split())
    os.kill(daemon, signal.SIGSYS)
""",
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*`ane daemon` was ended by signal 31: *"])


def test_daemon_that_does_not_end_is_killed_and_told(pytester: pytest.Pytester) -> None:
    result = outcomes(
        pytester,
        """
import os, signal
import ane.pytest_plugin

def test_it(ane_client_env):
    ane.pytest_plugin._PATIENCE = 0.2
    [daemon] = map(int, open(f"/proc/self/task/{os.getpid()}/children").read().split())
    os.kill(daemon, signal.SIGSTOP)
    print("the daemon is", daemon)
    assert False, "its own error"
""",
    )
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["*its own error*"])
    result.stdout.fnmatch_lines(["*did not end within 0.2 s and was killed: *"])
    daemon = next(line.split()[-1] for line in result.outlines if line.startswith("the daemon is"))
    assert not Path("/proc", daemon).exists()


def test_marks_are_listed(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_subprocess("--markers").stdout.str()
    for mark in ("ane_chip", "ane_numerics", "ane_options"):
        assert f"@pytest.mark.{mark}" in listed


def test_plugin_costs_whoever_does_not_use_it_no_import_of_the_package() -> None:
    script = "import ane.pytest_plugin, sys; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
