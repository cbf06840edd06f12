"""What processes in Python share beside mailboxes, and what they hold of it; `paceline.peers` has these classes."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Generator, Optional

__all__ = [
    "Activity",
    "Barrier",
    "Condition",
    "Container",
    "Held",
    "Lock",
    "Mutex",
    "Queue",
    "Request",
    "Resource",
    "Semaphore",
    "Served",
    "Store",
    "count",
    "limit_of",
    "number",
]


class Request:
    """What a process asks for when it awaits this. One that nobody has awaited warns when it is freed."""

    __slots__ = ("_asked", "_is_awaited")

    def __init__(self, *asked: Any):
        self._is_awaited = False
        self._asked = asked

    def __await__(self) -> Generator[tuple[Any, ...], Any, Any]:
        self._is_awaited = True
        return (yield self._asked)

    def __del__(self) -> None:
        # Without `await` nothing happens and no time passes, which would go unnoticed.
        if not self._is_awaited:
            # Freed at the end of the statement that has made it: that is the line which is shown.
            warnings.warn(f"{self._asked[0]} was never awaited", RuntimeWarning, stacklevel=2)


def number(name: str, value: Any) -> float:
    """A number of the program as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    return float(value)


def limit_of(value: Any) -> Optional[float]:
    """A time limit in seconds; None is no limit."""
    return None if value is None else number("limit", value)


