"""Models whose handlers are written in Python and run on the engine, in parallel and under every protocol."""

from __future__ import annotations

import ctypes
import dataclasses
import re
from typing import Any, Callable, Optional, TypeVar, Union

from paceline import _native
from paceline._ending import ends_with_program
from paceline._model_errors import CompileError, check, describe, explain

__all__ = ["ModelRun", "helper", "model", "seconds"]

Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])
Duration = Union[int, str]

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


class ModelRun:
    """A run of a model that has ended.

    Attributes
    ----------
    states : numpy.ndarray
        The final state of each LP, of the state's dtype.
    summary : dict
        Protocol, threads, events, times and digest.
    """

    def __init__(self, name: str, summary: dict[str, Any], states: Any):
        self._name = name
        self.summary = summary
        self.states = states

    @property
    def digest(self) -> str:
        """A number over all events and final states, equal on any number of threads and under every protocol."""
        return self.summary["digest"]

    @property
    def ended_by(self) -> str:
        """Why the run ended: `horizon`, `no-events` or `interrupted`."""
        return self.summary["ended_by"]

    def __repr__(self) -> str:
        names = ["protocol", "threads", "lps", "events_committed", "ended_by", "digest"]
        return f"<ModelRun {self._name}: " + ", ".join(f"{name}={self.summary[name]}" for name in names) + ">"


def seconds(number: float) -> int:
    """So many seconds as nanoseconds, in which models count time: ``seconds(1.5)`` is 1500000000."""
    return round(number * 10**9)


