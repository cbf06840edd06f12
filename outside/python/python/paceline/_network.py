"""Platforms of SimGrid: routes, and how long transfers take."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from typing import Any, Iterable, Optional, Union

from paceline import _program

__all__ = ["network"]


def network(
    platform: Union[str, os.PathLike[str]],
    transfers: Optional[Iterable[tuple[str, str, int]]] = None,
    model: Optional[str] = None,
    together: bool = False,
) -> list[dict[str, Any]]:
    """Routes of a platform, or how long transfers take on it.

    Parameters
    ----------
    platform
        A file in SimGrid's XML format.
    transfers
        Sender, receiver and bytes of each transfer. Without it, the routes from every host to every other are given.
    model
        The network model: ``"LV08"``, ``"CM02"`` or ``"constant"``; that of the file, unless it is given.
    together
        Whether all transfers start together and share links, or each is alone.

    Returns
    -------
    list of dict
        For each transfer `source`, `destination`, `bytes` and `seconds`, None where a link on its way was off; or for
        each route `source`, `destination`, `latency_seconds` and `links`, None and empty where there is none.

    Raises
    ------
    ScenarioError
        A mistake in the file, or a transfer between hosts without a route.

    Examples
    --------
    >>> paceline.network("scenarios/platforms/campus.xml", [("a", "b", 1_000_000)])  # doctest: +SKIP
    """
    path = os.fspath(platform)
    if transfers is None:
        if model is not None or together:
            raise TypeError("model and together are for transfers; allowed: transfers=")
        return [_route(row) for row in csv.DictReader(io.StringIO(_program.call("network", path, "--routes")))]
    rows = list(transfers)
    if not rows:
        return []
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".csv", newline=""))
        writer = csv.writer(file)
        writer.writerow(["source", "destination", "bytes"])
        writer.writerows(_transfer(row) for row in rows)
        file.flush()
        more = [] if model is None else ["--model", model]
        mode = "all" if together else "single"
        out = _program.call("network", path, "--transfers", file.name, "--mode", mode, *more)
    found = csv.DictReader(io.StringIO(out))
    return [{**row, "bytes": int(row["bytes"]), "seconds": _number(row["seconds"])} for row in found]


def _transfer(row: tuple[str, str, int]) -> tuple[str, str, int]:
    try:
        source, destination, size = row
    except (TypeError, ValueError):
        raise TypeError(f"a transfer is (source, destination, bytes), not {row!r}") from None
    if (
        not (isinstance(source, str) and isinstance(destination, str))
        or isinstance(size, bool)
        or not isinstance(size, int)
    ):
        raise TypeError(f"a transfer is (str, str, int), not {row!r}")
    return source, destination, size


def _route(row: dict[str, str]) -> dict[str, Any]:
    return {**row, "latency_seconds": _number(row["latency_seconds"]), "links": row["links"].split()}


def _number(text: str) -> Optional[float]:
    return float(text) if text else None
