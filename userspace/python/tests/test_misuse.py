"""Used as nobody should: after fork, at exit, from signal handlers and destructors. An exception, and never a crash."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PRELUDE = """
import ane, gc, numpy, os, signal, sys, threading, time
def small():
    graph = ane.Graph()
    graph.output("y", graph.relu(graph.input("x", (8, 4, 16))))
    return graph.build()
def long():
    # A program that runs for a second on this machine, its input, and how long a run takes. The module looks for signals
    # ten times in a second.
    for side in (32, 64, 128, 256):
        graph = ane.Graph()
        y = graph.input("x", (64, side, side))
        for _ in range(96):
            y = graph.convolution(y, numpy.full((64, 64, 3, 3), 2**-10, numpy.float16), padding=1)
        graph.output("y", y)
        program = graph.build()
        wide = numpy.ones((64, side, side), numpy.float16)
        program.run(x=wide)
        begin = time.monotonic()
        program.run(x=wide)
        whole = time.monotonic() - begin
        if whole >= 1:
            break
    return program, wide, whole
x = numpy.ones((8, 4, 16), numpy.float16)
"""


def run(script: str) -> str:
    """What the script prints; it has to end by itself, and well."""
    words = [sys.executable, "-X", "faulthandler", "-c", PRELUDE + textwrap.dedent(script)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, f"{ran.returncode}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def test_child_of_fork_is_told_and_makes_its_own() -> None:
    printed = run(
        """
        device = ane.Device()
        program, other = small().on(device), small()
        program.run(x=x), other.run(x=x)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            session = program._session[1]
            for use in (lambda: session.run({"x": x}), lambda: program.run(x=x), device.counters, device.close):
                try:
                    use()
                    print("used")
                except ane.ForkError as error:
                    print("told", error.hint is not None)
            # Without a device of its parent's, the child makes one.
            print(float(other.run(x=x)["y"].max()))
            del program, other, device, session
            gc.collect()
            sys.stdout.flush()
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(float(program.run(x=x)["y"].max()))
        """
    )
    assert printed.split("\n")[:-1] == ["told True"] * 4 + ["1.0", "7", "1.0"]


def test_fork_while_another_thread_runs_leaves_a_child_that_works() -> None:
    printed = run(
        """
        program, wide, _ = long()
        thread = threading.Thread(target=lambda: program.run(x=wide))
        thread.start()
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            y = small().run(x=x)["y"]
            del program
            gc.collect()
            os._exit(int(y.max()))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        thread.join()
        """
    )
    assert printed == "1\n"


def test_threads_that_start_together_get_one_default_device() -> None:
    printed = run(
        """
        import ane._device
        together, made, seen, Device = threading.Barrier(8), [], [], ane.Device
        def make():
            # Long enough that each thread asks before the first device is there.
            time.sleep(0.1)
            made.append(Device())
            return made[-1]
        ane._device.Device = make
        def work():
            together.wait()
            seen.append(ane.default_device())
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(len(made), len(seen), len(set(map(id, seen))))
        """
    )
    assert printed == "1 8 1\n"


def test_child_of_fork_does_not_wait_for_a_thread_that_makes_the_parents_device() -> None:
    printed = run(
        """
        import ane._device
        held, done = threading.Event(), threading.Event()
        def hold():
            with ane._device._making:
                held.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if child == 0:
            os._exit(0 if ane.default_device().chip == "t8103" else 1)
        ended = os.waitpid(child, 0)[1]
        done.set()
        thread.join()
        print(ended)
        """
    )
    assert printed == "0\n"


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_multiprocessing_by_fork_and_by_spawn_works(how: str, tmp_path: Path) -> None:
    script = f"""
import multiprocessing
def work(program, queue):
    queue.put((float(small().run(x=x)["y"].max()), float(program.run(x=x)["y"].max())))
if __name__ == "__main__":
    program = small()
    program.run(x=x)
    context = multiprocessing.get_context("{how}")
    queue = context.Queue()
    process = context.Process(target=work, args=(program, queue))
    process.start()
    print(queue.get(timeout=60))
    process.join()
    print(process.exitcode)
