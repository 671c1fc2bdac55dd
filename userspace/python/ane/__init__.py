"""A virtual Apple Neural Engine: run compiled programs, look into them, build them, without the engine.

The device is in this process; nothing has to be started, and nothing needs root.

>>> import ane, numpy
>>> graph = ane.Graph()
>>> x = graph.input("x", (64, 1, 1))
>>> graph.output("y", graph.softmax(x))
>>> program = graph.build()
>>> outputs = program.run(x=numpy.zeros((1, 64, 1, 1), numpy.float16))
>>> float(outputs["y"].sum())
1.0

A compiled program, ``.hwx`` or ``.anec``, comes from a file, and says what it is made of:

>>> program = ane.load("examples/add_relu.anec")
>>> [surface.name for surface in program.inputs]
['input0', 'input1']
>>> program.tasks[0].summary
'planar a + b; 16x1x32 -> 16x1x32 (CxHxW)'
>>> program.tasks[0]["InDim"]["width"]
32

Arrays are ``float16``, in the order N, C, H, W or without axes of length 1. Errors are exceptions that say which task,
which register and which bits are to blame, and what to try (:class:`ane.RunError`).
"""

from __future__ import annotations

from ._ane import __version__
from ._data import (
    Bar,
    Base,
    ComparedLayer,
    Context,
    Counters,
    Field,
    Layer,
    MappedRange,
    Memory,
    MemoryMap,
    Operand,
    Problem,
    Refusal,
    Register,
    Surface,
    Task,
    TaskMemory,
)
from ._device import Device, default_device
from ._errors import (
    BuildError,
    BusyError,
    DeviceError,
    Error,
    FaultError,
    ForkError,
    FormatError,
    HangError,
    ModelError,
    RefusedError,
    RunError,
)
from ._graph import Graph, Tensor
from ._program import Program, Tasks, compare, load, loads
from ._trace import Event, Trace

__all__ = [
    "Bar",
    "Base",
    "BuildError",
    "BusyError",
    "ComparedLayer",
    "Context",
    "Counters",
    "Device",
    "DeviceError",
    "Error",
    "Event",
    "FaultError",
    "Field",
    "ForkError",
    "FormatError",
    "Graph",
    "HangError",
    "Layer",
    "MappedRange",
    "Memory",
    "MemoryMap",
    "ModelError",
    "Operand",
    "Problem",
    "Program",
    "Refusal",
    "RefusedError",
    "Register",
    "RunError",
    "Surface",
    "Task",
    "TaskMemory",
    "Tasks",
    "Tensor",
    "Trace",
    "__version__",
    "compare",
    "default_device",
    "load",
    "loads",
]
