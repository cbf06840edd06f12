"""SimPy's interface on a core of compiled code.

A program that uses SimPy 4 changes one line, its import:

>>> import paceline.sim as simpy

Classes, functions and errors are those of SimPy 4.1.2, under the same names and in the same modules. What differs is
in the chapter "Python" of Paceline's book. One thing is new: a process may yield a number, and sleeps that long.

>>> env = simpy.Environment()
>>> def walker(env):
...     yield 1.5
...     print(env.now)
>>> process = env.process(walker(env))
>>> env.run()
1.5
"""

from __future__ import annotations

import heapq
import types

from paceline import _native
from paceline.sim import core, events
from paceline.sim.core import Environment
from paceline.sim.events import AllOf, AnyOf, Event, Process, Timeout
from paceline.sim.exceptions import Interrupt, SimPyException
from paceline.sim.resources import resource as _resource
from paceline.sim.resources.container import Container
from paceline.sim.resources.resource import PreemptiveResource, PriorityResource, Resource
from paceline.sim.resources.store import FilterStore, PriorityItem, PriorityStore, Store
from paceline.sim.rt import RealtimeEnvironment

__all__ = [
    "AllOf",
    "AnyOf",
    "Container",
    "Environment",
    "Event",
    "FilterStore",
    "Interrupt",
    "PreemptiveResource",
    "PriorityItem",
    "PriorityResource",
    "PriorityStore",
    "Process",
    "RealtimeEnvironment",
    "Resource",
    "SimPyException",
    "Store",
    "Timeout",
]

#: The version of SimPy whose interface this is.
__version__ = "4.1.2"


def _generator():
    yield


_native.sim_setup(
    {
        "pending": events.PENDING,
        "describe_frame": events._describe_frame,
        "interrupt_exception": Interrupt,
        "stop_simulation": core.StopSimulation,
        "stop_callback": core.StopSimulation.callback,
        "empty_schedule": core.EmptySchedule,
        "environment_class": Environment,
        "bind_early": core.BoundClass.bind_early,
        "event_numbers": core._EventNumbers,
        "all_events": events.Condition.all_events,
        "any_events": events.Condition.any_events,
        "preempted": _resource.Preempted,
        "sorted_queue": _resource.SortedQueue,
        "accept_all": lambda item: True,
        "heappush": heapq.heappush,
        "heappop": heapq.heappop,
        "infinity": core.Infinity,
        "generator": types.GeneratorType,
    }
)
