"""Runs of a model in several processes, in which plain Python handlers run at the same time: each has a GIL of its own.

A worker is a process of the engine's run and reaches the others by shared memory (`src/model/workers.rs`). This file is
the side of the program that starts them: it hears Ctrl-C, and says why a run has ended. `_model_worker.py` is the
worker's.

Whatever ends a run or this process, the workers end: they are asked first, and killed where that is not enough.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing import connection
from typing import Any, Optional

from paceline import _model_worker
from paceline._ending import ends_with_program
from paceline._model_errors import HandlerError
from paceline._program import RunError

__all__ = ["run_in_workers"]

# How often Ctrl-C is looked for.
LOOK_S = 0.05
# How long workers may take to import the model and to compile its handlers.
START_LIMIT_S = 120.0
# How long the others may take to end after one has failed, until they are killed.
FAILED_GRACE_S = 5.0
# The same after Ctrl-C. A worker that does not end says in which handler it is, for which it gets the second half.
STOP_GRACE_S = 2 * _model_worker.GRACE_S


def _is_importable() -> bool:
    """Whether workers can import the program: not where it is typed into a notebook or an interpreter."""
    main = sys.modules["__main__"]
    return getattr(main, "__file__", None) is not None or getattr(main, "__spec__", None) is not None


def _pickled(model: Any) -> bytes:
    """The model as workers get it: its parameters, and where they import its class."""
    kind = type(model)
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is not None and not os.path.exists(file):
        # Each worker would try to import it, wherever the model is.
        raise RunError(f"workers import the program's file, and there is no {file}; allowed: a program in a file")
    where = None
    if "<locals>" in kind.__qualname__:
        where = "within a function"
    elif kind.__module__ == "__main__" and not _is_importable():
        where = "in a notebook or an interactive session"
    if where is None:
        try:
            return pickle.dumps(model)
        except Exception as error:
            raise RunError(f"workers cannot be given the model {kind.__name__}: {error}") from error
    try:
        import cloudpickle
    except ImportError:
        raise RunError(
            f"workers cannot import the model {kind.__name__}, which is defined {where}; allowed: a class in a module"
            ' or a file, or any class where cloudpickle is installed ("pip install cloudpickle")'
        ) from None
    return cloudpickle.dumps(model)


class _Workers:
    """The worker processes of a run. All methods but `__init__` are called by one thread, the supervisor's."""

    def __init__(self, count: int, stop: threading.Event):
        self._count = count
        self._stop = stop
        self._processes: list[Any] = []
        self._pipes: list[Any] = []
        # What a worker has said last, or how it ended.
        self.outcomes: dict[int, Any] = {}

    def run(self, order: tuple[Any, ...]) -> None:
        """Starts the workers, and leaves in `outcomes` what has become of each."""
        try:
            if self._start(order):
                self._finish()
        finally:
            for process in self._processes:
                process.kill()
            for process in self._processes:
                process.join()
            for pipe in self._pipes:
                pipe.close()

    def _start(self, order: tuple[Any, ...]) -> bool:
        """Whether all have the model and links to each other, and have been told to begin."""
        # The terminal sends Ctrl-C to all processes; workers hear of it from here. They inherit what this thread blocks.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        context = multiprocessing.get_context("spawn")
        try:
            for rank in range(self._count):
                here, there = context.Pipe()
                name = f"{_model_worker.NAME}{rank}"
                process = context.Process(
                    target=_model_worker.work, args=(there, rank, self._count), name=name, daemon=True
                )
                self._pipes.append(here)
                process.start()
                self._processes.append(process)
                there.close()
        except (AssertionError, OSError) as error:
            raise RunError(f"workers cannot be started: {error}") from error
        deadline = time.monotonic() + START_LIMIT_S
        for rank in range(self._count):
            self._tell(rank, order)
        path = self._answers([0], deadline)
        if path is None:
            return False
        others = range(1, self._count)
        for rank in others:
            self._tell(rank, path[0])
        if self._answers(others, deadline) is None:
            return False
        for rank in range(self._count):
            self._tell(rank, "begin")
        return True

    def _answers(self, ranks: Any, deadline: float) -> Optional[dict[int, Any]]:
        """What each of these says next; None where the run does not begin, for which `outcomes` has the reason."""
        answers: dict[int, Any] = {}
        while missing := [rank for rank in ranks if rank not in answers]:
            for rank, said in self._hear():
                if said[0] != "ready":
                    self.outcomes[rank] = said
                    return None
                answers[rank] = said[1]
            if self._stop.is_set():
                return None
            if time.monotonic() > deadline:
                self.outcomes[missing[0]] = ("late",)
                return None
        return answers

    def _finish(self) -> None:
        """Waits until all have ended, or do not end though they should."""
        deadline, has_asked = float("inf"), False
        while len(self.outcomes) < self._count:
            self.outcomes.update(self._hear())
            if self._stop.is_set() and not has_asked:
                has_asked = True
                for rank in range(self._count):
                    self._tell(rank, "stop")
                deadline = min(deadline, time.monotonic() + STOP_GRACE_S)
            # The others notice by themselves that one has failed.
            if any(said[0] != "done" for said in self.outcomes.values()):
                deadline = min(deadline, time.monotonic() + FAILED_GRACE_S)
            if time.monotonic() > deadline:
                for rank in range(self._count):
                    self.outcomes.setdefault(rank, ("stuck", None))

    def _tell(self, rank: int, message: Any) -> None:
        try:
            self._pipes[rank].send(message)
        except OSError:
            # It has ended: `_hear` finds that, and why.
            pass

    def _hear(self) -> list[tuple[int, Any]]:
        """What has come from workers that have not ended, or how they did; nothing after a while."""
        open_ranks = {self._pipes[rank]: rank for rank in range(self._count) if rank not in self.outcomes}
        heard = []
        for pipe in connection.wait(list(open_ranks), LOOK_S):
            rank = open_ranks[pipe]  # type: ignore[index]
            try:
                heard.append((rank, pickle.loads(pipe.recv_bytes())))  # type: ignore[union-attr]
            except (EOFError, OSError):
                self._processes[rank].join()
                heard.append((rank, ("died", self._processes[rank].exitcode)))
        return heard


