"""The pytest plugin, as somebody's own tests use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def test_marks_are_listed(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_subprocess("--markers").stdout.str()
    for mark in ("ane_chip", "ane_numerics", "ane_options"):
        assert f"@pytest.mark.{mark}" in listed


def test_plugin_costs_whoever_does_not_use_it_no_import_of_the_package() -> None:
    script = "import ane.pytest_plugin, sys; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
