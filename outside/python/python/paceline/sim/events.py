"""Events, and what processes and conditions are of them."""

from __future__ import annotations

from typing import Any, Callable, Generator, List, NewType, TypeVar

from paceline._native import (
    AllOf,
    AnyOf,
    Condition,
    ConditionValue,
    Event,
    Initialize,
    Interruption,
    Process,
    Timeout,
)
from paceline.sim.exceptions import Interrupt

__all__ = [
    "NORMAL",
    "PENDING",
    "URGENT",
    "AllOf",
    "AnyOf",
    "Condition",
    "ConditionValue",
    "Event",
    "EventCallback",
    "EventCallbacks",
    "EventPriority",
    "EventType",
    "Initialize",
    "Interrupt",
    "Interruption",
    "Process",
    "ProcessGenerator",
    "Timeout",
]

#: The `_value` of an event that has none yet.
PENDING: object = object()

EventPriority = NewType("EventPriority", int)

#: The priority of interrupts and of the starts of processes.
URGENT: EventPriority = EventPriority(0)
#: The priority of all other events.
NORMAL: EventPriority = EventPriority(1)

EventType = TypeVar("EventType", bound=Event)
EventCallback = Callable[[EventType], None]
EventCallbacks = List[EventCallback]
ProcessGenerator = Generator[Event, Any, Any]


def all_events(events, count):
    """Whether all events have been processed: the condition of `AllOf` and `&`."""
    return len(events) == count


def any_events(events, count):
    """Whether one of the events has been processed, or there are none: the condition of `AnyOf` and `|`."""
    return count > 0 or len(events) == 0


for _function in (all_events, any_events):
    _function.__qualname__ = f"Condition.{_function.__name__}"
    setattr(Condition, _function.__name__, staticmethod(_function))


def _describe_frame(frame) -> str:
    """The place of a frame and its line of code, as a traceback shows it."""
    filename, name, number = frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno
    place = f'  File "{filename}", line {number}, in {name}\n'
    with open(filename) as file:
        for index, line in enumerate(file):
            if index + 1 == number:
                return f"{place}    {line.strip()}\n"
    return place
