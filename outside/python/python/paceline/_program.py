"""The program `paceline` that the package holds: how it is called, and what its mistakes become."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from typing import Any, Callable, Iterator, Optional, Union

from paceline._ending import ends_with_program

__all__ = ["Conversation", "Live", "RunError", "ScenarioError", "call", "live_options"]

# Exit statuses of the program: a mistake of the scenario or an option, and the end by a signal, after a summary.
FAILED, MISTAKE = 1, 2
ENDED_BY_SIGNAL = (129, 130, 143)
# How long Ctrl-C may go unnoticed at worst, and how often progress is shown.
WAKE_S = 0.5
SHOW_S = 0.2
# What a run says before its first answer is no longer.
SAID_BYTES = 1 << 16

# What takes the progress of a run: simulated seconds, those of the horizon or None, and events.
Show = Callable[[float, Optional[float], int], None]
# Whether a run serves a page of itself, or at which address.
Live = Union[bool, str]
# What a line on standard error begins with that says where the page is.
PAGE = "Live page: "


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
        is_option = message.startswith("--")
        self.file: Optional[str] = place["file"] if place and not is_option else None
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


def _output(child: subprocess.Popen[str], look: Callable[[], None], every_s: float) -> tuple[str, str]:
    """What a program has printed by its end."""
    while True:
        try:
            out, said = child.communicate(timeout=every_s)
            return out, said or ""
        except subprocess.TimeoutExpired:
            # A signal that comes just before the wait does not end it: Python acts on it between two waits.
            look()


def _raise_at_exit(ending: threading.Event, look: Callable[[], None]) -> None:
    # On a daemon thread, which nobody would wait for: the program would go on without its owner.
    if ending.is_set():
        raise KeyboardInterrupt
    look()


def live_options(live: Live) -> list[str]:
    """The options of the program for a live page: none for False."""
    if not isinstance(live, (bool, str)):
        raise TypeError(f"live must be a bool or an address such as '8080', not {type(live).__name__}")
    return [f"--live={live}"] if isinstance(live, str) else ["--live"] if live else []


class _Progress:
    """Standard error of a program that writes progress as lines of JSON and where its page is, between other lines."""

    def __init__(self, show: Optional[Show]):
        self._show, self._latest, self._shown = show, None, None
        self._page: Optional[str] = None
        self._said: list[str] = []
        self._end, self.write_end = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def begin(self) -> None:
        os.close(self.write_end)
        self._thread.start()

    def look(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            print(page, end="", file=sys.stderr, flush=True)
        if self._show is not None and self._latest is not self._shown:
            self._shown = self._latest
            self._show(self._latest["time_s"], self._latest["until_s"], self._latest["events"])

    def said(self) -> str:
        """The other lines. The program has ended."""
        self._thread.join()
        return "".join(self._said)

    def _read(self) -> None:
        with open(self._end, errors="replace") as lines:
            for line in lines:
                if line.startswith('{"progress":'):
                    self._latest = json.loads(line)["progress"]
                elif line.startswith(PAGE):
                    self._page = line
                else:
                    self._said.append(line)


def call(*arguments: str, show: Optional[Show] = None, live: Live = False, may_fail: bool = False) -> str:
    """What the program prints with these arguments.

    Ctrl-C ends it, and then this is what it has printed so far. `show` is called with its progress, by this thread.
    Where its `live` page is, is printed on standard error.
    With `may_fail`, a summary of what has failed in part is no error.

    Raises
    ------
    ScenarioError
        A mistake in a scenario or an option.
    RunError
        It failed, or has printed nothing.
    """
    progress = _Progress(show) if show or live else None
    options = [*(["--progress-lines"] if show else []), *live_options(live)]
    look, every_s = (progress.look, SHOW_S) if progress else ((lambda: None), WAKE_S)
    with ends_with_program() as ending:
        # A session of its own: Ctrl-C of a terminal is passed on here alone, and once, as a second one ends at once.
        child = subprocess.Popen(
            [program(), *arguments, *options],
            stdout=subprocess.PIPE,
            stderr=progress.write_end if progress else subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        if progress:
            progress.begin()
        try:
            try:
                out, said = _output(child, lambda: _raise_at_exit(ending, look), every_s)
            except KeyboardInterrupt:
                child.send_signal(signal.SIGINT)
                out, said = _output(child, look, every_s)
        except BaseException:
            child.kill()
            child.wait()
            raise
    if progress:
        progress.look()
        said = progress.said()
    has_summary = may_fail and child.returncode == FAILED and out.startswith("{")
    return out if has_summary else concluded(child.returncode, out, said)


def concluded(status: int, out: str, said: str) -> str:
    """What a program has printed that has ended with this status, or the error that it said."""
    said = re.sub(r"^error: ", "", said.strip())
    if status == MISTAKE:
        raise ScenarioError(said)
    if status != 0 and status not in ENDED_BY_SIGNAL or not out.strip():
        raise RunError(said or f"the program ended with status {status}")
    return out


class Conversation:
    """A run that this process owns: lines of JSON to it, and its answers (`paceline run --owned`)."""

    def __init__(self, *arguments: str):
        # In a file: a program whose standard error nobody reads must not come to stand.
        self._said = tempfile.TemporaryFile("w+", errors="replace")
        self._child = subprocess.Popen(
            [program(), *arguments, "--json", "--owned"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            start_new_session=True,
        )
        assert self._child.stdin is not None and self._child.stdout is not None
        self._requests, self._answers = self._child.stdin, self._child.stdout

    def ask(self, request: Any) -> dict[str, Any]:
        """Its answer to a request. Ctrl-C stops the run where it is, and is raised once it has answered.

        Raises
        ------
        ValueError
            It refuses the request, and goes on.
        RunError, ScenarioError
            It has ended by a mistake.
        """
        # A line that cannot be written was sent to a run that has ended, which the answer says.
        with contextlib.suppress(BrokenPipeError):
            self._write(request)
        with self._stopped_by_ctrl_c():
            line = self._answers.readline()
        if line.startswith('{"ok":'):
            return json.loads(line)["ok"]
        if line.startswith('{"error":'):
            raise ValueError(json.loads(line)["error"])
        # It has ended, with a summary where Ctrl-C has ended it.
        self._conclude(line + self._rest())
        raise RunError("the run has ended")

    def page(self) -> Optional[str]:
        """The address of its live page, once it has answered; None where it has none."""
        # The program goes on writing at its end of the file, which this does not move.
        said = os.pread(self._said.fileno(), SAID_BYTES, 0).decode(errors="replace")
        return next((line[len(PAGE) :] for line in said.splitlines() if line.startswith(PAGE)), None)

    def finish(self) -> str:
        """Ends the run where it is, and gives its summary."""
        with contextlib.suppress(BrokenPipeError):
            self._write("finish")
        return self._conclude(self._rest())

    def close(self) -> None:
        """Ends the run without a summary."""
        self._child.kill()
        self._child.wait()
        for stream in (self._requests, self._answers, self._said):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _write(self, request: Any) -> None:
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()

    def _rest(self) -> str:
        with self._stopped_by_ctrl_c():
            return self._answers.read()

    def _conclude(self, out: str) -> str:
        status = self._child.wait()
        self._said.seek(0)
        said = self._said.read()
        self.close()
        # An answer that nobody has waited for, after Ctrl-C, is before the summary.
        lines = [line for line in out.splitlines(True) if not line.startswith(('{"ok":', '{"error":'))]
        return concluded(status, "".join(lines), said)

    @contextlib.contextmanager
    def _stopped_by_ctrl_c(self) -> Iterator[None]:
        """Reading in it goes on after Ctrl-C, which ends the run."""

        def stop(number: int, frame: Any) -> None:
            interrupted.append(number)
            self._child.send_signal(signal.SIGINT)

        interrupted: list[int] = []
        is_main = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGINT) if is_main else None
        # Where the program handles Ctrl-C by itself, or ignores it, that stays.
        if before is not signal.default_int_handler:
            try:
                yield
            except KeyboardInterrupt:
                self._child.send_signal(signal.SIGINT)
                raise
            return
        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if interrupted:
            raise KeyboardInterrupt
