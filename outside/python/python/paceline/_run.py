"""Runs of scenarios, by the program `paceline` that the package holds."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pathlib
import tempfile
from html import escape
from typing import Any, Iterable, Iterator, Mapping, Optional, Union

from paceline import _program, _progress, _scenario
from paceline._native import Table
from paceline._scenario import Overrides, Scenario

__all__ = [
    "Comparison",
    "MachineRun",
    "Replications",
    "Run",
    "check",
    "compare",
    "machine",
    "replicate",
    "resume",
    "run",
]

Folder = Union[str, "os.PathLike[str]"]

# A replication's columns that are not its model's results.
TEXTS = ("ended_by", "digest")


class Tables(Mapping[str, Table]):
    """The tables of results of a run by their names; each is read when it is first asked for."""

    def __init__(self, folder: Folder, keep: Any = None):
        # `keep` is the temporary folder, which is there as long as the tables.
        self._keep = keep
        self._files = {file.stem: file for file in sorted(pathlib.Path(folder).glob("*.parquet"))}
        self._read: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._files:
            raise KeyError(f"no table {name}; allowed: {', '.join(self._files) or 'none, the model has no tables'}")
        if name not in self._read:
            self._read[name] = Table(self._files[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<Tables: {', '.join(self._files) or 'none'}>"


class Run:
    """A run that has ended.

    Attributes
    ----------
    summary : dict
        What `paceline run --json` prints: model, protocol, events, times and results.
    tables : Mapping of str to Table
        The model's tables of results, such as ``run.tables["flows"]``.
    """

    def __init__(self, summary: dict[str, Any], tables: Tables):
        self.summary = summary
        self.tables = tables

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
        return html(self._facts())


class Replications:
    """Replications of a scenario with different seeds.

    Attributes
    ----------
    summary : dict
        What `paceline replicate --json` prints; its `quantities` have means and 95 % confidence intervals.
    rows : list of dict
        A dict for each replication: seed, digest, how it ended, and its results by name, None where it has none.
        ``polars.DataFrame(rows)`` and ``pandas.DataFrame(rows)`` take it.
    """

    def __init__(self, summary: dict[str, Any], rows: list[dict[str, Any]]):
        self.summary = summary
        self.rows = rows

    def __getitem__(self, quantity: str) -> dict[str, Any]:
        """Mean, standard deviation and interval of a result."""
        quantities = self.summary["quantities"]
        if quantity not in quantities:
            raise KeyError(f"no result {quantity}; allowed: {', '.join(quantities)}")
        return quantities[quantity]

    def __len__(self) -> int:
        return len(self.rows)

    def _facts(self) -> list[tuple[str, str]]:
        quantities = self.summary["quantities"].items()
        return [(name, f"{of['mean']:.6g} ({_interval(of)})") for name, of in quantities]

    def __repr__(self) -> str:
        return f"<Replications {len(self)}, " + ", ".join(f"{name} {text}" for name, text in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return html(self._facts())


def _interval(quantity: Mapping[str, Any]) -> str:
    low, high = quantity.get("confidence_95_low"), quantity.get("confidence_95_high")
    return "one replication has no interval" if low is None or high is None else f"{low:.6g} to {high:.6g}"


class MachineRun:
    """A run of a simulated machine that has ended.

    Attributes
    ----------
    summary : dict
        What `paceline machine --json` prints: policy, times, and its workloads with their results.
    """

    def __init__(self, summary: dict[str, Any]):
        self.summary = summary

    @property
    def schedule_digest(self) -> str:
        """A number over all decisions of the hypervisor."""
        return self.summary["schedule_digest"]

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """What ran in the machine's guests, with run times and results."""
        return self.summary["workloads"]

    def _facts(self) -> list[tuple[str, Any]]:
        names = ["policy", "ended_by", "machine_time_s", "schedule_digest"]
        return [(name, self.summary.get(name)) for name in names]

    def __repr__(self) -> str:
        return "<MachineRun " + ", ".join(f"{name}={value}" for name, value in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return html(self._facts())


class Comparison:
    """A simulated machine under several policies.

    Attributes
    ----------
    summary : dict
        What `paceline compare --json` prints.
    """

    def __init__(self, summary: dict[str, Any]):
        self.summary = summary

    @property
    def policies(self) -> dict[str, dict[str, Any]]:
        """The result under each policy, by its name."""
        return {of["policy"]: of for of in self.summary["policies"]}

    def _facts(self) -> list[tuple[str, Any]]:
        return [(name, f"{of.get('machine_time_s')} s") for name, of in self.policies.items()]

    def __repr__(self) -> str:
        return "<Comparison " + ", ".join(f"{name} {time}" for name, time in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return html(self._facts())


def html(facts: list[tuple[str, Any]]) -> str:
    """Facts as a table, for notebooks."""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in facts)
    return f"<table>{rows}</table>"


def run(
    scenario: Scenario,
    overrides: Overrides = None,
    threads: Optional[int] = None,
    out: Optional[Folder] = None,
    progress: bool = False,
    live: _program.Live = False,
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
    out
        A folder for `summary.json`, the tables as Parquet, and other files of the model; it is created. Without it,
        tables are kept as long as the `Run` is.
    progress
        Whether to show how far it is: in a notebook below the cell, elsewhere on standard error if that is a terminal.
    live
        Whether the run serves a page that shows and steers it while it goes on; or the address of that page, as the option
        ``--live`` takes it. What is to be opened is printed on standard error.

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
    with _scenario.path(scenario) as path:
        return _run(["run", path, *_scenario.options(overrides, threads=threads)], out, progress, live)


def resume(
    checkpoint: Folder,
    overrides: Overrides = None,
    threads: Optional[int] = None,
    out: Optional[Folder] = None,
    progress: bool = False,
    live: _program.Live = False,
) -> Run:
    """Resume a run from its checkpoint, and run it to its end.

    Parameters
    ----------
    checkpoint
        The file, which `StartedRun.checkpoint` or a run with the key ``run.checkpoint`` has written.
    overrides
        Keys of ``[run]`` that have another value than in the scenario, such as ``{"run.until": "40s"}``.
    threads, out, progress, live
        As `run` takes them.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        The file is no checkpoint of this version, or a mistake in `overrides`.
    RunError
        The run failed.
    """
    options = _scenario.options(overrides, threads=threads)
    return _run(["resume", os.fspath(checkpoint), *options], out, progress, live)


def _run(arguments: list[str], out: Optional[Folder], progress: bool, live: _program.Live) -> Run:
    if not isinstance(progress, bool):
        raise TypeError(f"progress must be a bool, not {type(progress).__name__}")
    keep = None if out is not None else tempfile.TemporaryDirectory(prefix="paceline-")
    folder = keep.name if keep is not None else os.fspath(out or "")
    with _progress.shown(progress) as show:
        said = _program.call(*arguments, "--json", "--out", folder, "--parquet", show=show, live=live)
        summary = json.loads(said)
    return Run(summary, Tables(folder, keep))


def replicate(
    scenario: Scenario,
    replications: int,
    overrides: Overrides = None,
    at_once: Optional[int] = None,
    out: Optional[Folder] = None,
) -> Replications:
    """Run replications of a scenario with different seeds, several at once.

    Parameters
    ----------
    scenario, overrides
        As `run` takes them; the first seed is that of the scenario.
    replications
        How many.
    at_once
        How many run side by side; so many that all cores have work, unless it is given.
    out
        A folder for `replications.csv` and a folder of results for each seed; it is created.

    Raises
    ------
    ScenarioError
        A mistake in the scenario or in `overrides`.
    RunError
        A run failed.
    """
    for name, value in [("replications", replications), ("at_once", at_once)]:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    more = [] if at_once is None else ["--at-once", str(at_once)]
    with contextlib.ExitStack() as stack:
        folder = os.fspath(out) if out is not None else stack.enter_context(tempfile.TemporaryDirectory())
        path = stack.enter_context(_scenario.path(scenario))
        options = ["--replications", str(replications), "--out", folder, *more, *_scenario.options(overrides)]
        summary = json.loads(_program.call("replicate", path, "--json", *options))
        with open(pathlib.Path(folder) / "replications.csv", newline="") as file:
            rows = [{name: _cell(name, text) for name, text in row.items()} for row in csv.DictReader(file)]
    return Replications(summary, rows)


def _cell(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def machine(scenario: Scenario, overrides: Overrides = None) -> MachineRun:
    """Run a simulated machine: hosts with a hypervisor, and guests under its scheduling policy.

    Takes and raises what `run` does.
    """
    with _scenario.path(scenario) as path:
        return MachineRun(json.loads(_program.call("machine", path, "--json", *_scenario.options(overrides))))


def compare(scenario: Scenario, policies: Iterable[str], overrides: Overrides = None) -> Comparison:
    """Run a simulated machine under several policies, such as ``["credit", "psx"]``.

    Takes and raises what `run` does.
    """
    if isinstance(policies, str):
        raise TypeError("policies must be a list of names, not a str")
    with _scenario.path(scenario) as path:
        options = ["--policies", ",".join(policies), *_scenario.options(overrides)]
        return Comparison(json.loads(_program.call("compare", path, "--json", *options)))


def check(scenario: Scenario, overrides: Overrides = None, determinism: bool = False) -> str:
    """What would run, in words. With `determinism` the model is run twice and compared after each event.

    Raises
    ------
    ScenarioError
        A mistake in the scenario or in `overrides`.
    RunError
        The two runs differ; the text says after which event.
    """
    with _scenario.path(scenario) as path:
        more = ["--determinism"] if determinism else []
        return _program.call("check", path, *more, *_scenario.options(overrides))
