"""What programs and devices tell, as data.

All of these are plain and immutable; none refers to a device.
"""

from __future__ import annotations

from typing import List, Mapping, NoReturn, Optional, Tuple, cast

Json = Mapping[str, object]
Shape = Tuple[int, int, int, int]


class Record:
    """A plain immutable object with named parts. Cheaper to import than a dataclass, which counts for a command."""

    def __init__(self, **parts: object) -> None:
        self.__dict__.update(parts)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        short = self._short()
        if short is not None:
            return f"<ane.{type(self).__name__} {short}>"
        parts = ", ".join(f"{name}={part!r}" for name, part in self.__dict__.items())
        return f"{type(self).__name__}({parts})"


    def _short(self) -> Optional[str]:
        """One line, of a record with very many parts."""
        return None


class Surface(Record):
    """A tensor that a client binds: an input or an output of a program."""

    name: str
    """The name by which arrays are given and taken. A number is added to a name that comes twice."""
    direction: str
    """``input`` or ``output``."""
    bar: int
    """The base address that carries it."""
    element: str
    """What an element is; the engine knows ``fp16``."""
    shape: Shape
    """Elements along batch, channel, height and width."""
    array: Tuple[int, ...]
    """The shape of its arrays: the same, or for a model that was compiled the shape that the model has."""
    strides: Shape
    """Bytes from one element to the next along the same axes, in the device's memory."""
    buffer_bytes: int
    """Bytes of the buffer that it needs."""


class Bar(Record):
    """A base address: descriptors hold no addresses, they name these."""

    index: int
    role: str
    """What has to be there, in words."""
    bytes: int
    """Bytes that have to be there."""
    link: Optional[str]
    """The address at which the object was linked; ``None`` in an .anec."""


class Field(Record):
    """A field of a register."""

    name: str
    bits: str
    """Its bits, as specifications print them, such as ``12:8``."""
    value: int
    """The number in the field."""
    shown: str
    """The same for people: the name of a code, a number of bytes, a floating-point number."""
    meaning: str
    """What the field means."""
    value_meaning: Optional[str]
    """What this value means, where the field is an enumeration."""
    grade: str
    """How well that is established: measured, derived, predicted or chosen."""


class Register(Record):
    """A register as a task writes it, or a word of the task's header."""

    name: Optional[str]
    """The hardware's name; ``None`` where no source knows a register."""
    block: str
    """The block that it belongs to."""
    index: Optional[int]
    """Which one, of an array of registers."""
    address: int
    """Record address; of a header word, the byte offset in the descriptor."""
    value: int
    was: Optional[int]
    """What the task before left there, if that is something else."""
    fields: Tuple[Field, ...]
    unknown_bits: int
    """Bits that are set and that no source explains."""
    meaning: str
    grade: str
    source: str
    """Where it is known from; docs/sources.md says what the abbreviations stand for."""

    def _short(self) -> str:
        name = self.name or f"unknown at {self.address:#x}"
        index = "" if self.index is None else f"[{self.index}]"
        told = [f"{field.name}={field.shown}" for field in self.fields if field.value]
        return f"{name}{index} = {self.value:#010x}" + (": " + ", ".join(told) if told else "")

    def __getitem__(self, name: str) -> int:
        """The number in a field, by the field's name."""
        for field in self.fields:
            if field.name == name:
                return field.value
        raise KeyError(name)


class Base(Record):
    """A base address that a task uses."""

    what: str
    """For what: source 1, source 2, result or coefficients."""
    bar: int
    role: str
    """What the program says is there."""


class Layer(Record):
    """A layer of the model that a program was compiled from."""

    operation: str
    name: str
    """What the model calls it."""
    shape: Tuple[int, ...]
    """The shape of its result."""
    tasks: range
    """The tasks that compute it; none, where it costs nothing."""


class Task(Record):
    """One pass of the engine."""

    index: int
    offset: int
    """Byte offset of its descriptor in the task stream."""
    bytes: int
    """Length of the descriptor."""
    summary: str
    """What it does, in one line."""
    changed: Optional[int]
    """Registers that hold another value than in the task before; ``None`` for the first task."""
    layer: Optional[Layer]
    """The layer of the model that it belongs to; ``None`` where the program was not compiled from a model."""
    bases: Tuple[Base, ...]
    header: Tuple[Register, ...]
    registers: Tuple[Register, ...]
    """What it writes, in the order of the descriptor."""

    def _short(self) -> str:
        of = "" if self.layer is None else f" ({self.layer.operation} {self.layer.name!r})"
        return f"{self.index}: {self.summary}{of}"

    def _repr_html_(self) -> str:
        from ._html import task

        return task(self)

    def __getitem__(self, name: str) -> Register:
        """The register of that name that it writes; the first one, of an array."""
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(name)


class Problem(Record):
    """A layer or an input of a model that cannot be mapped."""

    operation: str
    name: str
    """What the model calls it, or its result."""
    shapes: Tuple[Tuple[int, ...], ...]
    """Shapes of its operands, as far as they are known."""
    reason: str
    hint: Optional[str]
    """What to try, if that is in the caller's hands."""


class ComparedLayer(Record):
    """A layer of a model on the engine, beside double precision."""

    operation: str
    name: str
    shape: Tuple[int, ...]
    largest: float
    """The largest element in double precision."""
    so_far: float
    """The largest difference after all layers so far."""
    own: float
    """The largest difference of this layer alone, with the operands that the engine had."""
    source: str
    """Where most of that comes from, such as ``fp16 store``; ``none`` where there is no difference."""


