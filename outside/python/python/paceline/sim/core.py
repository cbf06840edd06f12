"""The environment of a simulation: its clock, its events, and what runs it."""

from __future__ import annotations

from types import MethodType
from typing import Any, Optional, TypeVar, Union

from paceline import _native
from paceline.sim.events import NORMAL, URGENT, AllOf, AnyOf, Event, EventPriority, Process, ProcessGenerator, Timeout

__all__ = [
    "NORMAL",
    "URGENT",
    "AllOf",
    "AnyOf",
    "BoundClass",
    "EmptySchedule",
    "Environment",
    "Event",
    "EventPriority",
    "Infinity",
    "Process",
    "ProcessGenerator",
    "SimTime",
    "StopSimulation",
    "Timeout",
]

#: Later than every event.
Infinity: float = float("inf")

SimTime = Union[int, float]

T = TypeVar("T")


class BoundClass:
    """Lets a class be called like a method: the instance is the first argument of its constructor.

    Parameters
    ----------
    cls
        The class.
    """

    def __init__(self, cls):
        self.cls = cls

    def __get__(self, instance, owner=None):
        return self.cls if instance is None else MethodType(self.cls, instance)

    def __class_getitem__(cls, item):
        return cls

    @staticmethod
    def bind_early(instance: object) -> None:
        """Makes every `BoundClass` of the instance's class an attribute of the instance, which is found sooner."""
        for name, attribute in instance.__class__.__dict__.items():
            if type(attribute) is BoundClass:
                setattr(instance, name, getattr(instance, name))


class EmptySchedule(Exception):
    """Raised by `Environment.step` where no event is left."""


class StopSimulation(Exception):
    """Ends `Environment.run`, which returns the exception's argument."""

    @classmethod
    def callback(cls, event: Event) -> None:
        """A callback that ends `run` with the event's value, or raises its exception."""
        if event.ok:
            raise cls(event.value)
        raise event._value


class _EventNumbers:
    """What `Environment._eid` is: an iterator that takes event numbers."""

    def __init__(self, env):
        self._env = env

    def __iter__(self):
        return self

    def __next__(self):
        return self._env._next_number()


class Environment(_native.Environment):
    """The clock of a simulation, its events to come, and what processes them.

    Parameters
    ----------
    initial_time
        The time at the start, 0 by default.
    """

    def step(self) -> None:
        """Process the next event.

        Raises
        ------
        EmptySchedule
            No event is left.
        """
        exc = self._advance()
        if exc is not None:
            raise exc

    def run(self, until: Optional[Union[SimTime, Event]] = None) -> Optional[Any]:
        """Process events until something is reached.

        Parameters
        ----------
        until
            An event: until it is processed, whose value is returned. A number: until that time. None: until no event
            is left.

        Raises
        ------
        RuntimeError
            No event is left, and the event `until` has not happened.
        ValueError
            The time `until` is not in the future.
        """
        if until is not None:
            if not isinstance(until, Event):
                at: SimTime = until if isinstance(until, int) else float(until)
                if at <= self.now:
                    raise ValueError(f"until ({at}) must be greater than the current simulation time")
                # Before everything else that happens at that time.
                until = Event(self)
                until._ok = True
                until._value = None
                self.schedule(until, URGENT, at - self.now)
            elif until.callbacks is None:
                return until.value
            self._stop_at(until)

        # A step that a subclass or a program has replaced, for tracing or real time, is called for every event.
        has_own_step = type(self).step is not Environment.step or "step" in self.__dict__
        try:
            while True:
                if not has_own_step:
                    self._run_until_failure()
                self.step()
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            if until is not None:
                assert not until.triggered
                raise RuntimeError(
                    f'No scheduled events left but "until" event was not triggered: {until}'
                ) from None
        return None
