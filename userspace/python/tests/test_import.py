"""The time of `import ane`."""

from __future__ import annotations

import os
import sys
from statistics import median


def processor_seconds(words: str) -> float:
    """What a script takes of a processor. A busy machine makes it wait, which does not count."""
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", words])
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime


def test_import_takes_less_than_a_tenth_of_a_second_beyond_an_empty_script() -> None:
    processor_seconds("import ane")
    beyond = [processor_seconds("import ane") - processor_seconds("pass") for _ in range(9)]
    assert median(beyond) < 0.1, beyond
