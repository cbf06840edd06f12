"""Containers: an amount of something, like fuel in a tank."""

from __future__ import annotations

from typing import Union

from paceline._native import Container, ContainerGet, ContainerPut
from paceline.sim.core import BoundClass, Environment
from paceline.sim.resources import base

__all__ = ["BoundClass", "Container", "ContainerAmount", "ContainerGet", "ContainerPut", "Environment", "base"]

ContainerAmount = Union[int, float]
