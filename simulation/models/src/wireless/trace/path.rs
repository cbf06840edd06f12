//! The path of a host that follows commands of ns-2: it walks to a destination, turns on the way, stops, or
//! is put elsewhere.
//!
//! As in ns-2, a host that gets a new destination on its way turns at its current place; a speed of zero
//! stops it there. A host that is put elsewhere on its way keeps its velocity, and each of its coordinates
//! stops at that of the destination (`update_position` in ns-2's `mobilenode.cc`).

use super::{Waypoint, nanoseconds};

/// A host on its way.
#[derive(Debug)]
pub(super) struct Walk {
    here: Waypoint,
    /// Where it will turn or stop, in the order of time: at most two places.
    ahead: Vec<Waypoint>,
    /// Where it goes, and how far in a second; of no meaning while it stands.
    to: (f64, f64),
    velocity: (f64, f64),
    passed: Vec<Waypoint>,
}

impl Walk {
    /// A host that stands at (x, y).
    pub fn begin(x: f64, y: f64) -> Self {
        let here = Waypoint { at_ns: 0, x, y };
        Self { here, ahead: Vec::new(), to: (x, y), velocity: (0.0, 0.0), passed: vec![here] }
    }

    /// Walks on until `now`, which is not before the last command.
    pub fn advance(&mut self, now: u64) {
        while let Some(next) = self.ahead.first().copied().filter(|next| next.at_ns <= now) {
            self.ahead.remove(0);
            self.pass(next);
        }
        match self.ahead.first() {
            Some(next) => {
                let (x, y) = super::between(self.here, *next, now);
                self.pass(Waypoint { at_ns: now, x, y });
            }
            None => self.pass(Waypoint { at_ns: now, ..self.here }),
        }
    }

    fn pass(&mut self, at: Waypoint) {
        self.here = at;
        if self.passed.last() != Some(&at) {
            self.passed.push(at);
        }
    }

    /// Sets out for (x, y) with this speed, in units a second.
    pub fn set_out(&mut self, x: f64, y: f64, speed: f64) {
        let (dx, dy) = (x - self.here.x, y - self.here.y);
        let length = libm::sqrt(dx * dx + dy * dy);
        self.ahead.clear();
        if speed > 0.0 && length > 0.0 {
            self.to = (x, y);
            self.velocity = (dx / length * speed, dy / length * speed);
            self.ahead.push(Waypoint { at_ns: self.after(length / speed), x, y });
        }
    }

    /// Puts the host at another x or y.
    pub fn put(&mut self, x: Option<f64>, y: Option<f64>) {
        let (x, y) = (x.unwrap_or(self.here.x), y.unwrap_or(self.here.y));
        let walks = !self.ahead.is_empty();
        self.ahead.clear();
        if !walks {
            return self.pass(Waypoint { x, y, ..self.here });
        }
        let (x, x_s) = left(x, self.velocity.0, self.to.0);
        let (y, y_s) = left(y, self.velocity.1, self.to.1);
        self.pass(Waypoint { x, y, ..self.here });
        let (first_s, last_s) = (x_s.min(y_s), x_s.max(y_s));
        let reached = |from: f64, velocity: f64, to: f64, span_s: f64, at_s: f64| {
            if span_s == 0.0 {
                from
            } else if span_s <= at_s {
                to
            } else {
                from + velocity * at_s
            }
        };
        for at_s in [first_s, last_s] {
            let at = Waypoint {
                at_ns: self.after(at_s),
                x: reached(x, self.velocity.0, self.to.0, x_s, at_s),
                y: reached(y, self.velocity.1, self.to.1, y_s, at_s),
            };
            if at_s > 0.0 && self.ahead.last().is_none_or(|last| last.at_ns < at.at_ns) {
                self.ahead.push(at);
            }
        }
    }

    /// The time after so many seconds more, at least a nanosecond.
    fn after(&self, seconds: f64) -> u64 {
        self.here.at_ns.saturating_add(nanoseconds(seconds).max(1))
    }

    /// All places, to the last one.
    pub fn finish(mut self) -> Vec<Waypoint> {
        self.passed.append(&mut self.ahead);
        self.passed
    }
}

/// Where a coordinate is at once, and the seconds that it still moves: it does not move beyond its
/// destination.
fn left(at: f64, velocity: f64, to: f64) -> (f64, f64) {
    let way = to - at;
    if velocity == 0.0 {
        (at, 0.0)
    } else if way * velocity <= 0.0 {
        (to, 0.0)
    } else {
        (at, way / velocity)
    }
}
