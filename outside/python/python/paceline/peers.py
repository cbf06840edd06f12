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

import inspect
import os
import pathlib
import traceback
from typing import Any, Callable, Coroutine, Generator, Optional, Union

from paceline import _native
from paceline._ending import ends_with_program
from paceline._program import RunError

__all__ = ["Context", "Process", "RequestError", "Rng", "Run", "Simulation"]

Host = Union[str, int]
Body = Callable[..., Coroutine[Any, Any, None]]


class RequestError(Exception):
    """What a process waited for has failed: a time limit is over, a host or a link is off, the other side has ended.

    Attributes
    ----------
    kind : str
        The name of the error in Rust: `TimedOut`, `HostOff`, `LinkOff`, `GivenUp`, `NoRoute`, `Elsewhere`, `Unknown` or
        `Interrupted`.
    """

    def __init__(self, message: str, kind: str):
        super().__init__(message)
        self.kind = kind


class _Request:
    """What a process asks for when it awaits this."""

    __slots__ = ("_asked",)

    def __init__(self, *asked: Any):
        self._asked = asked

    def __await__(self) -> Generator[tuple[Any, ...], Any, Any]:
        return (yield self._asked)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    return float(value)


def _limit(value: Any) -> Optional[float]:
    return None if value is None else _number("limit", value)


def _mailbox(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a mailbox is named by a str, not {type(value).__name__}")
    return value


def _begin(name: str, body: Body, arguments: tuple[Any, ...]) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """What makes the coroutine of a process, of its turn."""
    if not inspect.iscoroutinefunction(body):
        raise TypeError(f"process {name}: its body is an `async def`, not {getattr(body, '__name__', body)!r}")
    return lambda turn: body(Context(turn), *arguments)


class Process:
    """A process that another has spawned.

    Attributes
    ----------
    id : int
        Its number among all processes of the run.
    """

    __slots__ = ("id",)

    def __init__(self, number: int):
        self.id = number

    def __repr__(self) -> str:
        return f"<Process {self.id}>"


class Rng:
    """The random numbers of a process: those of a process in Rust with the same seed and number."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Any):
        self._turn = turn

    def unit(self) -> float:
        """A number from 0 to before 1, each alike."""
        return self._turn.unit()

    def below(self, n: int) -> int:
        """An int from 0 to before `n`, each alike; 0 where `n` is 0."""
        return self._turn.below(n)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._turn.chance(probability)

    def exponential(self, mean: float) -> float:
        """An exponential variate, in the unit of `mean`."""
        return self._turn.exponential(mean)

    def normal(self, mean: float, deviation: float) -> float:
        """A normal variate with this mean and standard deviation."""
        return self._turn.normal(mean, deviation)


class Context:
    """What a process acts by. It is for the process's own code; elsewhere its methods raise a RuntimeError.

    What takes simulated time is awaited. A wait that fails raises a `RequestError`. Times and limits are in seconds.
    """

    __slots__ = ("_turn", "rng")

    def __init__(self, turn: Any):
        self._turn = turn
        self.rng = Rng(turn)

    @property
    def now(self) -> float:
        """The simulated time, in seconds."""
        return self._turn.now_ns() / 1e9

    @property
    def now_ns(self) -> int:
        """The simulated time, in nanoseconds."""
        return self._turn.now_ns()

    @property
    def id(self) -> int:
        """The number of the process among all of the run."""
        return self._turn.id()

    @property
    def name(self) -> str:
        """The name with which it was spawned."""
        return self._turn.name()

    @property
    def host(self) -> int:
        """The number of its host, in the order of the platform."""
        return self._turn.host()

    def sleep(self, seconds: float) -> _Request:
        """Does nothing for so long."""
        return _Request("sleep", _number("sleep: seconds", seconds))

    def sleep_until(self, time: float) -> _Request:
        """Sleeps until a time."""
        return _Request("sleep_until", _number("sleep_until: time", time))

    def yield_now(self) -> _Request:
        """Lets all other processes run that can at this instant."""
        return _Request("yield")

    def compute(self, flops: float) -> _Request:
        """Computes so many flops, which others on the host compute beside."""
        return _Request("compute", _number("compute: flops", flops))

    def send(self, to: str, payload: Any, bytes: float, limit: Optional[float] = None) -> _Request:
        """Sends any object to a mailbox and waits until it has arrived. It is handed over as it is, not copied."""
        return _Request("send", _mailbox(to), payload, _number("send: bytes", bytes), _limit(limit))

    def send_detached(self, to: str, payload: Any, bytes: float) -> None:
        """Sends a message without hearing of it again."""
        self._turn.send_detached(_mailbox(to), payload, _number("send_detached: bytes", bytes))

    def receive(self, mailbox: str, limit: Optional[float] = None) -> _Request:
        """Waits for a message; what that is, is the value."""
        return _Request("receive", _mailbox(mailbox), _limit(limit))

    async def spawn(self, name: str, host: Host, body: Body, *arguments: Any) -> Process:
        """Spawns a process on a host; it starts in the next round of this instant."""
        return Process(await _Request("spawn", name, host, _begin(name, body, arguments)))

    def join(self, process: Process, limit: Optional[float] = None) -> _Request:
        """Waits until another process has ended."""
        return _Request("join", process.id, _limit(limit))

    def kill(self, process: Process) -> None:
        """Ends another process when this one waits next; one that has ended stays so."""
        self._turn.kill(process.id)

    def daemonize(self) -> None:
        """The run no longer waits for this process to end."""
        self._turn.daemonize()

    def record(self, number: int) -> None:
        """Has a number from 0 to 2^64 - 1 enter the digest."""
        self._turn.record(number)


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

    def spawn(self, name: str, host: Host, body: Body, *arguments: Any) -> Process:
        """Adds a process that starts at time 0: ``body(cx, *arguments)``, on a host of this name or number."""
        self._processes.append((name, host, _begin(name, body, arguments)))
        return Process(len(self._processes) - 1)

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
            summary, error = _native.run_peers(self._platform, self._processes, settings, RequestError, ending)
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
