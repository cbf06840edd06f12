"""The program `paceline` that the package holds: how it is called, and what its mistakes become."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sysconfig
from typing import Optional

__all__ = ["RunError", "ScenarioError", "call"]

# Exit statuses of the program: a mistake of the scenario or an option, and the end by a signal, after a summary.
FAILED, MISTAKE = 1, 2
ENDED_BY_SIGNAL = (129, 130, 143)
# How long Ctrl-C may go unnoticed at worst.
WAKE_S = 0.5


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


def program() -> str:
    """The program's path: among the scripts of this Python, or on the path."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    for folder in [*folders, None]:
        if found := shutil.which("paceline", path=folder):
            return found
    raise RunError("the program `paceline` is not there: pip install --force-reinstall paceline")


def _output(child: subprocess.Popen[str]) -> tuple[str, str]:
    """What a program has printed by its end."""
    while True:
        try:
            return child.communicate(timeout=WAKE_S)
        except subprocess.TimeoutExpired:
            # A signal that comes just before the wait does not end it: Python acts on it between two waits.
            continue


def call(*arguments: str, may_fail: bool = False) -> str:
    """What the program prints with these arguments.

    Ctrl-C ends it, and then this is what it has printed so far. With `may_fail`, a summary of what has
    failed in part is no error.

    Raises
    ------
    ScenarioError
        A mistake in a scenario or an option.
    RunError
        It failed, or has printed nothing.
    """
    # A session of its own: Ctrl-C of a terminal is passed on here alone, and once, as a second one ends at once.
    child = subprocess.Popen(
        [program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, said = _output(child)
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        out, said = _output(child)
    except BaseException:
        child.kill()
        child.wait()
        raise
    if may_fail and child.returncode == FAILED and out.startswith("{"):
        return out
    said = re.sub(r"^error: ", "", said.strip())
    if child.returncode == MISTAKE:
        raise ScenarioError(said)
    if child.returncode != 0 and child.returncode not in ENDED_BY_SIGNAL or not out.strip():
        raise RunError(said or f"the program ended with status {child.returncode}")
    return out
