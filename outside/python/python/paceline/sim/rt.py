"""An environment whose time passes as fast as real time."""

from __future__ import annotations

from time import monotonic, sleep

from paceline.sim.core import EmptySchedule, Environment, Infinity, SimTime

__all__ = ["RealtimeEnvironment"]


class RealtimeEnvironment(Environment):
    """An environment that waits before each event until its time has come.

    Parameters
    ----------
    initial_time
        The simulated time at the start.
    factor
        How many seconds of real time one unit of simulated time takes.
    strict
        Whether `step` raises a RuntimeError where an event is more than one unit of time late.
    """

    def __init__(self, initial_time: SimTime = 0, factor: float = 1.0, strict: bool = True):
        Environment.__init__(self, initial_time)
        self.env_start = initial_time
        self.real_start = monotonic()
        self._factor = factor
        self._strict = strict

    @property
    def factor(self) -> float:
        """Seconds of real time in a unit of simulated time."""
        return self._factor

    @property
    def strict(self) -> bool:
        """Whether being late is an error."""
        return self._strict

    def sync(self) -> None:
        """Let the simulated time at the start be now: what passed since the environment was made does not count."""
        self.real_start = monotonic()

    def step(self) -> None:
        """Wait for the time of the next event, and process it.

        Raises
        ------
        EmptySchedule
            No event is left.
        RuntimeError
            In strict mode: the simulation is too slow.
        """
        event_time = self.peek()
        if event_time is Infinity:
            raise EmptySchedule
        real_time = self.real_start + (event_time - self.env_start) * self.factor
        late = monotonic() - real_time
        if self.strict and late > self.factor:
            raise RuntimeError(f"Simulation too slow for real time ({late:.3f}s).")
        # Some systems wake up early.
        while (delta := real_time - monotonic()) > 0:
            sleep(delta)
        Environment.step(self)
