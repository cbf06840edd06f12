"""Functions that start processes later, and that tell a process of an event."""

from __future__ import annotations

from typing import Generator

from paceline.sim.core import Environment, SimTime
from paceline.sim.events import Event, Process, ProcessGenerator

__all__ = ["start_delayed", "subscribe_at"]


def start_delayed(env: Environment, generator: ProcessGenerator, delay: SimTime) -> Process:
    """Start a process after a delay.

    Parameters
    ----------
    env
        The environment.
    generator
        What the process runs.
    delay
        A positive number.

    Returns
    -------
    Process
        A process that ends when the other one starts, with that as its value.

    Raises
    ------
    ValueError
        The delay is not positive.
    """
    if delay <= 0:
        raise ValueError(f"delay(={delay}) must be > 0.")

    def starter() -> Generator[Event, None, Process]:
        yield env.timeout(delay)
        return env.process(generator)

    return env.process(starter())


def subscribe_at(event: Event) -> None:
    """Interrupt the process that runs once an event happens, with (event, value) as the cause.

    Raises
    ------
    RuntimeError
        The event has happened already.
    """
    env = event.env
    assert env.active_process is not None
    subscriber = env.active_process

    def signaller(event: Event, receiver: Process) -> ProcessGenerator:
        result = yield event
        if receiver.is_alive:
            receiver.interrupt((event, result))

    if event.callbacks is None:
        raise RuntimeError(f"{event} has already terminated.")
    env.process(signaller(event, subscriber))
