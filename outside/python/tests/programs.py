"""Programs that run on SimPy and on paceline.sim alike: each takes the module and a seed, and gives a log."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction


def number(draw: random.Random):
    """A delay: mostly an int or a float, which stay apart, sometimes of another type."""
    kind = draw.randrange(12)
    if kind < 5:
        return draw.randrange(4)
    if kind < 10:
        return draw.random() * 3
    return True if kind == 10 else 2**60


def clocks(simpy, seed):
    """Timeouts, values, and events of equal times."""
    draw, env, log = random.Random(seed), simpy.Environment(draw_start(seed)), []

    def process(name):
        for _ in range(20):
            value = yield env.timeout(number(draw), value=(name, draw.random()))
            log.append((name, repr(env.now), value))
        return name

    processes = [env.process(process(name)) for name in range(5)]
    env.run(until=env.all_of(processes))
    log.append([process.value for process in processes])
    log.append((repr(env.now), next(env._eid), len(env._queue)))
    return log


def draw_start(seed):
    """The time at the start: ints and floats."""
    return [0, 0.0, -3, 5.5][seed % 4]


def exact_numbers(simpy, seed):
    """Fractions and decimals as times."""
    log = []
    for kind in (Fraction, Decimal):
        draw, env = random.Random(seed), simpy.Environment(kind(0))

        def process(env, draw, kind):
            for _ in range(10):
                yield env.timeout(kind(draw.randrange(1, 9)) / kind(7))
                log.append(repr(env.now))

        for _ in range(3):
            env.process(process(env, draw, kind))
        env.run()
    return log


def interrupts(simpy, seed):
    """Processes that interrupt each other, and resources that are lost."""
    draw, env, log = random.Random(seed), simpy.Environment(), []
    resource = simpy.PreemptiveResource(env, capacity=2)

    def worker(name):
        for _ in range(6):
            with resource.request(priority=draw.randrange(3), preempt=draw.random() < 0.7) as request:
                try:
                    yield request
                    log.append((name, "has", env.now, request.usage_since, resource.count))
                    yield env.timeout(draw.randrange(1, 5))
                    log.append((name, "done", env.now))
                except simpy.Interrupt as interrupt:
                    cause = interrupt.cause
                    by = cause if isinstance(cause, str) else cause.by.name
                    log.append((name, "lost", env.now, by, str(interrupt)[:9]))

    workers = [env.process(worker(name)) for name in range(6)]

    def disturber():
        while any(process.is_alive for process in workers):
            yield env.timeout(draw.random() * 3)
            victim = draw.choice(workers)
            if victim.is_alive:
                victim.interrupt("disturbed")

    env.process(disturber())
    env.run()
    return log + [next(env._eid)]


def conditions(simpy, seed):
    """Nested conditions, some of whose events fail."""
    draw, env, log = random.Random(seed), simpy.Environment(), []

    def fails():
        yield env.timeout(draw.randrange(1, 4))
        raise KeyError("no")

    def process(name):
        for _ in range(8):
            events = [env.timeout(draw.randrange(4), value=index) for index in range(4)]
            if draw.random() < 0.3:
                events[0] = env.process(fails())
            condition = [
                lambda: events[0] & events[1] | events[2] & events[3],
                lambda: env.all_of(events),
                lambda: env.any_of(events),
                lambda: (events[0] | events[1]) & (events[2] | events[3]),
                lambda: env.all_of([]),
            ][draw.randrange(5)]()
            try:
                result = yield condition
                log.append((name, env.now, list(result.values()), [event in result for event in events]))
            except KeyError as error:
                log.append((name, env.now, repr(error), repr(error.__cause__)))
            for event in events:
                if isinstance(event, simpy.Process) and not event.processed:
                    event.defused = True

    for name in range(3):
        env.process(process(name))
    try:
        env.run()
    except KeyError as error:
        log.append(repr(error))
    return log + [env.now, next(env._eid)]


def stores(simpy, seed):
    """Stores of every kind with bounded capacity, and requests that are given up."""
    draw, env, log = random.Random(seed), simpy.Environment(), []
    made = [
        simpy.Store(env, capacity=2),
        simpy.FilterStore(env, capacity=3),
        simpy.PriorityStore(env, capacity=3),
    ]

    def producer(index, store):
        for _ in range(12):
            yield env.timeout(draw.randrange(3))
            item = draw.randrange(10)
            if index == 2:
                item = simpy.PriorityItem(item, object)
            with store.put(item) as put:
                yield put | env.timeout(2)
                log.append((index, "put", env.now, put.triggered, len(store.items)))

    def consumer(index, store):
        while True:
            parity = draw.randrange(2)
            get = store.get(lambda item: item % 2 == parity) if index == 1 else store.get()
            with get:
                result = yield get | env.timeout(draw.randrange(1, 4))
                item = result[get] if get in result else None
                log.append((index, "got", env.now, getattr(item, "priority", item)))

    for index, store in enumerate(made):
        for _ in range(2):
            env.process(producer(index, store))
            env.process(consumer(index, store))
    env.run(until=60)
    return log + [next(env._eid), [len(store.get_queue) for store in made]]


def containers(simpy, seed):
    """Containers with amounts of ints and floats."""
    draw, env, log = random.Random(seed), simpy.Environment(), []
    tank = simpy.Container(env, capacity=20, init=5)

    def fill():
        while True:
            yield env.timeout(draw.randrange(1, 4))
            yield tank.put(draw.choice([1, 2.5, 4]))
            log.append(("put", env.now, repr(tank.level)))

    def draw_off():
        while True:
            yield tank.get(draw.choice([0.5, 1, 3]))
            log.append(("got", env.now, repr(tank.level)))
            yield env.timeout(draw.random())

    for process in (fill, fill, draw_off, draw_off):
        env.process(process())
    env.run(until=80)
    return log + [next(env._eid)]


def priorities(simpy, seed):
    """A resource whose requests wait by priority, and one that a subclass watches."""
    draw, env, log = random.Random(seed), simpy.Environment(), []

    class Watched(simpy.PriorityResource):
        def _do_put(self, event):
            log.append(("asked", event.priority, len(self.queue)))
            return super()._do_put(event)

        def release(self, *args, **kwargs):
            log.append(("release", self.count))
            return super().release(*args, **kwargs)

    for resource in (simpy.PriorityResource(env, 2), Watched(env, 1)):

        def user(resource, name):
            yield env.timeout(draw.randrange(3))
            with resource.request(priority=draw.randrange(4)) as request:
                result = yield request | env.timeout(draw.randrange(1, 8))
                log.append((name, env.now, request in result, request.key))
                yield env.timeout(draw.randrange(3))

        for name in range(8):
            env.process(user(resource, name))
    env.run()
    return log + [next(env._eid)]


def traced(simpy, seed):
    """A program that replaces `schedule` and `step` of its environment, as tracing does."""
    draw, env, log = random.Random(seed), simpy.Environment(), []
    schedule, step = env.schedule, env.step

    def own_schedule(event, priority=1, delay=0):
        log.append(("schedule", type(event).__name__, priority, delay))
        return schedule(event, priority, delay)

    def own_step():
        if env._queue:
            time, priority, number, event = env._queue[0]
            log.append(("step", time, priority, number, type(event).__name__))
        return step()

    env.schedule, env.step = own_schedule, own_step

    def process():
        for _ in range(5):
            yield env.timeout(draw.randrange(3)) | env.event()

    env.process(process())
    env.run()
    return log


def own_resource(simpy, seed):
    """A resource of a program's, with requests and queues of its kind."""
    import importlib

    base = importlib.import_module(simpy.__name__ + ".resources.base")
    core = importlib.import_module(simpy.__name__ + ".core")
    draw, env, log = random.Random(seed), simpy.Environment(), []

    class Queue(list):
        def append(self, item):
            log.append(("queued", len(self)))
            super().append(item)

    class Take(base.Get):
        def __init__(self, resource, count):
            self.count = count
            super().__init__(resource)

    class Box(base.BaseResource):
        GetQueue = Queue
        take = core.BoundClass(Take)

        def __init__(self, env, capacity):
            super().__init__(env, capacity)
            self.things = 0

        def _do_put(self, event):
            if self.things < self.capacity:
                self.things += 1
                event.succeed()
            return None

        def _do_get(self, event):
            if self.things >= event.count:
                self.things -= event.count
                event.succeed(event.count)
                return True

    box = Box(env, 5)

    def filler():
        for _ in range(20):
            yield env.timeout(draw.random())
            yield box.put()
            log.append(("put", env.now, box.things))

    def taker(name):
        while True:
            got = yield box.take(draw.randrange(1, 4))
            log.append((name, got, env.now))

    env.process(filler())
    env.process(taker("a"))
    env.process(taker("b"))
    env.run()
    return log + [next(env._eid)]


PROGRAMS = [
    clocks,
    exact_numbers,
    interrupts,
    conditions,
    stores,
    containers,
    priorities,
    traced,
    own_resource,
]
