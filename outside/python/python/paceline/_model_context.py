"""What a handler of a model sees of the run: for annotations, and the documentation of both kinds of handlers."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Context", "Rng"]


class Rng(Protocol):
    """The random numbers of an LP: those of a model in Rust with the same seed, draw by draw."""

    def bits(self) -> int:
        """64 random bits, unsigned."""

    def unit(self) -> float:
        """A number from 0 to before 1, each alike."""

    def below(self, n: int) -> int:
        """An int from 0 to before `n`, each alike; 0 where `n` is 0."""

    def chance(self, probability: float) -> bool:
        """True with this probability."""

    def exponential(self, mean: float) -> float:
        """An exponential variate, in the unit of `mean`."""

    def normal(self, mean: float, deviation: float) -> float:
        """A normal variate with this mean and standard deviation."""

    def geometric(self, probability: float) -> int:
        """How many trials fail before the first that succeeds with `probability`, above 0 and at most 1."""

    def poisson(self, mean: float) -> int:
        """How many events happen where `mean` are expected, from 0 to 2^32."""

    def zipf(self, ranks: int, exponent: float) -> int:
        """A rank from 1 to `ranks`, where rank r is as likely as r to the power of -`exponent`."""

    def weighted(self, weights: Any) -> int:
        """A place in `weights`, an array of float64, each as likely as its weight says."""


class Context(Protocol):
    """The run as a handler sees it, while it handles a message.

    A message is given by one value for each field of its dtype, in their order, or by the message that was received.
    Times and delays are ints of nanoseconds. A message that breaks a rule ends the run with a `HandlerError`: one to an
    LP that does not exist, one in the past, or one to another LP with less than the lookahead.
    """

    @property
    def now(self) -> int:
        """The simulated time of the message, in nanoseconds."""

    @property
    def lp(self) -> int:
        """The number of the LP, from 0."""

    @property
    def lps(self) -> int:
        """How many LPs there are."""

    @property
    def rng(self) -> Rng:
        """The random numbers of the LP."""

    def seconds(self, seconds: float) -> int:
        """Seconds as nanoseconds, rounded as `Time::from_secs_f64` rounds them in Rust."""

    def send(self, to: int, delay: int, *values: Any) -> None:
        """Sends a message to LP `to`, which is there after `delay`."""

    def send_at(self, to: int, at: int, *values: Any) -> None:
        """Sends a message to LP `to`, which is there at the time `at`."""

    def schedule(self, delay: int, *values: Any) -> None:
        """Sends a message to the LP itself, after `delay`, which may be zero."""

    def schedule_at(self, at: int, *values: Any) -> None:
        """Sends a message to the LP itself, for the time `at`."""
