"""Programs as data, errors as exceptions."""

from __future__ import annotations

import pickle
import resource
import struct
import subprocess
from pathlib import Path

import numpy
import pytest

import ane
from ane.pytest_plugin import command

ROOT = Path(__file__).resolve().parents[3]


def patched(program: ane.Program, task: int, register: str, value: int) -> ane.Program:
    """The program with another word in one of its registers, by its place in the file."""
    file = bytearray(program.to_anec())
    found = program.tasks[task]
    word = found[register]
    # Records are a header and the values behind it; the register's value is where its record has it.
    at = 0x1000 + found.offset
    words = struct.unpack_from(f"<{found.bytes // 4}I", file, at)
    matching = [i for i, bits in enumerate(words) if bits == word.value and i > 9]
    for i in matching:
        changed = bytearray(file)
        struct.pack_into("<I", changed, at + 4 * i, value)
        made = ane.loads(bytes(changed), name="patched")
        if made.tasks[task][register].value == value:
            return made
    raise AssertionError(f"{register} is not where it should be")


def test_registers_of_every_task_are_named_graded_and_explained(heavy: ane.Program) -> None:
    grades = {"measured", "derived", "predicted", "chosen"}
    assert len(heavy.tasks) == len(list(heavy.tasks)) > 1
    for index, task in enumerate(heavy.tasks):
        assert task.index == index and task.summary and task.header
        for register in (*task.header, *task.registers):
            assert register.name and register.grade in grades and register.source
            for field in register.fields:
                assert field.grade in grades and field.shown != ""
    assert heavy.tasks[-1] == heavy.tasks[len(heavy.tasks) - 1]
    assert heavy.tasks[0:2][1].changed is not None


def test_task_beyond_the_last_is_an_index_error(relu: ane.Program) -> None:
    for index in (len(relu.tasks), -len(relu.tasks) - 1, 2**70):
        with pytest.raises(IndexError):
            relu.tasks[index]


def test_data_cannot_be_changed(relu: ane.Program) -> None:
    with pytest.raises(AttributeError):
        relu.tasks[0].index = 3
    with pytest.raises(AttributeError):
        del relu.inputs[0].name
    assert len({relu.inputs[0], relu.inputs[0]}) == 1


