"""Runs a program by fcntl.ioctl and mmap.mmap: raw.py MODEL.anec OUTPUTS INPUT..."""
import fcntl
import mmap
import os
import stat
import struct
import sys

BO_INIT, BO_FREE, SUBMIT = 0xC0186441, 0xC0086442, 0xC0986443


def new_buffer(fd, size):
    argument = bytearray(struct.pack("<IIQQ", 0, 0, size, 0))
    fcntl.ioctl(fd, BO_INIT, argument, True)
    handle, _, size, offset = struct.unpack("<IIQQ", argument)
    return handle, mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=offset)


def places(n, c, h, w, plane, row):
    for p in range(n * c):
        for y in range(h):
            yield p * plane + y * row, w * 2


def main(model, outputs, *inputs):
    assert os.listdir("/dev/accel") == ["accel0"]
    assert os.path.exists("/dev/accel/accel0") and not os.path.exists("/dev/accel/accel1")
    assert os.access("/dev/accel/accel0", os.R_OK | os.W_OK)
    assert stat.S_ISCHR(os.stat("/dev/accel/accel0").st_mode)
    fd = os.open("/dev/accel/accel0", os.O_RDWR)
    assert stat.S_ISCHR(os.fstat(fd).st_mode)

    with open(model, "rb") as file:
        data = file.read()
    size, td_size, td_count, tsk_size, _, src_count, dst_count = struct.unpack_from("<QIIQQII", data)
    tiles = struct.unpack_from("<32I", data, 0x28)
    shapes = [struct.unpack_from("<6Q", data, 0xA8 + 48 * bar) for bar in range(32)]
    payload = data[len(data) - size :]

    bars = {bar: new_buffer(fd, count << 14) for bar, count in enumerate(tiles) if count}
    bootstrap, first = new_buffer(fd, 0x4000)
    bars[0][1][: len(payload)] = payload
    first[:td_size] = payload[:td_size]
    first[2] = 0x40

    assert src_count == len(inputs)
    for index, path in enumerate(inputs):
        bar = 4 + dst_count + index
        with open(path, "rb") as file:
            for at, length in places(*shapes[bar]):
                bars[bar][1][at : at + length] = file.read(length)
            assert not file.read()

    handles = [bars[bar][0] if bar in bars else 0 for bar in range(32)]
    submit = struct.pack("<QII32III", tsk_size, td_count, td_size, *handles, bootstrap, 0)
    # Immutable arguments of up to 1,024 bytes are copied, mutable ones are passed.
    fcntl.ioctl(fd, SUBMIT, submit)

    for index in range(dst_count):
        with open(f"{outputs}.{index}", "wb") as file:
            for at, length in places(*shapes[4 + index]):
                file.write(bars[4 + index][1][at : at + length])
    for handle, mapping in bars.values():
        fcntl.ioctl(fd, BO_FREE, struct.pack("<II", handle, 0))
        mapping.close()
    os.close(fd)


main(*sys.argv[1:])
