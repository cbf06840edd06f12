"""Measures paceline.sim beside SimPy: the same cases, in turns, medians and ratios.

    python compare.py [--rounds 5] [--scale 1.0]

Both must be installed. Each case of each round runs in a process of its own; the time is that of the processor, so that
other programs disturb less. A case gives nanoseconds for each event that it schedules; both must schedule as many.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import statistics
import subprocess
import sys
from time import process_time


def timed(env, until=None):
    """Runs, and gives seconds and the number of events."""
    start = process_time()
    env.run(until=until)
    return process_time() - start, next(env._eid)


def ping(sim, size, count=1):
    """Processes that sleep one unit again and again."""
    env = sim.Environment()

    def process():
        while True:
            yield env.timeout(1)

    for _ in range(count):
        env.process(process())
    return timed(env, 1 + size * 400_000 // count)


def ping_1000(sim, size):
    """The same with a thousand processes."""
    return ping(sim, size, 1000)


def floats(sim, size):
    """A thousand processes with random delays."""
    env, draw = sim.Environment(), random.Random(1)
    delays = [draw.random() for _ in range(1024)]

    def process(index):
        while True:
            index = (index + 1) & 1023
            yield env.timeout(delays[index])

    for index in range(1000):
        env.process(process(index))
    return timed(env, size * 200.0)


def events(sim, size):
    """A process that triggers events and waits for them."""
    env = sim.Environment()

    def process():
        for _ in range(int(size * 200_000)):
            event = env.event()
            event.succeed()
            yield event

    env.process(process())
    return timed(env)


def mm1(sim, size):
    """A queue with one server."""
    env, draw = sim.Environment(), random.Random(2)
    server = sim.Resource(env, capacity=1)

    def customer():
        with server.request() as request:
            yield request
            yield env.timeout(draw.expovariate(1.0))

    def source():
        for _ in range(int(size * 60_000)):
            yield env.timeout(draw.expovariate(0.8))
            env.process(customer())

    env.process(source())
    return timed(env)


def bank_renege(sim, size):
    """Customers who lose patience, after SimPy's example."""
    env, draw = sim.Environment(), random.Random(3)
    counter = sim.Resource(env, capacity=1)

    def customer():
        with counter.request() as request:
            results = yield request | env.timeout(draw.uniform(1, 3))
            if request in results:
                yield env.timeout(draw.expovariate(1 / 1.2))

    def source():
        for _ in range(int(size * 40_000)):
            env.process(customer())
            yield env.timeout(draw.expovariate(1.0))

    env.process(source())
    return timed(env)


def carwash(sim, size):
    """Cars that wait for two machines, after SimPy's example."""
    env, draw = sim.Environment(), random.Random(4)
    machine = sim.Resource(env, 2)

    def wash():
        yield env.timeout(5)

    def car():
        with machine.request() as request:
            yield request
            yield env.process(wash())

    def source():
        for _ in range(int(size * 40_000)):
            yield env.timeout(draw.randint(1, 4))
            env.process(car())

    env.process(source())
    return timed(env)


def machine_shop(sim, size):
    """Machines that fail and are repaired, after SimPy's example."""
    env, draw = sim.Environment(), random.Random(5)
    repairman = sim.PreemptiveResource(env, capacity=1)

    class Machine:
        def __init__(self):
            self.parts, self.broken = 0, False
            self.process = env.process(self.working())
            env.process(self.failing())

        def working(self):
            while True:
                done_in = max(0.1, draw.normalvariate(10.0, 2.0))
                while done_in:
                    start = env.now
                    try:
                        yield env.timeout(done_in)
                        done_in = 0
                    except sim.Interrupt:
                        self.broken = True
                        done_in -= env.now - start
                        with repairman.request(priority=1) as request:
                            yield request
                            yield env.timeout(30.0)
                        self.broken = False
                self.parts += 1

        def failing(self):
            while True:
                yield env.timeout(draw.expovariate(1 / 300.0))
                if not self.broken:
                    self.process.interrupt()

    def other_jobs():
        while True:
            done_in = 30.0
            while done_in:
                with repairman.request(priority=2) as request:
                    yield request
                    start = env.now
                    try:
                        yield env.timeout(done_in)
                        done_in = 0
                    except sim.Interrupt:
                        done_in -= env.now - start

    for _ in range(10):
        Machine()
    env.process(other_jobs())
    return timed(env, size * 120_000)


def movie_renege(sim, size):
    """Moviegoers who leave when a film is sold out, after SimPy's example."""
    env, draw = sim.Environment(), random.Random(6)
    counter = sim.Resource(env, capacity=1)
    sold_out = env.event()

    def moviegoer():
        with counter.request() as turn:
            result = yield turn | sold_out
            if turn in result:
                yield env.timeout(1)

    def source():
        for index in range(int(size * 30_000)):
            yield env.timeout(draw.expovariate(1 / 1.1))
            env.process(moviegoer())
        sold_out.succeed()

    env.process(source())
    return timed(env)


