"""Measures plain Python handlers in worker processes beside the same in one process, in turns.

    python compare_workers.py [--rounds 5] [--lps 1024] [--seconds 20]

The first table has real microseconds an event, the median of the rounds with the least and greatest, without the start of the
workers, which is in the column after it, in seconds. The second is what a window costs: two LPs, each in a worker, send each
other a message in each window, of which the time of one handler is taken off.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time

import paceline

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
import models  # noqa: E402

CASES = {"phold": models.Phold, "stations": models.Stations, "disease": models.Disease}


@paceline.model(state=[("n", "i8")])
class Pair:
    """Two LPs that send each other a message in each window."""

    lps: int = 2
    lookahead: int = 10**9

    def init(self, state, cx):
        cx.send(1 - cx.lp, self.lookahead)

    def handle(self, state, message, cx):
        state.n += 1
        cx.send(1 - cx.lp, self.lookahead)


def shown(values, digits=1):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def measured(model, workers, until):
    start = time.perf_counter()
    run = model.run(until, protocol="window", workers=workers, compiled=False)
    took = time.perf_counter() - start
    return run, run.summary["wall_s"], took - run.summary["wall_s"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--lps", type=int, default=1024)
    arguments.add_argument("--seconds", type=int, default=20)
    arguments.add_argument("--windows", type=int, default=20000)
    options = arguments.parse_args()
    print(f"{'case':10} {'one process, us':>26} {'two workers, us':>26} {'times':>6} {'start, s':>22}")
    for name, kind in CASES.items():
        found = {1: [], 2: []}
        starts, digests = [], set()
        for _ in range(options.rounds):
            for workers, times in found.items():
                run, wall, start = measured(kind(options.lps), workers, f"{options.seconds}s")
                times.append(1e6 * wall / run.summary["events_committed"])
                digests.add(run.digest)
                if workers == 2:
                    starts.append(start)
        assert len(digests) == 1, f"{name}: {digests}"
        gain = statistics.median(found[1]) / statistics.median(found[2])
        print(f"{name:10} {shown(found[1]):>26} {shown(found[2]):>26} {gain:6.2f} {shown(starts, 2):>22}", flush=True)
    windows = {1: [], 2: []}
    for _ in range(options.rounds):
        for workers, times in windows.items():
            _, wall, _ = measured(Pair(), workers, f"{options.windows}s")
            times.append(1e6 * wall / options.windows)
    # In one process the handlers of both LPs follow each other.
    costs = [two - one / 2 for one, two in zip(windows[1], windows[2])]
    print(f"a window: {shown(windows[2])} us with two workers, {shown(windows[1])} us in one process;")
    print(f"without one handler: {shown(costs)} us")


if __name__ == "__main__":
    main()