def _explain(outcomes: dict[int, Any], has_begun: bool) -> BaseException:
    """The error to raise: what is the reason, and not what followed from it."""
    found: list[tuple[bool, BaseException]] = []
    for said in outcomes.values():
        if said[0] == "failed":
            error = _model_worker.unpacked(said[1])
            error.__cause__ = _model_worker.unpacked(said[2]) if said[2] else None
            found.append((said[3], error))
    handlers = [error for _, error in found if isinstance(error, HandlerError)]
    if handlers:
        # The first in simulated time, as in a run of one process.
        return min(handlers, key=lambda error: (error.time_ns or 0, error.lp or 0))
    for rank, said in sorted(outcomes.items()):
        if said[0] == "died":
            return RunError(_how_it_died(rank, said[1], has_begun))
        if said[0] == "late":
            return RunError(f"worker {rank} was not ready within {START_LIMIT_S:.0f} s")
    stuck = {rank: said[1] for rank, said in sorted(outcomes.items()) if said[0] == "stuck"}
    for rank, place in stuck.items():
        if place:
            return RunError(f"worker {rank} did not end when it was asked to: it is in {place}; it was killed")
    if found:
        # What workers say of others, such as that one is lost, counts where there is nothing else.
        return min(found, key=lambda each: each[0])[1]
    return RunError(f"worker {min(stuck)} did not end when it was asked to; it was killed")


def _how_it_died(rank: int, status: int, has_begun: bool) -> str:
    if status == _model_worker.UNGUARDED:
        return (
            "workers import the program's file, which starts a run at its top level; allowed: run(workers=...) below"
            ' `if __name__ == "__main__":`, or in a function that is called there'
        )
    try:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    except ValueError:
        how = f"was killed by signal {-status}"
    return f"worker {rank} {how}{'' if has_begun else ' before the run began: standard error may say why'}"


def run_in_workers(
    model: Any, settings: dict[str, Any], is_compiled: bool, count: int
) -> tuple[dict[str, Any], list[int], bytes]:
    """Runs `model` in so many processes: the summary, the LPs, and their final states one after the other."""
    current = multiprocessing.current_process()
    if current.name.startswith(_model_worker.NAME) and getattr(current, "_inheriting", False):
        # This process is a worker that imports the program's file. The one that started it raises the error.
        raise SystemExit(_model_worker.UNGUARDED)
    order = (_pickled(model), settings, is_compiled)
    stop, ended = threading.Event(), threading.Event()
    workers, faults = _Workers(count, stop), []

    def supervise() -> None:
        try:
            workers.run(order)
        except BaseException as error:
            faults.append(error)
        finally:
            ended.set()

    interrupted: Optional[BaseException] = None
    with ends_with_program() as ending:
        # On a thread of its own, so that no exception of a signal's handler strikes amid what it notes.
        threading.Thread(target=supervise, name="paceline-workers", daemon=True).start()
        while not ended.is_set():
            try:
                ended.wait(LOOK_S)
                if ending.is_set():
                    stop.set()
            except BaseException as error:
                interrupted = interrupted or error
                stop.set()
    if interrupted is not None and not isinstance(interrupted, KeyboardInterrupt):
        raise interrupted
    if faults:
        raise faults[0]
    outcomes = workers.outcomes
    if len(outcomes) == count and all(said[0] == "done" for said in outcomes.values()):
        return outcomes[0][1:]
    if not outcomes:
        # Nothing has begun that could be given.
        raise interrupted or RunError("the program ended before the run began")
    raise _explain(outcomes, has_begun=len(outcomes) == count)