def gas_station(sim, size):
    """Cars that take fuel from a tank, after SimPy's example."""
    env, draw = sim.Environment(), random.Random(7)
    station = sim.Resource(env, 2)
    tank = sim.Container(env, 200, init=200)

    def car():
        with station.request() as request:
            yield request
            amount = 50 - draw.randint(5, 25)
            yield tank.get(amount)
            yield env.timeout(amount / 2)

    def control():
        while True:
            if tank.level / tank.capacity * 100 < 25:
                yield env.timeout(300)
                yield tank.put(tank.capacity - tank.level)
            yield env.timeout(10)

    def source():
        for _ in range(int(size * 25_000)):
            yield env.timeout(draw.randint(30, 300))
            env.process(car())

    env.process(control())
    env.process(source())
    return timed(env, size * 4_000_000)


def communication(sim, size):
    """Messages through pipes, after SimPy's example."""
    env, draw = sim.Environment(), random.Random(8)
    pipes = [sim.Store(env) for _ in range(3)]

    def sender():
        while True:
            yield env.timeout(draw.randint(6, 10))
            for pipe in pipes:
                pipe.put((env.now, "message"))

    def receiver(pipe):
        while True:
            yield pipe.get()
            yield env.timeout(draw.randint(4, 8))

    env.process(sender())
    for pipe in pipes:
        env.process(receiver(pipe))
    return timed(env, size * 200_000)


def latency(sim, size):
    """A cable with a delay, after SimPy's example."""
    env = sim.Environment()
    store = sim.Store(env)

    def delayed(value):
        yield env.timeout(10)
        store.put(value)

    def sender():
        while True:
            yield env.timeout(5)
            env.process(delayed(f"sent at {env.now}"))

    def receiver():
        while True:
            yield store.get()

    env.process(sender())
    env.process(receiver())
    return timed(env, size * 250_000)


def store(sim, size):
    """Producers and consumers at a bounded store."""
    env = sim.Environment()
    items = sim.Store(env, capacity=50)

    def producer():
        for index in range(int(size * 10_000)):
            yield env.timeout(1)
            yield items.put(index)

    def consumer():
        while True:
            yield items.get()
            yield env.timeout(1)

    for _ in range(10):
        env.process(producer())
        env.process(consumer())
    return timed(env)


def sleep(sim, size):
    """One process that sleeps: on paceline.sim by `yield 1.0`, on SimPy by a timeout. Not in the mean."""
    env = sim.Environment()

    def process():
        if sim.__name__ == "simpy":
            while True:
                yield env.timeout(1.0)
        while True:
            yield 1.0

    env.process(process())
    return timed(env, size * 400_000)


EXAMPLES = [bank_renege, carwash, machine_shop, movie_renege, gas_station, communication, latency]
CASES = [ping, ping_1000, floats, events, mm1, store, *EXAMPLES, sleep]


def measure(module: str, case: str, scale: float) -> tuple[float, int]:
    """One case in a process of its own: nanoseconds an event, and how many events."""
    command = [sys.executable, __file__, "--one", module, case, "--scale", str(scale)]
    return tuple(json.loads(subprocess.check_output(command)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--one", nargs=2, metavar=("MODULE", "CASE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        module, case = arguments.one
        seconds, count = globals()[case](importlib.import_module(module), arguments.scale)
        print(json.dumps([seconds / count * 1e9, count]))
        return
    print(f"Python {sys.version.split()[0]}, {arguments.rounds} rounds, ns an event: median (least - greatest)\n")
    print("| case | events | SimPy | paceline.sim | times as fast |\n|---|---|---|---|---|")
    ratios = []
    for case in CASES:
        theirs, ours = [], []
        for _ in range(arguments.rounds):
            theirs.append(measure("simpy", case.__name__, arguments.scale))
            ours.append(measure("paceline.sim", case.__name__, arguments.scale))
        counts = {count for _, count in theirs + ours}
        assert len(counts) == 1, f"{case.__name__}: different numbers of events: {counts}"
        shown = []
        for values in (theirs, ours):
            times = [time for time, _ in values]
            shown.append(f"{statistics.median(times):.0f} ({min(times):.0f} - {max(times):.0f})")
        ratio = statistics.median(time for time, _ in theirs) / statistics.median(time for time, _ in ours)
        if case is not sleep:
            ratios.append(ratio)
        print(f"| {case.__name__} | {counts.pop()} | {shown[0]} | {shown[1]} | {ratio:.1f} |", flush=True)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"\nGeometric mean without `sleep`: {mean:.1f}; least {min(ratios):.1f}")


if __name__ == "__main__":
    main()
