"""Models of handlers in Python: the digests of the same models in Rust, and mistakes."""

import inspect
import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import models
import paceline
from paceline import _native

try:
    import numba  # noqa: F401
except ImportError:
    numba = None

KINDS = ["plain", pytest.param("compiled", marks=pytest.mark.skipif(numba is None, reason="numba is not installed"))]
MODELS = {"phold": (models.Phold, "12s"), "stations": (models.Stations, "30s"), "disease": (models.Disease, "60s")}
PROTOCOLS = [
    "sequential",
    "time-step",
    "window",
    "null-message",
    "null-message-on-demand",
    "optimistic",
    "mixed",
    "auto",
]


def in_rust(name, lps, until_s, seed=1):
    settings = {"protocol": "sequential", "seed": seed, "until": until_s * 10**9, "threads": 1, "federates": 1}
    return _native.run_reference(name, lps, settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_the_digest_is_that_of_the_model_in_rust_under_every_protocol(name, kind):
    model, until = MODELS[name]
    for seed in (1, 2):
        expected = in_rust(name, 24, int(until[:-1]), seed)
        assert expected["events_committed"] > 100
        for protocol in PROTOCOLS if seed == 1 else ["window"]:
            run = model(24).run(
                until, protocol=protocol, threads=2, federates=5, seed=seed, compiled=kind == "compiled"
            )
            found = run.summary["events_committed"], run.digest
            assert found == (expected["events_committed"], expected["digest"]), protocol


@pytest.mark.parametrize("kind", KINDS)
def test_phold_is_the_programs(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    phold = {"kind": "phold", "lps": 64, "messages_per_lp": 1.5, "mean": "1s", "lookahead": "1s", "remote": 0.25}
    expected = paceline.run({"model": phold, "run": {"until": "20s"}})
    run = models.Phold(64).run("20s", compiled=kind == "compiled")
    assert run.digest == expected.digest
    assert run.states["received"].sum() == run.summary["events_committed"]


VARIATES = [("bits", "u8"), ("unit", "f8"), ("below", "i8"), ("chance", "?"), ("exponential", "f4"), ("normal", "f8")]
VARIATES += [("geometric", "i8"), ("poisson", "i2"), ("zipf", "i4"), ("weighted", "u1")]


@paceline.model(state=[("draws", "i8"), ("weights", "f8", 3), ("small", "i1")] + VARIATES, message=VARIATES)
class Draws:
    """Draws one of each, and sends what was drawn to itself."""

    lps: int
    lookahead: int = 1000
    scale: float = 2.5

    def init(self, state, cx):
        state.small = 100
        state.weights[0] = 1.0
        state.weights[2] = 2.0
        cx.schedule(0, 1, 0, 0, True, 0, 0, 0, 0, 0, 0)

    def handle(self, state, message, cx):
        state.draws += 1
        # It wraps, in both kinds of handlers.
        state.small += 100
        state.bits = cx.rng.bits()
        state.unit = cx.rng.unit() + message.normal
        state.below = cx.rng.below(1000) + message.poisson
        state.chance = cx.rng.chance(0.5) != message.chance
        state.exponential = cx.rng.exponential(self.scale)
        state.normal = cx.rng.normal(1, 3.0)
        state.geometric = cx.rng.geometric(0.25)
        state.poisson = cx.rng.poisson(self.scale)
        state.zipf = cx.rng.zipf(50, 1.1)
        state.weighted = cx.rng.weighted(state.weights)
        rest = (state.exponential, state.normal, state.geometric, state.poisson, state.zipf, state.weighted)
        if cx.now < 4000:
            cx.send_at(cx.lp, cx.now + 1000, state.bits, state.unit, state.below, state.chance, *rest)
            cx.send((cx.lp + 1) % cx.lps, 2000, message)


@pytest.mark.skipif(numba is None, reason="numba is not installed")
def test_both_kinds_of_handlers_draw_and_keep_the_same():
    plain, compiled = (Draws(5).run(protocol="window", threads=2, compiled=compiled) for compiled in (False, True))
    assert plain.digest == compiled.digest
    assert plain.states.tobytes() == compiled.states.tobytes()
    assert plain.states["draws"].sum() == plain.summary["events_committed"] > 50
    assert len(set(plain.states["bits"])) == 5 and set(plain.states["weighted"]) <= {0, 2}


def of(handle, state=(("n", "i8"), ("a", "i4", 3)), message=(("kind", "i2"),), start=None, **members):
    """A model with this handler, whose LPs get a message at time 0."""

    def init(self, state, cx):
        cx.schedule(0, 1)

    members = {"__annotations__": {"lps": int}, "lookahead": 10**9, "init": start or init, "handle": handle} | members
    return paceline.model(state=list(state), message=list(message))(type("Bad", (), members))


def divides(self, state, message, cx):
    if cx.lp == 2:
        state.n = 10 // state.n


def raises(self, state, message, cx):
    if cx.lp == 2:
        raise ValueError("no customers")


def starts_badly(self, state, cx):
    cx.schedule(0, 1 // (cx.lp - 1))


def is_idle(self, state, message, cx):
    pass


def is_near(self, state, message, cx):
    cx.send((cx.lp + 1) % cx.lps, 5, message.kind)


def sends_nowhere(self, state, message, cx):
    cx.send(-1, self.lookahead, message.kind)


def sends_back(self, state, message, cx):
    cx.schedule_at(cx.now - 5, message.kind)


def overflows(self, state, message, cx):
    cx.schedule(self.lookahead, message.kind * 40000)


def is_beyond(self, state, message, cx):
    state.a[message.kind + 2] = 1


def draws_wrongly(self, state, message, cx):
    cx.rng.zipf(0, 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "handle, cause, text",
    [
        (divides, ZeroDivisionError, "LP 2 at 0s, handling {kind: 1}: ZeroDivisionError: "),
        (raises, ValueError, "LP 2 at 0s, handling {kind: 1}: ValueError: no customers"),
        (is_near, None, "which is nearer than the declared lookahead of 1s"),
        (sends_nowhere, None, "cx.send: to LP -1; allowed: 0 to 3"),
        (sends_back, None, "a delay of -5 ns; allowed: zero or more"),
        (overflows, OverflowError, "OverflowError: "),
        (is_beyond, IndexError, "IndexError: "),
        (draws_wrongly, None, "cx.rng.zipf(0, 1); allowed: 1 to 2^52 ranks"),
    ],
)
def test_mistakes_of_handlers_are_exceptions_with_their_names(handle, cause, text, kind):
    for protocol, threads in (("sequential", 1), ("optimistic", 2)):
        with pytest.raises(paceline.HandlerError, match="Bad.handle") as raised:
            of(handle)(4).run("5s", protocol=protocol, threads=threads, compiled=kind == "compiled")
        assert text in str(raised.value)
        assert (raised.value.handler, raised.value.time_ns) == ("Bad.handle", 0)
        assert type(raised.value.__cause__) is (cause or type(None))
        if handle is raises:
            assert raised.value.lp == 2
            line = inspect.getsourcelines(handle)[1] + 2
            assert f"test_model.py:{line}: " in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_that_raises_is_named(kind):
    with pytest.raises(paceline.HandlerError, match="Bad.init: .*LP 1: ZeroDivisionError") as raised:
        of(is_idle, start=starts_badly)(4).run("5s", compiled=kind == "compiled")
    assert (raised.value.handler, raised.value.lp, raised.value.time_ns) == ("Bad.init", 1, 0)


@paceline.model(state=[("ticks", "i8"), ("tokens", "i8")], message=[("is_token", "?")])
class Strict:
    """Odd LPs send the LP before them a token for each of its ticks, which raises where one is missing."""

    lps: int
    lookahead: int = 500_000_000

    def init(self, state, cx):
        cx.schedule(self.lookahead * (2 - cx.lp % 2), False)

    def handle(self, state, message, cx):
        if message.is_token:
            state.tokens += 1
            return
        state.ticks += 1
        cx.schedule(2 * self.lookahead, False)
        if cx.lp % 2 == 1:
            # For the time of the neighbour's next tick, which comes first, as its source has the lower number.
            cx.send(cx.lp - 1, self.lookahead, True)
        elif state.tokens < state.ticks - 1:
            raise ValueError("a tick without its token")


@pytest.mark.parametrize("kind", KINDS)
def test_exceptions_of_events_that_are_rolled_back_do_not_count(kind):
    compiled = kind == "compiled"
    expected = Strict(2).run("300s", protocol="sequential", compiled=compiled)
    rolled_back = 0
    for _ in range(20):
        run = Strict(2).run("300s", protocol="optimistic", threads=2, federates=2, compiled=compiled)
        assert run.digest == expected.digest
        rolled_back += run.summary["events_rolled_back"]
        if rolled_back:
            break


def sends_a_float(self, state, message, cx):
    state.n = 1
    cx.schedule(self.lookahead, 1.5)


def sends_too_much(self, state, message, cx):
    state.n = 1
    cx.schedule(self.lookahead, 1, 2)


def waits_half(self, state, message, cx):
    state.n = 1
    cx.schedule(0.5, 1)


def opens_files(self, state, message, cx):
    state.n = 1
    state.n = len(open("x").read())


def gives_a_number(self, state, message, cx):
    return 5


def yields(self, state, message, cx):
    yield 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "handle, text, line",
    [
        (sends_a_float, "field kind is int16; given: float", 2),
        (sends_too_much, "cx.send: 2 values for the message's fields: kind", 2),
        (waits_half, "cx.schedule: delay is an int, not float", 2),
        (opens_files, "open", 2),
        (gives_a_number, "a handler returns None, not ", 0),
        (yields, "a handler returns None, not generator", 0),
    ],
)
def test_what_cannot_be_compiled_is_said_with_its_line(handle, text, line, kind):
    line += inspect.getsourcelines(handle)[1]
    if kind == "plain":
        if handle is not opens_files:
            with pytest.raises(paceline.HandlerError, match="Bad.handle") as raised:
                of(handle)(4).run("5s", compiled=False)
            assert text in str(raised.value) and isinstance(raised.value.__cause__, TypeError)
        return
    with pytest.raises(paceline.CompileError, match="Bad.handle cannot be compiled") as raised:
        of(handle)(4).run("5s", compiled=True)
    assert text in str(raised.value) and len(str(raised.value)) < 400
    assert (raised.value.handler, raised.value.line) == ("Bad.handle", line)
    assert os.path.samefile(raised.value.file, __file__)


def names_no_field(self, state, message, cx):
    state.n = 1
    state.b = 5


def writes_messages(self, state, message, cx):
    message.kind += 1


def writes_parameters(self, state, message, cx):
    self.lps = 4


def has_few_arguments(self, state, cx):
    pass


def test_mistakes_in_a_declaration_are_found_when_it_is_read():
    for handle, text in [
        (names_no_field, "the state has no field b; allowed: n, a"),
        (writes_messages, "message.kind cannot be assigned"),
        (writes_parameters, "self.lps cannot be assigned"),
    ]:
        with pytest.raises(paceline.CompileError, match="Bad.handle: .*test_model.py:") as raised:
            of(handle)
        assert text in str(raised.value)
        assert inspect.getsourcelines(handle)[1] < raised.value.line <= inspect.getsourcelines(handle)[1] + 2
    with pytest.raises(TypeError, match="Bad.handle has the arguments self, state, cx; allowed: "):
        of(has_few_arguments)
    for state in ([("n", "U4")], [("n", ">i8")], [("n", "i8", (2, 2))], [("n", "c16")], "i8", 5):
        with pytest.raises(TypeError, match="Bad: state: "):
            paceline.model(state=state)(type("Bad", (), {"lps": 1, "lookahead": 1, "init": is_idle, "handle": is_idle}))
    with pytest.raises(TypeError, match="Bad has no handler handle"):
        of(None)
    with pytest.raises(TypeError, match="Bad has no lookahead"):
        paceline.model(state=[])(type("Bad", (), {"lps": 1, "init": starts_badly, "handle": is_idle}))


def test_settings_that_cannot_be_are_refused():
    phold = models.Phold(8)
    for settings, error, text in [
        ({"until": "5 parsecs"}, ValueError, "until"),
        ({"until": 1.5}, TypeError, "until is an int of nanoseconds"),
        ({"until": -1}, ValueError, "until = -1 ns"),
        ({"threads": 0}, paceline.RunError, "threads must be at least 1"),
        ({"threads": True}, TypeError, "threads is an int"),
        ({"federates": 9}, paceline.RunError, "9 federates are more than the model's 8 LPs"),
        ({"protocol": "psychic"}, ValueError, "allowed: auto, sequential"),
    ]:
        with pytest.raises(error, match=text):
            phold.run(**({"until": "1s"} | settings), compiled=False)
    with pytest.raises(TypeError, match="parameter remote is str; allowed: an int, a float"):
        models.Phold(8, remote="far").run("1s", compiled=False)
    with pytest.raises(paceline.RunError, match="protocol window needs a lookahead"):
        models.Phold(8, lookahead=0).run("1s", protocol="window", compiled=False)


def test_what_a_plain_handler_keeps_is_its_own():
    kept = []

    def keeps(self, state, message, cx):
        kept.append((state, message, cx, cx.rng))
        state.n += 1

    run = of(keeps)(4).run("5s", compiled=False)
    for state, message, cx, rng in kept:
        state.n, state.a[0], message.kind = 7, 7, 7
        for use in (lambda: cx.now, lambda: cx.schedule(0, 1), rng.unit):
            with pytest.raises(RuntimeError, match="the context of a handler is over"):
                use()
    assert list(run.states["n"]) == [1, 1, 1, 1]


def test_channels_are_declared_and_kept():
    def walks(self, state, message, cx):
        state.n += 1
        cx.send((cx.lp + message.kind) % cx.lps, 2 * self.lookahead, message.kind)

    ring = {"channels": lambda self, lp: [((lp + 1) % self.lps, "2s")]}
    free, declared = of(walks)(6), of(walks, **ring)(6)
    digests = {
        m.run("30s", protocol=p, threads=2, compiled=False).digest
        for m in (free, declared)
        for p in ("window", "null-message")
    }
    assert len(digests) == 1
    backwards = of(walks, **ring, init=lambda self, state, cx: cx.schedule(0, 2))
    with pytest.raises(paceline.HandlerError, match="not covered by the channels"):
        backwards(6).run("30s", compiled=False)


@pytest.mark.parametrize("kind", KINDS)
def test_control_c_ends_a_run_with_what_it_has(kind):
    models.Phold(16).run("1s", compiled=kind == "compiled")
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    run = models.Phold(16).run(compiled=kind == "compiled")
    assert run.ended_by == "interrupted" and run.summary["events_committed"] > 0
    assert time.monotonic() - start < 60


EXIT = """
import sys, threading, time
import {module}
started = threading.Event()
threading.Thread(target=lambda: (started.set(), {run}), daemon=True).start()
started.wait()
time.sleep(0.3)
"""


def test_an_interpreter_that_exits_ends_its_runs():
    run = "models.Phold(16).run(compiled=False)"
    tests = os.path.dirname(__file__)
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", EXIT.format(module="models", run=run)], cwd=tests, timeout=120)
        assert ended.returncode == 0


def test_other_threads_go_on_and_runs_are_apart():
    digests = []
    runs = [
        threading.Thread(target=lambda: digests.append(models.Phold(32).run("20s", compiled=False).digest))
        for _ in range(3)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert set(digests) == {models.Phold(32).run("20s", compiled=False).digest}


def test_states_are_arrays_in_the_order_of_lps():
    def numbers(self, state, message, cx):
        state.n, state.a[1] = cx.lp, -cx.lp

    assert of(numbers)(7).run(compiled=False).summary["threads"] == 1
    run = of(numbers)(7).run(federates=3, threads=2, compiled=False)
    assert list(run.states["n"]) == list(range(7)) and list(run.states["a"][:, 1]) == [-lp for lp in range(7)]
    assert run.states.dtype == numpy.dtype([("n", "i8"), ("a", "i4", 3)])
    assert run.digest in repr(run)