def count(name: str, value: Any, least: int = 0) -> int:
    """A whole number of 32 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if not least <= value < 1 << 32:
        raise ValueError(f"{name} = {value}; allowed: {least} to 2^32 - 1")
    return value


class _Shared:
    """A handle of something that the core keeps; any process of the run may have it."""

    __slots__ = ("_shared",)

    def __init__(self, shared: Any = None):
        self._shared = shared

    def _there(self) -> Any:
        if self._shared is None:
            raise RuntimeError(f"this {type(self).__name__} is there when the run begins")
        return self._shared


class _Holding(Request):
    """A request for something that is held: awaited, or entered by `async with`, which releases it."""

    __slots__ = ("_kind", "_made")

    def __init__(self, kind: Any, *asked: Any):
        super().__init__(*asked)
        self._kind = kind
        self._made: Any = None

    def __await__(self) -> Generator[tuple[Any, ...], Any, Any]:
        self._is_awaited = True
        return self._kind((yield self._asked))

    async def __aenter__(self) -> Any:
        self._made = await self
        return self._made

    async def __aexit__(self, *_: Any) -> None:
        self._made.release()


class Lock:
    """A mutex that a process holds, until it is released or this object is freed."""

    __slots__ = ("_lock",)

    def __init__(self, lock: Any):
        self._lock = lock

    def release(self) -> None:
        """Releases it; what is released stays so."""
        self._lock.release()


class Mutex(_Shared):
    """A lock that one process holds at a time: ``async with mutex.lock(cx): ...``."""

    __slots__ = ()

    def lock(self, cx: Any) -> Request:
        """Waits for the lock, a `Lock`."""
        return _Holding(Lock, "lock", self._there())

    async def try_lock(self, cx: Any) -> Optional[Lock]:
        """Takes the lock if it is free now, and gives None elsewhere."""
        lock = await Request("try_lock", self._there())
        return None if lock is None else Lock(lock)


class Semaphore(_Shared):
    """A number of permits."""

    __slots__ = ()

    def acquire(self, cx: Any, limit: Optional[float] = None) -> Request:
        """Waits for a permit. A process that ends without `release` does not give it back."""
        return Request("acquire", self._there(), limit_of(limit))

    def release(self, cx: Any) -> None:
        """Gives a permit back, or a new one."""
        cx._turn.release_permit(self._there())


class Condition(_Shared):
    """A condition variable: processes wait until another notifies them."""

    __slots__ = ()

    def wait(self, cx: Any, lock: Lock, limit: Optional[float] = None) -> Request:
        """Releases the lock, waits for a notification, and takes the lock again in any case."""
        return Request("condition", self._there(), lock._lock, limit_of(limit))

    def notify_one(self, cx: Any) -> None:
        """Wakes the process that has waited longest."""
        cx._turn.notify(self._there(), False)

    def notify_all(self, cx: Any) -> None:
        """Wakes all that wait."""
        cx._turn.notify(self._there(), True)


class Barrier(_Shared):
    """Processes wait until as many have come as it is for."""

    __slots__ = ()

    def wait(self, cx: Any) -> Request:
        """Waits for the others; True for the last."""
        return Request("barrier", self._there())


class Queue(_Shared):
    """A message queue: what is put in can be taken out at the same instant."""

    __slots__ = ()

    def put(self, cx: Any, item: Any) -> None:
        """Puts something in."""
        cx._turn.queue_put(self._there(), item)

    def get(self, cx: Any, limit: Optional[float] = None) -> Request:
        """Waits for something to take out."""
        return Request("get", self._there(), limit_of(limit))


class Held:
    """Units that a process holds, until they are released or this object is freed."""

    __slots__ = ("_held",)

    def __init__(self, held: Any):
        self._held = held

    @property
    def waited(self) -> Optional[float]:
        """How long the process waited for them, in seconds; None where they are released."""
        return self._held.waited()

    def release(self, units: Optional[int] = None) -> None:
        """Releases so many units, or all; what is released stays so."""
        self._held.release(units if units is None else count("release: units", units))


class Served:
    """A service that is over.

    Attributes
    ----------
    waited : float
        How long it waited until the service first began, in seconds.
    preemptions : int
        How often the service was preempted.
    """

    __slots__ = ("preemptions", "waited")

    def __init__(self, served: tuple[float, int]):
        self.waited, self.preemptions = served


class _Serving(Request):
    __slots__ = ()

    def __await__(self) -> Generator[tuple[Any, ...], Any, Any]:
        self._is_awaited = True
        return Served((yield self._asked))


def _seizure(priority: int, units: int, preempting: bool, balking_at: Optional[int]) -> tuple[Any, ...]:
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise TypeError(f"priority is an int, not {type(priority).__name__}")
    balks = None if balking_at is None else count("balking_at", balking_at)
    return priority, count("units", units, 1), bool(preempting), balks


class Resource(_Shared):
    """Units that processes hold, and that others wait for.

    Requests are granted by priority, lesser numbers first, and in the order of coming. A process that holds units which
    are preempted learns of it in whatever it waits for or does next: a `RequestError` of the kind `Preempted`.
    """

    __slots__ = ()

    def request(
        self,
        cx: Any,
        *,
        priority: int = 0,
        units: int = 1,
        preempting: bool = False,
        balking_at: Optional[int] = None,
        limit: Optional[float] = None,
    ) -> Request:
        """Requests units and waits for them, a `Held`: ``async with resource.request(cx): ...``.

        With a limit of 0 it takes them if they are free now. `preempting` takes units from processes of greater
        priority numbers; where `balking_at` others wait, or more, it does not wait: kind `Balked`.
        """
        seizure = _seizure(priority, units, preempting, balking_at)
        return _Holding(Held, "request", self._there(), *seizure, limit_of(limit))

    def serve(
        self,
        cx: Any,
        service: float,
        *,
        priority: int = 0,
        units: int = 1,
        preempting: bool = False,
        balking_at: Optional[int] = None,
        after_preemption: str = "resume",
        limit: Optional[float] = None,
    ) -> Request:
        """Requests units, holds them for `service` seconds, and releases them: a `Served`.

        A service that is preempted goes on later (`resume`), begins again (`repeat`) or ends (`leave`, kind
        `Preempted`).
        """
        if after_preemption not in ("resume", "repeat", "leave"):
            raise ValueError(f'after_preemption = "{after_preemption}"; allowed: resume, repeat, leave')
        seizure = _seizure(priority, units, preempting, balking_at)
        span = number("serve: service", service)
        return _Serving("serve", self._there(), span, *seizure, after_preemption, limit_of(limit))

    def set_capacity(self, cx: Any, units: int) -> None:
        """From now on there are so many units. Nobody loses one."""
        cx._turn.change(self._there(), "capacity", count("units", units))

    def break_down(self, cx: Any, units: int) -> None:
        """So many units break down until they are repaired; holders are preempted where free ones are too few."""
        cx._turn.change(self._there(), "break_down", count("units", units))

    def take_out(self, cx: Any, units: int) -> None:
        """So many units are taken out of service until they are repaired, as soon as they are free."""
        cx._turn.change(self._there(), "take_out", count("units", units))

    def repair(self, cx: Any, units: int) -> None:
        """So many units that had broken down, or were taken out, are there again."""
        cx._turn.change(self._there(), "repair", count("units", units))


class _Taking(Request):
    __slots__ = ()

    def __await__(self) -> Generator[tuple[Any, ...], Any, Any]:
        self._is_awaited = True
        return (yield self._asked)[0]


class Store(_Shared):
    """Items that processes put in and take out: any objects.

    Items are taken in the order of their priorities and of their coming. Who waits is served in the order of coming; one
    whom no item fits does not hold up those behind.
    """

    __slots__ = ()

    def put(self, cx: Any, item: Any, *, priority: int = 0, limit: Optional[float] = None) -> Request:
        """Puts an item in, and waits for room. Items of lesser priority numbers are taken first."""
        return Request("put", self._there(), item, priority, limit_of(limit))

    def get(self, cx: Any, test: Optional[Callable[[Any], bool]] = None, *, limit: Optional[float] = None) -> Request:
        """Waits for an item, or for one that passes a test, which must depend on nothing but the item."""
        if test is None:
            return _Taking("take", self._there(), 1, 1, limit_of(limit))
        return Request("take_if", self._there(), test, limit_of(limit))

    def get_some(self, cx: Any, least: int, most: Optional[int] = None, *, limit: Optional[float] = None) -> Request:
        """Waits until there are `least` items, and takes them and as many more as there are, up to `most`: a list."""
        least = count("get_some: least", least, 1)
        most = least if most is None else count("get_some: most", most, least)
        return Request("take", self._there(), least, most, limit_of(limit))


class Container(_Shared):
    """An amount of something that is alike. Who cannot take yet holds up those that come later, and so do those that put."""

    __slots__ = ()

    def put(self, cx: Any, amount: float, *, limit: Optional[float] = None) -> Request:
        """Waits until there is room for `amount`, and puts it in."""
        return Request("fill", self._there(), number("put: amount", amount), limit_of(limit))

    def get(self, cx: Any, amount: float, *, limit: Optional[float] = None) -> Request:
        """Waits until `amount` is there, and takes it out."""
        return Request("draw", self._there(), number("get: amount", amount), limit_of(limit))


class Activity:
    """What a process has begun and waits for later. It is cancelled when this object is freed before it is over."""

    __slots__ = ("_activity",)

    def __init__(self, activity: Any):
        self._activity = activity

    def wait(self, limit: Optional[float] = None) -> Request:
        """Waits until it is over: the message of a receive, None of others."""
        return Request("await", self._activity, limit_of(limit))

    def test(self) -> Request:
        """Whether it is over."""
        return Request("test", self._activity)

    def cancel(self) -> None:
        """Cancels it; the other side of a message learns of that."""
        self._activity.cancel()

    def detach(self) -> None:
        """Lets it proceed alone, also after this process has ended."""
        self._activity.detach()
