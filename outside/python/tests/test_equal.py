"""The same programs on SimPy and on paceline.sim: equal logs, times and event numbers."""

import importlib
import os
import random

import pytest

import paceline.sim
from programs import PROGRAMS

simpy = pytest.importorskip("simpy", reason="SimPy cannot be had here")

CASES = int(os.environ.get("PACELINE_CASES", "20"))
SEED = int(os.environ.get("PACELINE_SEED", random.randrange(10**6)))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_computes_the_same(program):
    for seed in range(SEED, SEED + CASES):
        expected, actual = program(simpy, seed), program(paceline.sim, seed)
        # Times of another type compare equal to those of SimPy, and are shown alike.
        assert repr(actual) == repr(expected), f"PACELINE_SEED={seed} PACELINE_CASES=1 repeats it"


MODULES = ["", ".core", ".events", ".exceptions", ".resources.base", ".resources.container", ".resources.resource"]
MODULES += [".resources.store", ".rt", ".util"]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_there(module):
    theirs = importlib.import_module("simpy" + module)
    ours = importlib.import_module("paceline.sim" + module)
    for name, theirs_of_name in vars(theirs).items():
        if name.startswith("_") or getattr(theirs_of_name, "__module__", "").split(".")[0] != "simpy":
            continue
        ours_of_name = getattr(ours, name)
        if isinstance(theirs_of_name, type):
            members = {member for member in vars(theirs_of_name) if not member.startswith("__")}
            members -= {"_abc_impl", "_is_protocol", "_field_defaults", "_fields", "_make", "_asdict", "_replace"}
            assert members <= set(dir(ours_of_name)), name
            assert ours_of_name.__module__ == theirs_of_name.__module__.replace("simpy", "paceline.sim")
            assert [base.__name__ for base in ours_of_name.__mro__ if "sim" in base.__module__] == [
                base.__name__ for base in theirs_of_name.__mro__ if base.__module__.startswith("simpy")
            ]


def failing(module):
    """Mistakes of programs, each of which raises."""
    sim = module

    def run(*generators, until=None):
        env = sim.Environment()
        for generator in generators:
            env.process(generator(env))
        env.run(until=until)

    def yields_nothing(env):
        yield None

    def yields_text(env):
        yield "soon"

    def interrupts_itself(env):
        env.active_process.interrupt()
        yield env.timeout(1)

    def interrupts_the_dead(env):
        other = env.process(ends(env))
        yield env.timeout(2)
        other.interrupt()

    def ends(env):
        yield env.timeout(1)

    def negative(env):
        yield env.timeout(-1)

    def negative_float(env):
        yield env.timeout(-0.5, value=1)

    def text_as_delay(env):
        yield env.timeout("1")

    def triggers_twice(env):
        event = env.event()
        event.succeed(1)
        event.fail(ValueError())
        yield event

    def fails_with_text(env):
        env.event().fail("no")
        yield env.timeout(1)

    def asks_for_a_value(env):
        env.event().value
        yield env.timeout(1)

    def asks_for_ok(env):
        env.event().ok
        yield env.timeout(1)

    def mixes(env):
        yield env.timeout(1) & sim.Environment().timeout(1)

    def ands_a_number(env):
        yield env.timeout(1) & 3

    def raises(env):
        yield env.timeout(1)
        raise LookupError("lost")

    def puts_nothing(env):
        yield sim.Container(env, 10).put(0)

    def takes_less_than_nothing(env):
        yield sim.Container(env, 10).get(-2.5)

    class Strange(Exception):
        def __init__(self, first, second):
            super().__init__(first)

    def raises_what_cannot_be_copied(env):
        yield env.timeout(1)
        raise Strange(1, 2)

    def waits_for_ever(env):
        yield env.event()

    def cancels_twice(env):
        resource = sim.Resource(env)
        with resource.request() as first:
            yield first
            second = resource.request()
            second.cancel()
            second.cancel()

    def run_until_past():
        env = sim.Environment(5)
        env.run(until=5)

    def run_until_never():
        env = sim.Environment()
        env.process(waits_for_ever(env))
        env.run(until=env.event())

    def no_generator():
        sim.Environment().process(3)

    def step_of_nothing():
        sim.Environment().step()

    found = [
        run_until_past,
        run_until_never,
        no_generator,
        step_of_nothing,
        lambda: sim.Resource(sim.Environment(), 0),
        lambda: sim.Store(sim.Environment(), -1),
        lambda: sim.Container(sim.Environment(), 0),
        lambda: sim.Container(sim.Environment(), 1, init=-1),
        lambda: sim.Container(sim.Environment(), 1, init=2),
        lambda: sim.Environment().run("soon"),
    ]
    processes = [
        yields_nothing,
        yields_text,
        interrupts_itself,
        interrupts_the_dead,
        negative,
        negative_float,
        text_as_delay,
        triggers_twice,
        fails_with_text,
        asks_for_a_value,
        asks_for_ok,
        mixes,
        ands_a_number,
        raises,
        puts_nothing,
        takes_less_than_nothing,
        raises_what_cannot_be_copied,
        cancels_twice,
    ]
    return found + [lambda process=process: run(process) for process in processes]


def error_of(mistake):
    """Class and text of what a mistake raises, without addresses."""
    import re

    with pytest.raises(BaseException) as caught:
        mistake()
    text = re.sub(r"0x[0-9a-f]+", "0x", str(caught.value))
    return type(caught.value).__name__, text


@pytest.mark.parametrize("index", range(len(failing(paceline.sim))))
def test_a_mistake_gives_the_same_error(index):
    assert error_of(failing(paceline.sim)[index]) == error_of(failing(simpy)[index])
