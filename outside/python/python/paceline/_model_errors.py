"""Mistakes in handlers of models: exceptions, what is found before anything runs, what errors of a run become."""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
import textwrap
import traceback
from typing import Any, Callable, Optional

from paceline._program import RunError

__all__ = ["CompileError", "HandlerError", "check", "describe", "explain"]


class HandlerError(RunError):
    """A handler that raised, or asked the run for what it does not allow. What it raised is its ``__cause__``.

    Attributes
    ----------
    handler : str
        The handler, such as ``Phold.handle``.
    lp : int or None
        The LP that it was called for.
    time_ns : int or None
        The simulated time of the event; 0 in `init`.
    """

    def __init__(self, message: str, handler: str = "", lp: Optional[int] = None, time_ns: Optional[int] = None):
        super().__init__(message)
        self.handler = handler
        self.lp = lp
        self.time_ns = time_ns


class CompileError(TypeError):
    """A handler that cannot be compiled, or names a field that is not there. numba's error is its ``__cause__``.

    Attributes
    ----------
    handler : str
        The handler, such as ``Phold.handle``.
    file : str or None
        The file of the line that cannot be compiled.
    line : int or None
        That line, counted from 1.
    """

    def __init__(self, message: str, handler: str = "", file: Optional[str] = None, line: Optional[int] = None):
        super().__init__(message)
        self.handler = handler
        self.file = file
        self.line = line


def check(handler: str, function: Callable[..., Any], state: Any, message: Any) -> None:
    """A CompileError where a handler names a field that is not there, or writes what it may only read."""
    names = ["parameters", "state", "message", "context"]
    if handler.endswith(".init"):
        names.remove("message")
    code = getattr(function, "py_func", function).__code__
    given = code.co_varnames[: code.co_argcount]
    if len(given) != len(names):
        raise TypeError(f"{handler} has the arguments {', '.join(given)}; allowed: {', '.join(names)}")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        # Without its source, as in an interactive interpreter, mistakes are found later.
        return
    roles = dict(zip(given, names))
    fields = {"state": state.names, "message": message.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        role = roles.get(node.value.id, "")
        line = code.co_firstlineno + node.lineno - 1
        if node.attr not in fields.get(role, [node.attr]):
            text = f"the {role} has no field {node.attr}; allowed: {', '.join(fields[role]) or 'none'}"
        elif role not in ("", "state") and not isinstance(node.ctx, ast.Load):
            text = f"{node.value.id}.{node.attr} cannot be assigned; only the state changes"
        else:
            continue
        raise CompileError(f"{handler}: {code.co_filename}:{line}: {text}", handler, code.co_filename, line)


def describe(error: Exception) -> str:
    """What an error of the compiler says, in a line or a few: numba repeats every candidate that it has tried."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    # What is asked wrongly of the context is said by the functions of this file.
    if ours := re.search(r"cx\.[a-z_.]+: .+", text):
        return ours[0]
    if not type(error).__module__.startswith("numba."):
        return text if isinstance(error, TypeError) else f"{type(error).__name__}: {text}"
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Failed in nopython mode")]
    return "\n".join(itertools.takewhile(lambda line: not line.startswith(("File ", "During: ")), lines))


def explain(
    name: str, kind: str, place: str, text: str, lp: Optional[int], at: Optional[int], raised: Optional[BaseException]
) -> Exception:
    """The exception for an error of a run."""
    if kind == "settings":
        return RunError(text)
    if kind == "worker":
        return RunError(f"{place} {text}")
    handler = f"{name}.init" if kind == "init" or at == 0 and lp is None else f"{name}.handle"
    if raised is not None:
        text = "".join(traceback.format_exception_only(type(raised), raised)).strip()
        # The handler's line, or its helper's; not one of this package's.
        folder = os.path.dirname(__file__) + os.sep
        frames = [f for f in traceback.extract_tb(raised.__traceback__) if not f.filename.startswith(folder)]
        if frames:
            place = f"{frames[-1].filename}:{frames[-1].lineno}: {place}"
    error = HandlerError(": ".join(part for part in (handler, place, text) if part), handler, lp, at)
    error.__cause__ = raised
    return error
