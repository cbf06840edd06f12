"""Runs that Python advances step by step."""

from __future__ import annotations

import contextlib
import json
import math
import numbers
import os
import tempfile
from typing import Any, Optional, Union

from paceline import _program, _scenario
from paceline._run import Folder, Run, Tables, html
from paceline._scenario import Overrides, Scenario

__all__ = ["StartedRun", "start"]

# The real time between two checkpoints that nobody asks for.
NEVER = "10000h"
# What the program says of a model of processes. A user of Python knows no option `--owned`.
OF_PROCESSES = "--owned is not for a model of processes"
REFUSAL = (
    "this is a model of processes, and only models of LPs are advanced from Python; paceline.run runs it, and meanwhile "
    "`paceline ctl step` in a terminal lets one process resume, and `paceline ctl why PROCESS` says what it waits for"
)
# A simulated time: seconds, or a text as in scenarios, such as "1.5h".
Time = Union[float, str]


class StartedRun:
    """A run that waits until it is asked to go on.

    However it is cut into steps, its result is that of the same run in one piece, unless events are sent to it.

    Attributes
    ----------
    time : float
        The simulated seconds that it has reached: everything before has happened.
    next_time : float
        When its next event is, in simulated seconds; infinite where none is left.
    events : int
        Events that have happened.
    lps : int
        How many LPs the model has.
    live_page : str or None
        The address of its live page, where it has one.
    """

    time: float
    next_time: float
    events: int
    lps: int
    live_page: Optional[str]

    def __init__(self, conversation: _program.Conversation, tables: tuple[str, Any]):
        self._conversation: Optional[_program.Conversation] = conversation
        self._tables = tables
        self._result: Optional[Run] = None
        self._ask("status")
        self.live_page = conversation.page()

    def run_until(self, time: Optional[Time] = None) -> bool:
        """Run all events before `time`, or before the horizon of the run if that is earlier.

        Parameters
        ----------
        time
            Simulated seconds, or a text such as ``"1.5h"``; without it, the horizon.

        Returns
        -------
        bool
            Whether events are left before the horizon.
        """
        return self._ask({"until": None if time is None else _text("time", time)})["reached"] == "time"

    def run_window(self) -> bool:
        """Run one window: from the next event on for the lookahead of the model.

        Returns
        -------
        bool
            Whether events are left before the horizon.
        """
        return self._ask("window")["reached"] == "time"

    def run_event(self) -> Optional[dict[str, Any]]:
        """Run the next event.

        Returns
        -------
        dict or None
            Which it was: `lp`, `time_s`, `event`, the LP's state `before` and `after`, and in `sent` what it sent, each
            with `to`, `time_s` and `event`. None where no event is left before the horizon.
        """
        return self._ask("event")["event"]

    def state(self, lp: int) -> Any:
        """The state of an LP: what serde makes of it in Rust, as dicts, lists, numbers and texts."""
        return self._ask({"state": _whole("lp", lp)})["state"]

    def states(self) -> list[Any]:
        """The states of all LPs, in the order of their numbers."""
        return self._ask("states")["states"]

    def send(self, lp: int, time: Time, event: Any) -> None:
        """Send an event to an LP, at a time at which nothing has happened yet.

        It is in the digest as any other. It has the form in which `run_event` shows events.

        Raises
        ------
        ValueError
            There is no such LP, the time is over, or the model has no such event.
        """
        self._ask({"send": {"to": _whole("lp", lp), "at": _text("time", time), "event": event}})

    def parameters(self) -> list[dict[str, Any]]:
        """The parameters that can be changed while the run goes on.

        Returns
        -------
        list of dict
            Each with `name`, `unit`, the `value` now, `least` and `most`; durations are texts as in scenarios.
        """
        return self._ask("parameters")["parameters"]

    def set(self, name: str, value: Time, time: Optional[Time] = None) -> float:
        """Change a parameter from a simulated time on.

        The result is that of a scenario that has the same change in ``[[run.change]]``.

        Parameters
        ----------
        name
            The parameter, such as ``"model.cycle"``.
        value
            A number, or a duration as in scenarios, such as ``"60s"``.
        time
            Simulated seconds, or a text such as ``"1.5h"``, at which nothing has happened yet; without it, the earliest.

        Returns
        -------
        float
            The simulated seconds from which on it holds.

        Raises
        ------
        ValueError
            The model declares no such parameter, its range excludes the value, or the time is over.
        """
        to = value if isinstance(value, str) else repr(float(value))
        at = None if time is None else _text("time", time)
        return self._ask({"set": {"set": name, "to": to, "at": at}})["at_s"]

    def checkpoint(self) -> None:
        """Write a checkpoint into the file that `start` was given. `resume` continues from it."""
        self._ask("checkpoint")

    def set_threads(self, threads: int) -> None:
        """Go on with so many threads. The result stays."""
        self._ask({"threads": _whole("threads", threads)})

    def finish(self) -> Run:
        """End the run where it is.

        Returns
        -------
        Run
            Its summary and tables: those of the whole run where no event is left, or the ones so far.
        """
        if self._result is None:
            summary = json.loads(self._open().finish())
            self._conversation = None
            self._result = Run(summary, Tables(*self._tables))
        return self._result

    def close(self) -> None:
        """End the run without results. A run that has ended stays as it is."""
        if self._conversation is not None:
            self._conversation.close()
            self._conversation = None

    def _open(self) -> _program.Conversation:
        if self._conversation is None:
            raise _program.RunError("the run has ended")
        return self._conversation

    def _ask(self, request: Any) -> dict[str, Any]:
        try:
            said = self._open().ask(request)
        except (_program.RunError, _program.ScenarioError):
            self._conversation = None
            raise
        self.time, self.next_time = (
            math.inf if said[name] is None else said[name] for name in ("time_s", "next_time_s")
        )
        self.events, self.lps = said["events"], said["lps"]
        return said

    def __enter__(self) -> StartedRun:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Without a run where it could not be started.
        if getattr(self, "_conversation", None) is not None:
            self.close()

    def _facts(self) -> list[tuple[str, Any]]:
        is_over = "ended" if self._conversation is None else "waits"
        return [("run", is_over), *((name, getattr(self, name)) for name in ("time", "next_time", "events", "lps"))]

    def __repr__(self) -> str:
        return "<StartedRun " + ", ".join(f"{name}={value}" for name, value in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return html(self._facts())


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    whole = int(value)
    if not 0 <= whole < 2**32:
        raise ValueError(f"{name} is {value}; allowed: 0 to {2**32 - 1}")
    return whole


def _text(name: str, time: Any) -> str:
    """A time as scenarios have it."""
    if isinstance(time, str):
        return time
    if isinstance(time, bool) or not isinstance(time, numbers.Real):
        raise TypeError(f"{name} must be a number of seconds or a text such as '1.5h', not {type(time).__name__}")
    if not 0 <= float(time) < math.inf:
        raise ValueError(f"{name} is {time}; allowed: a finite number from 0")
    # The clock has nanoseconds.
    return f"{time}s" if isinstance(time, numbers.Integral) else f"{float(time):.9f}s"


def start(
    scenario: Scenario,
    overrides: Overrides = None,
    threads: Optional[int] = None,
    out: Optional[Folder] = None,
    checkpoint: Optional[Folder] = None,
    live: _program.Live = False,
) -> StartedRun:
    """Start a run of a model of LPs, which waits before its first event.

    Parameters
    ----------
    scenario, overrides, threads, out
        As `run` takes them.
    checkpoint
        The file of the run's checkpoints; without it there are none. They are written when `checkpoint` is called, and
        besides as often as ``run.checkpoint`` in `overrides` says.
    live
        As `run` takes it; `StartedRun.live_page` is the address. The page shows the run and steers it beside Python.

    Returns
    -------
    StartedRun
        To be used in a ``with`` statement, or ended by `finish` or `close`. It stops when this process ends.

    Raises
    ------
    ScenarioError
        A mistake in the scenario or in `overrides`, or a model of processes.
    RunError
        The run failed.

    Examples
    --------
    >>> with paceline.start("scenarios/phold.toml") as run:  # doctest: +SKIP
    ...     while run.run_until(run.time + 1):
    ...         print(run.time, run.states())
    ...     print(run.finish().digest)
    """
    keep = None if out is not None else tempfile.TemporaryDirectory(prefix="paceline-")
    folder = keep.name if keep is not None else os.fspath(out or "")
    more = []
    if checkpoint is not None:
        more = ["--checkpoint", os.fspath(checkpoint)]
        overrides = {"run.checkpoint": NEVER, **(overrides or {})}
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(_scenario.path(scenario))
        options = ["--out", folder, "--parquet", *more, *_program.live_options(live)]
        options += _scenario.options(overrides, threads=threads)
        # The program has read the scenario when it has answered.
        try:
            return StartedRun(_program.Conversation("run", path, *options), (folder, keep))
        except _program.ScenarioError as error:
            if not str(error).startswith(OF_PROCESSES):
                raise
            raise _program.ScenarioError(REFUSAL) from None
