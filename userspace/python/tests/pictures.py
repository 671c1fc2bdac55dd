"""Screenshots, made small: what a page looks like from far away, to be stored and compared.

A picture becomes a grid of grey cells, each the mean of 10 by 10 pixels. Another way of smoothing the edges of letters changes a
cell by little, and so does a page that moves by a pixel; a line of text that is gone, a bar of another length or a page in the
wrong colours changes some cells by a lot. Grids are stored as PNG files of a few kilobytes, which people can look at.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy
from numpy.typing import NDArray

Grey = NDArray[numpy.uint8]

CELL = 10
"""Pixels of a cell, along either axis."""

CHANGED = 24
"""By how many of 256 shades a cell has to differ to count as another one."""

SHARE = 0.001
"""Which share of the cells may do so (chosen: with other hinting of letters, or moved by one pixel, none does; a missing line of text
changes more)."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read(path: Path) -> Grey:
    """A PNG file in shades of grey: 8 bits a channel, not interlaced, which is what browsers write."""
    file = path.read_bytes()
    assert file.startswith(_SIGNATURE), path
    at, packed, header = len(_SIGNATURE), b"", b""
    while at < len(file):
        (length,), kind = struct.unpack_from(">I", file, at), file[at + 4 : at + 8]
        contents = file[at + 8 : at + 8 + length]
        header = contents if kind == b"IHDR" else header
        packed += contents if kind == b"IDAT" else b""
        at += length + 12
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    channels = {0: 1, 2: 3, 6: 4}[colour]
    assert depth == 8 and interlace == 0, path
    lines = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, 1 + width * channels)
    shown = numpy.zeros((height, width * channels), numpy.uint8)
    above = numpy.zeros(width * channels, numpy.uint8)
    for line, to in zip(lines, shown):
        above = to[:] = _unfiltered(int(line[0]), line[1:], above, channels)
    pixels = shown.reshape(height, width, channels).astype(numpy.float64)
    if channels >= 3:
        return (pixels[..., :3] @ [0.299, 0.587, 0.114]).round().astype(numpy.uint8)
    return pixels[..., 0].astype(numpy.uint8)


def _unfiltered(kind: int, line: Grey, above: Grey, channels: int) -> Grey:
    """A line as it was before the encoder took neighbours off it."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        # Each channel is a running sum, modulo 256.
        return numpy.cumsum(line.reshape(-1, channels), axis=0, dtype=numpy.uint8).reshape(-1)
    known = [0] * len(line)
    up = above.tolist()
    for at, number in enumerate(line.tolist()):
        left = known[at - channels] if at >= channels else 0
        corner = up[at - channels] if at >= channels else 0
        if kind == 3:
            guess = (left + up[at]) // 2
        else:
            sum_ = left + up[at] - corner
            guess = min((abs(sum_ - left), 0, left), (abs(sum_ - up[at]), 1, up[at]), (abs(sum_ - corner), 2, corner))[2]
        known[at] = (number + guess) & 255
    return numpy.array(known, numpy.uint8)


def write(path: Path, grey: Grey) -> None:
    """Writes shades of grey as a PNG file."""

    def chunk(kind: bytes, contents: bytes) -> bytes:
        return struct.pack(">I", len(contents)) + kind + contents + struct.pack(">I", zlib.crc32(kind + contents))

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def small(grey: Grey) -> Grey:
    """The grid of a picture; pixels that do not fill a cell are left out."""
    rows, columns = grey.shape[0] // CELL, grey.shape[1] // CELL
    cells = grey[: rows * CELL, : columns * CELL].reshape(rows, CELL, columns, CELL)
    return cells.mean(axis=(1, 3)).round().astype(numpy.uint8)


def share_changed(one: Grey, other: Grey) -> float:
    """Which share of the cells of two grids differ; all of them if the grids have other sizes."""
    if one.shape != other.shape:
        return 1.0
    return float((numpy.abs(one.astype(int) - other.astype(int)) > CHANGED).mean())
