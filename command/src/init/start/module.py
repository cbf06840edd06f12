"""Runs MODEL.toml, beside this file, and shows its results.

What `run` returns has the summary as a dict and the model's tables, which pandas and polars read.
"""

import pathlib

import paceline

SCENARIO = pathlib.Path(__file__).with_name("MODEL.toml")


def run(**options):
    """A run of the scenario: `overrides={"run.seed": 2}` puts other values in place of its own."""
    return paceline.run(SCENARIO, **options)


if __name__ == "__main__":
    found = run()
    for name, value in found.summary["results"].items():
        print(f"{name:30} {value}")
    print(f"{'digest':30} {found.summary['digest']}")
