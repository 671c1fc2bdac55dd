"""A plugin for pytest: a virtual Neural Engine for tests, without a Mac.

Installed with the package; nothing has to be named. It gives two fixtures,

* ``ane_device``: an :class:`ane.Device` of the test's own, made as its marks say;
* ``ane_client_env``: the environment in which unmodified clients of ``/dev/accel/accel0`` find an engine;

and three marks: ``ane_chip("t6000")``, ``ane_numerics("exact")`` and ``ane_options(strict=True, check=True)``. A mark with
several values runs the test once with each: ``ane_numerics("m1", "exact")``.

A test that fails because the engine refuses a task gets a section that names the task, the register and the bits. A test
whose device is in checking mode (``ane_options(check=True)``) fails if it, or a client in ``ane_client_env``, made mistakes
that silicon lets pass. A test fails as well if its daemon ended with an error or by a signal.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Generator, List, Optional

import pytest

if TYPE_CHECKING:
    from ._device import Device

_MARKS = (
    "ane_chip(name, ...): the chip of the test's virtual Neural Engine, t8103 by default; several run the test with each",
    "ane_numerics(name, ...): m1 (default) or exact; several run the test with each",
    "ane_options(**options): other options of ane.Device for the test's engine, such as strict=True or check=True",
)

_NODE = "accel0"

# How `ane daemon` begins each line about a finding of checking mode. It writes them when it ends.
_FINDING = "ane: check: "

# Seconds that a daemon has to end after SIGTERM.
_PATIENCE = 10.0


def pytest_configure(config: pytest.Config) -> None:
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in ("ane_chip", "ane_numerics"):
        mark = metafunc.definition.get_closest_marker(name)
        if mark and len(mark.args) > 1:
            metafunc.fixturenames.append(f"_{name}")
            metafunc.parametrize(f"_{name}", mark.args, indirect=True)


@pytest.fixture
def _ane_chip(request: pytest.FixtureRequest) -> Optional[str]:
    return _value(request, "ane_chip")


@pytest.fixture
def _ane_numerics(request: pytest.FixtureRequest) -> Optional[str]:
    return _value(request, "ane_numerics")


def _value(request: pytest.FixtureRequest, name: str) -> Optional[str]:
    """What the mark says, or the value of this round where it says several."""
    given = getattr(request, "param", None)
    if given is None:
        mark = request.node.get_closest_marker(name)
        given = mark.args[0] if mark and mark.args else None
    return None if given is None else str(given)


def _options(request: pytest.FixtureRequest) -> Dict[str, Any]:
    mark = request.node.get_closest_marker("ane_options")
    return dict(mark.kwargs) if mark else {}


@pytest.fixture
def ane_device(
    request: pytest.FixtureRequest, _ane_chip: Optional[str], _ane_numerics: Optional[str]
) -> Generator[Device, None, None]:
    """A virtual Neural Engine in this process, as the test's marks say."""
    from ._device import Device

    options = _options(request)
    findings: List[str] = []

    def close(self: Device) -> None:
        """The test may close it; what was found until then is not lost with it."""
        try:
            if options.get("check") and not self.is_closed:
                findings.extend(self.findings())
        finally:
            Device.close(self)

    tested = type("Tested", (Device,), {"close": close})
    device: Device = tested("embedded", **{"chip": _ane_chip, "numerics": _ane_numerics, **options})
    yield device
    device.close()
    _fail_for(findings)


@pytest.fixture
def ane_client_env(
    request: pytest.FixtureRequest, _ane_chip: Optional[str], _ane_numerics: Optional[str]
) -> Generator[Dict[str, str], None, None]:
    """The environment for clients of ``/dev/accel/accel0``: they see an engine of the test's own.

    ``subprocess.run([client, ...], env=ane_client_env)``. The engine is a daemon that ends with the test.
    """
    options = _options(request)
    words: List[str] = []
    for name, value in {"chip": _ane_chip, "numerics": _ane_numerics, **options}.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                words.append(f"--{name}" if one is True else f"--{name}={one}")
    # The path of a socket has at most 107 bytes, so that pytest's own folders may be too deep.
    folder = Path(tempfile.mkdtemp(prefix="ane-"))
    try:
        served, nodes = folder / "aned.sock", folder / "accel"
        nodes.mkdir()
        (nodes / _NODE).touch()
        with (folder / "log").open("wb") as log:
            daemon = subprocess.Popen([command(), "daemon", "--socket-path", served, *words], stdout=log, stderr=log)
        try:
            _wait_for(served, daemon, folder / "log")
            library = os.fspath(shim())
            preloaded = os.environ.get("LD_PRELOAD")
            yield {
                **os.environ,
                "LD_PRELOAD": f"{library}:{preloaded}" if preloaded else library,
                "ANE_SHIM_SOCKET": os.fspath(served),
                "ANE_SHIM_NODE": _NODE,
                "ANE_SHIM_DEV": os.fspath(nodes),
            }
        finally:
            why = _end(daemon)
        text = (folder / "log").read_text(errors="replace")
        if why:
            pytest.fail(f"`ane daemon` {why}: {text}", pytrace=False)
        _fail_for(_findings(text))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end(daemon: subprocess.Popen[bytes]) -> Optional[str]:
    """Ends a daemon; how it ended, if that was not well."""
    daemon.terminate()
    try:
        code = daemon.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
        return f"did not end within {_PATIENCE:g} s and was killed"
    if code < 0:
        return f"was ended by signal {-code}"
    return f"ended with code {code}" if code > 0 else None


def _findings(log: str) -> List[str]:
    """The findings of checking mode in what a daemon wrote."""
    return [line[len(_FINDING) :] for line in log.splitlines() if line.startswith(_FINDING)]


def _fail_for(findings: List[str]) -> None:
    if findings:
        pytest.fail("checking mode found:\n" + "\n".join(findings), pytrace=False)


def _wait_for(path: Path, daemon: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 10
    while not _listens(path):
        if daemon.poll() is not None or time.monotonic() > end:
            pytest.fail(f"`ane daemon` does not serve: {log.read_text(errors='replace')}", pytrace=False)
        time.sleep(0.005)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        try:
            client.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            # Somebody is there, and wants another kind of socket.
            return True
    return True


def command() -> Path:
    """The command ``ane`` of this package."""
    return _installed("bin/ane")


def shim() -> Path:
    """The library that stands in for ``/dev/accel`` in the clients that preload it."""
    return _installed("ane/libane_drm_shim.so")


def _installed(ending: str) -> Path:
    from importlib.metadata import distribution

    for file in distribution("ane").files or []:
        if file.as_posix().endswith(ending):
            path = Path(os.fspath(file.locate())).resolve()
            if path.is_file():
                return path
    raise FileNotFoundError(f"the package ane was installed without {ending}; install its wheel again")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    error = call.excinfo.value if call.excinfo else None
    # Whoever never used the package has no error of it.
    errors = sys.modules.get("ane._errors")
    if report.failed and errors is not None and isinstance(error, errors.RunError):
        report.sections.append(("virtual Neural Engine", "\n".join(_reason(error))))
    return report


def _reason(error: Any) -> List[str]:
    lines = [error.message]
    for what, value in (("task", error.task), ("register", error.register), ("field", error.field)):
        if value is not None:
            lines.append(f"{what}: {value}")
    for what, value in (("address", error.address), ("bits", error.bits), ("value", error.value)):
        if value is not None:
            lines.append(f"{what}: {value:#x}")
    if error.hint:
        lines.append(f"try: {error.hint}")
    return lines
