"""Uses the Python module as people do, rightly and wrongly: module.py MODULE LIBRARY MODEL.anec CROSSED.anec"""
import os
import sys
import threading

import numpy as np

module, library, path, crossed = sys.argv[1:]
sys.path.insert(0, module)
import ane


def refused(error, words, function, *arguments, **named):
    """A call that has to fail, with words that say what to do."""
    try:
        function(*arguments, **named)
    except error as why:
        assert words in str(why), f"{why} does not say {words}"
        return why
    raise AssertionError(f"{error} was not raised")


def files():
    return len(os.listdir("/proc/self/fd"))


def load(path=path, **named):
    return ane.Model(path, lib_path=library, **named)


def expected(arrays):
    """The example adds its inputs, and what is negative becomes zero."""
    return np.maximum(arrays[0] + arrays[1], 0)


def tensors(shapes):
    return [((np.arange(np.prod(shape)) * 7 + seed * 13) % 61 / 8 - 3.5).astype(np.float16).reshape(shape) for seed, shape in enumerate(shapes)]


def arrays_go_in_and_out():
    with load() as model:
        arrays = tensors(model.inputs)
        [result] = model.predict(arrays)
        assert result.shape == model.outputs[0] and result.dtype == np.float16
        assert (result == expected(arrays)).all()
        # Laid out in other ways: every second element, backwards, and with the axes turned.
        shape = model.inputs[0]
        wide = np.zeros(shape[:3] + (2 * shape[3],), np.float16)
        wide[..., ::2] = arrays[0]
        strided = [wide[..., ::2], arrays[1][:, ::-1].copy()[:, ::-1]]
        turned = [np.asfortranarray(array) for array in arrays]
        read_only = [np.frombuffer(array.tobytes(), np.float16).reshape(array.shape) for array in arrays]
        for others in (strided, turned, read_only, tuple(arrays), iter(arrays)):
            assert (model.predict(others)[0] == result).all()


def shapes_are_those_of_the_bars_that_tasks_read_and_write():
    with load(crossed) as model:
        assert model.inputs == ((1, 4, 8, 8),) and model.outputs == ((1, 4, 1, 1),), (model.inputs, model.outputs)
        [array] = tensors(model.inputs)
        [result] = model.predict(array)
        assert (result == array.astype(np.float32).mean((2, 3), keepdims=True).astype(np.float16)).all(), result


def wrong_arrays_are_refused():
    with load() as model:
        arrays = tensors(model.inputs)
        good = model.predict(arrays)[0]
        first, second = arrays
        refused(ValueError, "2 inputs, 1 arrays", model.predict, first)
        refused(ValueError, "2 inputs, 3 arrays", model.predict, arrays + [first])
        refused(TypeError, "input 1 is float32: convert it with .astype", model.predict, [first, second.astype(np.float32)])
        refused(TypeError, "input 0 is >f2: convert it with .astype", model.predict, [first.astype(">f2"), second])
        refused(TypeError, "input 0 is a list", model.predict, [first.tolist(), second])
        refused(ValueError, "input 0 has shape", model.predict, [first.reshape(-1), second])
        refused(ValueError, "input 1 has shape", model.predict, [first, second[:, :0]])
        assert (model.predict(arrays)[0] == good).all()


def wrong_files_are_refused():
    before = files()
    refused(FileNotFoundError, "/nonexistent", load, "/nonexistent")
    refused(OSError, "no whole .anec", load, "/dev/null")
    refused(OSError, "no whole .anec", load, library)
    assert refused(OSError, "there is no engine", load, dev_id=1).filename == path
    refused(OSError, "there is no engine", load, dev_id=-1)
    assert files() == before


def closed_models_say_so():
    before = files()
    model = load()
    arrays = tensors(model.inputs)
    model.close()
    model.close()
    refused(ValueError, "closed", model.predict, arrays)
    for _ in range(50):
        load()
    assert files() == before


def too_many_models_say_so():
    models = []
    why = refused(OSError, "taken", lambda: [models.append(load()) for _ in range(512)])
    assert len(models) > 1, why
    del models


def shapes_of_other_tensors_are_refused():
    from ctypes import c_uint64, get_errno

    with load() as model:
        raw, shape = model._library, (c_uint64 * 4)()
        for call in (raw.pyane_input_shape, raw.pyane_output_shape):
            for handle, index, into in [(model._handle, 2, shape), (model._handle, -1, shape), (model._handle, 0, None), (None, 0, shape)]:
                assert call(handle, index, into) == -1 and get_errno() == 22, (handle, index)


def handles_of_chance_are_refused():
    from ctypes import get_errno

    with load() as model:
        raw, nothing = model._library, [None] * 32
        for handle in (None, 1 << 40, model._handle + 1, (1 << 64) - 1):
            for call in (raw.pyane_exec, raw.pyane_free):
                assert call(handle) == -1 and get_errno() == 22
            assert raw.pyane_send(handle, *nothing) == -1 and raw.pyane_read(handle, *nothing) == -1
        assert raw.pyane_send(model._handle, *nothing) == -1 and get_errno() == 22
        gone = raw.pyane_init(path.encode(), 0)
        assert raw.pyane_free(gone) == 0 and raw.pyane_free(gone) == -1 and raw.pyane_exec(gone) == -1
        assert raw.pyane_init(None, 0) is None


def in_child(work):
    """What a child of this process does, which then ends as Python does."""
    child = os.fork()
    if child == 0:
        work()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


def children_leave_the_program_to_their_parent():
    model = load()
    arrays = tensors(model.inputs)
    good = model.predict(arrays)[0]

    def run():
        assert (model.predict(arrays)[0] == good).all()

    def close():
        model.close()
        refused(ValueError, "closed", model.predict, arrays)

    for work in (lambda: None, run, close):
        in_child(work)
        assert (model.predict(arrays)[0] == good).all()
    before = files()
    model.close()
    assert files() == before - 1


def threads_share_a_model():
    with load() as model:
        wrong = []

        def run(seed):
            arrays = [array + np.float16(seed) for array in tensors(model.inputs)]
            for _ in range(50):
                if (model.predict(arrays)[0] != expected(arrays)).any():
                    wrong.append(seed)

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong


arrays_go_in_and_out()
shapes_are_those_of_the_bars_that_tasks_read_and_write()
wrong_arrays_are_refused()
wrong_files_are_refused()
closed_models_say_so()
too_many_models_say_so()
shapes_of_other_tensors_are_refused()
handles_of_chance_are_refused()
children_leave_the_program_to_their_parent()
threads_share_a_model()
