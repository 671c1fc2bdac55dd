#!/usr/bin/env python3
"""Run the probes on an engine and say which answer it gave.

    examples/probes/run.py                                  the virtual engine in this process
    examples/probes/run.py --device /dev/accel/accel0       an engine of silicon, under Linux on an M1
    examples/probes/run.py --ane target/release/ane         the command to run them with (default: ane)

Each line names a question about the array's arithmetic that no published result decides (docs/numerics.md, "Open"), the
bits that the engine gave, and whether these are the bits of the rules, of the other answer, or neither. The last
line counts them. The exit code is 0 if every probe ran, whatever it answered.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ONE = 0x3C00


def write_npy(path, shape, halves):
    """Write halves, given as bits, as a NumPy file of version 1.0."""
    header = "{'descr': '<f2', 'fortran_order': False, 'shape': (%s), }" % ", ".join(map(str, shape))
    length = -(10 + len(header) + 1) % 64 + len(header) + 1
    text = header.ljust(length - 1) + "\n"
    body = struct.pack(f"<{len(halves)}H", *halves)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + body)


def read_npy(path):
    """The first half of a NumPy file, as bits."""
    data = path.read_bytes()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    return struct.unpack_from("<H", data, start)[0]


def read_list():
    for line in (HERE / "probes.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        row, program, shape, operand, rules, otherwise, question = (part.strip() for part in line.split("|"))
        yield row, program, [int(n) for n in shape.split("x")], [int(h, 16) for h in operand.split()], \
            rules.split(), otherwise.split(), question


def run(arguments, folder, program, shape, operand):
    """The bits of the one half that a probe gives; None, with the reason, if it did not run."""
    write_npy(folder / "x.npy", [1, *shape], operand)
    command = [arguments.ane, "run", str(HERE / program), "--allow-nan", "-i", f"x={folder / 'x.npy'}"]
    if b"ones" in (HERE / program).read_bytes():
        write_npy(folder / "ones.npy", [1, len(operand), 1, 1], [ONE] * len(operand))
        command += ["-i", f"ones={folder / 'ones.npy'}"]
    if arguments.device:
        command += ["--device", arguments.device]
    done = subprocess.run([*command, "-o", str(folder / "out")], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["no message"])[0]
    return read_npy(folder / "out" / "y.npy"), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ane", default="ane", help="the ane command")
    parser.add_argument("--device", help="the device that ane run is to use")
    arguments = parser.parse_args()
    counts = {"rules": 0, "otherwise": 0, "neither": 0, "did not run": 0}
    for row, program, shape, operand, rules, otherwise, question in read_list():
        with tempfile.TemporaryDirectory() as folder:
            bits, why = run(arguments, pathlib.Path(folder), program, shape, operand)
        shown = "----" if bits is None else f"{bits:04x}"
        answer = "did not run" if bits is None else \
            "rules" if shown in rules else "otherwise" if shown in otherwise else "neither"
        counts[answer] += 1
        print(f"{row:>3}  {shown}  {answer:<11}  {question}{': ' + why if why else ''}")
    print(", ".join(f"{count} {answer}" for answer, count in counts.items()))
    return 1 if counts["did not run"] else 0


if __name__ == "__main__":
    sys.exit(main())
