"""Resources with slots that processes request, use and release."""

from __future__ import annotations

from typing import Any, Optional

from paceline._native import (
    PreemptiveResource,
    PriorityRequest,
    PriorityResource,
    Release,
    Request,
    Resource,
)
from paceline.sim.core import BoundClass, Environment, SimTime
from paceline.sim.events import Process
from paceline.sim.resources import base

__all__ = [
    "BoundClass",
    "Environment",
    "Preempted",
    "PreemptiveResource",
    "PriorityRequest",
    "PriorityResource",
    "Release",
    "Request",
    "Resource",
    "SimTime",
    "SortedQueue",
    "base",
]


class Preempted:
    """The cause of the interrupt of a process that has lost its slot.

    Parameters
    ----------
    by
        The process whose request took the slot.
    usage_since
        When the process that lost the slot had got it.
    resource
        The resource.
    """

    def __init__(self, by: Optional[Process], usage_since: Optional[SimTime], resource: Resource):
        self.by = by
        self.usage_since = usage_since
        self.resource = resource


class SortedQueue(list):
    """A queue of requests in the order of their `key`.

    Parameters
    ----------
    maxlen
        How many requests it takes; None for any number.
    """

    def __init__(self, maxlen: Optional[int] = None):
        super().__init__()
        self.maxlen = maxlen

    def append(self, item: Any) -> None:
        """Sort a request into the queue.

        Raises
        ------
        RuntimeError
            The queue is full.
        """
        if self.maxlen is not None and len(self) >= self.maxlen:
            raise RuntimeError("Cannot append event. Queue is full.")
        super().append(item)
        super().sort(key=lambda event: event.key)


PriorityResource.PutQueue = SortedQueue
PriorityResource.GetQueue = list
