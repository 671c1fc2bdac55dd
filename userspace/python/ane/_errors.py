"""What can go wrong, as exceptions.

Wrong arguments raise :class:`TypeError` and :class:`ValueError` as anywhere in Python. Everything else is an
:class:`Error`, and says in :attr:`Error.hint` what to try.
"""

from __future__ import annotations

from typing import Mapping, Optional, Sequence, Tuple

from ._data import Problem
from ._data import problem as _problem


class Error(Exception):
    """What everything that this package raises has in common."""

    hint: Optional[str]
    """What to try."""

    def __init__(self, message: str, *, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class FormatError(Error, ValueError):
    """A file that holds no program, or a damaged one."""


class ModelError(FormatError):
    """A model that becomes no program. :attr:`problems` has what of it cannot be mapped, all at once."""

    problems: Tuple[Problem, ...]
    """The layers and inputs that cannot be mapped; none where the file is damaged."""

    def __init__(
        self, message: str, *, hint: Optional[str] = None, problems: Sequence[Mapping[str, object]] = ()
    ) -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(map(_problem, problems))


class BuildError(Error, ValueError):
    """A graph that the engine cannot run, or an operand that does not fit an operation."""


class DeviceError(Error, OSError):
    """There is no device, it is lost, or it cannot do what was asked."""


class ForkError(Error, RuntimeError):
    """Something of the parent process was used in a child."""


class BusyError(Error, RuntimeError):
    """A thread that runs a program asked for the same program again, as a signal handler can."""


class RunError(Error):
    """The engine did not run a program to its end."""

    outcome: str
    """What became of the request, such as ``ended with EIO``."""
    reason: Optional[str]
    """What the device says of it; ``None`` where it does not tell."""
    task: Optional[int]
    """The task that failed."""
    register: Optional[str]
    """The register to blame."""
    field: Optional[str]
    """The field of the register, where a single one is to blame."""
    address: Optional[int]
    """Record address of the register; of a fault, the device address."""
    bits: Optional[int]
    """The bits to blame."""
    value: Optional[int]
    """The register's value."""
    category: Optional[str]
    """What kind of refusal it is: undefined, unpredictable, unsupported, unimplemented, would hang."""

    def __init__(
        self,
        message: str,
        *,
        hint: Optional[str] = None,
        outcome: str = "",
        reason: Optional[str] = None,
        task: Optional[int] = None,
        register: Optional[str] = None,
        field: Optional[str] = None,
        address: Optional[int] = None,
        bits: Optional[int] = None,
        value: Optional[int] = None,
        category: Optional[str] = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.outcome = outcome
        self.reason = reason
        self.task = task
        self.register = register
        self.field = field
        self.address = address
        self.bits = bits
        self.value = value
        self.category = category


class RefusedError(RunError):
    """The engine does not execute a task: its registers say something that is not established."""


class HangError(RunError):
    """A task hung the engine, and its queue was aborted."""


class FaultError(RunError):
    """A task read or wrote where nothing is mapped, or where it may not."""

    write: Optional[bool]
    """True if it was a write."""
    fault: Optional[str]
    """The whole descriptor of the fault, as drivers print it."""

    def __init__(
        self,
        message: str,
        *,
        hint: Optional[str] = None,
        outcome: str = "",
        reason: Optional[str] = None,
        task: Optional[int] = None,
        address: Optional[int] = None,
        write: Optional[bool] = None,
        fault: Optional[str] = None,
    ) -> None:
        super().__init__(message, hint=hint, outcome=outcome, reason=reason, task=task, address=address)
        self.write = write
        self.fault = fault
