"""What the engine did, and when."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Dict, Mapping, Optional, Tuple, Type, Union

from . import _ane, _files
from ._data import Record

_MODEL = 2
"""The number of the process, in the file, whose time is virtual."""


class Event(Record):
    """Something that the engine did."""

    row: str
    """Who did it: a queue, a DMA circuit, an engine; or a part of the modelled chip."""
    name: str
    """What it was."""
    start: float
    """When it began, in microseconds."""
    duration: float
    """How long it took, in microseconds; 0 of what takes no time."""
    is_virtual: bool
    """True if the time is that of the timing model, and not this machine's."""
    task: Optional[int]
    """The task, where it belongs to one."""
    details: Mapping[str, Any]
    """Its numbers: bytes, multiplications, cycles."""


class Trace:
    """What a device did while a ``with`` block ran; made by :meth:`ane.Device.trace`."""

    def __init__(self, device: _ane.Device) -> None:
        self._device = device
        self._file: Optional[bytes] = None
        self._events: Optional[Tuple[Event, ...]] = None

    def __enter__(self) -> Trace:
        self._device.start_trace()
        # What was noted before is no part of it.
        self._file, self._events = None, None
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._file = self._device.stop_trace()

    @property
    def chrome(self) -> bytes:
        """The timeline as a Chrome trace, which Perfetto opens."""
        if self._file is None:
            raise RuntimeError("the trace is complete when its `with` block ends")
        return self._file

    @property
    def events(self) -> Tuple[Event, ...]:
        """What happened, in the order in which it ended."""
        if self._events is None:
            self._events = _events(self.chrome)
        return self._events

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the timeline to a file, for https://ui.perfetto.dev. A file that exists is replaced."""
        _files.save(path, self.chrome)

    def __repr__(self) -> str:
        return "<ane.Trace, not complete>" if self._file is None else f"<ane.Trace of {len(self.events)} events>"

    def _repr_html_(self) -> str:
        from ._html import trace

        return trace(self)


def _events(file: bytes) -> Tuple[Event, ...]:
    rows: Dict[Tuple[int, int], str] = {}
    events = []
    for told in json.loads(file)["traceEvents"]:
        place = (told["pid"], told["tid"])
        if told["ph"] == "M":
            if told["name"] == "thread_name":
                rows[place] = told["args"]["name"]
            continue
        details = told.get("args", {})
        # A request is two events in the file; its end is one of its own here, too.
        name = told["name"] if told["ph"] != "E" else "end"
        events.append(
            Event(
                row=rows.get(place, ""),
                name=name,
                start=told["ts"],
                duration=told.get("dur", 0.0),
                is_virtual=place[0] == _MODEL,
                task=details.get("task"),
                details=details,
            )
        )
    return tuple(events)
