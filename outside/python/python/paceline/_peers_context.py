"""What a process in Python is given to act by; `paceline.peers` has these classes."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Coroutine, NamedTuple, Optional, Sequence, Union

from paceline._peers_objects import (
    Activity,
    Barrier,
    Condition,
    Container,
    Mutex,
    Queue,
    Request,
    Resource,
    Semaphore,
    Store,
    count,
    limit_of,
    number,
)

__all__ = [
    "Body",
    "Context",
    "Host",
    "Mailbox",
    "Matched",
    "Process",
    "RequestError",
    "Rng",
    "begin",
    "capacity_of",
    "mailbox_of",
    "room_of",
]

Host = Union[str, int]
Mailbox = Union[str, int, "Matched"]
Body = Callable[..., Coroutine[Any, Any, None]]


class RequestError(Exception):
    """What a process waited for has failed: a time limit is over, a host or a link is off, the other side has ended.

    Attributes
    ----------
    kind : str
        The name of the error in Rust: `TimedOut`, `HostOff`, `LinkOff`, `GivenUp`, `NoRoute`, `Elsewhere`, `Unknown` or
        `Interrupted`; of resources also `Balked`, `TooMuch` and `Preempted`.
    left : float or None
        Where a hold or a service was interrupted or preempted: what was left of it, in seconds.
    cause : object
        What the process that interrupted has said.
    """

    def __init__(self, message: str, kind: str, left: Optional[float] = None, cause: Any = None):
        super().__init__(message)
        self.kind = kind
        self.left = left
        self.cause = cause


class Matched(NamedTuple):
    """A mailbox by receiver, sender and tag, numbers from 0 on which the processes agree, as in MPI.

    Who receives may leave sender and tag open, by None: it gets the message that was sent first of those that fit.
    """

    to: int
    sender: Optional[int] = None
    tag: Optional[int] = None


def mailbox_of(value: Any) -> Any:
    if isinstance(value, str) or isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Matched):
        return (value.to, value.sender, value.tag)
    raise TypeError(f"a mailbox is named by a str, an int or a Matched, not {type(value).__name__}")


def capacity_of(capacity: Any) -> int:
    return count("resource: capacity", capacity)


def room_of(room: Any) -> Optional[int]:
    return None if room is None else count("store: room", room)


def begin(name: str, body: Body, arguments: tuple[Any, ...]) -> Callable[[Any], Coroutine[Any, Any, None]]:
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

    def sleep(self, seconds: float) -> Request:
        """Does nothing for so long."""
        return Request("sleep", number("sleep: seconds", seconds))

    def sleep_until(self, time: float) -> Request:
        """Sleeps until a time."""
        return Request("sleep_until", number("sleep_until: time", time))

    def yield_now(self) -> Request:
        """Lets all other processes run that can at this instant."""
        return Request("yield")

    def compute(self, flops: float) -> Request:
        """Computes so many flops, which others on the host compute beside."""
        return Request("compute", number("compute: flops", flops))

    def hold(self, seconds: float) -> Request:
        """Does nothing for so long, unless another process interrupts it or takes units away that it holds."""
        return Request("hold", number("hold: seconds", seconds))

    def interrupt(self, process: Process, cause: Any = None) -> None:
        """Interrupts what another process waits for, with a `RequestError` of the kind `Interrupted`; no sleep."""
        self._turn.interrupt(process.id, cause)

    def interruption(self) -> Request:
        """Why the latest wait for a message or the like was interrupted, a `RequestError`, or None."""
        return Request("interruption")

    def send(self, to: Mailbox, payload: Any, bytes: float, limit: Optional[float] = None) -> Request:
        """Sends any object to a mailbox and waits until it has arrived. It is handed over as it is, not copied."""
        return Request("send", mailbox_of(to), payload, number("send: bytes", bytes), limit_of(limit))

    def send_detached(self, to: Mailbox, payload: Any, bytes: float) -> None:
        """Sends a message without hearing of it again."""
        self._turn.send_detached(mailbox_of(to), payload, number("send_detached: bytes", bytes))

    def receive(self, mailbox: Mailbox, limit: Optional[float] = None) -> Request:
        """Waits for a message; what that is, is the value."""
        return Request("receive", mailbox_of(mailbox), limit_of(limit))

    def start_send(self, to: Mailbox, payload: Any, bytes: float) -> Activity:
        """Begins to send."""
        return Activity(self._turn.start_send(mailbox_of(to), payload, number("start_send: bytes", bytes)))

    def start_receive(self, mailbox: Mailbox) -> Activity:
        """Begins to receive; the message is what `Activity.wait` gives."""
        return Activity(self._turn.start_receive(mailbox_of(mailbox)))

    def start_compute(self, flops: float) -> Activity:
        """Begins to compute."""
        return Activity(self._turn.start_compute(number("start_compute: flops", flops)))

    def wait_any(self, activities: Sequence[Activity], limit: Optional[float] = None) -> Request:
        """Waits until one of them is over: its place among them."""
        return Request("await_any", [activity._activity for activity in activities], limit_of(limit))

    def wait_all(self, activities: Sequence[Activity]) -> Request:
        """Waits until all are over; `Activity.wait` gives what they have come to at once."""
        return Request("await_all", [activity._activity for activity in activities])

    def mutex(self) -> Mutex:
        """A mutex that nobody holds. It lives as long as the run, as all that processes share."""
        return Mutex(self._turn.mutex())

    def semaphore(self, permits: int) -> Semaphore:
        """A semaphore with so many permits."""
        return Semaphore(self._turn.semaphore(count("semaphore: permits", permits)))

    def condition(self) -> Condition:
        """A condition variable."""
        return Condition(self._turn.condition())

    def barrier(self, size: int) -> Barrier:
        """A barrier for so many processes."""
        return Barrier(self._turn.barrier(count("barrier: size", size, 1)))

    def queue(self) -> Queue:
        """A message queue, which takes no time."""
        return Queue(self._turn.queue())

    def resource(self, capacity: int) -> Resource:
        """A resource of so many units, at the host of this process."""
        return Resource(self._turn.resource(capacity_of(capacity)))

    def store(self, room: Optional[int] = None) -> Store:
        """A store with room for so many items, or for any number."""
        return Store(self._turn.store(room_of(room)))

    def container(self, capacity: float = float("inf"), level: float = 0.0) -> Container:
        """A container with room for an amount, and what is in it at first."""
        return Container(self._turn.container(float(capacity), float(level)))

    async def spawn(self, name: str, host: Host, body: Body, *arguments: Any) -> Process:
        """Spawns a process on a host; it starts in the next round of this instant."""
        return Process(await Request("spawn", name, host, begin(name, body, arguments)))

    def join(self, process: Process, limit: Optional[float] = None) -> Request:
        """Waits until another process has ended."""
        return Request("join", process.id, limit_of(limit))

    def kill(self, process: Process) -> None:
        """Ends another process when this one waits next; one that has ended stays so."""
        self._turn.kill(process.id)

    def daemonize(self) -> None:
        """The run no longer waits for this process to end."""
        self._turn.daemonize()

    def record(self, number: int) -> None:
        """Has a number from 0 to 2^64 - 1 enter the digest."""
        self._turn.record(number)
