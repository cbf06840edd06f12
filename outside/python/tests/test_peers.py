"""Processes in Python on platforms: the digest of the Rust program of the same text, and mistakes."""

import asyncio
import gc
import os
import signal
import threading
import time
import warnings
import weakref

import pytest

import paceline
import peers_programs
from paceline import _native, peers

PLATFORM = """<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-3" speed="98.095Mf" bw="41.279125MBps" lat="59.904us"/>
</platform>"""


# The program of `src/peers/reference.rs`, line by line.
async def master(cx, tasks, workers):
    for task in range(tasks):
        flops = 1e6 + cx.rng.exponential(5e7)
        worker = cx.rng.below(workers)
        try:
            await cx.send(f"worker-{worker}", (flops, task), 1e6, limit=1)
        except peers.RequestError:
            cx.record(1000 + task)
    for worker in range(workers):
        await cx.send(f"worker-{worker}", None, 0)


async def helper(cx, flops):
    await cx.compute(flops)
    cx.send_detached("done", None, 100)


async def worker(cx, number):
    while True:
        try:
            work = await cx.receive(f"worker-{number}")
        except peers.RequestError:
            # The master has given up in the middle of the transfer.
            cx.record(3)
            continue
        if work is None:
            return
        flops, task = work
        if task % 3 == 0:
            spawned = await cx.spawn("helper", cx.rng.below(4), helper, flops)
            try:
                await cx.join(spawned, limit=0.5)
            except peers.RequestError as error:
                assert error.kind == "TimedOut"
                cx.kill(spawned)
                await cx.yield_now()
        else:
            await cx.compute(flops)
        cx.record(task)
        await cx.sleep(0.01)


async def counter(cx):
    cx.daemonize()
    while True:
        try:
            await cx.receive("done", limit=1.0)
            cx.record(7)
        except peers.RequestError:
            await cx.sleep_until(cx.now + 1.5)


def farm(tasks, workers):
    world = peers.Simulation(PLATFORM)
    world.spawn("master", "node-0", master, tasks, workers)
    for number in range(workers):
        world.spawn("worker", number % 4, worker, number)
    world.spawn("counter", 1, counter)
    return world


def test_the_digest_is_that_of_the_program_in_rust():
    digests = set()
    for seed in (1, 2, 3):
        expected = _native.run_reference_peers(PLATFORM, 60, 5, seed)
        for threads in (1, 2):
            run = farm(60, 5).run(seed=seed, threads=threads)
            assert (run.digest, run.end_time) == expected
        assert run.ended_by == "processes" and run.summary["messages"] > 60
        digests.add(run.digest)
    assert len(digests) == 3


def test_what_processes_share_has_the_digest_of_the_program_in_rust():
    digests = set()
    for seed in (1, 2, 3):
        expected = _native.run_reference_shop(PLATFORM, seed)
        for threads in (1, 2):
            run = peers_programs.workshop(PLATFORM).run(seed=seed, threads=threads)
            assert (run.digest, run.end_time) == expected
        digests.add(run.digest)
    assert len(digests) == 3


def test_chord_has_the_digest_of_the_program_in_rust():
    digest, messages, _ = _native.run_reference_chord(PLATFORM, 40, 60, 1)
    run = peers_programs.chord(PLATFORM, 4, 40).run(60)
    assert (run.digest, run.summary["messages"]) == (digest, messages) and messages > 500


def alone(body, *arguments, **settings):
    world = peers.Simulation(PLATFORM)
    world.spawn("alone", "node-1", body, *arguments)
    return world.run(**settings)


def test_what_goes_wrong_names_the_process_and_its_line():
    async def raises(cx):
        await cx.sleep(1.5)
        raise KeyError("no such thing")

    async def sleeps_back(cx):
        await cx.sleep(-1)

    async def awaits_others(cx):
        await asyncio.sleep(1)

    async def spawns_nowhere(cx):
        await cx.spawn("child", "node-9", raises)

    async def names_mailboxes_wrongly(cx):
        await cx.receive(5.0)

    async def tests_badly(cx):
        store = cx.store()
        await store.put(cx, 5)
        await store.get(cx, lambda item: item / 0)

    async def has_no_room(cx):
        await cx.resource(2).request(cx, units=3)

    async def is_let_go(cx):
        async with cx.mutex().lock(cx) as lock:
            lock.release()
            await cx.condition().wait(cx, lock)

    async def waits_for_nothing(cx):
        activity = cx.start_compute(1e6)
        activity.cancel()
        await activity.wait()

    for body, cause, text in [
        (raises, KeyError, "process 0 `alone` at 1.5 s: KeyError: 'no such thing'"),
        (sleeps_back, ValueError, "sleep: "),
        (awaits_others, (TypeError, RuntimeError), ""),
        (spawns_nowhere, ValueError, 'there is no host "node-9"; there are node-0'),
        (names_mailboxes_wrongly, TypeError, "a mailbox is named by a str, an int or a Matched, not float"),
        (tests_badly, ZeroDivisionError, "division by zero"),
        (has_no_room, peers.RequestError, "more is asked for than there is at any time"),
        (is_let_go, ValueError, "the mutex has been released"),
        (waits_for_nothing, ValueError, "the activity was cancelled or detached"),
    ]:
        for threads in (1, 2):
            with pytest.raises(paceline.RunError, match="process 0 `alone` at ") as raised:
                alone(body, threads=threads)
            assert isinstance(raised.value.__cause__, cause) and text in str(raised.value)
            if body is not awaits_others:
                assert f"{os.path.basename(__file__)}:" in str(raised.value)


