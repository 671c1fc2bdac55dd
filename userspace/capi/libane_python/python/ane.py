# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs compiled programs (.anec) on an Apple Neural Engine, with numpy arrays in and out.

    import ane, numpy

    with ane.Model("model.anec") as model:
        print(model.inputs, model.outputs)      # shapes: N, C, H, W
        [result] = model.predict([numpy.ones(model.inputs[0], numpy.float16)])

It is for programs what the binding of the Linux driver is, by the same library; `ane exec -- python3 SCRIPT` runs it
on a virtual engine.
"""

import ctypes
import errno
import os
import threading

import numpy

__all__ = ["Model"]

# Where the library is, if nobody says: beside this file's folder as it is installed, and where the system has it.
_LIBRARIES = (
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../libane_python.so"),
    "/usr/lib/libane_python.so",
)

# Most tensors that the library takes or gives.
_TENSORS = 32

_Shape = ctypes.c_uint64 * 4


def _library(path):
    if path is None:
        path = next((path for path in _LIBRARIES if os.path.exists(path)), None)
        if path is None:
            raise FileNotFoundError("libane_python.so is not installed: say where it is, as lib_path=")
    library = ctypes.CDLL(path, use_errno=True)
    if not hasattr(library, "pyane_input_shape"):
        raise ImportError(f"{path} does not tell the shapes of tensors: use the library that came with this module")
    tensors = [ctypes.c_void_p] * _TENSORS
    shape = [ctypes.c_int, ctypes.POINTER(_Shape)]
    library.pyane_init.argtypes = [ctypes.c_char_p, ctypes.c_int]
    library.pyane_init.restype = ctypes.c_void_p
    functions = {"free": [], "exec": [], "send": tensors, "read": tensors, "input_shape": shape, "output_shape": shape}
    for function, arguments in functions.items():
        function = getattr(library, "pyane_" + function)
        function.argtypes, function.restype = [ctypes.c_void_p] + arguments, ctypes.c_int
    return library


def _shapes(function, handle):
    """The shapes of a program's inputs or outputs, as `function` tells one after the other."""
    shapes, shape = [], _Shape()
    while function(handle, len(shapes), shape) == 0:
        shapes.append(tuple(shape))
    return tuple(shapes)


def _failure(path):
    """What the library says after a program could not be loaded."""
    why = ctypes.get_errno()
    advice = {
        errno.EINVAL: "it is no whole .anec; `ane convert` makes one of a .hwx",
        errno.ENODEV: "there is no engine; `ane exec -- python3 ...` runs this on a virtual one",
        errno.EBUSY: "all of the engine's contexts are taken; close models that are not used",
        errno.EACCES: "the device node is somebody else's",
    }.get(why, os.strerror(why))
    return OSError(why, advice, path)


class Model:
    """A program on an engine. Calls of several threads wait for each other.

    A process that is made by os.fork() has the model as well, with the same buffers on the engine: it may run it, but
    whatever becomes of its model, the program is that of the process that loaded it. Fork while no other thread is in a
    call: the lock that such a thread has stays locked in the child.
    """

    def __init__(self, path, dev_id=0, lib_path=None):
        """Loads the .anec at `path` on engine `dev_id`, by the library at `lib_path` or the one that is installed."""
        self._handle = None
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._library = _library(lib_path)
        path = os.fspath(path)
        self._handle = self._library.pyane_init(os.fsencode(path), dev_id)
        if self._handle is None:
            raise _failure(path)
        # The library copies as many elements as these shapes have; another opinion of them would be memory overrun.
        self.inputs = _shapes(self._library.pyane_input_shape, self._handle)
        self.outputs = _shapes(self._library.pyane_output_shape, self._handle)

    def predict(self, arrays):
        """Runs the program: takes a list of float16 arrays, one for each input, and gives one for each output.

        Arrays have the shape that `inputs` says; how they lie in memory does not matter. A single one needs no list.
        Where a program moves bytes, such as truth values, a byte is the low half of an element, whose high half is zero in
        results: make such an array of numpy.uint16, and give and take it with .view(numpy.float16) and .view(numpy.uint16).
        """
        arrays = [arrays] if isinstance(arrays, numpy.ndarray) else list(arrays)
        if len(arrays) != len(self.inputs):
            raise ValueError(f"the program has {len(self.inputs)} inputs, {len(arrays)} arrays are given")
        dense = [_dense(index, *pair) for index, pair in enumerate(zip(arrays, self.inputs))]
        results = [numpy.empty(shape, numpy.float16) for shape in self.outputs]
        with self._lock:
            if self._handle is None:
                raise ValueError("the model is closed")
            self._call("send", *_pointers(dense))
            self._call("exec")
            self._call("read", *_pointers(results))
        return results

    def close(self):
        """Gives the program's place on the engine back. A second time does nothing.

        In another process than the one that loaded it, the model is closed for that process only: giving back frees the buffers
        that both have.
        """
        with self._lock:
            if self._handle is not None:
                if os.getpid() == self._process:
                    self._call("free")
                self._handle = None

    def _call(self, function, *arguments):
        if getattr(self._library, "pyane_" + function)(self._handle, *arguments) != 0:
            why = ctypes.get_errno()
            raise OSError(why, f"pyane_{function}: {os.strerror(why)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        # A child that only ends has a copy of every object of its parent's, perhaps with a lock that nobody there unlocks.
        if getattr(self, "_handle", None) is not None and os.getpid() == self._process:
            self.close()


def _dense(index, array, shape):
    """The array as the library takes it."""
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"input {index} is a {type(array).__name__}: make it an array with numpy.asarray(..., numpy.float16)")
    if array.dtype != numpy.float16:
        raise TypeError(f"input {index} is {array.dtype}: convert it with .astype(numpy.float16)")
    if array.shape != shape:
        raise ValueError(f"input {index} has shape {array.shape}, the program takes {shape}")
    return numpy.ascontiguousarray(array)


def _pointers(arrays):
    return [array.ctypes.data for array in arrays] + [None] * (_TENSORS - len(arrays))
