"""Models in Python of which there are the same in Rust, in `src/model/reference.rs`."""

import numpy

import paceline


@paceline.helper
def delay(self, cx):
    return self.lookahead + int(cx.rng.exponential(self.mean))


@paceline.model(state=[("received", "i8")])
class Phold:
    """As `simulation/models/src/phold.rs`, with destinations among all LPs."""

    lps: int
    messages_per_lp: float = 1.5
    lookahead: int = paceline.seconds(1)
    mean: int = paceline.seconds(1)
    remote: float = 0.25

    def init(self, state, cx):
        messages = int(self.lps * self.messages_per_lp + 0.5)
        count = messages // self.lps
        if cx.lp < messages % self.lps:
            count += 1
        for _ in range(count):
            cx.schedule(delay(self, cx))

    def handle(self, state, message, cx):
        state.received += 1
        to = cx.lp
        if cx.rng.chance(self.remote):
            to = cx.rng.below(self.lps)
        cx.send(to, delay(self, cx))


@paceline.model(state=[("free", "i8"), ("served", "i8")], message=[("origin", "u4"), ("served", "u2")])
class Stations:
    """A closed network of single-server stations."""

    lps: int
    lookahead: int = paceline.seconds(1)

    def init(self, state, cx):
        cx.schedule(0, cx.lp, 0)

    def handle(self, state, message, cx):
        state.free = max(cx.now, state.free) + cx.seconds(cx.rng.exponential(2.0))
        state.served += 1
        to = cx.rng.below(self.lps)
        cx.send_at(to, state.free + self.lookahead, cx.lp, message.served + 1)


@paceline.model(
    state=[("healthy", "i8"), ("ill", "i8"), ("came", "u4", 3), ("share", "f8")],
    message=[("count", "i8"), ("path", "u4", 6)],
)
class Disease:
    """An infection in towns around a ring."""

    lps: int
    people: int = 5000
    reproduction: float = 1.8
    lookahead: int = paceline.seconds(5)
    travel: tuple = (0.9, 0.05, 0.05)

    def init(self, state, cx):
        state.healthy = self.people
        state.share = 1.0
        if cx.lp % 16 == 0:
            path = numpy.empty(6, numpy.uint32)
            path[:] = cx.lp
            cx.schedule(0, 10, path)

    def handle(self, state, message, cx):
        ill = min(message.count, state.healthy)
        state.share = state.healthy / self.people
        state.healthy -= ill
        state.ill = ill
        state.came[message.path[0] % 3] += 1
        infections = numpy.zeros(3, numpy.int64)
        for _ in range(cx.rng.poisson(ill * self.reproduction * state.share)):
            infections[cx.rng.weighted(self.travel)] += 1
        path = numpy.empty(6, numpy.uint32)
        path[0] = cx.lp
        path[1:] = message.path[:5]
        places = (cx.lp, (cx.lp + 1) % self.lps, (cx.lp + self.lps - 1) % self.lps)
        for place in range(3):
            if infections[place] > 0:
                cx.send(places[place], self.lookahead, infections[place], path)
