"""Programs."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from operator import index
from typing import (
    TYPE_CHECKING,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
    cast,
    overload,
)

from . import _ane, _data, _files
from ._device import Device, default_device

if TYPE_CHECKING:
    from numpy import float16, float64
    from numpy.typing import ArrayLike, NDArray

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
"""What names a file, as for ``open``."""

_CHUNK = 16
"""Tasks that are described at once: one of them is rarely wanted alone, and all can be very many."""


def load(
    path: Path,
    *,
    dims: Optional[Mapping[str, int]] = None,
    bind: Optional[Mapping[str, ArrayLike]] = None,
    cut: Iterable[str] = (),
    device: Optional[Device] = None,
) -> Program:
    """The program in a file: ``.hwx``, as Apple's compiler writes it, ``.anec``, or a model, which is compiled: ONNX,
    ``.mlpackage`` or the text of a MIL program.

    Arrays of a model have the shapes that they have there; :meth:`Program.save` keeps them.

    :param dims: numbers for the extents that a model leaves open, by their names: ``dims={"batch": 1}`` for ONNX,
        ``dims={"image.0": 1}`` for the first axis of a Core ML model's input.
    :param bind: values for inputs of a model, which are constants then, such as those that decide shapes.
    :param cut: results of a model's layers that become inputs, such as the embeddings of tokens. Layers before them that
        nothing else reads are left out.
    :param device: the device to run it on; without it, :func:`default_device` once it is run.
    :raises ModelError: if a model cannot be mapped; its ``problems`` say what of it.
    :raises FormatError: if the file is something else, or damaged. The message says where.
    :raises OSError: if it cannot be read.

    >>> import ane
    >>> ane.load("examples/add_relu.anec")
    <ane.Program 'examples/add_relu.anec': 2 tasks, input0[1, 16, 1, 32], input1[1, 16, 1, 32] -> output0[1, 16, 1, 32]>
    """
    return Program(_ane.Program.open(os.fsdecode(path), _decided(dims, bind, cut)), device)


def loads(
    file: bytes,
    *,
    name: str = "bytes",
    dims: Optional[Mapping[str, int]] = None,
    bind: Optional[Mapping[str, ArrayLike]] = None,
    cut: Iterable[str] = (),
    device: Optional[Device] = None,
) -> Program:
    """The program in the bytes of a file; ``name`` is what messages call it. The rest is as for :func:`load`."""
    return Program(_ane.Program.read(file, name, _decided(dims, bind, cut)), device)


def compare(
    path: Path,
    arrays: Optional[Mapping[str, ArrayLike]] = None,
    *,
    dims: Optional[Mapping[str, int]] = None,
    bind: Optional[Mapping[str, ArrayLike]] = None,
    cut: Iterable[str] = (),
    seed: int = 0,
    device: Optional[Device] = None,
) -> Tuple[_data.ComparedLayer, ...]:
    """Runs a model on the engine and in double precision, and says of each layer how far the two are apart.

    :param arrays: values of inputs, by name; the others are random between -1 and 1.
    :param seed: seed of the random values.
    :raises TypeError: for an array of an input that the model does not have.
    :raises ValueError: for an array of another number of elements.

    The other parameters and errors are those of :func:`load`.

    >>> import ane
    >>> layers = ane.compare("tests/models/perceptron.mlpackage")
    >>> layers[0].operation, layers[0].own < 0.001
    ('linear', True)
    """
    told = _ane.compare((device or default_device())._open, os.fsdecode(path), _decided(dims, bind, cut), _doubles(arrays), seed)
    return tuple(map(_data.compared, json.loads(told)))


def _decided(
    dims: Optional[Mapping[str, int]], bind: Optional[Mapping[str, ArrayLike]], cut: Iterable[str]
) -> _ane.Decided:
    if isinstance(cut, str):
        raise TypeError(f"cut is {cut!r}; wanted are names in a list: cut=[{cut!r}]")
    extents = {name: index(extent) for name, extent in (dims or {}).items()}
    for name, extent in extents.items():
        if extent < 1:
            raise ValueError(f"extent {name!r} is {extent}; wanted is 1 or more")
    return _ane.Decided(extents, _doubles(bind), set(cut))


def _doubles(arrays: Optional[Mapping[str, ArrayLike]]) -> Dict[str, NDArray[float64]]:
    if not arrays:
        return {}
    import numpy

    # Whole numbers and halves are doubles too; complex numbers and texts are not.
    return {name: numpy.asarray(array).astype(numpy.float64, casting="same_kind") for name, array in arrays.items()}


def _restored(file: bytes, name: str) -> Program:
    """A program that was pickled."""
    return loads(file, name=name)


class Tasks(Sequence[_data.Task]):
    """The tasks of a program, described when they are looked at."""

    def __init__(self, program: _ane.Program, layers: Tuple[_data.Layer, ...]) -> None:
        self._program = program
        self._layers = layers
        self._ends = [layer.tasks.stop for layer in layers]
        self._known: Dict[int, _data.Task] = {}

    def __len__(self) -> int:
        return self._program.task_count

    @overload
    def __getitem__(self, index: int) -> _data.Task: ...

    @overload
    def __getitem__(self, index: slice) -> List[_data.Task]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[_data.Task, List[_data.Task]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"task {index} of a program with {count}")
        index %= count
        if index not in self._known:
            start = index - index % _CHUNK
            # Only the last few are kept: a program may have 65535.
            self._known = {
                told["index"]: _data.task(told, self._layer(told["index"]))
                for told in json.loads(self._program.tasks(start, start + _CHUNK))
            }
        if index not in self._known:
            raise IndexError(f"task {index} cannot be described: its descriptor is damaged")
        return self._known[index]

    def _layer(self, task: int) -> Optional[_data.Layer]:
        layer = bisect_right(self._ends, task)
        return self._layers[layer] if layer < len(self._layers) and task in self._layers[layer].tasks else None

    def __iter__(self) -> Iterator[_data.Task]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} tasks>"


class Program:
    """A compiled program, ready to be looked into and to be run. Made by :func:`load` and :meth:`Graph.build`.

    It can be pickled, with everything but its device: where it arrives it runs on :func:`default_device`.
    """

    def __init__(self, program: _ane.Program, device: Optional[Device] = None) -> None:
        self._program = program
        self._device = device
        self._session: Optional[Tuple[int, _ane.Session]] = None
        self._report = cast(Dict[str, object], json.loads(program.report))
        layers = cast(List[_data.Json], self._report.get("layers", []))
        self._layers = tuple(map(_data.layer, layers))
        self._tasks = Tasks(program, self._layers)

    @property
    def name(self) -> str:
        """The file that it came in."""
        return self._program.name

    @property
    def container(self) -> str:
        """The kind of file: ``HWX`` or ``ANEC``."""
        return cast(str, self._report["container"])

    @property
    def inputs(self) -> Tuple[_data.Surface, ...]:
        """What a client fills, by rising base address."""
        return self._surfaces("inputs")

    @property
    def outputs(self) -> Tuple[_data.Surface, ...]:
        """What a client reads, by rising base address."""
        return self._surfaces("outputs")

    @property
    def bars(self) -> Tuple[_data.Bar, ...]:
        """The base addresses in use."""
        return tuple(map(_data.bar, cast(List[_data.Json], self._report["bars"])))

    @property
    def tasks(self) -> Tasks:
        """The tasks, in the order in which the engine runs them.

        >>> import ane
        >>> task = ane.load("examples/add_relu.anec").tasks[0]
        >>> register = task["PECfg"]
        >>> [(field.name, field.shown) for field in register.fields if field.name == "operation"]
        [('operation', 'a + b')]
        >>> register.grade
        'derived'
        """
        return self._tasks

    @property
    def layers(self) -> Tuple[_data.Layer, ...]:
        """The layers of the model that it was compiled from, with their tasks; none of any other program.

        Layers that the engine does in one pass are one.

        >>> import ane
        >>> program = ane.load("tests/models/perceptron.mlpackage")
        >>> [layer.operation for layer in program.layers][:2]
        ['linear', 'linear']
        >>> program.tasks[0].layer == program.layers[0]
        True
        """
        return self._layers

    @property
    def notes(self) -> Tuple[str, ...]:
        """What the compiler of a model had to say, such as how much constants were rounded."""
        return tuple(cast(List[str], self._report.get("notes", [])))

    @property
    def damage(self) -> Optional[str]:
        """Why the tasks cannot be followed to the end, if they cannot."""
        return cast(Optional[str], self._report["damage"])

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What is odd about the file, and no reason to refuse it."""
        return tuple(cast(List[str], self._report["warnings"]))

    @property
    def compiler(self) -> Tuple[str, ...]:
        """What the compiler says about itself, line by line."""
        return tuple(cast(List[str], self._report["compiler"]))

    @property
    def refusals(self) -> Tuple[_data.Refusal, ...]:
        """The tasks that the engine does not execute, with the register to blame; nothing is run to find them.

        >>> import ane
        >>> ane.load("examples/add_relu.anec").refusals
        ()
        """
        return tuple(map(_data.refusal, json.loads(self._program.refusals())))

    def memory(self, chip: str = "t8103") -> _data.Memory:
        """What it does with a chip's memory, and how long it would take there, by the timing model.

        >>> import ane
        >>> memory = ane.load("examples/add_relu.anec").memory()
        >>> [operand.name for operand in memory.tasks[0].operands]
        ['source 1', 'source 2', 'result']
        """
        return _data.memory(json.loads(self._program.memory(chip)))

    def run(
        self,
        arrays: Union[Mapping[str, NDArray[float16]], NDArray[float16], None] = None,
        /,
        **named: NDArray[float16],
    ) -> Dict[str, NDArray[float16]]:
        """Runs it: an array for each input, by name, and a new array for each output.

        Inputs are ``float16``, of the shape N, C, H, W or the same without axes of length 1; outputs have all four
        axes. Those of a model have its own shapes. Names that are no Python names go into a mapping:
        ``program.run({"x@1": x})``. An array without a name is that of the only input: ``program.run(x)``. Other Python
        threads run meanwhile; of several that run the same program, one waits for the other.

        :raises TypeError: if an input is missing, unknown, or of another type.
        :raises ValueError: if an input is of another shape.
        :raises RunError: if the engine does not run it to its end; see there.

        >>> import ane, numpy
        >>> program = ane.load("examples/add_relu.anec")
        >>> x = numpy.full((16, 32), 2, numpy.float16)
        >>> y = program.run(input0=x, input1=-x)["output0"]
        >>> y.shape, float(y.max())
        ((1, 16, 1, 32), 0.0)
        """
        if arrays is not None:
            if not isinstance(arrays, Mapping):
                arrays = {self._only_input(): arrays}
            for name in arrays:
                if name in named:
                    raise TypeError(f"input {name!r} is given twice")
            named = {**arrays, **named}
        session = self._session
        if session is None or session[0] != os.getpid():
            session = self._load()
        return session[1].run(named)

    def _only_input(self) -> str:
        inputs = self.inputs
        if len(inputs) == 1:
            return inputs[0].name
        names = ", ".join(f"{surface.name!r} {list(surface.array)}" for surface in inputs)
        told = f"its inputs are {names}" if names else "it has no inputs"
        raise TypeError(f"an array without a name is for a program with one input; {told}")

    def on(self, device: Device) -> Program:
        """The same program, to be run on another device."""
        return Program(self._program, device)

    def to_anec(self) -> bytes:
        """The program as the bytes of an .anec file."""
        return self._program.to_anec()

    def save(self, path: Path) -> None:
        """Writes it as an .anec file, whole or not at all. A file that exists is replaced.

        >>> import ane, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "copy.anec")
        >>> ane.load("examples/add_relu.anec").save(path)
        >>> len(ane.load(path).tasks)
        2
        """
        _files.save(path, self.to_anec())

    def __reduce__(self) -> Tuple[Callable[[bytes, str], Program], Tuple[bytes, str]]:
        # The file is all of it. A device stays in its process.
        return _restored, (self._program.file, self.name)

    def _load(self) -> Tuple[int, _ane.Session]:
        device = self._device or default_device()
        # A device of the parent process refuses it by name; a new one is made only where none was asked for.
        self._session = (os.getpid(), _ane.Session(device._open, self._program))
        return self._session

    def _surfaces(self, which: str) -> Tuple[_data.Surface, ...]:
        return tuple(map(_data.surface, cast(List[_data.Json], self._report[which])))

    def __repr__(self) -> str:
        def listed(surfaces: Tuple[_data.Surface, ...]) -> str:
            return ", ".join(f"{surface.name}{list(surface.array)}" for surface in surfaces)

        count = len(self.tasks)
        tasks = "1 task" if count == 1 else f"{count} tasks"
        return f"<ane.Program {self.name!r}: {tasks}, {listed(self.inputs)} -> {listed(self.outputs)}>"

    def _repr_html_(self) -> str:
        from ._html import program

        return program(self)
