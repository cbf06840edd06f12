"""Processes on SimGrid's platforms, in Python: coroutines that compute, sleep and send each other messages.

    import paceline.peers as peers

    async def ping(cx):
        await cx.send("pong", "hello", bytes=1e6)

    async def pong(cx):
        print(await cx.receive("pong"), "at", cx.now)

    world = peers.Simulation("platform.xml")
    world.spawn("ping", "host-0", ping)
    world.spawn("pong", "host-1", pong)
    print(world.run().digest)

The digest is that of a program in Rust that spawns and asks for the same in the same order.
"""

from __future__ import annotations

import os
import pathlib
import traceback
from typing import Any, Optional, Union

from paceline import _native
from paceline._ending import ends_with_program
from paceline._peers_context import (
    Body,
    Context,
    Host,
    Mailbox,
    Matched,
    Process,
    RequestError,
    Rng,
    begin,
    capacity_of,
    mailbox_of,
    room_of,
)
from paceline._peers_objects import (
    Activity,
    Barrier,
    Condition,
    Container,
    Held,
    Lock,
    Mutex,
    Queue,
    Resource,
    Semaphore,
    Served,
    Store,
)
from paceline._program import RunError

__all__ = [
    "Activity",
    "Barrier",
    "Condition",
    "Container",
    "Context",
    "Held",
    "Lock",
    "Matched",
    "Mutex",
    "Process",
    "Queue",
    "RequestError",
    "Resource",
    "Rng",
    "Run",
    "Semaphore",
    "Served",
    "Simulation",
    "Store",
]


class Run:
    """A run of processes that has ended.

    Attributes
    ----------
    summary : dict
        Times, counts and digest.
    """

    def __init__(self, summary: dict[str, Any]):
        self.summary = summary

    @property
    def digest(self) -> str:
        """A number over what has happened, equal on any number of threads, and to that of the same program in Rust."""
        return self.summary["digest"]

    @property
    def end_time(self) -> float:
        """The simulated time at the end, in seconds."""
        return self.summary["end_time_s"]

    @property
    def ended_by(self) -> str:
        """Why the run ended: `processes`, `horizon` or `interrupted`."""
        return self.summary["ended_by"]

    def __repr__(self) -> str:
        names = ["processes", "messages", "end_time_s", "ended_by", "digest"]
        return "<Run: " + ", ".join(f"{name}={self.summary[name]}" for name in names) + ">"


class Simulation:
    """Processes on the hosts of a platform of SimGrid.

    Parameters
    ----------
    platform : path or str
        A platform file, or its text.
    network : str
        The model of transfers, SimGrid's `LV08` or `CM02`.
    """

    def __init__(self, platform: Union[str, "os.PathLike[str]"], network: str = "LV08"):
        given = os.fspath(platform)
        if "<" in given:
            self._platform = ("platform.xml", given)
        else:
            self._platform = (given, pathlib.Path(given).read_text())
        self._network = network
        self._processes: list[tuple[str, Host, Any]] = []
        self._objects: list[tuple[Any, Host, str, float, float]] = []
        self._places: list[tuple[Any, Host]] = []

    def spawn(self, name: str, host: Host, body: Body, *arguments: Any) -> Process:
        """Adds a process that starts at time 0: ``body(cx, *arguments)``, on a host of this name or number."""
        self._processes.append((name, host, begin(name, body, arguments)))
        return Process(len(self._processes) - 1)

    def resource(self, host: Host, capacity: int) -> Resource:
        """A resource of so many units that is there when the run begins."""
        made = Resource()
        self._objects.append((made, host, "resource", capacity_of(capacity), 0.0))
        return made

    def store(self, host: Host, room: Optional[int] = None) -> Store:
        """A store that is there when the run begins, with room for so many items or for any number."""
        made, bound = Store(), room_of(room)
        self._objects.append((made, host, "store", float("inf") if bound is None else bound, 0.0))
        return made

    def container(self, host: Host, capacity: float = float("inf"), level: float = 0.0) -> Container:
        """A container that is there when the run begins, and what is in it at first."""
        made = Container()
        self._objects.append((made, host, "container", float(capacity), float(level)))
        return made

    def place(self, mailbox: Mailbox, host: Host) -> None:
        """Has a mailbox stand at a host: messages to it flow at once, before a receiver is there."""
        self._places.append((mailbox_of(mailbox), host))

    def run(self, until: Optional[float] = None, *, seed: int = 1, threads: int = 1) -> Run:
        """Runs until all processes have ended, or to `until`, in seconds, or to Ctrl-C.

        Parameters
        ----------
        until : float, optional
            What happens at it still happens.
        seed : int
            The seed of all random numbers.
        threads : int
            How many threads run processes of one instant. As these need the GIL, more than one are seldom faster.

        Raises
        ------
        RunError
            A process that raised, which is its ``__cause__``; or no process can go on, with what each waits for.
        ValueError
            A platform that cannot be read, a host that is not there.
        """
        settings = {"model": self._network, "seed": seed, "until_s": until, "threads": threads}
        with ends_with_program() as ending:
            given = {"processes": self._processes, "objects": self._objects, "places": self._places}
            summary, error = _native.run_peers(self._platform, given, settings, RequestError, ending)
        if summary is not None:
            return Run(summary)
        text, number, name, time, raised = error
        if raised is None:
            raise RunError(text)
        said = "".join(traceback.format_exception_only(type(raised), raised)).strip()
        folder = os.path.dirname(__file__) + os.sep
        frames = [f for f in traceback.extract_tb(raised.__traceback__) if not f.filename.startswith(folder)]
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        raise RunError(f"{place}process {number} `{name}` at {time} s: {said}") from raised


# What people read in tracebacks: where they import it from.
for _kind in (Context, Matched, Process, RequestError, Rng):
    _kind.__module__ = __name__
for _object in (Activity, Barrier, Condition, Container, Held, Lock, Mutex, Queue, Resource, Semaphore, Served, Store):
    _object.__module__ = __name__
