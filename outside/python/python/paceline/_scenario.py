"""Scenarios as the program takes them: a file, made of a text or a dict where it is none, and overrides."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from typing import Any, Iterator, Mapping, Optional, Union

from paceline._ending import ends_with_program

__all__ = ["Overrides", "Scenario", "options", "path"]

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Overrides = Optional[Mapping[str, Any]]


def options(overrides: Overrides, **settings: Any) -> list[str]:
    """The options `--set` of overrides and of `settings`, keys of [run] that are None where nobody gave them."""
    values = dict(overrides or {})
    for key, value in settings.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} must be an int, not {type(value).__name__}")
        values[f"run.{key}"] = value
    return [option for key, value in values.items() for option in ("--set", f"{key}={_override(key, value)}")]


@contextlib.contextmanager
def path(scenario: Scenario) -> Iterator[str]:
    """The path of the scenario's file. One that is made here is in the current folder, from which relative names in
    it are seen, and is removed at the end."""
    if isinstance(scenario, os.PathLike) or isinstance(scenario, str) and "\n" not in scenario:
        yield str(pathlib.Path(scenario))
        return
    text = scenario if isinstance(scenario, str) else _toml(scenario)
    # Also on a daemon thread, when the interpreter exits.
    with ends_with_program():
        with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="scenario-", dir=os.getcwd()) as file:
            file.write(text)
            file.flush()
            yield file.name


def _override(key: str, value: Any) -> str:
    """A value as `--set` takes it: strings without quotes."""
    return value if isinstance(value, str) else _value(key, value)


def _value(key: str, value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        # TOML's basic strings escape as JSON does.
        return json.dumps(os.fspath(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)} = {_value(f'{key}.{name}', of)}" for name, of in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(key, of) for of in value) + "]"
    raise TypeError(f"{key} cannot be a {type(value).__name__}; allowed: str, int, float, bool, list and dict")


def _toml(scenario: Mapping[str, Any]) -> str:
    """A scenario of a dict of sections."""
    if not isinstance(scenario, Mapping):
        raise TypeError(f"a scenario is a path, a text or a dict, not {type(scenario).__name__}")
    text = []
    for section, keys in scenario.items():
        if not isinstance(keys, Mapping):
            raise TypeError(f"section {section} must be a dict, not {type(keys).__name__}")
        text.append(f"[{section}]")
        text.extend(f"{json.dumps(key)} = {_value(f'{section}.{key}', value)}" for key, value in keys.items())
    return "\n".join(text) + "\n"
