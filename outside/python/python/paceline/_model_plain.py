"""Handlers of models as plain Python: the engine calls them through ctypes, one at a time, as they need the GIL.

Handlers get copies of state and message, so that what they keep is theirs, and a context that ends with the call.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional

from paceline import _native
from paceline._model_types import Field, Fields

__all__ = ["Context", "handler"]

POINTER, INT, FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "send": (None, INT, INT),
    "seconds": (INT, FLOAT),
    "bits": (ctypes.c_uint64,),
    "unit": (FLOAT,),
    "below": (INT, INT),
    "chance": (ctypes.c_uint8, FLOAT),
    "exponential": (FLOAT, FLOAT),
    "normal": (FLOAT, FLOAT, FLOAT),
    "geometric": (INT, FLOAT),
    "poisson": (INT, FLOAT),
    "zipf": (INT, INT, FLOAT),
    "weighted": (INT, POINTER, INT),
}
# They keep the GIL, as they take less time than giving it away.
FUNCTIONS = {
    name: ctypes.PYFUNCTYPE(result, POINTER, *arguments)(_native.model_symbols()[name])
    for name, (result, *arguments) in SIGNATURES.items()
}
ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, POINTER, POINTER, POINTER, POINTER)


class Call(ctypes.Structure):
    """The head of `Call` in `src/model/call.rs`."""

    _fields_ = [("now", INT), ("lp", INT), ("lps", INT), ("scratch", POINTER)]


class Values:
    """The values of a state or a message, an attribute for each field."""

    __slots__ = ("__dict__",)

    def __repr__(self) -> str:
        return repr(self.__dict__)


def _whole(name: str, value: Any) -> int:
    """A whole number that C functions take."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    value = value.__index__()
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{name} of {value} is beyond 64 bits")
    return value


class Context:
    """What a handler sees of the run. See `paceline.Context`."""

    __slots__ = ("_address", "_call", "_message")

    def __init__(self, address: int, message: Fields):
        self._address: Optional[int] = address
        self._call = Call.from_address(address)
        self._message = message

    def _ask(self, name: str, *arguments: Any) -> Any:
        if self._address is None:
            raise RuntimeError("the context of a handler is over when the handler has returned")
        return FUNCTIONS[name](self._address, *arguments)

    def _of(self, name: str) -> int:
        if self._address is None:
            raise RuntimeError("the context of a handler is over when the handler has returned")
        return getattr(self._call, name)

    @property
    def now(self) -> int:
        return self._of("now")

    @property
    def lp(self) -> int:
        return self._of("lp")

    @property
    def lps(self) -> int:
        return self._of("lps")

    @property
    def rng(self) -> Rng:
        return Rng(self)

    def seconds(self, seconds: float) -> int:
        return self._ask("seconds", float(seconds))

    def send(self, to: int, delay: int, *values: Any) -> None:
        self._give(_whole("cx.send: to", to), _whole("cx.send: delay", delay), values)

    def schedule(self, delay: int, *values: Any) -> None:
        self._give(self.lp, _whole("cx.schedule: delay", delay), values)

    def send_at(self, to: int, at: int, *values: Any) -> None:
        self._give(_whole("cx.send_at: to", to), _whole("cx.send_at: at", at) - self.now, values)

    def schedule_at(self, at: int, *values: Any) -> None:
        self._give(self.lp, _whole("cx.schedule_at: at", at) - self.now, values)

    def _give(self, to: int, delay: int, values: tuple[Any, ...]) -> None:
        if len(values) == 1 and isinstance(values[0], Values):
            values = tuple(values[0].__dict__.values())
        fields = self._message
        if len(values) != len(fields.all):
            names = ", ".join(fields.names) or "none"
            raise TypeError(f"cx.send: {len(values)} values for the message's fields: {names}")
        scratch = self._of("scratch")
        if fields.all:
            memory = (ctypes.c_char * fields.dtype.itemsize).from_address(scratch)
            fields.write(memory, dict(zip(fields.names, values)), Field.check)
        self._ask("send", to, delay)


class Rng:
    """The random numbers of an LP. See `paceline.Context`."""

    __slots__ = ("_context",)

    def __init__(self, context: Context):
        self._context = context

    def bits(self) -> int:
        return self._context._ask("bits")

    def unit(self) -> float:
        return self._context._ask("unit")

    def below(self, n: int) -> int:
        return self._context._ask("below", _whole("cx.rng.below: n", n))

    def chance(self, probability: float) -> bool:
        return bool(self._context._ask("chance", float(probability)))

    def exponential(self, mean: float) -> float:
        return self._context._ask("exponential", float(mean))

    def normal(self, mean: float, deviation: float) -> float:
        return self._context._ask("normal", float(mean), float(deviation))

    def geometric(self, probability: float) -> int:
        return self._context._ask("geometric", float(probability))

    def poisson(self, mean: float) -> int:
        return self._context._ask("poisson", float(mean))

    def zipf(self, ranks: int, exponent: float) -> int:
        return self._context._ask("zipf", _whole("cx.rng.zipf: ranks", ranks), float(exponent))

    def weighted(self, weights: Any) -> int:
        array = (FLOAT * len(weights))(*weights)
        return self._context._ask("weighted", ctypes.addressof(array), len(weights))


def handler(function: Callable[..., Any], parameters: Any, state: Fields, message: Fields, first: bool) -> Any:
    """`function` as a C function. `first` is said of `init`, which has no message."""

    def read(fields: Fields, address: int) -> tuple[Values, Any]:
        values = Values()
        if not fields.all:
            return values, None
        memory = (ctypes.c_char * fields.dtype.itemsize).from_address(address)
        values.__dict__.update(fields.read(memory))
        return values, memory

    def entry(_parameters: int, state_at: int, message_at: int, call: int) -> int:
        # Nothing leaves this function: ctypes would print it and go on.
        try:
            context = Context(call, message)
            try:
                values, memory = read(state, state_at)
                arguments = (values,) if first else (values, read(message, message_at)[0])
                result = function(parameters, *arguments, context)
                if result is not None:
                    raise TypeError(f"a handler returns None, not {type(result).__name__}")
                extra = [name for name in values.__dict__ if name not in state.names]
                if extra:
                    raise AttributeError(
                        f"the state has no field {extra[0]}; allowed: {', '.join(state.names) or 'none'}"
                    )
                state.write(memory, values.__dict__, Field.convert)
            finally:
                context._address = None
            return 0
        except BaseException as error:
            _native.model_raised(call, error)
            return 1

    return ENTRY(entry)