def field(number: int, value: "bytes | int | str") -> bytes:
    """A field of a protocol buffer; lengths and numbers here are below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    encoded = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(encoded)]) + encoded


def onnx(operation: str, shape: "tuple[int | str, ...]" = (5, 7)) -> bytes:
    """A model of one layer, x to y of the same shape; an extent may be a name."""

    def port(name: str) -> bytes:
        extents = b"".join(field(1, field(1 if isinstance(extent, int) else 2, extent)) for extent in shape)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, extents)))

    node = field(1, "x") + field(2, "y") + field(4, operation)
    graph = field(1, node) + field(2, "g") + field(11, port("x")) + field(12, port("y"))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def test_model_is_compiled_and_takes_arrays_of_its_own_shape(tmp_path: Path, rng: numpy.random.Generator) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx("Relu"))
    program = ane.load(path)
    x = rng.uniform(-1, 1, (5, 7)).astype(numpy.float16)
    y = program.run(x=x)["y"]
    assert program.inputs[0].array == (5, 7) and y.shape == (5, 7)
    assert (y == numpy.maximum(x, 0)).all()
    with pytest.raises(ValueError, match=r"wants \[5, 7\]"):
        program.run(x=x.T)


def test_package_of_core_ml_is_compiled_with_its_constants() -> None:
    models = ROOT / "tests" / "models"
    program = ane.load(models / "perceptron.mlpackage")
    x, wanted = (numpy.load(models / f"perceptron.{name}.npy") for name in "xy")
    y = program.run(x=x.astype(numpy.float16))["y"]
    assert y.shape == wanted.shape and abs(y - wanted).max() < 0.004


def test_model_that_cannot_be_mapped_is_refused_with_the_operation() -> None:
    with pytest.raises(ane.ModelError, match="NoSuchOperation") as caught:
        ane.loads(onnx("NoSuchOperation"), name="model.onnx")
    assert caught.value.hint and "docs/models.md" in caught.value.hint


@pytest.mark.parametrize("contents", [b"", b"\0" * 4096, b"PK\3\4" + b"x" * 60, b"\xce\xfa\xed\xbe" * 400, b"\xff" * 5000])
def test_file_that_is_no_program_is_refused_by_name(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / "model"
    path.write_bytes(contents)
    with pytest.raises(ane.FormatError, match="model: ") as caught:
        ane.load(path)
    assert caught.value.hint


def test_every_damaged_copy_of_a_program_loads_or_is_refused(example: Path) -> None:
    rng = numpy.random.default_rng(3)
    whole = example.read_bytes()
    for _ in range(60):
        damaged = bytearray(whole[: int(rng.integers(len(whole)))] if rng.random() < 0.3 else whole)
        for _ in range(int(rng.integers(1, 8))):
            if damaged:
                damaged[int(rng.integers(min(len(damaged), 0x1800)))] = int(rng.integers(256))
        try:
            program = ane.loads(bytes(damaged))
            list(program.tasks), program.refusals, program.memory(), program._repr_html_(), repr(program)
        except (ane.FormatError, IndexError, MemoryError):
            pass


def test_refused_task_names_register_bits_and_value(relu: ane.Program) -> None:
    value = relu.tasks[0]["MACCfg"].value | 0x20
    program = patched(relu, 0, "MACCfg", value)
    (refusal,) = program.refusals
    with pytest.raises(ane.RefusedError) as caught:
        program.run(x=numpy.zeros((8, 4, 16), numpy.float16))
    error = caught.value
    assert (error.task, error.register, error.address, error.bits, error.value) == (
        refusal.task,
        "MACCfg",
        refusal.address,
        refusal.bits,
        value,
    )
    assert error.category == refusal.category and error.hint and "MACCfg" in str(error)
    assert error.bits is not None and error.bits & 0x20


def test_task_that_hangs_is_a_hang_error_and_the_device_goes_on() -> None:
    graph = ane.Graph()
    x = graph.input("x", (4, 8, 8))
    graph.output("y", graph.convolution(x, numpy.ones((4, 4, 3, 3), numpy.float16), padding=1))
    whole, given = graph.build(), numpy.ones((4, 8, 8), numpy.float16)
    # The task needs coefficients, and the channel that fetches them is off.
    value = whole.tasks[0]["CoeffDMAConfig"].value & ~1
    program = patched(whole, 0, "CoeffDMAConfig", value)
    with ane.Device() as device:
        with pytest.raises(ane.HangError) as caught:
            program.on(device).run(x=given)
        error = caught.value
        assert (error.task, error.register, error.value) == (0, "CoeffDMAConfig", value)
        assert isinstance(error, ane.RunError) and error.outcome and error.hint and "hang" in error.hint
        assert whole.on(device).run(x=given)["y"].max() == 36
    # A device that reports such a task says the same without waiting.
    with ane.Device(hang="report") as device, pytest.raises(ane.RefusedError) as reported:
        program.on(device).run(x=given)
    assert (reported.value.category, reported.value.register) == ("would hang", "CoeffDMAConfig")


def test_fault_says_where(relu: ane.Program) -> None:
    with ane.Device(inject=["translation-fault:after=1"]) as device:
        with pytest.raises(ane.FaultError) as caught:
            relu.on(device).run(x=numpy.zeros((8, 4, 16), numpy.float16))
    error = caught.value
    assert error.address is not None and error.write is not None and error.fault and error.hint


@pytest.mark.parametrize(
    "options",
    [{"chip": "m1"}, {"numerics": "fp8"}, {"hang": "never"}, {"inject": ["rain"]}, {"location": "mars"}, {"threads": 70000}],
)
def test_option_that_no_device_has_is_refused(options: "dict[str, object]") -> None:
    with pytest.raises((ValueError, OverflowError)):
        ane.Device(**options)  # type: ignore[arg-type]


def test_device_elsewhere_takes_no_options_and_says_if_it_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there already"):
        ane.Device("aned", chip="t6000")
    with pytest.raises(ane.DeviceError, match="cannot be opened") as caught:
        ane.Device(f"aned:{tmp_path}/none.sock")
    assert caught.value.hint


def test_strict_device_refuses_what_is_inferred() -> None:
    graph = ane.Graph()
    x = graph.input("x", (4, 8, 8))
    graph.output("y", graph.convolution(x, numpy.ones((4, 4, 3, 3), numpy.float16), stride=3, padding=1))
    program, given = graph.build(), numpy.ones((4, 8, 8), numpy.float16)
    assert program.run(x=given)["y"].max() == 36
    with ane.Device(strict=True) as device, pytest.raises(ane.RunError):
        program.on(device).run(x=given)


@pytest.mark.parametrize("chip", ["t8103", "t6000", "t6001", "t6002", "t8112"])
def test_device_is_the_chip_that_was_asked_for(chip: str, relu: ane.Program) -> None:
    with ane.Device(chip=chip) as device:
        assert device.chip == chip
        relu.on(device).run(x=numpy.zeros((8, 4, 16), numpy.float16))
        counters = device.counters()
    assert (counters.requests, counters.tasks) == (1, len(relu.tasks))
    assert counters.cycles > 0 and counters.virtual_nanoseconds > 0


def test_memory_map_and_trace_tell_of_the_program(relu: ane.Program) -> None:
    with ane.Device() as device:
        program = relu.on(device)
        with device.trace() as trace:
            program.run(x=numpy.zeros((8, 4, 16), numpy.float16))
        mapped = [one for context in device.memory_map().contexts for one in context.mappings]
        assert {"input tensor", "output tensor"} <= {one.usage for one in mapped}
        assert device.statistics()
        assert "<svg" in trace._repr_html_() and "<table" in device.memory_map()._repr_html_()
    passes = [event for event in trace.events if event.row == "neural engine"]
    assert len(passes) == len(relu.tasks) and passes[0].task == 0
    assert any(event.is_virtual for event in trace.events)


def test_memory_map_of_a_daemon_that_is_gone_says_to_start_it(tmp_path: Path) -> None:
    socket = tmp_path / "aned.sock"
    daemon = subprocess.Popen([command(), "daemon", "--socket-path", socket], stderr=subprocess.PIPE, text=True)
    assert daemon.stderr is not None and "is served at" in daemon.stderr.readline()
    with ane.Device(f"aned:{socket}") as device:
        assert device.memory_map().contexts is not None
        daemon.kill()
        daemon.communicate()
        with pytest.raises(ane.DeviceError, match="device is gone") as caught:
            device.memory_map()
    assert caught.value.hint is not None and caught.value.hint.startswith("start it"), caught.value.hint


def test_trace_that_is_not_complete_says_so() -> None:
    with ane.Device() as device, device.trace() as trace:
        with pytest.raises(RuntimeError, match="complete"):
            trace.events


def test_trace_that_is_used_again_has_the_events_of_its_last_block(relu: ane.Program) -> None:
    x = numpy.zeros((8, 4, 16), numpy.float16)
    with ane.Device() as device:
        program, trace = relu.on(device), device.trace()
        with trace:
            program.run(x=x)
        first = trace.events
        with trace:
            with pytest.raises(RuntimeError, match="complete"):
                trace.events
            program.run(x=x)
            program.run(x=x)
    assert len(trace.events) > len(first) > 0


def test_trace_within_another_is_refused_and_takes_nothing_of_it(relu: ane.Program) -> None:
    x = numpy.zeros((8, 4, 16), numpy.float16)
    with ane.Device() as device:
        program = relu.on(device)
        with device.trace() as outer:
            program.run(x=x)
            with pytest.raises(ane.DeviceError, match="being made already"), device.trace():
                pass
        assert outer.events
        with device.trace() as after:
            program.run(x=x)
        assert after.events


def test_names_are_escaped_in_notebooks() -> None:
    graph = ane.Graph()
    graph.output("<img src=x onerror=alert(1)>", graph.relu(graph.input("<script>", (8, 4, 16))))
    shown = graph.build()._repr_html_()
    assert "<script>" not in shown and "<img" not in shown and "&lt;script&gt;" in shown


def test_graph_refuses_what_does_not_fit() -> None:
    graph, other = ane.Graph(), ane.Graph()
    x, y = graph.input("x", (4, 2, 2)), other.input("y", (4, 2, 2))
    half = numpy.ones((4, 4), numpy.float16)
    for refused, make in [
        (ValueError, lambda: graph.add(x, y)),
        (TypeError, lambda: graph.add(x, 3)),
        (TypeError, lambda: graph.linear(x, numpy.ones((4, 4)))),
        (ValueError, lambda: graph.linear(x, half.reshape(2, 2, 4))),
        (ValueError, lambda: graph.convolution(x, half.reshape(4, 4, 1, 1), groups=2)),
        (ValueError, lambda: graph.mean(x, over="sideways")),
        (ane.BuildError, lambda: graph.input("z", (0, 1, 1))),
        (ane.BuildError, lambda: graph.output("x", x)),
        (ane.BuildError, lambda: graph.add(x, graph.input("w", (3, 2, 2)))),
        (ane.BuildError, lambda: graph.build()),
        (OverflowError, lambda: graph.input("v", (-1, 1, 1))),
        (OverflowError, lambda: graph.input("v", (2**40, 1, 1))),
    ]:
        with pytest.raises(refused):  # type: ignore[call-overload]
            make()


def test_operations_of_a_graph_agree_with_double_precision(rng: numpy.random.Generator) -> None:
    graph = ane.Graph()
    x = graph.input("x", (8, 3, 16))
    given = rng.uniform(0.25, 1.5, (8, 3, 16)).astype(numpy.float16)
    exact = given.astype(float)
    wanted = {}
    for name, tensor, value in [
        ("sum", x + x, exact + exact),
        ("product", x * x, exact * exact),
        ("difference", graph.leaky_relu(graph.subtract(x, graph.square(x)), 0.5), None),
        ("sigmoid", graph.sigmoid(x), 1 / (1 + numpy.exp(-exact))),
        ("exp", graph.exp(x), numpy.exp(exact)),
        ("clamp", graph.clamp(x, 0.5, 1.0), exact.clip(0.5, 1.0)),
        ("softmax", graph.softmax(x, over="channels"), numpy.exp(exact) / numpy.exp(exact).sum(0)),
        ("mean", graph.mean(x, over="columns"), exact.mean(2, keepdims=True)),
        ("largest", graph.largest(x), exact.max((1, 2), keepdims=True)),
        ("norm", graph.instance_norm(x), None),
    ]:
        graph.output(name, tensor)
        wanted[name] = value
    square = exact - exact**2
    wanted["difference"] = numpy.where(square < 0, square / 2, square)
    centred = exact - exact.mean((1, 2), keepdims=True)
    wanted["norm"] = centred / numpy.sqrt((centred**2).mean((1, 2), keepdims=True) + 1e-5)
    found = graph.build().run(x=given)
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        numpy.testing.assert_allclose(found[name][0], value, rtol=1e-2, atol=5e-3, err_msg=name)


def test_program_that_a_full_disk_cuts_short_leaves_the_file_that_was_there(relu: ane.Program, tmp_path: Path) -> None:
    path = tmp_path / "model.anec"
    path.write_bytes(b"mine")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may be longer, as if the disk were full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
    try:
        with pytest.raises(OSError) as refusal:
            relu.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert refusal.value.filename == str(path)
    assert path.read_bytes() == b"mine" and list(tmp_path.iterdir()) == [path]
    relu.save(path)
    assert ane.load(path).inputs == relu.inputs and list(tmp_path.iterdir()) == [path]


def test_save_replaces_the_target_of_a_link_and_writes_to_what_is_no_file(relu: ane.Program, tmp_path: Path) -> None:
    target, link = tmp_path / "target.anec", tmp_path / "link.anec"
    target.write_bytes(b"mine")
    target.chmod(0o640)
    link.symlink_to(target)
    relu.save(link)
    assert link.is_symlink() and target.read_bytes() == relu.to_anec() and target.stat().st_mode & 0o777 == 0o640
    relu.save("/dev/null")
    with pytest.raises(FileNotFoundError, match="nowhere/model.anec'$"):
        relu.save(tmp_path / "nowhere" / "model.anec")


def test_epsilon_that_a_half_does_not_hold_is_refused() -> None:
    graph = ane.Graph()
    x = graph.input("x", (4, 4, 8))
    gamma, beta = graph.input("gamma", (1, 1, 8)), graph.input("beta", (1, 1, 8))
    with pytest.raises(ValueError, match="epsilon=.* is so small that a half of it is 0"):
        graph.layer_norm_columns(x, gamma, beta, epsilon=1e-12)
    with pytest.raises(ValueError, match="epsilon=1e-12 is so small that a half of it is 0"):
        graph.layer_norm(x, epsilon=1e-12)
    with pytest.raises(ValueError, match="is beyond 65504, the largest half"):
        graph.layer_norm_columns(x, gamma, beta, epsilon=1e6)


def test_saved_program_keeps_shapes_layers_and_notes_of_its_model(tmp_path: Path, rng: numpy.random.Generator) -> None:
    model = ane.loads(onnx("Relu", (4, 3, 2, 16)), name="model.onnx")
    model.save(tmp_path / "model.anec")
    saved = ane.load(tmp_path / "model.anec")
    assert [surface.array for surface in (*saved.inputs, *saved.outputs)] == [(4, 3, 2, 16)] * 2
    assert saved.inputs[0].shape == (1, 12, 2, 16)
    x = rng.uniform(-1, 1, (4, 3, 2, 16)).astype(numpy.float16)
    numpy.testing.assert_array_equal(saved.run(x=x)["y"], numpy.maximum(x, 0))
    assert [layer.operation for layer in saved.layers] == ["relu"] and saved.layers == model.layers
    assert {task.layer for task in saved.tasks} == {saved.layers[0]}
    assert saved.notes == model.notes


def test_text_about_another_model_is_ignored_with_a_warning() -> None:
    file = ane.loads(onnx("Relu")).to_anec()
    text = b'{"outputs":[],"inputs":[],"layers":[],"notes":[]}'
    payload = int.from_bytes(file[:8], "little") + 0x1000
    made = ane.loads(file[:payload] + text + struct.pack("<I", len(text)) + b"ANEMODEL")
    assert made.inputs[0].array == made.inputs[0].shape
    assert [warning for warning in made.warnings if "another number of operands" in warning] and not made.layers


def test_open_extent_of_a_model_is_given_a_number() -> None:
    model = onnx("Relu", ("batch", 7))
    with pytest.raises(ane.ModelError) as caught:
        ane.loads(model)
    (problem,) = caught.value.problems
    assert (problem.operation, problem.name, problem.shapes) == ("input", "x", ())
    assert problem.hint == 'ane.load(path, dims={"batch": 1})' and problem.hint in str(caught.value)
    assert "--dim" not in str(caught.value)
    program = ane.loads(model, dims={"batch": 3})
    assert program.inputs[0].array == (3, 7) and "x[3, 7]" in repr(program)
    with pytest.raises(ane.ModelError, match='no open extent "batsh"; its open extents are "batch"'):
        ane.loads(model, dims={"batsh": 3})
    for extent, error in ((0, ValueError), (-1, ValueError), ("3", TypeError), (2**70, OverflowError)):
        with pytest.raises(error):
            ane.loads(model, dims={"batch": extent})  # type: ignore[dict-item]


def test_input_of_a_model_is_bound_to_a_constant() -> None:
    model = onnx("Relu")
    with pytest.raises(ane.ModelError, match='no input "z"; its inputs are "x"'):
        ane.loads(model, bind={"z": [1.0]})
    with pytest.raises(TypeError):
        ane.loads(model, bind={"x": numpy.zeros((5, 7), numpy.complex64)})
    program = ane.loads(model, bind={"x": numpy.arange(35).reshape(5, 7)})
    assert program.inputs == () and float(program.run()["y"].max()) == 34


def test_result_of_a_model_is_made_an_input() -> None:
    text = (
        "program(1.3) { func main<ios16>(tensor<fp16, [2]> x) { "
        'tensor<fp16, [2]> far = abs(x = x)[name = string("far")]; '
        'tensor<fp16, [2]> y = relu(x = far)[name = string("y")]; } -> (y); }'
    ).encode()
    program = ane.loads(text, cut=["far"])
    assert [surface.name for surface in program.inputs] == ["far"]
    assert program.run(numpy.array([-3, 4], numpy.float16))["y"].tolist() == [0, 4]
    with pytest.raises(ane.ModelError, match='no result "near"; its results are "far", "y"'):
        ane.loads(text, cut=["near"])
    with pytest.raises(TypeError, match="wanted are names in a list"):
        ane.loads(text, cut="far")


def test_program_takes_no_decisions_of_a_model(example: Path) -> None:
    with pytest.raises(ValueError, match="dims, bind and cut are for models"):
        ane.load(example, dims={"batch": 1})


def test_problems_of_a_model_are_data() -> None:
    with pytest.raises(ane.ModelError) as caught:
        ane.loads(onnx("NoSuchOperation"))
    told = [(problem.operation, problem.name, problem.shapes) for problem in caught.value.problems]
    assert told == [("NoSuchOperation", "y", ((5, 7),))] and "not mapped" in caught.value.problems[0].reason
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_model_is_compared_layer_by_layer(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx("Relu", ("batch", 7)))
    x = numpy.full((2, 7), 3.0)
    (layer,) = ane.compare(path, {"x": x}, dims={"batch": 2})
    assert (layer.operation, layer.shape, layer.largest, layer.own, layer.source) == ("relu", (2, 7), 3.0, 0.0, "none")
    with pytest.raises(TypeError, match="no input"):
        ane.compare(path, {"z": x}, dims={"batch": 2})
    with pytest.raises(ValueError, match="elements"):
        ane.compare(path, {"x": x[:1]}, dims={"batch": 2})


def test_array_without_a_name_is_that_of_the_only_input(relu: ane.Program, example: Path) -> None:
    x = numpy.full((8, 4, 16), -1, numpy.float16)
    assert not relu.run(x)["y"].any()
    with pytest.raises(TypeError, match="one input; its inputs are 'input0'"):
        ane.load(example).run(x)
    with pytest.raises(TypeError, match="given twice"):
        relu.run(x, x=x)
    with pytest.raises(TypeError, match="numpy.ndarray"):
        relu.run([1.0])  # type: ignore[arg-type]


def test_tasks_and_registers_are_shown_in_a_line(relu: ane.Program) -> None:
    task = relu.tasks[0]
    assert repr(task) == f"<ane.Task 0: {task.summary}>"
    assert repr(task.registers[0]).startswith(f"<ane.Register {task.registers[0].name}") and len(repr(task.registers)) < 9000
    assert all("\n" not in repr(one) for one in (task, *task.registers))
    page = task._repr_html_()
    assert task.summary.replace(">", "&gt;") in page and task.registers[0].name in page


def test_programs_and_their_data_are_pickled(rng: numpy.random.Generator) -> None:
    model = ane.loads(onnx("Relu", (4, 3, 2, 16)), name="model.onnx")
    again = pickle.loads(pickle.dumps(model))
    assert (repr(again), again.tasks[0], again.layers) == (repr(model), model.tasks[0], model.layers)
    x = rng.uniform(-1, 1, (4, 3, 2, 16)).astype(numpy.float16)
    numpy.testing.assert_array_equal(again.run(x)["y"], model.run(x)["y"])
    assert pickle.loads(pickle.dumps(model.tasks[0])) == model.tasks[0]


def test_file_without_an_end_is_refused_with_the_limit() -> None:
    with pytest.raises(ane.FormatError, match=f"more than {256 << 20} bytes"):
        ane.load("/dev/zero")


def test_name_that_a_file_cannot_keep_is_refused_where_it_is_given() -> None:
    graph = ane.Graph()
    y = graph.relu(graph.input("x", (8, 4, 16)))
    for name, why in (("x", "another input or output has this name"), ("a\0b", "has a zero"), ("n" * 10**6, "1000000 bytes, and 333 are left")):
        with pytest.raises(ane.BuildError, match=f"input .*{why}"):
            graph.input(name, (8, 4, 16))
        with pytest.raises(ane.BuildError, match=f"output .*{why}"):
            graph.output(name, y)
    graph.output("y", y)
    program = graph.build()
    assert [surface.name for surface in program.inputs + program.outputs] == ["x", "y"]
