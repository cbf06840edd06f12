"""Exceptions that a simulation raises."""

from __future__ import annotations

from typing import Any


class SimPyException(Exception):
    """Base class of the exceptions of this package."""


class Interrupt(SimPyException):
    """Thrown into a process that is interrupted.

    Parameters
    ----------
    cause
        Why, as given to `Process.interrupt`.
    """

    def __init__(self, cause: Any):
        super().__init__(cause)

    def __str__(self) -> str:
        return f"{self.__class__.__name__}({self.cause!r})"

    @property
    def cause(self) -> Any:
        """Why the process was interrupted, or None."""
        return self.args[0]
