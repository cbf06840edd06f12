"""Measures models of handlers in Python beside the same models in Rust, in turns, on one and on two threads.

    python compare_models.py [--rounds 5] [--lps 4096]

It needs numba, and a wheel with the models in Rust: `maturin build --release --features reference` in this package.
Each line gives nanoseconds an event, the median of the rounds with the least and greatest: of real time, and of
processor time in all threads. The ratios are those of medians. Compiling is not measured.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time

from paceline import _native

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
import models  # noqa: E402

# The model, its simulated seconds, and those of a plain run, which takes a hundred times as long.
CASES = {
    "phold": (models.Phold, 400, 10),
    "stations": (models.Stations, 600, 20),
    "disease": (models.Disease, 500, 20),
}


def in_rust(name, lps, until_s, threads):
    protocol = "sequential" if threads == 1 else "window"
    settings = {"protocol": protocol, "seed": 1, "until": until_s * 10**9, "threads": threads, "federates": None}
    return _native.run_reference(name, lps, settings)


def in_python(model, lps, until_s, threads, compiled=True):
    protocol = "sequential" if threads == 1 else "window"
    return model(lps).run(f"{until_s}s", protocol=protocol, threads=threads, compiled=compiled).summary


def measured(run):
    """Real and processor time an event, in nanoseconds, and the digest."""
    start = time.process_time()
    summary = run()
    cpu = time.process_time() - start
    events = summary["events_committed"]
    return 1e9 * summary["wall_s"] / events, 1e9 * cpu / events, summary["digest"]


def shown(values):
    return f"{statistics.median(values):7.0f} ({min(values):.0f} - {max(values):.0f})"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--lps", type=int, default=4096)
    options = arguments.parse_args()
    print(f"{'case':10} {'way':16} {'real ns':>26} {'processor ns':>26} {'by Rust':>8} {'by one':>7}")
    for name, (model, until_s, plain_s) in CASES.items():
        ways = {
            "Rust, 1": lambda: in_rust(name, options.lps, until_s, 1),
            "numba, 1": lambda: in_python(model, options.lps, until_s, 1),
            "Rust, 2": lambda: in_rust(name, options.lps, until_s, 2),
            "numba, 2": lambda: in_python(model, options.lps, until_s, 2),
            "plain, 1": lambda: in_python(model, options.lps, plain_s, 1, False),
        }
        in_python(model, options.lps, 1, 1)
        found = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, run in ways.items():
                found[way].append(measured(run))
        digests = {digest for way in ways if way != "plain, 1" for _, _, digest in found[way]}
        assert len(digests) == 1, f"{name}: {digests}"
        real = {way: statistics.median(wall for wall, _, _ in found[way]) for way in ways}
        for way in ways:
            kind, threads = way.split(", ")
            by_rust = real[way] / real["Rust, " + threads]
            by_one = real[kind + ", 1"] / real[way]
            columns = [shown([each[place] for each in found[way]]) for place in (0, 1)]
            print(f"{name:10} {way:16} {columns[0]:>26} {columns[1]:>26} {by_rust:8.2f} {by_one:7.2f}", flush=True)


if __name__ == "__main__":
    main()