def test_a_request_that_nobody_awaits_warns_of_its_line():
    async def forgets(cx):
        cx.sleep(1)
        cx.resource(2).request(cx)
        await cx.sleep(2)
        async with cx.mutex().lock(cx):
            await cx.yield_now()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert alone(forgets).end_time == 2.0
    line = forgets.__code__.co_firstlineno
    assert [(str(one.message), one.lineno - line) for one in caught] == [
        ("sleep was never awaited", 1),
        ("request was never awaited", 2),
    ]
    assert all(one.category is RuntimeWarning and one.filename == __file__ for one in caught)


def test_mistakes_before_the_run_are_refused():
    async def nothing(cx):
        pass

    with pytest.raises(TypeError, match="its body is an `async def`"):
        alone(lambda cx: None)
    with pytest.raises(ValueError, match="there is no element `hots`"):
        peers.Simulation("<platform version='4.1'><zone id='z' routing='Full'><hots id='a'/></zone></platform>").run()
    world = peers.Simulation(PLATFORM)
    world.spawn("lost", "node-7", nothing)
    with pytest.raises(ValueError, match='there is no host "node-7"'):
        world.run()
    with pytest.raises(ValueError, match="allowed: LV08, CM02"):
        peers.Simulation(PLATFORM, network="NS3").run()
    with pytest.raises(FileNotFoundError):
        peers.Simulation("no-such-platform.xml")
    world = peers.Simulation(PLATFORM)
    with pytest.raises(RuntimeError, match="this Resource is there when the run begins"):
        world.resource(0, 1).request(None)
    world.container(0, capacity=5, level=6)
    with pytest.raises(ValueError, match="a container with room for 5 has 6 in it"):
        world.run()


def test_a_deadlock_names_who_waits():
    async def waits(cx):
        await cx.receive("never")

    with pytest.raises(paceline.RunError, match="deadlock at 0s; waiting: 1 process(.|\n)*alone(.|\n)*never"):
        alone(waits)

    async def locks_twice(cx):
        mutex = cx.mutex()
        async with mutex.lock(cx):
            await mutex.lock(cx)

    with pytest.raises(paceline.RunError, match="waiting: 1 process(.|\n)*alone(.|\n)*mutex"):
        alone(locks_twice)


def test_a_context_is_for_its_process_only():
    kept = []

    async def lends(cx):
        kept.append(cx)
        await cx.sleep(1)

    async def borrows(cx):
        await cx.sleep(0.5)
        for use in (kept[0].rng.unit, lambda: kept[0].now, lambda: kept[0].record(1)):
            with pytest.raises(RuntimeError, match='the context of process "lender" was used outside of its code'):
                use()
        cx.record(5)

    world = peers.Simulation(PLATFORM)
    world.spawn("lender", 0, lends)
    world.spawn("borrower", 1, borrows)
    assert world.run().ended_by == "processes"
    with pytest.raises(RuntimeError, match="outside of its code"):
        kept[0].kill(peers.Process(0))


def test_processes_that_are_ended_run_their_finally_and_are_freed():
    ended, objects = [], []

    class Thing:
        pass

    async def waits(cx):
        thing = Thing()
        objects.append(weakref.ref(thing))
        try:
            await cx.receive("never")
        finally:
            ended.append(cx.name)

    async def kills(cx):
        other = await cx.spawn("waiter", 2, waits)
        await cx.sleep(1)
        cx.kill(other)
        await cx.join(other)
        assert cx.now == 1

    assert alone(kills).end_time == 1
    gc.collect()
    assert ended == ["waiter"] and objects[0]() is None


def test_what_a_process_holds_is_released_when_it_is_ended():
    times = []

    async def holds(cx, benches, mutex):
        async with benches.request(cx), mutex.lock(cx):
            await cx.receive("never")

    async def kills(cx, benches):
        mutex = cx.mutex()
        other = await cx.spawn("holder", 2, holds, benches, mutex)
        await cx.sleep(1)
        cx.kill(other)
        async with benches.request(cx, limit=5), mutex.lock(cx):
            times.append(cx.now)

    world = peers.Simulation(PLATFORM)
    world.spawn("killer", 0, kills, world.resource(0, 1))
    assert world.run().ended_by == "processes" and times == [1.0]


def test_a_run_ends_at_its_horizon_or_by_control_c():
    async def sleeps(cx):
        while True:
            await cx.sleep(1)

    assert alone(sleeps, until=10).summary["end_time_s"] == 10
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    assert alone(sleeps).ended_by == "interrupted"
    assert time.monotonic() - start < 60
