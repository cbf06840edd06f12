"""A worker process of a run of a model: what it does from its start to its end. `_model_workers.py` starts it.

It gets the model, tells that it is ready, runs its part of the federates, and says what came of it. One thread listens
meanwhile, and ends the process when nobody is left who would want the result.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from typing import Any, Optional

from paceline import _native
from paceline._program import RunError

__all__ = ["GRACE_S", "NAME", "UNGUARDED", "unpacked", "work"]

# Names of workers begin with it.
NAME = "paceline-worker-"
# The exit status of a worker that was about to start workers while it imported the program's file.
UNGUARDED = 87
# After this time a worker that was asked to end says in which handler it is.
GRACE_S = 5.0


def work(pipe: Any, rank: int, workers: int) -> None:
    """The life of the worker `rank` of so many."""
    try:
        parts, settings = _prepare(*pipe.recv())
        links = _native.Links(rank, workers, None if rank == 0 else pipe.recv())
        _say(pipe, ("ready", links.path()))
        pipe.recv()
    except EOFError:
        # Whoever started it is gone.
        return
    except Exception as error:
        _say(pipe, _failed(error))
        return
    ending, ended = threading.Event(), threading.Event()
    threading.Thread(target=_listen, args=(pipe, ending, ended), daemon=True).start()
    try:
        summary, rest = _native.run_model(parts.native, settings, ending, links)
        said: tuple[Any, ...] = ("done", summary, *rest) if rank == 0 and summary is not None else ("done",)
        if summary is None:
            said = parts.failed(rest)
    except Exception as error:
        said = _failed(error)
    ended.set()
    _say(pipe, said)


class _Parts:
    """What the engine needs of a model, and its name."""

    def __init__(self, model: Any, is_compiled: bool):
        from paceline._model import parts_of

        self.native, self._handlers, self._name = parts_of(model, is_compiled)

    def failed(self, said: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is said of an error of the run."""
        from paceline._model_errors import explain

        # What it says of other workers is no reason, but follows from one.
        return _failed(explain(self._name, *said), is_of_others=said[0] == "worker")


def _prepare(model: bytes, settings: dict[str, Any], is_compiled: bool) -> tuple[_Parts, dict[str, Any]]:
    try:
        loaded = pickle.loads(model)
    except Exception as error:
        raise RunError(
            f"workers cannot import the model: {type(error).__name__}: {error}; allowed: a class of a module or a file"
            " that can be imported"
        ) from error
    return _Parts(loaded, is_compiled), settings


def _failed(error: Exception, is_of_others: bool = False) -> tuple[Any, ...]:
    """What is said of an exception: itself, its cause, and whether it follows from what another worker says."""
    cause = error.__cause__
    # `__cause__` is not part of what is pickled.
    return ("failed", _packed(error), None if cause is None else _packed(cause), is_of_others)


def _packed(error: BaseException) -> tuple[bytes, str]:
    """The exception, with its traceback as a note, as bytes; and its text, for where these cannot be read."""
    lines = traceback.format_tb(error.__traceback__)
    if lines:
        error.add_note("In the worker:\n" + "".join(lines).rstrip())
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    try:
        return pickle.dumps(error), text
    except Exception:
        return b"", text


def unpacked(packed: tuple[bytes, str]) -> BaseException:
    """The exception that a worker has packed; a RuntimeError with its text if it cannot be had here."""
    try:
        error = pickle.loads(packed[0])
        if isinstance(error, BaseException):
            return error
    except Exception:
        # Of a class that cannot be pickled, or imported here.
        pass
    return RuntimeError(packed[1])


def _say(pipe: Any, said: tuple[Any, ...]) -> None:
    try:
        pipe.send_bytes(pickle.dumps(said))
    except OSError:
        # Nobody is left who would read it.
        pass


def _listen(pipe: Any, ending: threading.Event, ended: threading.Event) -> None:
    """Asks the run to stop when whoever started it says so, and ends the process when that one is gone."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        if not ended.is_set():
            os._exit(1)
        return
    ending.set()
    if not ended.wait(GRACE_S):
        _say(pipe, ("stuck", _where()))


def _where() -> Optional[str]:
    """The line of the program that is run now, of a thread of the engine."""
    mine = {thread.ident for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)}
    folder = os.path.dirname(__file__) + os.sep
    for thread, frame in sys._current_frames().items():
        stack = traceback.extract_stack(frame)
        lines = [line for line in stack if not line.filename.startswith(folder)]
        if thread not in mine and lines:
            return f"{lines[-1].name}, {lines[-1].filename}:{lines[-1].lineno}"
    return None