def has_numba() -> bool:
    """Whether handlers can be compiled here."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def helper(function: Function) -> Function:
    """A function that handlers call: compiled with them where numba is there, and as it is elsewhere.

    >>> @paceline.helper  # doctest: +SKIP
    ... def delay(self, cx):
    ...     return self.lookahead + int(cx.rng.exponential(self.mean))
    """
    if not has_numba():
        return function
    from numba.extending import register_jitable

    return register_jitable(boundscheck=True)(function)


def _ns(name: str, value: Duration) -> int:
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|min|h|d)\s*", value)
        if not match:
            raise ValueError(
                f'{name} = "{value}": no duration; allowed: such as "20s", "1.5ms"; units {", ".join(UNITS)}'
            )
        return round(float(match[1]) * UNITS[match[2]])
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int of nanoseconds or a str such as '20s', not {type(value).__name__}")
    value = value.__index__()
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{name} = {value} ns; allowed: 0 to 2^63 - 1")
    return value


def _count(name: str, value: Any, most: int = (1 << 32) - 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    value = value.__index__()
    if not 0 <= value <= most:
        raise ValueError(f"{name} = {value}; allowed: 0 to {most}")
    return value


@dataclasses.dataclass
class _Declared:
    """What the decorator of a model was given, and its handlers by how they run."""

    name: str
    state: Any
    message: Any
    functions: dict[str, Callable[..., Any]]
    # By handler and dtype of the parameters: compiling takes a second.
    compiled: dict[Any, Any] = dataclasses.field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        # Code that was compiled is this process's.
        return self.__dict__ | {"compiled": {}}

    def handlers(self, instance: Any, parameters: Any, is_compiled: bool) -> list[Any]:
        """The handlers of a model as C functions."""
        made = []
        for name, function in self.functions.items():
            first = name == "init"
            if is_compiled:
                made.append(self._compile(name, function, parameters, first))
            else:
                from paceline import _model_plain

                function = getattr(function, "py_func", function)
                made.append(_model_plain.handler(function, instance, self.state, self.message, first))
        return made

    def _compile(self, name: str, function: Callable[..., Any], parameters: Any, first: bool) -> Any:
        key = (name, parameters.dtype)
        if key not in self.compiled:
            from paceline import _model_numba

            arguments = _model_numba.handler_types(parameters, self.state, self.message, first)
            handler = f"{self.name}.{name}"
            code = getattr(function, "py_func", function).__code__
            try:
                self.compiled[key] = _model_numba.compile_handler(function, arguments)
            # numba has errors of its own for most mistakes, and lets others of its insides through.
            except Exception as error:
                location = getattr(error, "loc", None)
                file, line = (location.filename, location.line) if location else (code.co_filename, code.co_firstlineno)
                text = f"{handler} cannot be compiled: {file}:{line}: {describe(error)}"
                raise CompileError(text, handler, file, line) from error
        return self.compiled[key]


def model(*, state: Any, message: Any = None) -> Callable[[Class], Class]:
    """Makes a class a model: logical processes (LPs) with a state each, which send messages to each other.

    The class becomes a frozen dataclass: its annotated attributes are the model's parameters. Two are required, as
    parameters, attributes or properties: `lps`, the number of LPs, and `lookahead`, the least delay of a message
    from one LP to another in nanoseconds. Its methods are the handlers:

    - ``init(self, state, cx)`` sets the state of an LP, which is zero before, and sends its first messages;
    - ``handle(self, state, message, cx)`` handles a message;
    - ``channels(self, lp)``, if there is one, gives the LPs that this one sends to, as pairs of LP and lookahead.

    `init` and `handle` are compiled where numba is installed, and run in parallel then. They may depend on nothing
    but their arguments. `cx` is a `Context`. The class gets a method ``run``, see `docs/python.md`.

    Parameters
    ----------
    state : structured dtype
        The state of an LP. Fields are bool, integers, floats, or arrays of one dimension of these.
    message : structured dtype, optional
        What a message holds; unless given, nothing.

    Raises
    ------
    TypeError
        A dtype that cannot be had, or a handler that is missing.
    """
    from paceline._model_types import fields_of

    def decorate(kind: Class) -> Class:
        functions = {}
        for name in ("init", "handle"):
            function = getattr(kind, name, None)
            if not callable(function):
                raise TypeError(f"{kind.__name__} has no handler {name}")
            functions[name] = function
        for name in ("lps", "lookahead"):
            if name not in getattr(kind, "__annotations__", {}) and not hasattr(kind, name):
                raise TypeError(f"{kind.__name__} has no {name}: an annotated attribute or a property")
        made: Any = dataclasses.dataclass(frozen=True, eq=False)(kind)
        states, messages = fields_of(f"{kind.__name__}: state", state), fields_of(f"{kind.__name__}: message", message)
        declared = _Declared(kind.__name__, states, messages, functions)
        for name, function in functions.items():
            check(f"{kind.__name__}.{name}", function, states, messages)

        def run(
            self: Any,
            until: Optional[Duration] = None,
            *,
            protocol: str = "auto",
            threads: Optional[int] = None,
            federates: Optional[int] = None,
            seed: int = 1,
            compiled: Optional[bool] = None,
            workers: int = 1,
        ) -> ModelRun:
            """Runs the model to its end, to `until`, or to Ctrl-C.

            Parameters
            ----------
            until : int or str, optional
                The simulated time at which it ends, in nanoseconds or as "20s"; unless given, it ends without events.
            protocol : str
                As `run.protocol` in scenarios. The digest does not depend on it.
            threads, federates : int, optional
                As `run.threads` and `run.federates` in scenarios. The digest does not depend on them. Plain Python
                handlers run on one thread unless given, and so does each of several workers.
            seed : int
                The seed of all random numbers.
            compiled : bool, optional
                False: handlers run as plain Python. True: an error where numba is missing. Unless given, they are
                compiled where numba is there.
            workers : int
                How many processes run it. The digest does not depend on it. Plain Python handlers run at the same time
                in several; they import the model, so that a program's file must start the run below
                ``if __name__ == "__main__":``.

            Raises
            ------
            CompileError
                A handler that numba cannot compile, with its line.
            HandlerError
                A handler that raised, or sent what breaks a rule.
            RunError
                Settings that the model cannot have; a worker that was killed, or cannot import the model.
            """
            settings = {
                "protocol": protocol,
                "seed": _count("seed", seed, (1 << 64) - 1),
                "until": None if until is None else _ns("until", until),
                "threads": None if threads is None else _count("threads", threads),
                "federates": None if federates is None else _count("federates", federates),
            }
            is_compiled = has_numba() if compiled is None else compiled
            workers = _workers(workers, self, protocol)
            if (workers > 1 or not is_compiled) and threads is None:
                # Only one handler has the GIL at a time: others would wait for it. Workers share the cores.
                settings["threads"] = 1
            return _run(self, settings, is_compiled, workers)

        setattr(made, "run", run)
        setattr(made, "_declared", declared)
        return kind

    return decorate


def _parameters(instance: Any) -> tuple[Any, bytes]:
    """The parameters of a model as a record: their fields, and its bytes."""
    import numpy

    from paceline._model_types import fields_of

    values = {f.name: getattr(instance, f.name) for f in dataclasses.fields(instance)}
    values |= {"lps": _count("lps", instance.lps), "lookahead": _ns("lookahead", instance.lookahead)}
    members: list[tuple[Any, ...]] = []
    for name, value in values.items():
        array = numpy.asarray(value)
        kinds = {"b": "?", "i": "i8", "u": "i8", "f": "f8"}
        if array.dtype.kind not in kinds or array.ndim > 1:
            allowed = "an int, a float, a bool, or an array of one dimension of these"
            raise TypeError(f"parameter {name} is {type(value).__name__}; allowed: {allowed}")
        members.append((name, kinds[array.dtype.kind], *([array.shape] if array.ndim else [])))
    fields = fields_of("parameters", numpy.dtype(members, align=True))
    memory = bytearray(fields.dtype.itemsize)
    fields.write(memory, values, lambda field, value: field.convert(value))
    return fields, bytes(memory)


def _channels(instance: Any, lps: int) -> Optional[list[list[tuple[int, int]]]]:
    if not hasattr(instance, "channels"):
        return None
    pairs = (instance.channels(lp) for lp in range(lps))
    return [[(_count("channels: LP", to), _ns("channels: lookahead", ns)) for to, ns in of_lp] for of_lp in pairs]


def _workers(workers: Any, instance: Any, protocol: str) -> int:
    workers, lps = _count("workers", workers), _count("lps", instance.lps)
    if workers == 1:
        return 1
    if not 1 <= workers <= lps:
        raise ValueError(f"workers = {workers}; allowed: 1 to the model's {lps} LPs")
    if protocol == "sequential":
        raise ValueError(f'workers = {workers} with protocol="sequential", which runs in one process; allowed: others')
    return workers


def parts_of(instance: Any, is_compiled: bool) -> tuple[dict[str, Any], Any, str]:
    """What the engine needs of a model, its handlers, which are to be kept as long as a run goes on, and its name."""
    declared: _Declared = type(instance)._declared
    if is_compiled and not has_numba():
        raise ImportError("compiled=True needs numba: pip install numba")
    fields, memory = _parameters(instance)
    handlers = declared.handlers(instance, fields, is_compiled)
    addresses = [h.address if is_compiled else ctypes.cast(h, ctypes.c_void_p).value for h in handlers]
    parts = {
        "lps": instance.lps,
        "lookahead": _ns("lookahead", instance.lookahead),
        "channels": _channels(instance, instance.lps),
        "parameters": memory,
        "state": declared.state.layout,
        "message": declared.message.layout,
        "init": addresses[0],
        "handle": addresses[1],
    }
    return parts, handlers, declared.name


def _run(instance: Any, settings: dict[str, Any], is_compiled: bool, workers: int) -> ModelRun:
    import numpy

    declared: _Declared = type(instance)._declared
    if workers > 1:
        from paceline._model_workers import run_in_workers

        # Mistakes in parameters are found here, where their tracebacks help.
        _parameters(instance)
        summary, owners, states = run_in_workers(instance, settings, is_compiled, workers)
    else:
        parts, _handlers, _ = parts_of(instance, is_compiled)
        with ends_with_program() as ending:
            found, rest = _native.run_model(parts, settings, ending)
        if found is None:
            raise explain(declared.name, *rest)
        summary, (owners, states) = found, rest
    size = declared.state.dtype.itemsize
    final = numpy.frombuffer(states, declared.state.dtype) if size else numpy.zeros(len(owners), declared.state.dtype)
    ordered = numpy.zeros(instance.lps, declared.state.dtype)
    ordered[numpy.asarray(owners, dtype=numpy.int64)] = final
    return ModelRun(declared.name, summary, ordered)
