"""SimPy's own tests, examples and documentation, run on paceline.sim.

    python simpy_suite.py            downloads SimPy's source distribution with pip, into a temporary folder
    python simpy_suite.py FOLDER     takes the one that is unpacked there

Only the name of the import is changed, also where it shows in what is expected: as the module of a class, and as the
path of a file in a traceback. Tests that fail on SimPy itself, or for want of real time, are named and not counted.
The exit status is 77 where the distribution cannot be had.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

VERSION = "4.1.2"

# These expect one event fewer than SimPy 4.1.2 schedules; SimPy leaves out benchmarks when it tests itself.
FAIL_ON_SIMPY = {"test_resource_sim", "test_container_sim"}

# These measure real time, and allow 5 ms: on a busy machine they fail on SimPy as well.
REAL_TIME = ("tests/test_rt.py", "docs/topical_guides/real-time-simulations.rst")

CHANGES = [
    (r"^(\s*(?:>>> |\.\.\. )?)import simpy$", r"\1import paceline.sim as simpy"),
    (r"^(\s*(?:>>> |\.\.\. )?)import simpy\.(\w+)$", r"\1import paceline.sim as simpy, paceline.sim.\2"),
    (r"^(\s*(?:>>> |\.\.\. )?)from simpy\b", r"\1from paceline.sim"),
    (r"simpy/core\.py", r"paceline/sim/core.py"),
    (r"<class 'simpy\.", r"<class 'paceline.sim."),
]


def download(folder: pathlib.Path) -> pathlib.Path:
    """SimPy's source distribution, unpacked."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    got = subprocess.run([*command, "--dest", str(folder), f"simpy=={VERSION}"])
    if got.returncode != 0:
        print(f"SimPy {VERSION} cannot be downloaded from PyPI", file=sys.stderr)
        sys.exit(77)
    with tarfile.open(folder / f"simpy-{VERSION}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"simpy-{VERSION}"


def adapt(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies tests and documentation, with the import's name changed. SimPy itself is left out."""
    for part in ("tests", "docs", "README.rst"):
        copy = shutil.copytree if (source / part).is_dir() else shutil.copy
        copy(source / part, target / part)
    for path in target.rglob("*"):
        if path.suffix in (".py", ".rst", ".out"):
            text = path.read_text(encoding="utf-8")
            for old, new in CHANGES:
                text = re.sub(old, new, text, flags=re.MULTILINE)
            path.write_text(text, encoding="utf-8")


def outcomes(target: pathlib.Path, *arguments: str) -> dict[str, bool]:
    """What pytest says of each test: whether it has passed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", *arguments]
    said = subprocess.run(command, cwd=target, capture_output=True, text=True)
    found = re.findall(r"^(PASSED|FAILED|ERROR) (.+?)(?: - .*)?$", said.stdout, flags=re.MULTILINE)
    failed = {name for outcome, name in found if outcome != "PASSED"}
    if not found or any(name.split("::")[-1] not in FAIL_ON_SIMPY for name in failed):
        print(said.stdout, said.stderr, sep="\n")
    return {name: outcome == "PASSED" for outcome, name in found}


def again(target: pathlib.Path, file: str, found: dict[str, bool]) -> None:
    """Runs the tests of a file that measures real time again, up to five times, until each has passed once."""
    for _ in range(5):
        if all(passed for name, passed in found.items() if name.startswith(file)):
            return
        for name, passed in outcomes(target, "--doctest-glob=*.rst", file).items():
            found[name] |= passed


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else download(folder)
        target = folder / "adapted"
        target.mkdir()
        adapt(source, target)
        tests = outcomes(target, "-m", "", "--benchmark-disable", "tests")
        documents = outcomes(target, "--doctest-glob=*.rst", "README.rst", "docs")
        for file, found in zip(REAL_TIME, (tests, documents)):
            again(target, file, found)
    failed = [name for name, passed in {**tests, **documents}.items() if not passed]
    unexpected = [name for name in failed if name.split("::")[-1] not in FAIL_ON_SIMPY]
    unexpected = [name for name in unexpected if not name.startswith(REAL_TIME)]
    print(f"SimPy's tests: {len(tests)}; examples and pages: {len(documents)}; failed: {failed}")
    state = "ok" if not unexpected and tests and documents else "FAILED"
    print(f"test result: {state}. {len(tests) + len(documents) - len(failed)} passed; {len(unexpected)} failed;")
    sys.exit(state != "ok")


main()