"""
    # A child that is spawned reads the script again, so that it has to be a file.
    file = tmp_path / "script.py"
    file.write_text(PRELUDE + script)
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "(1.0, 1.0)\n0\n"), ran.stderr


@pytest.mark.parametrize("how", ["sys.exit(0)", "os._exit(0)", "pass"])
def test_interpreter_ends_while_a_daemon_thread_runs(how: str) -> None:
    run(
        f"""
        program, wide, _ = long()
        threading.Thread(target=lambda: program.run(x=wide), daemon=True).start()
        time.sleep(0.1)
        {how}
        """
    )


def test_objects_that_outlive_their_modules_are_dropped_quietly() -> None:
    run(
        """
        import atexit
        class Late:
            def __init__(self):
                self.program = small()
                self.program.run(x=x)
            def __del__(self):
                try:
                    self.program.run(x=x)
                except Exception:
                    pass
        keep = [Late(), ane.Device()]
        sys.keep = keep
        atexit.register(lambda: keep[0].program.run(x=x))
        """
    )


def test_interrupt_ends_a_long_run() -> None:
    printed = run(
        """
        program, wide, whole = long()
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, whole / 8)
        begin = time.monotonic()
        try:
            program.run(x=wide)
            print("ran to its end")
        except KeyboardInterrupt:
            print("interrupted")
        print(time.monotonic() - begin < whole)
        print(program.run(x=wide)["y"].shape == (1, *wide.shape))
        """
    )
    assert printed == "interrupted\nTrue\nTrue\n"


def test_signal_handler_that_runs_the_program_that_it_interrupts_is_refused() -> None:
    printed = run(
        """
        program, wide, whole = long()
        def handler(*_):
            try:
                program.run(x=wide)
                print("ran")
            except ane.BusyError as error:
                print("busy", "signal handler" in str(error))
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, whole / 8)
        print(program.run(x=wide)["y"].shape == (1, *wide.shape))
        """
    )
    assert printed == "busy True\nTrue\n"


def test_array_whose_bytes_another_thread_changes_meanwhile_is_no_danger() -> None:
    run(
        """
        program = small()
        data = numpy.ones((8, 4, 16), numpy.float16)
        stop = threading.Event()
        def change():
            while not stop.is_set():
                data[...] = 2
                data[...] = 1
        thread = threading.Thread(target=change)
        thread.start()
        for _ in range(300):
            y = program.run(x=data)["y"]
            assert ((y == 1) | (y == 2)).all()
        stop.set()
        thread.join()
        """
    )


def test_closed_device_says_so() -> None:
    printed = run(
        """
        device = ane.Device()
        program = small().on(device)
        device.close()
        device.close()
        for use in (device.counters, device.memory_map, lambda: program.run(x=x), lambda: device.chip):
            try:
                use()
            except ane.DeviceError as error:
                print(error.message)
        """
    )
    assert printed == "this device is closed\n" * 4


def test_classes_of_the_extension_are_not_made_or_changed_by_hand() -> None:
    printed = run(
        """
        from ane import _ane
        for make in (_ane.Program, lambda: _ane.Session(None, None), lambda: _ane.Device(location="embedded")):
            try:
                make()
            except TypeError:
                print("refused")
        try:
            ane.load("/nonexistent")
        except FileNotFoundError:
            print("no file")
        """
    )
    assert printed == "refused\n" * 3 + "no file\n"


@pytest.mark.parametrize("work", ["load", "compare"])
def test_interrupt_ends_a_long_load_and_a_long_comparison(work: str) -> None:
    printed = run(
        """
        import tempfile
        path = os.path.join(tempfile.mkdtemp(), "model.mil")
        def write(layers):
            # Two layers of one kind, one behind the other, would become one.
            line = 'tensor<fp16, [2]> v%d = %s(x = v%d)[name = string("v%d")];'
            lines = [line % (n + 1, ("relu", "abs")[n % 2], n, n + 1) for n in range(layers)]
            with open(path, "w") as file:
                file.write("program(1.3) { func main<ios16>(tensor<fp16, [2]> v0) { %s } -> (v%d); }" % (" ".join(lines), layers))
        for layers in (2000, 8000, 32000):
            write(layers)
            begin = time.monotonic()
            ane.load(path)
            whole = time.monotonic() - begin
            if whole >= 1.5:
                break
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, whole / 8)
        begin = time.monotonic()
        try:
            ane.WORK(path)
            print("ran to its end")
        except KeyboardInterrupt:
            print("interrupted")
        late = time.monotonic() - begin - whole / 8
        print(late < 0.5, late < whole / 2)
        write(2)
        print(len(ane.load(path).tasks), len(ane.compare(path)))
        """.replace("WORK", work)
    )
    assert printed == "interrupted\nTrue True\n2 2\n"
