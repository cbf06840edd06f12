"""Runs of scenarios by the program `paceline` that the package holds."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from typing import Any, Mapping, Optional, Union

__all__ = ["Run", "RunError", "ScenarioError", "run"]

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]

# Exit statuses of the program: a mistake of the scenario or an option, and the end by a signal, after a summary.
MISTAKE = 2
ENDED_BY_SIGNAL = (129, 130, 143)


class RunError(Exception):
    """A run that failed while it was going on. Its text is what the program says."""


class ScenarioError(ValueError):
    """A mistake in a scenario or in `overrides`, found before anything runs.

    Attributes
    ----------
    file : str or None
        The scenario, where the mistake is in a file.
    line : int or None
        Its line, counted from 1.
    key : str or None
        The key that is wrong, without its section.
    """

    def __init__(self, message: str):
        super().__init__(message)
        place = re.match(r"(?P<file>.+?):(?:(?P<line>\d+):\d+:)? ", message)
        is_override = message.startswith("--set ")
        self.file: Optional[str] = place["file"] if place and not is_override else None
        self.line: Optional[int] = int(place["line"]) if self.file and place and place["line"] else None
        key = re.search(r"`([^`]+)` in \[", message) or re.search(r"unknown key `([^`]+)`", message)
        self.key: Optional[str] = key[1] if key else None


class Run:
    """A run that has ended.

    Attributes
    ----------
    summary : dict
        What `paceline run --json` prints: model, protocol, events, times and results.
    """

    def __init__(self, summary: dict[str, Any]):
        self.summary = summary

    @property
    def digest(self) -> str:
        """A number over all events and final states, equal on any number of threads and under every protocol."""
        return self.summary["digest"]

    @property
    def results(self) -> dict[str, Any]:
        """The model's results by their names."""
        return self.summary.get("results") or {}

    @property
    def ended_by(self) -> str:
        """Why the run ended: `horizon`, `no-events`, or what interrupted it."""
        return self.summary["ended_by"]

    def _facts(self) -> list[tuple[str, Any]]:
        names = ["model", "scenario", "protocol", "threads", "events_committed", "end_time_s", "ended_by", "digest"]
        found = [(name, self.summary[name]) for name in names if name in self.summary]
        return found + list(self.results.items())

    def __repr__(self) -> str:
        return "<Run " + ", ".join(f"{name}={value}" for name, value in self._facts()[:8]) + ">"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in self._facts())
        return f"<table>{rows}</table>"


def run(
    scenario: Scenario,
    overrides: Optional[Mapping[str, Any]] = None,
    threads: Optional[int] = None,
) -> Run:
    """Run a scenario of one of the models that come with Paceline.

    Other threads of Python go on meanwhile. Ctrl-C ends the run, which then has the summary so far.

    Parameters
    ----------
    scenario
        The path of a TOML file; its text, which has line breaks; or a dict of its sections. Files that a text or dict
        names are seen from the current folder.
    overrides
        Values by their keys, such as ``{"run.until": "20s", "model.lps": 64}``, which replace those of the scenario.
    threads
        How many threads, as the key ``run.threads``.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        A mistake in the scenario or in `overrides`.
    RunError
        The run failed.
    """
    settings = dict(overrides or {})
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int):
            raise TypeError(f"threads must be an int, not {type(threads).__name__}")
        settings["run.threads"] = threads
    options = [option for key, value in settings.items() for option in ("--set", f"{key}={_override(key, value)}")]
    if isinstance(scenario, (str, os.PathLike)) and "\n" not in os.fspath(scenario):
        return _run_file(pathlib.Path(scenario), options)
    text = scenario if isinstance(scenario, str) else _toml(scenario)
    with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="scenario-", dir=os.getcwd()) as file:
        file.write(text)
        file.flush()
        return _run_file(pathlib.Path(file.name), options)


def _program() -> str:
    """The program's path: among the scripts of this Python, or on the path."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    for folder in [*folders, None]:
        if found := shutil.which("paceline", path=folder):
            return found
    raise RunError("the program `paceline` is not there: pip install --force-reinstall paceline")


def _run_file(path: pathlib.Path, options: list[str]) -> Run:
    command = [_program(), "run", str(path), "--json", *options]
    # A session of its own: Ctrl-C of a terminal is passed on here alone, and once, as a second one ends at once.
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, said = child.communicate()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        out, said = child.communicate()
    except BaseException:
        child.kill()
        child.wait()
        raise
    said = re.sub(r"^error: ", "", said.strip())
    if child.returncode == MISTAKE:
        raise ScenarioError(said)
    if child.returncode != 0 and child.returncode not in ENDED_BY_SIGNAL or not out.strip():
        raise RunError(said or f"the program ended with status {child.returncode}")
    return Run(json.loads(out))


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
