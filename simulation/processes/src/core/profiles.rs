//! What the profiles of a platform's hosts do: speeds that change, hosts that go and come back.
//!
//! Invariants: at one time, changes come after computations that are over then, in the order of hosts, the
//! speed of one before its state; the next change of every profile is in `due`, if the profile has one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;
use paceline_network::{HostId, Network, Platform, Profile};

use super::Core;
use super::moment::Moment;

/// What a profile changes of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    /// The speed: the share of this, in flops a second, that is there.
    Speed(f64),
    State,
}

#[derive(Clone, Debug)]
struct Followed {
    host: u32,
    of: Of,
    profile: Profile,
    /// The number of the next change.
    next: usize,
}

/// The profiles of hosts.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    followed: Vec<Followed>,
    /// When the next change of a profile is due, by its place.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    /// Hosts that were switched off for a span: when they come back.
    returns: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Profiles {
    /// Those of the hosts of a platform. A speed profile gives the share that is there of the speed of the
    /// performance state that the platform says; a state profile switches the host on and off.
    pub fn of(platform: &Platform) -> Self {
        let mut profiles = Self::default();
        for (number, host) in (0..).zip(platform.hosts()) {
            let speed =
                host.speed_profile.iter().map(|profile| (Of::Speed(host.speeds[host.state]), profile));
            let state = host.state_profile.iter().map(|profile| (Of::State, profile));
            for (of, profile) in speed.chain(state) {
                profiles.followed.push(Followed { host: number, of, profile: profile.clone(), next: 0 });
                profiles.enter(profiles.followed.len() - 1);
            }
        }
        profiles
    }

    fn enter(&mut self, place: usize) {
        let Followed { profile, next, .. } = &self.followed[place];
        if let Some((at, _)) = profile.change(*next) {
            self.due.push(Reverse((Moment::of_secs(at).at, place)));
        }
    }

    /// A host that is off comes back at this time.
    pub(super) fn bring_back(&mut self, at: Time, host: u32) {
        self.returns.push(Reverse((at, host)));
    }

    fn next_return(&self) -> Option<Time> {
        self.returns.peek().map(|Reverse((at, _))| *at)
    }

    /// Whether nothing changes by itself.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.due.is_empty() && self.returns.is_empty()
    }

    fn next_due(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The time of the next change.
    pub(super) fn next(&self) -> Option<Time> {
        [self.next_due(), self.next_return()].into_iter().flatten().min()
    }

    /// Takes out the next change, if it is due at `now`: of which host, what, and its new value.
    fn take(&mut self, now: Time) -> Option<(u32, Of, f64)> {
        let next = self.next().filter(|at| *at <= now)?;
        if self.next_due() != Some(next) {
            let Reverse((_, host)) = self.returns.pop()?;
            return Some((host, Of::State, 1.0));
        }
        let Reverse((_, place)) = self.due.pop()?;
        let followed = &mut self.followed[place];
        let (host, of) = (followed.host, followed.of);
        let value = followed.profile.change(followed.next)?.1;
        followed.next += 1;
        self.enter(place);
        Some((host, of, value))
    }

    /// Whether a change to come of some profile has a value that `matters` to its host.
    fn any(&self, matters: impl Fn(&Followed, f64) -> bool) -> bool {
        self.due.iter().any(|Reverse((_, place))| {
            let followed = &self.followed[*place];
            followed.profile.remaining(followed.next).any(|value| matters(followed, value))
        })
    }
}

impl<P, N: Network> Core<P, N> {
    /// Whether anything flows through the network.
    pub(super) fn flows(&self) -> bool {
        self.messages.flow() || self.parcels.carrier.flows()
    }

    /// Hosts follow these profiles; in a part of a world only those that are in it.
    pub fn follow(&mut self, mut profiles: Profiles) {
        profiles.due.retain(|Reverse((_, place))| self.is_here(profiles.followed[*place].host));
        self.profiles = profiles;
    }

    /// Has hosts follow changes from before `next` that were not waited for, as nobody could notice them.
    pub(super) fn catch_up(&mut self, next: Time) {
        while let Some(at) = self.profiles.next().filter(|at| *at < next) {
            self.now = self.now.max(at);
            self.follow_profiles();
        }
    }

    /// Changes hosts as their profiles say for the present.
    #[inline]
    pub(super) fn follow_profiles(&mut self) {
        if !self.profiles.are_none() {
            self.follow_some();
        }
    }

    fn follow_some(&mut self) {
        while let Some((host, of, value)) = self.profiles.take(self.now) {
            self.because(Moment::at(self.now));
            match of {
                Of::Speed(full) => {
                    self.hosts[host as usize].cpu.set_speed(self.now, full * value);
                    self.reschedule(host);
                }
                Of::State if value > 0.0 => self.switch_on(HostId(host)),
                Of::State => self.switch_off(HostId(host)),
            }
        }
    }

    /// Whether a change of a host to come can let somebody go on: a profile that starts again for ever does
    /// not keep a run from ending in a deadlock.
    pub(super) fn profiles_matter(&self) -> bool {
        let comes_back = |host: u32| !self.hosts[host as usize].back().is_empty();
        if self.profiles.returns.iter().any(|Reverse((_, host))| comes_back(*host)) {
            return true;
        }
        self.profiles.any(|followed, value| {
            let (place, positive) = (followed.host as usize, value > 0.0);
            match followed.of {
                Of::Speed(_) => positive && !self.hosts[place].cpu.is_idle(),
                Of::State if positive => comes_back(followed.host),
                Of::State => {
                    self.processes.iter().any(|(_, process)| process.host == followed.host && !process.ended)
                }
            }
        })
    }
}
