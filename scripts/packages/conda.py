"""Builds the conda package by its recipe, and installs it into a new environment, for scripts/package.

    conda.py CHANNEL ENVIRONMENT    the package goes into the folder CHANNEL, from which ENVIRONMENT is made
"""

import asyncio
import pathlib
import sys

import rattler
from rattler_build import Stage0Recipe

channel, environment = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
recipe = pathlib.Path(__file__).with_name("recipe.yaml")
for variant in Stage0Recipe.from_file(recipe).render():
    # Nothing comes from any other channel: the package needs nothing but glibc.
    variant.run_build(output_dir=channel, channels=[])


async def install() -> None:
    local = rattler.Channel(channel.as_uri())
    found = await rattler.solve([local], ["paceline"], virtual_packages=rattler.VirtualPackage.detect())
    await rattler.install(found, environment)


asyncio.run(install())