class Refusal(Record):
    """A task that the engine does not execute, found without running anything."""

    task: int
    register: Optional[str]
    field: Optional[str]
    address: int
    bits: int
    value: int
    category: str
    why: str
    hint: str


class Operand(Record):
    """Where an operand of a task lies on its way."""

    name: str
    bytes: int
    place: str
    """Where it lies."""
    why: str
    """What becomes of it, and why."""
    heat: Optional[Tuple[int, ...]]
    """Granules of 16 bytes that each bank gives in one walk over it; ``None`` of what never is in the pool."""


class TaskMemory(Record):
    """What a task does with the chip's memory, and how long it would take."""

    index: int
    engine: str
    operands: Tuple[Operand, ...]
    conflicts: int
    """Turns of banks beyond the least."""
    stalls: int
    """Cycles for which the array waits for banks."""
    fill: int
    read: int
    array: int
    write: int
    cycles: int
    """Cycles of the task, behind the one before it."""


class Memory(Record):
    """A program on the memory of a chip, by the timing model: nothing is run for it."""

    chip: str
    tasks: Tuple[TaskMemory, ...]
    heat: Tuple[int, ...]
    """Granules by bank, of all operands together."""
    cycles: int
    nanoseconds: int
    """A request from call to return, in virtual time."""
    damage: Optional[str]
    """Why it ends before the last task."""

    def _repr_html_(self) -> str:
        from ._html import memory

        return memory(self)


class Counters(Record):
    """What the engine counted since its last reset."""

    requests: int
    tasks: int
    bytes_read: int
    bytes_written: int
    cycles: int
    """Virtual time, in cycles of the engine's clock."""
    virtual_nanoseconds: int
    """The same in nanoseconds."""
    compute_cycles: int
    kernel_stall_cycles: int
    bank_stall_cycles: int
    bank_conflicts: int
    inferred: Optional[str]
    """Behaviour that no source establishes and that some program needed."""


class MappedRange(Record):
    """A mapping of a context, by the driver's books."""

    address: int
    """First device address."""
    bytes: int
    usage: str
    """What it is for."""


class Context(Record):
    """A context of the device, and what it has mapped."""

    name: str
    stream: int
    processes: Tuple[int, ...]
    mappings: Tuple[MappedRange, ...]


class MemoryMap(Record):
    """What each context of a device has mapped where."""

    contexts: Tuple[Context, ...]

    def _repr_html_(self) -> str:
        from ._html import memory_map

        return memory_map(self)


def surface(told: Json) -> Surface:
    return Surface(**{**told, "shape": _numbers(told["shape"]), "array": _numbers(told["array"]), "strides": _numbers(told["strides"])})


def bar(told: Json) -> Bar:
    return Bar(**{"link": None, **told})


def layer(told: Json) -> Layer:
    start, end = _numbers(told["tasks"])
    return Layer(**{**told, "shape": _numbers(told["shape"]), "tasks": range(start, end)})


def task(told: Json, layer: Optional[Layer]) -> Task:
    parts = {
        "layer": layer,
        "bases": tuple(Base(**base) for base in _list(told["bases"])),
        "header": tuple(map(register, _list(told["header"]))),
        "registers": tuple(map(register, _list(told["registers"]))),
    }
    return Task(**{**told, **parts})


def register(told: Json) -> Register:
    return Register(**{**told, "fields": tuple(Field(**field) for field in _list(told["fields"]))})


def problem(told: Json) -> Problem:
    return Problem(**{**told, "shapes": tuple(map(_numbers, _list(told["shapes"])))})


def compared(told: Json) -> ComparedLayer:
    numbers = ("largest", "so_far", "own")
    # JSON has no infinity.
    return ComparedLayer(
        **{
            **told,
            "shape": _numbers(told["shape"]),
            **{name: float("inf") if told[name] is None else told[name] for name in numbers},
        }
    )


def refusal(told: Json) -> Refusal:
    return Refusal(**told)


def memory(told: Json) -> Memory:
    return Memory(
        chip=told["chip"],
        tasks=tuple(map(_task_memory, _list(told["tasks"]))),
        heat=_numbers(told["heat"]),
        cycles=told["cycles"],
        nanoseconds=told["nanoseconds"],
        damage=told["damage"],
    )


def _task_memory(told: Json) -> TaskMemory:
    def operand(told: Json) -> Operand:
        heat = told["heat"]
        return Operand(**{**told, "heat": None if heat is None else _numbers(heat)})

    names = ("index", "conflicts", "stalls", "fill", "read", "array", "write", "cycles")
    counts = {name: told[name] for name in names}
    return TaskMemory(engine=told["class"], operands=tuple(map(operand, _list(told["operands"]))), **counts)


def counters(told: Json) -> Counters:
    return Counters(**told)


def memory_map(told: Json) -> MemoryMap:
    def context(told: Json) -> Context:
        return Context(
            name=told["name"],
            stream=told["stream"],
            processes=_numbers(told["processes"]),
            mappings=tuple(
                MappedRange(address=one["address"], bytes=one["bytes"], usage=one["usage"])
                for one in _list(told["mappings"])
            ),
        )

    return MemoryMap(contexts=tuple(map(context, _list(told["contexts"]))))


def _list(told: object) -> List[Json]:
    return cast(List[Json], told)


def _numbers(told: object) -> Tuple[int, ...]:
    return tuple(cast(List[int], told))
