"""Programs of processes, line by line those of `src/peers/reference`."""

import paceline.peers as peers
from paceline.peers import Matched, RequestError


async def smith(cx, number, shop):
    benches, shelf, tank, mutex, bell, meeting, permit, notes = shop
    for turn in range(6):
        span = cx.rng.exponential(0.3)
        priority = cx.rng.below(3)
        then = "repeat" if turn % 2 == 0 else "resume"
        try:
            served = await benches.serve(cx, span, priority=priority, preempting=True, after_preemption=then, limit=1)
            cx.record(100 + served.preemptions)
        except RequestError:
            cx.record(1000 + turn)
        # More urgent than all others, so that nobody takes it away.
        try:
            held = await benches.request(cx, priority=-1, balking_at=2)
        except RequestError as error:
            assert error.kind == "Balked"
            held = None
        await cx.sleep(0.02)
        cx.record(int(held is not None))
        if held is not None:
            assert held.waited >= 0
            held.release()

        async with mutex.lock(cx) as lock:
            await cx.sleep(0.005)
            if number == 0:
                bell.notify_all(cx)
            else:
                try:
                    await bell.wait(cx, lock, limit=0.1)
                except RequestError:
                    cx.record(7)
        taken = await mutex.try_lock(cx)
        cx.record(int(taken is not None))
        # It is released when it is freed.
        del taken

        await permit.acquire(cx)
        await cx.compute(1e6)
        permit.release(cx)

        await shelf.put(cx, 10 * turn + number, priority=turn % 3)
        try:
            cx.record(await shelf.get(cx, lambda item: item % 2 == 0, limit=0.05))
        except RequestError:
            pass
        try:
            cx.record(sum(await shelf.get_some(cx, 1, 2, limit=0)))
        except RequestError:
            pass
        try:
            await tank.get(cx, 4.0, limit=0.1)
        except RequestError:
            await tank.put(cx, 20.0)
        cx.record(int(await meeting.wait(cx)))

        cx.send_detached(Matched((number + 1) % 3, number, turn), turn, 1e4)
        cx.record(await cx.receive(Matched(number, tag=turn)))

        work, letter = cx.start_compute(2e7), cx.start_receive(70 + number)
        cx.record(await cx.wait_any([work, letter], limit=1))
        cx.record(int(await letter.test()))
        letter.cancel()
        await work.wait()

        notes.put(cx, turn)


async def sleeper(cx):
    cx.daemonize()
    while True:
        try:
            await cx.hold(2)
        except RequestError as error:
            assert error.kind == "Interrupted" and error.cause % 5 == 4
            cx.record(round(error.left * 1e9))


async def boss(cx, benches, shelf, tank):
    mutex, bell, meeting = cx.mutex(), cx.condition(), cx.barrier(3)
    permit, notes = cx.semaphore(1), cx.queue()
    shop = (benches, shelf, tank, mutex, bell, meeting, permit, notes)
    for number in range(3):
        await cx.spawn("smith", number + 1, smith, number, shop)
    sleeping = await cx.spawn("sleeper", 0, sleeper)
    for note in range(18):
        cx.record(await notes.get(cx))
        if note % 5 == 4:
            await cx.sleep(0.5)
            cx.interrupt(sleeping, note)
        if note == 6:
            benches.take_out(cx, 1)
        elif note == 9:
            benches.repair(cx, 1)


def workshop(platform):
    world = peers.Simulation(platform)
    benches = world.resource(0, 2)
    shelf, tank = world.store(0), world.container(0, 50.0, 10.0)
    world.spawn("boss", 0, boss, benches, shelf, tank)
    return world


BYTES = 10.0
FIND, FOUND, ASK_PREDECESSOR, PREDECESSOR = range(4)


class Peer:
    """Peer `me` of `peers` holds the keys from that of the peer before to its own: `me` times `gap`."""

    def __init__(self, me, peers):
        self.me, self.gap, self.ring = me, 1000, 1000 * peers
        self.successor, self.predecessor = (me + 1) % peers, (me + peers - 1) % peers
        self.fingers, step = [], 1
        while step < peers:
            self.fingers.append((me + step) % peers)
            step *= 2

    def ahead(self, key):
        """How far ahead of this peer a key is."""
        return (key + self.ring - self.gap * self.me) % self.ring

    def find(self, cx, key, asker, hops):
        distance = self.ahead(key)
        if distance == 0:
            return cx.send_detached(asker, (FOUND, self.me, hops), BYTES)
        if distance <= self.gap:
            return cx.send_detached(asker, (FOUND, self.successor, hops), BYTES)
        following = self.successor
        for finger in self.fingers:
            if self.ahead(self.gap * finger) < distance:
                following = finger
        cx.send_detached(following, (FIND, key, asker, hops + 1), BYTES)


async def peer(cx, me, count):
    this = Peer(me, count)
    lookup = cx.rng.below(10_000_000_000)
    stabilize = cx.rng.below(20_000_000_000)
    while True:
        wait = max(min(lookup, stabilize) - cx.now_ns, 0)
        try:
            kind, *said = await cx.receive(me, limit=wait / 1e9)
        except RequestError:
            if lookup <= cx.now_ns:
                lookup += 10_000_000_000
                this.find(cx, cx.rng.below(this.ring), me, 0)
            if stabilize <= cx.now_ns:
                stabilize += 20_000_000_000
                cx.send_detached(this.successor, (ASK_PREDECESSOR, me), BYTES)
            continue
        if kind == FIND:
            this.find(cx, *said)
        elif kind == FOUND:
            holder, hops = said
            cx.record(holder * 64 + hops)
        elif kind == ASK_PREDECESSOR:
            cx.send_detached(said[0], (PREDECESSOR, this.predecessor), BYTES)
        elif said[0] != me:
            this.successor = said[0]


def chord(platform, hosts, count):
    """Chord (Stoica et al., 2001) on a ring that does not change, of so many peers on so many hosts."""
    world = peers.Simulation(platform)
    for me in range(count):
        world.place(me, me % hosts)
        world.spawn("peer", me % hosts, peer, me, count)
    return world
