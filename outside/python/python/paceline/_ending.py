"""What becomes of runs on daemon threads when the interpreter exits: they end before it does."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from typing import Iterator

__all__ = ["ends_with_program"]


@contextlib.contextmanager
def ends_with_program() -> Iterator[threading.Event]:
    """An event that is set when the interpreter is about to exit, which then waits for the end of the `with`.

    A thread that calls Python after that would be ended within compiled code, which aborts the process.
    """
    ending, ended = threading.Event(), threading.Event()

    owner = os.getpid()

    def end() -> None:
        # A process that was forked meanwhile has this function, and no thread that would set `ended`.
        if os.getpid() == owner:
            ending.set()
            ended.wait()

    atexit.register(end)
    try:
        yield ending
    finally:
        ended.set()
        atexit.unregister(end)
