"""Devices."""

from __future__ import annotations

import json
import os
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, cast

from . import _ane, _data
from ._trace import Trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._program import Path, Program

_default: Optional[Tuple[int, "Device"]] = None

# A signal handler may ask for the device while its own thread makes one.
_making = threading.RLock()


def _forked() -> None:
    """A child of fork has a lock of its own: a thread that is not there may hold its parent's."""
    global _making
    _making = threading.RLock()


os.register_at_fork(after_in_child=_forked)


def default_device() -> Device:
    """The device that programs run on if they are given none: made with the first of them, one for each process.

    It is embedded, unless the variable ``ANE_DEVICE`` says where it is.
    """
    global _default
    process = os.getpid()
    with _making:
        # A child of fork makes its own: its parent's threads are not there.
        if _default is None or _default[0] != process or _default[1].is_closed:
            _default = (process, Device())
        return _default[1]


class Device:
    """A virtual Neural Engine, with its driver.

    :param location: ``embedded`` (the default): in this process, made now and gone with the last program on it.
        ``aned`` or ``aned:PATH``: behind a daemon's socket. ``vhost-user:PATH``, ``vfio:BDF`` or a device node's path.
        Without it, the variable ``ANE_DEVICE`` is asked.
    :param chip: ``t8103`` (M1, the default), ``t6000``, ``t6001``, ``t6002`` or ``t8112``.
    :param numerics: how the convolution array adds up. ``m1``, the default, does as an M1: each product is rounded to a
        multiple of 2^-16, the sums are exact. ``exact`` has products and sums in double precision, as a reference. Both
        are infinite from 2^15 on and round the result to a half; all else is the same in both (docs/numerics.md).
    :param hang: what becomes of a task that would hang the chip: ``deadline`` (it hangs until its queue is aborted, the
        default) or ``report`` (it fails at once).
    :param strict: refuse tasks that need behaviour which no source establishes.
    :param check: note programming mistakes that silicon lets pass (:meth:`findings`).
    :param threads: threads that a large pass may use; one for each processor by default. Results do not depend on it.
    :param inject: faults to make, such as ``"translation-fault:after=3"``.

    >>> import ane
    >>> with ane.Device(chip="t8103", numerics="exact") as device:
    ...     program = device.load("examples/add_relu.anec")
    ...     device.chip, device.numerics
    ('t8103', 'exact')
    """

    def __init__(
        self,
        location: Optional[str] = None,
        *,
        chip: Optional[str] = None,
        numerics: Optional[str] = None,
        hang: Optional[str] = None,
        strict: bool = False,
        check: bool = False,
        threads: Optional[int] = None,
        inject: Sequence[str] = (),
    ) -> None:
        self._open = _ane.Device(
            location=location,
            chip=chip,
            numerics=numerics,
            hang=hang,
            strict=strict,
            check=check,
            threads=threads,
            inject=list(inject),
        )

    def load(
        self,
        path: Path,
        *,
        dims: Optional[Mapping[str, int]] = None,
        bind: Optional[Mapping[str, ArrayLike]] = None,
        cut: Iterable[str] = (),
    ) -> Program:
        """The program in a file, to be run on this device; see :func:`ane.load`."""
        from ._program import load

        return load(path, dims=dims, bind=bind, cut=cut, device=self)

    @property
    def location(self) -> str:
        """Where it is, in the words of ``ane --device``."""
        return self._open.location

    @property
    def chip(self) -> str:
        """The chip that the driver sees."""
        return self._open.chip

    @property
    def numerics(self) -> Optional[str]:
        """How its array computes; ``None`` of a device in another process."""
        return self._open.numerics

    @property
    def is_closed(self) -> bool:
        """True once it was closed."""
        return self._open.is_closed

    def close(self) -> None:
        """Closes it. Programs that ran on it keep it until they are gone; nothing new can be asked of it."""
        self._open.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def statistics(self) -> Dict[str, int]:
        """What the driver counted, by name: for the whole device, whoever used it."""
        return cast(Dict[str, int], json.loads(self._open.statistics()))

    def counters(self) -> _data.Counters:
        """What the engine counted, and the virtual time that it took. A device in this process only."""
        return _data.counters(json.loads(self._open.counters()))

    def findings(self) -> List[str]:
        """What checking mode found since it was asked last. A device in this process only."""
        return self._open.findings()

    def memory_map(self) -> _data.MemoryMap:
        """What each context has mapped where, by the driver's books."""
        return _data.memory_map(json.loads(self._open.memory_map()))

    def trace(self) -> Trace:
        """Notes what the engine does, and when, while the ``with`` block runs. A device in this process only.

        >>> import ane, numpy
        >>> device = ane.Device()
        >>> program = device.load("examples/add_relu.anec")
        >>> x = numpy.ones((1, 16, 1, 32), numpy.float16)
        >>> with device.trace() as trace:
        ...     _ = program.run(input0=x, input1=x)
        >>> [event.name for event in trace.events if event.row == "planar engine"]
        ['planar binary']
        """
        return Trace(self._open)

    def __repr__(self) -> str:
        return f"ane.Device({self.location!r})"
