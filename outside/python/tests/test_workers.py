"""Models of handlers in several worker processes: their digests, and all ways in which a worker can end."""

import os
import signal
import subprocess
import sys
import time

import pytest

import models
import paceline
from paceline import _native

MODELS = {"phold": (models.Phold, 8), "stations": (models.Stations, 20), "disease": (models.Disease, 30)}
PROTOCOLS = ["time-step", "window", "null-message", "null-message-on-demand", "optimistic", "mixed", "auto"]


def sequential(name, until_s, seed=1):
    settings = {"protocol": "sequential", "seed": seed, "until": until_s * 10**9, "threads": 1, "federates": 1}
    return _native.run_reference(name, 24, settings)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_digest_is_that_of_one_process_under_every_protocol(protocol):
    expected = sequential("phold", 8)
    run = models.Phold(24).run("8s", protocol=protocol, workers=2, federates=5, compiled=False)
    assert (run.summary["events_committed"], run.digest) == (expected["events_committed"], expected["digest"])
    assert (run.summary["processes"], run.summary["threads"]) == (2, 2)
    assert run.states["received"].sum() == run.summary["events_committed"]


@pytest.mark.parametrize("name", MODELS)
def test_the_digest_does_not_depend_on_the_number_of_workers_and_threads(name):
    model, until_s = MODELS[name]
    expected = sequential(name, until_s, seed=2)
    alone = model(24).run(f"{until_s}s", seed=2, compiled=False)
    for workers, threads, federates in ((3, 1, 3), (2, 2, 8)):
        settings = {"workers": workers, "threads": threads, "federates": federates, "compiled": False}
        run = model(24).run(f"{until_s}s", seed=2, **settings)
        assert (run.digest, run.states.tobytes()) == (expected["digest"], alone.states.tobytes())


class NoCustomers(Exception):
    """It cannot be read from its bytes: those have one argument."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


@paceline.model(state=[("n", "i8")], message=[("kind", "i2")])
class Acting:
    """LPs that send themselves a message a second; at 5 s, LP 3 does what `does` says."""

    lps: int
    does: int = 0
    lookahead: int = 10**9

    def init(self, state, cx):
        cx.schedule(self.lookahead, 1)

    def handle(self, state, message, cx):
        state.n += 1
        cx.schedule(self.lookahead, message.kind)
        if cx.lp == 3 and state.n == 5:
            act(self.does)


def act(does):
    if does == 1:
        raise ValueError("no customers")
    if does == 2:
        raise NoCustomers(1, 2)
    if does == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if does == 4:
        os._exit(5)
    if does == 5:
        os.kill(os.getpid(), signal.SIGSTOP)
    if does in (6, 7):
        os.kill(os.getppid(), signal.SIGINT)
    while does == 7:
        time.sleep(0.01)


def workers_of(process):
    """The workers that this process has started and that have not ended."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat, open(f"/proc/{name}/cmdline") as command:
                if int(stat.read().rpartition(")")[2].split()[1]) == process and "spawn_main" in command.read():
                    found.append(int(name))
        except OSError:
            # It has ended meanwhile.
            pass
    return found


@pytest.mark.parametrize(
    "does, kind, text",
    [
        (1, paceline.HandlerError, "LP 3 at 5s, handling {kind: 1}: ValueError: no customers"),
        (2, paceline.HandlerError, "LP 3 at 5s, handling {kind: 1}: .*NoCustomers: 1 and 2"),
        (3, paceline.RunError, "worker 1 was killed by SIGKILL$"),
        (4, paceline.RunError, "worker 1 ended with status 5$"),
        (5, paceline.RunError, "worker 1 is lost: "),
        (7, paceline.RunError, "worker 1 did not end when it was asked to: it is in act, .*test_workers.py:"),
    ],
)
def test_what_ends_a_worker_ends_the_run_and_is_named(does, kind, text):
    with pytest.raises(kind, match=text) as raised:
        Acting(4, does).run("20s", protocol="window", federates=2, workers=2, compiled=False)
    if does == 1:
        assert (raised.value.handler, raised.value.lp, raised.value.time_ns) == ("Acting.handle", 3, 5 * 10**9)
        assert "test_workers.py:" in str(raised.value)
        assert isinstance(raised.value.__cause__, ValueError) and "in act" in raised.value.__cause__.__notes__[0]
    assert workers_of(os.getpid()) == []


