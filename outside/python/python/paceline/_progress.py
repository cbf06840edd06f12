"""How far a run is, shown while it goes on: in a notebook, or in a terminal."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from typing import Any, Iterator, Optional

from paceline._program import Show

__all__ = ["shown"]


@contextlib.contextmanager
def shown(wanted: bool) -> Iterator[Optional[Show]]:
    """What shows progress, None where it is not wanted or can be seen nowhere. What was shown is removed at the end."""
    if not wanted:
        yield None
    elif (cell := _cell()) is not None:
        try:
            yield cell.show
        finally:
            cell.end()
    elif sys.stderr is not None and sys.stderr.isatty():
        line = _Line()
        try:
            yield line.show
        finally:
            line.end()
    else:
        yield None


def _words(speed: _Speed, time_s: float, until_s: Optional[float], events: int) -> str:
    reached = f"{time_s:.6g} s" if until_s is None else f"{time_s:.6g} of {until_s:.6g} s"
    return f"{reached}, {speed.of(events):,.0f} events/s"


class _Speed:
    """Events a second since it was made."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def of(self, events: int) -> float:
        return events / max(time.monotonic() - self._since, 1e-9)


class _Line:
    """A bar in the line of the cursor."""

    def __init__(self) -> None:
        self._speed = _Speed()

    def show(self, time_s: float, until_s: Optional[float], events: int) -> None:
        words = _words(self._speed, time_s, until_s, events)
        room = shutil.get_terminal_size().columns - len(words) - 8
        bar = ""
        if until_s and room >= 10:
            part = min(time_s / until_s, 1.0)
            done = int(part * min(room, 40))
            bar = f"{part:4.0%} [" + "#" * done + " " * (min(room, 40) - done) + "] "
        print(f"\r\x1b[2K{bar}{words}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


class _Cell:
    """A bar below the cell of a notebook, which each new one replaces."""

    def __init__(self, display: Any) -> None:
        self._speed, self._handle = _Speed(), display

    def show(self, time_s: float, until_s: Optional[float], events: int) -> None:
        words = _words(self._speed, time_s, until_s, events)
        most = f' max="1" value="{min(time_s / until_s, 1.0):.4f}"' if until_s else ""
        self._update(f"<progress{most}></progress> {words}", words)

    def end(self) -> None:
        self._update("", "")

    def _update(self, html: str, text: str) -> None:
        self._handle.update({"text/html": html, "text/plain": text}, raw=True)


def _cell() -> Optional[_Cell]:
    """The cell that runs now, where this is a notebook."""
    # Who has not imported IPython is in no notebook.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import DisplayHandle

    handle = DisplayHandle()
    handle.display({"text/html": "", "text/plain": ""}, raw=True)
    return _Cell(handle)
