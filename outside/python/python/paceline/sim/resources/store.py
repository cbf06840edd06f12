"""Stores: items that processes put in and take out."""

from __future__ import annotations

from typing import Any, NamedTuple

from paceline._native import FilterStore, FilterStoreGet, PriorityStore, Store, StoreGet, StorePut
from paceline.sim.core import BoundClass, Environment
from paceline.sim.resources import base

__all__ = [
    "BoundClass",
    "Environment",
    "FilterStore",
    "FilterStoreGet",
    "PriorityItem",
    "PriorityStore",
    "Store",
    "StoreGet",
    "StorePut",
    "base",
]


class PriorityItem(NamedTuple):
    """An item of a `PriorityStore` that is sorted by a priority alone, whatever the item itself is."""

    #: Less comes first.
    priority: Any
    #: What is stored.
    item: Any

    def __lt__(self, other: PriorityItem) -> bool:  # type: ignore[override]
        return self.priority < other.priority
