"""Studies: a scenario at many points, by the program or by the workers of an executor."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import tempfile
from typing import Any, Mapping, Optional, Sequence

from paceline import _program, _scenario
from paceline._native import Table
from paceline._run import Folder, html
from paceline._scenario import Overrides, Scenario

__all__ = ["Study", "study"]


class Study:
    """A study, as far as its runs have ended.

    Attributes
    ----------
    summary : dict
        What `paceline study --json` prints: points with means and intervals, conclusions, failures, numbers of runs.
    table : Table
        A row for each run: factors, replication, seed, whether it has ended or failed and why, digest, and results.
    """

    def __init__(self, summary: dict[str, Any], table: Table):
        self.summary = summary
        self.table = table

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table as a dict for each run. ``pandas.DataFrame(rows)`` takes it."""
        names = self.table.columns
        return [dict(zip(names, values)) for values in zip(*(self.table[name] for name in names))]

    @property
    def points(self) -> list[dict[str, Any]]:
        """For each point its `levels` by factors, and its `metrics` by names: mean, and interval of 95 %."""
        return self.summary["points"]

    @property
    def conclusions(self) -> list[str]:
        """Which point is best in each metric, where the study says what is good."""
        return self.summary["conclusions"]

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Runs that have failed: their names, seeds and errors."""
        return self.summary["failures"]

    def _facts(self) -> list[tuple[str, Any]]:
        runs = self.summary["runs"]
        facts = [("study", self.summary["study"]), ("points", len(self.points)), *runs.items()]
        return facts + [("conclusion", text) for text in self.conclusions]

    def __repr__(self) -> str:
        return "<Study " + ", ".join(f"{name}={value}" for name, value in self._facts()[:5]) + ">"

    def _repr_html_(self) -> str:
        return html(self._facts())


def study(
    study: Scenario,
    overrides: Overrides = None,
    out: Optional[Folder] = None,
    at_once: Optional[int] = None,
    retry: Sequence[str] = (),
    executor: Optional[concurrent.futures.Executor] = None,
    parts: Optional[int] = None,
) -> Study:
    """Run the runs of a study that have not been run yet.

    A study names a scenario, factors that vary, and how often each point is repeated. The chapter on studies has all of
    its keys.

    Parameters
    ----------
    study
        The path of a study file; its text, which has line breaks; or a dict of its sections, whose
        ``["study"]["scenario"]`` may be a text or a dict as well. Files that a text or dict names are seen from the
        current folder.
    overrides
        Values by their keys, such as ``{"study.replications": 40}``.
    out
        A folder that keeps the journal, so that the study continues there, and gets `runs.csv`, `runs.parquet` and
        `study.html`. Without it nothing is kept.
    at_once
        How many runs are side by side, in each part; so many that all cores have work, unless it is given.
    retry
        Runs that are run again: ``"failed"`` for all that have failed, or names of runs.
    executor
        Whose workers run the study: a ``ProcessPoolExecutor``, a ``ThreadPoolExecutor``, or one of a cluster whose
        workers see the same files and have this package. Each part of the study is one task, and one run at a time.
        The result is that of the same study without it.
    parts
        Into how many tasks the study is divided for `executor`; four for each core of this machine, unless it is given.

    Returns
    -------
    Study

    Raises
    ------
    ScenarioError
        A mistake in the study, in its scenario or in `overrides`.
    RunError
        Rows could not be kept. A run that fails is no error: its row says why.
    """
    for name, value in [("at_once", at_once), ("parts", parts)]:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if isinstance(retry, str):
        raise TypeError("retry must be a list of names, not a str")
    if executor is None and parts is not None:
        raise TypeError("parts are for an executor; allowed: executor=")
    with contextlib.ExitStack() as stack:
        folder = os.fspath(out) if out is not None else stack.enter_context(tempfile.TemporaryDirectory())
        # Workers may have another current folder.
        folder = os.path.abspath(folder)
        path = os.path.abspath(stack.enter_context(_file(study, stack)))
        options = ["--out", folder, "--json", *_scenario.options(overrides)]
        again = [option for run in retry for option in ("--retry", run)]
        if executor is None:
            more = [] if at_once is None else ["--at-once", str(at_once)]
            printed = _part("study", path, *options, *again, *more)
        else:
            count = parts or 4 * (os.cpu_count() or 1)
            work = [*options, *again, "--at-once", str(at_once or 1)]
            _share(executor, [["study", path, *work, "--array", f"{part}/{count}"] for part in range(1, count + 1)])
            printed = _part("study", "merge", path, *options)
        return Study(json.loads(printed), Table(pathlib.Path(folder) / "runs.parquet"))


def _part(*arguments: str) -> str:
    """Calls the program: a function of the module, which workers can be sent."""
    return _program.call(*arguments, may_fail=True)


def _share(executor: concurrent.futures.Executor, parts: list[list[str]]) -> None:
    futures = [executor.submit(_part, *part) for part in parts]
    try:
        for future in futures:
            future.result()
    except BaseException:
        # Those that have begun keep their rows, and end by themselves.
        for future in futures:
            future.cancel()
        raise


def _file(study: Scenario, stack: contextlib.ExitStack) -> contextlib.AbstractContextManager[str]:
    """The study's file, and that of its scenario where this is no file yet."""
    section = study.get("study") if isinstance(study, Mapping) else None
    if isinstance(study, Mapping) and isinstance(section, Mapping):
        scenario = section.get("scenario")
        if isinstance(scenario, Mapping) or isinstance(scenario, str) and "\n" in scenario:
            made = stack.enter_context(_scenario.path(scenario))
            study = {**study, "study": {**section, "scenario": made}}
    return _scenario.path(study)
