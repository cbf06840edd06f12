"""What paceline.sim does beyond what SimPy's own tests look at: memory, sleeping by numbers, tracing, tracebacks."""

import gc
import resource
import sys
import traceback
import weakref

import pytest

import paceline.sim as sim


def used_megabytes():
    """Memory of this process now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def unfinished():
    """An environment that is left with processes that wait for everything there is."""
    env = sim.Environment()
    slots, items, tank = sim.PreemptiveResource(env), sim.FilterStore(env), sim.Container(env)
    env.own = slots

    def user(env):
        with slots.request(priority=1) as request:
            yield request | env.timeout(5)
            yield env.timeout(100)

    def consumer(env):
        yield items.get(lambda item: item is env) & tank.get(1)

    def sleeper(env):
        while True:
            yield 3

    processes = [env.process(process(env)) for process in (user, user, consumer, sleeper)]
    processes[0].callbacks.append(lambda event: env)
    env.run(until=10)
    return env


def test_environments_that_are_dropped_leave_nothing():
    gone = weakref.ref(unfinished())
    gc.collect()
    assert gone() is None
    for _ in range(1000):
        unfinished()
    gc.collect()
    before = used_megabytes()
    for _ in range(10_000):
        unfinished()
    gc.collect()
    assert used_megabytes() - before < 5


def test_events_hold_no_more_references_than_they_show():
    value = object()
    before = sys.getrefcount(value)
    env = sim.Environment()

    def process(env):
        for _ in range(50):
            got = yield env.timeout(1, value) | env.timeout(1, value)
            assert list(got.values()) == [value, value]

    env.process(process(env))
    env.run()
    del env
    gc.collect()
    assert sys.getrefcount(value) == before


def test_a_long_chain_of_events_is_freed():
    env = sim.Environment()
    event = env.event()
    for _ in range(300_000):
        event = env.event().succeed(event)
    env.run()
    del event
    gc.collect()


def test_a_number_sleeps():
    env, log = sim.Environment(), []

    def process(env, delay):
        for _ in range(3):
            got = yield delay
            log.append((env.now, got))

    env.process(process(env, 2))
    env.process(process(env, 1.5))
    env.run()
    assert log == [(1.5, None), (2, None), (3.0, None), (4, None), (4.5, None), (6, None)]


def test_a_negative_number_is_an_error_in_the_process():
    env = sim.Environment()

    def process(env):
        with pytest.raises(ValueError, match="Negative delay -1"):
            yield -1
        yield 1
        yield -0.5

    env.process(process(env))
    with pytest.raises(ValueError, match="Negative delay -0.5") as caught:
        env.run()
    assert "yield -0.5" in "".join(traceback.format_exception(caught.value))


def test_a_sleep_that_somebody_else_waits_for_is_not_used_again():
    env, log = sim.Environment(), []

    def sleeper(env):
        yield 1
        yield 2

    process = env.process(sleeper(env))

    def watcher(env):
        yield env.timeout(0.5)
        first = process.target
        yield first
        log.append((env.now, first.processed, process.target is first))
        yield process
        log.append((env.now, first.processed))

    env.process(watcher(env))
    env.run()
    assert log == [(1, True, False), (3, True)]


def test_an_interrupted_sleep_ends_where_it_was_interrupted():
    env, log = sim.Environment(), []

    def sleeper(env):
        try:
            yield 10
        except sim.Interrupt as interrupt:
            log.append((env.now, interrupt.cause))
        yield 3
        log.append(env.now)

    process = env.process(sleeper(env))

    def other(env):
        yield 4
        process.interrupt("now")

    env.process(other(env))
    env.run()
    assert log == [(4, "now"), 7]
    assert env.now == 10


def test_a_traceback_names_the_line_of_the_process():
    env = sim.Environment()

    def process(env):
        yield env.timeout(1)
        raise LookupError("lost")  # this line

    env.process(process(env))
    with pytest.raises(LookupError) as caught:
        env.run()
    assert "raise LookupError" in "".join(traceback.format_exception(caught.value))


def test_a_replaced_constructor_is_called(monkeypatch):
    made = []
    original = sim.Timeout.__init__

    def init(self, env, delay, value=None):
        made.append(delay)
        original(self, env, delay, value)

    monkeypatch.setattr(sim.Timeout, "__init__", init)
    env = sim.Environment()
    env.timeout(3)
    env.timeout(1.5, value=2)
    env.run()
    assert made == [3, 1.5]
    monkeypatch.undo()
    env.timeout(4)
    assert made == [3, 1.5]


def test_a_method_that_is_set_for_one_resource_is_called():
    env, log = sim.Environment(), []
    slots = sim.Resource(env)
    original = slots._do_put
    slots._do_put = lambda event: log.append(len(slots.queue)) or original(event)
    slots.release = lambda request: log.append("release") or sim.Resource.release(slots, request)

    def user(env):
        with slots.request() as request:
            yield request
            yield env.timeout(1)

    env.process(user(env))
    env.process(user(env))
    env.run()
    assert log == [1, 1, "release", 1, "release"]


def test_a_keyboard_interrupt_ends_the_run():
    env = sim.Environment()

    def process(env):
        while True:
            yield env.timeout(1)
            if env.now == 1000:
                raise KeyboardInterrupt

    env.process(process(env))
    with pytest.raises(KeyboardInterrupt):
        env.run()
    assert env.now == 1000


def test_two_environments_interleave():
    first, second, log = sim.Environment(), sim.Environment(), []

    def inner(env):
        while True:
            yield env.timeout(1)
            log.append(("inner", env.now))

    second.process(inner(second))

    def outer(env):
        for _ in range(3):
            yield env.timeout(2)
            second.run(until=env.now)
            log.append(("outer", env.now, env.active_process is not None))

    first.process(outer(first))
    first.run()
    assert [entry for entry in log if entry[0] == "outer"] == [
        ("outer", 2, True),
        ("outer", 4, True),
        ("outer", 6, True),
    ]
    assert second.now == 6


class Undecided:
    """A value whose truth cannot be told."""

    def __bool__(self):
        raise ZeroDivisionError("neither true nor false")


def test_a_truth_test_that_raises_is_the_programs_exception():
    env = sim.Environment()
    event = env.event()
    with pytest.raises(ZeroDivisionError, match="neither"):
        event._ok = Undecided()

    class Lookalike:
        _ok, _value = Undecided(), 5

    with pytest.raises(ZeroDivisionError, match="neither"):
        event.trigger(Lookalike())
    assert not event.triggered

    slots = sim.PreemptiveResource(env)
    slots.request()
    with pytest.raises(ZeroDivisionError, match="neither"):
        slots.request(preempt=Undecided())
    slots.request()
    slots.put_queue[0].preempt = Undecided()
    with pytest.raises(ZeroDivisionError, match="neither"):
        slots._trigger_put(None)

    class Patient(sim.Store):
        def _do_put(self, event):
            return Undecided()

    store = Patient(env)
    with pytest.raises(ZeroDivisionError, match="neither"):
        store.put(1)
    store.put_queue.clear()

    class Message:
        triggered = Undecided()

    store._do_put = lambda event: True
    store.put_queue.append(Message())
    with pytest.raises(ZeroDivisionError, match="neither"):
        store._trigger_put(None)
