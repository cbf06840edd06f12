//! The event handling of a host: it moves, pings, and does a computation for every ping that it hears.

use paceline_kernel::{Context, Time};
use serde::{Deserialize, Serialize};

use super::event::WirelessEvent;
use super::space::{Point, Velocity};
use super::{Motion, Wireless};

/// No counter of a run comes near this.
pub(crate) const MOST: u64 = 1 << 62;

/// The state of a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Host {
    pub(crate) at: Point,
    pub(crate) velocity: Velocity,
    /// Steps until direction and speed are redrawn.
    pub(crate) steps_left: u32,
    /// How many pings it has sent.
    pub(crate) pings: u32,
    /// How many pings of others it has heard.
    pub(crate) heard: u64,
    /// The sum of the results computed for the pings heard.
    pub(crate) computed: u64,
}

/// The computation for a ping: `rounds` steps of a multiplication chain, about a nanosecond each.
///
/// The sum of the results over all pings that a host hears is part of its state, hence of the digest: the
/// compiler cannot optimize the computation away, and the order of pings does not matter.
#[inline]
pub fn compute(receiver: u32, sender: u32, step: u32, rounds: u32) -> u64 {
    let mut value = (u64::from(receiver) << 32 | u64::from(sender)) ^ u64::from(step) << 16;
    for _ in 0..rounds {
        value = (value ^ 0x9e37_79b9).wrapping_mul(0xd1b5_4a32_d192_ed03);
    }
    value
}

impl Host {
    /// A host at its initial place.
    pub(crate) fn new(wireless: &Wireless, number: u32, cx: &mut Context<'_, Wireless>) -> Self {
        let mut host = Self {
            at: wireless.start(number),
            velocity: Velocity { x: 0, y: 0 },
            steps_left: 0,
            pings: 0,
            heard: 0,
            computed: 0,
        };
        if let Motion::Random { speed, redraw_steps } = wireless.motion {
            host.draw_motion(wireless, speed, redraw_steps, cx);
        }
        host
    }

    /// Whether it can be the state of a host, in a run that has been read from somewhere.
    pub(crate) fn can_be(&self, wireless: &Wireless) -> bool {
        let moves = match wireless.motion {
            Motion::Random { .. } => self.steps_left > 0,
            Motion::Traced(_) => true,
        };
        moves && self.pings <= wireless.steps && self.heard < MOST
    }

    fn draw_motion(
        &mut self,
        wireless: &Wireless,
        speed: f64,
        redraw_steps: u32,
        cx: &mut Context<'_, Wireless>,
    ) {
        self.velocity = wireless.space.draw_velocity(cx.rng(), speed);
        self.steps_left = 1 + cx.rng().below(u64::from(redraw_steps)) as u32;
    }

    /// Handles a ping of the current step.
    #[inline(always)]
    pub(crate) fn hear(&mut self, wireless: &Wireless, lp: u32, from: u32) {
        self.heard += 1;
        let result = compute(lp, from, self.pings, wireless.rounds);
        self.computed = self.computed.wrapping_add(result);
    }

    /// Moves (except in the first step) and pings; does nothing after the last ping.
    pub(crate) fn step(&mut self, wireless: &Wireless, cx: &mut Context<'_, Wireless>) {
        if self.pings == wireless.steps {
            return;
        }
        if self.pings > 0 {
            self.advance(wireless, cx);
        }
        self.pings += 1;
        let lp = cx.lp().0;
        let delay = cx.model().lookahead;
        wireless.grid.in_reach(self.at, |region| {
            cx.send(wireless.region_lp(region), delay, WirelessEvent::Ping { host: lp, at: self.at });
        });
    }

    fn advance(&mut self, wireless: &Wireless, cx: &mut Context<'_, Wireless>) {
        match &wireless.motion {
            Motion::Random { speed, redraw_steps } => {
                self.at = self.at.moved(self.velocity);
                self.steps_left -= 1;
                if self.steps_left == 0 {
                    self.draw_motion(wireless, *speed, *redraw_steps, cx);
                }
            }
            Motion::Traced(trace) => {
                let now = wireless.step.as_nanos().saturating_mul(u64::from(self.pings));
                self.at = trace.place(wireless.space, cx.lp().0, Time::nanos(now));
            }
        }
    }
}
