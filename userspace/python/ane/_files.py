"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import BinaryIO, Tuple, Union


def save(path: Union[str, bytes, os.PathLike[str], os.PathLike[bytes]], contents: bytes) -> None:
    """Writes a file beside its place, and gives it its name when it is complete.

    A full disk or a killed process leaves what was there before. A file that exists is replaced, and keeps its permissions.
    """
    # The target of a link is replaced, not the link.
    target = os.path.realpath(os.fsdecode(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        # A pipe or a terminal stays what it is, and takes the bytes as they come.
        with open(target, "wb") as file:
            file.write(contents)
        return
    try:
        _replace(target, contents, mode)
    except OSError as why:
        # The caller knows the file by its own name, and not by the one that it has until it is complete.
        raise OSError(why.errno, why.strerror, os.fspath(path)) from None


def _replace(target: str, contents: bytes, mode: Union[int, None]) -> None:
    partial, file = _partial(target)
    try:
        with file:
            file.write(contents)
        if mode is not None:
            os.chmod(partial, stat.S_IMODE(mode))
        os.replace(partial, target)
    except BaseException:
        # The error that matters is the one at hand.
        with suppress(OSError):
            os.unlink(partial)
        raise


def _partial(target: str) -> Tuple[str, BinaryIO]:
    """A new file beside `target`, by the names that the `ane` command uses. A killed process may have left some of them."""
    attempt = 0
    while True:
        name = f"{target}.{os.getpid()}-{attempt}.partial" if attempt else f"{target}.{os.getpid()}.partial"
        try:
            return name, open(name, "xb")
        except FileExistsError:
            if attempt == _ATTEMPTS_MAX:
                raise
            attempt += 1


_ATTEMPTS_MAX = 1000
"""Names that are tried, as many as the `ane` command tries."""
