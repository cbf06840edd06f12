"""What all resources are made of, and what resources of one's own are derived from."""

from __future__ import annotations

from typing import TypeVar

from paceline._native import BaseResource, Get, Put
from paceline.sim.core import BoundClass, Environment
from paceline.sim.events import Event, Process

__all__ = [
    "BaseResource",
    "BoundClass",
    "Environment",
    "Event",
    "Get",
    "GetType",
    "Process",
    "Put",
    "PutType",
    "ResourceType",
]

ResourceType = TypeVar("ResourceType", bound=BaseResource)
PutType = TypeVar("PutType", bound=Put)
GetType = TypeVar("GetType", bound=Get)

#: The classes of the queues of requests, which a subclass may change.
BaseResource.PutQueue = list
BaseResource.GetQueue = list
