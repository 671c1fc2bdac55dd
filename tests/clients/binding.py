"""Runs a program by libane_python, as the Python binding does: binding.py LIBRARY MODEL.anec OUTPUTS INPUT..."""
import ctypes
import struct
import sys

import numpy as np


class Model:
    """A program: called with arrays, gives arrays."""

    def __init__(self, library, path):
        with open(path, "rb") as file:
            header = file.read(0x6A8)
        self.src_count, self.dst_count = struct.unpack_from("<II", header, 0x20)
        shapes = [struct.unpack_from("<4Q", header, 0xA8 + 48 * bar) for bar in range(32)]
        self.dst_shapes = shapes[4 : 4 + self.dst_count]
        self.src_shapes = shapes[4 + self.dst_count : 4 + self.dst_count + self.src_count]
        self.lib = ctypes.cdll.LoadLibrary(library)
        self.lib.pyane_init.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self.lib.pyane_init.restype = ctypes.c_void_p
        self.lib.pyane_free.argtypes = [ctypes.c_void_p]
        self.lib.pyane_exec.argtypes = [ctypes.c_void_p]
        self.lib.pyane_send.argtypes = [ctypes.c_void_p] + [ctypes.c_void_p] * 32
        self.lib.pyane_read.argtypes = [ctypes.c_void_p] + [ctypes.c_void_p] * 32
        self.handle = self.lib.pyane_init(path.encode(), 0)
        if not self.handle:
            raise RuntimeError("pyane_init")

    def __call__(self, arrays):
        arrays = [np.ascontiguousarray(array, dtype=np.float16) for array in arrays]
        assert [array.shape for array in arrays] == [tuple(shape) for shape in self.src_shapes]
        results = [np.zeros(shape, dtype=np.float16) for shape in self.dst_shapes]
        assert self.lib.pyane_send(self.handle, *self.pointers(arrays)) == 0
        assert self.lib.pyane_exec(self.handle) == 0
        assert self.lib.pyane_read(self.handle, *self.pointers(results)) == 0
        return results

    @staticmethod
    def pointers(arrays):
        return [array.ctypes.data for array in arrays] + [None] * (32 - len(arrays))

    def close(self):
        assert self.lib.pyane_free(self.handle) == 0


def main(library, path, outputs, *inputs):
    model = Model(library, path)
    assert model.lib.pyane_init(b"/nonexistent", 0) is None
    arrays = [np.fromfile(file, np.float16).reshape(shape) for file, shape in zip(inputs, model.src_shapes)]
    results = model(arrays)
    # Once more, into what is there already.
    again = model(arrays)
    assert all((first == second).all() for first, second in zip(results, again))
    for index, array in enumerate(results):
        array.tofile(f"{outputs}.{index}")
    model.close()


main(*sys.argv[1:])