def test_control_c_ends_a_run_with_what_it_has():
    run = Acting(4, 6).run(protocol="window", federates=2, workers=2, compiled=False)
    assert run.ended_by == "interrupted" and min(run.states["n"]) >= 4
    assert workers_of(os.getpid()) == []


def test_settings_that_cannot_be_are_refused():
    for settings, error, text in [
        ({"workers": 0}, ValueError, "workers = 0; allowed: 1 to the model's 4 LPs"),
        ({"workers": 5}, ValueError, "workers = 5; allowed: 1 to the model's 4 LPs"),
        ({"workers": "two"}, TypeError, "workers is an int, not str"),
        ({"workers": 2, "protocol": "sequential"}, ValueError, "which runs in one process"),
        ({"workers": 2, "federates": 1}, paceline.RunError, "1 federates for 2 processes"),
    ]:
        with pytest.raises(error, match=text):
            Acting(4).run(**({"until": "9s", "compiled": False} | settings))


PROGRAM = """
import paceline

@paceline.model(state=[("n", "i8")])
class Ticks:
    lps: int
    lookahead: int = 10**9
    def init(self, state, cx):
        cx.schedule(self.lookahead)
    def handle(self, state, message, cx):
        state.n += 1
        cx.schedule(self.lookahead)

{guard}print("ticks:", Ticks(4).run("9s", workers=2, compiled=False).states["n"].sum())
"""
GUARD = 'if __name__ == "__main__":\n    '


@pytest.mark.parametrize("cloudpickle", [True, False])
def test_models_of_the_program_itself(cloudpickle, tmp_path):
    file = tmp_path / "program.py"
    where = None if cloudpickle else tmp_path
    if not cloudpickle:
        (tmp_path / "cloudpickle.py").write_text("raise ImportError('not here')")
    else:
        pytest.importorskip("cloudpickle")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(where or ""), os.environ.get("PYTHONPATH")]))
    }

    def said(*command):
        run = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120)
        return run.stdout + run.stderr

    # A file that can be imported, one that would start a run when it is, and one that cannot be, as a notebook.
    file.write_text(PROGRAM.format(guard=GUARD))
    assert said(file).strip() == "ticks: 32"
    file.write_text(PROGRAM.format(guard=""))
    assert 'allowed: run(workers=...) below `if __name__ == "__main__":`' in said(file)
    program = PROGRAM.format(guard=GUARD)
    piped = subprocess.run([sys.executable, "-"], input=program, env=environment, capture_output=True, text=True)
    assert "there is no <stdin>; allowed: a program in a file" in piped.stderr
    typed = said("-c", PROGRAM.format(guard=""))
    if cloudpickle:
        assert typed.strip() == "ticks: 32"
    else:
        assert "which is defined in a notebook or an interactive session; allowed: a class in a module" in typed


def test_workers_end_with_the_program_that_started_them(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(guard=GUARD).replace('"9s", ', ""))
    program = subprocess.Popen([sys.executable, file])
    started, deadline = [], time.monotonic() + 120
    while len(started) < 2 and time.monotonic() < deadline:
        started = workers_of(program.pid)
        time.sleep(0.1)
    assert len(started) == 2
    program.kill()
    program.wait()
    while not all(map(has_ended, started)) and time.monotonic() < deadline + 60:
        time.sleep(0.1)
    assert all(map(has_ended, started))


def has_ended(process):
    """Whether it has, even if nobody has waited for it."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
